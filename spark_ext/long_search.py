"""Search for a query column of too many distinct values for one process: tasks get a range of their hashes each.

Every value goes to one task, once, which searches all segments for the values of its range, so that the counts and sums
of a column can be added. What comes to the driver is the best columns, eight bytes for each value that is an integer,
and a few facts of each range.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type

from dfjoin.errors import InvalidParameterError
from dfjoin.kernels.lists.evidence import COUNT, N_SUMS, ROWS
from dfjoin.search.column_search import make_result
from dfjoin.search.exact.searcher import smallest_count
from dfjoin.search.hits import Hits
from dfjoin.search.segment_groups import LongQuery, ValueSummary, count_values, rank_ranges
from dfjoin.search.usefulness.features import SharedEvidence
from dfjoin.search.usefulness.ranking import MOST_RANKED
from dfjoin.values.normalize import PADDING, PackedTexts, ValueSet
from spark_ext.jobs import described, in_tasks, kept, n_cores, task_keys
from spark_ext.join_keys import KeyReading, decided_reading
from spark_ext.probe import collect_or_explain
from spark_ext.queries import MOST_ROWS
from spark_ext.search_tasks import SearchTask, sql_schema
from spark_ext.task_counters import TaskCounters
from spark_ext.transfer import collect

__all__ = ["search_long"]

_RANGE_VALUES = 1 << 19
"""Distinct values that one task searches for, at most; with what is found they take some 200 MB."""

_VALUES = pa.schema(
    [("hash", pa.int64()), ("text", pa.string()), ("class", pa.int32()), ("n", pa.int64()), ("first", pa.int64())]
)
_SUMS = [f"s{i}" for i in range(N_SUMS)]
_COLUMN = ["segments", "columns", "cardinality"]
_FOUND = pa.schema(
    [(name, pa.int64()) for name in (*_COLUMN, *_SUMS)]
    + [("facts", pa.string()), ("integers", pa.binary()), ("reported", pa.string())]
)
"""Rows of the columns that a task found; its last row has what it tells of its values, and of itself."""


def search_long(rows: Any, name: str, n_values: int, task: SearchTask) -> tuple[pd.DataFrame, list[str]]:
    """Search for one query column by ranges of its values.

    Parameters
    ----------
    rows : pyspark DataFrame
        Rows ``q, v0, …, n, first``, see `spark_ext.queries`.
    name : str
        The query column.
    n_values : int
        Its distinct values.
    task : SearchTask

    Returns
    -------
    hits : DataFrame
        As the search of pandas has them; codes that lost their zeros are not looked for.
    reported : list of str
        What each task reports of itself.

    Raises
    ------
    InvalidParameterError
        If rows are to be ranked by, and are too many.
    """
    spark, params = rows.sparkSession, task.params
    field = task.fields.get(name, "v0")
    type_ = to_arrow_type(rows.schema[field].dataType)
    own = rows.where(F.col("q") == F.lit(name)).select(F.col(field).alias("value"), "n", "first")
    n_parts = max(n_cores(spark), -(-n_values // _RANGE_VALUES))
    with described(spark, "search: ranges of values"):
        values = in_tasks(own, _Canonical(_reading(own, type_, task)), sql_schema(_VALUES))
        # Unsigned: tokens of a segment lie in the order of their hashes, and a task reads a stretch of them.
        part = F.expr(f"cast(shiftright(shiftrightunsigned(hash, 32) * {n_parts}, 32) AS int) + 1")
        key = F.element_at(F.array(*map(F.lit, task_keys(spark, n_parts))), part).cast("long")
        dealt = values.repartition(n_parts, key)
        with kept(in_tasks(dealt, _SearchRange(task), sql_schema(_FOUND))) as found:
            parts = collect_or_explain(found.where("facts IS NOT NULL").select("facts", "integers", "reported"))
            summary, total_weight = _summary(parts)
            query = LongQuery.make(name, type_, summary, params, task.companions)
            if task.is_every and not query.profile.is_indexable:
                return make_result(task.snapshot, [], params), []
            if params.is_weighted and summary.n_rows > MOST_ROWS:
                raise InvalidParameterError(
                    f"`weighted` counts rows up to {MOST_ROWS:,} of a Spark DataFrame, and {name!r} has "
                    f"{summary.n_rows:,}; leave it out, or search a sample of the rows"
                )
            best = _best(found.where("segments IS NOT NULL"), summary, task)
    evidence = _evidence(best, total_weight, params.is_weighted)
    hits = make_result(task.snapshot, [rank_ranges(task.snapshot, query, evidence, params)], params)
    return hits, parts.column("reported").to_pylist()


def _reading(own: Any, type_: pa.DataType, task: SearchTask) -> KeyReading:
    """Find out how the values are read as a whole."""
    settings, dayfirst = task.snapshot.settings, task.params.dayfirst
    reading = KeyReading(settings if dayfirst is None else replace(settings, dayfirst=dayfirst), task.params.pad)
    return decided_reading(own.select("value"), reading) if pa.types.is_string(type_) else reading.as_decided("", ())


def _best(found: Any, summary: ValueSummary, task: SearchTask) -> pa.Table:
    """Add what was found in all ranges, and bring the columns that may be in the result."""
    params = task.params
    rows = f"s{ROWS if params.is_weighted else COUNT}"
    total = summary.n_rows if params.is_weighted else summary.n_values
    added = found.groupBy(*_COLUMN).agg(*(F.sum(name).alias(name) for name in _SUMS))
    added = added.where(F.col(rows) >= smallest_count(params.threshold, total))
    order = [F.desc(rows), F.asc("cardinality")]
    if params.is_by_usefulness:
        return collect(added.orderBy(*order, "segments", "columns").limit(MOST_RANKED + 1))
    if params.k is None:
        return collect(added)
    first = collect(added.select(rows, "cardinality").orderBy(*order).limit(params.k)).to_pylist()
    if len(first) == params.k:  # of those that are equal to the last, names decide
        last = first[-1]
        is_equal = (F.col(rows) == last[rows]) & (F.col("cardinality") <= last["cardinality"])
        added = added.where((F.col(rows) > last[rows]) | is_equal)
    return collect(added)


def _evidence(best: pa.Table, total_weight: float, is_weighted: bool) -> SharedEvidence:
    """Read what `_best` returned."""
    arrays = {name: best.column(name).to_numpy() for name in best.column_names}
    sums = np.stack([arrays[name] for name in _SUMS], axis=1)
    ranked = sums[:, ROWS if is_weighted else COUNT].copy()
    hits = Hits(
        arrays["segments"],
        arrays["columns"],
        sums[:, COUNT].copy(),
        ranked,
        arrays["cardinality"],
        np.full(len(sums), np.nan),
    )
    return SharedEvidence(hits, sums, total_weight)


def _summary(parts: pa.Table) -> tuple[ValueSummary, float]:
    """Add what the tasks reported of their values."""
    summaries, weight = [], 0.0
    for row in parts.select(["facts", "integers"]).to_pylist():
        facts = json.loads(row["facts"])
        weight += facts.pop("weight")
        digits, first = facts.pop("digits"), [(position, text) for position, text in facts.pop("first")]
        integers = np.frombuffer(row["integers"], np.int64)
        digits = None if digits is None else (digits[0], digits[1])
        summaries.append(ValueSummary(**facts, digits=digits, integers=integers, first=first))
    return ValueSummary.sum(summaries), weight


class _Canonical:
    """Brings the values of a query column into canonical form, in a task."""

    def __init__(self, reading: KeyReading) -> None:
        self._reading = reading

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            values = self._reading.values(batch.column(0))
            rows = np.flatnonzero(values.codes >= 0)
            codes = values.codes[rows]
            buffers = [None, pa.py_buffer(values.offsets), pa.py_buffer(values.data)]
            texts = pa.Array.from_buffers(pa.large_string(), len(values), buffers).cast(pa.string())
            hashes, classes = values.hashes.view(np.int64)[codes], values.classes[codes].astype(np.int32)
            counts = batch.select([1, 2]).take(pa.array(rows)).columns
            yield pa.RecordBatch.from_arrays([hashes, texts.take(pa.array(codes)), classes, *counts], schema=_VALUES)


class _SearchRange:
    """Searches all segments for the values of a range, in a task."""

    def __init__(self, task: SearchTask) -> None:
        self._task = task

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        given = [batch for batch in batches if batch.num_rows]
        if not given:
            return
        rows = pa.Table.from_batches(given)
        counters = TaskCounters("search", self._task.snapshot)
        wanted = [("hash", "min"), ("class", "min"), ("n", "sum"), ("first", "min")]
        rows = rows.group_by("text", use_threads=False).aggregate(wanted).combine_chunks()
        values = _value_set(rows, self._task.params.is_weighted)
        n_rows = int(rows.column("n_sum").to_numpy().sum())
        evidence = count_values(self._task.all_groups(), values, self._task.params)
        hits = evidence.hits
        arrays = [hits.segments, hits.columns, hits.cardinality, *np.ascontiguousarray(evidence.sums.T)]
        nothing = [pa.nulls(len(hits), _FOUND.field(i).type) for i in range(len(arrays), len(_FOUND))]
        yield from pa.table([*arrays, *nothing], schema=_FOUND).to_batches()
        facts = dict(vars(ValueSummary.of(values, n_rows, rows.column("first_min").to_numpy())))
        integers = facts.pop("integers").tobytes()
        facts_here = {"facts": json.dumps({**facts, "weight": evidence.total_weight}), "integers": integers}
        yield pa.RecordBatch.from_pylist([{**facts_here, "reported": counters.reported()}], _FOUND)


def _value_set(rows: pa.Table, has_rows: bool) -> ValueSet:
    """Make the distinct values of a range, with their rows if these count."""
    texts = rows.column("text").cast(pa.large_string()).combine_chunks()
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[: len(texts) + 1].copy()
    data = np.zeros(int(offsets[-1]) + PADDING, np.uint8)
    if offsets[-1]:
        data[: offsets[-1]] = np.frombuffer(texts.buffers()[2], np.uint8)[: offsets[-1]]
    hashes, classes = rows.column("hash_min").to_numpy(), rows.column("class_min").to_numpy()
    n = rows.column("n_sum").to_numpy() if has_rows else 0
    codes = np.repeat(np.arange(len(texts), dtype=np.int32), n)
    texts = PackedTexts(hashes.view(np.uint64).copy(), data, offsets)
    return ValueSet(texts, classes.astype(np.int8), codes)
