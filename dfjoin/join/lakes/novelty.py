"""Whether a table brings anything that the frame does not have: its own copies must not be joined to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.errors import InvalidTypeError
from dfjoin.index.segment import Segment
from dfjoin.join.keys import KeyColumns
from dfjoin.kernels.sorting import distinct_numbers
from dfjoin.search.exact.searcher import searcher_of
from dfjoin.search.shared_values import shared_mask
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.frames import column_to_arrow
from dfjoin.values.key_index import Vocabulary, pair_codes
from dfjoin.values.normalize import normalize_column
from dfjoin.values.value_set import ValueSet

__all__ = ["IndexedKey", "adds_columns", "adds_columns_by_index"]


@dataclass(frozen=True)
class _Part:
    """A column of the frame over the rows that find a partner: the codes of these rows, and which values occur."""

    values: ValueSet
    codes: NDArray[np.int32]
    held: NDArray[np.int64]


def _parts(left: KeyColumns, rows: NDArray[np.int64]) -> list[_Part]:
    """Return the columns of a frame that have a value in some of the rows."""
    found = []
    for values in left.all_values():
        codes = values.codes[rows]
        held = np.unique(codes[codes >= 0]).astype(np.int64)
        if held.size:
            found.append(_Part(values, codes, held))
    return found


def adds_columns(
    left: KeyColumns, left_codes: NDArray[np.int64], right: pd.DataFrame, right_codes: NDArray[np.int64]
) -> bool:
    """Tell whether some column of the right side is not in the frame already.

    A right column is there already when a column of the frame has, in every row that finds a partner, a
    value that the right column has for that key. The same values on other rows are something new.

    Parameters
    ----------
    left : KeyColumns
        The frame so far.
    left_codes, right_codes : ndarray of int64
        Key of each row of either side.
    right : DataFrame
        The columns that would be brought.
    """
    present = np.zeros(1 + int(max(left_codes.max(initial=0), right_codes.max(initial=0))), bool)
    present[right_codes[right_codes >= 0]] = True
    rows = np.flatnonzero((left_codes >= 0) & present[np.maximum(left_codes, 0)])
    keys = left_codes[rows]
    parts: list[_Part] | None = None
    for position in range(right.shape[1]):
        try:
            values = normalize_column(column_to_arrow(right.iloc[:, position]), left.settings)
        except InvalidTypeError:  # lists and the like are no values that could be told apart
            continue
        if len(values) == 0:
            continue
        parts = _parts(left, rows) if parts is None else parts
        if not _is_held(parts, keys, values, right_codes):
            return True
    return False


def _is_held(parts: Sequence[_Part], keys: NDArray[np.int64], values: ValueSet, right_codes: NDArray[np.int64]) -> bool:
    """Tell whether a column of the right side is one of the frame's; `keys` are those of the rows of the parts."""
    vocabulary = Vocabulary(values)
    pairs = distinct_numbers(pair_codes(right_codes, values.codes, len(values)))
    for part in parts:
        numbers = vocabulary.codes_of(part.values)
        if (numbers[part.held] < 0).any():
            continue  # it holds a value that the right column lacks
        codes = np.append(numbers, -1)[part.codes]
        wanted = pair_codes(keys, codes, len(values))
        wanted = wanted[wanted >= 0]
        positions = np.minimum(np.searchsorted(pairs, wanted), pairs.size - 1)
        if bool((pairs[positions] == wanted).all()):
            return True
    return False


@dataclass(frozen=True)
class IndexedKey:
    """A key column of the lake and the column of the frame that would be joined with it.

    Parameters
    ----------
    snapshot : Snapshot
    table, column : str
        Names of the key column.
    values : ValueSet
        The frame's key.
    """

    snapshot: Snapshot
    table: str
    column: str
    values: ValueSet


def adds_columns_by_index(
    left: KeyColumns, key: IndexedKey, new_columns: Sequence[str], keeps_right_rows: bool
) -> bool | None:
    """Tell from catalogue and index whether `adds_columns` will be true for a table, without reading the table.

    Parameters
    ----------
    left : KeyColumns
        The frame so far.
    key : IndexedKey
    new_columns : sequence of str
        Columns of the table that would be brought.
    keeps_right_rows : bool
        Whether all rows of the table would take part, not only those that find a partner.

    Returns
    -------
    bool or None
        None where the rows have to be seen: for columns that are not indexed, and for those whose values include
        all of a column of the frame.

    Notes
    -----
    The index knows the set of values of a column, and not which rows hold them. A column is new when every column
    of the frame has a value, in a row that finds a partner, that it lacks; one without values is not. Nothing else is
    decided.
    """
    segment, table = key.snapshot.find_table(key.table)
    if not key.snapshot.settings.keep_sets:
        return None
    number = key.snapshot.segments.index(segment)
    searcher = searcher_of(key.snapshot)
    numbers = segment.catalog.numbers
    key_column = segment.catalog.find_column(table, key.column)
    is_shared = shared_mask(segment, key_column, searcher.groups_of(number, key.values))
    is_whole = keeps_right_rows or (
        int(is_shared.sum()) == int(numbers["cardinality"][key_column]) and int(numbers["n_null"][key_column]) == 0
    )
    rows = np.flatnonzero(np.append(is_shared, False)[key.values.codes])
    parts = _parts(left, rows)
    groups = [searcher.groups_of(number, part.values) for part in parts]
    is_known = True
    for name in new_columns:
        column = segment.catalog.find_column(table, name)
        verdict = _is_new_by_index(segment, column, parts, groups, is_whole)
        if verdict:
            return True
        is_known = is_known and verdict is not None
    return False if is_known else None


def _is_new_by_index(
    segment: Segment, column: int, parts: Sequence[_Part], groups: Sequence[NDArray[np.int64]], is_whole: bool
) -> bool | None:
    """Tell whether one column is new; `is_whole`: every one of its rows finds a partner."""
    numbers = segment.catalog.numbers
    if numbers["n_null"][column] == numbers["n_rows"][column]:
        return False
    if not numbers["is_indexed"][column]:
        return None
    is_included = [
        bool(shared_mask(segment, column, own)[part.held].all()) for part, own in zip(parts, groups, strict=True)
    ]
    return True if not any(is_included) and (is_whole or int(numbers["n_null"][column]) == 0) else None
