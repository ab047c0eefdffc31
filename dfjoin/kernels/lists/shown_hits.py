"""What is shown of candidates: the families that they are folded into, and the columns that a table brings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.sorting import is_member

__all__ = ["Families", "FoldedHits", "TableColumns", "fold_families", "list_new_columns"]

_NEARLY_BEST = 0.95
"""Of a family that member stands first that is the most complete of those whose usefulness is at least this share."""

_MOST_COMPARED = 200
"""Members of a family that may stand first, as far as their rows and names are compared."""


class FoldedHits(NamedTuple):
    """What is known of each candidate: usefulness, what it is ranked by, rows, and what its family shares."""

    useful: NDArray[np.float64]
    matched: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    family: NDArray[np.uint64]
    content: NDArray[np.uint64]


class Families(NamedTuple):
    """Receives the families; `indptr`, `owner` and `numbers` are zeros at first.

    Family f is ``members[indptr[f] : indptr[f + 1]]``, in the order of candidates; one of the first ``n_first[f]``
    entries of `first` from ``indptr[f]`` on, counted from its first member, stands for it. `keys` and `numbers`, both
    a power of two long, are a hash table of the families, and `owner` has the family of each candidate that was not
    folded yet, from 1 on.
    """

    indptr: NDArray[np.int64]
    members: NDArray[np.int64]
    first: NDArray[np.int64]
    n_first: NDArray[np.int64]
    owner: NDArray[np.int32]
    keys: NDArray[np.uint64]
    numbers: NDArray[np.int32]


class TableColumns(NamedTuple):
    """The columns of the tables of a segment: those of table t are ``first[t]`` to ``first[t] + width[t] - 1``.

    `headers` are hashes of their names, 0 without a letter or a digit; `positions` their places in the file, negative
    for none; `is_late` is 1 for those that are named behind the others.
    """

    table_of: NDArray[np.int32]
    first: NDArray[np.int64]
    width: NDArray[np.int64]
    headers: NDArray[np.uint64]
    positions: NDArray[np.int32]
    is_late: NDArray[np.uint8]


@njit_inner
def _slot_of(key, families):
    """Return the slot of the hash table that has a key, or the empty one that it may have."""
    mask = np.int64(families.keys.shape[0] - 1)
    slot = np.int64(key) & mask
    while families.numbers[slot] != 0 and families.keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit_inner
def _add_member(place, families):
    """Write a candidate behind the members of its family so far; ``indptr`` is one ahead."""
    number = families.owner[place]
    families.members[families.indptr[number]] = place
    families.indptr[number] += 1
    families.owner[place] = 0


@njit_inner
def _list_first(start, end, hits, families):
    """List the members of a family of which one stands for it; return how many they are."""
    least = _NEARLY_BEST * hits.useful[families.members[start]]
    most_matched, most_rows, n_compared, n = np.int64(-1), np.int64(-1), np.int64(0), np.int64(0)
    for i in range(start, end):
        place = families.members[i]
        matched, n_rows = hits.matched[place], hits.n_rows[place]
        if hits.useful[place] < least or matched < most_matched:
            continue
        if matched > most_matched:
            most_matched, most_rows, n_compared = matched, np.int64(-1), np.int64(0)
        n_compared += 1
        if n_compared > _MOST_COMPARED or n_rows < most_rows:
            continue
        if n_rows > most_rows:
            most_rows, n = n_rows, np.int64(0)
        families.first[start + n] = i - start
        n += 1
    return n


@njit_lean
def fold_families(order, hits, limit, families):
    """Fold candidates into families, in the order of their most useful members.

    Parameters
    ----------
    order : ndarray of int64, shape (m,)
        Candidates, the most useful first; may lack some, which are no more useful.
    hits : FoldedHits
    limit : int
        Families at most.
    families : Families

    Returns
    -------
    int
        Families.

    Notes
    -----
    Candidates are of one family if they share `family` or `content`, also by others between them. Those that are not
    read, as they follow the last family or `order` lacks them, are put behind the members of the families that were
    found: first all that share the former, then the others. First stands a member of those that share the most values
    of the nearly best ones, and have the most rows. O(n) expected.
    """
    n_families, n_read = 0, 0
    indptr, numbers, owner = families.indptr, families.numbers, families.owner
    for i in range(order.shape[0]):
        family, content = hits.family[order[i]], hits.content[order[i]]
        number = numbers[_slot_of(family, families)]
        if number == 0:
            number = numbers[_slot_of(content, families)]
        if number == 0:
            if n_families == limit:
                break
            n_families += 1
            number = np.int32(n_families)
        for key in (family, content):
            slot = _slot_of(key, families)
            families.keys[slot], numbers[slot] = key, number
        owner[order[i]] = number
        n_read += 1
    for place in range(owner.shape[0]):
        if owner[place] == 0:
            owner[place] = numbers[_slot_of(hits.family[place], families)]
        if owner[place] == 0:
            owner[place] = numbers[_slot_of(hits.content[place], families)]
        if owner[place] != 0:
            indptr[owner[place]] += 1
    end = np.int64(0)
    for family in range(1, n_families + 1):
        end += indptr[family]
        indptr[family] = end - indptr[family]
    for i in range(n_read):
        _add_member(order[i], families)
    for place in range(owner.shape[0]):
        if owner[place] != 0 and numbers[_slot_of(hits.family[place], families)] != 0:
            _add_member(place, families)
    for place in range(owner.shape[0]):
        if owner[place] != 0:
            _add_member(place, families)
    for family in range(n_families):
        families.n_first[family] = _list_first(indptr[family], indptr[family + 1], hits, families)
    return n_families


@njit_lean
def list_new_columns(columns, tables, known, chosen, counts):
    """List the columns that the tables of some columns have beside them, and the frame has not.

    Parameters
    ----------
    columns : ndarray of int64, shape (n,)
    tables : TableColumns
    known : ndarray of uint64, sorted
        Headers of the frame.
    chosen : ndarray of int64, shape (n, limit)
        Receives the first ones of each table, in the order of the file, those that are late behind the others.
    counts : ndarray of int64, shape (n,)
        Receives how many there are.

    Notes
    -----
    O(columns of the tables).
    """
    for i in range(columns.shape[0]):
        table = tables.table_of[columns[i]]
        n = np.int64(0)
        for column in range(tables.first[table], tables.first[table] + tables.width[table]):
            position, header = tables.positions[column], tables.headers[column]
            if column == columns[i] or position < 0 or (header != 0 and is_member(known, header)):
                continue
            slot = min(n, chosen.shape[1])
            n += 1
            while slot > 0:
                before = chosen[i, slot - 1]
                is_behind = tables.is_late[before] - np.int64(tables.is_late[column])
                if is_behind < 0 or (is_behind == 0 and tables.positions[before] <= position):
                    break
                if slot < chosen.shape[1]:
                    chosen[i, slot] = before
                slot -= 1
            if slot < chosen.shape[1]:
                chosen[i, slot] = column
        counts[i] = n
