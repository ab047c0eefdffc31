from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.texts.numbers import canonical_number, integer_range, parse_integers, text_range
from tests.kernels.packing import pack, run_in_place
from tests.oracles.values import naive_number


@given(st.from_regex(r"[-+]?[0-9]{0,4}(\.[0-9]{0,3})?(e[-+]?[0-9]{0,2})?x?", fullmatch=True).filter(len))
def test_numbers_are_told_and_integers_written_without_their_zeros(text):
    assert run_in_place(canonical_number, text) == naive_number(text)


@pytest.mark.parametrize(
    ("text", "written", "kind"),
    [
        ("1", "1", 1),
        ("1.0", "1", 1),
        ("-12.000", "-12", 1),
        ("-0", "0", 1),
        ("-0.0", "0", 1),
        ("0", "0", 1),
        ("9" * 40, "9" * 40, 1),
        ("007", "007", 0),
        ("+49", "+49", 0),
        ("1.10", "1.10", 2),
        ("1e3", "1e3", 2),
        ("01.5", "01.5", 0),
        ("+1.5", "+1.5", 0),
        (".5", ".5", 2),
        ("-.5", "-.5", 2),
        ("5.", "5.", 2),
        ("-", "-", 0),
        (".", ".", 0),
        ("e5", "e5", 0),
        ("1e", "1e", 0),
        ("1e+", "1e+", 0),
        ("1.5e-7", "1.5e-7", 2),
        ("--1", "--1", 0),
        ("1-2", "1-2", 0),
        ("1,5", "1,5", 0),
        ("1.0.0", "1.0.0", 0),
        ("1.0e0", "1.0e0", 2),
    ],
)
def test_these_numbers_are_read_so(text, written, kind):
    assert run_in_place(canonical_number, text) == (written, kind)


INTEGERS = st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1, max_size=12)


@given(INTEGERS)
def test_range_of_integers_is_from_the_smallest_to_the_largest(numbers):
    data, offsets = pack([str(n).encode() for n in numbers])
    assert tuple(integer_range(data, offsets)) == (min(numbers), max(numbers), True)


@pytest.mark.parametrize("bad", ["", "-", "a", "1.5", "1" * 19, "-" + "1" * 19, "1-"])
def test_there_is_no_range_with_a_value_that_is_no_short_integer(bad):
    data, offsets = pack([b"5", bad.encode(), b"7"])
    assert tuple(integer_range(data, offsets)) == (0, 0, False)


def test_there_is_no_range_of_nothing():
    data, offsets = pack([])
    assert not integer_range(data, offsets)[2]
    assert text_range(data, offsets) == (-1, -1)


@given(st.lists(st.text(max_size=4), min_size=1, max_size=12, unique=True))
def test_first_and_last_text_are_those_by_code_point(texts):
    data, offsets = pack([t.encode() for t in texts])
    first, last = text_range(data, offsets)
    assert (texts[first], texts[last]) == (min(texts), max(texts))


def test_decimal_numbers_keep_the_value_that_was_written():
    for text in ("-0.50", "12.340", ".25", "7.", "1.5e10", "0.000"):
        written, _ = run_in_place(canonical_number, text)
        assert Decimal(written) == Decimal(text)


@given(INTEGERS)
def test_packed_integers_are_parsed_to_their_numbers(numbers):
    data, offsets = pack([str(n).encode() for n in numbers])
    assert parse_integers(data, offsets).tolist() == numbers
