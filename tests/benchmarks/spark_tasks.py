"""Tasks and processes of searches from Spark: of one query over groups of segments, and of many queries.

``python -m tests.benchmarks.spark_tasks [groups] [queries] [cores]`` makes a lake of as many small segments, and takes each
for a group of its own. Prints what `spark_ext.report` counts, in each mode whose search is parted, and whether the rows
are those of pandas.
"""

from __future__ import annotations

import sys
import tempfile
import warnings

import numpy as np
import pandas as pd

import dfjoin
import spark_ext
from spark_ext import search_tasks
from spark_ext.session import start_session
from tests.spark.frames import pair, rows

_WORDS = [
    f"{first} {last}"
    for first in ("Ann", "Bob", "Cem", "Dora", "Emil")
    for last in ("Stone", "Rivers", "Woods", "Hill")
]


def _lake(n_segments, place):
    """Build a lake of so many segments: words as they are, and with their parts in another order."""
    rng, lake = np.random.default_rng(0), None
    for number in range(n_segments):
        words = rng.choice(_WORDS, 12, replace=False)
        turned = [", ".join(reversed(word.split())) for word in words]
        frames = {f"t{number}": pd.DataFrame({"name": words, "turned": turned, "x": rng.integers(0, 99, 12)})}
        options = {"engine": "inline", "progress": False}
        if lake is None:
            settings = {"patterns": True, "signature_min": 8, "permutations": 64}
            lake = dfjoin.build_lake(frames, place, settings=settings, **options)
        else:
            lake = lake.add(frames, **options)
    return lake


def main(n_groups=26, n_queries=300, n_cores=4):
    """Print the counts."""
    warnings.simplefilter("ignore")
    search_tasks._GROUP_BYTES = 1
    spark = start_session(**{"spark.master": f"local[{n_cores}]"})
    spark_ext.enable()
    with tempfile.TemporaryDirectory() as place:
        lake = _lake(n_groups, place + "/ix")
        df, sdf = pair(spark, name=_WORDS)
        for options in ({}, {"rank": "matched"}, {"mode": "lsh", "k": 5}, {"mode": "transform"}):
            found = sdf.discover_joinable("name", lake, where="cluster", **options)
            is_equal = rows(found) == rows(pd.DataFrame(df.discover_joinable("name", lake, **options)))
            print(f"one query, {n_groups} groups, {options}: equal {is_equal}, {spark_ext.report(found)}", flush=True)
        columns = {f"q{number:03}": _WORDS[: 2 + number % 18] for number in range(n_queries)}
        table = [(name, value) for name, values in columns.items() for value in values]
        queries = spark.createDataFrame(table, "query_column string, value string")
        for opened, what in ((lake, f"{n_groups} groups"), (_lake(1, place + "/one"), "1 group")):
            found = spark_ext.discover_joinable_batch(queries, opened, where="cluster", k=3)
            want = dfjoin.discover_joinable_batch(columns, opened, k=3)
            is_equal = rows(found) == rows(pd.DataFrame(want))
            print(f"{n_queries} queries, {what}: equal {is_equal}, {spark_ext.report(found)}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
