"""Which columns of numbers measure something, so that a mean says something, and which hold codes or coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.values.header_meaning import number_meaning

__all__ = ["NumberColumn", "is_measured", "number_column"]

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
