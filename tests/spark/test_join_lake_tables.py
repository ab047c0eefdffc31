"""Parquet tables of a lake as right sides of a join: Spark's own reader gives what a task of this package reads."""

import datetime
import re
from decimal import Decimal

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import dfjoin
import spark_ext
from dfjoin.errors import DfjoinWarning
from spark_ext import join_lake_tables, join_steps
from tests.spark.frames import configured, pair, rows, texts_of

pytestmark = pytest.mark.spark

D, T = datetime.date, datetime.datetime
LANDS = ["France", "PERU", "peru ", "Chad", None, "Mali", "Oman", "na", "Fiji", "Cuba", "Iran", "Laos"]


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory):
    spark_ext.enable(spark)
    root = tmp_path_factory.mktemp("lake")
    n = len(LANDS)
    table = pa.table(
        {
            "land": LANDS,
            "code": pa.array([*range(n - 1), None], pa.int32()),
            "share": pa.array([0.5, float("nan"), None, *[i / 4 for i in range(n - 3)]]),
            "small": pa.array([i / 2 for i in range(n)], pa.float32()),
            "ok": [i % 3 == 0 if i % 4 else None for i in range(n)],
            "day": pa.array([D(2020, 1, 1 + i) if i % 5 else None for i in range(n)]),
            "at": pa.array([T(2020, 1, 1 + i, 3, 4, 5, 678) for i in range(n)], pa.timestamp("us")),
            "a b.c": pa.array([f"x{i % 3}" for i in range(n)]).dictionary_encode(),
            "price": pa.array([Decimal(f"{i}.50") for i in range(n)], pa.decimal128(9, 2)),
            "tags": pa.array([[i] if i % 2 else None for i in range(n)], pa.list_(pa.int32())),
        }
    )
    pq.write_table(table, root / "lands.parquet", row_group_size=4)
    (root / "parts").mkdir()
    for part, numbers in enumerate(([5, 6, 7, 7], [1, 2, 2, 3], [7, 8, 1])):
        words = [f"part {part} row {row}" for row in range(len(numbers))]
        pq.write_table(pa.table({"number": numbers, "word": words}), root / "parts" / f"part-{part}.parquet")
    for year in (2020, 2021):
        for kind in ("a", "b"):
            folder = root / "sales" / f"year={year}" / f"kind={kind}"
            folder.mkdir(parents=True)
            names = [f"Shop {i}, {kind}" for i in range(5)]
            table = pa.table({"shop": names, "sold": [year * 10 + i for i in range(5)]})
            pq.write_table(table, folder / "part-0.parquet")
    return dfjoin.build_lake(root, root.with_suffix(".ix"), engine="inline", progress=False)


def plan_of(frame):
    return frame._jdf.queryExecution().executedPlan().toString()


CASES = [
    ("land", "lands.parquet", {"aggregate": None}),
    ("land", "lands.parquet", {"how": "outer", "aggregate": "first"}),
    ("code", "lands.parquet", {"how": "inner", "aggregate": None}),
    ("day", "lands.parquet", {"how": "inner", "aggregate": None}),
    ("number", "parts", {"aggregate": "first"}),
    ("shop", "sales", {}),
]


def best_hit(frame, lake, on, table):
    return frame.discover_joinable(on, lake, tables=table, rank="matched", k=1)


@pytest.mark.parametrize("reader", ["here", "spark", "task"])
def test_a_plan_tells_of_rows_of_a_table_without_a_key(spark, lake, reader, monkeypatch):
    """Decided once, joined later: pandas tells of them in both joins."""
    mine, own = pair(spark, land=["france", "CHAD", "nowhere"])
    hit = best_hit(mine, lake, "land", "lands.parquet")
    with pytest.warns(DfjoinWarning, match="of lands.parquet without a key are left out") as told:
        want = mine.auto_join(hit, how="outer", aggregate="first", columns=["code"])
    if reader == "task":
        monkeypatch.setattr(join_steps, "read_by_spark", lambda *arguments: None)
    with pytest.warns(DfjoinWarning) as found:
        joined = own.auto_join(want.attrs["dfjoin"]["plan"], where="driver" if reader == "here" else "cluster")
    assert texts_of(found) == texts_of(told)
    assert rows(joined) == rows(want)


@pytest.mark.slow
def test_spark_reads_parquet_as_a_task_does(spark, lake, monkeypatch):
    mine, own = pair(
        spark,
        land=["france", " Peru", "CHAD", "Mali", "nowhere", None, "Cuba"],
        code=[3, 4, 5, 6, 3, None, 4],
        day=pa.array([D(2020, 1, 1 + i) for i in range(1, 8)]),
        number=[1, 2, 7, 8, None, 5, 2],
        shop=["Shop 1, a", "shop 2, B", "SHOP 3, a", "Shop 4, a", None, "x", "Shop 0, b"],
    )
    for on, table, options in CASES:
        hit = best_hit(mine, lake, on, table)
        want = mine.auto_join(hit, **options)
        assert len(want.columns) > 5, on
        found = own.auto_join(hit, where="cluster", **options)
        assert rows(found) == rows(want), (on, options)
        assert "Python" not in plan_of(found) and "MapInArrow" not in plan_of(found), (on, options)
    for table, (on, options) in {table: (on, options) for on, table, options in CASES}.items():
        # A task guesses the types of decimals and lists, and fails where they are not those of the first batch.
        hit = best_hit(mine, lake, on, table)
        given = lake.table(table).columns
        same = {**options, "columns": [name for name in given if name not in (on, "price", "tags")]}
        by_spark = own.auto_join(hit, where="cluster", **same)
        with monkeypatch.context() as patch:
            patch.setattr(join_steps, "read_by_spark", lambda *arguments: None)
            by_task = own.auto_join(hit, where="cluster", **same)
        assert "MapInArrow" in plan_of(by_task) and by_task.schema == by_spark.schema, (on, options)
    types = own.auto_join(best_hit(mine, lake, *CASES[0][:2]), where="cluster", aggregate=None).schema
    assert types["price"].dataType.simpleString() == "decimal(9,2)"
    assert types["tags"].dataType.simpleString() == "array<int>"


def test_columns_and_rows_that_no_key_needs_are_not_read(spark, lake):
    mine, own = pair(spark, code=[3, 4, 5, 6], day=pa.array([D(2020, 1, d) for d in (2, 3, 4, 5)]))
    for on, type_, low, high in (("code", "int", "3", "6"), ("day", "date", "2020-01-02", "2020-01-05")):
        hit = best_hit(mine, lake, on, "lands.parquet")
        found = own.auto_join(hit, columns=["share"], where="cluster")
        plan = plan_of(found)
        assert f"GreaterThanOrEqual({on},{low}), LessThanOrEqual({on},{high})" in plan
        (read,) = re.findall(r"ReadSchema: struct<(.*)>", plan)
        assert sorted(read.split(",")) == sorted(["share:double", f"{on}:{type_}"])
        assert rows(found) == rows(mine.auto_join(hit, columns=["share"]))
    hit = best_hit(mine, lake, "code", "lands.parquet")
    kept = own.auto_join(hit, how="outer", where="cluster")
    assert "GreaterThanOrEqual" not in plan_of(kept) and rows(kept) == rows(mine.auto_join(hit, how="outer"))


def test_times_of_old_files_are_those_of_the_index(spark, tmp_path):
    """Spark writes INT96, which says nothing of zones: this package reads the clock of UTC."""
    root = tmp_path / "lake"
    root.mkdir()
    times = [T(2020, 3, 29, 0, 30, i, 5) for i in range(4)] + [T(1969, 12, 31, 23, 59, 59, 999999), None]
    table = pa.table({"land": LANDS[:6], "at": pa.array(times, pa.timestamp("us"))})
    pq.write_table(table, root / "old.parquet", use_deprecated_int96_timestamps=True)
    lake = dfjoin.build_lake(root, tmp_path / "ix", engine="inline", progress=False)
    mine, own = pair(spark, land=["France", "chad", "Peru", "Mali"])
    hit = best_hit(mine, lake, "land", "old.parquet")
    before = spark.conf.get("spark.sql.session.timeZone")
    for zone in ("UTC", "Asia/Kolkata", "Europe/Berlin"):
        spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            found = own.auto_join(hit, where="cluster", aggregate=None)
            assert found.schema["at"].dataType.simpleString() == "timestamp_ntz" and "MapInArrow" not in plan_of(found)
            assert rows(found) == rows(mine.auto_join(hit, aggregate=None)), zone
        finally:
            spark.conf.set("spark.sql.session.timeZone", before)


def test_programs_read_parquet_by_spark(spark, tmp_path):
    people = [f"{a} {b}" for a in ("Ann", "Bob", "Cem", "Dora", "Emil") for b in ("Stone", "Rivers", "Woods", "Hill")]
    turned = [", ".join(reversed(name.upper().split())) + " " for name in people]
    root = tmp_path / "lake"
    root.mkdir()
    pq.write_table(pa.table({"who": turned, "room": range(20)}), root / "staff.parquet")
    lake = dfjoin.build_lake(root, tmp_path / "ix", engine="inline", progress=False, settings={"patterns": True})
    mine, own = pair(spark, name=[*people, None, people[0]], n=list(range(22)))
    hits = mine.discover_joinable("name", lake, mode="transform")
    found = own.auto_join(hits, where="cluster")
    assert rows(found) == rows(mine.auto_join(hits)) and found.where("room IS NOT NULL").count() == 21
    assert "MapInArrow" not in plan_of(found)


@pytest.fixture
def small_tasks(spark):
    """Spark makes a task of few bytes of files."""
    spark_ext.enable(spark)
    settings = {"spark.sql.files.maxPartitionBytes": "4096", "spark.sql.files.openCostInBytes": "0"}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


def _numbered(first, n):
    """Make rows of which several have a key, so that the order of rows tells."""
    numbers = range(first, first + n)
    return pa.table(
        {
            "key": [f"Key {i % 700} " for i in numbers],
            "number": pa.array(numbers, pa.int32()),
            "part": [f"p{i % 3}" for i in numbers],
            "share": [None if i % 5 == 0 else float("nan") if i % 7 == 0 else i / 8 for i in numbers],
            "at": pa.array([T(2020, 1, 1, 0, i % 60, i % 59, 5) for i in numbers], pa.timestamp("us")),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["orc", "delta", "delta, folders"])
def test_orc_and_delta_are_read_in_several_tasks(spark, tmp_path, small_tasks, monkeypatch, kind):
    root = tmp_path / "lake"
    root.mkdir()
    if kind == "orc":
        orc.write_table(_numbered(0, 4000).drop_columns(["at"]), root / "t.orc", stripe_size=8192)
    else:
        deltalake = pytest.importorskip("deltalake")
        for first in (0, 2000, 3000, 3500):  # a column that old files lack, files that are live no longer
            table = _numbered(first, 1000)
            table = table.append_column("later", table.column("number")) if first == 3500 else table
            by = {"partition_by": ["part"]} if kind.endswith("folders") else {}
            deltalake.write_deltalake(str(root / "t"), table, mode="append", schema_mode="merge", **by)
        deltalake.DeltaTable(str(root / "t")).delete("number < 100 OR number > 3900")
    lake = dfjoin.build_lake(root, tmp_path / "ix", engine="inline", progress=False)
    mine, own = pair(spark, key=[*(f"KEY {i}" for i in range(0, 900, 2)), None])
    hit = best_hit(mine, lake, "key", "t.orc" if kind == "orc" else "t")
    read, make = [], join_lake_tables._frame_of_files
    monkeypatch.setattr(join_lake_tables, "_frame_of_files", lambda *given: read.append(make(*given)) or read[-1])
    for options in ({"aggregate": "first"}, {"aggregate": "last"}, {"aggregate": None, "how": "outer"}):
        found = own.auto_join(hit, where="cluster", max_expansion=50, **options)
        assert "MapInArrow" not in plan_of(found) and read[-1].rdd.getNumPartitions() > 3
        assert rows(found) == rows(mine.auto_join(hit, max_expansion=50, **options)), options


def test_orc_with_times_is_read_in_a_task(spark, tmp_path):
    """Spark would read its times by the clock of the machine."""
    spark_ext.enable(spark)
    root = tmp_path / "lake"
    root.mkdir()
    orc.write_table(_numbered(0, 20), root / "t.orc")
    lake = dfjoin.build_lake(root, tmp_path / "ix", engine="inline", progress=False)
    mine, own = pair(spark, key=["key 1", "KEY 7", None])
    hit = best_hit(mine, lake, "key", "t.orc")
    found = own.auto_join(hit, where="cluster")
    assert "MapInArrow" in plan_of(found) and rows(found) == rows(mine.auto_join(hit))


@pytest.mark.parametrize("where", ["driver", "cluster"])
def test_times_without_a_zone_stay_so_where_clocks_change(spark, tmp_path, where):
    """One hour does not exist in the session's zone, and one is there twice."""
    spark_ext.enable(spark)
    at = [datetime.datetime(2024, 3, 10, 2, 30), datetime.datetime(2024, 11, 3, 1, 30)]
    (tmp_path / "lake").mkdir()
    pq.write_table(pa.table({"key": ["Rome", "Oslo"], "at": at}), tmp_path / "lake/t.parquet")
    lake = dfjoin.build_lake(tmp_path / "lake", tmp_path / "i", engine="inline", progress=False)
    mine, own = pair(spark, key=["rome", "OSLO "])
    asked = {"on": "key", "tables": "t.parquet", "columns": ["at"]}
    with configured(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        for found in (own.auto_join(lake, **asked, where=where), own.auto_join(lake.table("t.parquet"), on="key")):
            assert found.schema["at"].dataType.typeName() == "timestamp_ntz"
            assert rows(found) == rows(mine.auto_join(lake, **asked))


def test_types_that_spark_lacks_are_the_same_wherever_a_table_is_read(spark, tmp_path):
    spark_ext.enable(spark)
    columns = {
        "small": pa.array([1, 2], pa.uint8()),
        "large": pa.array([2**63, 1], pa.uint64()),
        "half": pa.array([1, 2], pa.float32()).cast(pa.float16()),
        "time": pa.array([3_000_000_000, None], pa.time64("ns")),
        "span": pa.array([3_000_000_000, None], pa.duration("ns")),
        "list": pa.array([[1], [2, None]], pa.list_(pa.uint8())),
        "pair": pa.array([{"n": 1}, {"n": 2}], pa.struct([("n", pa.uint16())])),
    }
    (tmp_path / "lake").mkdir()
    pa.feather.write_feather(pa.table({"key": ["Rome", "Oslo"], **columns}), str(tmp_path / "lake/t.feather"))
    lake = dfjoin.build_lake(tmp_path / "lake", tmp_path / "i", engine="inline", progress=False)
    mine, own = pair(spark, key=["rome", "OSLO "])
    asked = {"on": "key", "tables": "t.feather", "columns": list(columns)}
    here, away = (own.auto_join(lake, **asked, where=where) for where in ("driver", "cluster"))
    assert dict(here.dtypes) == dict(away.dtypes) and "MapInArrow" in plan_of(away)
    assert rows(here) == rows(away)
    assert rows(here.drop("time")) == rows(
        mine.auto_join(lake, **asked).drop(columns="time")
    )  # which Spark has as text


def test_a_lake_that_was_moved(spark, tmp_path):
    """Its parts have different columns, too, which Spark reads as this package does."""
    spark_ext.enable(spark)
    (tmp_path / "old" / "t").mkdir(parents=True)
    for part, name in enumerate(("early", "late")):
        keys = [f"key {i}" for i in range(30 * part, 30 * part + 30)]
        pq.write_table(pa.table({"key": keys, name: list(range(30))}), tmp_path / "old" / "t" / f"part-{part}.parquet")
    dfjoin.build_lake(tmp_path / "old", tmp_path / "ix", engine="inline", progress=False)
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "ix").rename(tmp_path / "index")
    lake = dfjoin.open_lake(tmp_path / "index", roots={"old": tmp_path / "new"})
    mine, own = pair(spark, key=["key 1", "KEY 7", "key 40", None])
    want = mine.auto_join(lake, on="key")
    assert list(want) == ["key", "early", "late"]
    plan = want.attrs["dfjoin"]["plan"]
    for options in ({"on": "key"}, {"plan": plan | {"index": str(tmp_path / "ix")}}):
        for where in ("driver", "cluster"):
            found = own.auto_join(lake, where=where, **options)
            assert rows(found) == rows(want), (where, options)
    assert "MapInArrow" not in plan_of(found)


def test_files_that_spark_does_not_see_are_read_in_a_task(spark, lake, monkeypatch):
    mine, own = pair(spark, number=[1, 2, 7])
    hit = best_hit(mine, lake, "number", "parts")
    for patched in ("_spark_path", "_PLAIN_PATH"):
        with monkeypatch.context() as patch:
            if patched == "_spark_path":
                patch.setattr("spark_ext.join_lake_tables._spark_path", lambda source, part: f"file:/no/such/{part}")
            else:
                patch.setattr("spark_ext.join_lake_tables._PLAIN_PATH", re.compile("x"))
            found = own.auto_join(hit, aggregate="first", where="cluster")
            assert "MapInArrow" in plan_of(found)
            assert rows(found) == rows(mine.auto_join(hit, aggregate="first"))
