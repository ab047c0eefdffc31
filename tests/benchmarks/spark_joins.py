"""Joins of many rows in Spark by a learned program, beside the same joins written by hand in SQL.

``python -m tests.benchmarks.spark_joins [rows] [directory] [repeats]``: makes a table of so many rows as Parquet once, and prints the
times of each contender, interleaved, with the ratio of the medians to the first one.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession

import spark_ext
from spark_ext.transfer import to_spark

_HAND = "concat(substring_index(name, ', ', -1), ' ', substring_index(name, ', ', 1))"


def _people(spark, n, place):
    """Write a table of n rows: a name ``last, first`` of a million, and two numbers."""
    path = Path(place) / f"people-{n}"
    if not path.exists():
        name = (
            "concat('Last', chr(97 + int(id % 26)), id % 1000, ', First', chr(97 + int(id % 17)), int(id / 7) % 1000)"
        )
        frame = spark.range(0, n, 1, 8).selectExpr(f"{name} AS name", "id AS x", "id % 97 AS y")
        frame.write.parquet(str(path))
    return spark.read.parquet(str(path))


def main(n_rows=20_000_000, place=None, repeats=5):
    """Print the times."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark_ext.enable()
    people = _people(spark, n_rows, place or tempfile.mkdtemp())
    chosen = people.sample(0.01, seed=3).selectExpr("name").distinct().limit(20_000).toPandas()["name"]
    names = [" ".join(reversed(name.split(", "))) for name in chosen]
    table = pa.Table.from_pandas(pd.DataFrame({"person": names, "score": range(len(names))}), preserve_index=False)
    right = to_spark(spark, table)
    few = people.where(people["name"].isin(chosen[:500].tolist()))
    plan = spark_ext.report(few.auto_join(right)).to_dict()["plan"]
    programs = plan["steps"][0]["relation"]["programs"]
    print("program:", [one["text"] for one in programs])
    people.createOrReplaceTempView("people")
    right.createOrReplaceTempView("persons")

    def hand():
        return spark.sql(f"SELECT /*+ BROADCAST(b) */ a.*, b.* FROM people a LEFT JOIN persons b ON {_HAND} = b.person")

    def folded():
        left = f"lower(trim({_HAND}))"
        return spark.sql(
            f"SELECT /*+ BROADCAST(b) */ a.*, b.* FROM people a LEFT JOIN persons b ON {left} = lower(b.person)"
        )

    def learned():
        return people.auto_join(right, plan=plan)

    contenders = {"SQL by hand": hand, "SQL by hand, case and space folded": folded, "auto_join": learned}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repeats + 1):
        for name, make in contenders.items():
            frame = make()
            begin = time.perf_counter()
            frame.write.format("noop").mode("overwrite").save()
            if turn:  # the first turn compiles
                times[name].append(time.perf_counter() - begin)
    base = statistics.median(times["SQL by hand"])
    for name, found in times.items():
        middle = statistics.median(found)
        print(f"{name}: median {middle:.2f} s, {middle / base:.2f} times the first; all {[round(t, 2) for t in found]}")
    begin = time.perf_counter()
    learned()
    print(f"deciding and planning auto_join: {time.perf_counter() - begin:.2f} s")
    spark.stop()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(
        int(arguments[0]) if arguments else 20_000_000,
        arguments[1] if len(arguments) > 1 else None,
        int(arguments[2]) if len(arguments) > 2 else 5,
    )
