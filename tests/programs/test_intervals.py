"""Numbers found in texts, rounded and written, against `decimal`."""

from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, ROUND_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.number_operators import ROUNDINGS, NthNumber, RoundTo, WriteNumber

MODES = dict(zip(ROUNDINGS, (ROUND_HALF_UP, ROUND_FLOOR, ROUND_CEILING, ROUND_DOWN, ROUND_UP), strict=True))


@pytest.mark.parametrize(
    ("step", "text", "expected"),
    [
        (NthNumber(0), "$1,234.50 of 7", "1234.50"),
        (NthNumber(-1), "$1,234.50 of 7", "7"),
        (NthNumber(0), "no.5", "5"),
        (NthNumber(0), ".5", None),
        (NthNumber(0), "a-5", "5"),
        (NthNumber(0), "(-5)", "-5"),
        (NthNumber(0, ","), "1.234,5 kg", "1234.5"),
        (NthNumber(1), "12", None),
        (RoundTo("0", "0.5", "nearest", "0"), "-1.25", "-1.5"),
        (RoundTo("0", "10", "floor", "9"), "163", "169"),
        (RoundTo("-3", "5", "floor", "3"), "12", "8"),
        (RoundTo("0", "0.01", "up", "0"), "-0.0116", "-0.02"),
        (RoundTo("0", "1", "nearest", "0"), "-0.4", "0"),
        (RoundTo("0", "1", "nearest", "0"), "1e3", None),
        (WriteNumber(2, 2), "-0.001", "0.00"),
        (WriteNumber(0, 2), "12.50", "12.5"),
        (WriteNumber(1, None, ",", "."), "1234567", "1.234.567,0"),
        (WriteNumber(0, None), "1.50", "1.50"),
        (WriteNumber(0, None), "x", None),
    ],
)
def test_what_each_step_makes(step, text, expected):
    assert step(text) == expected


@given(
    st.decimals("-99999", "99999", places=4), st.sampled_from(["1", "0.5", "25", "0.03"]), st.sampled_from(ROUNDINGS)
)
def test_rounding_is_that_of_decimals(number, interval, mode):
    expected = (number / Decimal(interval)).quantize(Decimal(1), MODES[mode]) * Decimal(interval)
    assert Decimal(RoundTo("0", interval, mode, "0")(format(number, "f"))) == expected


@given(st.decimals("-99999", "99999", places=6), st.integers(0, 6))
def test_digits_are_rounded_half_away_from_zero(number, digits):
    expected = number.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    written = WriteNumber(0, digits)(format(number, "f"))
    assert Decimal(written) == expected
    assert not ("." in written and written.endswith("0"))
