"""Cheap reasons against a column, before anything is computed with the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.augment.encoding import EncodedColumn, encode_column
from dfjoin.augment.known_columns import KnownColumns
from dfjoin.augment.relevance import bin_column, bins_for
from dfjoin.join.lakes.table_hops import PathTable

_FEWEST_ROWS = 5
_LEAST_HELD = 0.02
"""A column has values in at least five rows, and in two of a hundred: none and one in ten change nothing, see
`dfjoin.augment.leakage`."""

_ID_SHARE = 0.9
"""Distinct values per row with a value above which texts, and integers in sequence, are names or ids: 0.7
leaves out 18 % of the real columns, 0.9 8 %, 0.98 6 % (names of counties)."""

_FEWEST_IDS = 20
_MOST_GAPS = 3
"""Integers are in sequence if their range is at most so many times their number."""


@dataclass(frozen=True)
class FeatureColumn:
    """A column of a table that may become a feature.

    Parameters
    ----------
    column : str
        Its name in the table; empty for the number of rows that found together.
    name : str
        Its name in the frame of `PathTable`.
    encoded : EncodedColumn
    bins : ndarray of int64, shape (n_rows,)
    """

    column: str
    name: str
    encoded: EncodedColumn
    bins: NDArray[np.int64]


@dataclass(frozen=True)
class CandidateTable:
    """A table that was joined, and those of its columns that passed the screening.

    Parameters
    ----------
    joined : PathTable
    features : tuple of FeatureColumn
    left_out : dict of str
        Column → why it was left out.
    """

    joined: PathTable
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


def screen_table(joined: PathTable, own: KnownColumns, left_out: Mapping[str, str], n_keys: int) -> CandidateTable:
    """Encode the columns of a table that was joined, and leave out those that say nothing.

    Parameters
    ----------
    joined : PathTable
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
    frame = joined.frame
    known = own.copy()
    features: list[FeatureColumn] = []
    reasons = dict(left_out)
    names = dict(joined.new_columns) | ({"": joined.counted} if joined.counted else {})
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
    return CandidateTable(joined, tuple(features), reasons)
