"""What tasks of a search do: they open the index themselves, and search all of it, or one group of its segments.

A task gets the rows of some query columns, sorted by these, and works on many whole ones together. Its last row holds
what it counted, see `spark_ext.task_counters`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.search.column_search import finish_search, search_queries
from dfjoin.search.group_hits import GroupHits, HeldCounts
from dfjoin.search.hits import Hits
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.search.segment_groups import group_segments, merge_groups, search_group
from dfjoin.store.snapshot import Snapshot, open_snapshot
from spark_ext.queries import queries_of
from spark_ext.task_counters import TaskCounters

__all__ = [
    "GROUP_SCHEMA",
    "HELD_SCHEMA",
    "CountHolding",
    "MergeGroups",
    "SearchGroup",
    "SearchTask",
    "SearchWhole",
    "as_rows",
    "schema_of",
    "sql_schema",
]

_GROUP_BYTES = 256 << 20
"""Segments of about so many bytes are searched by one task; of fewer where cores would have nothing to do."""

_MOST_GROUPS = 256

_MANY_ROWS = 1 << 16
"""Values that a task gathers before it searches for their query columns together."""

_REPORTED = pa.field("reported", pa.string())
"""The column that is null but in the last row of a task."""

HELD_SCHEMA = pa.schema([("q", pa.string()), *((name, pa.int64()) for name in ("hash", "held", "near")), _REPORTED])
"""Rows of counts: how many columns hold a value, how many values are near; without a hash totals, see `HeldCounts`."""


@lru_cache(maxsize=8)
def _opened(path: str, version: int, moved: tuple[tuple[str, str], ...], group: tuple[int, ...] | None) -> Snapshot:
    """Open an index, or some segments of it, once in a worker."""
    if group is None:
        return open_snapshot(path, version, dict(moved) or None)
    whole = _opened(path, version, moved, None)
    metas = tuple(whole.manifest.segments[number] for number in group)
    return whole.at(replace(whole.manifest, segments=metas))


class SearchTask:
    """What all tasks of a search know; a worker opens the index itself.

    Parameters
    ----------
    snapshot : Snapshot
    params : SearchParams
    fields : dict of str
        Query column → field of its values.
    companions : tuple of str
    is_every : bool
        Query columns that can be no keys are left out.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        params: SearchParams,
        fields: dict[str, str],
        companions: tuple[str, ...],
        is_every: bool,
    ) -> None:
        self.index = (snapshot.location, snapshot.version, tuple(sorted(snapshot.moved.items())))
        self.params = params
        self.fields = fields
        self.companions = companions
        self.is_every = is_every
        self._snapshot: Snapshot | None = snapshot

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_snapshot": None}

    @property
    def snapshot(self) -> Snapshot:
        """The lake."""
        return self._snapshot if self._snapshot is not None else _opened(*self.index, None)

    def group(self, numbers: tuple[int, ...]) -> Snapshot:
        """Return some segments of the lake."""
        return _opened(*self.index, numbers)

    def all_groups(self) -> list[tuple[tuple[int, ...], Snapshot]]:
        """Return all segments of the lake in groups, each opened with its numbers."""
        return [(numbers, self.group(numbers)) for numbers in self.groups()]

    def groups(self, n_cores: int = 1) -> list[tuple[int, ...]]:
        """Return the groups of segments that are searched apart; one where they are not.

        They depend on the index and on the cores alone, so that the same task gets the same group every time.
        """
        segments = self.snapshot.segments
        if len(segments) < 2 or not mode_of(self.params.mode).is_by_segment(self.params):
            return [tuple(range(len(segments)))]
        size = sum(segment.meta.size for segment in segments)
        return group_segments(self.snapshot, min(_MOST_GROUPS, max(2, n_cores, -(-size // _GROUP_BYTES))))

    def queries(self, values: pa.Table) -> Iterator[QueryColumn]:
        """Make the query columns that rows hold."""
        for query in queries_of(values, self.fields, self.snapshot.settings, self.params, self.companions):
            if query.profile.is_indexable or not self.is_every:
                yield query


class _QueryTask(ABC):
    """Works on the query columns of a partition, whose rows come sorted by them.

    Parameters
    ----------
    task : SearchTask
    schema : pyarrow.Schema
        Of the rows that it makes; it ends with `_REPORTED`.
    """

    stage = ""
    """What the task is for."""

    def __init__(self, task: SearchTask, schema: pa.Schema) -> None:
        self._task = task
        self._schema = schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Work on the partition, and tell what it took; of a partition without rows there is nothing to tell."""
        counters = None
        for rows in _whole_queries(batches):
            counters = counters or TaskCounters(self.stage, self._task.snapshot)
            for made in self.carry_out(rows):
                yield from made.to_batches()
        if counters is not None:
            reported = [{name: counters.reported() if name == _REPORTED.name else None for name in self._schema.names}]
            yield pa.RecordBatch.from_pylist(reported, self._schema)

    @abstractmethod
    def carry_out(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Work on the rows of some query columns, all rows of each."""


def _whole_queries(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Gather rows that come sorted by query column into tables of whole query columns, many together."""
    waiting: list[pa.RecordBatch] = []
    n_rows = 0
    for batch in batches:
        waiting.append(batch)
        n_rows += batch.num_rows
        if n_rows < _MANY_ROWS:
            continue
        table = pa.Table.from_batches(waiting)
        names = table.column("q")
        if names[0] == names[-1] or not names[-1].is_valid:  # one query column alone
            continue
        last = pc.index(names, names[-1]).as_py()  # the last one may go on
        yield table.slice(0, last)
        waiting, n_rows = table.slice(last).to_batches(), table.num_rows - last
    if n_rows:
        yield pa.Table.from_batches(waiting)


class SearchWhole(_QueryTask):
    """Searches the whole lake for the query columns of a task."""

    stage = "search"

    def carry_out(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Search for whole query columns together."""
        queries = list(self._task.queries(rows))
        if queries:
            hits = search_queries(self._task.snapshot, queries, self._task.params)
            yield as_rows(hits, hits["query_column"], self._schema)


class CountHolding(_QueryTask):
    """Counts in a group of segments what the search has to know of all, for each query column."""

    stage = "count"

    def __init__(self, task: SearchTask) -> None:
        super().__init__(task, HELD_SCHEMA)

    def carry_out(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Count the columns of the group that hold each value, or piece of one, and those that hold any."""
        group, mode = self._task.group(_numbers(rows)), mode_of(self._task.params.mode)
        for query in self._task.queries(rows):
            held = mode.count_group(group, query, self._task.params)
            n = held.hashes.size + 1
            hashes = pa.array(np.append(held.hashes.view(np.int64), 0), mask=np.arange(n) == n - 1)
            near = np.append(np.zeros(n - 1, np.int64) if held.near is None else held.near, held.n_full)
            columns = [[query.name] * n, hashes, np.append(held.counts, held.total), near, pa.nulls(n, pa.string())]
            yield pa.table(columns, schema=HELD_SCHEMA)


_HIT_FIELDS = ("segments", "columns", "matched", "matched_rows", "cardinality")
GROUP_SCHEMA = pa.schema(
    [
        ("q", pa.string()),
        *((name, pa.int64()) for name in _HIT_FIELDS),
        ("errors", pa.float64()),
        ("kept", pa.list_(pa.int64())),
        ("weight", pa.float64()),
        _REPORTED,
    ]
)


class SearchGroup(_QueryTask):
    """Searches a group of segments for query columns."""

    stage = "search"

    def __init__(self, task: SearchTask) -> None:
        super().__init__(task, GROUP_SCHEMA)

    def carry_out(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Search the group for each query column."""
        numbers, held = _numbers(rows), _held_counts(rows)
        for query in self._task.queries(_of_values(rows)):
            group = self._task.group(numbers)
            hits = search_group(group, numbers, query, held[query.name], self._task.params)
            yield _group_table(query.name, hits)


class MergeGroups(_QueryTask):
    """Merges what the searches of all groups found for query columns, and hands on what tasks reported before."""

    stage = "merge"

    def carry_out(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Merge the hits of each query column."""
        reported = rows.column(_REPORTED.name).drop_null()
        yield pa.table(
            [pa.nulls(len(reported), f.type) if f != _REPORTED else reported for f in self._schema], schema=self._schema
        )
        held = _held_counts(rows)
        for query in self._task.queries(_of_values(rows)):
            found = _group_hits(rows.filter(pc.equal(rows.column("q"), query.name)))
            merged = merge_groups(self._task.snapshot, query, [found], held[query.name], self._task.params)
            hits = finish_search(self._task.snapshot, [merged], self._task.params)
            yield as_rows(hits, query.name, self._schema)


def as_rows(hits: pd.DataFrame, names: Any, schema: pa.Schema) -> pa.Table:
    """Return the rows of a result, each with the name of its query column."""
    frame = pd.DataFrame(hits).reindex(columns=[name for name in schema.names if name not in ("q", _REPORTED.name)])
    frame.insert(0, "q", names)
    frame[_REPORTED.name] = None
    return pa.Table.from_pandas(frame, schema, preserve_index=False).replace_schema_metadata(None)


def _numbers(values: pa.Table) -> tuple[int, ...]:
    """Return the segments of a task."""
    return tuple(json.loads(values.column("g")[0].as_py()))


def _of_values(rows: pa.Table) -> pa.Table:
    """Return the rows that hold values of query columns."""
    return rows.filter(rows.column("n").is_valid())


def _held_counts(rows: pa.Table) -> dict[str, HeldCounts]:
    """Read what was counted for each query column; rows of values and of hits have no count."""
    rows = rows.filter(rows.column("held").is_valid())
    is_total = rows.column("hash").is_null()
    totals = {one["q"]: one for one in rows.filter(is_total).select(["q", "held", "near"]).to_pylist()}
    rows = rows.filter(pc.invert(is_total))
    hashes, counts, near = (rows.column(name).to_numpy() for name in ("hash", "held", "near"))
    hashes = hashes.view(np.uint64)
    names = rows.column("q").combine_chunks().dictionary_encode()
    codes = names.indices.to_numpy()
    order = np.lexsort((hashes, codes))
    ends = np.cumsum(np.bincount(codes, minlength=len(names.dictionary)))
    rows_of = dict(zip(names.dictionary.to_pylist(), np.split(order, ends[:-1]), strict=False))
    found = defaultdict(lambda: HeldCounts(np.empty(0, np.uint64), np.empty(0, np.int64), 0))
    for name, total in totals.items():
        own = rows_of.get(name, order[:0])
        found[name] = HeldCounts(hashes[own], counts[own], total["held"], near[own], total["near"])
    return found


def _group_table(name: str, found: GroupHits) -> pa.Table:
    """Write the hits of a group of segments as rows."""
    hits, n = found.hits, len(found.hits)
    lists = pa.ListArray.from_arrays(np.arange(n + 1, dtype=np.int32) * found.kept.shape[1], found.kept.ravel())
    columns = [pa.array([name] * n, pa.string()), *(getattr(hits, field) for field in _HIT_FIELDS), hits.errors]
    columns += [lists, np.full(n, found.total_weight), pa.nulls(n, pa.string())]
    return pa.table(columns, schema=GROUP_SCHEMA)


def _group_hits(rows: pa.Table) -> GroupHits:
    """Read what `_group_table` wrote, of all groups; rows of counts have no segment."""
    rows = rows.filter(rows.column("segments").is_valid()).combine_chunks()
    arrays = [rows.column(field).to_numpy() for field in (*_HIT_FIELDS, "errors")]
    kept = rows.column("kept").combine_chunks().flatten().to_numpy()
    weight = float(rows.column("weight").to_numpy().max(initial=0.0))
    return GroupHits(Hits(*arrays), kept.reshape(rows.num_rows, kept.size // max(1, rows.num_rows)), weight)


def schema_of(task: SearchTask) -> pa.Schema:
    """Return the columns of a result, of the name of the query column and all that a search may add."""
    nothing = pa.table({"q": ["q"], "v0": pa.array(["\0"]), "n": [1], "first": [0]})
    (query,) = queries_of(nothing, {}, task.snapshot.settings, task.params, ())
    bare = task.snapshot.at(replace(task.snapshot.manifest, segments=()))
    frame = pd.DataFrame(search_queries(bare, [query], task.params))
    schema = pa.Schema.from_pandas(frame, preserve_index=False).remove_metadata()
    fields = [pa.field(f.name, pa.string() if _is_text(f.type) else f.type) for f in schema]
    return pa.schema([pa.field("q", pa.string()), *fields, pa.field("pad", pa.int64()), _REPORTED])


def _is_text(type_: pa.DataType) -> bool:
    return pa.types.is_null(type_) or pa.types.is_large_string(type_) or str(type_) == "string_view"


_SQL = {
    "string": "string",
    "int64": "bigint",
    "double": "double",
    "bool": "boolean",
    "int32": "int",
    "binary": "binary",
}


def sql_schema(schema: pa.Schema) -> str:
    """Write the schema of Arrow tables as Spark has it."""
    return ", ".join(f"`{f.name}` {_SQL.get(str(f.type), 'array<bigint>')}" for f in schema)
