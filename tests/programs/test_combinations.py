import datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.programs.calendar_operators import WriteDuration
from dfjoin.programs.combinations import COMBINATIONS, combine, combine_columns
from dfjoin.programs.part_operators import Slice
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Combined, Constant, Extract
from dfjoin.programs.time_operators import ReadTime

MOMENTS = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59)).map(
    lambda moment: moment.replace(microsecond=0)
)
DATES = [Extract(column, (ReadTime("y-m-d"),)) for column in (0, 1)]


def text(moment):
    return moment.isoformat()


def months_of(later, earlier):
    """Count months one by one."""
    count = 12 * (later.year - earlier.year) + later.month - earlier.month
    return count - (later.day < earlier.day)


@given(MOMENTS, MOMENTS)
def test_what_has_passed_is_that_of_the_calendar(one, other):
    later, earlier = max(one, other), min(one, other)
    days = (later.date() - earlier.date()).days
    seconds = round((later - earlier).total_seconds())
    assert combine(text(later), text(earlier), "days") == str(days)
    assert combine(text(earlier), text(later), "days") == str(-days)
    assert combine(text(later), text(earlier), "weeks") == str(days // 7)
    assert combine(text(later), text(earlier), "seconds") == str(seconds)
    assert combine(text(later), text(earlier), "minutes") == (None if seconds % 60 else str(seconds // 60))
    hours = combine(text(later), text(earlier), "hours")
    assert hours is None if seconds % 36 else float(hours) == seconds / 3600
    months = months_of(later.date(), earlier.date())
    assert combine(text(later), text(earlier), "months") == str(months)
    assert combine(text(later), text(earlier), "years") == str(months // 12)


@pytest.mark.parametrize(
    ("first", "second", "kind", "expected"),
    [
        ("2024-02-28T??:??:??", "1980-02-29T??:??:??", "years", "43"),
        ("2024-02-29T??:??:??", "1980-02-29T??:??:??", "years", "44"),
        ("2023-03-01T??:??:??", "1980-02-29T00:00:00", "years", "43"),
        ("2023-03-30T??:??:??", "2023-01-31T??:??:??", "months", "1"),
        ("2023-01-01T??:??:??", "2023-01-02T??:??:??", "years", None),
        ("2023-01-01T??:??:??", "2023-01-02T??:??:??", "days", "-1"),
        ("????-??-??T18:45:00", "????-??-??T08:00:00", "hours", "10.75"),
        ("????-??-??T08:00:00", "????-??-??T18:45:00", "hours", None),
        ("2023-01-02T00:10:00", "2023-01-01T23:50:00", "minutes", "20"),
        ("2023-01-02T00:10:00", "????-??-??T23:50:00", "minutes", None),
        ("2023-04-??T??:??:??", "2023-01-02T??:??:??", "days", None),
        ("2023-02-30T??:??:??", "2023-01-02T??:??:??", "days", None),
        ("1.5", "2.25", "sum", "3.75"),
        ("1.5", "2.50", "difference", "-1"),
        ("-0.000001", "0.000001", "sum", "0"),
        ("999999999999", "999999999999.999999", "sum", "1999999999998.999999"),
        ("1,000", "2", "sum", None),
        ("", "2", "sum", None),
    ],
)
def test_two_texts_make_one(first, second, kind, expected):
    assert combine(first, second, kind) == expected


_TEXTS = st.one_of(
    st.none(), MOMENTS.map(text), MOMENTS.map(lambda m: f"{m:%Y-%m-%d}T??:??:??".zfill(19)),
    st.decimals(-(10**7), 10**7, places=3).map(str), st.just("x"),
)  # fmt: skip


@given(st.lists(st.tuples(_TEXTS, _TEXTS), max_size=20), st.sampled_from(COMBINATIONS))
def test_columns_give_what_texts_give(rows, kind):
    columns = [pa.array([row[side] for row in rows], pa.string()) for side in (0, 1)]
    expected = [combine(a, b, kind) if a and b else None for a, b in rows]
    assert combine_columns(*columns, kind).to_pylist() == expected


def test_a_program_may_hold_constants_and_steps_beside():
    hours = [Extract(column, (ReadTime("time"),)) for column in (1, 0)]
    program = Program(("from", "to"), (Combined("seconds", *hours, (WriteDuration("H:MM"),)), Constant(" h")))
    assert program("9:15 am", "17:45") == "8:30 h"
    assert str(program) == "seconds(to.read_time('time'), from.read_time('time')).duration('H:MM') + ' h'"
    assert program.computes and program.apply([pa.array(["9:15 am"]), pa.array([None], pa.string())]).to_pylist() == [
        None
    ]
    many = program.apply([pa.array(["9:15 am"] * 500), pa.array(["17:45"] * 500)])
    assert many.to_pylist() == ["8:30 h"] * 500


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"combined": "product"}, InvalidParameterError, "`combined` of a piece must be one of 'days', 'weeks'"),
        ({"combined": 5}, InvalidParameterError, "`combined` of a piece must be one of"),
        ({"first": "x"}, InvalidTypeError, "`first` of a piece must be an object with column and steps"),
        ({"second": {"column": 2, "steps": []}}, InvalidParameterError, "`column` of a piece must be 0 to 1, got 2"),
        ({"second": {"constant": "x"}}, InvalidParameterError, "a piece of a program must have constant, column and"),
        ({"steps": [{"step": "pad"}] * 9}, InvalidTypeError, "`steps` of a piece must be at most 8 objects"),
        ({"more": 1}, InvalidParameterError, "a piece of a program must have constant, column and steps, or combined"),
    ],
)
def test_stored_pieces_are_checked(change, error, message):
    values = Program(("a", "b"), (Combined("years", *DATES),)).to_dict()
    assert Program.from_dict(values).pieces[0] == Combined("years", *DATES)
    values["pieces"][0].update(change)
    with pytest.raises(error, match=message):
        Program.from_dict(values)


@settings(max_examples=10)
@given(st.sampled_from(COMBINATIONS), st.integers(0, 3))
def test_pieces_are_renumbered(kind, place):
    piece = Combined(kind, Extract(1, (Slice(0, 2),)), Extract(0))
    moved = piece.moved({0: place, 1: place + 1})
    assert (moved.first.column, moved.second.column, moved.kind) == (place + 1, place, kind)
