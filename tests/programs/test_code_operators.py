from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.code_operators import Coded, Scientific, UnitPart, WeightedSum


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("ordinal", "111", "111th"),
        ("ordinal", "22", "22nd"),
        ("ordinal", "-1", None),
        ("to roman", "1994", "MCMXCIV"),
        ("to roman", "4000", None),
        ("from roman", "mcmxciv", "1994"),
        ("from roman", "IIII", None),
        ("from roman", "Mm", None),
        ("to letters", "703", "AAA"),
        ("from letters", "az", "52"),
        ("from letters", "aZ", None),
        ("to code point", "é", "233"),
        ("to code point", "ab", None),
        ("from code point", "65", "A"),
        ("from code point", "32", None),
    ],
)
def test_numbers_are_coded(code, text, expected):
    assert Coded(code)(text) == expected


@given(st.integers(1, 3999))
def test_roman_numerals_are_read_as_they_are_written(number):
    assert Coded("from roman")(Coded("to roman")(str(number))) == str(number)


@given(st.integers(1, 10**7))
def test_letters_are_read_as_they_are_written(number):
    assert Coded("from letters")(Coded("to letters")(str(number))) == str(number)


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (Scientific(2, "e+00"), "49329.5", "4.93e+04"),
        (Scientific(1, "E0"), "0.00999", "1.0E-2"),
        (Scientific(0, "e+0"), "-95", "-1e+2"),
        (Scientific(2, "e00"), "0.0", "0.00e00"),
        (Scientific(2, "e00"), "1e5", None),
        (WeightedSum("12 1", 1), "6'2\"", "74"),
        (WeightedSum("3600 60 1", 3600), "-12 30 15.5", "-12.504306"),
        (WeightedSum("16777216 65536 256 1", 1), "192.168.0.1", "3232235521"),
        (WeightedSum("12 1", 1), "6 ft", None),
        (WeightedSum("12 1", 1), "1234567 1", None),
        (UnitPart(60, 60), "3725.9", "2"),
        (UnitPart(3600, 0), "90000", "25"),
        (UnitPart(1, 60), "-5", None),
    ],
)
def test_numbers_of_several_units(step, text, expected):
    assert step(text) == expected


@given(st.decimals("-999999999999", "999999999999", places=4), st.integers(0, 9))
def test_powers_of_ten_are_exact(number, digits):
    written = Scientific(digits, "e+00")(format(number, "f"))
    unit = Fraction(10) ** (int(written.partition("e")[2]) - digits)
    assert abs(Fraction(written) - Fraction(number)) <= unit / 2
    assert len(written.lstrip("-").partition("e")[0]) == digits + 1 + (digits > 0)


@given(st.lists(st.integers(0, 999_999), min_size=3, max_size=3), st.integers(1, 10**6))
def test_sums_are_rounded_half_up(numbers, divisor):
    text = " ".join(map(str, numbers))
    exact = Fraction(3600 * numbers[0] + 60 * numbers[1] + numbers[2], divisor)
    found = Fraction(WeightedSum("3600 60 1", divisor)(text))
    assert -Fraction(1, 2_000_000) < found - exact <= Fraction(1, 2_000_000)
