"""Keys of two frames of an entity and a date: days of one side, and the periods in which they lie on the other."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.errors import DfjoinWarning, InvalidParameterError
from dfjoin.join.plan import JoinPlan

CITIES = ["Oslo", "Rome", "Paris", "Bern", "Wien"]
DAYS = pd.date_range("2023-11-20", periods=130)
SALES = pd.DataFrame([(city, day) for city in CITIES for day in DAYS], columns=["city", "date"])
SALES = SALES.sample(frac=0.7, random_state=1, ignore_index=True).assign(sales=np.arange(455) * 1.5)
SPELLINGS = {
    "month": [
        lambda period: str(period),
        lambda period: period.strftime("%b %Y"),
        lambda period: period.start_time,
        lambda period: period.start_time.date(),
        lambda period: period.end_time.normalize(),
        lambda period: f"{period.end_time:%d/%m/%Y}",
    ],
    "quarter": [
        lambda period: f"{period.year}Q{period.quarter}",
        lambda period: period.start_time,
        lambda period: period.end_time.date(),
    ],
    "year": [lambda period: period.year, lambda period: period.end_time.normalize()],
    "week": [lambda period: period.start_time, lambda period: period.end_time.normalize()],
}
CASES = [(granularity, spell) for granularity, spellings in SPELLINGS.items() for spell in spellings]


def _periods(granularity):
    return SALES["date"].dt.to_period({"month": "M", "quarter": "Q", "year": "Y", "week": "W"}[granularity])


def _rain(granularity, spell):
    """Return one row for each city and period, in another order, and the same value for each row of SALES."""
    keys = pd.MultiIndex.from_product([CITIES, _periods(granularity).unique()], names=["city", "period"])
    rain = keys.to_frame(index=False).sample(frac=1, random_state=2, ignore_index=True)
    rain = rain.assign(rain=np.arange(len(rain)) + 0.25)
    expected = SALES.assign(period=_periods(granularity)).merge(rain, how="left", on=["city", "period"])["rain"]
    name = "year" if granularity == "year" else "period"  # whole numbers are years where a name says so
    return rain.assign(period=[spell(period) for period in rain["period"]]).rename(columns={"period": name}), expected


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize(("granularity", "spell"), CASES)
def test_days_of_a_city_join_the_period_of_the_city(granularity, spell, as_text, is_named):
    rain, expected = _rain(granularity, spell)
    sales = SALES.assign(date=SALES["date"].astype(str)) if as_text else SALES
    right_on = [*rain.columns[:2]]
    joined = sales.auto_join(rain, on=["city", "date"], right_on=right_on) if is_named else sales.auto_join(rain)
    assert joined["rain"].tolist() == expected.tolist()
    report = joined.attrs["dfjoin"]
    (step,) = report["plan"]["steps"]
    assert (step["on"], step["right_on"], step["period"]) == (["city", "date"], right_on, granularity)
    assert f"equal if both lie in the same {granularity}" in str(dfjoin.report(joined))
    again = sales.iloc[::-3].auto_join(rain, plan=json.loads(json.dumps(report["plan"])))
    assert again["rain"].tolist() == expected.iloc[::-3].tolist()


def test_periods_of_a_city_join_its_days():
    rain, _ = _rain("month", str)
    joined = rain.auto_join(SALES, on=["city", "period"], right_on=["city", "date"])
    means = SALES.groupby(["city", _periods("month").astype(str)])["sales"].mean()
    expected = [means[key] for key in zip(rain["city"], rain["period"], strict=True)]
    assert joined["sales"].to_numpy() == pytest.approx(expected)


def test_the_date_may_stand_first_and_other_columns_of_the_key_stay_equal():
    rain, expected = _rain("month", str)
    rain, sales = rain.assign(shop=7), SALES.assign(shop=7)
    joined = sales.auto_join(rain, on=["date", "shop", "city"], right_on=["period", "shop", "city"])
    assert joined["rain"].tolist() == expected.tolist()
    with pytest.warns(DfjoinWarning, match="no row found a partner"):
        other = sales.assign(shop=8).auto_join(
            rain, on=["date", "shop", "city"], right_on=["period", "shop", "city"], threshold=0
        )
    assert other["rain"].isna().all()


@pytest.mark.parametrize("day", [0, 6])
def test_months_join_the_days_that_begin_or_end_weeks(day):
    weekly = SALES[SALES["date"].dt.day_of_week == day].assign(date=lambda df: df["date"].astype(str))
    months, _ = _rain("month", str)
    joined = months.auto_join(weekly, on=["city", "period"], right_on=["city", "date"])
    means = weekly.groupby(["city", weekly["date"].str[:7]])["sales"].mean()
    expected = [means.get(key) for key in zip(months["city"], months["period"], strict=True)]
    assert joined["sales"].to_numpy() == pytest.approx(np.array(expected, float), nan_ok=True)


def test_dates_that_are_equal_are_joined_by_equality():
    rain = SALES.rename(columns={"sales": "rain"}).sample(frac=1, random_state=3)
    joined = SALES.auto_join(rain, on=["city", "date"])
    assert joined["rain"].tolist() == SALES["sales"].tolist()
    assert joined.attrs["dfjoin"]["plan"]["steps"][0]["period"] is None


def test_days_of_both_sides_and_entities_of_other_names_are_not_joined_by_periods():
    rain, _ = _rain("month", str)
    moved = SALES.assign(date=SALES["date"] + pd.Timedelta(days=300))
    assert moved.auto_join(SALES, on=["city", "date"], right_on=["city", "date"])["sales__right"].isna().all()
    with pytest.warns(DfjoinWarning, match="unchanged"):
        assert "rain" not in SALES.auto_join(rain.rename(columns={"city": "owner"}))


@pytest.mark.parametrize("spell", [lambda month: month.strftime("%b %Y"), lambda month: month.start_time])
def test_a_named_column_of_dates_in_two_spellings_joins_its_months(spell):
    """A program reads those of one spelling, and equality the first days alone."""
    days = pd.date_range("2022-01-03", "2023-12-20", periods=24)
    texts = [day.strftime("%d %B %Y" if i % 2 else "%Y-%m-%d") for i, day in enumerate(days)]
    months = pd.period_range("2022-01", "2023-12", freq="M")
    rates = pd.DataFrame({"month": [spell(month) for month in months], "rate": np.arange(24) * 1.5})
    df = pd.DataFrame({"date": texts})
    joined = df.auto_join(rates, on="date", right_on="month")
    expected = [1.5 * months.get_loc(day.to_period("M")) for day in days]
    assert joined["rate"].tolist() == expected
    plan = joined.attrs["dfjoin"]["plan"]
    assert df[::-1].auto_join(rates, plan=json.loads(json.dumps(plan)))["rate"].tolist() == expected[::-1]


def test_payments_on_first_days_are_those_of_these_days_unless_it_is_said_that_they_are_of_months():
    sales = pd.DataFrame({"date": pd.date_range("2024-01-01", periods=366), "sales": range(366)})
    due = pd.date_range("2024-01-01", periods=12, freq="MS")
    for name in ("paid_on", "date"):
        paid = pd.DataFrame({name: due, "payment": range(100, 112)})
        joined = sales.auto_join(paid, on="date", right_on=name)
        assert joined.index[joined["payment"].notna()].tolist() == [
            i for i, day in enumerate(sales["date"]) if day in due
        ]
        assert "read as month" in str(dfjoin.report(joined)) and "transform='accept'" in str(dfjoin.report(joined))
        months = sales.auto_join(paid, on="date", right_on=name, transform="accept")
        assert months["payment"].tolist() == [99 + day.month for day in sales["date"]]


def test_types_that_pandas_does_not_know_are_no_obstacle():
    days = pa.chunked_array([pa.array(["2023-01-04", "2023-02-05", "2023-02-09"], pa.string_view())])
    beyond = pa.chunked_array([pa.array([2**31 - 1, 1, 2], pa.int32()).cast(pa.date32())])
    rain = pd.DataFrame({"city": CITIES[:3], "month": ["2023-01", "2023-02", "2023-02"], "rain": [1, 2, 3]})
    for column, is_found in ((days, True), (beyond, False)):
        df = pd.DataFrame({"city": CITIES[:3], "day": pd.arrays.ArrowExtensionArray(column)})
        joined = df.auto_join(rain, on=["city", "day"], right_on=["city", "month"], on_no_match="ignore")
        assert joined["rain"].notna().tolist() == [is_found] * 3


def test_two_columns_of_dates_that_do_as_well_are_not_chosen_from():
    rain, _ = _rain("month", str)
    twice = SALES.assign(shipped=SALES["date"])
    with pytest.warns(DfjoinWarning, match="unchanged"):
        assert "rain" not in twice.auto_join(rain)
    assert "rain" in twice.auto_join(rain, on=["city", "shipped"], right_on=["city", "period"])


@pytest.mark.parametrize("how", ["left", "asof"])
@pytest.mark.parametrize("is_lake", [False, True], ids=["frame", "lake"])
def test_a_planned_join_reads_the_dates_that_can_be_read(build, how, is_lake):
    """One date that is none is a row without a partner, in a batch of few rows, too."""
    days = pd.date_range("2024-03-01", periods=60).strftime("%Y-%m-%d")
    df = pd.DataFrame({"city": ["Lima", "Oslo"] * 30, "day": days})
    months = pd.DataFrame({"city": ["Lima", "Oslo"] * 2, "month": ["2024-03"] * 2 + ["2024-04"] * 2, "v": range(4)})
    other = build({"months": months}) if is_lake else months
    options = {} if is_lake else {"right_on": ["city", "month"]}
    wide = df.auto_join(other, on=["city", "day"], how=how, **options)
    batch = pd.DataFrame({"city": ["Lima", "Oslo", "Oslo"], "day": ["2024-04-09", "unknown", "12 March 2024"]})
    plan = JoinPlan.from_dict(wide.attrs["dfjoin"]["plan"])
    again = batch.auto_join(plan) if is_lake else batch.auto_join(other, plan=plan)
    assert again["v"].fillna(-1).tolist() == [2, -1, 1]


def test_a_plan_refuses_columns_that_hold_no_periods():
    rain, _ = _rain("month", str)
    plan = SALES.auto_join(rain).attrs["dfjoin"]["plan"]
    message = "`on` must be columns of dates or of periods that lie in a month, got 'date' with periods of none"
    with pytest.raises(InvalidParameterError, match=message):
        SALES.assign(date="soon").auto_join(rain, plan=plan)
