"""Cheap reasons against a column, before anything is computed with the target."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.augment.encoding import EncodedColumn, encode_column
from dfjoin.augment.relevance import bin_column, bins_for
from dfjoin.join.table_hops import ReachedTable

__all__ = ["CandidateTable", "FeatureColumn", "KnownColumns", "content_mark", "screen_table", "screening_reason"]

_FEWEST_ROWS = 5
_LEAST_HELD = 0.02
"""A column has values in at least five rows, and in two of a hundred."""

_ID_SHARE = 0.9
"""Distinct values per row with a value above which texts, and integers in sequence, are names or ids."""

_FEWEST_IDS = 20
_MOST_GAPS = 3
"""Integers are in sequence if their range is at most so many times their number."""

_NEARLY_EQUAL = 0.9999
"""Correlation of two columns of numbers above which one of them is enough."""


@dataclass(frozen=True)
class FeatureColumn:
    """A column of a table that may become a feature.

    Parameters
    ----------
    column : str
        Its name in the table; empty for the number of rows that found together.
    name : str
        Its name in the frame of `ReachedTable`.
    encoded : EncodedColumn
    bins : ndarray of int64, shape (n_rows,)
    """

    column: str
    name: str
    encoded: EncodedColumn
    bins: NDArray[np.int64]


@dataclass(frozen=True)
class CandidateTable:
    """A table that was reached, and those of its columns that passed the screening.

    Parameters
    ----------
    reached : ReachedTable
    features : tuple of FeatureColumn
    left_out : dict of str
        Column → why it was left out.
    """

    reached: ReachedTable
    features: tuple[FeatureColumn, ...]
    left_out: dict[str, str]


def screening_reason(column: EncodedColumn, n_keys: int | None = None) -> str:
    """Return why a column is no feature, an empty text for one that may be.

    Parameters
    ----------
    column : EncodedColumn
        Of the rows of the frame.
    n_keys : int, optional
        Distinct keys by which the column was joined; by default every row has one of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> from dfjoin.augment.encoding import encode_column
    >>> screening_reason(encode_column(pd.Series(range(100))))
    'an id: a value of its own in nearly every row'
    >>> screening_reason(encode_column(pd.Series([2.5, 3.5] * 50)))
    ''
    """
    n_rows, n_held = column.values.size, column.n_held
    n_things = min(n_held, n_rows if n_keys is None else n_keys)
    if n_held == 0:
        return "no value in these rows"
    if n_held < max(_FEWEST_ROWS, _LEAST_HELD * n_rows):
        return f"too few values: in {n_held:,} of {n_rows:,} rows"
    if column.n_values < 2:
        return "one value in these rows"
    if n_things >= _FEWEST_IDS and column.n_values > _ID_SHARE * n_things:
        if not column.is_number:
            return "an id: a value of its own in nearly every row"
        held = column.values[~np.isnan(column.values)]
        is_whole = bool((held == np.floor(held)).all())
        if is_whole and held.max() - held.min() < _MOST_GAPS * column.n_values:
            return "an id: a value of its own in nearly every row"
    return ""


def content_mark(column: EncodedColumn) -> str:
    """Return what columns of texts have in common that tell the same rows apart, whatever they call them.

    Empty for numbers: their order means something. Empty for a column of which most rows have values of their own, too:
    two such columns have no more in common than that.
    """
    if column.is_number or 2 * column.n_values > column.values.size:
        return ""
    order = _by_first_row(np.nan_to_num(column.values, nan=-1.0).astype(np.int64))
    return hashlib.blake2b(order.tobytes(), digest_size=16).hexdigest()


def _by_first_row(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number codes in the order in which rows first have them."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse]


def screen_table(reached: ReachedTable, own: KnownColumns, left_out: Mapping[str, str], n_keys: int) -> CandidateTable:
    """Encode the columns of a table that was joined, and leave out those that say nothing.

    Parameters
    ----------
    reached : ReachedTable
    own : KnownColumns
        The columns of the frame, of the same rows.
    left_out : mapping of str
        Columns that are left out already → why.
    n_keys : int
        Distinct keys by which the table was joined.

    Returns
    -------
    CandidateTable
        Without columns that `screening_reason` speaks against, and without those that nearly equal a column of the
        frame or an earlier one of the table.
    """
    frame = reached.frame
    known = own.copy()
    features: list[FeatureColumn] = []
    reasons = dict(left_out)
    names = dict(reached.brought) | ({"": reached.counted} if reached.counted else {})
    for column, name in names.items():
        if column in reasons:
            continue
        encoded = encode_column(frame[name])
        reason = screening_reason(encoded, n_keys) or known.reason(encoded)
        if reason:
            if column:
                reasons[column] = reason
            continue
        known.add(encoded, "the table")
        bins = bin_column(encoded.values, encoded.is_number, bins_for(n_keys))
        features.append(FeatureColumn(column, name, encoded, bins))
    return CandidateTable(reached, tuple(features), reasons)


class KnownColumns:
    """Columns that are there, to compare others with."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._where: list[str] = []
        self._numbers = np.empty((0, 0))

    def copy(self) -> KnownColumns:
        """Return the same columns, to which others may be added."""
        known = KnownColumns()
        known._marks, known._where, known._numbers = dict(self._marks), list(self._where), self._numbers.copy()
        return known

    def add(self, column: EncodedColumn, where: str) -> None:
        """Take note of a column, and of where it is."""
        if not column.is_number:
            if mark := content_mark(column):
                self._marks[mark] = where
            return
        n_known = len(self._where)
        if n_known == len(self._numbers):
            grown = np.zeros((max(8, 2 * n_known), column.values.size))
            if n_known:
                grown[:n_known] = self._numbers
            self._numbers = grown
        self._numbers[n_known] = _standard(column)
        self._where.append(where)

    def reason(self, column: EncodedColumn) -> str:
        """Return which column a column says the same as; empty if there is none. O(columns × rows)."""
        if not column.is_number:
            where = self._marks.get(content_mark(column) or "none", "")
            return f"the same as a column of {where}" if where else ""
        if not self._where:
            return ""
        near = np.abs(self._numbers[: len(self._where)] @ _standard(column)) > _NEARLY_EQUAL
        return f"nearly the same as a column of {self._where[int(near.argmax())]}" if near.any() else ""


def _standard(column: EncodedColumn) -> NDArray[np.float64]:
    """Return a column of mean 0 and length 1, its nulls at the mean."""
    values = column.values
    held = ~np.isnan(values)
    mean = values[held].mean() if held.any() else 0.0
    centred = np.where(held, values - mean, 0.0)
    length = float(np.sqrt(centred @ centred))
    return centred / length if length > 0 else centred
