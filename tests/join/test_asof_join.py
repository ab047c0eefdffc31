"""``how="asof"`` against `pandas.merge_asof`, one key after the other, and its errors."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import ColumnNotFoundError, DfjoinWarning, InvalidParameterError, NoMatchError
from dfjoin.join.lakes.lake_candidates import asof_dates

DAYS = pd.date_range("2020-01-01", periods=30).as_unit("us")


def by_pandas(left, right, value):
    """The value of the latest right row of each left row, by merge_asof of each key."""
    found = pd.Series(np.nan, range(len(left)), dtype="float64")
    places = left.reset_index(drop=True).dropna(subset=["shop", "day"]).sort_values("day", kind="stable")
    for key, own in places.groupby("shop"):
        theirs = right[(right["shop"] == key) & right["day"].notna()].sort_values("day", kind="stable")
        merged = pd.merge_asof(own.reset_index()[["index", "day"]], theirs[["day", value]], on="day")
        found[merged["index"]] = merged[value].to_numpy()
    return found.to_numpy()


def frame_of(rows, value):
    """A frame of keys and days; 30 stands for no day, an empty text for no key."""
    days = pd.Series([DAYS[day] if day < 30 else pd.NaT for _, day in rows], dtype="datetime64[us]")
    keys = pd.Series([key or None for key, _ in rows], dtype=object)
    return pd.DataFrame({"shop": keys, "day": days, value: np.arange(len(rows)) / 4})


_rows = st.lists(st.tuples(st.sampled_from(["a", "b", "c", ""]), st.integers(0, 30)), min_size=1, max_size=25)


@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:the join with the other frame")
@given(_rows, _rows)
def test_frames_are_joined_as_merge_asof_joins_each_key(left_rows, right_rows):
    left, right = frame_of(left_rows, "sold"), frame_of(right_rows, "price")
    wide = left.auto_join(right, on=["shop", "day"], how="asof", aggregate="last", on_no_match="ignore")
    np.testing.assert_array_equal(wide["price"], by_pandas(left, right, "price"))
    assert wide.index.equals(left.index)
    again = left.iloc[::-1].auto_join(right, plan=wide.attrs["dfjoin"]["plan"], on_no_match="ignore")
    np.testing.assert_array_equal(again["price"], wide["price"][::-1])


def some_rows(rng, n, value, n_days=30):
    return frame_of(
        list(zip(rng.choice(["north", "south", "east"], n), rng.integers(0, n_days, n), strict=True)), value
    )


def test_a_lake_is_joined_as_frames_are(build, rng):
    left = some_rows(rng, 80, "sold")
    prices = some_rows(rng, 60, "price").drop_duplicates(["shop", "day"])
    lake = build({"prices": prices, "areas": pd.DataFrame({"shop": ["north", "south", "east"], "area": [1, 2, 3]})})
    expected = by_pandas(left, prices, "price")
    for on in (["shop", "day"], None):
        wide = left.auto_join(lake, on=on, how="asof", columns="price")
        np.testing.assert_array_equal(wide["price"], expected)
    assert "only the latest rows not after day, by day" in str(dfjoin.report(wide))
    passed = {p["table"]: p["reason"] for p in wide.attrs["dfjoin"]["passed_over"]}
    assert passed.get("areas", "it has no column of dates").startswith("it has no column of dates")
    again = left.head(3).auto_join(wide.attrs["dfjoin"]["plan"], on_no_match="ignore")
    np.testing.assert_array_equal(again["price"], expected[:3])
    hits = left.discover_joinable("shop", lake, tables="prices")
    np.testing.assert_array_equal(left.auto_join(hits, on="day", how="asof")["price"], expected)


@pytest.mark.parametrize("rule", ["mean", "count", "nunique"])
def test_a_rule_for_all_columns_leaves_the_date_of_the_row_as_it_is(build, rule):
    left = frame_of([("a", 3), ("b", 2), ("b", 9)], "sold")
    right = frame_of([("a", 1), ("a", 1), ("b", 5)], "price")
    expected = [DAYS[1], pd.NaT, DAYS[5]]
    wide = left.auto_join(right, on=["shop", "day"], how="asof", aggregate=rule)
    assert wide["day__right"].tolist() == expected
    assert wide["price"].tolist()[::2] == {"mean": [0.125, 0.5]}.get(rule, [2, 1])
    over_lake = left.auto_join(
        build({"prices": right}), on=["shop", "day"], how="asof", tables="prices", aggregate=rule
    )
    assert over_lake["day__prices"].tolist() == expected


@pytest.mark.parametrize("mode", ["fuzzy", "embedding", "transform"])
def test_the_latest_rows_of_related_keys(tmp_path, mode):
    lines = [
        "Abernathy",
        "Blomqvist",
        "Castellano",
        "Drummond",
        "Eisenberg",
        "Fitzgerald",
        "Grabowski",
        "Hollister",
        "Ibarra",
        "Janowicz",
    ]
    is_learned = mode == "transform"
    names = [f"AB-{1000 + 37 * i}" if is_learned else f"{line} {1000 + 37 * i}" for i, line in enumerate(lines * 4)]
    log = pd.DataFrame([(name, DAYS[day], i + day / 32) for i, name in enumerate(names) for day in (0, 4, 8)])
    log = log.set_axis(["person", "seen", "tons"], axis=1).sample(frac=1, random_state=0)
    lake = dfjoin.build_lake({"log": log}, tmp_path / "lake", engine="inline", progress=False, embedder="ngrams")
    lake = lake.add_patterns() if is_learned else lake
    order = [*range(29, -1, -1), 7]
    own = [f"no {names[i][-4:]}" if is_learned else names[i].replace("s", "z") for i in order]
    left = pd.DataFrame({"who": [*own, "?"], "at": DAYS[[5] * 9 + [3] * 22 + [5]]})
    options = {"how": "asof", "threshold": 0.1, "indicator": True} | ({} if is_learned else {"radius": 0.6})
    wide = left.auto_join(lake, on=["who", "at"], mode=mode, **options)
    expected = wide.assign(tons=[i + (4 if row < 9 else 0) / 32 for row, i in enumerate([*order, 0])])
    expected["person"] = [names[i] for i in [*order, 0]]
    joined = wide["tons"].notna()
    assert joined.sum() >= 28 and not joined.iloc[-1]
    pd.testing.assert_frame_equal(wide[joined], expected[joined])
    assert (wide[["_match", "_distance"]].notna().all(axis=1) == joined).all()
    if not is_learned:
        assert ((wide["_distance"] == 0) == (wide["who"] == wide["person"])).all()


def test_dates_alone_join_each_row_with_the_latest(build, rng):
    left = some_rows(rng, 50, "sold").drop(columns="shop")
    rates = pd.DataFrame({"day": DAYS[::3], "dollars": np.arange(10.0)}).sample(frac=1, random_state=0)
    expected = pd.merge_asof(left.reset_index().sort_values("day"), rates.sort_values("day"), on="day")
    expected = expected.set_index("index")["dollars"].sort_index().to_numpy()
    wide = left.auto_join(rates, on="day", how="asof")
    np.testing.assert_array_equal(wide["dollars"], expected)
    assert wide["day__right"].notna().all(), "the date of the row that was joined says how old it is"
    lake = build({"rates": rates})
    wide = left.auto_join(lake, on="day", how="asof", threshold=0.0, min_score=0.0)
    np.testing.assert_array_equal(wide["dollars"], expected)
    assert {"day__rates"} <= set(wide)
    np.testing.assert_array_equal(left.auto_join(wide.attrs["dfjoin"]["plan"])["dollars"], expected)


@pytest.mark.parametrize(
    ("spell", "expected"),
    [
        (lambda days: days.strftime("%d.%m.%Y"), [1.0, 1.0, 2.0]),  # days, spelled as Germans do
        (lambda days: days.strftime("%Y-%m-%d 12:00:00"), [np.nan, 1.0, 1.0]),  # a day begins at midnight
        (lambda days: days.strftime("%b %Y"), [1.0, 2.0, 2.0]),  # a month begins on its first day; the last row counts
        (lambda days: days.year, [2.0, 2.0, 2.0]),
    ],
)  # fmt: skip
def test_dates_of_other_granularity_count_from_their_beginning(spell, expected):
    left = pd.DataFrame({"shop": ["a"] * 3, "year": pd.to_datetime(["2020-01-25", "2020-02-20", "2020-02-25"])})
    days = pd.DatetimeIndex(["2020-01-25", "2020-02-25"])
    right = pd.DataFrame({"shop": "a", "year": spell(days), "v": [1.0, 2.0]})
    wide = left.auto_join(right, on=["shop", "year"], how="asof", aggregate={"v": "last"})
    np.testing.assert_array_equal(wide["v"], expected)


def test_rows_of_one_date_are_made_one(rng):
    left = pd.DataFrame({"shop": ["a", "b"], "day": DAYS[[3, 3]]})
    right = pd.DataFrame({"shop": ["a", "a", "a"], "day": DAYS[[1, 2, 2]], "v": [10.0, 1.0, 3.0]})
    wide = left.auto_join(right, on=["shop", "day"], how="asof")
    assert wide["v"].tolist()[0] == 2.0 and np.isnan(wide["v"][1])
    assert wide["right_rows"].tolist() == [2, 0]
    every = left.auto_join(right, on=["shop", "day"], how="asof", aggregate=None, indicator=True)
    assert every["v"].tolist()[:2] == [1.0, 3.0] and every["_merge"].tolist() == ["both", "both", "left_only"]


def test_a_plan_joins_a_frame_without_any_date(rng):
    left, right = some_rows(rng, 20, "sold"), some_rows(rng, 20, "price")
    plan = left.auto_join(right, on=["shop", "day"], how="asof", aggregate="last").attrs["dfjoin"]["plan"]
    undated = left.head(2).assign(day=None)
    assert undated.auto_join(right, plan=plan, on_no_match="ignore")["price"].isna().all()
    with pytest.raises(ColumnNotFoundError, match="`other` must have the columns that the plan joins"):
        left.auto_join(right.drop(columns="day"), plan=plan)


@pytest.mark.filterwarnings("ignore:no row found a partner", "ignore:the join with the other frame")
def test_what_cannot_be_joined_as_of_is_told(build, rng):
    left, right = some_rows(rng, 20, "sold"), some_rows(rng, 20, "price")

    def refused(other, match, **arguments):
        with pytest.raises(InvalidParameterError, match=match):
            left.auto_join(other, how="asof", **arguments)

    refused(right, r'`on` must be given for how="asof" between two frames')
    refused(right, r"`on` must end with a column of dates or periods .* got 'shop'", on=["day", "shop"])
    some = left.assign(day=["soon", "2024-02-01", None, "late"] * 5)
    text = r"got 'day' \(not read as dates: 'soon', 'late'\); .* pd\.to_datetime or pass `dayfirst`"
    with pytest.raises(InvalidParameterError, match=text):
        some.auto_join(right, on=["shop", "day"], how="asof")
    refused(right, "`right_on` must end with a column of dates", on=["shop", "day"], right_on=["day", "shop"])
    refused(right, r"`right_on` must name as many columns as `on` \(2\), got 1", on=["shop", "day"], right_on="day")
    refused(right, "`on` must name at least one column, got an empty list", on=[])
    refused(right, '`fuzzy` does not apply when `other` is joined with how="asof"', on=["shop", "day"], fuzzy=True)
    lake = build({"prices": right.drop_duplicates(["shop", "day"])})
    refused(lake, "`on` must end with a column of dates", on="shop")
    hits = left.discover_joinable("shop", lake)
    refused(hits, "`on` must name the column of dates alone when candidates are picked", on=["shop", "day"])
    with pytest.raises(
        InvalidParameterError, match=r"with the column of dates last: `df` has several \('day', 'due'\)"
    ):
        left.assign(due=left["day"]).auto_join(lake, how="asof")
    with pytest.raises(InvalidParameterError, match="`df` has none that can be read as dates"):
        left[["shop", "sold"]].auto_join(lake, how="asof")
    still = build({"areas": pd.DataFrame({"shop": ["north", "south", "east"], "area": [1, 2, 3]})})
    with pytest.raises(NoMatchError, match="it has no column of dates, so that nothing tells which row is the latest"):
        left.auto_join(still, on=["shop", "day"], how="asof", on_no_match="raise")


def test_a_table_is_dated_by_the_column_of_the_same_name(build):
    frame = pd.DataFrame({"key": ["a", "b"], "Day": DAYS[:2], "changed": DAYS[2:4], "v": [1, 2]})
    snapshot = build({"t": frame}).snapshot
    assert asof_dates(snapshot, "t", "day", ["key"]) == ["Day"]
    assert asof_dates(snapshot, "t", "moment", ["key"]) == ["Day", "changed"]


def test_types_follow_from_all_rows_and_not_from_those_that_are_the_latest_of_some_row():
    """Two rows of one key and date would be averaged, if a row met them."""
    prices = pd.DataFrame({"shop": ["a", "b", "b"], "day": pd.to_datetime(["2024-03-09", "2024-03-12", "2024-03-12"])})
    prices["open"] = pd.array([True, False, None], "boolean")
    sales = pd.DataFrame({"shop": ["a", "b"], "day": pd.to_datetime(["2024-03-10", "2024-03-10"])})
    met = sales.assign(day=sales["day"] + pd.Timedelta(days=5))
    dtypes = [frame.auto_join(prices, on=["shop", "day"], how="asof")["open"].dtype for frame in (sales, met)]
    assert dtypes[0] == dtypes[1]
    alone = sales.auto_join(prices[:2], on=["shop", "day"], how="asof")["open"]
    assert alone.dtype == "boolean" and alone.tolist() == [True, pd.NA]


def test_keys_and_dates_under_a_header_of_several_levels():
    days = pd.to_datetime(["2024-01-05", "2024-01-09"])
    left = pd.DataFrame({"shop": ["a", "b"], "day": days, "v": [1, 2]})
    right = pd.DataFrame({"shop": ["a", "b", "b"], "day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-08"])})
    prices = right.assign(price=[1.5, 2.5, 3.5]).groupby(["shop", "day"]).agg({"price": ["max"]})
    expected = pd.merge_asof(left, right.assign(p=[1.5, 2.5, 3.5]), on="day", by="shop")["p"].tolist()
    assert left.auto_join(prices, on=["shop", "day"], how="asof")["price max"].tolist() == expected


def test_a_lake_that_has_other_dates_is_told_to_be_searched_by_equal_ones(build):
    rates = pd.DataFrame({"valid_from": ["2024-01-01", "2024-02-01"], "rate": [1.5, 2.5]})
    lake, df = build({"rates": rates}), pd.DataFrame({"day": pd.to_datetime(["2024-01-07", "2024-02-09"])})
    with pytest.warns(
        DfjoinWarning, match="a lake is searched by equal dates, so pass a table of other dates as a frame"
    ):
        assert list(df.auto_join(lake, on="day", how="asof")) == ["day"]
    joined = df.auto_join(lake.table("rates"), on="day", right_on="valid_from", how="asof")
    assert joined["rate"].tolist() == [1.5, 2.5]
