"""Marks of numbers: found from all columns, and taken out of the cells that are numbers."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.sources.number_marks import find_marks, plain_numbers
from dfjoin.types import Dialect


def marks(*columns, delimiter=";", decimal=None):
    found = find_marks(columns, delimiter, decimal)
    return found.decimal, found.thousands, found.columns


@pytest.mark.parametrize(
    ("columns", "delimiter", "expected"),
    [
        ([["1", "2"], ["1.5", "2.25"]], ",", (".", "", ())),
        ([["0,50", "1,5"], ["x", "y"]], ";", (",", "", (0,))),
        ([["1.234,50", "7,10"], ["1.000", "1.299"], ["a", "b"]], ";", (",", ".", (0, 1))),
        ([["1.234", "12.345"], ["a", "b"]], ";", (".", "", ())),  # thousands or three decimals: nothing proves it
        ([["1.234.567", "12.345"]], ";", (",", ".", (0,))),  # two groups
        ([["1,234", "12,345", "7"]], ",", (".", ",", (0,))),
        ([["1,234", "2,345"]], ";", (",", "", (0,))),  # three decimals: nothing proves thousands
        ([["12,34,567", "1,23,456.50"]], ",", (".", ",", (0,))),
        ([["1 234,5", "12 000,0"], ["4", "5"]], ";", (",", " ", (0, 1))),
        ([["1'234.5", "12’000.0"]], ";", (".", "'", (0,))),
        ([["123 456 789", "987 654 321"], ["1,5", "2,5"]], ";", (",", "", (1,))),  # numbers of firms
        ([["192.168.100.200", "10.1.2.3"], ["0,5", "1,5"]], ";", (",", "", (1,))),
        ([["1.2", "3.4"], ["0,5", "1,5"]], ";", (",", "", (1,))),
        ([["1,234", "2,5"]], ",", (".", "", ())),  # a mark of thousands, and one of decimals
        ([["809,829,849", *["297"] * 20, "90,47"]], ",", (".", "", ())),  # lists of codes
    ],
)
def test_marks_are_those_that_most_columns_show(columns, delimiter, expected):
    assert marks(*columns, delimiter=delimiter) == expected


def test_a_given_decimal_mark_is_taken():
    assert marks(["1.234", "2.345"], ["1", "2"], decimal=",") == (",", ".", (0, 1))
    assert marks(["1,5", "2,5"], decimal=".")[0] == "."


def test_a_point_before_three_digits_is_doubtful_beside_semicolons():
    assert find_marks([["1.234", "12.345"]], ";").doubt == "1.234 may have a decimal point or a mark of thousands"
    assert find_marks([["1.234", "12.345"]], ",").doubt == ""
    assert find_marks([["1.25", "12.345"]], ";").doubt == ""


def test_cells_that_are_no_numbers_stay():
    batch = pa.record_batch({"a": ["1.234,50", "n. a.", None, " 7,1 "], "b": ["1,5"] * 4})
    dialect = Dialect(decimal=",", thousands=".", number_columns=(0,))
    (plain,) = plain_numbers(iter([batch]), dialect, ["a", "b"])
    assert plain.to_pydict() == {"a": ["1234.50", "n. a.", None, " 7.1 "], "b": ["1,5"] * 4}


@given(
    st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1),
    st.sampled_from([(",", "."), (",", " "), (".", ","), (".", "'")]),
)
def test_a_number_is_the_same_whatever_its_marks(numbers, used):
    decimal, thousands = used
    texts = [f"{n:,.2f}".translate({ord(","): thousands, ord("."): decimal}) for n in numbers]
    dialect = Dialect(decimal=decimal, thousands=thousands, number_columns=(0,))
    (plain,) = plain_numbers(iter([pa.record_batch({"a": texts})]), dialect, ["a"])
    assert plain.column(0).to_pylist() == [f"{n:.2f}" for n in numbers]
