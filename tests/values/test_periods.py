"""Dates and periods, against pandas' own periods."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.values import periods as module
from dfjoin.values.periods import read_periods, spell_periods

SPELLED = [
    (["APR 1948", "may 1948"], "month", ["1948-04", "1948-05"]),
    (["April 1948", "Sept 1948"], "month", ["1948-04", "1948-09"]),
    (["1833-01", "1833/12"], "month", ["1833-01", "1833-12"]),
    (["1960M02", "1960 Feb"], "month", ["1960-02", "1960-02"]),
    (["2020-02-29", "1999-12-31"], "day", ["2020-02-29", "1999-12-31"]),
    (["2020Q1", "2020-Q4", "Q2 2021"], "quarter", ["2020Q1", "2020Q4", "2021Q2"]),
]


@pytest.mark.parametrize(("texts", "granularity", "periods"), SPELLED)
def test_spellings(texts, granularity, periods):
    found = read_periods(pd.Series(texts))
    assert found.granularity == granularity
    expected = [pd.Period(p, freq={"month": "M", "quarter": "Q", "day": "D"}[granularity]) for p in periods]
    assert found.starts.tolist() == [p.start_time.value // 1000 for p in expected]
    assert found.ends.tolist() == [(p + 1).start_time.value // 1000 for p in expected]


@given(st.integers(1000, 2999), st.integers(1, 53))
def test_weeks_are_those_of_iso_8601(year, week):
    text = f"{year}-W{week:02d}"
    try:
        monday = datetime.date.fromisocalendar(year, week, 1)
    except ValueError:
        return
    found = read_periods(pd.Series([text]))
    assert found.granularity == "week"
    assert np.datetime64(int(found.starts[0]), "us") == np.datetime64(monday)
    assert found.ends[0] - found.starts[0] == 7 * 86_400_000_000
    assert spell_periods(found.numbers("week"), "week")[0].tolist() == [text]


@given(st.dates(datetime.date(1000, 1, 1), datetime.date(2999, 12, 31)))
def test_numbers_of_coarser_periods(day):
    found = read_periods(pd.Series(np.array([day], "datetime64[s]")))
    assert found.granularity == "day"
    for granularity, text in (("year", f"{day:%Y}"), ("month", f"{day.year}-{day.month:02d}")):
        spelled = spell_periods(found.numbers(granularity), granularity)
        assert str(spelled[0][0]) == text.lstrip("0")
        for way in spelled:  # every way is read as the same period again
            again = read_periods(way, is_year=True)
            assert again.granularity in (granularity, "day")
            assert again.numbers(granularity) == found.numbers(granularity)
    year, week, _ = day.isocalendar()
    assert spell_periods(found.numbers("week"), "week")[0][0] == f"{year}-W{week:02d}"
    assert spell_periods(found.numbers("quarter"), "quarter")[0][0] == f"{day.year}Q{(day.month + 2) // 3}"


def test_dates_and_times():
    days = read_periods(pd.Series(pd.to_datetime(["2020-03-01", None])))
    assert days.granularity == "day" and days.is_null.tolist() == [False, True]
    assert days.ends[0] - days.starts[0] == 86_400_000_000
    times = read_periods(pd.Series(pd.to_datetime(["2020-03-01 10:00"])).dt.tz_localize("Europe/Rome"))
    assert times.granularity == "second"
    assert np.datetime64(int(times.starts[0]), "us") == np.datetime64("2020-03-01T09:00")
    assert times.numbers("second").tolist() == [times.starts[0] // 10**6]
    assert days.numbers("day")[1] == np.iinfo(np.int64).min


def test_years_are_read_where_they_are_expected():
    years = pd.Series([1998, 2004])
    assert read_periods(years) is None and read_periods(years.astype(str)) is None
    for column in (years, years.astype(str), years.astype(float)):
        found = read_periods(column, is_year=True)
        assert found.granularity == "year" and found.numbers("year").tolist() == [28, 34]
    assert read_periods(pd.Series([1, 2]), is_year=True) is None


@pytest.mark.parametrize(
    "values",
    [[], [None, None], ["a", "b"], ["2020Q1", "x", "y"], [True, False], ["201503"], ["3/20"], [1 + 1j]],
)
def test_what_is_no_column_of_periods(values):
    assert read_periods(pd.Series(values)) is None


def test_a_few_other_values_are_null():
    texts = [f"{year}-{month:02d}" for year in range(2000, 2004) for month in range(1, 13)] + ["n/a", None]
    found = read_periods(pd.Series(texts))
    assert found.is_null.tolist() == [False] * 48 + [True, True]
    assert spell_periods(found.numbers("month"), "month")[0][48:].isna().all()


def test_texts_without_dates_are_told_from_a_few_rows(monkeypatch):
    read = []
    real = module._read
    monkeypatch.setattr(module, "_read", lambda text, *pattern: read.append(text) or real(text, *pattern))
    assert read_periods(pd.Series([f"name {i}" for i in range(50_000)])) is None
    assert 20 <= len(read) <= 80
    months = [f"2020-{m:02d}" for m in range(1, 13)] * 60 + [None] * 5000
    assert read_periods(pd.Series(months)).granularity == "month", "rows that are null are not looked at"


def test_a_column_of_periods_has_one_kind_but_for_one_value_in_twenty():
    years = [str(year) for year in range(1900, 1990)]
    assert read_periods(pd.Series([*years, *"abcd"]), is_year=True).granularity == "year", "4 of 94"
    assert read_periods(pd.Series([*years, *"abcdefghij"]), is_year=True) is None, "10 of 100"


def test_of_a_column_that_is_known_to_hold_periods_all_is_read_that_is_one():
    texts = [f"name {i}" for i in range(99)] + ["2020-01"]
    assert read_periods(pd.Series(texts)) is None
    found = read_periods(pd.Series(texts), share=0.0)
    assert found.granularity == "month" and found.is_null.tolist() == [True] * 99 + [False]
