"""Joins of many rows in Spark by a learned program, beside the same joins written by hand in SQL.

``python -m tests.benchmarks.spark_joins [rows] [directory] [repeats]``: makes a table of so many rows as Parquet once, and prints the
wall and CPU times of each contender (those of Java's process, Linux), interleaved, with the ratio of the medians to the
join by hand.
"""

from __future__ import annotations

import os
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
        .config("spark.ui.showConsoleProgress", "false")
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

    twins = to_spark(spark, table.set_column(0, "name", pa.array(chosen.tolist())))
    twins.createOrReplaceTempView("twins")
    plain = spark_ext.report(few.auto_join(twins, on="name")).to_dict()["plan"]

    def equal_by_hand():
        return spark.sql("SELECT /*+ BROADCAST(b) */ a.*, b.score FROM people a LEFT JOIN twins b ON a.name = b.name")

    def equal():
        return people.auto_join(twins, plan=plain)

    def hand():
        return spark.sql(f"SELECT /*+ BROADCAST(b) */ a.*, b.* FROM people a LEFT JOIN persons b ON {_HAND} = b.person")

    def collapsed():
        left = f"lower(trim(regexp_replace({_HAND}, '[ \\t\\r\\n]+', ' ')))"
        return spark.sql(
            f"SELECT /*+ BROADCAST(b) */ a.*, b.* FROM people a LEFT JOIN persons b ON {left} = lower(b.person)"
        )

    def learned():
        return people.auto_join(right, plan=plan)

    contenders = {
        "SQL by hand": hand,
        "SQL by hand, case folded and white space collapsed": collapsed,
        "auto_join": learned,
        "SQL by hand, equal names": equal_by_hand,
        "auto_join, equal names": equal,
    }
    java = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()

    def cpu_seconds():
        fields = Path(f"/proc/{java}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for turn in range(repeats + 1):
        for name, make in contenders.items():
            frame = make()
            begin, used = time.perf_counter(), cpu_seconds()
            frame.write.format("noop").mode("overwrite").save()
            if turn:  # the first turn compiles
                times[name].append((time.perf_counter() - begin, cpu_seconds() - used))
    for name, found in times.items():
        first = times["SQL by hand, equal names" if name.endswith("equal names") else "SQL by hand"]
        for kind, what in enumerate(("wall", "CPU")):
            middle, base = (statistics.median(one[kind] for one in some) for some in (found, first))
            print(f"{name}: {what} {middle:.2f} s, {middle / base:.2f} times the same join by hand")
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
