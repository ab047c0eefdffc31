"""Reading, moving and writing moments, against `datetime`."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.time_operators import ORDERS, MoveTime, ReadTime, WriteTime, is_layout

MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)).map(lambda d: d.replace(microsecond=0))


def canonical(moment):
    return moment.isoformat()


@pytest.mark.parametrize(
    ("order", "text", "expected"),
    [
        ("y-m-d", "2023-4-1", "2023-04-01T??:??:??"),
        ("y-m-d", "2001--11--6", "2001-11-06T??:??:??"),
        ("y-m-d", "2020-12-31T23:59:59.123Z", "2020-12-31T23:59:59"),
        ("y-m-d", "2023-02-29", None),
        ("d/m/y", "4/7/23", "2023-07-04T??:??:??"),
        ("m/d/y", "4/7/70", "1970-04-07T??:??:??"),
        ("d.m.y", "14. 11. 2013", "2013-11-14T??:??:??"),
        ("d-name-y", "01-Apr-23", "2023-04-01T??:??:??"),
        ("d-name-y", "14. November 2013", "2013-11-14T??:??:??"),
        ("d-name-y", "Tue, 4th of Jul 2023 at 12:05 AM", "2023-07-04T00:05:00"),
        ("name-d-y", "Apr 1st, 2023", "2023-04-01T??:??:??"),
        ("name-d-y", "Sept. 30 1999 9 pm EST", "1999-09-30T21:00:00"),
        ("yyyymmdd", "20230401", "2023-04-01T??:??:??"),
        ("mmddyyyy", "01311846", "1846-01-31T??:??:??"),
        ("y-j", "2004 366", "2004-12-31T??:??:??"),
        ("y-j", "2003 366", None),
        ("name-y", "April 2023", "2023-04-??T??:??:??"),
        ("d-name", "29 Feb", "????-02-29T??:??:??"),
        ("d-name", "30 Feb", None),
        ("time", "9:44PM", "????-??-??T21:44:00"),
        ("time", "13:44PM", None),
        ("hhmm", "1744", "????-??-??T17:44:00"),
        ("name-d-time-y", "Sun Oct  6 18:25:57 2143", "2143-10-06T18:25:57"),
        ("yyyymmddhhmmss", "20230401101112", "2023-04-01T10:11:12"),
        ("m/d/y d/m/y", "30/9/2004", "2004-09-30T??:??:??"),
        ("y", "0000", None),
    ],
)
def test_common_spellings_are_read(order, text, expected):
    assert ReadTime(order)(text) == expected


@pytest.mark.parametrize(
    ("text", "layout", "expected"),
    [
        ("2023-07-04T18:05:00", "%-d%o %B %y, %-I:%M%~p", "4th July 23, 6:05pm"),
        ("2023-07-04T18:05:00", "Q%q 100%%", "Q3 100%"),
        ("????-??-??T00:05:00", "%I:%M %p", "12:05 AM"),
        ("????-??-??T00:05:00", "%Y", None),
        ("2023-04-??T??:??:??", "%^b/%~B", "APR/april"),
        ("1999-01-01T??:??:??", "%GW%V %A", "1998W53 Friday"),
        ("2023-02-29T??:??:??", "%d", None),
        ("abc", "%d", None),
    ],
)
def test_layouts(text, layout, expected):
    assert WriteTime(layout)(text) == expected


@given(MOMENTS)
def test_parts_are_those_of_datetime(moment):
    year, week, weekday = moment.isocalendar()
    if year <= 9999:
        layout = "%A %a %B %b %d %m %j %H %I %M %S"
        assert WriteTime(layout + " %Y-%G-%V-%u")(canonical(moment)) == (
            moment.strftime(layout) + f" {moment.year:04d}-{year:04d}-{week:02d}-{weekday}"
        )


@given(MOMENTS, st.integers(-(10**7), 10**7))
def test_moving_follows_the_calendar(moment, seconds):
    try:
        expected = canonical(moment + timedelta(seconds=seconds))
    except OverflowError:
        expected = None
    assert MoveTime(seconds, 1, 0)(canonical(moment)) == expected


@given(MOMENTS, st.sampled_from([60, 900, 5400, 7200, 86_400]))
def test_intervals_start_at_midnight(moment, interval):
    midnight = moment.replace(hour=0, minute=0, second=0)
    expected = midnight + (moment - midnight) // timedelta(seconds=interval) * timedelta(seconds=interval)
    assert MoveTime(0, interval, 0)(canonical(moment)) == canonical(expected)


def test_a_time_of_day_goes_round_midnight():
    assert MoveTime(0, 1800, 1800)("????-??-??T23:45:00") == "????-??-??T00:00:00"
    assert MoveTime(0, 1800, 0)("2023-04-01T??:??:??") is None


@pytest.mark.parametrize(
    ("layout", "expected"), [("%Y", True), ("a", False), ("%%", False), ("%x", False), ("%-B", False)]
)
def test_layouts_have_a_part(layout, expected):
    assert is_layout(layout) is expected


def test_orders_that_plans_hold_stay():
    assert {"y-m-d", "d/m/y", "m/d/y", "d-name-y", "name-d-y", "yyyymmdd", "time", "hhmm", "name-y"} <= set(ORDERS)


def test_steps_are_written_for_people():
    assert ReadTime("time").describe() == "read_time('time')"
    assert MoveTime(-900, 3600, 900).describe() == "plus('-15 min').floor('1 h').plus('15 min')"
    assert MoveTime(0, 1, 0).describe() == "plus('0 s')"
