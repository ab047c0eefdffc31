"""Columns that are there already, and whether a further one says the same as one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.augment.encoding import EncodedColumn

_NEARLY_EQUAL = 0.9999
"""Correlation of two columns of numbers above which one of them is enough: 0.999 changes nothing, 0.99 leaves
out a useful column more in 100."""

_COVERED = 0.98
"""Share of the values of a column beside which another one has to have a value as well, to say the same."""

_OWN_VALUES = 0.9
"""Distinct values per row with a value above which columns of texts are not compared."""

_FEWEST_ROWS = 5
_FIRST_ROWS = 256
"""Rows by which most pairs of columns of texts are distinguished."""


@dataclass(frozen=True)
class _KnownTexts:
    """Codes of a column of texts, -1 for null."""

    codes: NDArray[np.int64]
    where: str


class KnownColumns:
    """Columns that are there, to compare others with.

    Notes
    -----
    Two columns are compared by the rows in which both have a value, where these are nearly all rows in which the new
    one has one: a table that lacks some rows says the same of the others.
    """

    def __init__(self) -> None:
        self._texts: list[_KnownTexts] = []
        self._where: list[str] = []
        self._numbers = np.empty((0, 2, 0))

    def copy(self) -> KnownColumns:
        """Return the same columns, to which others may be added."""
        known = KnownColumns()
        known._texts, known._where, known._numbers = list(self._texts), list(self._where), self._numbers.copy()
        return known

    def add(self, column: EncodedColumn, where: str) -> None:
        """Take note of a column, and of where it is."""
        if not column.is_number:
            self._texts.append(_KnownTexts(_text_codes(column), where))
            return
        n_known = len(self._where)
        if n_known == len(self._numbers):
            grown = np.zeros((max(8, 2 * n_known), 2, column.values.size))
            if n_known:
                grown[:n_known] = self._numbers
            self._numbers = grown
        self._numbers[n_known] = _standard(column)
        self._where.append(where)

    def reason(self, column: EncodedColumn) -> str:
        """Return which column a column says the same as; empty if there is none. O(columns × rows)."""
        if column.is_number:
            return self._reason_of_numbers(column)
        if column.n_values > _OWN_VALUES * column.n_held:
            return ""  # nearly each row has a value of its own: two such columns have no more in common than that
        codes = _text_codes(column)
        for known in self._texts:
            if separate_the_same(known.codes, codes):
                return f"the same as a column of {known.where}"
        return ""

    def _reason_of_numbers(self, column: EncodedColumn) -> str:
        n_known = len(self._where)
        if n_known == 0:
            return ""
        theirs, held = self._numbers[:n_known, 0], self._numbers[:n_known, 1]
        own, mask = _standard(column)
        n = np.maximum(held @ mask, 1)
        sums, own_sums = theirs @ mask, held @ own
        spread = np.einsum("ij,ij,j->i", theirs, theirs, mask) - sums**2 / n
        own_spread = held @ own**2 - own_sums**2 / n
        scale = np.sqrt(np.maximum(spread, 0) * np.maximum(own_spread, 0))
        shared = theirs @ own - sums * own_sums / n
        is_near = (
            (n >= max(_FEWEST_ROWS, _COVERED * mask.sum())) & (scale > 0) & (np.abs(shared) > _NEARLY_EQUAL * scale)
        )
        return f"nearly the same as a column of {self._where[int(is_near.argmax())]}" if is_near.any() else ""


def separate_the_same(known: NDArray[np.int64], codes: NDArray[np.int64]) -> bool:
    """Tell whether two columns of codes, -1 for null, have one value for each value of the other, where both have one.

    Examples
    --------
    >>> x, y = np.array([0, 1, 0, 0, 2, 2]), np.array([5, 3, 5, 5, -1, -1])
    >>> separate_the_same(x, y), separate_the_same(y, x)
    (False, False)
    >>> separate_the_same(np.array([0, 1, 0, 0, 2, 2]), np.array([5, 3, 5, 5, 4, 4]))
    True
    """
    both = np.flatnonzero((known >= 0) & (codes >= 0))
    if both.size < max(_FEWEST_ROWS, _COVERED * np.count_nonzero(codes >= 0)):
        return False
    return all(_is_one_to_one(known[rows], codes[rows]) for rows in (both[:_FIRST_ROWS], both))


def _is_one_to_one(a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    n_pairs = np.unique(a * (int(b.max()) + 1) + b).size
    return n_pairs == np.unique(a).size == np.unique(b).size


def _text_codes(column: EncodedColumn) -> NDArray[np.int64]:
    return np.nan_to_num(column.values, nan=-1.0).astype(np.int64)


def _standard(column: EncodedColumn) -> NDArray[np.float64]:
    """Return a column of mean 0 and length 1, 0 for null, and 1 where it has a value."""
    held = ~np.isnan(column.values)
    values = column.values[held]
    scale = float(np.abs(values).max(initial=0.0)) or 1.0  # squares of huge and of tiny numbers are none
    centred = np.zeros(column.values.size)
    centred[held] = values / scale - (values / scale).mean() if values.size else 0.0
    length = float(np.sqrt(centred @ centred))
    return np.stack([centred / length if length > 0 else centred, held.astype(np.float64)])
