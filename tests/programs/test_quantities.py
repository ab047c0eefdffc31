import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.errors import InvalidParameterError
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.programs.quantities import QUANTITIES, Quantity, quantity_tables, unit_factors


@pytest.mark.parametrize(
    ("table", "text", "expected"),
    [
        ("number", "33 psia", "33"),
        ("number", "CAD$1.30", "1.3"),
        ("number", "-$1,234.50", "-1234.5"),
        ("number", "$ -5", "-5"),
        ("number", "\u22125 \u00b0C", "-5"),
        ("number", "ISBN-083", "83"),
        ("number", "1,23", None),
        ("number", "1-2", None),
        ("number", "none", None),
        ("number", "0.0", "0"),
        ("number", "1234567890123", None),
        ("magnitude", "1.2 M", "1200000"),
        ("magnitude", "1,200,000", "1200000"),
        ("magnitude", "45%", "0.45"),
        ("magnitude", "$2.5bn", "2500000000"),
        ("magnitude", "2 kg", None),
        ("bytes", "100 KB", "102400"),
        ("bytes", "1b", "0.125"),
        ("bytes", "1B", "1"),
        ("decimal bytes", "100 KB", "100000"),
        ("length", "3 ft.", "0.9144"),
        ("length", "3", None),
        ("length", "0.01 um", None),
        ("mass", "2 LBS", "907.18474"),
        ("volume", "1 gal", "3785.411784"),
        ("duration", "1.5 h", "5400"),
    ],
)
def test_numbers_are_read_with_their_units(table, text, expected):
    assert Quantity(table)(text) == expected


@given(st.decimals("0", "999999999999", places=6), st.booleans())
def test_a_plain_number_stays_as_it_is(number, is_negative):
    text = format(-number if is_negative and number else number, "f")
    found = Quantity("number")(text)
    assert Decimal(found) == Decimal(text)
    assert not found.endswith(".")
    assert not ("." in found and found.endswith("0"))


@pytest.mark.parametrize("table", QUANTITIES)
def test_factors_fit_the_decimals_of_every_engine(table):
    units, factors = (text.split(",") for text in unit_factors(table))
    assert len(units) == len(factors) == len(set(units))
    assert all(re.fullmatch("[0-9]{1,10}([.][0-9]{1,9})?", factor) for factor in factors if table != "number")


@pytest.mark.parametrize(
    ("texts", "tables"),
    [
        (["33 psia", "3 psia"], ["number"]),
        (["1 ft", "3 ft"], ["length", "number"]),
        (["1 kg", "3 lb", "4 oz", "1 t"], ["mass"]),
        (["1.2 M", "3 K", "500"], ["magnitude"]),
        (["1.2 MB", "3 KB", "500 B"], ["bytes", "decimal bytes"]),
        (["45%", "3%"], ["magnitude", "number"]),
        (["a 1", "b 2", "c 3"], []),
        (["x", "y"], []),
        ([], []),
        ([None], []),
    ],
)
def test_tables_are_those_of_the_units(texts, tables):
    assert quantity_tables(texts) == tables


def test_a_stored_table_has_to_be_known():
    stored = Program(("a",), (Extract(0, (Quantity("mass"),)),)).to_dict()
    assert str(Program.from_dict(stored)) == "a.quantity('mass')"
    stored["pieces"][0]["steps"][0]["table"] = "luck"
    with pytest.raises(InvalidParameterError, match="`table` of step 'quantity' must be one of 'number', 'magnitude'"):
        Program.from_dict(stored)
