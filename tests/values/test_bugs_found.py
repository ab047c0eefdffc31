from decimal import Decimal

import pyarrow as pa
import pytest

from dfjoin.types import IndexSettings
from dfjoin.values.normalize import is_searchable_type, normalize_column
from dfjoin.values.profile import kind_of

SETTINGS = IndexSettings()


# Arrow writes a decimal zero of scale 7 and more as 0E-10.
def test_a_decimal_zero_of_any_scale_is_the_digit_zero():
    array = pa.array([Decimal("0"), Decimal("1")], pa.decimal128(20, 10))
    assert normalize_column(array, SETTINGS).values() == ["0", "1"]


# Arrow writes decimals of negative scale as 1E+3.
def test_decimals_of_negative_scale_are_their_digits():
    array = pa.array([Decimal("1000"), Decimal("12000")], pa.decimal128(5, -3))
    assert normalize_column(array, SETTINGS).values() == ["1000", "12000"]


# The cast from ns to us rounds towards zero: times before 1970 move up, here into another day.
def test_nanoseconds_before_1970_are_cut_as_those_of_their_text():
    array = pa.array([-1], pa.timestamp("ns"))
    text = pa.array(["1969-12-31T23:59:59.999999999"])
    assert normalize_column(text, SETTINGS).values() == ["1969-12-31t23:59:59.999999"]
    assert normalize_column(array, SETTINGS).values() == normalize_column(text, SETTINGS).values()


def test_every_type_that_is_called_searchable_can_be_normalised():
    array = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    assert not is_searchable_type(array.type) or len(normalize_column(array, SETTINGS)) > 0


@pytest.mark.parametrize("type_", [pa.binary_view(), pa.dictionary(pa.int8(), pa.binary())], ids=str)
def test_every_binary_type_is_of_kind_binary(type_):
    assert kind_of(normalize_column(pa.nulls(1), SETTINGS), type_) == "binary"
