"""Joins of Spark DataFrames: the rows and columns that pandas gives, whatever side is large, and guards."""

import datetime
import warnings
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import dfjoin
import spark_ext
from dfjoin.errors import (
    ColumnNotFoundError,
    DfjoinWarning,
    InvalidParameterError,
    InvalidTypeError,
    JoinExpansionError,
    NoMatchError,
)
from dfjoin.join.plan import JoinPlan, JoinStep
from spark_ext import join as spark_join
from spark_ext import join_tables, joined_rows, relations
from spark_ext.transfer import collect, has_more_rows, to_spark
from tests.spark.frames import pair, rows, texts_of

pytestmark = pytest.mark.spark

D = datetime.date


@pytest.fixture(scope="module")
def left(spark):
    spark_ext.enable(spark)
    return pair(
        spark,
        id=list(range(9)),
        city=["Rome", "oslo ", "ROME", "Lima", None, "Zürich", "STRASSE", "", "Quito"],
        n=[1, 2, 3, 4, 5, 6, 7, None, 9],
        day=pa.array([D(2020, 1, d) for d in range(1, 9)] + [None]),
    )


@pytest.fixture(scope="module")
def right(spark):
    return pair(
        spark,
        place=["rome", "Oslo", "rome", "lima", "zürich", "straße", None, "Bern", "rome"],
        people=[2.5, 0.7, 2.8, None, 0.4, 1.0, 9.0, 0.1, 2.6],
        zone=["a", "b", "a", "c", None, "d", "x", "y", "b"],
        zip_code=[10, 20, 10, 30, 40, 50, 60, 70, 10],
        flag=[True, None, False, True, True, False, True, True, True],
        since=pa.array([D(1999, 5, 4)] * 3 + [None] + [D(2001, 1, 1)] * 5),
        price=pa.array([Decimal("1.50")] * 9, pa.decimal128(9, 2)),
    )


@pytest.fixture
def in_spark(monkeypatch):
    """No right side is small: rules are aggregates of Spark, and tables are read in tasks."""
    monkeypatch.setattr(spark_join, "_SMALL_ROWS", 1)


RULES = {
    "people": "median",
    "zone": "most_frequent",
    "zip_code": "nunique",
    "flag": "share",
    "since": "latest",
    "price": "sum",
}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"aggregate": None, "how": "inner"},
        {"how": "outer", "indicator": True},
        {"how": "right", "aggregate": None},
        {"aggregate": "first", "columns": ["zone", "people"]},
        {"aggregate": RULES},
        {"aggregate": {"people": "std", "zone": "max", "zip_code": "mean", "flag": "count"}, "how": "inner"},
        {"aggregate": {"flag": "sum"}, "columns": ["flag"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("size", ["small", "large"])
def test_frames_are_joined_as_in_pandas(left, right, options, size, request):
    if size == "large":
        request.getfixturevalue("in_spark")
    options = {"on": "city", "right_on": "place", **options}
    want = left[0].auto_join(right[0], **options)
    assert rows(left[1].auto_join(right[1], **options)) == rows(want)


@pytest.mark.slow
def test_types_of_keys(spark, in_spark):
    """The same value in different types is one key: integers, floats, decimals, texts, dates, times."""
    spark_ext.enable(spark)
    numbers = {
        "i": pa.array([1, 20, -3, None], pa.int32()),
        "f": pa.array([1.0, 20.0, float("nan"), 2.5]),
        "d": pa.array([Decimal("1.00"), Decimal("20.00"), Decimal("2.50"), None], pa.decimal128(12, 2)),
        "t": pa.array(["1.0", "20", "-3.00", "2.5"]),
    }
    days = {
        "day": pa.array([D(2020, 1, 2), D(1, 1, 1), D(9999, 12, 31), None]),
        "at": pa.array([datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4, 5, 60), None, None]),
        "text": pa.array(["2 January 2020", "2020-01-02 03:04:05.000060", "9999-12-31", "x"]),
    }
    options = {"on": "key", "aggregate": None, "how": "inner", "on_no_match": "ignore"}
    for kinds, pairs in ((numbers, ("if", "dt", "ti", "fd")), (days, ("day text", "text at", "at day"))):
        for names in pairs:
            name, other = names.split() if " " in names else names
            mine, own = pair(spark, key=kinds[name], a=[1, 2, 3, 4])
            theirs, others = pair(spark, key=kinds[other], b=[1, 2, 3, 4])
            want = dfjoin.auto_join(mine, theirs, transform=False, fuzzy=False, **options)[["a", "b"]]
            found = own.auto_join(others, **options).select("a", "b")
            assert rows(found) == rows(want), names


def test_composite_keys_codes_and_nulls_by_evidence(spark, in_spark):
    spark_ext.enable(spark)
    codes = ["NA", "DE", "FR", "IT", None, "-"]
    mine, own = pair(spark, code=codes, n=[1, 2, 3, 4, 5, 6], zip=[501, 10001, 7, 8, 9, None])
    theirs, others = pair(spark, code=[c and c.lower() for c in codes], m=[1, 2, 3, 4, 5, 6], name=list("abcdef"))
    options = {"on": ["code", "n"], "right_on": ["code", "m"], "transform": False}
    assert rows(own.auto_join(others, **options)) == rows(mine.auto_join(theirs, **options))
    theirs, others = pair(spark, zip=["00501", "10001", "00007", None], state=list("abcd"))
    options = {"on": "zip", "pad": 5, "transform": False}
    assert rows(own.auto_join(others, **options)) == rows(mine.auto_join(theirs, **options))


@pytest.mark.parametrize("how", ["right", "outer"])
@pytest.mark.parametrize("size", ["small", "large"])
def test_right_rows_without_a_key_are_told_as_in_pandas(spark, size, how, monkeypatch):
    """Of all rows, once: those of the part that a join is decided on, and those that no plan had read."""
    spark_ext.enable(spark)
    mine, own = pair(spark, k=["a", "b", "c"], v=[1, 2, 3])
    theirs, others = pair(spark, k=["a", "d", None, "e", None, "NA", None], w=list(range(7)))
    if size == "large":
        monkeypatch.setattr(spark_join, "_SMALL_ROWS", 1)
        monkeypatch.setattr(spark_join, "_SAMPLE_ROWS", 3)
    said = "rows of the other frame without a key are left out"
    with pytest.warns(DfjoinWarning, match=said) as told:
        want = mine.auto_join(theirs, on="k", how=how)
    with pytest.warns(DfjoinWarning) as found:
        joined = own.auto_join(others, on="k", how=how)
    assert rows(joined) == rows(want)
    assert texts_of(found) == texts_of(told)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DfjoinWarning)
        own.auto_join(others, on="k")
        own.auto_join(others, on="k", how=how, aggregate=None)
    monkeypatch.setattr(spark_join, "_SAMPLE_ROWS", 1)
    with pytest.warns(DfjoinWarning) as found:  # of a given plan nothing is joined here
        own.auto_join(others, plan=want.attrs["dfjoin"]["plan"])
    assert texts_of(found) == texts_of(told)


def test_columns_that_are_a_key_together_are_found_as_in_pandas(spark):
    spark_ext.enable(spark)
    cells = [(land, year) for land in ("Peru", "Chad", "Oman", "Laos") for year in range(2000, 2006)]
    lands, years = map(list, zip(*cells, strict=True))
    mine, own = pair(spark, land=lands, year=years, v=[0.5] * 24)
    theirs, others = pair(spark, year=years[::-1], country=lands[::-1], w=list(range(24)))
    joined = own.auto_join(others)
    assert joined.columns == ["land", "year", "v", "w"]
    assert rows(joined) == rows(mine.auto_join(theirs)) and "1:1: 24 of 24" in str(spark_ext.report(joined))


@pytest.mark.parametrize("size", ["small", "large"])
def test_single_words_beside_texts_with_white_space(spark, size, request):
    """No key of the right side has a space: white space at the ends of the left ones is removed, inside it parts words."""
    if size == "large":
        request.getfixturevalue("in_spark")
    spark_ext.enable(spark)
    ends = ["A1", "a1 ", "\tA1\r\n", "\u2003ａ1", "éa", "1.0", " 1.0\t", "-0", "K2"]
    keys = [*ends, "a 1", "a\t1", "1 .0", "NA", "", None]
    mine, own = pair(spark, key=keys, n=list(range(len(keys))))
    theirs, others = pair(spark, code=["a1", "ÉA", "1", "0", "k2", None, ""], m=list(range(7)))
    for how in ("left", "outer"):
        options = {"on": "key", "right_on": "code", "how": how, "transform": False}
        want = mine.auto_join(theirs, **options)
        assert want["m"].notna().sum() >= 9
        assert rows(own.auto_join(others, **options)) == rows(want)


def test_keys_are_looked_up_by_a_hash_and_compared(spark, monkeypatch):
    """Where all keys have one hash, rows still meet by their keys alone; rows without a key meet none."""
    spark_ext.enable(spark)
    hashed = F.xxhash64
    monkeypatch.setattr(joined_rows.F, "xxhash64", lambda *columns: hashed(F.lit(1)))
    mine, own = pair(spark, key=["a", "B", None, "c", ""], m=[1, 2, None, 3, 4], n=list(range(5)))
    theirs, others = pair(spark, key=["A ", "b", "b", None, "x"], m=[1, 2, 2, None, 3], v=list(range(5)))
    for on in ("key", ["key", "m"]):
        for how in ("left", "inner"):
            options = {"on": on, "how": how, "aggregate": None}
            found = own.auto_join(others, **options)
            assert rows(found) == rows(mine.auto_join(theirs, **options))
    plan = found._jdf.queryExecution().executedPlan().toString()
    assert (
        "HashedRelationBroadcastMode(List(input[" in plan
        and "bigint" in plan.partition("HashedRelationBroadcastMode")[2][:60]
    )


NAMES = ["Obama, Barack(1961-)", "Bush, George W.(1946-)", "Clinton, Bill(1946-)", "Carter, Jimmy(1924-)", None, "x"]
PRESIDENTS = ["Bill Clinton", "Jimmy Carter", "George W. Bush", "Barack Obama", "Bill Clinton", None]


@pytest.mark.parametrize(("turned", "indicator"), [(False, False), (False, True), (True, True)])
def test_learned_programs_are_expressions_of_spark(spark, turned, indicator):
    spark_ext.enable(spark)
    one = pair(spark, name=NAMES, a=[1, 2, 3, 4, 5, 6])
    other = pair(spark, president=PRESIDENTS, party=list("DDRDDx"))
    (mine, own), (theirs, others) = (other, one) if turned else (one, other)
    want = mine.auto_join(theirs, aggregate=None, indicator=indicator)
    found = own.auto_join(others, aggregate=None, indicator=indicator)
    assert rows(found) == rows(want)
    assert "Python" not in found._jdf.queryExecution().executedPlan().toString()
    assert "by name.split" in str(spark_ext.report(found))


def test_a_learned_plan_joins_a_frame_that_stays_in_spark(spark, in_spark):
    spark_ext.enable(spark)
    mine, own = pair(spark, name=NAMES, a=[1, 2, 3, 4, 5, 6])
    theirs, others = pair(spark, president=PRESIDENTS, party=list("DDRDDx"))
    for first, second, big, bigger in ((mine, theirs, own, others), (theirs, mine, others, own)):
        plan = first.auto_join(second).attrs["dfjoin"]["plan"]
        want = first.auto_join(second, plan=plan)
        found = big.auto_join(bigger, plan=plan)
        assert rows(found) == rows(want)
        assert "Python" not in found._jdf.queryExecution().executedPlan().toString()


def test_the_report_counts_both_sides_of_a_learned_join(spark):
    spark_ext.enable(spark)
    mine, own = pair(spark, name=[*NAMES[:4], "Bush, George W.(2000-)"], a=[1, 2, 3, 4, 5])
    theirs, others = pair(spark, president=PRESIDENTS[:4], party=list("DDRD"))
    options = {"on": "name", "right_on": "president"}
    want = mine.auto_join(theirs, **options)
    (step,) = want.attrs["dfjoin"]["joined"]
    assert step["relationship"] == "m:1"
    first = own.auto_join(others, **options)
    second = first.limit(5).auto_join(others.toDF(*(f"x{i}" for i in range(len(others.columns)))), aggregate=None)
    assert spark_ext.report(first.persist()).to_dict()["joined"] == [step]
    assert spark_ext.report(second.distinct()).to_dict()["rows_in"] == 5
    first.unpersist()


def test_likeness_is_found_on_distinct_keys(spark):
    spark_ext.enable(spark)
    words = [
        f"{a} {b} company" for a in ("north", "south", "blue", "green") for b in ("water", "steel", "paper", "glass")
    ]
    mine, own = pair(spark, firm=[*words, *words[:3], None], n=list(range(len(words) + 4)))
    theirs, others = pair(spark, name=[w.replace("company", "compnay") for w in words], m=list(range(len(words))))
    options = {"on": "firm", "right_on": "name", "fuzzy": True, "transform": False, "indicator": True}
    found, want = own.auto_join(others, **options), mine.auto_join(theirs, **options)
    assert rows(found.drop("_probability")) == rows(want.drop(columns="_probability"))
    chances = [frame.set_index("n")["_probability"].sort_index() for frame in (found.toPandas(), want)]
    assert (chances[0] - chances[1]).abs().max() < 1e-6 and chances[0].notna().sum() == chances[1].notna().sum() == 19


def test_small_things_of_pandas_join_too(spark, left, right):
    options = {"on": "city", "right_on": "place", "columns": ["zone"], "aggregate": "first"}
    wanted = rows(left[0].auto_join(right[0], **options))
    assert rows(left[1].auto_join(right[0], **options)) == wanted
    assert rows(left[1].auto_join(polars.from_pandas(right[0]), **options)) == wanted
    assert rows(left[1].auto_join(right[0].set_index("place"), **options)) == wanted


# Over a lake ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def facilities(spark):
    spark_ext.enable(spark)
    frame = pd.read_csv("examples/facilities.csv", dtype={"Postal": "str"})
    return pair(spark, **{name: pa.array(frame[name], from_pandas=True) for name in frame})


@pytest.mark.slow
@pytest.mark.parametrize("where", ["driver", "cluster"])
def test_tables_of_a_lake_are_joined_as_in_pandas(facilities, example_lake, where):
    mine, own = facilities
    for options in ({"on": "Country", "k": 3}, {"on": "Postal", "how": "outer"}, {}):
        want = mine.auto_join(example_lake, **options)
        found = own.auto_join(example_lake, where=where, **options)
        assert rows(found) == rows(want), options
    report = spark_ext.report(found.withColumn("one", F.lit(1)).where("one = 1").drop("Country"))
    assert report.to_dict()["joined"] == want.attrs["dfjoin"]["joined"]
    work, tables = report.to_dict()["work"], len(want.attrs["dfjoin"]["joined"])
    assert work["jobs"] >= 1 and work["bytes_here"] > 0 and work["bytes_fetched"] == 0
    n_read = work["tasks"].get("read", 0)  # its keys before, its rows with the result
    assert work["cache_hits"] == n_read and n_read == (2 * tables if where == "cluster" else 0)
    plan = report.to_dict()["plan"]
    assert rows(own.auto_join(plan)) == rows(want)


def test_picked_candidates_are_joined(facilities, example_lake):
    mine, own = facilities
    hits = mine.discover_joinable("Country", example_lake, k=3)
    found = own.discover_joinable("Country", example_lake, k=3)
    want = rows(mine.auto_join(hits.iloc[[0, 2]]))
    assert rows(own.auto_join(hits.iloc[[0, 2]])) == want
    tables = hits["table"].iloc[[0, 2]].tolist()
    assert rows(own.auto_join(found.where(found["table"].isin(tables)))) == want


def test_a_lake_of_spark_tables_is_joined_through_the_session(spark, left, right, tmp_path):
    right[1].createOrReplaceTempView("dfjoin_places")
    lake = dfjoin.build_lake("dfjoin_places", tmp_path / "ix", spark=spark, engine="spark", progress=False)
    hits = left[1].discover_joinable("city", lake, k=1)
    plan = {
        "plan_version": 1, "how": "left", "index": str(lake.path), "max_expansion": 10.0, "indicator": False,
        "steps": [{"on": ["city"], "table": "dfjoin_places", "right_on": ["place"], "columns": ["zone", "people"]}],
    }  # fmt: skip
    assert [row["table"] for row in hits.collect()] == ["dfjoin_places"]
    want = left[0].auto_join(right[0], on="city", right_on="place", columns=["zone", "people"])
    found = left[1].auto_join(plan)
    assert (
        rows(found.select(*left[0].columns, "people", "zone"))[1] == rows(want[[*left[0].columns, "people", "zone"]])[1]
    )


def test_programs_over_a_lake(spark, build):
    spark_ext.enable(spark)
    people = [f"{a} {b}" for a in ("Ann", "Bob", "Cem", "Dora", "Emil") for b in ("Stone", "Rivers", "Woods", "Hill")]
    turned = [", ".join(reversed(name.split())) for name in people]
    lake = build({"staff": pd.DataFrame({"who": turned, "room": range(20)})}, settings={"patterns": True})
    mine, own = pair(spark, name=[*people, None, people[0]], n=list(range(22)))
    hits = mine.discover_joinable("name", lake, mode="transform")
    want = rows(mine.auto_join(hits))
    for where in ("driver", "cluster"):
        found = own.auto_join(own.discover_joinable("name", lake, mode="transform"), where=where)
        assert rows(found) == want
    assert "Python" not in own.auto_join(hits)._jdf.queryExecution().executedPlan().toString()


def test_nothing_acceptable_leaves_the_frame(left, example_lake):
    with pytest.warns(DfjoinWarning, match="no acceptable candidate"):
        found = left[1].auto_join(example_lake, on="city", threshold=1.0)
    assert rows(found) == rows(left[0])


# Guards ---------------------------------------------------------------------------------------------------


def test_a_join_that_multiplies_rows_stops_and_names_the_worst_key(spark, in_spark, monkeypatch):
    spark_ext.enable(spark)
    monkeypatch.setattr(spark_join, "_SAMPLE_ROWS", 4)
    _, own = pair(spark, key=["x", "b", "c", "d", *["a"] * 30], n=list(range(34)))
    _, others = pair(spark, key=["x", "b", *["a"] * 50], m=list(range(52)))
    text = r"would make 1,504 rows of 34, 44.2 times.*worst key, 'a', stands in 30 rows of yours and 50 of the table"
    with pytest.raises(JoinExpansionError, match=text):
        own.auto_join(others, on="key", aggregate=None)


def test_large_frames_need_a_key(left, right, in_spark):
    with pytest.raises(InvalidParameterError, match=r"`on` must be given where the other frame has more than 1 rows"):
        left[1].auto_join(right[1])
    plan = {"relation": 1}
    with pytest.raises(InvalidParameterError, match="`plan` must be"):
        left[1].auto_join(right[1], plan=plan)


def test_arguments_are_those_of_pandas(left, right, example_lake):
    with pytest.raises(TypeError, match="unexpected keyword argument 'colums'"):
        left[1].auto_join(right[1], colums="x")
    with pytest.raises(InvalidParameterError, match="`where` must be one of"):
        left[1].auto_join(right[1], where="here")
    with pytest.raises(ColumnNotFoundError, match=r"`on` must name a column of the frame .*did you mean 'city'"):
        left[1].auto_join(right[1], on="citi", right_on="place")
    with pytest.raises(InvalidTypeError, match="`other` must be a Lake or its path"):
        left[1].auto_join(5)
    with pytest.raises(InvalidParameterError, match="several columns of the name 'n'"):
        left[1].select("n", "n").auto_join(right[1])
    with pytest.raises(InvalidParameterError, match="the plan is of two frames, and holds no rows"):
        plan = left[0].auto_join(right[0], on="city", right_on="place").attrs["dfjoin"]["plan"]
        left[1].auto_join(plan)
    with pytest.raises(InvalidParameterError, match="`frame` carries no join report"):
        spark_ext.report(left[1])


def test_too_many_keys_for_likeness(spark, monkeypatch):
    spark_ext.enable(spark)
    monkeypatch.setattr(relations, "_MOST_KEYS", 2)
    words = [f"{a} {b}" for a in ("north", "south", "blue", "green") for b in ("water", "steel", "paper", "glass")]
    _, own = pair(spark, a=words)
    _, others = pair(spark, b=[w + "s" for w in words], n=list(range(16)))
    with pytest.raises(InvalidParameterError, match="`on` must have at most 2 distinct keys"):
        own.auto_join(others, on="a", right_on="b", fuzzy=True, transform=False)


def test_a_type_without_text_is_no_key(spark, facilities, example_lake):
    plan = facilities[0].auto_join(example_lake, on="Country").attrs["dfjoin"]["plan"]
    with pytest.raises(InvalidTypeError, match="`on` must name a column whose values have a text, got 'Country'"):
        spark.sql("select array('x') as Country").auto_join(plan)
    for on in ("Country", ["n", "Country"]):
        with pytest.raises(InvalidTypeError, match="`on` must name a column whose values have a text, got 'Country'"):
            spark.sql("select array('Peru') as Country, 1 as n").auto_join(example_lake, on=on)
    with pytest.raises(
        InvalidTypeError, match="`right_on` must name a column whose values have a text, got 'c' of type"
    ):
        facilities[1].auto_join(spark.sql("select array('x') as c"), on="Country", right_on="c")
    with pytest.raises(ColumnNotFoundError, match="`on` must name a column of the frame"):
        spark.sql("select 'x' as Land").auto_join(plan)


def test_rows_are_counted_where_a_large_right_side_repeats_keys(spark, in_spark):
    spark_ext.enable(spark)
    mine, own = pair(spark, key=["a", "b", None], n=[1, 2, 3])
    theirs, others = pair(spark, key=["b", "c", "a", "a"], m=[1, 2, 3, 4])
    want = mine.auto_join(theirs, on="key")
    assert "right_rows" in want
    assert rows(own.auto_join(others, on="key")) == rows(want)
    want = mine[1:].auto_join(theirs, on="key")  # the key that is repeated is none of this frame's
    assert "right_rows" not in want
    assert rows(own.where("n > 1").auto_join(others, on="key")) == rows(want)


def test_a_plan_that_leaves_it_open_counts_rows_where_a_large_frame_meets_repeated_keys(spark, monkeypatch):
    spark_ext.enable(spark)
    monkeypatch.setattr(spark_join, "_SAMPLE_ROWS", 2)
    mine, own = pair(spark, key=["a", "b", None], n=[1, 2, 3])
    theirs, others = pair(spark, key=["b", "c", "a", "a"], m=[1, 2, 3, 4])
    plan = mine.auto_join(theirs, on="key").attrs["dfjoin"]["plan"]
    plan["steps"][0] |= {"counted": None, "names": {}}
    want = mine.auto_join(theirs, plan=plan)
    assert "right_rows" in want
    assert rows(own.auto_join(others, plan=plan)) == rows(want)


def test_the_sample_decides_where_a_frame_is_large(spark, monkeypatch, example_lake):
    spark_ext.enable(spark)
    monkeypatch.setattr(spark_join, "_SAMPLE_ROWS", 10)
    frame = spark.range(300).selectExpr(
        "id", "element_at(array('France', 'peru', 'CHAD', 'Japan'), int(id % 4) + 1) as land"
    )
    found = frame.auto_join(example_lake, on="land")
    assert spark_ext.report(found).to_dict()["sampled_rows"] <= 10
    assert collect(found.selectExpr("count(*) as n", "count(iso2) as m")).to_pylist() == [{"n": 300, "m": 300}]
    assert join_tables.PREFIX not in "".join(found.columns)


def test_a_given_plan_is_checked_on_no_rows_of_a_large_frame(spark, monkeypatch):
    spark_ext.enable(spark)
    mine, own = pair(spark, city=["Rome", "OSLO ", "lima", "Bern", None], n=[1, 2, 3, 4, 5])
    theirs, others = pair(spark, place=["rome", "Oslo", "lima"], zone=["a", "b", "c"])
    plan = mine.auto_join(theirs, on="city", right_on="place").attrs["dfjoin"]["plan"]
    monkeypatch.setattr(spark_join, "_SAMPLE_ROWS", 2)
    sampled = []
    joined = spark_join.join
    monkeypatch.setattr(spark_join, "join", lambda df, *rest: sampled.append(len(df)) or joined(df, *rest))
    found = own.auto_join(others, plan=plan)
    assert rows(found) == rows(mine.auto_join(theirs, plan=plan))
    report = spark_ext.report(found)
    assert report.to_dict()["plan"] == plan and sampled == [0]
    with pytest.raises(InvalidTypeError, match=r"got DataFrame; for one of Spark call spark_ext.report\(df\)"):
        dfjoin.report(found)
    told = ["a plan was carried out, how='left'; rows were not counted", "joined the other frame on city = place"]
    assert str(report).splitlines() == told and "nothing was joined" not in report._repr_html_()
    with pytest.raises(ColumnNotFoundError, match="`other` must have the columns that the plan joins"):
        own.auto_join(others.drop("place"), plan=plan)
    strangers = others.selectExpr("concat('x', place) AS place", "zone")
    with pytest.raises(NoMatchError, match="no row found a partner"):
        own.auto_join(strangers, plan=plan, on_no_match="raise")


@pytest.mark.parametrize("key", ["name", "turned"])
def test_a_given_plan_takes_few_jobs(spark, key):
    """One for a row after the first 100,000 of the left frame, two for the rows of the right one, none for its keys."""
    spark_ext.enable(spark)
    others = spark.range(0, 2_000, 1, 2).selectExpr("concat('Last', id, ', First', id % 9) AS name", "id AS score")
    others = others.selectExpr("name", "concat('First', score % 9, ' ', 'Last', score) AS turned", "score")
    right = to_spark(spark, collect(others.select(key, "score")))
    left = spark.range(0, 300_000, 1, 2).selectExpr("concat('Last', id, ', First', id % 9) AS name", "id")
    few = left.where("id < 300").auto_join(right, on="name", right_on=key)
    plan = spark_ext.report(few).to_dict()["plan"]
    assert (plan["steps"][0]["relation"] is None) == (key == "name")
    context = spark.sparkContext
    context.setJobGroup(f"few jobs {key}", "")
    try:
        found = left.auto_join(right, plan=plan)
        assert len(context.statusTracker().getJobIdsForGroup(f"few jobs {key}")) == 3
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)
    assert spark_ext.report(found).to_dict()["work"]["jobs"] == 3
    reported = found.selectExpr("count(*)", "count(score)", "count_if(score = id)")
    assert tuple(reported.collect()[0]) == (300_000, 2_000, 2_000)


@pytest.mark.parametrize("n_partitions", [1, 3])
def test_a_frame_that_has_more_rows_is_told_from_one_that_has_not(spark, n_partitions):
    frame = spark.range(0, 50, 1, n_partitions).where("id % 2 = 0").select(F.concat(F.lit("a"), F.col("id")).alias("a"))
    local = to_spark(spark, pa.table({"a": list(range(25))}))
    for one in (frame, local, frame.union(frame).distinct()):
        assert [has_more_rows(one, n) for n in (1, 24, 25, 26)] == [True, True, False, False]


# Skew -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["left", "outer", "inner"])
def test_a_key_of_most_rows_and_rows_without_a_key(spark, in_spark, how):
    """90 % of the rows on one key, or half of them without one: the rows that pandas gives."""
    spark_ext.enable(spark)
    frequent = ["a"] * 450 + [f"k{i}" for i in range(40)] + ["B "] * 10
    half = [None, "A"] * 240 + ["b", "c"] * 10
    theirs, others = pair(spark, key=["a", "b", *[f"K{i}" for i in range(60)]] * 2, m=list(range(124)))
    for keys, aggregate in ((frequent, "auto" if how == "left" else None), (half, None if how == "left" else "auto")):
        mine, own = pair(spark, key=keys, n=list(range(500)))
        options = {"on": "key", "how": how, "aggregate": aggregate}
        assert rows(own.auto_join(others, **options)) == rows(mine.auto_join(theirs, **options))


@pytest.mark.parametrize("day", [None, "2 January 2020"])
def test_no_task_takes_all_rows_without_a_key(spark, in_spark, day):
    """Also where the keys of a column pass through one task, as those beside dates."""
    spark_ext.enable(spark)
    _, own = pair(spark, key=[None] * 900 + [f"k{i}" for i in range(100)], n=list(range(1000)))
    _, others = pair(spark, key=[day, *(f"k{i}" for i in range(150))], m=list(range(151)))
    settings = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.adaptive.enabled": "false"}
    settings |= {"spark.sql.shuffle.partitions": "4"}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        found = own.auto_join(others, on="key", transform=False, fuzzy=False)
        reported = found.selectExpr("spark_partition_id() as part", "m")  # without m, Spark would join nothing
        sizes = collect(reported.groupBy("part").agg({"part": "count", "m": "count"})).to_pylist()
        counts = [row["count(part)"] for row in sizes]
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    assert sum(counts) == 1000 and max(counts) < 500 and sum(row["count(m)"] for row in sizes) == 100


@pytest.mark.parametrize(("indicator", "most"), [(False, 1_000_000), (True, 1_000_000), (False, 1)])
def test_places_are_joined_by_distance_as_in_pandas(spark, monkeypatch, indicator, most):
    spark_ext.enable(spark)
    monkeypatch.setattr(spark_join, "_SMALL_ROWS", most)
    shops = pair(spark, shop=["a", "b", "c", "d"], lat=[47.0, 48.0, None, 10.0], lon=[8.0, 9.0, 1.0, 10.0])
    stations = pair(spark, lat=[47.001, 47.003, 48.0], lon=[8.0, 8.0, 9.001], station=["x", "y", "z"])
    options = {"on": ["lat", "lon"], "mode": "embedding", "radius": 1, "radius_unit": "km", "indicator": indicator}
    want = shops[0].auto_join(stations[0], **options)
    assert want["station"].fillna("").tolist() == ["x", "z", "", ""]
    wide = shops[1].auto_join(stations[1], **options)
    assert rows(wide) == rows(want)
    assert rows(shops[1].auto_join(stations[1], plan=spark_ext.report(wide).to_dict()["plan"])) == rows(want)


def test_reviewed_pairs_are_refused():
    with pytest.raises(InvalidParameterError, match="`reviewed` applies to frames of pandas: Spark carries out a plan"):
        spark_join.auto_join(None, None, "auto", {"reviewed": [("a", "b", True)]})


def visits_with_rules(**given):
    """Return rows of keys that are repeated, and a step with several rules for each of its columns."""
    rng = np.random.default_rng(5)
    keys = [f"k{i}" for i in rng.integers(0, 12, 90)]
    visits = pd.DataFrame(
        {
            "k": keys,
            "days": pd.Series(rng.integers(0, 9, 90), dtype="Int64").where(rng.random(90) > 0.2),
            "cost": rng.normal(50, 9, 90).round(2),
            "ward": rng.choice(["a", "b", None], 90),
            "paid": pd.Series(rng.random(90) > 0.4, dtype="boolean").where(rng.random(90) > 0.1),
            "seen": (pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, 90), "D")).astype(
                "datetime64[us]"
            ),
            "note": rng.choice(["x", "y"], 90),
        }
    )
    rules = {
        "days": ["mean", "std", "min", "max", "count", "sum"],
        "cost": ["median", "first", "last"],
        "ward": ["majority", "nunique", "top_share"],
        "paid": ["share"],
        "seen": ["min", "max"],
        "note": "most_frequent",
    }
    step = {"on": ["k"], "right_on": ["k"], "columns": list(rules), "aggregate": rules, "counted": True} | given
    return visits, step


@pytest.mark.parametrize("where", ["driver", "cluster"])
def test_several_rules_for_a_column_are_those_of_pandas_for_a_table_of_a_lake(spark, tmp_path, where):
    spark_ext.enable(spark)
    visits, step = visits_with_rules(table="visits.parquet")
    (tmp_path / "lake").mkdir()
    visits.to_parquet(tmp_path / "lake" / "visits.parquet")
    dfjoin.build_lake(tmp_path / "lake", tmp_path / "index", engine="inline", progress=False)
    plan = JoinPlan((JoinStep(**step),), "left", str(tmp_path / "index"))
    own = pair(spark, k=["k1", "k2", "k3", "k11", "none", None])
    want = own[0].auto_join(plan)
    assert [name for name in want if name.startswith("ward")] == [
        "ward (majority)",
        "ward (nunique)",
        "ward (top_share)",
    ]
    assert rows(own[1].auto_join(plan, where=where)) == rows(want)


@pytest.mark.parametrize("is_unique", [False, True])
def test_several_rules_for_a_column_are_those_of_pandas_for_a_frame(spark, is_unique):
    spark_ext.enable(spark)
    visits, step = visits_with_rules(table="")
    visits = visits.drop_duplicates("k") if is_unique else visits
    plan = JoinPlan((JoinStep(**step),), "left", "")
    own = pair(spark, k=["k1", "k2", "k3", "k11", "none", None])
    right = pa.Table.from_pandas(visits, preserve_index=False)
    want = own[0].auto_join(visits, plan=plan.to_dict())
    assert rows(own[1].auto_join(to_spark(spark, right), plan=plan.to_dict())) == rows(want)


@pytest.mark.parametrize("rule", ["trend", "since", "mean, 30 days"])
def test_a_rule_that_needs_dates_is_refused_without_them_as_in_pandas(spark, tmp_path, rule):
    spark_ext.enable(spark)
    visits, _ = visits_with_rules()
    (tmp_path / "lake").mkdir()
    visits.to_parquet(tmp_path / "lake" / "visits.parquet")
    dfjoin.build_lake(tmp_path / "lake", tmp_path / "index", engine="inline", progress=False)
    step = JoinStep(["k"], "visits.parquet", ["k"], ["days"], aggregate={"days": ["mean", rule]}, counted=True)
    plan = JoinPlan((step,), "left", str(tmp_path / "index"))
    own = pair(spark, k=["k1"])
    for frame, options in ((own[0], {}), (own[1], {"where": "driver"}), (own[1], {"where": "cluster"})):
        with pytest.raises(InvalidParameterError, match=f"`aggregates` rule '{rule}' of column 'days' needs the dates"):
            frame.auto_join(plan, **options)


@pytest.mark.parametrize(("rule", "counted"), [("before", True), ("before", None), ("latest", True)])
def test_several_rules_for_rows_before_a_date_are_those_of_pandas(spark, tmp_path, rule, counted):
    spark_ext.enable(spark)
    days = pd.date_range("2024-01-01", periods=24, freq="5D")
    visits = pd.DataFrame(
        {"k": [f"k{i % 4}" for i in range(24)], "day": days, "cost": [i * i / 4 for i in range(24)]}
    ).assign(ward=[f"w{i % 3}" for i in range(24)], n=range(24))
    (tmp_path / "lake").mkdir()
    visits.to_parquet(tmp_path / "lake" / "visits.parquet")
    dfjoin.build_lake(tmp_path / "lake", tmp_path / "index", engine="inline", progress=False)
    rules = {"cost": ["mean", "max, 30 days", "trend"], "ward": ["nunique", "last"], "day": ["since"], "n": "max"}
    dated = {"on": "at", "right_on": ["day"], "rule": rule}
    names = {"cost (mean)": "cost (mean)", "n": "most"}
    own = ["cost", "ward", "day", "n"]
    step = JoinStep(["k"], "visits.parquet", ["k"], own, names, rules, counted=counted, dated=dated)
    plan = JoinPlan((step,), "left", str(tmp_path / "index"))
    at = [datetime.datetime(2024, 1 + i, 3, 12) for i in range(8)]
    mine, sdf = pair(spark, k=["k0", "K1", "k2", "k3", "k0", "none", None, "k1"], at=[*at[:7], None])
    want = mine.auto_join(plan)
    assert want["cost (max, 30 days)"].notna().sum() >= 3 and want["most"].notna().sum() >= 4
    assert rows(sdf.auto_join(plan)) == rows(want)
    if rule == "before":
        inner = {**plan.to_dict(), "how": "inner"}
        assert rows(sdf.auto_join(inner, where="cluster")) == rows(mine.auto_join(inner))


def test_several_rules_for_the_latest_rows_of_a_frame_are_those_of_pandas(spark):
    spark_ext.enable(spark)
    days = [datetime.date(2024, 1, 1 + i // 2) for i in range(8)]
    mine, own = pair(spark, k=["a", "B", "a", None], at=pa.array([days[7], days[3], days[1], days[0]]))
    other, theirs = pair(spark, k=["a", "b"] * 2 + ["a"] * 4, day=pa.array(days), n=[1, 2, 3, 4, 5, 6, 7, 8])
    dated = {"on": "at", "right_on": ["day"], "rule": "latest"}
    step = JoinStep(["k"], "", ["k"], ["n"], aggregate={"n": ["mean", "max", "last"]}, counted=True, dated=dated)
    plan = JoinPlan((step,), "left", "").to_dict()
    assert rows(own.auto_join(theirs, plan=plan)) == rows(mine.auto_join(other, plan=plan))
    since = JoinPlan((replace(step, aggregate={"n": ["mean", "since"]}),), "left", "").to_dict()
    with pytest.raises(InvalidParameterError, match="`aggregates` rule 'since' of column 'n' needs the dates of"):
        own.auto_join(theirs, plan=since)
