"""A search from Spark for a query column of many distinct values: time, and memory of the driver and of tasks.

``python -m tests.benchmarks.spark_long_query INDEX [values] [kind] [cores]``: `kind` is ``integers`` (all from 0 on) or
``texts`` (every tenth is an integer). Prints wall and CPU times by program, the most resident memory of this process, of
Java and of the largest worker, and what `spark_ext.report` counts (Linux).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import dfjoin
import spark_ext
from spark_ext.transfer import collect
from tests.benchmarks.spark_searches import cpu_seconds

_PAGE = os.sysconf("SC_PAGE_SIZE")


def _below(root):
    """Return the processes below one, itself included, with their programs and resident bytes."""
    parents, found = {}, {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                head, _, text = (place / "stat").read_text().rpartition(")")
            except OSError:
                continue
            values = text.split()
            parents[int(place.name)] = int(values[1])
            found[int(place.name)] = (head.partition("(")[2], int(values[21]) * _PAGE)
    for number in found:
        above = number
        while above not in (root, 0):
            above = parents.get(above, 0)
        if above == root:
            yield number, *found[number]


def _watch(peaks, is_over):
    """Note the most that each program has had, every half second."""
    own = os.getpid()
    while not is_over.wait(0.5):
        for number, program, size in _below(own):
            name = "driver" if number == own else "java" if program == "java" else "worker"
            peaks[name] = max(peaks.get(name, 0), size)


def main(index, n_values=20_000_000, kind="texts", n_cores=2):
    """Print the figures."""
    spark = spark_ext.start_session(**{"spark.master": f"local[{n_cores}]", "spark.driver.memory": "2g"})
    spark_ext.enable()
    lake = dfjoin.open_lake(index)
    made = "cast(id AS string)" if kind == "integers" else "if(id % 10 = 0, cast(id AS string), concat('Item ', id))"
    frame = spark.range(n_values).selectExpr(f"{made} AS value")
    collect(spark.range(9).selectExpr("'x' AS value").discover_joinable("value", lake, where="cluster"))
    peaks, is_over = {}, threading.Event()
    watcher = threading.Thread(target=_watch, args=(peaks, is_over))
    watcher.start()
    before, begin = cpu_seconds(os.getpid()), time.perf_counter()
    found = frame.discover_joinable("value", lake, where="cluster", k=5)
    wall = time.perf_counter() - begin
    after = cpu_seconds(os.getpid())
    is_over.set()
    watcher.join()
    print(
        f"{n_values:,} {kind}: {wall:.1f} s; CPU seconds:",
        {k: round(v - before.get(k, 0), 1) for k, v in after.items()},
    )
    print("resident, MB:", {name: size >> 20 for name, size in peaks.items()}, spark_ext.report(found))
    print(found.select("table", "column", "matched", "score").toArrow().to_pandas())
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], *(int(one) if one.isdigit() else one for one in sys.argv[2:]))
