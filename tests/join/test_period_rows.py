"""Joins of dates with periods, against pandas' own periods."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError
from dfjoin.join.lakes.path_search import PathOptions
from dfjoin.join.lakes.table_hops import PathTable
from dfjoin.join.lakes.table_paths import path_tables
from dfjoin.join.options import JoinOptions
from dfjoin.join.plan import JoinPlan, JoinStep

DAYS = pd.date_range("1990-01-03", "1999-12-30", freq="9D")
WAYS = {
    "Mon YYYY": ("month", "M", lambda p: p.strftime("%b %Y").upper()),
    "YYYY-MM": ("month", "M", str),
    "YYYYMmm": ("month", "M", lambda p: f"{p.year}M{p.month:02d}"),
    "first days": ("month", "M", lambda p: p.start_time),
    "last days": ("month", "M", lambda p: p.end_time.normalize()),
    "last days of quarters": ("quarter", "Q", lambda p: p.end_time.normalize()),
    "last days of years": ("year", "Y", lambda p: p.end_time.normalize()),
    "YYYYQn": ("quarter", "Q", str),
    "YYYY": ("year", "Y", lambda p: p.year),
    "YYYY-Www": ("week", "W", lambda p: "{}-W{:02d}".format(*p.start_time.isocalendar()[:2])),
}


def series(freq, spell, rng):
    periods = pd.period_range("1988-01-01", "2001-12-31", freq=freq)
    return periods, pd.DataFrame({"period": [spell(p) for p in periods], "rate_of_it": rng.normal(size=len(periods))})


@pytest.mark.parametrize("way", WAYS)
def test_days_get_the_value_of_their_period(build, rng, way):
    granularity, freq, spell = WAYS[way]
    periods, table = series(freq, spell, rng)
    lake = build({"rates": table})
    df = pd.DataFrame({"day": DAYS, "v": np.arange(len(DAYS)) / 7})
    found = list(path_tables(df, lake.snapshot, PathOptions(max_hops=1, join=JoinOptions(min_score=0.0))))
    (joined,) = [r for r in found if isinstance(r, PathTable)]
    assert joined.hops[0].period == granularity
    by_period = pd.Series(table["rate_of_it"].to_numpy(), periods)
    np.testing.assert_allclose(joined.frame[joined.new_columns["rate_of_it"]], by_period[DAYS.to_period(freq)])
    again = df.iloc[:5].auto_join(JoinPlan((joined.step,), index=str(lake.path)).to_dict())
    np.testing.assert_allclose(again[joined.new_columns["rate_of_it"]], by_period[DAYS[:5].to_period(freq)])
    assert f"equal if both lie in the same {granularity}" in str(dfjoin.report(again))


def test_moments_get_the_value_of_their_day(build, rng):
    days = pd.date_range("1999-11-20", periods=90)
    table = pd.DataFrame({"date": days[::-1].date, "rate_of_it": rng.normal(size=90)})
    moments = days[5:80] + pd.to_timedelta(rng.integers(0, 86_400, 75), unit="s")
    df = pd.DataFrame({"at": moments.append(moments[:9] + pd.Timedelta("1us")), "v": 0.5})
    lake = build({"rates": table})
    joined = df.auto_join(lake, on="at")
    by_day = pd.Series(table["rate_of_it"].to_numpy(), pd.to_datetime(table["date"]))
    np.testing.assert_allclose(joined["rate_of_it"], by_day[df["at"].dt.normalize()])
    assert "equal if both lie in the same day" in str(dfjoin.report(joined))
    again = df.iloc[:9].auto_join(joined.attrs["dfjoin"]["plan"])
    np.testing.assert_allclose(again["rate_of_it"], joined["rate_of_it"][:9])
    assert df.discover_joinable("at", lake)["period"].to_list() == ["day"]


def test_periods_of_other_spellings_meet(build, rng):
    periods, table = series("M", lambda p: p.strftime("%B %Y"), rng)
    lake = build({"rates": table})
    df = pd.DataFrame({"month": [str(p) for p in periods[20:120]]})
    (joined,) = list(path_tables(df, lake.snapshot, PathOptions(max_hops=1, join=JoinOptions(min_score=0.0))))
    np.testing.assert_allclose(joined.frame[joined.new_columns["rate_of_it"]], table["rate_of_it"][20:120])


def test_days_meet_no_other_days_of_their_month(build, rng):
    days = pd.date_range("1990-01-01", "1999-12-31")
    lake = build({"daily": pd.DataFrame({"date": days, "x_of_day": rng.normal(size=len(days))})})
    plan = JoinPlan((JoinStep(["day"], "daily", ["date"], period="month"),), index=str(lake.path))
    with pytest.raises(InvalidParameterError, match="`on` must not be finer on both sides than the month"):
        pd.DataFrame({"day": DAYS}).auto_join(plan)
    months = pd.DataFrame({"month": ["1990-01", "1999-12"]})
    plan = JoinPlan((JoinStep(["month"], "daily", ["date"], period="month"),), index=str(lake.path))
    wide = months.auto_join(plan)
    assert wide["daily_rows"].tolist() == [31, 31]


def test_what_has_no_periods_is_told(build, rng):
    _, table = series("Y", lambda p: p.year, rng)
    lake = build({"rates": table.assign(other=[f"x{i}" for i in range(len(table))])})

    def join(df, column, period, how="left"):
        step = JoinStep(["day"], "rates", [column], period=period)
        return df.auto_join(JoinPlan((step,), how, str(lake.path)))

    df = pd.DataFrame({"day": DAYS})
    with pytest.raises(
        InvalidParameterError, match=r"`on` must be columns of dates .* got 'other' with periods of none"
    ):
        join(df, "other", "year")
    with pytest.raises(InvalidParameterError, match="lie in a month, got 'period' with periods of year"):
        join(df, "period", "month")
    with pytest.raises(InvalidParameterError, match="got 'day' with periods of none"):
        join(df.astype(str) + "?", "period", "year")
    with pytest.raises(InvalidParameterError, match='`how` must be "left" or "inner" for a join by periods'):
        join(df, "period", "year", "outer")
    values = JoinPlan((JoinStep(["day"], "rates", ["period"], period="year"),), index="x").to_dict()
    values["steps"][0]["period"] = "decade"
    with pytest.raises(
        InvalidParameterError, match="`period` of a step without a relation is one of year, quarter, month, week"
    ):
        JoinPlan.from_dict(values)


def test_rows_without_a_date_join_nothing(build, rng):
    _, table = series("Y", lambda p: p.year, rng)
    lake = build({"rates": table})
    plan = JoinPlan((JoinStep(["day"], "rates", ["period"], period="year"),), index=str(lake.path))
    wide = pd.DataFrame({"day": pd.to_datetime(["1990-05-05", None])}).auto_join(plan)
    assert wide["rate_of_it"].isna().tolist() == [False, True]
    assert wide["rate_of_it"][0] == table["rate_of_it"][2]


@pytest.mark.parametrize("way", ["Mon YYYY", "YYYYQn", "YYYY-Www", "first days"])
@pytest.mark.parametrize("on", [None, "day"])
def test_a_join_with_a_lake_finds_periods_where_equal_keys_do_not_do(build, rng, way, on):
    granularity, freq, spell = WAYS[way]
    periods, table = series(freq, spell, rng)
    table["Bank"], table["Unit"] = "central bank", range(len(table))
    lake = build({"rates": table, "lands": pd.DataFrame({"land": [f"land {i}x" for i in range(50)], "z": range(50)})})
    wide = pd.DataFrame({"day": DAYS, "v": np.arange(len(DAYS)) / 7, "bank": "ours", "unit": "m"}).auto_join(
        lake, on=on
    )
    by_period = pd.Series(table["rate_of_it"].to_numpy(), periods)
    rate = "rate_of_it__central bank"  # the one bank of the table
    np.testing.assert_allclose(wide[rate], by_period[DAYS.to_period(freq)])
    assert f"equal if both lie in the same {granularity}" in str(dfjoin.report(wide))
    again = pd.DataFrame({"day": DAYS[:3], "v": 0.5}).auto_join(wide.attrs["dfjoin"]["plan"])
    np.testing.assert_allclose(again[rate], wide[rate][:3])


def test_equal_days_come_before_months(build, rng):
    _, table = series("M", lambda p: p.strftime("%b %Y"), rng)
    daily = pd.DataFrame({"date": DAYS, "fall": rng.normal(size=len(DAYS))})
    df = pd.DataFrame({"day": DAYS})
    assert list(df.auto_join(build({"rates": table, "daily": daily}), on="day")) == ["day", "fall"]
    both = df.auto_join(build({"rates": table, "daily": daily}), on="day", k=2)
    assert list(both) == ["day", "fall", "rate_of_it"]


@pytest.mark.filterwarnings("ignore:no acceptable candidate", "ignore:no candidate shares")
def test_periods_of_a_lake_are_not_guessed(build, rng):
    _, table = series("M", lambda p: p.strftime("%b %Y"), rng)
    lake = build({"rates": table.assign(bank="central bank", unit=range(len(table)))})
    twice = pd.DataFrame({"begin": DAYS, "end": DAYS + pd.Timedelta(days=0), "Bank": "ours", "Unit": "m"})
    with pytest.raises(InvalidParameterError, match=r"`on` must be given: the dates 'begin', 'end' lie in the per"):
        twice.auto_join(lake)
    firsts = [p.start_time for p in pd.period_range("1990-01", "1999-12", freq="M")]
    days = pd.DataFrame({"date": [*firsts, *(DAYS + pd.Timedelta(days=4))]})
    wide = pd.DataFrame({"day": DAYS + pd.Timedelta(days=2)}).auto_join(
        build({"d": days.assign(x=np.arange(len(days)))}), on="day"
    )
    reasons = [one["reason"] for one in wide.attrs["dfjoin"]["passed_over"]]
    assert any("must not be finer on both sides" in reason for reason in reasons), reasons


@pytest.mark.filterwarnings("ignore:no acceptable candidate", "ignore:no candidate shares")
def test_dates_alone_are_joined_with_periods_only_where_they_are_named(build, rng):
    _, table = series("M", lambda p: p.strftime("%b %Y"), rng)
    lake = build({"rates": table})
    report = dfjoin.report(pd.DataFrame({"day": DAYS}).auto_join(lake))
    assert "joined rates" not in str(report)
    assert "tables of any subject share days, months and years: name the key" in str(report)
    assert "joined rates" in str(dfjoin.report(pd.DataFrame({"day": DAYS}).auto_join(lake, on="day")))
