"""Builds on Spark: the same index as inline, Spark tables as sources, failures that leave nothing broken."""

import datetime
import shutil
import signal
import subprocess
import sys
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import dfjoin
import spark_ext
from dfjoin.errors import InvalidParameterError, TableReadError
from tests.conftest import EXAMPLE_LAKE

pytestmark = pytest.mark.spark


@pytest.fixture
def on_spark(spark, tmp_path):
    def make(source, **options):
        return dfjoin.build_lake(source, tmp_path / "lake.dfjoin", spark=spark, progress=False, **options)

    return make


def test_spark_and_inline_build_the_same_index(on_spark, example_lake):
    lake = on_spark(EXAMPLE_LAKE)
    pd.testing.assert_frame_equal(lake.columns, example_lake.columns)
    assert lake.info()["counts"] == example_lake.info()["counts"]
    df = pd.DataFrame({"c": ["France", "peru", "CHAD", None], "z": ["02108", "10001", "90012", "x"]})
    pd.testing.assert_frame_equal(
        pd.DataFrame(df.discover_joinable("*", lake, rank="matched")),
        pd.DataFrame(df.discover_joinable("*", example_lake, rank="matched")),
    )
    assert lake.verify() == []
    assert list((lake.path / "runs").iterdir()) == []


def test_spark_and_inline_keep_the_same_rows(spark, tmp_path):
    """Of files; a table that tasks read in parts has none, and is read through Spark by a search."""
    lakes = []
    for engine, options in (("spark", {"spark": spark}), ("inline", {})):
        place = tmp_path / engine
        lake = dfjoin.build_lake(EXAMPLE_LAKE, place, engine=engine, progress=False, **options)
        lakes.append(lake.add_row_signatures(engine=engine, **options))
    settings = {"row_signatures": True}
    lakes.append(dfjoin.build_lake(EXAMPLE_LAKE, tmp_path / "built", spark=spark, progress=False, settings=settings))
    for lake in lakes[1:]:
        for one, other in zip(lakes[0].segments[0].rows, lake.segments[0].rows, strict=True):
            np.testing.assert_array_equal(one, other)
    assert lakes[0].segments[0].rows.bits.any()
    frame = spark.createDataFrame([(f"w{i % 30}", f"v{i}") for i in range(60)], "a string, b string").repartition(3)
    parts = dfjoin.build_lake({"t": frame}, tmp_path / "parts", spark=spark, progress=False, settings=settings)
    assert not parts.segments[0].rows.bits.any() and parts.verify() == []


def test_spark_and_inline_make_the_same_signatures(spark, on_spark, tmp_path):
    """Of files, and of a table whose columns no task sees whole."""
    words = [f"w{i}" for i in range(600)]
    frame = spark.createDataFrame([(w, i) for i, w in enumerate(words)], "word string, number long").repartition(4)
    settings = {"permutations": 64, "signature_min": 20}
    on_cluster = on_spark({"words": frame}, settings=settings)
    pandas = {"words": pd.DataFrame({"word": words, "number": range(600)})}
    inline = dfjoin.build_lake(pandas, tmp_path / "inline", engine="inline", progress=False, settings=settings)
    for lake in (on_cluster, inline):
        assert lake.settings.partition_ends == (600,)
    for one, other in zip(on_cluster.segments[0].signatures, inline.segments[0].signatures, strict=True):
        np.testing.assert_array_equal(one, other)
    files = [
        dfjoin.build_lake(
            EXAMPLE_LAKE, tmp_path / f"files-{engine}", engine=engine, progress=False, settings=settings, **options
        )
        for engine, options in (("spark", {"spark": spark}), ("inline", {}))
    ]
    df = pd.DataFrame({"c": pd.read_csv(EXAMPLE_LAKE / "geo" / "countries.csv")["country"]})
    for options in ({"threshold": 0.3}, {"threshold": 0.3, "verify": False}, {"k": 5}):
        one, other = (
            pd.DataFrame(df.discover_joinable("c", lake, mode="lsh", **options, rank="matched")) for lake in files
        )
        pd.testing.assert_frame_equal(one, other)
    on_cluster.compact(full=True, engine="spark", spark=spark)
    np.testing.assert_array_equal(on_cluster.segments[0].signatures.values, inline.segments[0].signatures.values)


def test_spark_and_inline_make_the_same_patterns(spark, tmp_path):
    one, other = (
        dfjoin.build_lake(
            EXAMPLE_LAKE, tmp_path / engine, engine=engine, progress=False, settings={"patterns": True}, **options
        )
        for engine, options in (("spark", {"spark": spark}), ("inline", {}))
    )
    assert one.segments[0].patterns.hash.size > 0
    for mine, yours in zip(one.segments[0].patterns, other.segments[0].patterns, strict=True):
        np.testing.assert_array_equal(mine, yours)


def test_build_index_is_build_lake_with_a_session(spark, tmp_path):
    lake = spark_ext.build_index(spark, EXAMPLE_LAKE / "geo", tmp_path / "geo.dfjoin", progress=False)
    assert "countries.csv" in lake.tables["table"].tolist()


def test_many_tasks_make_the_segments_that_their_size_asks_for(on_spark):
    lake = on_spark(EXAMPLE_LAKE, settings={"segment_bytes": 20_000})
    assert len(lake.segments) > 1
    whole = dfjoin.discover_joinable(pd.DataFrame({"c": ["France", "Italy"]}), "c", lake, k=50, rank="matched")
    assert whole["matched"].is_monotonic_decreasing
    assert {"geo/countries.csv", "transport/airports.csv"} <= set(whole["table"])


def test_a_spark_dataframe_is_a_table_of_the_lake(spark, on_spark):
    frame = spark.createDataFrame(
        [
            ("Ärzte ", 1, Decimal("1.50"), datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4), 0.5, True),
            ("b", 2, Decimal("2.00"), datetime.date(2021, 1, 2), None, 1.0, False),
            (None, None, None, None, None, None, None),
        ],
        "name string, n long, price decimal(10,2), day date, at timestamp, f double, flag boolean",
    ).repartition(3)
    lake = on_spark({"orders": frame})
    columns = lake.columns.set_index("column")
    assert columns["kind"].to_dict() == {
        "name": "text", "n": "integer", "price": "decimal", "day": "date", "at": "date", "f": "float", "flag": "boolean",
    }  # fmt: skip
    assert columns["n_rows"].tolist() == [3] * 7
    assert columns.loc["name", "n_null"] == 1
    df = pd.DataFrame({"q": ["ärzte", "B"], "d": ["2 January 2020", "2021-01-02"], "p": [2.0, 1.5]})
    assert df.discover_joinable("q", lake, rank="matched")["matched"].tolist() == [2]
    assert df.discover_joinable("d", lake, rank="matched")["column"].tolist()[0] == "day"
    assert df.discover_joinable("p", lake, kinds="decimal", rank="matched")["matched"].tolist() == [2]


def test_timestamps_are_wall_time_in_the_sessions_zone(spark, on_spark):
    zone = spark.conf.get("spark.sql.session.timeZone")
    try:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        frame = spark.sql(
            "select timestamp'2020-05-01 10:11:12' as at union all select timestamp'2020-05-02 00:00:00' as at"
        )
        lake = on_spark({"t": frame})
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    df = pd.DataFrame({"q": ["2020-05-01 10:11:12", "2020-05-02"]})
    assert df.discover_joinable("q", lake, rank="matched")["matched"].tolist() == [2]


def test_a_table_read_in_parts_equals_the_same_table_read_at_once(spark, on_spark, build):
    rng = np.random.default_rng(5)
    pandas_frame = pd.DataFrame(
        {
            "code": rng.integers(0, 500, 4000).astype(str),
            "mixed": np.where(rng.random(4000) < 0.01, "x", rng.integers(0, 50, 4000).astype(str)),
            "whole": rng.integers(0, 9, 4000).astype(float),
            "half": rng.integers(0, 9, 4000) / 2,
        }
    )
    parts = on_spark({"t": spark.createDataFrame(pandas_frame).repartition(5)})
    once = build({"t": pandas_frame})
    same = ["column", "kind", "is_indexed", "n_rows", "n_null", "min", "max"]
    pd.testing.assert_frame_equal(parts.columns[same], once.columns[same])
    indexed = once.columns["is_indexed"]
    assert parts.columns["cardinality"][indexed].tolist() == once.columns["cardinality"][indexed].tolist()


def test_a_spark_table_by_name(spark, on_spark):
    spark.range(100).selectExpr("cast(id as string) as key").createOrReplaceTempView("dfjoin_keys")
    lake = on_spark("dfjoin_keys")
    assert lake.columns["cardinality"].tolist() == [100]
    assert sorted(lake.table("dfjoin_keys")["key"].astype(int)) == list(range(100))


def test_a_name_that_is_neither_path_nor_table(on_spark):
    with pytest.raises(InvalidParameterError, match="`source` 'no_such_table' is neither a path"):
        on_spark("no_such_table")


def test_a_spark_table_that_fails_names_itself_and_leaves_no_index(spark, on_spark, tmp_path):
    frame = spark.range(10).selectExpr("raise_error('boom') as x", "id")
    with pytest.raises(TableReadError, match=r"the Spark table `bad` cannot be read: .*boom"):
        on_spark({"bad": frame}, on_error="raise")
    assert not (tmp_path / "lake.dfjoin").exists()
    lake = on_spark({"bad": frame, "good": spark.range(5)})
    assert lake.tables["table"].tolist() == ["good"]
    ((name, reason),) = (file.values() for file in lake.info()["skipped"])
    assert name == "bad" and "boom" in reason
    assert list((lake.path / "runs").iterdir()) == []


def test_what_is_skipped_has_the_cause_that_spark_names(spark, on_spark, tmp_path):
    spark.range(9).coalesce(1).write.parquet(str(tmp_path / "broken"))
    (file,) = (tmp_path / "broken").glob("*.parquet")
    file.write_bytes(b"x" * 500)
    file.with_name(f".{file.name}.crc").unlink()
    broken = spark.read.schema("id long").parquet(str(tmp_path / "broken"))
    lake = on_spark({"broken": broken, "good": spark.range(5)})
    (skipped,) = lake.info()["skipped"]
    assert skipped["name"] == "broken" and "is not a Parquet file" in skipped["reason"]


def test_a_build_of_nothing_is_an_error(spark, on_spark, tmp_path):
    spark.range(5).write.parquet(str(tmp_path / "gone"))
    frame = spark.read.parquet(str(tmp_path / "gone"))
    shutil.rmtree(tmp_path / "gone")
    with pytest.raises(TableReadError, match=r"must hold a table that can be read, and none is: `t`: .*gone"):
        on_spark({"t": frame})
    assert not (tmp_path / "lake.dfjoin").exists()


def test_a_column_of_a_type_that_arrow_lacks_is_read_as_spark_spells_it(spark, on_spark):
    frame = spark.sql("select 'a' c, interval '1' month i union all select 'b', interval '14' month")
    columns = on_spark({"t": frame}).columns.set_index("column")
    assert list(columns.index) == ["c", "i"] and list(columns["cardinality"]) == [2, 2]
    assert columns.loc["i", "samples"][0] in ("INTERVAL '1' MONTH", "INTERVAL '14' MONTH")


def test_an_unreadable_file_is_skipped_or_raised_as_asked(on_spark, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "good.csv").write_text("a,b\nx,y\nz,w\n")
    (source / "bad.csv").write_bytes(b"PK\x03\x04 not a table")
    lake = on_spark(source)
    assert lake.info()["skipped"] == [
        {"name": "bad.csv", "reason": "a ZIP archive or an Excel workbook, not delimited text"}
    ]
    with pytest.raises(TableReadError, match=r"`bad\.csv` cannot be read: a ZIP archive"):
        on_spark(source, if_exists="replace", on_error="raise")
    assert dfjoin.open_lake(lake.path).version == 1


def test_millions_of_rows_pass_without_the_driver(spark, on_spark):
    frame = spark.range(0, 3_000_000, 1, 4).selectExpr("id % 100000 as key", "cast(id % 1000 as string) as group")
    lake = on_spark({"big": frame}, settings={"task_bytes": 4 << 20})
    assert lake.columns.set_index("column")["cardinality"].to_dict() == {"group": 1000, "key": 100_000}
    assert lake.tables["n_rows"].tolist() == [3_000_000]


INTERRUPTED = """
import sys
import time
import dfjoin
from spark_ext import start_session

if __name__ == "__main__":
    spark = start_session(**{"spark.master": "local[2]"})
    frame = spark.range(0, 2_000_000_000, 1, 4).selectExpr("cast(id as string) as key")
    print("ready", flush=True)
    try:
        dfjoin.build_lake({"endless": frame}, sys.argv[1], spark=spark, progress=False, if_exists="replace")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_driver_that_is_ended_in_a_build_leaves_the_version_before(own_spark, example_lake, tmp_path, how):
    index = tmp_path / "lake.dfjoin"
    dfjoin.build_lake(EXAMPLE_LAKE, index, engine="inline", progress=False)
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    command = [sys.executable, str(script), str(index)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert child.stdout.readline() == "ready\n"
    until = time.monotonic() + 60
    while not any((index / "runs").glob("*/*")) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)
    assert any((index / "runs").glob("*/*")) and child.poll() is None, "tasks write"
    child.send_signal(how)
    out, _ = child.communicate(timeout=60)
    assert out == ("interrupted\n" if how == signal.SIGINT else "")
    lake = dfjoin.open_lake(index)
    assert (lake.version, lake.verify()) == (1, [])
    pd.testing.assert_frame_equal(lake.columns, example_lake.columns)
    more = lake.add({"more": pd.DataFrame({"a": ["x", "y"]})}, engine="inline", progress=False)
    more.vacuum(0)
    assert (more.version, more.verify(), len(more.tables)) == (2, [], len(example_lake.tables) + 1)
