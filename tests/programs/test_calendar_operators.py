import calendar
import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.calendar_operators import CALENDAR_UNITS, MoveDate, ReadSerial, WriteSerial

DAYS = st.dates(datetime.date(1000, 1, 1), datetime.date(9000, 1, 1))


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (MoveDate("month", 1, -1), "2024-02-10T10:11:12", "2024-02-29T10:11:12"),
        (MoveDate("week", 0, 0), "2023-01-01T??:??:??", "2022-12-26T??:??:??"),
        (MoveDate("quarter", 3, -1), "2021-08-31T??:??:??", "2021-09-30T??:??:??"),
        (MoveDate("half", 0, 0), "2021-12-31T??:??:??", "2021-07-01T??:??:??"),
        (MoveDate("day", 1, 0), "2023-01-31T??:??:??", "2023-02-28T??:??:??"),
        (MoveDate("day", -12, 1), "2024-02-29T??:??:??", "2023-03-01T??:??:??"),
        (MoveDate("day", 0, 1), "9999-12-31T??:??:??", None),
        (MoveDate("year", -12, 0), "0001-05-05T??:??:??", None),
        (MoveDate("week", 1, 0), "2023-01-31T??:??:??", None),
        (MoveDate("day", 0, 1), "2023-02-30T??:??:??", None),
        (MoveDate("day", 0, 1), "2023-02-??T??:??:??", None),
        (ReadSerial("excel days"), "44556", "2021-12-26T??:??:??"),
        (ReadSerial("unix seconds"), "-1", "1969-12-31T23:59:59"),
        (ReadSerial("unix milliseconds"), "1640476800123", "2021-12-26T00:00:00"),
        (ReadSerial("unix days"), "2932897", None),
        (ReadSerial("unix days"), "007", None),
        (WriteSerial("unix seconds"), "2021-12-26T??:??:??", "1640476800"),
        (WriteSerial("unix seconds"), "????-12-26T10:00:00", None),
    ],
)
def test_dates_are_moved_read_and_written(step, text, expected):
    assert step(text) == expected


@given(DAYS, st.sampled_from(CALENDAR_UNITS), st.integers(-40, 40), st.integers(-500, 500))
def test_moves_are_those_of_the_standard_library(day, unit, months, days):
    months = 0 if unit == "week" else months
    width = {"month": 1, "quarter": 3, "half": 6, "year": 12}.get(unit)
    start = day.replace(month=(day.month - 1) // width * width + 1, day=1) if width else day
    if unit == "week":
        start -= datetime.timedelta(days=day.weekday())
    number = 12 * start.year + start.month - 1 + months
    year, month = number // 12, number % 12 + 1
    moved = datetime.date(year, month, min(start.day, calendar.monthrange(year, month)[1]))
    expected = moved + datetime.timedelta(days=days)
    assert MoveDate(unit, months, days)(f"{day}T??:??:??") == f"{expected}T??:??:??"


@given(DAYS, st.integers(0, 86_399))
def test_counts_of_seconds_are_those_of_the_standard_library(day, second):
    moment = datetime.datetime.combine(day, datetime.time()) + datetime.timedelta(seconds=second)
    count = str(int((moment - datetime.datetime(1970, 1, 1)).total_seconds()))
    assert ReadSerial("unix seconds")(count) == moment.isoformat()
    assert WriteSerial("unix seconds")(moment.isoformat()) == count
    assert WriteSerial("excel days")(moment.isoformat()) == str((day - datetime.date(1899, 12, 30)).days)


def test_moves_are_shown_for_people():
    assert MoveDate("month", 1, -1).describe() == "start_of(month).plus('1 months').plus('-1 d')"
    assert MoveDate("day", 0, 0).describe() == "plus('0 d')"
