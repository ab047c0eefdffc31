"""What the life of an index costs: ``python -m tests.benchmarks.life_costs INDEX``. Works on a copy."""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin

N_ROWS = 200
_PAGE = os.sysconf("SC_PAGE_SIZE")


def _size(path):
    return sum(f.stat().st_size for f in Path(path).rglob("*") if f.is_file())


class _Memory:
    """Peak of this process's own (not mapped) memory inside a ``with``, sampled every 5 ms."""

    def __enter__(self):
        self.before = self.peak = self._now()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self.peak = max(self.peak, self._now())

    @staticmethod
    def _now():
        resident, shared = (int(n) for n in Path("/proc/self/statm").read_text().split()[1:3])
        return (resident - shared) * _PAGE

    def _watch(self):
        while not self._stop.wait(0.005):
            self.peak = max(self.peak, self._now())


def _frame(values, rng, number):
    """A small table: values of the lake, and own ones."""
    chosen = rng.choice(values, N_ROWS) if len(values) else [f"v{i}" for i in range(N_ROWS)]
    return pd.DataFrame({"x": chosen, "own": [f"{number}-{i}" for i in range(N_ROWS)], "n": range(N_ROWS)})


def _queries(lake, n):
    """Query frames of values that the lake holds: those of `n` columns of its largest segment."""
    segment = max(lake.segments, key=lambda s: s.meta.size)
    numbers = segment.catalog.numbers
    usable = np.flatnonzero((numbers["is_indexed"] > 0) & (numbers["cardinality"] >= 10))
    chosen = np.random.default_rng(0).choice(usable, min(n, usable.size), replace=False)
    from dfjoin.index.column_values import tokens_of_column, value_of_token

    return [
        pd.DataFrame({"q": [value_of_token(segment, t) for t in tokens_of_column(segment, int(c))[:1000].tolist()]})
        for c in chosen
    ]


def _query_ms(lake, queries, rounds=3):
    """Median of the best of some rounds, in milliseconds, with a warm cache."""
    best = []
    for query in queries:
        spent = []
        for _ in range(rounds):
            begun = time.perf_counter()
            dfjoin.discover_joinable(query, "q", lake, rank="matched")
            spent.append(time.perf_counter() - begun)
        best.append(min(spent))
    return 1000 * statistics.median(best)


def measure(index, *, segment_counts=(1, 10, 100), n_queries=50, place=None):
    """Measure adds, searches over many segments, compaction and vacuum on a copy of an index.

    Parameters
    ----------
    index : path
        It is not changed.
    segment_counts : sequence of int
        Numbers of segments to time queries with; small tables are added up to each.
    n_queries : int
    place : path, optional
        Where the copy goes; removed in the end.

    Returns
    -------
    dict
        ``add_s`` (one small table, median of 5, warm), ``query_ms`` (segments -> p50),
        ``compact_s, compact_mb_s, compact_peak_mb``, ``bytes_before, bytes_after`` of vacuum, ``vacuum_s``.
    """
    place = Path(tempfile.mkdtemp(prefix="dfjoin-costs-", dir=place))
    copy = place / "copy.dfjoin"
    try:
        begun = time.perf_counter()
        shutil.copytree(index, copy)
        figures = {"copy_s": time.perf_counter() - begun, "bytes": _size(copy)}
        lake = dfjoin.open_lake(copy)
        figures["segments"] = len(lake.segments)
        queries = _queries(lake, n_queries)
        values = np.array(sorted({v for query in queries for v in query["q"].tolist()}), dtype=object)
        rng = np.random.default_rng(1)
        n_added = 0

        def add():
            nonlocal n_added
            frame = _frame(values, rng, n_added)
            n_added += 1
            begun = time.perf_counter()
            lake.add({f"life-costs-{n_added}": frame}, engine="inline", progress=False)
            return time.perf_counter() - begun

        figures["query_ms"] = {len(lake.segments): _query_ms(lake, queries)}
        add()
        figures["add_s"] = statistics.median(add() for _ in range(5))
        spent = []
        for count in segment_counts:
            while len(lake.segments) < count:
                spent.append(add())
            if len(lake.segments) == count:
                figures["query_ms"][count] = _query_ms(lake, queries)
        if spent:
            figures["add_s_at_the_end"] = statistics.median(spent[-5:])
        begun = time.perf_counter()
        lake.compact()
        figures["compact_small_s"] = time.perf_counter() - begun
        figures["segments_after_compact"] = len(lake.segments)
        figures["query_ms"][f"{len(lake.segments)} after compact"] = _query_ms(lake, queries)
        merged = sum(segment.meta.size for segment in lake.segments)
        with _Memory() as memory:
            begun = time.perf_counter()
            lake.compact(full=True)
            seconds = time.perf_counter() - begun
        figures["segments_after_full_compact"] = len(lake.segments)
        figures["compact_s"] = seconds
        figures["compact_mb_s"] = merged / 1e6 / seconds
        figures["compact_peak_mb"] = (memory.peak - memory.before) / 1e6
        figures["compact_peak_per_byte"] = (memory.peak - memory.before) / merged
        figures["query_ms"][f"{len(lake.segments)} after full compact"] = _query_ms(lake, queries)
        figures["bytes_before"] = _size(copy)
        begun = time.perf_counter()
        lake.vacuum(0)
        figures["vacuum_s"] = time.perf_counter() - begun
        figures["bytes_after"] = _size(copy)
        figures["max_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        assert lake.verify() == []
        return figures
    finally:
        shutil.rmtree(place, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("--queries", type=int, default=50)
    options = parser.parse_args()
    for name, value in measure(options.index, n_queries=options.queries).items():
        print(f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
