"""What tasks of a search and a join tell of themselves: in which process each ran, and what it had to fetch."""

from __future__ import annotations

import json
import os
import socket
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from dfjoin.store.snapshot import Snapshot

__all__ = ["TaskCounters", "new_notes", "summary"]


def new_notes(spark: Any) -> Any:
    """Return an accumulator of what tasks tell, for those that run when a result is read; None on Connect."""
    from pyspark.accumulators import AccumulatorParam

    class _Notes(AccumulatorParam):  # type: ignore[type-arg]
        def zero(self, value: Any) -> Any:
            return ()

        def addInPlace(self, value1: Any, value2: Any) -> Any:
            return (*value1, *value2)

    try:
        return spark.sparkContext.accumulator((), _Notes())
    except Exception:  # what Connect raises for that differs between versions
        return None


class TaskCounters:
    """Counts what a task does, from now on.

    Parameters
    ----------
    stage : str
        What the task is for.
    snapshot : Snapshot
        The index that it reads.
    """

    def __init__(self, stage: str, snapshot: Snapshot) -> None:
        self._stage = stage
        self._snapshot = snapshot
        self._begin = time.perf_counter()
        self._fetched = snapshot.n_fetched_bytes

    def reported(self) -> str:
        """Return the counts as JSON text."""
        from pyspark import TaskContext

        context = TaskContext.get()
        return json.dumps(
            {
                "stage": self._stage,
                "task": -1 if context is None else context.partitionId(),
                "process": [socket.gethostname(), os.getpid()],
                "bytes_fetched": self._snapshot.n_fetched_bytes - self._fetched,
                "seconds": round(time.perf_counter() - self._begin, 3),
            }
        )


def summary(reported: Iterable[str]) -> dict[str, Any]:
    """Sum up what tasks reported.

    Returns
    -------
    dict
        ``tasks``: how many there were for each stage; ``processes`` and ``hosts`` that they ran in; ``bytes_fetched``
        from another file system; ``cache_hits``: tasks that found all they read on their machine; ``task_seconds``.
    """
    found = [json.loads(text) for text in sorted(set(reported))]
    processes = {tuple(one["process"]) for one in found}
    return {
        "tasks": dict(Counter(one["stage"] for one in found)),
        "processes": len(processes),
        "hosts": len({host for host, _ in processes}),
        "bytes_fetched": sum(one["bytes_fetched"] for one in found),
        "cache_hits": sum(not one["bytes_fetched"] for one in found),
        "task_seconds": round(sum(one["seconds"] for one in found), 3),
    }
