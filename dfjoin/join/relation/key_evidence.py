"""Evidence that two columns of equal values are keys of the same things: names, chance, other columns that agree."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dfjoin.join.keys import KeyColumns
from dfjoin.search.query import QueryColumn
from dfjoin.transform.evidence.chance import MIN_BITS, SAMPLE_VALUES, chance_of_match, evidence_bits
from dfjoin.values.header_meaning import names_agree
from dfjoin.values.shares import FEW, HALF, MOST, NEARLY_ALL, NEARLY_EVERY, SOME

_SHORT = 3.5
"""Mean length of texts up to which they are codes, which meet by accident."""
_GRID_KINDS = ("integer", "decimal")
_MIN_ROWS = 8
_MAX_ROWS = 1_000
_MAX_COLUMNS = 30


def is_row_number(column: QueryColumn) -> bool:
    """Tell whether a column numbers its rows from 0 or 1: different integers with hardly a gap."""
    profile = column.profile
    if not profile.has_range or not column.is_unique or not 0 <= profile.min_integer <= 1 or len(column.values) < 2:
        return False
    return len(column.values) >= NEARLY_ALL * (profile.max_integer - profile.min_integer + 1)


def one_sided(own: NDArray[np.int64], theirs: NDArray[np.int64]) -> float:
    """Return the pairs of rows that a relation of one to one, or of many to one, would have, over those that there are.

    Parameters
    ----------
    own, theirs : ndarray of int64, shape (n_shared,)
        Rows of each shared value on either side; at least one value.
    """
    return max(int(own.sum()), int(theirs.sum())) / int((own * theirs).sum())


def reason_against(
    own: QueryColumn, theirs: QueryColumn, matched: int, share: float, n_pairs: int, *, are_integers: bool = False
) -> str:
    """Return why equal values of two columns are no evidence of a relation, an empty text if they are.

    Parameters
    ----------
    own, theirs : QueryColumn
    matched : int
        Shared values.
    share : float
        See `one_sided`.
    n_pairs : int
        Pairs of columns that share values, among which these were found.
    are_integers : bool, default False
        The codes of one column are integers, written with zeros in front.

    Notes
    -----
    Integers, and short codes of which the other column lacks some, need evidence: the shared values must be more than
    chance explains (`chance.chance_of_match`), by 10 bits and the logarithm of the number of pairs; or the
    names agree and, of integers, each value stands in one row on one side. Days are days, and longer texts are not
    equal by accident as often as half of them, unless that is one of two or three: ``male`` is a capital, too.
    """
    is_number = are_integers or own.profile.kind in _GRID_KINDS or theirs.profile.kind in _GRID_KINDS
    is_whole = matched == len(own.values)
    is_one = matched == 1 < len(theirs.values)
    if not is_number and (is_whole or own.profile.kind == "date" or not (is_one or _is_short(own))):
        return ""
    if names_agree(own.name, theirs.name) and (share >= NEARLY_EVERY or not is_number):
        return ""
    if is_one and not is_number:
        return "one value of several is shared, which chance may explain"
    chance = chance_of_match(_sample(own), _sample(theirs)) * max(1.0, len(theirs.values) / SAMPLE_VALUES)
    bits = evidence_bits(matched, len(own.values), min(1.0, chance))
    needed = MIN_BITS + math.log2(max(1, n_pairs))
    if bits >= needed:
        return ""
    return f"chance may explain the shared values ({bits:.0f} bits of evidence, {needed:.0f} needed)"


def _is_short(column: QueryColumn) -> bool:
    return int(column.values.offsets[-1]) <= _SHORT * len(column.values)


def _sample(column: QueryColumn) -> list[str]:
    """Return the values of the smallest hashes."""
    values = column.values
    return [values.value(code) for code in np.argsort(values.hashes, kind="stable")[:SAMPLE_VALUES].tolist()]


def rows_agree(left: KeyColumns, right: KeyColumns, own: QueryColumn, theirs: QueryColumn) -> bool:
    """Tell whether rows with an equal key agree in some other pair of columns, more than chance makes them.

    Parameters
    ----------
    left, right : KeyColumns
    own, theirs : QueryColumn
        The key.

    Notes
    -----
    Of up to 1,000 shared keys the first row on either side is compared, in up to 30 columns of each. A pair of columns
    agrees if at least four fifths of the rows have the same value, if at most half would if rows were
    paired at random, and if that is 10 bits of evidence.
    """
    columns = _beside(own, left.candidates()), _beside(theirs, right.candidates())
    if not all(columns):
        return False
    mine, others = _cells_of_matched(own, theirs, columns)
    needed = MIN_BITS + math.log2(max(1, len(mine) * len(others)))
    hashes, is_present = np.stack([other[0] for other in others]), np.stack([other[1] for other in others])
    for some in mine:  # with all columns of the other side at once: hardly any has equal values
        is_both = is_present & some[1]
        n, n_equal = is_both.sum(axis=1), (is_both & (hashes == some[0])).sum(axis=1)
        likely = np.flatnonzero((n >= _MIN_ROWS) & (n_equal >= MOST * n)).tolist()
        if any(_agree(some, others[j], int(n_equal[j]), needed) for j in likely):
            return True
    return False


def rows_contradict(left: KeyColumns, right: KeyColumns, own: QueryColumn, theirs: QueryColumn) -> bool:
    """Tell whether the names that rows with an equal code have stand in other rows of the other side.

    Two systems of codes share most of their codes, and mean different things by some: where both tables have names,
    these tell it.

    Parameters
    ----------
    left, right : KeyColumns
    own, theirs : QueryColumn
        The key: integers, or short codes. Longer texts are names themselves, and are never contradicted.

    Notes
    -----
    Names are columns of text that are longer than codes and differ in nine tenths of their rows. Of up to 1,000 shared
    codes, the rows are looked at whose name the other column has in some row. The code is contradicted if a fifth of
    them, and three rows at least, have another name in the row of their code.
    """
    if not (_is_short(own) or own.profile.kind in _GRID_KINDS):
        return False
    columns = _beside(own, left.candidates_that(_are_names)), _beside(theirs, right.candidates_that(_are_names))
    if not all(columns):
        return False
    mine, others = _cells_of_matched(own, theirs, columns)
    return any(_displaced(some, other) for some in mine for other in others)


_CellsOf: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.bool_], NDArray[np.uint64]]
"""The hashes of a column in some rows, which of them have a value, and the hashes of the whole column."""


def _are_names(column: QueryColumn) -> bool:
    """Tell whether a column names its rows: texts longer than codes, nearly all different."""
    n_present = int((column.values.codes >= 0).sum())
    is_text = column.profile.kind not in (*_GRID_KINDS, "date")
    return is_text and not _is_short(column) and len(column.values) >= max(_MIN_ROWS, NEARLY_ALL * n_present)


def _displaced(mine: _CellsOf, other: _CellsOf) -> bool:
    """Tell whether names that both sides have stand in other rows."""
    is_known = mine[1] & other[1] & np.isin(mine[0], other[2])
    n_known, n_equal = int(is_known.sum()), int((is_known & (mine[0] == other[0])).sum())
    return n_known >= _MIN_ROWS and n_known - n_equal >= max(FEW, SOME * n_known)


def _beside(key: QueryColumn, columns: list[QueryColumn]) -> list[QueryColumn]:
    """Return the first columns other than the key."""
    return [column for column in columns[: _MAX_COLUMNS + 1] if column is not key][:_MAX_COLUMNS]


def _cells_of_matched(
    own: QueryColumn, theirs: QueryColumn, columns: tuple[list[QueryColumn], list[QueryColumn]]
) -> tuple[list[_CellsOf], list[_CellsOf]]:
    """Return the cells of other columns in the first rows of shared keys, for each side."""
    shared, positions, partners = np.intersect1d(own.values.hashes, theirs.values.hashes, return_indices=True)
    kept = np.argsort(shared * np.uint64(0x9E3779B97F4A7C15))[:_MAX_ROWS]
    rows = own.values.first_rows()[positions[kept]], theirs.values.first_rows()[partners[kept]]
    return [_cells(column, rows[0]) for column in columns[0]], [_cells(column, rows[1]) for column in columns[1]]


def _cells(column: QueryColumn, rows: NDArray[np.int64]) -> _CellsOf:
    """Return what some rows of a column hold."""
    codes = column.values.codes[rows]
    return np.append(column.values.hashes, np.uint64(0))[codes], codes >= 0, column.values.hashes


def _agree(mine: _CellsOf, other: _CellsOf, n_equal: int, needed: float) -> bool:
    """Tell whether two columns, equal in most rows, are so more often than chance makes them."""
    present = mine[1] & other[1]
    n = int(present.sum())
    some, others = mine[0][present], other[0][present]
    values, counts = np.unique(some, return_counts=True)
    their_values, their_counts = np.unique(others, return_counts=True)
    _, at, their_at = np.intersect1d(values, their_values, return_indices=True)
    expected = float((counts[at] * their_counts[their_at]).sum()) / n**2
    return expected <= HALF and evidence_bits(n_equal, n, expected) >= needed
