"""Search with a key of several columns: here, and where the time is not enough, by tasks that share the tables out.

The index is read here, which takes milliseconds; reading rows of tables is what takes long, and what tasks do.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from dfjoin.errors import InvalidParameterError
from dfjoin.search.composite_search import deal_tables, find_tables, merge_tables, search_tables
from dfjoin.search.hits import KeySearch
from dfjoin.search.key_tables import KeyTables
from dfjoin.search.query import KeyQuery
from spark_ext.jobs import described, in_tasks, n_cores, task_keys
from spark_ext.probe import collect_or_explain, require_index
from spark_ext.search_tasks import SearchTask
from spark_ext.task_counters import TaskCounters, summary
from spark_ext.transfer import pickled_for_tasks, to_spark

__all__ = ["search_key"]

_SECONDS = 30.0
"""How long a task reads tables: nobody waits for a job as for an answer at once."""


def search_key(spark: Any, query: KeyQuery, task: SearchTask, where: str) -> tuple[KeySearch, dict[str, Any] | None]:
    """Search a lake with a key of several columns.

    Parameters
    ----------
    spark : SparkSession
    query : KeyQuery
    task : SearchTask
    where : {"auto", "driver", "cluster"}
        "auto": tasks compare the tables if this process has no time for all.

    Returns
    -------
    KeySearch
        As `dfjoin.search.composite_search.search_key` returns it.
    work : dict or None
        What tasks did; None where there were none.
    """
    tables = find_tables(task.snapshot, query, task.params)
    if where == "cluster":
        require_index(spark, task.snapshot)
        return _in_tasks(spark, tables, query, task)
    own = merge_tables(tables, [search_tables(tables, query, task.params)], query, task.params)
    if where == "driver" or own.stats.is_complete:
        return own, None
    try:
        require_index(spark, task.snapshot)
    except InvalidParameterError:  # tasks do not see it: what was found here is all that there is
        return own, None
    found, work = _in_tasks(spark, tables, query, task)
    is_worse = set(found.notes.get("unread", ())) - set(own.notes.get("unread", ()))  # files that tasks do not see
    return (own, None) if is_worse else (found, work)


def _in_tasks(spark: Any, tables: KeyTables, query: KeyQuery, task: SearchTask) -> tuple[KeySearch, dict[str, Any]]:
    """Deal tables out to as many tasks as there are cores, and merge what they find."""
    parts = deal_tables(tables, n_cores(spark), query, task.params)
    told = {
        "key": pa.array(task_keys(spark, len(parts)), pa.int64()),
        "tables": pa.array(map(pickled_for_tasks, parts), pa.binary()),
    }
    shared = to_spark(spark, pa.table({"query": pa.array([pickled_for_tasks(query)], pa.binary())}))
    dealt = to_spark(spark, pa.table(told)).crossJoin(F.broadcast(shared)).repartition(len(parts), "key")
    with described(spark, "search: tables of a key"):
        made = collect_or_explain(in_tasks(dealt, _SearchTables(task), "found binary, told string")).to_pydict()
    found = merge_tables(tables, [pickle.loads(one) for one in made["found"]], query, task.params)
    return found, summary(made["told"])


class _SearchTables:
    """Compares the tables of a task with a key."""

    def __init__(self, task: SearchTask) -> None:
        self._task = task

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Search the tables of each row, and tell what that took."""
        for batch in batches:
            for row in batch.to_pylist():
                counters = TaskCounters("search", self._task.snapshot)
                query = pickle.loads(row["query"])
                tables = KeyTables(self._task.snapshot, query, pickle.loads(row["tables"]))
                found = search_tables(tables, query, self._task.params, _SECONDS)
                made = {"found": [pickle.dumps(found)], "told": [counters.told()]}
                yield pa.RecordBatch.from_pydict(made)
