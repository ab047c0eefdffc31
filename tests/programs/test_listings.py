import re
import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.errors import InvalidParameterError
from dfjoin.programs.number_operators import TOTALS, Total
from dfjoin.programs.part_operators import AllRuns, run_pattern
from dfjoin.programs.program import Program


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (AllRuns("!", 1, ", "), "one! two!! three!!!", "!, !!, !!!"),
        (AllRuns("capitals", 2, ", "), "test ONE, Test TWO", "ONE, TWO"),
        (AllRuns("digits", 1, ""), "a1 b22", "122"),
        (AllRuns("]", 1, ""), "a]b]", "]]"),
        (AllRuns("\\", 1, ""), "a\\b", "\\"),
        (AllRuns("^", 2, "-"), "^^a^", "^^"),
    ],
)
def test_all_runs_are_joined(step, text, expected):
    assert step(text) == expected
    assert not step("nothing of that")


@given(st.text("ab1! ", max_size=20), st.sampled_from(["letters", "digits", "!"]), st.integers(1, 3))
def test_runs_are_maximal(text, kind, least):
    runs = [run for run in re.findall(f"({run_pattern(kind)}+)", text) if len(run) >= least]
    assert AllRuns(kind, least, "|")(text) == "|".join(runs)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("count", "1, 2, 3", "3"),
        ("sum", "12,13,14,12", "51"),
        ("sum", "-1.5; 1.5", "0"),
        ("mean", "1 2", "1.5"),
        ("mean", "1|1|2", "1.333333"),
        ("mean", "-1 -1 -2", "-1.333333"),
        ("median", "9 1 5", "5"),
        ("median", "1 2 3 10", "2.5"),
        ("least", "3, -1.50", "-1.5"),
        ("most", "3", "3"),
        ("range", "1, 100, 2", "99"),
        ("sum", "1 and 2", None),
        ("sum", "", None),
        ("sum", "1234567890", None),
        ("sum", ",".join("1" * 101), None),
    ],
)
def test_lists_of_numbers_have_totals(kind, text, expected):
    assert Total(kind)(text) == expected


@given(st.lists(st.decimals("-999999999", "999999999", places=3), min_size=1, max_size=100))
def test_totals_are_those_of_the_standard_library(numbers):
    text = " ".join(format(number, "f") for number in numbers)
    exact = [Fraction(number) for number in numbers]
    wanted = {"count": len(exact), "sum": sum(exact), "least": min(exact), "most": max(exact)}
    wanted |= {"range": max(exact) - min(exact), "mean": statistics.mean(exact), "median": statistics.median(exact)}
    for kind in TOTALS:
        found = Fraction(Total(kind)(text))
        assert abs(found - wanted[kind]) <= Fraction(1, 2_000_000)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"kind": "x", "least": 1, "mark": ""}, "`kind` of step 'all_runs' must be one of .*, or one printable ASCII"),
        ({"kind": "é", "least": 1, "mark": ""}, "`kind` of step 'all_runs'"),
        ({"kind": "!", "least": 0, "mark": ""}, "`least` of step 'all_runs' must be an integer from 1 to 9"),
        ({"kind": "!", "least": 1, "mark": "-" * 10}, "`mark` of step 'all_runs' must be a text of at most 9"),
    ],
)
def test_stored_steps_are_checked(values, text):
    with pytest.raises(InvalidParameterError, match=text):
        Program.from_dict(stored([values]))


def test_marks_that_would_grow_without_end_are_refused():
    step = {"kind": "letters", "least": 1, "mark": "a-b-c-d-e"}
    assert Program.from_dict(stored([step]))("x y") == "xa-b-c-d-ey"
    with pytest.raises(InvalidParameterError, match="make a text at most 100 times as long"):
        Program.from_dict(stored([step] * 8))


def stored(steps):
    """A stored program of one column."""
    return {
        "version": 1,
        "columns": ["a"],
        "pieces": [{"column": 0, "steps": [{"step": "all_runs", **step} for step in steps]}],
    }
