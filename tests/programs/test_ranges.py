import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.part_operators import FromRun, Parts, UptoRun


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (Parts(" ", 0, -2), "Ann K. Lee", "Ann K."),
        (Parts(" ", 1, -1), "Ann K. Lee", "K. Lee"),
        (Parts(", ", 1, 1), "a, b, c", "b"),
        (Parts(" ", 0, -2), "Ann", None),
        (Parts(" ", 2, 1), "a b c", None),
        (Parts(",", 0, 1), "a,,b", None),
        (Parts(",", 0, 2), "a,,b", "a,,b"),
        (FromRun("letters", 0), "12 Ann 3", "Ann 3"),
        (FromRun("digits", -1), "12 Ann 345!", "345!"),
        (FromRun("digits", 2), "12 Ann 345", None),
        (UptoRun("letters", 0), "12 Ann 3", "12 Ann"),
        (UptoRun("digits", -2), "1 Ann 22 33", "1 Ann 22"),
    ],
)
def test_what_each_step_makes(step, text, expected):
    assert step(text) == expected


@given(st.text("ab,", max_size=8), st.integers(-3, 3), st.integers(-3, 3))
def test_stretches_are_parts_joined_again(text, first, last):
    parts = text.split(",")
    numbers = range(len(parts))
    expected = None
    if -len(parts) <= first < len(parts) and -len(parts) <= last < len(parts) and numbers[first] <= numbers[last]:
        kept = parts[numbers[first] : numbers[last] + 1]
        expected = ",".join(kept) if kept[0] and kept[-1] else None
    assert Parts(",", first, last)(text) == expected
