from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.number_operators import AsRatio, Exponent, Ratio


@pytest.mark.parametrize(
    ("digits", "text", "expected"),
    [
        (6, "1/4", "0.25"),
        (2, "2/3", "0.67"),
        (0, "5/2", "3"),
        (6, "1 1/2", "1.5"),
        (6, "1-1/2", "1.5"),
        (6, "200 / 4", "50"),
        (6, "1/0", None),
        (6, "-1/2", None),
        (6, "1/2/3", None),
        (6, "0.5/2", None),
    ],
)
def test_fractions_have_a_value(digits, text, expected):
    assert Ratio(digits)(text) == expected


@given(st.integers(0, 10**6 - 1), st.integers(0, 10**6 - 1), st.integers(1, 10**6 - 1), st.integers(0, 6))
def test_values_are_rounded_half_up(whole, above, below, digits):
    exact = whole + Fraction(above, below)
    found = Ratio(digits)(f"{whole} {above}/{below}")
    assert Fraction(found) == Fraction((exact * 10**digits + Fraction(1, 2)).__floor__(), 10**digits)


@given(st.integers(0, 10**9 - 1), st.integers(0, 10**9 - 1), st.integers(1, 9))
def test_decimals_are_fractions_in_lowest_terms(whole, rest, digits):
    text = f"{whole}.{str(rest).rjust(digits, '0')[:digits]}"
    assert AsRatio()(text) == str(Fraction(text))


@pytest.mark.parametrize("text", ["-0.5", ".5", "1.", "1e3", "1234567890", ""])
def test_what_is_no_plain_decimal_is_no_fraction(text):
    assert AsRatio()(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5857E+0", "1.5857"),
        ("13.33e-11", "0.0000000001333"),
        ("-2E3", "-2000"),
        ("007.50", "7.5"),
        ("-0e5", "0"),
        ("1e13", None),
        ("e5", None),
        ("1.e5", None),
    ],
)
def test_numbers_with_exponents_are_plain_decimals(text, expected):
    assert Exponent()(text) == expected


@given(
    st.integers(-(10**12) + 1, 10**12 - 1),
    st.text("0123456789", max_size=12),
    st.integers(-12, 12),
    st.sampled_from("eE"),
)
def test_the_value_stays(whole, rest, power, letter):
    text = f"{whole}{'.' * bool(rest)}{rest}{letter}{power}"
    found = Exponent()(text)
    assert Decimal(found) == Decimal(text)
    assert "e" not in found.lower() and not found.endswith(".") and not ("." in found and found.endswith("0"))
