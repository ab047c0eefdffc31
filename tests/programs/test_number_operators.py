from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.number_operators import BASES, STYLES, Base, Linear, Round, StripZeros, Thousands, Year


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (StripZeros(), "000", "0"),
        (StripZeros(), "007", "7"),
        (Round(1), "-0.05", "-0.1"),
        (Round(0), "-0.4", "0"),
        (Round(2), "1e3", None),
        (Thousands(), "-1234567.891", "-1,234,567.891"),
        (Thousands(), "12a", None),
        (Year(70), "69", "2069"),
        (Year(70), "70", "1970"),
        (Year(70), "1970", None),
        (Base(16, 2), "fF", "11111111"),
        (Base(2, 10), "000", "0"),
        (Base(2, 10), "102", None),
        (Base(16, 10), "1" * 13, None),
        (Linear("2.54", "0", 2, "fixed"), "10", "25.40"),
        (Linear("2.54", "0", 2, "plain"), "10", "25.4"),
        (Linear("0.039370078740157", "0", 6, "significant"), "1", "0.0393701"),
        (Linear("1.8", "32", 0, "fixed"), "-40", "-40"),
        (Linear("0.0000001", "0", 3, "significant"), "1", None),
        (Linear("0.0000001", "0", 8, "fixed"), "1", None),
        (Linear("1", "-1", 3, "significant"), "1", "0"),
        (Linear("2", "0", 0, "fixed"), "1234567890", None),
    ],
)
def test_what_each_step_makes(step, text, expected):
    assert step(text) == expected


@given(st.decimals("-99999", "99999", places=6), st.integers(0, 6))
def test_rounding_is_half_away_from_zero(number, digits):
    expected = number.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    assert Round(digits)(format(number, "f")) == format(expected, "f").replace("-0" if expected == 0 else "\0", "0")


@given(
    st.decimals("-99999", "99999", places=4),
    st.decimals("-999", "999", places=6),
    st.decimals("-99", "99", places=3),
    st.integers(0, 6),
)
def test_linear_is_exact(number, scale, offset, digits):
    exact = Fraction(number) * Fraction(scale) + Fraction(offset)
    step = Linear(format(scale, "f"), format(offset, "f"), digits, "fixed")
    assert abs(Fraction(step(format(number, "f"))) - exact) <= Fraction(1, 2 * 10**digits)


@given(st.integers(0, 10**9), st.sampled_from(BASES), st.sampled_from(BASES))
def test_bases_are_read_as_python_reads_them(number, old, new):
    formats = {2: "b", 8: "o", 10: "d", 16: "X"}
    written = format(number, formats[old])
    if len(written) <= 12:
        assert Base(old, new)(written) == format(number, formats[new])


def test_styles_are_those_that_are_tested():
    assert STYLES == ("fixed", "plain", "significant")
