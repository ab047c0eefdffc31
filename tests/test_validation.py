"""Checks of arguments: what is legal comes back as one type, everything else is named in the error."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin._validation import check_choice, check_fraction, check_patterns, check_positive_int
from dfjoin.errors import InvalidParameterError, InvalidTypeError


@given(st.integers(-5, 2**70))
def test_an_integer_is_accepted_from_one_on(value):
    if value >= 1:
        assert check_positive_int(value, "k") == value
    else:
        with pytest.raises(InvalidParameterError, match=rf"^`k` must be at least 1, got {value}$"):
            check_positive_int(value, "k")


@pytest.mark.parametrize("value", [np.int8(7), np.uint64(7)], ids=repr)
def test_an_integer_of_numpy_becomes_one_of_python(value):
    assert type(check_positive_int(value, "k")) is int and check_positive_int(value, "k") == 7


@pytest.mark.parametrize("value", [True, np.True_, 1.0, "3", None, [1], Fraction(2, 1)], ids=repr)
def test_what_is_no_integer_is_shown_in_the_error(value):
    text = f"`pad` must be an integer of at least 1, got {value!r}"
    with pytest.raises(InvalidTypeError, match=f"^{re.escape(text)}$"):
        check_positive_int(value, "pad")


@given(st.one_of(st.floats(), st.integers(-3, 3), st.fractions(-2, 2)))
def test_a_number_is_accepted_from_zero_to_one(value):
    if value >= 0 and value <= 1:
        found = check_fraction(value, "threshold")
        assert type(found) is float and found == pytest.approx(float(value), abs=0)
    else:
        with pytest.raises(InvalidParameterError) as caught:
            check_fraction(value, "threshold")
        assert str(caught.value) == f"`threshold` must be between 0 and 1, got {value!r}"


@pytest.mark.parametrize("value", [True, False, np.False_, "0.5", None, 1j, Decimal("0.5")], ids=repr)
def test_what_is_no_number_is_shown_in_the_error(value):
    text = f"`recall` must be a number between 0 and 1, got {value!r}"
    with pytest.raises(InvalidTypeError, match=f"^{re.escape(text)}$"):
        check_fraction(value, "recall")


@pytest.mark.parametrize("value", [True, None, "left"], ids=repr)
def test_a_choice_comes_back(value):
    assert check_choice(value, "how", (None, True, "left")) is value


@pytest.mark.parametrize(
    ("value", "choices"),
    [(1, (True, False)), (0, (True, False)), (True, (0, 1)), ("Left", ("left",)), (np.array([1, 2]), (1, None))],
)
def test_a_value_that_only_equals_a_choice_is_refused(value, choices):
    """`1 == True`, and a comparison of arrays has no truth."""
    with pytest.raises(InvalidParameterError, match=r"^`how` must be one of "):
        check_choice(value, "how", choices)


def test_the_error_lists_ten_choices():
    with pytest.raises(InvalidParameterError, match=r"^`n` must be one of 0, 1, .*, 9, … \(12 in all\), got 'x'$"):
        check_choice("x", "n", range(12))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, ()), ("a/*", ("a/*",)), (["a", "b"], ("a", "b")), (("a",), ("a",)), ([], ()), ({"a"}, ("a",))],
)
def test_patterns_become_a_tuple(value, expected):
    assert check_patterns(value, "tables") == expected
    if value is not None and not isinstance(value, str):
        assert check_patterns(iter(value), "tables") == expected


@pytest.mark.parametrize("value", [3, b"ab", ["a", None], ["a", 1], {"a": "b"}, {}, 0.5], ids=repr)
def test_what_holds_no_patterns_is_shown_in_the_error(value):
    text = f"`exclude` must be a pattern or a list of patterns, got {value!r}"
    with pytest.raises(InvalidTypeError, match=f"^{re.escape(text)}$"):
        check_patterns(value, "exclude")
