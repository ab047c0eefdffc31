"""What tasks of a search do: they open the index themselves, and search all of it, or one group of its segments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.errors import DfjoinError
from dfjoin.kernels.evidence import N_SUMS
from dfjoin.search.discover import finish_search, search_queries
from dfjoin.search.hits import Hits
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams
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
from spark_ext.queries import queries_of

__all__ = [
    "GROUP_SCHEMA",
    "NO_COUNTS",
    "CountHolding",
    "MergeGroups",
    "ProbeIndex",
    "SearchGroup",
    "SearchTask",
    "SearchWhole",
    "of_one",
    "schema_of",
    "sql_schema",
]

_GROUP_BYTES = 256 << 20
"""Segments of about so many bytes are searched by one task."""

_MOST_GROUPS = 256

_MANY_ROWS = 1 << 16
"""Values that a task gathers before it searches for their query columns together."""

NO_COUNTS = pa.table(
    {"q": pa.array([], pa.string()), "hash": pa.array([], pa.int64()), "held": pa.array([], pa.int64())}
)
"""No counts of values: what the searches of groups get where nothing is ranked by them."""


@lru_cache(maxsize=8)
def _opened(path: str, version: int, moved: tuple[tuple[str, str], ...], group: tuple[int, ...] | None) -> Snapshot:
    """Open an index, or some segments of it, once in a worker."""
    if group is None:
        return open_snapshot(path, version, dict(moved) or None)
    whole = _opened(path, version, moved, None)
    metas = tuple(whole.manifest.segments[number] for number in group)
    return whole.at(replace(whole.manifest, segments=metas))


def of_one(task: Callable[[pa.Table], pa.Table]) -> Callable[..., pa.Table]:
    """Make a function that Spark calls with the rows of a group: it reads how many arguments there are."""

    def run(values):  # type: ignore[no-untyped-def]
        return task(values)

    return run


class ProbeIndex:
    """Tells which index a task finds."""

    def __init__(self, index: tuple[str, int, tuple[tuple[str, str], ...]]) -> None:
        self._index = index

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the identity of the index, or why there is none."""
        for _ in batches:
            try:
                found = _opened(*self._index, None).manifest.index_uuid
            except DfjoinError as error:
                found = str(error)
            yield pa.record_batch([pa.array([found])], names=["uuid"])


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
        if len(segments) < 2 or is_whole or not mode.is_by_segment(self.params):
            return [tuple(range(len(segments)))]
        self.n_columns = count_columns(self.snapshot)
        size = sum(segment.meta.size for segment in segments)
        return group_segments(self.snapshot, min(_MOST_GROUPS, max(2, -(-size // _GROUP_BYTES))))

    def queries(self, values: pa.Table) -> Iterator[QueryColumn]:
        """Make the query columns that rows hold."""
        for query in queries_of(values, self.fields, self.snapshot.settings, self.params, self.companions):
            if query.profile.is_indexable or not self.is_every:
                yield query


class SearchWhole:
    """Searches the whole lake for the query columns of a task, whose rows come sorted by them."""

    def __init__(self, task: SearchTask, schema: pa.Schema) -> None:
        self._task = task
        self._schema = schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Search for the query columns of a partition, many together."""
        waiting: list[pa.RecordBatch] = []
        n_rows = 0
        for batch in batches:
            waiting.append(batch)
            n_rows += batch.num_rows
            if n_rows < _MANY_ROWS:
                continue
            table = pa.Table.from_batches(waiting)
            last = pc.index(table.column("q"), table.column("q")[-1]).as_py()  # the last one may go on
            yield from self._search(table.slice(0, last))
            waiting, n_rows = table.slice(last).to_batches(), table.num_rows - last
        if waiting:
            yield from self._search(pa.Table.from_batches(waiting))

    def _search(self, values: pa.Table) -> Iterator[pa.RecordBatch]:
        """Search for whole query columns together."""
        queries = list(self._task.queries(values))
        if queries:
            hits = search_queries(self._task.snapshot, queries, self._task.params)
            yield from _table(hits, hits["query_column"], self._schema).to_batches()


class CountHolding:
    """Counts the columns of a group of segments that hold each value of one query column."""

    def __init__(self, task: SearchTask) -> None:
        self._task = task

    def __call__(self, values: pa.Table) -> pa.Table:
        """Count the columns of the group that hold each value."""
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
GROUP_SCHEMA = pa.schema(
    [
        ("q", pa.string()),
        *((name, pa.int64()) for name in _HIT_FIELDS),
        ("errors", pa.float64()),
        ("sums", pa.list_(pa.int64())),
        ("weight", pa.float64()),
    ]
)


class SearchGroup:
    """Searches a group of segments for one query column."""

    def __init__(self, task: SearchTask) -> None:
        self._task = task

    def __call__(self, rows: pa.Table) -> pa.Table:
        """Search the group for one query column."""
        numbers, held = _numbers(rows), _held_counts(rows)
        found = []
        for query in self._task.queries(_of_values(rows)):
            known = replace(query, held=held.of(query.values.hashes, self._task.n_columns))
            hits = search_group(self._task.group(numbers), numbers, known, self._task.params)
            found.append(_group_table(query.name, hits))
        return pa.concat_tables(found) if found else GROUP_SCHEMA.empty_table()


class MergeGroups:
    """Merges what the searches of all groups found for one query column."""

    def __init__(self, task: SearchTask, schema: pa.Schema) -> None:
        self._task = task
        self._schema = schema

    def __call__(self, rows: pa.Table) -> pa.Table:
        """Merge the hits of one query column."""
        tables = [self._schema.empty_table()]
        for query in self._task.queries(_of_values(rows)):
            known = replace(query, held=_held_counts(rows).of(query.values.hashes, self._task.n_columns))
            merged = merge_groups(self._task.snapshot, known, [_group_hits(rows)], self._task.params)
            hits = finish_search(self._task.snapshot, [merged], self._task.params)
            tables.append(_table(hits, query.name, self._schema))
        return pa.concat_tables(tables)


def _table(hits: pd.DataFrame, names: Any, schema: pa.Schema) -> pa.Table:
    """Return the rows of a result, each with the name of its query column."""
    frame = pd.DataFrame(hits).reindex(columns=[name for name in schema.names if name != "q"])
    frame.insert(0, "q", names)
    return pa.Table.from_pandas(frame, schema, preserve_index=False).replace_schema_metadata(None)


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
    return pa.table([*columns, lists, np.full(n, found.total_weight)], schema=GROUP_SCHEMA)


def _group_hits(rows: pa.Table) -> GroupHits:
    """Read what `_group_table` wrote, of all groups; rows of counts have no segment."""
    rows = rows.filter(rows.column("segments").is_valid()).combine_chunks()
    arrays = [rows.column(field).to_numpy() for field in (*_HIT_FIELDS, "errors")]
    sums = rows.column("sums").combine_chunks().flatten().to_numpy()
    weight = float(rows.column("weight").to_numpy().max(initial=0.0))
    return GroupHits(Hits(*arrays), sums.reshape(-1, N_SUMS), weight)


def schema_of(task: SearchTask) -> pa.Schema:
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


def sql_schema(schema: pa.Schema) -> str:
    """Write the schema of Arrow tables as Spark has it."""
    return ", ".join(f"`{f.name}` {_SQL.get(str(f.type), 'array<bigint>')}" for f in schema)
