"""Searches from Spark: one query here and in tasks, and a batch of queries, beside the same batch in one process.

``python -m tests.benchmarks.spark_searches INDEX LAKE [queries] [repeats]``: queries are columns of files of the lake, up to
100 values of each. Prints wall and CPU times, those of Java and of the workers of Python apart (Linux).
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa

import dfjoin
import spark_ext
from spark_ext.transfer import collect, to_spark

_TICK = os.sysconf("SC_CLK_TCK")


def _queries(lake, n):
    """Return the first columns of texts of a lake that have ten values, each cut at 100 rows."""
    found = {}
    for path in sorted(Path(lake).rglob("*.csv")):
        try:
            frame = pd.read_csv(path, dtype=str, nrows=100)
        except (ValueError, OSError):
            continue
        for position, name in enumerate(frame.columns):
            if frame[name].nunique() >= 10:
                found[f"{len(found)}/{name}"] = frame.iloc[:, position]
        if len(found) >= n:
            break
    return dict(list(found.items())[:n])


def cpu_seconds(root):
    """Return the CPU seconds of a process and of all below it, those that ended included, by the name of the program."""
    fields, children, names = {}, {}, {}
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            head, _, text = (place / "stat").read_text().rpartition(")")
        except OSError:
            continue
        values, number = text.split(), int(place.name)
        fields[number] = sum(int(values[i]) for i in (11, 12, 13, 14)) / _TICK
        names[number] = head.partition("(")[2]
        children.setdefault(int(values[1]), []).append(number)
    used: dict[str, float] = {}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        used[names[one]] = used.get(names[one], 0.0) + fields[one]
        waiting += children.get(one, [])
    return used


def main(index, lake, n_queries=1000, repeats=3):
    """Print the times."""
    spark = spark_ext.start_session(**{"spark.master": "local[2]"})
    spark_ext.enable()
    opened = dfjoin.open_lake(index)
    queries = _queries(lake, n_queries)
    pairs = [(name, value) for name, column in queries.items() for value in column.dropna()]
    names, values = zip(*pairs, strict=True)
    many = (
        to_spark(spark, pa.table({"query_column": pa.array(names), "value": pa.array(values)})).repartition(4).cache()
    )
    first = next(iter(queries))
    one = to_spark(spark, pa.table({"v": pa.array(queries[first].dropna().tolist())}))
    contenders = {
        "one query here": lambda: collect(one.discover_joinable("v", opened, where="driver")),
        "one query in tasks": lambda: collect(one.discover_joinable("v", opened, where="cluster")),
        "batch here": lambda: collect(spark_ext.discover_joinable_batch(many, opened, where="driver")),
        "batch in tasks": lambda: collect(spark_ext.discover_joinable_batch(many, opened, where="cluster")),
        "batch in pandas": lambda: dfjoin.discover_joinable_batch(queries, opened, n_threads=2),
    }
    times: dict[str, list[float]] = {name: [] for name in contenders}
    cpu: dict[str, list[dict[str, float]]] = {name: [] for name in contenders}
    for turn in range(repeats + 1):
        for name, run in contenders.items():
            before, begin = cpu_seconds(os.getpid()), time.perf_counter()
            run()
            if turn:  # the first turn compiles and starts workers
                times[name].append(time.perf_counter() - begin)
                after = cpu_seconds(os.getpid())
                cpu[name].append({who: after[who] - before.get(who, 0.0) for who in after})
    for name, found in times.items():
        middle = statistics.median(found)
        n = len(queries) if name.startswith("batch") else 1
        used = {who: statistics.median(one.get(who, 0.0) for one in cpu[name]) for who in cpu[name][0]}
        told = ", ".join(f"{who} {seconds:.2f}" for who, seconds in used.items() if seconds >= 0.01)
        print(f"{name}: {middle:.2f} s, {n / middle:.0f} queries a second; CPU seconds: {told}")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
