"""Learning programs of dates and times from examples."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.transform.compose.moments import learn_times, reading_orders


def taught(texts, targets, inputs=(), is_exact=True):
    learned = learn_times(texts, targets, inputs, is_exact=is_exact)
    return Program(("x",), tuple(Extract(0, part) for part in learned[0].parts)) if learned else None


@pytest.mark.parametrize(
    ("texts", "targets", "text", "expected"),
    [
        (["17 Dec 1973", "Jan 10 1975"], ["Monday, 1973W51", "Friday, 1975W02"], "1 Jan 1999", "Friday, 1998W53"),
        (["2023-04-01", "2022-12-24"], ["Apr 1, 2023", "Dec 24, 2022"], "2021-07-04", "Jul 4, 2021"),
        (["6:25PM", "9:44PM", "7:00AM"], ["18:25", "21:44", "07:00"], "12:05AM", "00:05"),
        (["18:25:57", "21:44:40", "7:00:20"], ["6:00PM", "8:00PM", "6:00AM"], "23:34:17", "10:00PM"),
        (["6:25PM", "9:44PM", "7:00AM"], ["6:00-6:29PM", "9:30-9:59PM", "7:00-7:29AM"], "11:48PM", "11:30-11:59PM"),
        (["11:12", "08:29", "12:41"], ["10:45 to 11:15", "8:15 to 8:45", "12:15 to 12:45"], "04:54", "4:45 to 5:15"),
        (["10:00 PST", "11:30 PST"], ["13:00 EST", "14:30 EST"], "23:30 PST", "02:30 EST"),
        (["31-Jan-2031 05:54", "14-Aug-1982 15:13"], ["Q1 2031", "Q3 1982"], "20-Dec-2033 18:36", "Q4 2033"),
        (["6/28/2137", "12/15/1902"], ["28.6.2137", "15.12.1902"], "4/2/1743", "2.4.1743"),
    ],
)
def test_times_are_learned(texts, targets, text, expected):
    assert taught(texts, targets, [text])(text) == expected


def test_other_rows_tell_the_order_of_day_and_month():
    assert taught(["8/7/2237"], ["July 8"], ["20/4/1957"])("9/4/2000") == "April 9"
    assert taught(["8/7/2237"], ["August 7"], ["4/20/1957"])("9/4/2000") == "September 4"


def test_a_column_that_leaves_the_order_open_has_two_readings():
    assert reading_orders(["4/7/23", "5/6/22"]) == ["d/m/y", "m/d/y"]
    assert reading_orders(["4/7/23", "5/16/22"]) == ["m/d/y"]
    assert reading_orders(["4/7/23", "16.5.2022", "x"]) == ["d.m.y d/m/y", "d.m.y m/d/y"]
    assert reading_orders(["x", ""]) == []


@pytest.mark.parametrize(("texts", "targets"), [(["abc"], ["x"]), (["2023-04-01"], [""]), (["12:30"], ["noon"])])
def test_what_is_no_time_gives_nothing(texts, targets):
    assert taught(texts, targets) is None


def test_casing_may_be_left_aside():
    assert taught(["2023-04-01"], ["april 1"], is_exact=False)("2023-05-02") == "May 2"


@given(
    st.lists(
        st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 31)), min_size=4, max_size=5, unique_by=lambda d: d.day
    ),
    st.sampled_from(["%d/%m/%Y", "%B %d, %Y", "%d-%b-%Y %H:%M", "%Y%m%d"]),
    st.sampled_from(["%Y-%m-%d", "%A %d %b", "%d.%m.%Y", "week %V of %G", "%y%m%d"]),
)
def test_a_layout_is_recovered_or_one_that_writes_the_same(moments, old, new):
    texts, targets = [m.strftime(old) for m in moments], [m.strftime(new) for m in moments]
    program = taught(texts, targets, texts)
    assert [program(text) for text in texts] == targets
