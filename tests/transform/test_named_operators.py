"""Columns related by what their values say, named or not; checked against dates and numbers of Python."""

from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dfjoin
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.transform_join import TransformJoin, join_rows
from dfjoin.transform.relations.named_operators import relate_named, relate_periods

DAYS = [date(2021, 1, 4) + timedelta(days=9 * i) for i in range(110)]
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
QUARTER = {day: (day.month + 2) // 3 for day in DAYS}
PERIODS = {
    "{d:%Y-%m}": lambda d: f"{d:%Y-%m}",
    "Jan 2021": lambda d: f"{d:%b %Y}",
    "January, 2021": lambda d: f"{d:%B, %Y}",
    "Jan-21": lambda d: f"{d:%b-%y}",
    "01/2021": lambda d: f"{d:%m/%Y}",
    "Q1 2021": lambda d: f"Q{QUARTER[d]} {d.year}",
    "2021Q1": lambda d: f"{d.year}Q{QUARTER[d]}",
    "2021": lambda d: str(d.year),
    "2021-W05": lambda d: "{}-W{:02d}".format(*d.isocalendar()),
    "Week 5, 2021": lambda d: "Week {1}, {0}".format(*d.isocalendar()),
    "Monday": lambda d: WEEKDAYS[d.weekday()],
}


def column(name, values):
    return Column(name, pa.array([None if value is None else str(value) for value in values], pa.string()))


def pairs_of(left, right, names=("a", "b"), **options):
    own, theirs = map(column, names, (left, right))
    join = relate_named(own, theirs, **options).join
    if join is None:
        return None
    rows = join_rows(join, {names[0]: own.array}, {names[1]: theirs.array})
    return {(str(left[i]), str(right[j])) for i, j in zip(rows.left_rows, rows.right_rows, strict=True)}


def test_days_lie_in_periods_however_these_are_spelled():
    for name, write in PERIODS.items():
        periods = list(dict.fromkeys(map(write, DAYS)))
        expected = {(str(day), write(day)) for day in DAYS}
        assert pairs_of(DAYS, periods) == expected, name
        assert pairs_of(periods, DAYS) == {pair[::-1] for pair in expected}, name


BOUNDS = {
    "month": lambda d: d.replace(day=1),
    "month end": lambda d: (d.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1),
    "quarter": lambda d: date(d.year, 3 * QUARTER[d] - 2, 1),
    "quarter end": lambda d: BOUNDS["month end"](date(d.year, 3 * QUARTER[d], 1)),
    "year": lambda d: date(d.year, 1, 1),
    "year end": lambda d: date(d.year, 12, 31),
    "week": lambda d: d - timedelta(days=d.weekday()),
    "week end": lambda d: d + timedelta(days=6 - d.weekday()),
}


@pytest.mark.parametrize("bound", BOUNDS)
def test_days_lie_in_periods_that_stand_as_their_first_or_last_days(bound):
    days = [DAYS[0] + timedelta(days=i) for i in range(990)]  # each bound, too
    QUARTER.update({day: (day.month + 2) // 3 for day in days})
    bounds = list(dict.fromkeys(map(BOUNDS[bound], days)))
    expected = {(str(day), str(BOUNDS[bound](day))) for day in days}
    assert pairs_of(days, bounds, names=("day", bound.title())) == expected
    assert pairs_of([f"{day:%d %B %Y}" for day in bounds], days, names=(f"{bound}s", "day")) == {
        (f"{date.fromisoformat(two):%d %B %Y}", one) for one, two in expected
    }
    equal = {(str(day), str(day)) for day in set(days) & set(bounds)}
    assert pairs_of(days, bounds) == (equal if len(equal) > 2 else None)  # two of three years are too few
    assert pairs_of(days, bounds, accepts_doubt=True) == expected
    assert "transform='accept'" in relate_named(column("day", days), column("paid", bounds)).proposal


def test_a_few_first_days_of_months_are_days():
    days = [date(2024, 1, 1) + timedelta(days=i) for i in range(366)]
    holidays = [date(2024, 1, 1), date(2024, 5, 1), date(2024, 11, 1)]
    assert pairs_of(days, holidays) == {(str(day), str(day)) for day in holidays}


MONTH_NAMES = {
    "{d}. {m} {y}": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "{d} de {m} de {y}": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "le {d} {m} {y}": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "{d} {m} {y}": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
}


@pytest.mark.parametrize("layout", MONTH_NAMES)
def test_months_have_names_in_many_languages(layout):
    names = MONTH_NAMES[layout].split()
    spelled = [layout.format(d=day.day, m=names[day.month - 1], y=day.year) for day in DAYS]
    assert pairs_of(spelled, DAYS) == {(text, str(day)) for text, day in zip(spelled, DAYS, strict=True)}
    months = {(f"{names[day.month - 1]} {day.year}", f"{day:%Y-%m}") for day in DAYS}
    assert pairs_of(*(list(side) for side in zip(*months, strict=True))) == months
    numbers = {(name, str(n + 1)) for n, name in enumerate(names)}
    assert pairs_of(names, range(1, 13)) == numbers


def test_a_table_of_names_in_one_language_does_not_stand_for_those_in_another():
    months = next(iter(MONTH_NAMES.values())).split()
    left, right = pd.DataFrame({"month": months}), pd.DataFrame({"n": range(1, 13), "sales": np.arange(12) + 0.5})
    joined = dfjoin.auto_join(left, right, on="month", right_on="n")  # April, August, September, November are English
    assert joined["sales"].tolist() == right["sales"].tolist()


@pytest.mark.parametrize("spelling", ["{w:02d}/{y}", "{w}-{y}", "{y}/{w}", "{y}.{w:02d}"])
def test_numbers_of_weeks_above_twelve_are_no_months(spelling):
    weeks = [(y, w) for y in (2020, 2021) for w in range(1, 53)]
    expected = {(spelling.format(y=y, w=w), f"{y}-W{w:02d}") for y, w in weeks}
    assert pairs_of(*(list(side) for side in zip(*expected, strict=True))) == expected
    months = {pair for pair in expected if int(pair[1][-2:]) <= 12}
    days = [f"{y}-{m:02d}-07" for y in (2020, 2021) for m in range(1, 13)]
    found = pairs_of(days, [pair[0] for pair in months]) or set()
    assert all(
        day[:4] in text and int(day[5:7]) == int(text.replace(day[:4], "", 1).strip("/-.")) for day, text in found
    )


def test_fractions_are_decimals():
    expected = {(f"{n} {k}/8", str(n + k / 8)) for n in range(1, 12) for k in (1, 3, 5, 7)}
    assert pairs_of(*(list(side) for side in zip(*expected, strict=True))) == expected


OPEN = {
    "{n}+": ("<{n}", "{a}-{b}", "{n}+"),
    "over": ("Under {n}", "{a} to {b}", "Over {last}"),
    "and older": ("{last} and under", "{a} \u2013 {b}", "{n} and older"),
    "years": ("up to {last} years", "{a}-{b} years", "{n} years or more"),
    "dollars": ("less than ${n:,}", "${a:,} - ${b:,}", "at least ${n:,}"),
    "ages": ("Ages \u2264{last}", "Ages {a}\u2014{b}", "Ages \u2265{n}"),
}


@pytest.mark.parametrize("spelling", OPEN)
@settings(max_examples=20, deadline=None)
@given(st.sets(st.integers(2, 99_999), min_size=3, max_size=12), st.randoms())
def test_numbers_lie_in_bands_of_any_widths(spelling, bounds, random):
    below, between, above = OPEN[spelling]
    first, *_, last = bounds = sorted(bounds)
    bands = {(0, first): below.format(n=first, last=first - 1), (last, 10**6): above.format(n=last, last=last - 1)}
    bands |= {(a, b): between.format(a=a, b=b - 1) for a, b in zip(bounds, bounds[1:], strict=False)}
    numbers = [random.randrange(a, b) for a, b in bands] + [bounds[1], bounds[1] - 1]
    random.shuffle(numbers)
    expected = {(str(n), name) for n in numbers for (a, b), name in bands.items() if a <= n < b}
    names = list(bands.values())
    assert pairs_of(numbers, names) == expected
    assert pairs_of(names, numbers) == {pair[::-1] for pair in expected}


@pytest.mark.parametrize(
    ("numbers", "bands"),
    [
        ((5, 15, 25), ("0-10", "10-20", "20-30")),  # 10 is in two
        ((5, 25), ("0-9", "20-29", "30-99")),  # a gap
        ((5001, 7230, 8112, 9100), ("<18", "18-24", "25-34", "35-44", "45+")),  # numbers of something else
        ((5, 25), ("<20", "20+", "unknown")),
        ((5, 25), ("<20", "20k+")),
    ],
)
def test_numbers_are_not_put_into_bands_that_do_not_tell(numbers, bands):
    assert pairs_of(numbers, bands) is None


@settings(max_examples=30, deadline=None)
@given(st.sets(st.integers(1, 3999), min_size=3, max_size=40))
def test_roman_numbers_are_numbers(numbers):
    plain = [str(n) for n in sorted(numbers)]
    written = [_roman(n) for n in sorted(numbers)]
    assert pairs_of(plain, written) == set(zip(plain, written, strict=True))


def _roman(number):
    made = ""
    for value, letters in zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    ):
        made, number = made + letters * (number // value), number % value
    return made


def _percent(share):
    return f"{100 * share:.2f} %".replace(".", ",")


def test_numbers_that_are_spelled_otherwise_are_related():
    ages = list(range(20, 90, 3))
    years = list(range(1901, 2000, 7))
    serials = [(day - date(1899, 12, 30)).days for day in DAYS]
    seconds = [(day - date(1970, 1, 1)).days * 86_400 for day in DAYS]
    minutes, shares = list(range(3, 1_440, 13)), [round(-0.05 + 0.0137 * i, 4) for i in range(90)]
    pounds = [f"{i * 2.20462262:.1f}" for i in range(1, 40)]
    cases = [
        (ages, [f"{a}-{a + 9}" for a in range(20, 90, 10)], lambda a: f"{a // 10 * 10}-{a // 10 * 10 + 9}"),
        ([a + 5 for a in ages], [f"{a} to {a + 9}" for a in range(25, 95, 10)], lambda a: f"{(a - 5) // 10 * 10 + 5} to {(a - 5) // 10 * 10 + 14}"),
        (years, [f"{y}s" for y in range(1900, 2000, 10)], lambda y: f"{y // 10 * 10}s"),
        ([f"FY{y}" for y in years], years, lambda text: text[2:]),
        ([f"Season {y}" for y in years], years, lambda text: text[7:]),
        ([f"Season {y}/{y + 1}" for y in years], years, lambda text: text[7:11]),
        ([f"{y}\u2013{(y + 1) % 100:02d}" for y in years], [f"{y}-{y + 1}" for y in years], lambda text: f"{text[:4]}-{int(text[:4]) + 1}"),
        ([7 * i for i in range(1, 60)], [f"{7 * i // 60}h {7 * i % 60}m" for i in range(1, 60)], lambda n: f"{n // 60}h {n % 60}m"),
        ([97 * i for i in range(60)], [str(timedelta(seconds=97 * i)) for i in range(60)], lambda n: str(timedelta(seconds=n))),
        ([f"{n} min" for n in range(5, 90)], [f"0:{n:02d}:00" if n < 60 else f"1:{n - 60:02d}:00" for n in range(5, 90)], lambda t: str(timedelta(minutes=int(t[:-4])))),
        (minutes, [f"{n // 60:02d}:{n % 60:02d}" for n in minutes], lambda n: f"{n // 60:02d}:{n % 60:02d}"),
        ([f"{n // 60 % 12 or 12}:{n % 60:02d} {'AP'[n // 720]}M" for n in minutes], [f"{n // 60:02d}:{n % 60:02d}" for n in minutes], lambda t: datetime.strptime(t, "%I:%M %p").strftime("%H:%M")),
        (shares, [_percent(share) for share in shares], _percent),
        ([f"{100 * share:.2f}%" for share in shares], [_percent(share) for share in shares], lambda t: _percent(float(t[:-1]) / 100)),
        ([round(100 * share, 2) for share in shares], [_percent(share) for share in shares], lambda n: _percent(n / 100)),
        (serials, DAYS, dict(zip(serials, DAYS, strict=True)).get),
        (seconds, DAYS, dict(zip(seconds, DAYS, strict=True)).get),
        (list(range(1, 40)), pounds, lambda n: pounds[n - 1]),
        ([f"Q{q} FY{y}" for y in range(18, 24) for q in (1, 2, 3, 4)], [f"20{y}Q{q}" for y in range(18, 24) for q in (1, 2, 3, 4)], lambda t: f"20{t[5:]}Q{t[1]}"),
    ]  # fmt: skip
    for left, right, partner in cases:
        assert pairs_of(left, right) == {(str(value), str(partner(value))) for value in left}, left[:3]


def test_what_differs_in_its_numbers_is_no_other_spelling():
    invoices = [[f"INV-{year}-{i:04d}" for i in range(60)] for year in (2022, 2023)]
    numbered = [[f"{kind} {i}" for i in range(60)] for kind in ("room", "bed")]
    unrelated = [[str(n) for n in np.random.default_rng(seed).permutation(900)[:60]] for seed in (0, 1)]
    halves = [[f"{n}.5" for n in range(5, 80, 3)], list(range(200, 260))]
    for left, right in (invoices, numbered, unrelated, halves, [DAYS, list(range(1, 13))]):
        assert pairs_of(left, right) is None


def test_fiscal_years_of_days_are_left_to_the_caller():
    found = relate_named(column("day", DAYS), column("fy", ["FY2021", "FY2022", "FY2023"]))
    assert found.join is None
    assert "day = fy: fiscal years that begin in month 1, " in found.proposal
    assert "say by `examples` which rows belong together" in found.proposal


def test_half_of_the_periods_are_proposed_and_accepted():
    other = [f"{day:%b %Y}" for day in pd.date_range("2022-03-01", "2026-12-01", freq="MS")]
    some = DAYS[:80]
    found = relate_named(column("day", some), column("month", other))
    assert found.join is None
    assert "both are read as month" in found.proposal and found.proposal.endswith("transform='accept' to join by it")
    inside = {(str(day), f"{day:%b %Y}") for day in some if f"{day:%b %Y}" in other}
    assert pairs_of(some, other, accepts_doubt=True) == inside


def test_frames_are_joined_by_named_columns_and_a_plan_repeats_it():
    sales = pd.DataFrame({"day": pd.to_datetime(DAYS), "amount": range(110)})
    rates = pd.DataFrame({"month": list(dict.fromkeys(f"{day:%b-%y}" for day in DAYS))})
    rates["rate"] = range(len(rates))
    wide = dfjoin.auto_join(sales, rates, on="day", right_on="month")
    assert wide["rate"].tolist() == [(day.year - 2021) * 12 + day.month - 1 for day in DAYS]
    report = str(dfjoin.report(wide))
    assert "rests on the names of the columns: both are read as month; pass transform=False to refuse it" in report
    later = pd.DataFrame({"day": pd.to_datetime([date(2023, 5, 1)]), "amount": [1]})
    again = dfjoin.auto_join(later, rates, plan=wide.attrs["dfjoin"]["plan"])
    assert again["rate"].tolist() == [28]
    refused = dfjoin.auto_join(sales, rates, on="day", right_on="month", transform=False, on_no_match="ignore")
    assert refused["rate"].isna().all()


def test_a_program_in_doubt_is_proposed_with_examples_and_accepted():
    frames = [pd.DataFrame({"no": [f"INV-{year}-{i:04d}" for i in range(60)], "x": range(60)}) for year in (2022, 2023)]
    wide = dfjoin.auto_join(*frames, on="no", right_on="no", on_no_match="ignore")
    assert wide["x__right"].isna().all()
    (reason, *_) = [passed["reason"] for passed in dfjoin.report(wide).to_dict()["passed_over"]]
    assert "in doubt, for example INV-2022-" in reason and "pass transform='accept'" in reason
    assert reason.count(" = INV-2023-") == 5
    accepted = dfjoin.auto_join(*frames, on="no", right_on="no", transform="accept")
    assert accepted["x__right"].tolist() == list(range(60))


def test_the_basis_is_stored():
    join = relate_named(column("a", DAYS), column("b", [str(d)[:7] for d in DAYS[::3]])).join
    assert TransformJoin.from_dict(join.to_dict()) == join


MONTHS = pd.date_range("2022-01-01", periods=14, freq="MS")
SPELLED = {
    "text": [f"{month:%b %Y}" for month in MONTHS],
    "digits": [f"{month:%Y-%m}" for month in MONTHS],
    "first day": MONTHS,
    "last day": MONTHS + pd.offsets.MonthEnd(),
}


def unnamed(left, right, **options):
    own, theirs = pd.DataFrame({"a": left, "x": range(50, 50 + len(left))}), pd.DataFrame({"b": right})
    wide = dfjoin.auto_join(own, theirs.assign(y=range(len(right))), on_no_match="ignore", **options)
    return wide, str(dfjoin.report(wide))


@pytest.mark.parametrize("one, two", [(a, b) for a in SPELLED for b in SPELLED if a != b])
def test_months_that_nobody_named_are_joined_however_they_are_spelled(one, two):
    wide, report = unnamed(SPELLED[one], SPELLED[two][::-1])
    assert wide["y"].tolist() == list(range(13, -1, -1))
    assert "rests on what the values say: both are read as month; pass transform=False to refuse it" in report


def test_quarters_and_weeks_that_nobody_named_are_joined():
    quarters = pd.date_range("2020-01-01", periods=9, freq="QS")
    assert unnamed(quarters, [f"Q{d.quarter} {d.year}" for d in quarters])[0]["y"].tolist() == list(range(9))
    mondays = pd.date_range("2024-01-01", periods=9, freq="7D")
    assert unnamed(mondays, ["{}-W{:02d}".format(*d.isocalendar()) for d in mondays])[0]["y"].tolist() == [*range(9)]


def test_days_in_months_that_nobody_named_are_proposed_and_accepted():
    days = pd.date_range("2022-01-01", periods=100)
    refused, report = unnamed(days, [f"{day:%b %Y}" for day in days.to_period("M").unique()])
    assert "y" not in refused and "for example 2022-01-01 = Jan 2022, 2022-01-02 = Jan 2022" in report
    assert "both are read as month" in report and "pass transform='accept' to join by it" in report
    wide, _ = unnamed(days, [f"{month:%b %Y}" for month in days.to_period("M").unique()], transform="accept")
    assert wide["y"].tolist() == [day.month - 1 for day in days]
    times = pd.date_range("2022-01-01 06:00", periods=100, freq="17h")  # calendars of two things
    refused, report = unnamed(times, times.floor("D").unique().strftime("%d.%m.%Y"))
    assert "y" not in refused and "what the values say" not in report


def test_of_several_columns_of_months_the_caller_names_one():
    left = {name: column(name, SPELLED["text"]) for name in ("start", "end")}
    found = relate_periods(left, {"month": column("month", SPELLED["digits"])})
    assert found.join is None
    assert found.proposal.count("both are read as month; for example Jan 2022 = 2022-01") == 2
    assert found.proposal.endswith("name one pair by `on` and `right_on`")
    unread = {"a": column("a", ["x1", "x2"]), "b": column("b", ["2022-01"]), "c": column("c", range(2001, 2012))}
    assert relate_periods(unread, left) == (None, "")
