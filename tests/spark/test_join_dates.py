"""Joins of Spark DataFrames by dates and by periods: the rows that pandas gives."""

import datetime

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dfjoin
import spark_ext
from dfjoin.errors import InvalidParameterError, JoinExpansionError
from spark_ext import join as spark_join
from spark_ext import join_steps, relations
from tests.spark.frames import pair, rows

pytestmark = pytest.mark.spark

D, T = datetime.date, datetime.datetime

SHOPS = ["a", "A ", "b", None, "c", "b", "a", "a"]
DAYS = [D(2020, 1, 5), D(2020, 1, 1), D(2019, 12, 31), D(2020, 1, 5), D(2020, 1, 5), None, D(2021, 1, 1), D(2020, 1, 4)]


@pytest.fixture(scope="module")
def sales(spark):
    spark_ext.enable(spark)
    return pair(spark, shop=SHOPS, day=pa.array(DAYS), n=list(range(8)))


@pytest.fixture(scope="module")
def prices(spark):
    days = [
        D(2020, 1, 1),
        D(2020, 1, 4),
        D(2020, 1, 4),
        D(2020, 1, 6),
        D(2020, 1, 1),
        None,
        D(2018, 1, 1),
        D(2019, 1, 1),
    ]
    shops = ["A", "a", "a ", "a", "B", "b", None, "x"]
    return pair(spark, place=shops, since=pa.array(days), price=[1.0, 2.0, 3.5, 4.0, 5.0, 6.0, 7.0, None])


@pytest.fixture
def in_spark(monkeypatch):
    monkeypatch.setattr(spark_join, "_SMALL_ROWS", 1)


ASOF = {"on": ["shop", "day"], "right_on": ["place", "since"], "how": "asof"}


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"aggregate": "mean"},
        {"aggregate": None, "indicator": True},
        {"columns": ["price"], "aggregate": {"price": "max"}},
    ],
    ids=str,
)
def test_the_latest_row_is_that_of_pandas(sales, prices, options, size, request):
    if size == "large":
        request.getfixturevalue("in_spark")
    found = sales[1].auto_join(prices[1], **ASOF, **options)
    assert rows(found) == rows(sales[0].auto_join(prices[0], **ASOF, **options))
    plan = found._jdf.queryExecution().executedPlan().toString()
    assert "Window" in plan and "Python" not in plan


MOMENTS = st.none() | st.integers(0, 5).map(lambda n: T(2020, 1, 1) + datetime.timedelta(hours=7 * n))
KEYS = st.sampled_from(["a", "B", "b ", None])


@given(
    own=st.lists(st.tuples(KEYS, MOMENTS), min_size=1, max_size=8),
    theirs=st.lists(st.tuples(KEYS, MOMENTS), min_size=1, max_size=8),
)
@settings(max_examples=6, suppress_health_check=list(HealthCheck), deadline=None)
def test_moments_ties_and_nulls(spark, own, theirs):
    spark_ext.enable(spark)
    times = pa.timestamp("us")
    one = pair(
        spark,
        k=pa.array([k for k, _ in own], pa.string()),
        at=pa.array([t for _, t in own], times),
        n=list(range(len(own))),
    )
    other = pair(
        spark,
        k=pa.array([k for k, _ in theirs], pa.string()),
        at=pa.array([t for _, t in theirs], times),
        v=list(range(len(theirs))),
    )
    options = {"on": ["k", "at"], "how": "asof", "aggregate": None}
    assert rows(one[1].auto_join(other[1], **options)) == rows(one[0].auto_join(other[0], **options))


@pytest.mark.parametrize("on", ["day", ["shop", "spelled"]], ids=str)
def test_dates_alone_and_dates_that_are_texts(spark, sales, prices, on):
    """They are related for each distinct date, or key and date, as pandas reads a whole column."""
    spelled = [None if day is None else f"{day:%d.%m.%Y}" for day in DAYS]
    mine, own = pair(spark, shop=SHOPS, day=pa.array(DAYS), n=list(range(8)), spelled=spelled)
    right_on = "since" if on == "day" else ["place", "since"]
    options = {"on": on, "right_on": right_on, "how": "asof"}
    assert rows(own.auto_join(prices[1], **options)) == rows(mine.auto_join(prices[0], **options))


def test_a_lake_is_joined_by_dates_and_by_periods(spark, build, sales, prices):
    years = pd.DataFrame({"year": range(2000, 2024), "cpi": [float(n) for n in range(24)]})
    lake = build({"prices": prices[0].rename(columns={"place": "shop"}), "years": years})
    for options in ({"on": ["shop", "day"], "how": "asof"}, {"on": "day"}):
        want = sales[0].auto_join(lake, **options)
        assert len(want.columns) > len(sales[0].columns), options
        found = sales[1].auto_join(lake, **options)
        assert rows(found) == rows(want), options
        assert rows(sales[1].auto_join(spark_ext.report(found).to_dict()["plan"])) == rows(want)


def test_a_large_table_of_a_lake_is_not_read_here_for_its_dates(spark, build, sales, prices, monkeypatch):
    lake = build({"prices": prices[0].rename(columns={"place": "shop"})})
    options = {"on": ["shop", "day"], "how": "asof"}
    monkeypatch.setattr(join_steps, "_MOST_BYTES", 100)
    for where in ("auto", "cluster"):
        with pytest.raises(InvalidParameterError, match=r"table 'prices.*at most 0 MiB.*spark\.read.*where='driver'"):
            sales[1].auto_join(lake, where=where, **options)
    assert rows(sales[1].auto_join(lake, where="driver", **options)) == rows(sales[0].auto_join(lake, **options))


def test_a_lake_of_spark_tables_is_joined_by_dates(spark, sales, prices, tmp_path):
    prices[1].withColumnRenamed("place", "shop").createOrReplaceTempView("dfjoin_prices")
    lake = dfjoin.build_lake("dfjoin_prices", tmp_path / "ix", spark=spark, engine="spark", progress=False)
    options = {"on": ["shop", "day"], "how": "asof"}
    want = sales[0].auto_join(lake, **options)
    assert want["price"].notna().sum() == 4
    assert rows(sales[1].auto_join(lake, **options)) == rows(want)


def test_what_is_too_large_is_refused(sales, prices, in_spark, monkeypatch):
    texts = prices[1].selectExpr("place", "date_format(since, 'yyyy-MM-dd') AS since", "price")
    with pytest.raises(
        InvalidParameterError, match="`right_on` must end with a column of dates or times where `other` is large"
    ):
        sales[1].auto_join(texts, **ASOF)
    options = {"on": "day", "right_on": "since", "how": "asof"}
    assert rows(sales[1].auto_join(prices[1], **options)) == rows(sales[0].auto_join(prices[0], **options))
    monkeypatch.setattr(relations, "_MOST_KEYS", 2)
    with pytest.raises(InvalidParameterError, match="related by distance, likeness or periods"):
        sales[1].auto_join(prices[1], **options)


def test_rows_of_one_moment_are_guarded(spark, sales):
    many = pair(spark, shop=["a"] * 90, day=pa.array([D(2020, 1, 1)] * 90), v=list(range(90)))
    with pytest.raises(JoinExpansionError, match="max_expansion"):
        sales[1].auto_join(many[1], on=["shop", "day"], how="asof", aggregate=None)


@pytest.mark.parametrize(
    ("options", "other_is_pandas"),
    [({}, True), ({}, False), ({"on": ["shop", "day"], "right_on": ["shop", "month"]}, False)],
    ids=["found in pandas", "found", "named"],
)
def test_days_of_a_shop_join_the_month_of_the_shop(spark, options, other_is_pandas):
    spark_ext.enable(spark)
    shops = [f"shop {i % 6}" for i in range(240)]
    days = [D(2023, 12, 1) + datetime.timedelta(days=i // 3) for i in range(240)]
    sales = pair(spark, shop=shops, day=pa.array(days), n=list(range(240)))
    months = [
        (shop, f"{month:%Y-%m}")
        for shop in dict.fromkeys(shops)
        for month in pd.date_range("2023-12", "2024-02", freq="MS")
    ]
    rent = pair(spark, shop=[shop for shop, _ in months], month=[month for _, month in months], rent=list(range(18)))
    right = rent[0] if other_is_pandas else rent[1]
    want, found = sales[0].auto_join(rent[0], **options), sales[1].auto_join(right, **options)
    assert want["rent"].notna().all() and rows(found) == rows(want)
    plan = spark_ext.report(found).to_dict()["plan"]
    assert plan["steps"][0]["period"] == "month"
    assert rows(sales[1].auto_join(right, plan=plan)) == rows(want)
