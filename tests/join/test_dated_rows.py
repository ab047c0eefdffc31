"""Joins by dates against loops over all rows."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, JoinExpansionError
from dfjoin.join.lakes.lake_candidates import date_columns
from dfjoin.join.lakes.path_search import PathOptions
from dfjoin.join.lakes.table_hops import PathTable
from dfjoin.join.lakes.table_paths import path_tables
from dfjoin.join.plan import JoinPlan, JoinStep
from dfjoin.join.rows import dated_rows

DAYS = pd.date_range("2020-01-01", periods=12)


def dated_plan(lake, rule="before", right_on=("seen",), aggregate="auto", how="left"):
    dated = {"on": "day", "right_on": list(right_on), "rule": rule}
    step = JoinStep(["key"], "events", ["key"], aggregate=aggregate, dated=dated)
    return JoinPlan((step,), how, str(lake.path))


def by_loops(left, right, rule):
    """Sum and number of the right rows of each left row."""
    sums, counts = [], []
    for key, day in zip(left["key"], left["day"], strict=True):
        own = right[(right["key"] == key) & right["seen"].notna()]
        if rule == "before":
            own = own[own["seen"] + pd.Timedelta(days=1) <= day]
        else:
            own = own[own["seen"] <= day]
            own = own[own["seen"] == own["seen"].max()]
        sums.append(own["tons"].sum() if len(own) else np.nan)
        counts.append(len(own))
    return sums, counts


@pytest.fixture(scope="module")
def make_lake(tmp_path_factory):
    def make(right):
        index = tmp_path_factory.mktemp("dated") / "lake"
        return dfjoin.build_lake({"events": right}, index, engine="inline", progress=False)

    return make


def frame(rows, name):
    days = [DAYS[n] if n < 12 else pd.NaT for _, n in rows]
    return pd.DataFrame({"key": [key for key, _ in rows], name: pd.Series(days, dtype="datetime64[ns]")})


@pytest.mark.parametrize("rule", ["before", "latest"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore:the join with events")
def test_the_rows_are_those_of_loops(make_lake, rule, seed):
    rng = np.random.default_rng(seed)
    left, right = (
        frame(list(zip(rng.choice(list("abcd"), n), rng.integers(0, 13, n), strict=True)), name)
        for n, name in ((25, "day"), (40, "seen"))
    )
    right["tons"] = rng.random(40)
    lake = make_lake(right)
    wide = left.auto_join(dated_plan(lake, rule, aggregate={"tons": "sum", "seen": "first"}), on_no_match="ignore")
    sums, counts = by_loops(left, right, rule)
    np.testing.assert_allclose(wide["tons"], sums)
    assert wide.get("events_rows", pd.Series(counts)).tolist() == counts
    assert list(wide["key"]) == list(left["key"])


def test_a_period_is_known_when_it_has_ended(make_lake):
    right = pd.DataFrame({"key": ["a"] * 3 + ["b"] * 3, "year": [2018, 2019, 2020] * 2, "tons": [1.0, 2, 3, 4, 5, 6]})
    lake = make_lake(right)
    left = pd.DataFrame({"key": ["a", "a", "b"], "day": pd.to_datetime(["2019-12-31", "2020-01-01", "2022-05-05"])})
    plan = dated_plan(lake, right_on=["year"], aggregate={"tons": "max", "year": "max"})
    assert left.auto_join(plan)["tons"].tolist() == [1, 2, 6]
    latest = dated_plan(lake, "latest", right_on=["year"], aggregate="max")
    assert left.auto_join(latest)["tons"].tolist() == [2, 3, 6], "a year has begun on its first day"


def test_a_row_is_dated_by_its_latest_date(make_lake):
    right = pd.DataFrame(
        {
            "key": ["a", "a"],
            "ordered": pd.to_datetime(["2020-01-01", "2020-01-01"]),
            "returned": pd.to_datetime(["2020-01-09", None]),
            "tons": [1.0, 2.0],
        }
    )
    left = pd.DataFrame({"key": ["a"], "day": pd.to_datetime(["2020-01-05"])})
    plan = dated_plan(make_lake(right), right_on=["ordered", "returned"])
    assert left.auto_join(plan)["tons"].tolist() == [2.0]


def test_a_plan_with_dates_can_be_written_and_read(make_lake):
    plan = dated_plan(make_lake(frame([("a", 1), ("b", 2)], "seen").assign(tons=1.5)))
    assert JoinPlan.from_dict(plan.to_dict()) == plan
    wide = frame([("a", 5)], "day").auto_join(plan.to_dict())
    assert "  only rows dated before day, by seen" in str(dfjoin.report(wide))


@pytest.mark.parametrize(
    "dated",
    [3, {}, {"on": "day", "right_on": [], "rule": "before"}, {"on": "day", "right_on": ["seen"], "rule": "after"},
     {"on": {}, "right_on": ["seen"], "rule": "before"}, {"on": "day", "right_on": ["x"] * 101, "rule": "before"}],
)  # fmt: skip
def test_damaged_plans_are_refused(dated):
    values = JoinPlan((JoinStep(["key"], "events", ["key"]),), index="x").to_dict()
    values["steps"][0]["dated"] = dated
    with pytest.raises(InvalidParameterError, match="`dated` of a step"):
        JoinPlan.from_dict(values)


def test_what_cannot_be_joined_by_dates_is_told(make_lake, monkeypatch):
    lake = make_lake(frame([("a", 1), ("b", 2)], "seen").assign(tons=1.5))
    left = frame([("a", 5)], "day")
    with pytest.raises(InvalidParameterError, match="`as_of` must name a column of dates, got 'day'"):
        left.assign(day="soon").auto_join(dated_plan(lake))
    with pytest.raises(InvalidParameterError, match='`how` must be "left", "inner" or "asof" for a join by dates'):
        left.auto_join(dated_plan(lake, how="outer"))
    with pytest.raises(ColumnNotFoundError, match="`columns` must name columns of `events`"):
        left.auto_join(dated_plan(lake, right_on=["when"]))
    monkeypatch.setattr(dated_rows, "_MOST_PAIRS", 0)
    with pytest.raises(JoinExpansionError, match="has to compare 1 pairs of rows with the same key, above 0"):
        left.auto_join(dated_plan(lake))


def test_paths_with_dates(build, rng):
    keys = [f"k{i}z" for i in range(40)]
    table = pd.DataFrame({"key": np.repeat(keys, 3), "year": [2018, 2019, 2020] * 40, "v": rng.normal(size=120)})
    lake = build({"yearly": table, "still": pd.DataFrame({"key": keys, "w": rng.normal(size=40)})})
    df = pd.DataFrame({"key": keys * 2, "day": pd.to_datetime(["2019-06-01"] * 40 + ["2020-06-01"] * 40)})
    assert date_columns(lake.snapshot, "yearly") == ["year"]
    assert date_columns(lake.snapshot, "still") == []
    options = PathOptions(max_hops=1, never=("day",), as_of="day")
    found = {r.hops[-1].table: r for r in path_tables(df, lake.snapshot, options)}
    assert found["still"].reason == "it has no column of dates, so that nothing tells what was known"
    yearly = found["yearly"]
    assert yearly.hops[0].relationship == "m:m" or isinstance(yearly, PathTable)
    first = table[table["year"] == 2018]["v"].to_numpy()
    both = table[table["year"] < 2020].groupby("key", sort=False)["v"].mean().to_numpy()
    np.testing.assert_allclose(yearly.frame[yearly.new_columns["v"]], np.concatenate([first, both]))
    undated = PathOptions(max_hops=1, never=("day",), as_of="day", undated=("still",))
    assert isinstance({r.hops[-1].table: r for r in path_tables(df, lake.snapshot, undated)}["still"], PathTable)
