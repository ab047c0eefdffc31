"""Joins of many rows in Spark by a learned program and by equal keys, beside the same joins written by hand in SQL.

``python -m tests.benchmarks.spark_joins [rows] [directory] [repeats] [share ...]``: makes a table of so many rows as Parquet for
each share (2, 50 and 95 unless given), of which so many in a hundred have a partner among 20,000, and prints what each contender
takes with its planning: wall time, and CPU time of this process and of those below it (Linux). Contenders are interleaved.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import spark_ext
from spark_ext.transfer import to_spark
from tests.benchmarks.spark_searches import cpu_seconds

_HAND = "concat(substring_index(name, ', ', -1), ' ', substring_index(name, ', ', 1))"
_N_PARTNERS, _N_OTHERS = 20_000, 980_000


def _name(number):
    """Write ``last, first`` for a number, another one for each."""
    return f"concat('Last', chr(97 + int({number} % 26)), {number} DIV 1000, ', First', chr(97 + int({number} % 17)), {number} % 1000)"


def _people(spark, n, share, place):
    """Write a table of n rows: a name of a million, and two numbers."""
    path = Path(place) / f"people-{n}-{share}"
    if not path.exists():
        drawn = "pmod(xxhash64(id) DIV 100, {})"
        known, other = drawn.format(_N_PARTNERS), f"{_N_PARTNERS} + {drawn.format(_N_OTHERS)}"
        numbers = spark.range(0, n, 1, 8).selectExpr(
            "id", f"CASE WHEN pmod(xxhash64(id), 100) < {share} THEN {known} ELSE {other} END AS number"
        )
        numbers.selectExpr(f"{_name('number')} AS name", "id AS x", "id % 97 AS y").write.parquet(str(path))
    return spark.read.parquet(str(path))


def _folded(text):
    return f"lower(trim(regexp_replace({text}, '[ \\t\\r\\n]+', ' ')))"


def _contenders(spark, people):
    """Return for each kind of join what makes it: by hand, by hand with keys folded, and by `auto_join`."""
    names = spark.range(_N_PARTNERS).selectExpr(f"{_name('id')} AS name").toPandas()["name"].tolist()
    turned = [" ".join(reversed(name.split(", "))) for name in names]
    places = pa.array(range(len(names)))
    right = to_spark(spark, pa.table({"person": turned, "score": places}))
    twins = to_spark(spark, pa.table({"name": names, "score": places}))
    few = people.where(people["name"].isin(names[:500]))
    for name, frame in (("people", people), ("persons", right), ("twins", twins)):
        frame.createOrReplaceTempView(name)
    plan = spark_ext.report(few.auto_join(right)).to_dict()["plan"]
    plain = spark_ext.report(few.auto_join(twins, on="name")).to_dict()["plan"]
    print("program:", [one["text"] for one in plan["steps"][0]["relation"]["programs"]])

    def by_hand(left, other, view, brought):
        query = f"SELECT /*+ BROADCAST(b) */ a.*, {brought} FROM people a LEFT JOIN {view} b ON {left} = {other}"
        return lambda: spark.sql(query)

    return {
        "program": {
            "by hand": by_hand(_HAND, "b.person", "persons", "b.*"),
            "by hand, folded": by_hand(_folded(_HAND), "lower(b.person)", "persons", "b.*"),
            "auto_join": lambda: people.auto_join(right, plan=plan),
        },
        "equal": {
            "by hand": by_hand("a.name", "b.name", "twins", "b.score"),
            "by hand, folded": by_hand(_folded("a.name"), "lower(b.name)", "twins", "b.score"),
            "auto_join": lambda: people.auto_join(twins, plan=plain),
        },
    }


def _measured(contenders, repeats):
    """Return the medians of wall and CPU seconds of each contender."""
    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for turn in range(repeats + 1):
        for kind, ways in contenders.items():
            for way, make in ways.items():
                begin, used = time.perf_counter(), sum(cpu_seconds(os.getpid()).values())
                make().write.format("noop").mode("overwrite").save()
                spent = time.perf_counter() - begin, sum(cpu_seconds(os.getpid()).values()) - used
                if turn:  # the first turn compiles
                    times.setdefault((kind, way), []).append(spent)
    return {
        key: tuple(statistics.median(column) for column in zip(*found, strict=True)) for key, found in times.items()
    }


def main(n_rows=20_000_000, place=None, repeats=3, *shares):
    """Print the times."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark_ext.enable()
    place = place or tempfile.mkdtemp()
    for share in shares or (2, 50, 95):
        contenders = _contenders(spark, _people(spark, n_rows, share, place))
        found = _measured(contenders, repeats)
        for (kind, way), (wall, cpu) in found.items():
            walls, cpus = zip(*(found[kind, one] for one in ("by hand", "by hand, folded")), strict=True)
            told = ", ".join(
                f"{what} {own:.2f} s ({own / bare:.2f} times by hand, {own / folded:.2f} times by hand with folded keys)"
                for what, own, (bare, folded) in (("wall", wall, walls), ("CPU", cpu, cpus))
            )
            print(f"{n_rows:,} rows, {share} % with a partner, {kind}, {way}: {told}", flush=True)
    spark.stop()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(*map(int, arguments[:1]), *arguments[1:2], *map(int, arguments[2:]))
