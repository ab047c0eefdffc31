"""Which columns are keys when the user names none."""

from dataclasses import replace

import pandas as pd
import pytest

import dfjoin
from dfjoin.search.query import make_query
from dfjoin.search.usefulness.features import query_facts
from dfjoin.search.usefulness.key_columns import has_dates_alone, has_serials_alone, reason_against_key
from dfjoin.types import IndexSettings


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("flag", ["yes", "no", "yes"], "it has fewer than three values"),
        ("id", range(1, 30), "it is a serial number"),
        ("total_votes", [5, 7, 11, 7], "it is a measure"),
        ("mail", [5, 7, 11, 7], "its header does not say that its numbers name anything"),
        ("waiting", [79, 54, 74], "its header does not say that its numbers name anything"),
        ("3", [79, 54, 74], "its header does not say that its numbers name anything"),
        ("year", [1999, 2003, 2010, 2010], ""),
        ("when", [1999, 2003, 2010, 2010], ""),
        ("customerID", [5, 7, 11, 7], ""),
        ("fips", [1001, 1003, 1005], ""),
        ("ISO numeric", [4, 8, 12], ""),
        ("Precinct", [4, 8, 12], ""),
        ("Precincts", [4, 8, 12], "its header does not say that its numbers name anything"),
        ("Kundennr", [4, 8, 12], ""),
        ("客户编号", [4, 8, 12], ""),
        ("HS", [4, 8, 12], "its header does not say that its numbers name anything"),
        ("mail", ["a@x", "b@x", "c@x"], ""),
        ("mail", ["01", "02", "03x"], ""),
    ],
)
def test_why_a_column_is_no_key_by_itself(name, values, reason):
    assert reason_against_key(make_query(pd.Series(list(values), name=name), IndexSettings())) == reason


@pytest.mark.parametrize(
    "days",
    [
        pd.date_range("2024-01-01", periods=40).astype(str),
        list(range(1980, 2020)),
        [f"{month} {day}" for month in ("March", "April") for day in range(1, 21)],
        [f"{month} {year}" for month in ("Mar", "Apr") for year in range(1980, 2000)],
    ],
)
def test_days_and_years_alone_join_no_tables_unless_they_are_named(build, days):
    frame = pd.DataFrame(
        {
            "day": days,
            "Month": [i % 12 for i in range(40)],
            "store": [f"s{i % 7}" for i in range(40)],
            "sales": [i * 0.37 for i in range(40)],
            "chain": "ours",
        }
    )
    weather = pd.DataFrame({"day": days, "month": [i % 12 for i in range(40)], "rain": [i * 1.13 for i in range(40)]})
    weather["chain"] = [f"of mountains {i}" for i in range(40)]
    closed = pd.DataFrame({"day": days, "store": [f"s{i % 7}" for i in range(40)], "closed": ["x", "y"] * 20})
    closed["chain"] = "ours"
    lake = build({"weather": weather, "closed": closed})
    query = replace(make_query(frame["day"], IndexSettings()), companions=tuple(frame.columns))
    assert has_dates_alone(lake.snapshot, query, "weather")
    assert not has_dates_alone(lake.snapshot, query, "closed")
    store = replace(make_query(frame["store"], IndexSettings()), companions=tuple(frame.columns))
    assert not has_dates_alone(lake.snapshot, store, "weather")
    alone = dfjoin.auto_join(frame, lake, tables="weather", on_no_match="ignore")
    report = alone.attrs["dfjoin"]
    assert not report["joined"] and list(alone.columns) == list(frame.columns)
    assert any("share days, months and years: name the key" in one["reason"] for one in report["passed_over"])
    assert "rain" in dfjoin.auto_join(frame, lake, on="day", tables="weather").columns


@pytest.mark.parametrize(
    "names",
    [
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sept", "Oct", "Nov", "Dec"],
        ["May", "June", "July", "August"],
    ],
)
def test_weekdays_and_months_alone_join_no_table_that_nobody_named(build, names):
    lake = build({"shows": pd.DataFrame({"day": names, "host": [f"host {i}" for i in range(len(names))]})})
    frame = pd.DataFrame({"day": names * 2, "visitors": [f"about {i}" for i in range(2 * len(names))]})
    alone = dfjoin.auto_join(frame, lake, on_no_match="ignore")
    assert list(alone.columns) == list(frame.columns)
    assert "share days, months and years: name the key" in str(alone.attrs["dfjoin"])
    assert "host" in dfjoin.auto_join(frame, lake, on="day").columns


def test_texts_are_read_as_days_once_for_a_query(build, monkeypatch):
    read = []
    monkeypatch.setattr("dfjoin.search.query.are_periods", lambda values: bool(read.append(len(values))) or True)
    frame = pd.DataFrame({"day": [f"{m} {d}" for m in ("March", "April") for d in range(1, 21)]})
    lake = build({name: frame.assign(**{name: 1.5}) for name in ("rain", "sun", "snow")})
    query = make_query(frame["day"], IndexSettings())
    assert all(has_dates_alone(lake.snapshot, query, name) for name in ("rain", "sun", "snow"))
    assert read == [40]


@pytest.mark.parametrize("spelling", ["{}-{:02}", "{}/{:02}", "{}\u2013{:02}"])
def test_seasons_alone_join_no_tables(build, spelling):
    seasons = [spelling.format(year, (year + 1) % 100) for year in range(1980, 2010)]
    frame = pd.DataFrame({"season": seasons, "winner": [f"w{i}" for i in range(30)]})
    lake = build({"cup": pd.DataFrame({"Season": seasons, "place": [f"{i % 9}th" for i in range(30)]})})
    query = replace(make_query(frame["season"], IndexSettings()), companions=tuple(frame.columns))
    assert has_dates_alone(lake.snapshot, query, "cup")


@pytest.mark.parametrize(
    "years", [range(1990, 2020), [-720, *range(1991, 2020)], ["1990[1]", *map(str, range(1991, 2019)), "2019*"]]
)
def test_a_header_of_any_subject_beside_days_does_not_say_that_tables_belong_together(build, years):
    frame = pd.DataFrame({"rownames": range(30), "Year": years, "type": ["x", "y"] * 15, "price": 0.5, "land": "here"})
    other = pd.DataFrame({"rownames": range(40), "Year": range(1985, 2025), "type": ["p", "q"] * 20, "land": "there"})
    lake = build({"rain": other.assign(rain=1.5), "tax": other.assign(price=1.5)})
    query = replace(make_query(frame["Year"], IndexSettings()), companions=tuple(frame.columns))
    assert has_dates_alone(lake.snapshot, query, "rain"), "one header may be of any subject"
    assert not has_dates_alone(lake.snapshot, query, "tax")


def test_numbers_from_one_on_under_one_header_join_no_tables_unless_they_are_named(build):
    """Districts of a survey are no districts of an election; what the header or the other headers name is joined."""
    frame = pd.DataFrame({"district": [*range(1, 41)] * 3, "voter": [f"v{i}" for i in range(120)], "age": range(120)})
    seats = pd.DataFrame({"District": range(1, 51), "Senator": [f"s{i}" for i in range(50)], "AGE": range(50)})
    polls = seats.rename(columns={"Senator": "voter"})
    lake = build({"csv__400": seats, "districts": seats, "polls": polls})
    query = replace(make_query(frame["district"], IndexSettings()), companions=tuple(frame.columns))
    names = "csv__400", "districts", "polls"
    assert [has_serials_alone(lake.snapshot, query, table) for table in names] == [True, False, False]
    dated = replace(query, companions=("district", "year", "Month", "age"))
    other = build({"polls": polls.assign(Year=2020, month=1).drop(columns="voter")})
    assert has_serials_alone(other.snapshot, dated, "polls"), "headers of the calendar stand in tables of any subject"
    far = replace(make_query(frame["district"] * 7 + 1000, IndexSettings()), companions=tuple(frame.columns))
    assert not has_serials_alone(lake.snapshot, far, "csv__400")
    coded = make_query(frame["district"].rename("district_id"), IndexSettings())
    assert not has_serials_alone(lake.snapshot, coded, "csv__400")
    report = dfjoin.auto_join(frame, lake, tables="csv__400", on_no_match="ignore").attrs["dfjoin"]
    assert not report["joined"]
    assert any("have numbers from 1 on, or letters: name the key" in one["reason"] for one in report["passed_over"])
    assert "Senator" in dfjoin.auto_join(frame, lake, on="district", tables="csv__400").columns
    assert "Senator" in dfjoin.auto_join(frame, lake, tables="districts").columns


@pytest.mark.parametrize("letters", ["ABCDEFGH", "ABCDFH"])
def test_letters_join_no_tables_unless_they_are_named(build, letters):
    """Categories of aid are no schools, and grades no categories, though all are called by letters."""
    frame = pd.DataFrame({"category": list(letters), "aid": [f"aid {i}" for i in range(len(letters))]})
    schools = pd.DataFrame({"school": list("ABCDEFGH"), "est": [28, 8, -3, 7, -1, 1, 18, 12]})
    lake = build({"schools": schools, "categories": schools.rename(columns={"school": "category"})})
    query = replace(make_query(frame["category"], IndexSettings()), companions=tuple(frame.columns))
    assert has_serials_alone(lake.snapshot, query, "schools")
    assert not has_serials_alone(lake.snapshot, query, "categories")
    report = dfjoin.auto_join(frame, lake, on_no_match="ignore").attrs["dfjoin"]
    assert {step["table"] for step in report["joined"]} == {"categories"}


def test_codes_in_the_range_of_years_are_no_years(build):
    """Donors have the codes 1601 to 1640, and prices years from 1590 on."""
    donors = pd.DataFrame({"code": range(1601, 1641), "name": [f"donor {i}" for i in range(40)]})
    prices = pd.DataFrame({"Year": range(1590, 1660), "wheat": [i * 1.5 for i in range(70)]})
    lake = build({"prices": prices, "donors": donors})
    assert dfjoin.discover_joinable(donors, "code", lake, exclude="donors", min_score=0.5).empty
    assert dfjoin.discover_joinable(prices, "Year", lake, exclude="prices", min_score=0.5).empty
    born = donors.rename(columns={"code": "yearID"})
    assert dfjoin.discover_joinable(born, "yearID", lake, min_score=0.5)["table"].tolist() == ["prices"]


def test_a_header_of_any_subject_is_not_short_for_one_that_says_something(build):
    frame = pd.DataFrame({"Country Index": range(1, 85), "value": 0.5})
    lake = build({"crabs": pd.DataFrame({"index": range(1, 61), "width": [i * 0.3 for i in range(60)]})})
    assert dfjoin.discover_joinable(frame, "Country Index", lake, min_score=0.5).empty


def test_numbers_with_few_gaps_tell_nothing_beside_a_stray_word(build):
    """`a` makes texts of numbers from 5 on; a column of humidities has nearly all of them, and words."""
    frame = pd.DataFrame({"ID": ["a", *map(str, range(5, 92))], "name": [f"customer {i}" for i in range(88)]})
    humid = pd.DataFrame({"humidity": [*map(str, range(1, 101)), "5%", "unknown"], "team": "x"})
    assert dfjoin.discover_joinable(frame, "ID", build({"weather": humid}), min_score=0.5).empty
    years = make_query(pd.Series(["1990[1]", *map(str, range(1991, 2020))]), IndexSettings())
    assert not query_facts(years).is_text_serial


def test_codes_with_zeros_that_fill_their_range_are_found(build):
    codes = pd.DataFrame({"code": [f"{i:05d}" for i in range(500, 540)], "town": [f"t{i}" for i in range(40)]})
    hits = pd.DataFrame({"code": range(500, 540)}).discover_joinable("code", build({"codes": codes}))
    assert hits["matched"].tolist() == [40], "of the width of the codes"
    serials = codes.assign(code=[f"{i:05d}" for i in range(1, 41)])
    found = serials.discover_joinable("code", build({"serials": serials}), min_score=0)
    assert found["score"].max() < hits["score"].iloc[0], "serial numbers tell less, padded or not"
