"""What a column is: its kind, its range, how much of it is null or repeated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels.texts import numbers as spellings
from dfjoin.values.cells import cell_type, is_searchable_type
from dfjoin.values.header_meaning import number_meaning
from dfjoin.values.normalize import ValueSet

INDEXED_KINDS = ("text", "integer", "decimal", "date")
"""Kinds of column that are indexed by default, from two distinct values on."""

MAX_TEXT = 100
"""Characters that a profile has of a text."""

_TOO_LARGE = 10**18
_INTEGERS = 1 << spellings.INTEGER
_NUMBERS = _INTEGERS | 1 << spellings.NUMBER
_TIMES = 1 << spellings.DATE | 1 << spellings.TIMESTAMP
_FLAGS = 1 << spellings.BOOLEAN


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of one column.

    Parameters
    ----------
    kind : str
        One of `dfjoin.index.catalog.KINDS`.
    cardinality : int
        Distinct non-null canonical values.
    has_range : bool
        All values are integers of at most 18 digits.
    min_integer, max_integer : int
        Their range, 0 without.
    min, max : str
        First and last canonical value, by number or by code point; at most 100 characters. Empty where not asked for,
        and for kinds that are neither indexed nor floats.
    """

    kind: str
    cardinality: int = 0
    has_range: bool = False
    min_integer: int = 0
    max_integer: int = 0
    min: str = ""
    max: str = ""

    @property
    def is_indexable(self) -> bool:
        """Whether the default rule indexes the column."""
        return self.kind in INDEXED_KINDS and self.cardinality >= 2


def has_fractions(array: pa.Array | pa.ChunkedArray) -> bool:
    """Tell whether a column holds floats that are no whole numbers: its kind is "float" then, which no index has.

    Examples
    --------
    >>> import pyarrow as pa
    >>> [has_fractions(pa.array(values)) for values in ([1.0, 2.5, None], [1.0, 2.0], ["2.5"])]
    [True, False, False]
    """
    if not pa.types.is_floating(array.type):
        return False
    array = array.cast(pa.float32()) if pa.types.is_float16(array.type) else array  # Arrow rounds no halves
    return bool(pc.any(pc.not_equal(array, pc.floor(array)), min_count=0).as_py())


def kind_of(values: ValueSet, type_: pa.DataType) -> str:
    """Return the kind of a column from its declared type and its distinct values.

    A text column whose values are all integers is an integer column, one whose values are all numbers
    a float column, and so for dates and boolean words; one other value makes it text.
    """
    return kind_of_classes(present_classes(values), type_)


def present_classes(values: ValueSet) -> int:
    """Return the classes of some values as bits; 0 of none."""
    if values.integers is not None and len(values):
        return _INTEGERS
    held = values.classes.tobytes()
    return sum(1 << number for number in range(spellings.DAY_MONTH_YEAR + 1) if number in held)


def kind_of_classes(present: int, type_: pa.DataType) -> str:
    """Return the kind of a column of this type, by the classes of its values as `present_classes` has them."""
    is_text = pa.types.is_string(type_) or pa.types.is_large_string(type_)
    if not is_text:
        type_ = cell_type(type_)
        if pa.types.is_boolean(type_):
            return "boolean"
        if pa.types.is_nested(type_):
            return "nested"
        if not is_searchable_type(type_):
            return "binary"
    if not present:
        return "empty"
    if present == _INTEGERS:
        return "integer"
    if pa.types.is_decimal(type_):
        return "decimal"
    if pa.types.is_floating(type_) or present & ~_NUMBERS == 0:
        return "float"
    if present & ~_TIMES == 0:
        return "date"
    if present == _FLAGS:
        return "boolean"
    return "text"


def profile_values(values: ValueSet, type_: pa.DataType, has_texts: bool = True) -> Profile:
    """Compute the profile of a column from its distinct values.

    Parameters
    ----------
    values : ValueSet
        All distinct values of the column.
    type_ : pyarrow.DataType
        The type it was read with.
    has_texts : bool, default True
        Find the first and last value of a column that is not of integers; else `min` and `max` are empty.
        Of floats, infinite ones take no part.

    Returns
    -------
    Profile

    Notes
    -----
    O(bytes of the distinct values).
    """
    kind, n = kind_of(values, type_), len(values)
    if kind == "integer":
        smallest, largest, has_range = _integer_range(values)
        if has_range:
            return Profile(kind, n, True, smallest, largest, str(smallest), str(largest))
    low = high = ""
    if kind == "float" and has_texts:
        low, high = _float_range(values)
    elif kind in INDEXED_KINDS and has_texts:
        ends = spellings.text_range(values.data, values.offsets)
        low, high = (values.value(int(i))[:MAX_TEXT] if i >= 0 else "" for i in ends)
    return Profile(kind, n, min=low, max=high)


def _integer_range(values: ValueSet) -> tuple[int, int, bool]:
    """Return the smallest and the largest of some integers, and whether all have at most 18 digits."""
    if values.integers is None:
        smallest, largest, has_range = spellings.integer_range(values.data, values.offsets)
        return int(smallest), int(largest), bool(has_range)
    smallest, largest = values.integers.bounds
    return smallest, largest, smallest > -_TOO_LARGE and largest < _TOO_LARGE


def _float_range(values: ValueSet) -> tuple[str, str]:
    """Return the smallest and the largest of values that are numbers, as text; of equal ones the first."""
    buffers = [None, pa.py_buffer(values.offsets), pa.py_buffer(values.data)]
    texts = pa.Array.from_buffers(pa.large_string(), len(values), buffers)
    try:
        numbers = texts.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:  # a number in a spelling of its own, as with a comma
        return "", ""
    low, high = int(numbers.argmin()), int(numbers.argmax())
    if not (math.isfinite(numbers[low]) and math.isfinite(numbers[high])):
        finite = np.flatnonzero(np.isfinite(numbers))
        if finite.size == 0:
            return "", ""
        low, high = int(finite[np.argmin(numbers[finite])]), int(finite[np.argmax(numbers[finite])])
    return _number_text(values.value(low), numbers[low]), _number_text(values.value(high), numbers[high])


def _number_text(text: str, number: float) -> str:
    """Return the text of a number, in scientific spelling if it is long."""
    return text if len(text) <= MAX_TEXT else repr(float(number))


def merge_profiles(parts: list[Profile]) -> Profile:
    """Combine the profiles of parts of one column; `cardinality` becomes an upper bound, but 1 is told for sure."""
    parts = [part for part in parts if part.kind != "empty"] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    kinds = {part.kind for part in parts}
    for wide in ({"integer"}, {"integer", "decimal"}, {"integer", "float"}):
        if kinds <= wide:
            kind = max(kinds, key=lambda k: k != "integer")
            break
    else:
        kind = kinds.pop() if len(kinds) == 1 else "text"
    has_range = kind == "integer" and all(part.has_range for part in parts)
    smallest = min(part.min_integer for part in parts) if has_range else 0
    largest = max(part.max_integer for part in parts) if has_range else 0
    low, high = _merge_texts(parts, kind)
    if has_range:
        low, high = str(smallest), str(largest)
    total = sum(part.cardinality for part in parts)
    if 0 < len(low) < MAX_TEXT and low == high and kind != "float":
        total = 1  # the same value in every part
    return Profile(kind, total, has_range, smallest, largest, low, high)


def _merge_texts(parts: list[Profile], kind: str) -> tuple[str, str]:
    """Return the first and the last text of all parts: by number for floats, else by code point."""
    lows, highs = [part.min for part in parts], [part.max for part in parts]
    if kind != "float":
        return min(lows), max(highs)
    if not all(lows) or not all(highs):
        return "", ""
    return min(lows, key=float), max(highs, key=float)


# Which columns of numbers measure something, so that a mean says something, and which hold codes or
# coordinates.


_EXACT = 2.0**53
"""Whole numbers beyond it have no exact float, so that a mean would falsify them."""

_FEW_ROWS = 40
"""Fewer rows do not tell whether values are repeated."""

_FEW_NUMBERED = 10
"""Fewer rows may count 1, 2, 3 … by chance."""

_FIXED_FROM = 1000
"""From four digits on, numbers that all have the same number of digits look like codes."""


@dataclass(frozen=True)
class NumberColumn:
    """What is known of all numbers of a column.

    Parameters
    ----------
    n_values : int
        Rows that have one.
    smallest, largest : float
        NaN where they are not known.
    is_whole : bool
        All are whole.
    is_exact : bool
        They are held as integers or decimals, and not as floats.
    count_distinct : callable
        Counts the distinct values; called at most once, and only where the header does not tell.
    """

    n_values: int
    smallest: float
    largest: float
    is_whole: bool
    is_exact: bool
    count_distinct: Callable[[], int]

    @cached_property
    def n_distinct(self) -> int:
        """Distinct values."""
        return self.count_distinct()


def number_column(values: NDArray[np.float64], *, is_exact: bool) -> NumberColumn:
    """Describe the numbers of a column; those that are not finite do not count.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows,)
        NaN for null.
    is_exact : bool
        See `NumberColumn`.

    Notes
    -----
    O(rows).
    """
    held = values[np.isfinite(values)]
    low, high = (float(held.min()), float(held.max())) if held.size else (np.nan, np.nan)

    is_whole = bool((held == np.floor(held)).all())
    return NumberColumn(held.size, low, high, is_whole, is_exact, lambda: pd.unique(held).size)


def is_measured(name: str, numbers: NumberColumn) -> bool:
    """Tell whether numbers of a column measure or count something.

    Parameters
    ----------
    name : str
        Header of the column.
    numbers : NumberColumn

    Returns
    -------
    bool
        False for codes, identifiers and coordinates, and where the values leave it open: a mean of codes is false,
        and a value on which rows agree is true of both. The header decides where it tells. Else fractions are measured,
        unless they may be degrees under ``x`` and ``y``; whole numbers are, unless all are different, or number the
        rows, or have the same number of digits (four or more).

    Notes
    -----
    The thresholds are those that labelled columns of other sources choose, see `tests.benchmarks.measures`. Whether the
    values of a column lie in a key of another table of a lake tells no more.

    Examples
    --------
    >>> def of(*values): return number_column(np.array(values, float), is_exact=True)
    >>> [is_measured("n", of(*values)) for values in ((3, 1, 2, 2), (541110, 236220, 541110))]
    [True, False]
    >>> [is_measured(name, of(2500734, 3501905)) for name in ("population", "town_code")]
    [True, False]
    """
    meaning = number_meaning(name)
    if meaning in ("code", "coordinate"):
        return False
    if numbers.n_values == 0:
        return True
    if numbers.is_exact and numbers.is_whole and not _is_within(numbers, _EXACT):
        return False
    if meaning == "measure":
        return True
    if not numbers.is_whole:
        return meaning != "axis" or not _is_within(numbers, 180.0)
    if meaning == "class":
        return False
    return meaning != "number" and not _look_like_codes(numbers)


def _is_within(numbers: NumberColumn, most: float) -> bool:
    return bool(max(-numbers.smallest, numbers.largest) <= most)


def _look_like_codes(numbers: NumberColumn) -> bool:
    """Tell whether whole numbers are told apart by their values rather than ordered by them."""
    n_distinct = numbers.n_distinct
    if n_distinct == numbers.n_values:
        ends = numbers.smallest, numbers.largest - n_distinct
        if n_distinct >= _FEW_ROWS or (n_distinct >= _FEW_NUMBERED and ends in ((0, -1), (1, 0))):
            return True
    return numbers.smallest >= _FIXED_FROM and len(f"{numbers.smallest:.0f}") == len(f"{numbers.largest:.0f}")
