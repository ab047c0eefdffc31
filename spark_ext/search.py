"""Search from Spark: the distinct values of the query columns come to the index, or the index is searched in tasks.

In tasks every query column is normalised and searched as in pandas. Where a lake has several segments, and what is
found in one does not depend on the others, groups of segments are searched in tasks of their own and merged in a task.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F

from dfjoin._validation import check_choice, check_text
from dfjoin.errors import DfjoinError, InvalidParameterError
from dfjoin.kernels.evidence import N_SUMS
from dfjoin.lake import refuse_swapped, resolve_lake
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.discover import discover as search_pandas
from dfjoin.search.discover import finish_search, search_queries
from dfjoin.search.hits import Hits
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams, search_params
from dfjoin.search.query import QueryColumn
from dfjoin.search.segment_groups import (
    GroupHits,
    HeldCounts,
    count_columns,
    count_holding,
    group_segments,
    merge_groups,
    search_group,
)
from dfjoin.store.snapshot import Snapshot, open_snapshot
from spark_ext.queries import QueryRows, check_named, long_queries, queries_of, query_rows
from spark_ext.session import without_pandas_warning
from spark_ext.transfer import collect, quoted, to_pandas, to_spark

__all__ = ["WHERE", "Picked", "candidate_of", "discover", "discover_batch", "picked", "search_again"]

WHERE = ("auto", "driver", "cluster")
"""Where a search runs."""

_MOST_BYTES = 64 << 20
_MOST_VALUES = 2 << 20
"""Distinct values that are brought to the index, at most: their bytes as Arrow, and their number."""

_GROUP_BYTES = 256 << 20
"""Segments of about so many bytes are searched by one task."""

_MOST_GROUPS = 256

_KEY = "dfjoin"
"""Key in the metadata of the column `table` of a result: which lake was searched, and how."""


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
    params = _params(options, where)
    refuse_swapped(on if not (isinstance(on, str) and on in frame.columns) else None, lake, frame.columns)
    snapshot = resolve_lake(lake).snapshot
    mode_of(params.mode).check(snapshot)
    if isinstance(on, list) and len(on) != 1:
        found = search_pandas(_points(frame, on), on, snapshot, params)
        return _result(frame.sparkSession, found, snapshot, {**options, "on": on})
    queries = query_rows(frame, on)
    is_every = on is None or (on == "*" and "*" not in frame.columns)
    task = _Task(snapshot, params, queries.fields, queries.companions, is_every)
    return _Search(frame.sparkSession, queries, task, options).run(where)


def _points(frame: Any, on: list[str]) -> pd.DataFrame:
    """Collect the columns that make one query together, row by row; the others of the frame are empty."""
    for name in on:
        check_named(frame, name, "on")
    rows = collect(frame.select(*(quoted(name) for name in on)).limit(_MOST_VALUES + 1))
    if rows.num_rows > _MOST_VALUES or rows.nbytes > 2 * _MOST_BYTES:
        raise InvalidParameterError(
            f"`on` must be one column where the frame has more than {_MOST_VALUES:,} rows, got {len(on)} columns; "
            "search with the distinct points: df.select(columns).distinct()"
        )
    return to_pandas(rows).reindex(columns=frame.columns)  # the names of the others count


def discover_batch(frame: Any, lake: Any, name: str, value: str, where: str, options: dict[str, Any]) -> Any:
    """Search for many query columns, given as a frame of their names and values, in one job."""
    params = _params(options, where)
    snapshot = resolve_lake(lake).snapshot
    mode_of(params.mode).check(snapshot)
    queries = long_queries(frame, check_text(name, "name"), check_text(value, "value"))
    task = _Task(snapshot, params, queries.fields, (), False)
    return _Search(frame.sparkSession, queries, task, options).run(where)


def _params(options: dict[str, Any], where: str) -> SearchParams:
    check_choice(where, "where", WHERE)
    params = search_params(**options)
    if params.progressive:
        raise InvalidParameterError("`progressive` returns two results, which a Spark DataFrame cannot; leave it out")
    return params


def _result(spark: Any, hits: pd.DataFrame, snapshot: Snapshot, options: dict[str, Any]) -> Any:
    """Make the result of Spark, which remembers the lake in the metadata of the column `table`."""
    if "pad" in hits and hits["pad"].isna().all():
        hits = hits.drop(columns="pad")
    table = pa.Table.from_pandas(pd.DataFrame(hits), preserve_index=False).replace_schema_metadata(None)
    told = {
        "index": snapshot.place,
        "version": snapshot.version,
        "roots": snapshot.moved,
        "options": options,
    }
    return to_spark(spark, table).withMetadata("table", {_KEY: json.dumps(told)})


# Driver ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Search:
    """A search for query columns that are rows of Spark."""

    spark: Any
    queries: QueryRows
    task: _Task
    options: dict[str, Any]

    def run(self, where: str) -> Any:
        """Search where it is asked for, or where the values and the index allow it."""
        if where == "cluster":
            self._require_index()
            return self._in_tasks()
        values = self.values()
        if values is not None:
            return self._here(values)
        if where == "auto":
            self._require_index()
            return self._in_tasks()
        raise InvalidParameterError(
            f'`where` "driver" brings at most {_MOST_VALUES:,} distinct values of {_MOST_BYTES >> 20} MiB to the '
            'index, and the query columns have more; pass where="cluster"'
        )

    def values(self) -> pa.Table | None:
        """Collect the distinct values; None if there are too many."""
        values = collect(self.queries.rows.limit(_MOST_VALUES + 1))
        return None if values.num_rows > _MOST_VALUES or values.nbytes > 2 * _MOST_BYTES else values

    def _here(self, values: pa.Table) -> Any:
        """Search in this process."""
        queries = list(self.task.queries(values))
        place = {name: number for number, name in enumerate(self.queries.names)}
        queries.sort(key=lambda query: place.get(query.name, 0))
        return self._result(search_queries(self.task.snapshot, queries, self.task.params))

    def _in_tasks(self) -> Any:
        """Search in tasks of Spark, and bring the hits here."""
        schema = _schema_of(self.task)
        rows = self.queries.rows
        groups = self.task.groups()
        with without_pandas_warning():
            if len(groups) < 2:
                found = rows.groupBy("q").applyInArrow(_of_one(_Whole(self.task, schema)), _sql_schema(schema))
            else:
                found = self._by_groups(rows, groups, schema)
        frame = collect(found).to_pandas()
        place = {name: number for number, name in enumerate(self.queries.names)}
        order = sorted(range(len(frame)), key=lambda row: (place.get(frame["q"].iat[row], 0), frame["q"].iat[row], row))
        hits = frame.iloc[order].drop(columns="q").reset_index(drop=True)
        return self._result(hits)

    def _by_groups(self, rows: Any, groups: list[tuple[int, ...]], schema: pa.Schema) -> Any:
        """Search groups of segments in tasks, and merge what they found in a task for each query column."""
        numbers = [json.dumps(group) for group in groups]
        parts = to_spark(self.spark, pa.table({"g": numbers}))
        spread = rows.crossJoin(F.broadcast(parts))
        held = to_spark(self.spark, _NO_COUNTS)
        if self.task.params.is_by_usefulness:
            counted = spread.groupBy("q", "g").applyInArrow(
                _of_one(_Count(self.task)), "q string, hash bigint, held bigint"
            )
            held = counted.groupBy("q", "hash").agg(F.sum("held").alias("held"))
        # Values and what is known of them come to a task as rows of one frame: a join of frames would be ambiguous.
        known = spread.unionByName(held.crossJoin(F.broadcast(parts)), allowMissingColumns=True)
        search = _of_one(_SearchGroup(self.task))
        found = known.groupBy("q", "g").applyInArrow(search, _sql_schema(_GROUP_SCHEMA))
        whole = rows.unionByName(found, allowMissingColumns=True).unionByName(held, allowMissingColumns=True)
        return whole.groupBy("q").applyInArrow(_of_one(_Merge(self.task, schema)), _sql_schema(schema))

    def _result(self, hits: pd.DataFrame) -> Any:
        return _result(self.spark, hits, self.task.snapshot, self.options)

    def _require_index(self) -> None:
        """Raise unless tasks find the same version of the index at the same place."""
        probe = self.spark.range(0, 1, 1, 1).mapInArrow(_Probe(self.task.index), "uuid string")
        try:
            found = collect(probe).column("uuid").to_pylist()[0]
        except Exception as error:  # whatever a worker of another machine raises
            found = str(error).strip().splitlines()[-1]
        own = self.task.snapshot.manifest.index_uuid
        if found != own:
            raise InvalidParameterError(
                f'`where` "cluster" searches in tasks, and they do not find the index at {self.task.index[0]!r} '
                f'({found}); put it where executors read it, or pass where="driver"'
            )


_NO_COUNTS = pa.table(
    {"q": pa.array([], pa.string()), "hash": pa.array([], pa.int64()), "held": pa.array([], pa.int64())}
)


# Tasks ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _opened(path: str, version: int, moved: tuple[tuple[str, str], ...], group: tuple[int, ...] | None) -> Snapshot:
    """Open an index, or some segments of it, once in a worker."""
    if group is None:
        return open_snapshot(path, version, dict(moved) or None)
    whole = _opened(path, version, moved, None)
    metas = tuple(whole.manifest.segments[number] for number in group)
    return whole.at(replace(whole.manifest, segments=metas))


def _of_one(task: Callable[[pa.Table], pa.Table]) -> Callable[..., pa.Table]:
    """Make a function that Spark calls with the rows of a group: it reads how many arguments there are."""

    def run(values):  # type: ignore[no-untyped-def]
        return task(values)

    return run


class _Probe:
    """Tells which index a task finds."""

    def __init__(self, index: tuple[str, int, tuple[tuple[str, str], ...]]) -> None:
        self._index = index

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            try:
                found = _opened(*self._index, None).manifest.index_uuid
            except DfjoinError as error:
                found = str(error)
            yield pa.record_batch([pa.array([found])], names=["uuid"])


class _Task:
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
        self.index = (snapshot.place, snapshot.version, tuple(sorted(snapshot.moved.items())))
        self.params = params
        self.fields = fields
        self.companions = companions
        self.is_every = is_every
        self.n_columns = 0
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

    def groups(self) -> list[tuple[int, ...]]:
        """Return the groups of segments that are searched apart; one where they are not."""
        segments, mode = self.snapshot.segments, mode_of(self.params.mode)
        is_whole = self.params.is_by_usefulness and not mode.is_by_equality  # rarity is counted within the radius
        if len(segments) < 2 or is_whole or not mode.is_by_segment:
            return [tuple(range(len(segments)))]
        self.n_columns = count_columns(self.snapshot)
        size = sum(segment.meta.size for segment in segments)
        return group_segments(self.snapshot, min(_MOST_GROUPS, max(2, -(-size // _GROUP_BYTES))))

    def queries(self, values: pa.Table) -> Iterator[QueryColumn]:
        """Make the query columns that rows hold."""
        for query in queries_of(values, self.fields, self.snapshot.settings, self.params, self.companions):
            if query.profile.is_indexable or not self.is_every:
                yield query


class _Whole:
    """Searches the whole lake for one query column."""

    def __init__(self, task: _Task, schema: pa.Schema) -> None:
        self._task = task
        self._schema = schema

    def __call__(self, values: pa.Table) -> pa.Table:
        return _rows(self._task, values, self._schema, None)


class _Count:
    """Counts the columns of a group of segments that hold each value of one query column."""

    def __init__(self, task: _Task) -> None:
        self._task = task

    def __call__(self, values: pa.Table) -> pa.Table:
        group = self._task.group(_numbers(values))
        parts = [(query.name, count_holding(group, query)) for query in self._task.queries(values)]
        return pa.table(
            {
                "q": pa.array([name for name, held in parts for _ in range(held.hashes.size)], pa.string()),
                "hash": np.concatenate([held.hashes.view(np.int64) for _, held in parts] or [_NONE]),
                "held": np.concatenate([held.counts for _, held in parts] or [_NONE]),
            }
        )


_NONE = np.empty(0, np.int64)
_HIT_FIELDS = ("segments", "columns", "matched", "matched_rows", "cardinality")
_GROUP_SCHEMA = pa.schema(
    [
        ("q", pa.string()),
        *((name, pa.int64()) for name in _HIT_FIELDS),
        ("errors", pa.float64()),
        ("sums", pa.list_(pa.int64())),
        ("weight", pa.float64()),
    ]
)


class _SearchGroup:
    """Searches a group of segments for one query column."""

    def __init__(self, task: _Task) -> None:
        self._task = task

    def __call__(self, rows: pa.Table) -> pa.Table:
        numbers, held = _numbers(rows), _held_counts(rows)
        found = []
        for query in self._task.queries(_of_values(rows)):
            known = replace(query, held=held.of(query.values.hashes, self._task.n_columns))
            hits = search_group(self._task.group(numbers), numbers, known, self._task.params)
            found.append(_group_table(query.name, hits))
        return pa.concat_tables(found) if found else _GROUP_SCHEMA.empty_table()


class _Merge:
    """Merges what the searches of all groups found for one query column."""

    def __init__(self, task: _Task, schema: pa.Schema) -> None:
        self._task = task
        self._schema = schema

    def __call__(self, rows: pa.Table) -> pa.Table:
        return _rows(self._task, _of_values(rows), self._schema, rows)


def _rows(task: _Task, values: pa.Table, schema: pa.Schema, found: pa.Table | None) -> pa.Table:
    """Return the rows of the result for the query columns of a task; `found` holds the hits of groups of segments."""
    tables = [schema.empty_table()]
    for query in task.queries(values):
        if found is None:
            hits = search_queries(task.snapshot, [query], task.params)
        else:
            known = replace(query, held=_held_counts(found).of(query.values.hashes, task.n_columns))
            merged = merge_groups(task.snapshot, known, [_group_hits(found)], task.params)
            hits = finish_search(task.snapshot, [merged], task.params)
        frame = pd.DataFrame(hits).reindex(columns=[name for name in schema.names if name != "q"])
        frame.insert(0, "q", query.name)
        tables.append(pa.Table.from_pandas(frame, schema, preserve_index=False).replace_schema_metadata(None))
    return pa.concat_tables(tables)


def _numbers(values: pa.Table) -> tuple[int, ...]:
    """Return the segments of a task."""
    return tuple(json.loads(values.column("g")[0].as_py()))


def _of_values(rows: pa.Table) -> pa.Table:
    """Return the rows that hold values of query columns."""
    return rows.filter(rows.column("n").is_valid())


def _held_counts(rows: pa.Table) -> HeldCounts:
    """Read in how many columns values stand; rows of hits have no hash."""
    rows = rows.filter(rows.column("hash").is_valid())
    hashes = rows.column("hash").to_numpy().view(np.uint64)
    order = np.argsort(hashes)
    return HeldCounts(hashes[order], rows.column("held").to_numpy()[order])


def _group_table(name: str, found: GroupHits) -> pa.Table:
    """Write the hits of a group of segments as rows."""
    hits, n = found.hits, len(found.hits)
    sums = found.sums if found.sums.size else np.empty((n, 0), np.int64)
    lists = pa.ListArray.from_arrays(np.arange(n + 1, dtype=np.int32) * sums.shape[1], sums.ravel())
    columns = [pa.array([name] * n, pa.string()), *(getattr(hits, field) for field in _HIT_FIELDS), hits.errors]
    return pa.table([*columns, lists, np.full(n, found.total_weight)], schema=_GROUP_SCHEMA)


def _group_hits(rows: pa.Table) -> GroupHits:
    """Read what `_group_table` wrote, of all groups; rows of counts have no segment."""
    rows = rows.filter(rows.column("segments").is_valid()).combine_chunks()
    arrays = [rows.column(field).to_numpy() for field in (*_HIT_FIELDS, "errors")]
    sums = rows.column("sums").combine_chunks().flatten().to_numpy()
    weight = float(rows.column("weight").to_numpy().max(initial=0.0))
    return GroupHits(Hits(*arrays), sums.reshape(-1, N_SUMS), weight)


def _schema_of(task: _Task) -> pa.Schema:
    """Return the columns of a result, of the name of the query column and all that a search may add."""
    nothing = pa.table({"q": ["q"], "v0": pa.array(["\0"]), "n": [1], "first": [0]})
    (query,) = queries_of(nothing, {}, task.snapshot.settings, task.params, ())
    bare = task.snapshot.at(replace(task.snapshot.manifest, segments=()))
    frame = pd.DataFrame(search_queries(bare, [query], task.params))
    schema = pa.Schema.from_pandas(frame, preserve_index=False).remove_metadata()
    fields = [pa.field(f.name, pa.string() if _is_text(f.type) else f.type) for f in schema]
    return pa.schema([pa.field("q", pa.string()), *fields, pa.field("pad", pa.int64())])


def _is_text(type_: pa.DataType) -> bool:
    return pa.types.is_null(type_) or pa.types.is_large_string(type_) or str(type_) == "string_view"


_SQL = {"string": "string", "int64": "bigint", "double": "double", "bool": "boolean", "int32": "int"}


def _sql_schema(schema: pa.Schema) -> str:
    """Write the schema of Arrow tables as Spark has it."""
    return ", ".join(f"`{f.name}` {_SQL.get(str(f.type), 'array<bigint>')}" for f in schema)


# What is done with a result -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Picked:
    """Rows of a result of Spark, and the search that they are of."""

    rows: pd.DataFrame
    index: str
    version: int
    roots: dict[str, str]
    options: dict[str, Any]


def picked(hits: Any) -> Picked | None:
    """Return the rows of a result of `discover_joinable`; None for a DataFrame that is none."""
    if "table" not in hits.columns:
        return None
    told = hits.schema["table"].metadata.get(_KEY)
    if told is None:
        return None
    values = json.loads(told)
    rows = collect(hits).to_pandas()
    missing = [name for name in ("query_column", "table", "column") if name not in rows]
    if missing:
        raise InvalidParameterError(
            f"`hits` must keep the columns that name its candidates, but {missing[0]!r} is gone"
        )
    return Picked(rows, values["index"], values["version"], values["roots"], values["options"])


_OF_RANKS = ("k", "threshold", "min_score", "families", "tables", "exclude", "kinds", "plan")
_EVERY_COLUMN = 1 << 20


def search_again(frame: Any, hits: Picked) -> JoinCandidates:
    """Search again for the rows of a result, in their tables alone, so that they can be explained and joined.

    Parameters
    ----------
    frame : pyspark DataFrame
        The frame that was searched for.
    hits : Picked

    Returns
    -------
    JoinCandidates
        These rows in their order.

    Raises
    ------
    InvalidParameterError
        If a row is not found again, or the query columns have too many values for this process.
    """
    kept = {name: value for name, value in hits.options.items() if name not in _OF_RANKS}
    on = kept.pop("on", None)
    ranks: dict[str, Any] = {"k": _EVERY_COLUMN, "tables": sorted(set(hits.rows["table"]))}
    params = search_params(**kept, **ranks)
    if params.is_by_usefulness:
        params = replace(params, min_score=0.0, families=False)
    snapshot = open_snapshot(hits.index, hits.version, hits.roots or None)
    queries = []
    for name in dict.fromkeys(hits.rows["query_column"]) if on is None else ():
        one = query_rows(frame, name)
        task = _Task(snapshot, params, one.fields, one.companions, False)
        values = _Search(frame.sparkSession, one, task, hits.options).values()
        if values is None:
            raise InvalidParameterError(
                f"`hits` can be explained and joined where the query column has at most {_MOST_VALUES:,} values, and "
                f"{name!r} has more; join the table by a plan that a sample of the rows made"
            )
        queries += list(task.queries(values))
    if on is None:
        found = search_queries(snapshot, queries, params, is_first=False)
    else:
        found = search_pandas(_points(frame, on), on, snapshot, params)
    keys = ["query_column", "table", "column"]
    place = {key: row for row, key in enumerate(zip(*(found[name] for name in keys), strict=True))}
    wanted = list(zip(*(hits.rows[name] for name in keys), strict=True))
    lost = [key for key in wanted if key not in place]
    if lost:
        raise InvalidParameterError(
            f"`hits` has the candidate `{lost[0][1]}` column {lost[0][2]!r}, which the frame does not match now; "
            "search again with discover_joinable"
        )
    return found.iloc[[place[key] for key in wanted]]


def candidate_of(hits: Any, frame: Any, i: int) -> JoinCandidates:
    """Return row `i` of a result of Spark as a result of pandas."""
    chosen = picked(hits)
    if chosen is None:
        raise InvalidParameterError(
            "`hits` must be what discover_joinable of a Spark DataFrame returned (or some of its rows), and keep the "
            "column `table`"
        )
    if not isinstance(i, int) or not -len(chosen.rows) <= i < len(chosen.rows):
        raise InvalidParameterError(f"`i` must be a position in this result of {len(chosen.rows)} rows, got {i!r:.80}")
    return search_again(frame, replace(chosen, rows=chosen.rows.iloc[[i]]))
