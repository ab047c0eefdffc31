"""Joins of Spark DataFrames in other settings of the session: values, types and nullability do not depend on them."""

import datetime
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import types as T_

import dfjoin
import spark_ext
from dfjoin.errors import InvalidParameterError, InvalidTypeError, TableChangedError
from spark_ext import join as spark_join
from spark_ext import rows_here
from spark_ext.joined_rows import key_type
from tests.spark.frames import configured, pair, rows

pytestmark = pytest.mark.spark

D, T = datetime.date, datetime.datetime

ZONE, ANSI, CASE, AQE, FALLBACK = (
    "spark.sql.session.timeZone",
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.adaptive.enabled",
    "spark.sql.execution.arrow.pyspark.fallback.enabled",
)

SETTINGS = {
    "east": {ZONE: "Asia/Kolkata", ANSI: "true", CASE: "true", AQE: "false", FALLBACK: "true"},
    "west": {ZONE: "America/New_York", ANSI: "false", CASE: "false", AQE: "true", FALLBACK: "false"},
}


@pytest.fixture(params=SETTINGS)
def session(spark, request):
    spark_ext.enable(spark)
    with configured(spark, SETTINGS[request.param]):
        yield spark


TYPES = {
    "flag": "true",
    "tiny": "cast(7 as tinyint)",
    "big": "9007199254740993L",
    "price": "cast(1.50 as decimal(10,2))",
    "share": "cast(0.1 as float)",
    "label": "'x'",
    "raw": "X'00ff'",
    "day": "date'2024-03-31'",
    "at": "timestamp'2024-01-05 23:30:00'",
    "wall": "timestamp_ntz'2024-03-31 02:30:00'",
    "items": "array(1, null)",
    "pair": "named_struct('x', 1, 'y', cast(null as string))",
    "tags": "map('a', 1)",
    "json": "parse_json('{\"a\": [1]}')",
    "months": "interval '14' month",
}


def many_types(spark):
    """Make a right side with a column of each type, every cell of it told by a key."""
    columns = ", ".join(f"{sql} AS {name}" for name, sql in TYPES.items())
    return spark.sql(f"SELECT 'a' AS c, {columns} UNION ALL SELECT 'b', {', '.join(['null'] * len(TYPES))}")


@pytest.mark.parametrize(
    ("session", "how", "aggregate"), [("east", "left", None), ("west", "inner", "first")], indirect=["session"]
)
def test_what_is_brought_is_what_spark_has(session, aggregate, how, monkeypatch):
    """Whatever the size of the right side: each cell and its type are those of the frame, as Spark compares them."""
    left = session.sql("SELECT * FROM VALUES ('A', 1), ('b ', 2), ('z', 3) AS t(c, n)")
    right = many_types(session)
    schemas = []
    for most in (1_000_000, 1):
        monkeypatch.setattr(spark_join, "_SMALL_ROWS", most)
        found = left.auto_join(right, on="c", how=how, aggregate=aggregate)
        schemas.append(found.schema)
        assert {name: found.schema[name].dataType for name in TYPES} == {
            name: right.schema[name].dataType for name in TYPES
        }
        texts = [f"CASE WHEN {name} IS NOT NULL THEN to_json(struct({name})) END AS {name}" for name in TYPES]
        want = {row.c: row for row in right.selectExpr("c", *texts).collect()}
        reported = found.selectExpr("n", *texts).collect()
        assert {row.n for row in reported} == ({1, 2} if how == "inner" else {1, 2, 3})
        for row in reported:
            own = want[{1: "a", 2: "b", 3: "b"}[row.n]]
            assert [row[name] for name in TYPES] == [own[name] for name in TYPES]
    assert schemas[0] == schemas[1]


def test_metadata_and_nullability_stay(session):
    left = session.sql("SELECT 'a' AS c")
    right = session.sql("SELECT 'A' AS c, 1 AS n")
    right = right.withMetadata("n", {"unit": "m"})
    found = left.auto_join(right, on="c", how="inner", aggregate=None)
    assert found.schema["n"].metadata == {"unit": "m"} and not found.schema["n"].nullable
    assert left.auto_join(right, on="c", aggregate=None).schema["n"].nullable
    assert left.auto_join(right, on="c", aggregate="first").schema["n"].metadata == {"unit": "m"}


SHOPS = ["a", "A ", "b", None, "c"]
TIMES = [T(2024, 1, 5, 9), T(2024, 1, 5, 23, 30), T(2024, 7, 1), None, T(2024, 1, 6, 0, 30)]


@pytest.mark.parametrize(("session", "size"), [("east", "small"), ("west", "large")], indirect=["session"])
def test_times_are_read_by_the_clock_of_the_session(session, size, monkeypatch):
    """Keys that are times, the latest row before a time, and values: as pandas with the times that the clock shows."""
    if size == "large":
        monkeypatch.setattr(spark_join, "_SMALL_ROWS", 1)
    mine, own = pair(session, c=SHOPS, at=pa.array(TIMES), n=list(range(5)))
    theirs, others = pair(
        session, c=["a", "a", "b", "c"], at=pa.array([TIMES[0], TIMES[1], TIMES[2], T(2024, 1, 6)]), price=[1, 2, 3, 4]
    )
    own, others = (frame.withColumn("at", frame["at"].cast("timestamp")) for frame in (own, others))
    for options in (
        {"on": ["c", "at"], "how": "outer", "indicator": True, "aggregate": None},
        {"on": ["c", "at"], "how": "asof", "aggregate": None},
        {"on": "c", "aggregate": {"at": "max", "price": "last"}},
    ):
        found = own.auto_join(others, **options)
        assert rows(found) == rows(mine.auto_join(theirs, **options)), options
        assert found.schema["at"].dataType.simpleString() == "timestamp"
    assert rows(own.auto_join(theirs, on="at", aggregate=None)) == rows(mine.auto_join(theirs, on="at", aggregate=None))


KEYS = {
    "bigint": pa.array([1, 2, 3, None]),
    "double": pa.array([1.0, 2.5, None, 4.0]),
    "decimal": pa.array([Decimal("1.00"), None, Decimal("2.50"), Decimal("7.25")], pa.decimal128(10, 2)),
    "text": pa.array(["1", "zz", "2 January 2020", None]),
    "date": pa.array([D(2020, 1, 2), None, D(2021, 1, 1), D(2020, 1, 3)]),
}


@pytest.mark.parametrize(
    "names", ["bigint text outer", "double bigint right", "decimal bigint outer", "date text outer"]
)
def test_keys_of_two_types_stand_in_one_column(session, names):
    """Rows of the right side alone keep their key: no value is lost or changed, whatever the types."""
    own_type, other_type, how = names.split()
    mine, own = pair(session, k=KEYS[own_type], a=[1, 2, 3, 4])
    theirs, others = pair(session, k=KEYS[other_type], b=[1, 2, 3, 4])
    options = {"on": "k", "how": how, "aggregate": None, "on_no_match": "ignore", "transform": False, "fuzzy": False}
    found = own.auto_join(others, **options)
    assert found.schema["k"].dataType == key_type(own.schema["k"].dataType, others.schema["k"].dataType)
    reported = found.selectExpr("a", "b", "k").collect()
    want = mine.auto_join(theirs, **options)[["a", "b"]]
    assert sorted(((row.a, row.b) for row in reported), key=repr) == sorted(
        ((None if pd.isna(a) else int(a), None if pd.isna(b) else int(b)) for a, b in want.to_numpy()), key=repr
    )
    cast = others.select("b", others["k"].cast(found.schema["k"].dataType).alias("k")).collect()
    alone = {(row.b, row.k) for row in reported if row.a is None}
    assert alone and alone <= {(row.b, row.k) for row in cast}


def test_one_type_for_keys_of_two():
    """It holds all values of both types; what no number does is a text."""
    whole, wide = T_.IntegerType(), T_.LongType()
    for own, other, want in (
        (whole, wide, wide),
        (wide, T_.DecimalType(10, 2), T_.DecimalType(21, 2)),
        (T_.DecimalType(38, 0), T_.DecimalType(10, 2), T_.StringType()),
        (T_.FloatType(), T_.DoubleType(), T_.DoubleType()),
        (whole, T_.FloatType(), T_.DoubleType()),
        (wide, T_.DoubleType(), T_.StringType()),
        (T_.DecimalType(10, 2), T_.DoubleType(), T_.StringType()),
        (T_.DateType(), T_.TimestampType(), T_.TimestampNTZType()),
        (T_.BooleanType(), whole, T_.StringType()),
        (T_.BooleanType(), T_.DoubleType(), T_.StringType()),
        (T_.NullType(), whole, whole),
        (T_.DateType(), T_.StringType(), T_.StringType()),
    ):
        assert key_type(own, other) == key_type(other, own) == want, (own, other)


def test_names_follow_the_case_rule_of_the_session(spark, tmp_path):
    spark_ext.enable(spark)
    left = spark.sql("SELECT 'France' AS Country, 'x' AS Capital")
    right = spark.sql("SELECT 'France' AS country, 'Paris' AS capital")
    with configured(spark, {CASE: "false"}):
        found = left.auto_join(right, on="COUNTRY", columns=["CAPITAL"], aggregate={"Capital": "first"})
        assert found.columns == ["Country", "Capital", "capital__right"]
        report = spark_ext.report(found).to_dict()
        assert report["joined"][0]["columns"][0]["name"] == "capital__right"
        found.write.parquet(str(tmp_path / "out"))
        plan = pd.DataFrame({"COUNTRY": ["France"]}).auto_join(right.toPandas(), on="COUNTRY", right_on="country")
        again = left.auto_join(right, plan=plan.attrs["dfjoin"]["plan"])
        assert again.columns == ["Country", "Capital", "capital__right"]
    with configured(spark, {CASE: "true"}):
        assert left.auto_join(right, on="Country", right_on="country").columns == ["Country", "Capital", "capital"]
        twice = spark.sql("SELECT 'France' AS country, 1 AS n, 2 AS N")
        assert twice.auto_join(right, on="country").columns == ["country", "n", "N", "capital"]
    with configured(spark, {CASE: "false"}):
        for own, other in ((twice, right), (right, twice)):
            with pytest.raises(
                InvalidParameterError, match=r"has several columns of the name 'N' \('n' is the same name"
            ):
                own.auto_join(other, on="country")


def test_a_pandas_frame_does_not_join_one_of_spark(spark):
    with pytest.raises(InvalidTypeError, match=r"`other` is a Spark DataFrame, and `df` one of pandas; .*toPandas"):
        pd.DataFrame({"c": ["a"]}).auto_join(spark.sql("SELECT 'a' AS c"))


def test_few_bytes_come_here_keys_first(spark, monkeypatch):
    """A column for which there is no room, or that Arrow lacks, is joined and tells the report nothing."""
    spark_ext.enable(spark)
    monkeypatch.setattr(rows_here, "MOST_BYTES", 40_000)
    own = spark.range(1500).selectExpr("string(id) AS k", "interval '1' month AS m", "repeat('x', 500) AS wide")
    other = spark.range(1400).selectExpr("id AS key", "repeat('y', 500) AS long", "int(id % 7) AS n")
    drawn = rows_here.draw_rows(own, ["k"], 100_000)
    assert drawn.is_whole and drawn.table.column_names == ["k"] and drawn.frame["wide"].isna().all()
    found = own.auto_join(other, on="k", right_on="key")
    reported = found.selectExpr(
        "count(*) AS n", "count(long) AS m", "sum(length(wide)) AS w", "count(m) AS i"
    ).collect()
    assert tuple(reported[0]) == (1500, 1400, 750_000, 1500)
    (step,) = spark_ext.report(found).to_dict()["joined"]
    assert step["rows_matched"] == 1400
    away = {column["column"]: "n_disagreeing" not in column for column in step["columns"]}
    assert away == {"long": True, "n": True} or away == {"long": True, "n": False}
    assert all("long" not in row for row in step["rows"])
    monkeypatch.setattr(rows_here, "MOST_BYTES", 1_000)
    assert not rows_here.draw_rows(other, ["key"], 1_000_000).is_whole


def test_the_shortest_columns_come_as_far_as_there_is_room(monkeypatch):
    monkeypatch.setattr(rows_here, "MOST_BYTES", 40)
    widths = {"wide": 50.0, "n": 2.0, "key": 10.0, "text": 25.0}
    assert rows_here._chosen(widths, ["key"], 1) == ["n", "key", "text"]
    assert rows_here._chosen(widths, ["key"], 2) == ["n", "key"]
    assert rows_here._chosen(widths, ["wide"], 1) == []


def test_a_plan_asks_for_the_version_of_a_spark_table(spark, tmp_path):
    spark_ext.enable(spark)
    place = str(tmp_path / "caps")
    spark.sql("SELECT * FROM VALUES ('France', 'Paris'), ('Peru', 'Lima') AS t(c, capital)").write.parquet(place)
    spark.sql(f"CREATE TABLE dfjoin_caps USING parquet LOCATION '{place}'")
    try:
        lake = dfjoin.build_lake("dfjoin_caps", tmp_path / "ix", spark=spark, engine="spark", progress=False)
        frame = spark.sql("SELECT * FROM VALUES ('France'), ('Peru') AS t(c)")
        plan = spark_ext.report(frame.auto_join(lake, on="c")).to_dict()["plan"]
        hits = frame.discover_joinable("c", lake)
        assert rows(frame.auto_join(plan))[1] == [("France", "Paris"), ("Peru", "Lima")]
        spark.sql("INSERT INTO dfjoin_caps VALUES ('Chile', 'Santiago')")
        for other in (plan, hits):
            with pytest.raises(TableChangedError, match="the table `dfjoin_caps` is not the one that was indexed"):
                frame.auto_join(other)
        assert len(rows(frame.auto_join(plan, on_stale="ignore"))[1]) == 2
    finally:
        spark.sql("DROP TABLE dfjoin_caps")


ADDRESSES = ["12 Main Street 90210", "1 Elm Road 10001", "n/a", "Lima"]


@pytest.mark.slow
def test_addresses_are_no_dates_and_dates_are_read_in_many_tasks(spark, monkeypatch):
    """What a whole column tells is decided once; only values that may be dates pass through Python."""
    spark_ext.enable(spark)
    mine, own = pair(spark, k=[*ADDRESSES, "LIMA", None, "-"], n=list(range(7)))
    theirs, others = pair(spark, k=[*ADDRESSES, "-", "x"], m=list(range(6)))
    days = ["13.02.2020", "01.03.2020", "NA", None]
    my_days, own_days = pair(spark, k=days, n=[1, 2, 3, 4])
    iso = pair(spark, k=["2020-02-13", "2020-03-01", "na", "2020-01-03"], m=[1, 2, 3, 4])
    options = {"on": "k", "aggregate": None, "transform": False, "fuzzy": False}
    for most in (1_000_000, 1):
        monkeypatch.setattr(spark_join, "_SMALL_ROWS", most)
        found = own.auto_join(others, **options)
        assert rows(found) == rows(mine.auto_join(theirs, **options))
        assert "Python" not in plan_of(found) and "MapInArrow" not in plan_of(found)
        found = own_days.auto_join(iso[1], **options)
        assert rows(found) == rows(my_days.auto_join(iso[0], **options))
        assert "MapInArrow" in plan_of(found) and "Coalesce" not in plan_of(found)


def plan_of(frame):
    return frame._jdf.queryExecution().executedPlan().toString()


def test_relations_keep_the_types_of_spark(session):
    """Keys that are related in this process: the rows that they bring are Spark's."""
    words = [f"{a} {b} company" for a in ("north", "south", "blue") for b in ("water", "steel", "paper", "glass")]
    mine, own = pair(session, firm=[*words, words[0], None], n=list(range(14)))
    theirs, others = pair(session, name=[w.replace("company", "compnay") for w in [*words, "z z z"]], m=list(range(13)))
    others = others.selectExpr("name", "m", "map('m', m) AS tags")
    options = {"on": "firm", "right_on": "name", "fuzzy": True, "transform": False, "aggregate": None}
    found = own.auto_join(others, how="outer", **options)
    assert rows(found.drop("tags")) == rows(mine.auto_join(theirs, how="outer", **options))
    assert found.schema["tags"].dataType == others.schema["tags"].dataType
    assert found.where("m IS NOT NULL AND tags['m'] <> m").count() == 0


def test_a_declared_text_stays_a_text(spark, build, tmp_path):
    """A column of texts is one in each kind of table that has types; a file without types is read by its values."""
    spark_ext.enable(spark)
    table = pa.table({"town": ["Rome", "Oslo", "Lima"], "mayor": ["41285", "7", None]})
    spark.createDataFrame(table).createOrReplaceTempView("dfjoin_mayors")
    of_spark = dfjoin.build_lake("dfjoin_mayors", tmp_path / "ix", spark=spark, engine="spark", progress=False)
    of_files = build({"mayors": table.to_pandas()})
    mine, own = pair(spark, town=["rome", "LIMA"])
    for lake in (of_spark, of_files):
        want = mine.auto_join(lake, on="town")
        assert want["mayor"].tolist()[0] == "41285" and pd.api.types.is_string_dtype(want["mayor"].dtype)
        found = own.auto_join(lake, on="town")
        assert dict(found.dtypes)["mayor"] == "string" and rows(found) == rows(want)


def test_maps_that_are_ordered_as_they_are_written_come_as_maps(spark, monkeypatch):
    monkeypatch.setattr(spark_join, "_SMALL_ROWS", 1)
    spark_ext.enable(spark)
    left = spark.createDataFrame([("a",), ("z",)], "k string")
    right = spark.sql("SELECT * FROM VALUES ('a', map('n', 2)), ('a', null), ('a', map('n', 1)) AS t(k, tags)")
    for rule, n in {"min": 1, "max": 2, "latest": 2}.items():
        found = left.auto_join(right, on="k", aggregate=rule)
        assert found.schema["tags"].dataType == right.schema["tags"].dataType, rule
        assert {row.k: row.tags for row in found.collect()} == {"a": {"n": n}, "z": None}, rule


@pytest.mark.parametrize("session", SETTINGS, indirect=True)
def test_what_a_type_does_not_hold_is_an_error_whatever_the_mode(session, monkeypatch):
    """Without the ANSI mode Spark has wrapped sums of integers around, and made nulls of decimals."""
    monkeypatch.setattr(spark_join, "_SMALL_ROWS", 1)
    monkeypatch.setattr(spark_join, "_SAMPLE_ROWS", 1)  # else the sums are those of pandas
    left = session.createDataFrame([("a",), ("b",), ("z",)], "k string")
    for type_, most in (("bigint", 2**63 - 1), ("decimal(38,0)", 10**38 - 1)):
        right = session.sql(
            f"SELECT k, cast(n AS {type_}) AS n FROM VALUES ('a', '{most}'), ('a', '1'), ('b', null), ('b', null) t(k, n)"
        )
        with pytest.raises(Exception, match="rule 'sum' makes numbers beyond the type of their column"):
            left.auto_join(right, on="k", aggregate="sum").collect()
        held = left.auto_join(right.where("n = 1 OR n IS NULL"), on="k", aggregate="sum")
        assert {row.k: row.n for row in held.collect()} == {"a": 1, "b": None, "z": None}
    with pytest.raises(Exception, match="rule 'mean' makes numbers beyond the type of their column"):
        left.auto_join(right, on="k", aggregate="mean").collect()
