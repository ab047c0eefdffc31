"""Search from Spark: the distinct values of the query columns come to the index, or the index is searched in tasks.

In tasks every query column is normalised and searched as in pandas. Where a lake has several segments, groups
of them are searched in tasks of their own, after tasks have counted what depends on all, and merged in a task.
"""

from __future__ import annotations

import inspect
import json
import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F

from dfjoin._validation import check_choice, check_text
from dfjoin.api import discover_joinable
from dfjoin.errors import InvalidParameterError
from dfjoin.lake import refuse_swapped, resolve_lake
from dfjoin.search.column_search import search_queries
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams, search_params
from dfjoin.store.snapshot import Snapshot
from spark_ext.jobs import described, in_tasks, kept, n_cores, task_keys
from spark_ext.long_search import search_long
from spark_ext.probe import collect_or_explain, require_index
from spark_ext.queries import QueryRows, check_named, long_queries, query_rows
from spark_ext.search_tasks import (
    GROUP_SCHEMA,
    HELD_SCHEMA,
    CountHolding,
    MergeGroups,
    SearchGroup,
    SearchTask,
    SearchWhole,
    as_rows,
    schema_of,
    sql_schema,
)
from spark_ext.several_columns import search_several
from spark_ext.task_counters import summary
from spark_ext.transfer import collect, estimated_bytes, most_rows, quoted, to_pandas, to_spark

__all__ = [
    "MOST_VALUES",
    "SEARCH_KEY",
    "WHERE",
    "collect_points",
    "collect_values",
    "discover",
    "discover_batch",
    "searched_frames",
]

WHERE = ("auto", "driver", "cluster")
"""Where a search runs."""

_MOST_BYTES = 64 << 20
MOST_VALUES = 2 << 20
"""Distinct values that are looked up in the index, at most: their bytes as Arrow, and their number."""

_TASKS_FOR_CORES = 3
"""Tasks for each core that query columns are dealt out to: these have values of their own number."""

SEARCH_KEY = "dfjoin"
"""Key in the metadata of the column `table` of a result: which lake was searched, and how."""


_MOST_SEARCHED = 256

searched_frames: dict[str, Any] = {}
"""Name of a search in the metadata of its result → the frame that was searched for, of the latest searches."""


def discover(frame: Any, on: Any, lake: Any, where: str, options: dict[str, Any]) -> Any:
    """Carry out `discover_joinable` of a Spark DataFrame.

    Parameters
    ----------
    frame : pyspark DataFrame
    on : str, list of one str, "*" or None
    lake : Lake or path
    where : {"auto", "driver", "cluster"}
    options : dict
        Arguments of `dfjoin.discover_joinable` by name.

    Returns
    -------
    pyspark DataFrame
    """
    found = _discover(frame, on, lake, where, options)
    reported = json.loads(found.schema["table"].metadata[SEARCH_KEY])
    searched_frames[reported["search"]] = frame
    for oldest in list(searched_frames)[:-_MOST_SEARCHED]:
        del searched_frames[oldest]
    return found


def _discover(frame: Any, on: Any, lake: Any, where: str, options: dict[str, Any]) -> Any:
    params = _params(options, where)
    refuse_swapped(on if not (isinstance(on, str) and on in frame.columns) else None, lake, frame.columns)
    snapshot = resolve_lake(lake).snapshot
    mode_of(params.mode).check(snapshot)
    if isinstance(on, list) and len(on) != 1:
        on = [check_named(frame, name, "on") for name in on]
        spark, task = frame.sparkSession, SearchTask(snapshot, params, {}, (), False)
        found, work = search_several(spark, collect_points(frame, on), on, task, where)
        return _result(spark, found, snapshot, {**options, "on": on}, work)
    queries = query_rows(frame, on)
    is_every = on is None or (on == "*" and "*" not in frame.columns)
    task = SearchTask(snapshot, params, queries.fields, queries.companions, is_every)
    return _Search(frame.sparkSession, queries, task, options).run(where)


def collect_points(frame: Any, on: list[str]) -> pd.DataFrame:
    """Collect the columns that make one query together; the others of the frame are empty.

    Tasks make their rows distinct and count them. A row comes here as often as the frame has it, but where these are
    too many, the rows that are repeated come twice: counts above one tell nothing but that they are.
    """
    on = list(dict.fromkeys(check_named(frame, name, "on") for name in on))
    parts = [f"p{i}" for i in range(len(on))]
    taken = frame.select(
        *(F.col(quoted(name)).alias(part) for name, part in zip(on, parts, strict=True)),
        F.monotonically_increasing_id().alias("first"),
    )
    distinct = taken.groupBy(*parts).agg(F.count(F.lit(1)).alias("n"), F.min("first").alias("first"))
    with described(frame.sparkSession, "collect the distinct rows of a key"):
        rows = collect(distinct.limit(MOST_VALUES + 1))
    if rows.num_rows > MOST_VALUES or rows.nbytes > 2 * _MOST_BYTES:
        raise InvalidParameterError(
            f"`on` must be one column where a frame has more than {MOST_VALUES:,} distinct rows of several or "
            f"{2 * _MOST_BYTES >> 20} MiB of them, got {len(on)} columns; search with a part of them, as "
            "df.sample(0.1) has"
        )
    rows = rows.sort_by("first")
    counts = rows.column("n").to_numpy()
    if counts.sum() > MOST_VALUES:
        counts = np.minimum(counts, 2)
    repeated = rows.select(parts).take(np.repeat(np.arange(rows.num_rows), counts)).rename_columns(on)
    return to_pandas(repeated).reindex(columns=frame.columns)  # the names of the others count


def discover_batch(frame: Any, lake: Any, name: str, value: str, where: str, options: dict[str, Any]) -> Any:
    """Search for many query columns, given as a frame of their names and values, in one job."""
    inspect.signature(discover_joinable).bind(None, None, lake, **options)  # an argument that it lacks is a TypeError
    params = _params(options, where)
    snapshot = resolve_lake(lake).snapshot
    mode_of(params.mode).check(snapshot)
    queries = long_queries(frame, check_text(name, "name"), check_text(value, "value"))
    task = SearchTask(snapshot, params, queries.fields, (), False)
    return _Search(frame.sparkSession, queries, task, options).run(where)


def _params(options: dict[str, Any], where: str) -> SearchParams:
    check_choice(where, "where", WHERE)
    params = search_params(**options)
    if params.progressive:
        raise InvalidParameterError("`progressive` returns two results, which a Spark DataFrame cannot; leave it out")
    if params.aliases:
        raise InvalidParameterError(
            "`aliases` are searched for by a frame of pandas; join by them with df.auto_join(lake, aliases=True), or "
            "search with the distinct values, as in df.select(name).distinct().toPandas()"
        )
    return params


def _result(
    spark: Any, hits: pd.DataFrame, snapshot: Snapshot, options: dict[str, Any], work: dict[str, Any] | None = None
) -> Any:
    """Make the result of Spark, which remembers the lake and its work in the metadata of the column `table`."""
    if "pad" in hits and hits["pad"].isna().all():
        hits = hits.drop(columns="pad")
    table = pa.Table.from_pandas(pd.DataFrame(hits), preserve_index=False).replace_schema_metadata(None)
    reported = {
        "index": snapshot.location,
        "version": snapshot.version,
        "options": options,
        "search": uuid.uuid4().hex,
        "work": {"where": "driver"} if work is None else {"where": "cluster", **work},
    }
    return to_spark(spark, table).withMetadata("table", {SEARCH_KEY: json.dumps(reported)})


def collect_values(queries: QueryRows) -> pa.Table | None:
    """Collect the distinct values of query columns; None if there are too many for this process."""
    with described(queries.rows.sparkSession, "collect the distinct values of query columns"):
        values = collect(queries.rows.limit(MOST_VALUES + 1))
    return None if values.num_rows > MOST_VALUES or values.nbytes > 2 * _MOST_BYTES else values


@dataclass(frozen=True)
class _Search:
    """A search for query columns that are rows of Spark."""

    spark: Any
    queries: QueryRows
    task: SearchTask
    options: dict[str, Any]

    def run(self, where: str) -> Any:
        """Search where it is asked for, or where the values and the index allow it."""
        if where == "cluster":
            require_index(self.spark, self.task.snapshot)
            return self._in_tasks()
        values = collect_values(self.queries)
        if values is not None:
            return self._here(values)
        if where == "auto":
            require_index(self.spark, self.task.snapshot)
            return self._in_tasks()
        raise InvalidParameterError(
            f'`where` "driver" brings at most {MOST_VALUES:,} distinct values of {_MOST_BYTES >> 20} MiB to the '
            'index, and the query columns have more; pass where="cluster"'
        )

    def _here(self, values: pa.Table) -> Any:
        """Search in this process."""
        queries = list(self.task.queries(values))
        number_of = {name: number for number, name in enumerate(self.queries.names)}
        queries.sort(key=lambda query: number_of.get(query.name, 0))
        return self._result(search_queries(self.task.snapshot, queries, self.task.params))

    def _in_tasks(self) -> Any:
        """Search in tasks of Spark, and bring the hits here."""
        if self._may_be_long():
            with kept(self.queries.rows) as rows:
                frame, reported = self._found(rows, self._long_columns(rows))
        else:
            frame, reported = self._found(self.queries.rows, {})
        number_of = {name: number for number, name in enumerate(self.queries.names)}
        names = frame["q"].tolist()
        order = sorted(range(len(frame)), key=lambda row: (number_of.get(names[row], 0), names[row], row))
        hits = frame.iloc[order].drop(columns="q").reset_index(drop=True)
        return self._result(hits, summary(reported))

    def _found(self, rows: Any, long: dict[str, int]) -> tuple[pd.DataFrame, list[str]]:
        """Search for the query columns of some rows; return the hits, and what tasks reported."""
        schema = schema_of(self.task)
        parts, reported = [], list[str]()
        if not long or set(long) != set(self.queries.names):
            few = rows.where(~F.col("q").isin(list(long))) if long else rows
            found = self._whole_queries(few, schema)
            reported += found["reported"].dropna().tolist()
            parts.append(found[found["reported"].isna()])
        for name, n_values in long.items():
            hits, own = search_long(rows, name, n_values, self.task)
            parts.append(as_rows(hits, name, schema).to_pandas())
            reported += own
        return pd.concat(parts).drop(columns="reported"), reported

    def _may_be_long(self) -> bool:
        """Tell whether a query column may have more values than one task searches for: if so, a job counts them."""
        n_bytes, n_rows = estimated_bytes(self.queries.rows), most_rows(self.queries.rows)
        is_small = any(n is not None and n <= MOST_VALUES for n in (n_bytes, n_rows))
        return mode_of(self.task.params.mode).is_by_value and not is_small

    def _long_columns(self, rows: Any) -> dict[str, int]:
        """Return the distinct values of the query columns that are searched by ranges of these."""
        with described(self.spark, "search: count the values"):
            counted = collect(rows.groupBy("q").count().where(F.col("count") > MOST_VALUES))
        return {row["q"]: row["count"] for row in counted.sort_by("q").to_pylist()}

    def _whole_queries(self, rows: Any, schema: pa.Schema) -> pd.DataFrame:
        """Search for query columns whose values come to one task together."""
        cores = n_cores(self.spark)
        n_most = _TASKS_FOR_CORES * cores
        n_queries = min(len(self.queries.names) or n_most, n_most)
        groups = self.task.groups(cores)
        with described(self.spark, "search: in tasks"):
            if len(groups) < 2:
                dealt = self._dealt(rows, groups, n_queries)
                found = in_tasks(dealt, SearchWhole(self.task, schema), sql_schema(schema))
            else:
                n_parts = min(n_queries, -(-n_most // len(groups)))
                found = self._by_groups(rows, groups, n_parts, n_queries, schema)
            return collect_or_explain(found).to_pandas()

    def _by_groups(
        self, rows: Any, groups: list[tuple[int, ...]], n_parts: int, n_queries: int, schema: pa.Schema
    ) -> Any:
        """Search groups of segments in tasks, and merge what they found for each query column."""
        held = to_spark(self.spark, HELD_SCHEMA.empty_table())
        if mode_of(self.task.params.mode).needs_counts(self.task.params):
            counted = in_tasks(self._dealt(rows, groups, n_parts), CountHolding(self.task), sql_schema(HELD_SCHEMA))
            held = counted.groupBy("q", "hash", "reported").agg(
                F.sum("held").alias("held"), F.sum("near").alias("near")
            )
        # Values and what is known of them come to a task as rows of one frame: a join of frames would be ambiguous.
        known = self._dealt(rows.unionByName(held, allowMissingColumns=True), groups, n_parts)
        found = in_tasks(known, SearchGroup(self.task), sql_schema(GROUP_SCHEMA))
        whole = rows.unionByName(found, allowMissingColumns=True).unionByName(held, allowMissingColumns=True)
        merged = self._dealt(whole, [()], n_queries)
        return in_tasks(merged, MergeGroups(self.task, schema), sql_schema(schema))

    def _dealt(self, rows: Any, groups: list[tuple[int, ...]], n_parts: int) -> Any:
        """Deal rows out to tasks: each group gets those of all query columns, in so many tasks.

        The number of tasks is given, so that adaptive execution does not make one of them, whatever the bytes; and
        the task of a group is the same in each search.
        """
        number = F.xxhash64("q")  # never null: what was counted by tasks has no query column, and stays
        if self.queries.names:
            number = F.coalesce(F.array_position(F.array(*map(F.lit, self.queries.names)), F.col("q")), F.lit(0))
        tasks = [(json.dumps(group), part) for group in groups for part in range(n_parts)]
        assigned = {
            "g": pa.array([group for group, _ in tasks]),
            "part": pa.array([part for _, part in tasks], pa.int64()),
            "key": pa.array(task_keys(self.spark, len(tasks)), pa.int64()),
        }
        parts_of = F.broadcast(to_spark(self.spark, pa.table(assigned)))
        dealt = rows.withColumn("part", F.pmod(number, F.lit(n_parts))).join(parts_of, "part").drop("part")
        return dealt.repartition(len(tasks), "key").sortWithinPartitions("q")

    def _result(self, hits: pd.DataFrame, work: dict[str, Any] | None = None) -> Any:
        return _result(self.spark, hits, self.task.snapshot, self.options, work)
