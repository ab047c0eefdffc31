"""Search with several columns at once, a key or numbers that make points, of which tasks take parts.

Of a key the index is read here, which takes milliseconds; reading rows of tables is what takes long, and what tasks do.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F

from dfjoin.errors import InvalidParameterError
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.column_search import finish_search, key_result, search_queries, warn_of_missing
from dfjoin.search.composite_search import deal_tables, find_tables, merge_tables, search_tables
from dfjoin.search.discover import has_composite_key, make_key, query_columns
from dfjoin.search.embedding.axes_query import PointQuery
from dfjoin.search.embedding.axes_search import deal_points, merge_points, search_part
from dfjoin.search.found import Found
from dfjoin.search.hits import KeySearch
from dfjoin.search.key_tables import KeyTables
from dfjoin.search.query import KeyQuery
from spark_ext.jobs import described, in_tasks, n_cores, task_keys
from spark_ext.probe import collect_or_explain, require_index
from spark_ext.search_tasks import SearchTask
from spark_ext.task_counters import TaskCounters, summary
from spark_ext.transfer import pickled_for_tasks, to_spark

__all__ = ["search_several"]

_SECONDS = 30.0
"""How long a task reads tables: nobody waits for a job as for an answer at once."""


def search_several(
    spark: Any, frame: pd.DataFrame, on: list[str], task: SearchTask, where: str
) -> tuple[JoinCandidates, dict[str, Any] | None]:
    """Search a lake with several columns at once.

    Parameters
    ----------
    spark : SparkSession
    frame : pandas DataFrame
        With the rows of these columns.
    on : list of str
    task : SearchTask
    where : {"auto", "driver", "cluster"}

    Returns
    -------
    JoinCandidates
        As `dfjoin.discover_joinable` returns them.
    work : dict or None
        What tasks did; None where there were none.
    """
    snapshot, params = task.snapshot, task.params
    if has_composite_key(on, params):
        search, work = _search_key(spark, make_key(frame, on, snapshot, params), task, where)
        return warn_of_missing(key_result(snapshot, search, params)), work
    queries = query_columns(frame, on, snapshot, params)
    if where == "cluster" and isinstance(queries[0], PointQuery):
        found, work = _search_points(spark, queries[0], task)
        return finish_search(snapshot, [found], params), work
    return search_queries(snapshot, queries, params), None


def _search_key(spark: Any, query: KeyQuery, task: SearchTask, where: str) -> tuple[KeySearch, dict[str, Any] | None]:
    """Search a lake with a key; with `where` "auto" in tasks if this process has no time for all tables."""
    tables = find_tables(task.snapshot, query, task.params)
    if where == "cluster":
        require_index(spark, task.snapshot)
        return _key_in_tasks(spark, tables, query, task)
    own = merge_tables(tables, [search_tables(tables, query, task.params)], query, task.params)
    if where == "driver" or own.stats.is_complete:
        return own, None
    try:
        require_index(spark, task.snapshot)
    except InvalidParameterError:  # tasks do not see it: what was found here is all that there is
        return own, None
    found, work = _key_in_tasks(spark, tables, query, task)
    is_worse = set(found.notes.get("unread", ())) - set(own.notes.get("unread", ()))  # files that tasks do not see
    return (own, None) if is_worse else (found, work)


def _key_in_tasks(spark: Any, tables: KeyTables, query: KeyQuery, task: SearchTask) -> tuple[KeySearch, dict[str, Any]]:
    """Deal tables out to as many tasks as there are cores, and merge what they find."""
    parts = deal_tables(tables, n_cores(spark), query, task.params)
    found, work = _parts_found(spark, _SearchTables(task), query, parts)
    return merge_tables(tables, found, query, task.params), work


def _search_points(spark: Any, query: PointQuery, task: SearchTask) -> tuple[Found, dict[str, Any]]:
    """Search for points: as many tasks as there are cores take some of them each."""
    require_index(spark, task.snapshot)
    parts = deal_points(task.snapshot, query, n_cores(spark), task.params)
    found, work = _parts_found(spark, _SearchPoints(task), None, parts)
    return merge_points(task.snapshot, query, found, task.params), work


def _parts_found(spark: Any, run: _SearchParts, shared: Any, parts: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return what a task makes of each part and of what all of them share, and what the tasks reported."""
    tasks = {
        "key": pa.array(task_keys(spark, len(parts)), pa.int64()),
        "part": pa.array(map(pickled_for_tasks, parts), pa.binary()),
    }
    of_all = to_spark(spark, pa.table({"shared": pa.array([pickled_for_tasks(shared)], pa.binary())}))
    dealt = to_spark(spark, pa.table(tasks)).crossJoin(F.broadcast(of_all)).repartition(len(parts), "key")
    with described(spark, "search: parts of a query of several columns"):
        made = collect_or_explain(in_tasks(dealt, run, "found binary, reported string")).to_pydict()
    return [pickle.loads(one) for one in made["found"]], summary(made["reported"])


class _SearchParts(ABC):
    """Searches for the parts of a task."""

    def __init__(self, task: SearchTask) -> None:
        self._task = task

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Search for the part of each row, and tell what that took."""
        for batch in batches:
            for row in batch.to_pylist():
                counters = TaskCounters("search", self._task.snapshot)
                found = self.carry_out(pickle.loads(row["shared"]), pickle.loads(row["part"]))
                made = {"found": [pickle.dumps(found)], "reported": [counters.reported()]}
                yield pa.RecordBatch.from_pydict(made)

    @abstractmethod
    def carry_out(self, shared: Any, part: Any) -> Any:
        """Search for one part."""


class _SearchTables(_SearchParts):
    """Compares some tables with a key."""

    def carry_out(self, shared: Any, part: Any) -> Any:
        tables = KeyTables(self._task.snapshot, shared, part)
        return search_tables(tables, shared, self._task.params, _SECONDS)


class _SearchPoints(_SearchParts):
    """Compares some points with those of the lake."""

    def carry_out(self, shared: Any, part: Any) -> Any:
        return search_part(self._task.snapshot, part, self._task.params)
