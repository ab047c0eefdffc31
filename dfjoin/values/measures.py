"""Which columns of numbers measure something, so that a mean says something, and which hold codes or coordinates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.values.header_meaning import number_meaning

__all__ = ["MOST_LOOKED_AT", "NumberColumn", "is_measured", "number_column"]

_EXACT = 2.0**53
"""Whole numbers beyond it have no exact float, so that a mean would falsify them."""

_FEW_ROWS = 20
"""Fewer rows do not tell whether values are repeated."""

_NEARLY_UNIQUE = 0.9
_FIXED_FROM = 1000
"""From four digits on, numbers that all have the same number of digits look like codes."""

_MOST_GAPS = 3
"""Numbers of rows leave out two of three at most."""

_FEW_VALUES = 30
"""Fewer distinct values do not tell how leading digits and steps are distributed."""

_SPREAD, _LARGE = 30.0, 100_000
"""A measure may spread over orders of magnitude: its ninth decile is so many times the first, and 9 times where numbers
are dealt out. Smaller numbers, as those of houses, do so by chance."""

_SMALL_LEADS = 0.45
"""Share of the leading digits 1, 2 and 3 below which numbers look dealt out: measures have .60 (Benford), numbers that
are dealt out .33."""

MOST_LOOKED_AT = 1000
"""Distinct values of which leading digits and steps are taken."""


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
    find_distinct : callable
        Returns the number of distinct values and some of them, at most a thousand, spread over all; called at most
        once, and only where the header does not tell.
    """

    n_values: int
    smallest: float
    largest: float
    is_whole: bool
    is_exact: bool
    find_distinct: Callable[[], tuple[int, NDArray[np.float64]]]

    @cached_property
    def distinct(self) -> tuple[int, NDArray[np.float64]]:
        """The number of distinct values, and some of them."""
        return self.find_distinct()


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

    def distinct() -> tuple[int, NDArray[np.float64]]:
        found = pd.unique(held)
        return found.size, np.sort(found[:: found.size // MOST_LOOKED_AT + 1])

    return NumberColumn(held.size, low, high, bool((held == np.floor(held)).all()), is_exact, distinct)


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
        unless they may be degrees under ``x`` and ``y``; whole numbers are, unless they are nearly unique, or of two
        values but for 0 and 1, have all the
        same number of digits (four or more), are multiples of a step, or have all leading digits equally often, as
        numbers that are dealt out; those that spread over orders of magnitude are in any case.

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
    return _is_spread(numbers) or (meaning != "number" and not _look_like_codes(numbers))


def _is_within(numbers: NumberColumn, most: float) -> bool:
    return bool(max(-numbers.smallest, numbers.largest) <= most)


def _is_spread(numbers: NumberColumn) -> bool:
    """Tell whether whole numbers spread over orders of magnitude, and do not number rows."""
    if numbers.largest < _LARGE:
        return False
    n_distinct, some = numbers.distinct
    some = np.sort(np.abs(some[some != 0]))
    if some.size < _FEW_VALUES or numbers.largest - numbers.smallest < _MOST_GAPS * n_distinct:
        return False
    return bool(some[9 * some.size // 10] >= _SPREAD * some[some.size // 10])


def _look_like_codes(numbers: NumberColumn) -> bool:
    """Tell whether whole numbers are told apart by their values rather than ordered by them."""
    n_distinct, some = numbers.distinct
    if numbers.n_values >= _FEW_ROWS and n_distinct == 2 and numbers.largest > 1:
        return True
    if numbers.n_values >= _FEW_ROWS and n_distinct >= _NEARLY_UNIQUE * numbers.n_values:
        return True
    if numbers.smallest >= _FIXED_FROM and len(f"{numbers.smallest:.0f}") == len(f"{numbers.largest:.0f}"):
        return True
    large = np.abs(some[np.abs(some) >= _FIXED_FROM])
    if large.size < _FEW_VALUES:
        return False
    if np.gcd.reduce(large.astype(np.int64)) > 1:
        return True
    leads = large // 10.0 ** np.floor(np.log10(large))
    return bool(np.mean(leads <= 3) < _SMALL_LEADS)
