"""Spark Connect: builds, searches and joins give what a classic session gives.

In one process of its own: Connect and a classic session do not share one, and Java takes long to start.
"""

import os
import subprocess
import sys

import pytest

from tests.conftest import EXAMPLE_LAKE, PROJECT

pytestmark = pytest.mark.spark

CONNECT = """
import sys, threading, time
from pathlib import Path
from datetime import date as D
import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession, functions as F
import dfjoin, spark_ext
from tests.spark.frames import pair, rows


pause, waits = Path(sys.argv[2] + "-pause"), Path(sys.argv[2] + "-waits")


def wait(batches):
    while pause.exists():
        waits.touch()
        time.sleep(0.1)
    yield from batches


def interrupt_what_waits(spark):
    while pause.exists():
        if waits.exists():
            spark.interruptTag("dfjoin")
        time.sleep(0.1)


def build(spark, source, index):
    lake = dfjoin.build_lake(source, index, spark=spark, progress=False)
    table = {"t": spark.range(0, 1000, 1, 3).selectExpr("cast(id as string) as key")}
    added = dfjoin.build_lake(table, index, spark=spark, progress=False, if_exists="add")
    hits = pd.DataFrame({"c": ["France", "peru"]}).discover_joinable("c", added, rank="matched")
    print(len(added.tables), hits["table"][0], added.columns.query("table == 't'")["cardinality"].tolist())
    return lake


if __name__ == "__main__":
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark_ext.enable(spark)
    lake = build(spark, sys.argv[1], sys.argv[2])
    df, sdf = pair(spark, land=["France", "peru ", "CHAD", None, "peru"], n=[1, 2, 3, 4, 5])
    want = pd.DataFrame(df.discover_joinable("*", lake))
    for where in ("driver", "cluster"):
        assert rows(sdf.discover_joinable("*", lake, where=where)) == rows(want), where
    hits = sdf.discover_joinable("land", lake, k=2)
    print(spark_ext.explain(hits.limit(1), sdf).to_dict()["matched"])
    wide = rows(df.auto_join(lake, on="land"))
    report = sdf.auto_join(lake, on="land").where("n > 1").withColumn("one", F.lit(1)).dfjoin.report()
    assert report.to_dict()["joined"] == df.auto_join(lake, on="land").attrs["dfjoin"]["joined"]
    day, since = pa.array([D(2020, 1, n) for n in (1, 2, 3, 3, 5)]), pa.array([D(2020, 1, n) for n in (2, 2, 1, 4)])
    dated, own = pair(spark, land=["France", "peru ", "CHAD", None, "peru"], day=day)
    known, theirs = pair(spark, land=["peru", "PERU", "chad", "peru"], day=since, v=[1, 2, 3, 4])
    for aggregate in ("auto", None):
        options = {"on": ["land", "day"], "how": "asof", "aggregate": aggregate}
        assert rows(own.auto_join(theirs, **options)) == rows(dated.auto_join(known, **options)), aggregate
    names = ["Obama, Barack", "Bush, George W.", "Clinton, Bill", "Carter, J\u00fcrgen", None]
    turned = [None if one is None else " ".join(reversed(one.upper().split(", "))) for one in names]
    one, first = pair(spark, name=names, a=list(range(5)))
    two, second = pair(spark, who=turned, b=list(range(5)))
    assert rows(first.auto_join(second)) == rows(one.auto_join(two))
    nothing, empty = df.iloc[:0], sdf.where("n < 0")
    assert rows(empty.discover_joinable("land", lake)) == rows(pd.DataFrame(nothing.discover_joinable("land", lake)))
    for where in ("driver", "cluster"):
        assert rows(sdf.auto_join(lake, on="land", where=where)) == wide, where
    assert rows(sdf.auto_join(hits.limit(1))) == rows(df.auto_join(df.discover_joinable("land", lake, k=1)))
    names, others = pair(spark, land=["FRANCE", "Peru", "Peru"], m=[1, 2, 3])
    for how in ("left", "outer"):
        assert rows(sdf.auto_join(others, on="land", how=how)) == rows(df.auto_join(names, on="land", how=how)), how
    slow = sdf.mapInArrow(wait, sdf.schema)
    for run in (lambda: slow.auto_join(lake, on="land"), lambda: slow.discover_joinable("land", lake, where="cluster")):
        pause.touch()
        interrupting = threading.Thread(target=interrupt_what_waits, args=(spark,), daemon=True)
        interrupting.start()
        try:
            run()
            print("not interrupted")
        except dfjoin.errors.EngineError as error:
            assert "cancelled" in str(error)
        pause.unlink()
        interrupting.join()
        waits.unlink()
        assert spark.getTags() == set()
    assert rows(slow.auto_join(lake, on="land")) == wide
    print("equal")
    spark.stop()
"""


@pytest.mark.slow
def test_connect_gives_what_classic_gives(own_spark, tmp_path):
    pytest.importorskip("grpc")
    script = tmp_path / "connect.py"
    script.write_text(CONNECT)
    command = [sys.executable, str(script), str(EXAMPLE_LAKE), str(tmp_path / "ix")]
    java = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}  # as `start_session` starts it
    env = {**os.environ, **java, "PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, cwd=PROJECT, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    built, matched, equal = done.stdout.splitlines()[-3:]
    assert built.split(" ", 2) == ["27", "codes/official_languages.csv", "[1000]"]
    assert (matched, equal) == ("3", "equal")
