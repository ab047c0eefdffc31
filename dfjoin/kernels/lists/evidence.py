"""What shared values tell: the weights of the values of a query, and their sums over every column that holds some."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.lists.mergelist import AHEAD, prefetch_list
from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.sorting import is_member

COUNT, ROWS, BITS, WEIGHT, SPREAD = range(5)
"""What is summed over the shared values: one each, rows, information, weight by rarity, logarithm of the columns."""

N_SUMS = 5
SCALE = 1 << 16
"""Weights are integers of this unit: their sums do not depend on the order of the posting lists."""

_MAX_BITS = 30.0
_LETTER_BITS = 3.0
_DIGIT_BITS = 2.5
_MAX_DIGITS = 15

REFERENCE_COLUMNS = 1 << 16
"""Columns of the lake that `weigh_values` takes as the usual one, and whose shares of columns it starts from."""

_PRIOR_COLUMNS = 1 << 14
"""So many columns of the usual lake are added to those of the lake that is searched."""


def _usual_columns() -> NDArray[np.float64]:
    """Return in how many of the added columns a value stands, by kind (texts, integers) and whole bits of information.

    Fitted to the values of 65,260 columns of real tables: an integer v stands in about (v + 2)^-0.72 of the columns,
    over two; of texts, those of 30 bits in a third of the columns of those of 10 bits.
    """
    bits = np.arange(_MAX_BITS + 2)
    shares = np.exp(np.stack([-6.6 - 0.1 * bits, -0.6 - 0.5 * bits]))
    return _PRIOR_COLUMNS * np.maximum(shares, 2.0**-15)


_USUAL = _usual_columns()


class Sums(NamedTuple):
    """The scratch of `collect_evidence`, `add_lists` and `add_sets`.

    `rows` has an entry for each column of the segment, its row of `sums`, from 1 on, and `positions` one for each
    posting list; both are zeros between searches. `lists` and `list_sums` have an entry for each value of the query and
    may hold anything. Where some columns are summed, `met` is empty, and `sums`, zeros at first, has a row for each;
    row 0 receives what the others share, without a branch, and is not read. Where every column is summed that holds a
    value, `met` and `sums` have room for all, may hold anything, and receive the columns, in the order of their rows.
    """

    sums: NDArray[np.int64]
    rows: NDArray[np.int32]
    positions: NDArray[np.int32]
    lists: NDArray[np.uint32]
    list_sums: NDArray[np.int64]
    met: NDArray[np.int32]


@njit_inner
def _row_of(column, n_met, scratch):
    """Return the row of a column, and how many columns were met; one that is met first has a row of zeros."""
    row = scratch.rows[column]
    if row == 0 and scratch.met.shape[0] > 0:
        scratch.met[n_met] = column
        n_met += 1
        row = np.int32(n_met)
        scratch.rows[column] = row
        scratch.sums[row] = 0
    return row, n_met


@njit_lean
def add_columns(groups, list_lengths, alive, columns):
    """Add to the number of columns that hold each value those of one segment.

    Parameters
    ----------
    groups : ndarray of int64, shape (n,)
        Posting group of each value in the segment, -1 for none.
    list_lengths : ndarray of int64, shape (n_lists,)
        Columns of each list that are not deleted.
    alive : ndarray of uint8, shape (n_columns,)
        1 for each column that is not deleted.
    columns : ndarray of int64, shape (n,)
        Added to.

    Notes
    -----
    O(n).
    """
    n_columns = alive.shape[0]
    for i in range(groups.shape[0]):
        group = groups[i]
        if group < 0:
            continue
        columns[i] += np.int64(alive[group]) if group < n_columns else list_lengths[group - n_columns]


@njit_lean
def weigh_values(data, offsets, n_holding, n_columns, rows, weights):
    """Compute what each value of a query tells when a column holds it.

    Parameters
    ----------
    data : ndarray of uint8
    offsets : ndarray of int64, shape (n + 1,)
        Canonical values, packed.
    n_holding : ndarray of int64, shape (n,)
        Columns of the lake that hold each value.
    n_columns : int
        Columns of the lake.
    rows : ndarray of int64, shape (n,)
        Rows of the query that hold it.
    weights : ndarray of int64, shape (n, N_SUMS)
        Receives them, in units of 1 / SCALE but for the count and the rows.

    Notes
    -----
    The information of a value is what an alphabet predicts, whatever the lake holds: log2(v + 2) bits for a number of
    digits, and one more with a leading zero; else 2.5 bits for a digit and 3 for any other byte; at most 30.

    A lake of few tables cannot tell that `17` stands in a tenth of all columns. The number of columns that hold a value
    is therefore estimated for a lake of 65,536 columns, of those in this lake and 16,384 more of the usual kind:
    ``65536 × (n + usual) ÷ (n_columns + 16384)``. The weight by rarity is one over its square root. O(bytes).
    """
    scale = float(REFERENCE_COLUMNS) / (n_columns + _PRIOR_COLUMNS)
    known, weight, spread = -1.0, np.int64(0), np.int64(0)
    for i in range(weights.shape[0]):
        n_bytes = offsets[i + 1] - offsets[i]
        n_digits = np.int64(0)
        number = 0.0
        is_short = n_bytes < _MAX_BITS / _DIGIT_BITS or 48 <= data[offsets[i]] <= 57  # else the bits are the most
        for p in range(offsets[i], offsets[i + 1] if is_short else offsets[i]):
            byte = data[p]
            if 48 <= byte <= 57:
                if n_digits < _MAX_DIGITS:
                    number = 10.0 * number + (byte - 48)
                n_digits += 1
        is_integer = n_digits == n_bytes and n_bytes > 0
        if is_integer:
            bits = math.log2(number + 2.0)
            if data[offsets[i]] == 48:
                bits += 1.0
                is_integer = False
        else:
            bits = _DIGIT_BITS * n_digits + _LETTER_BITS * (n_bytes - n_digits)
        bits = min(bits, _MAX_BITS)
        usual = _USUAL[np.int64(is_integer), np.int64(bits)]
        holding = scale * (float(max(np.int64(1), n_holding[i])) + usual)
        if holding != known:  # values of one kind follow each other
            known, weight = holding, np.int64(SCALE / math.sqrt(holding) + 0.5)
            spread = np.int64(max(0.0, math.log(holding)) * SCALE + 0.5)
        weights[i, COUNT] = 1
        weights[i, ROWS] = rows[i]
        weights[i, WEIGHT] = weight
        weights[i, BITS] = np.int64(bits * SCALE + 0.5)
        weights[i, SPREAD] = spread


@njit_lean
def add_matches(values, columns, weights, sums):
    """Sum the weights of values over the columns that match them.

    Parameters
    ----------
    values, columns : ndarray of int32, shape (n,)
        Number of a value and of a column that matches it.
    weights : ndarray of int64, shape (n_values, N_SUMS)
    sums : ndarray of int64, shape (n_columns, N_SUMS)
        Added to.

    Notes
    -----
    O(n).
    """
    for i in range(values.shape[0]):
        for s in range(N_SUMS):
            sums[columns[i], s] += weights[values[i], s]


@njit_lean
def collect_evidence(groups, weights, list_indptr, scratch):
    """Sum the weights of private values over their columns, and those of the others over their posting lists.

    Parameters
    ----------
    groups : ndarray of int64, shape (n,)
        Posting group of each value, -1 for none.
    weights : ndarray of int64, shape (n, N_SUMS)
    list_indptr : ndarray of int64, shape (n_lists + 1,)
    scratch : Sums
        Receives them: `positions` is one more than the place of a list.

    Returns
    -------
    n_lists, n_postings, n_found, n_met : int
        Distinct lists, the postings in them, values that a column holds, and columns met.

    Notes
    -----
    O(values).
    """
    sums, rows, positions, lists, list_sums, _ = scratch
    n_columns, n_found, n_met = rows.shape[0], np.int64(0), np.int64(0)
    n_lists = np.int64(0)
    n_postings = np.int64(0)
    for i in range(groups.shape[0]):
        group = groups[i]
        if group < 0:
            continue
        n_found += 1
        if group < n_columns:
            row, n_met = _row_of(np.uint32(group), n_met, scratch)
            for s in range(N_SUMS):
                sums[row, s] += weights[i, s]
            continue
        number = group - n_columns
        position = np.int64(positions[number]) - 1
        if position < 0:
            position = n_lists
            positions[number] = n_lists + 1
            lists[n_lists] = number
            n_lists += 1
            n_postings += list_indptr[number + 1] - list_indptr[number]
            for s in range(N_SUMS):
                list_sums[position, s] = weights[i, s]
        else:
            for s in range(N_SUMS):
                list_sums[position, s] += weights[i, s]
    return n_lists, n_postings, n_found, n_met


@njit_lean
def add_lists(n_lists, n_met, postings, scratch):
    """Add the sums of each collected posting list to those of its columns that are summed.

    Parameters
    ----------
    n_lists, n_met : int
        As `collect_evidence` returned them.
    postings : Lists
    scratch : Sums

    Returns
    -------
    int
        Columns met.

    Raises
    ------
    DamagedArraysError
        If a list or a posting lies outside the segment.

    Notes
    -----
    MergeList over distinct posting lists (Zhu et al., "JOSIE", SIGMOD 2019, sections 2.2 and 3.5), with five integers
    for a column instead of one, which lie in one cache line. O(postings).
    """
    sums, rows, _, lists, list_sums, _ = scratch
    n_columns = np.uint32(rows.shape[0])
    for position in range(n_lists):
        prefetch_list(lists, position + AHEAD, n_lists, postings)
        number = np.int64(lists[position])
        start, end = postings.indptr[number], postings.indptr[number + 1]
        if start < 0 or end > postings.columns.shape[0]:
            raise DamagedArraysError
        count, n_rows, bits = list_sums[position, COUNT], list_sums[position, ROWS], list_sums[position, BITS]
        weight, spread = list_sums[position, WEIGHT], list_sums[position, SPREAD]
        for p in range(start, end):
            column = np.uint32(postings.columns[p])
            if column >= n_columns:
                raise DamagedArraysError
            row, n_met = _row_of(column, n_met, scratch)
            sums[row, COUNT] += count
            sums[row, ROWS] += n_rows
            sums[row, BITS] += bits
            sums[row, WEIGHT] += weight
            sums[row, SPREAD] += spread
    return n_met


@njit_lean
def add_sets(columns, set_indptr, set_lists, scratch):
    """Add to the sums of some columns those of the posting lists in their sets.

    Parameters
    ----------
    columns : ndarray of int64, shape (n,)
        Distinct columns that are summed.
    set_indptr : ndarray of int64, shape (n_columns + 1,)
    set_lists : ndarray of uint32
    scratch : Sums
        As `collect_evidence` left it.

    Raises
    ------
    DamagedArraysError
        If a set or a list in it lies outside the segment.

    Notes
    -----
    O(entries of the sets).
    """
    sums, rows, positions, _, list_sums, _ = scratch
    for i in range(columns.shape[0]):
        row = rows[columns[i]]
        start, end = set_indptr[columns[i]], set_indptr[columns[i] + 1]
        if start < 0 or end > set_lists.shape[0]:
            raise DamagedArraysError
        for p in range(start, end):
            number = np.int64(set_lists[p])
            if number >= positions.shape[0]:
                raise DamagedArraysError
            position = np.int64(positions[number]) - 1
            if position >= 0:
                for s in range(N_SUMS):
                    sums[row, s] += list_sums[position, s]


# What is shown of candidates: the families that they are folded into, and the columns that a table brings.


_NEARLY_BEST = 0.95
"""Of a family that member stands first that is the most complete of those whose usefulness is at least this share."""

_MOST_COMPARED = 200
"""Members of a family that may stand first, as far as their rows and names are compared."""


FAMILY, CONTENT, N_ROWS, NAME = range(4)
"""Columns of `FoldedHits.columns`: what columns of one name in tables of one family share, and in tables of the same
content; the rows of the column's table; its place among all columns of the lake by the names of table and column."""


class FoldedHits(NamedTuple):
    """What is known of each candidate: usefulness, what it is ranked by, distinct values, and FAMILY to NAME."""

    useful: NDArray[np.float64]
    matched: NDArray[np.int64]
    cardinality: NDArray[np.int64]
    columns: NDArray[np.int64]


class Families(NamedTuple):
    """Receives the families; `indptr`, `owner` and `numbers` are zeros at first.

    Family f is ``members[indptr[f] : indptr[f + 1]]``, the one that stands for it first, then the others in the order
    of candidates. `heap` has room for all candidates; those that were read are its last ones, the best last. `keys` and
    `numbers`, both a power of two long, are a hash table of the families, and `owner` has the family of each candidate
    that was not folded yet, from 1 on.
    """

    indptr: NDArray[np.int64]
    members: NDArray[np.int64]
    heap: NDArray[np.int64]
    owner: NDArray[np.int32]
    keys: NDArray[np.int64]
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
def _is_before(one, other, hits):
    """Tell whether a candidate comes before another one: usefulness, matched, fewer distinct values, the name."""
    if hits.useful[one] != hits.useful[other]:
        return hits.useful[one] > hits.useful[other]
    if hits.matched[one] != hits.matched[other]:
        return hits.matched[one] > hits.matched[other]
    if hits.cardinality[one] != hits.cardinality[other]:
        return hits.cardinality[one] < hits.cardinality[other]
    return hits.columns[one, NAME] < hits.columns[other, NAME]


@njit_inner
def _sift(heap, at, size, hits):
    """Move an entry of a heap down until the best candidate below it is no better."""
    moving = heap[at]
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _is_before(heap[below + 1], heap[below], hits):
            below += 1
        if _is_before(moving, heap[below], hits):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = moving


@njit_inner
def _slot_of(key, families):
    """Return the slot of the hash table that has a key, or the empty one that it may have."""
    mask = np.int64(families.keys.shape[0] - 1)
    slot = key & mask
    while families.numbers[slot] != 0 and families.keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@njit_inner
def _read_families(hits, limit, families):
    """Read candidates, the best first, until one would be of a further family; return how many were read, and found."""
    n, owner, numbers = hits.useful.shape[0], families.owner, families.numbers
    heap = families.heap
    for at in range(n):
        heap[at] = at
    for at in range(n // 2 - 1, -1, -1):
        _sift(heap, at, n, hits)
    n_families = 0
    for i in range(n):
        best = heap[0]
        family, content = hits.columns[best, FAMILY], hits.columns[best, CONTENT]
        number = numbers[_slot_of(family, families)]
        if number == 0:
            number = numbers[_slot_of(content, families)]
        if number == 0:
            if n_families == limit:
                return i, n_families
            n_families += 1
            number = np.int32(n_families)
        # Under both keys, so that one that shares only the other one belongs to the family, too.
        for key in (family, content):
            slot = _slot_of(key, families)
            families.keys[slot], numbers[slot] = key, number
        owner[best] = number
        last = n - 1 - i
        heap[0], heap[last] = heap[last], best  # what was read stands behind the heap, the best one last
        _sift(heap, 0, last, hits)
    return n, n_families


@njit_inner
def _add_member(position, families):
    """Write a candidate behind the members of its family so far; ``indptr`` is one ahead."""
    number = families.owner[position]
    families.members[families.indptr[number]] = position
    families.indptr[number] += 1
    families.owner[position] = 0  # the following passes leave it out


@njit_inner
def _put_first(start, end, hits, members):
    """Put the member first that stands for a family."""
    least = _NEARLY_BEST * hits.useful[members[start]]
    most_matched, most_rows, n_compared, first = np.int64(-1), np.int64(-1), np.int64(0), start
    for i in range(start, end):
        position = members[i]
        matched, n_rows = hits.matched[position], hits.columns[position, N_ROWS]
        if hits.useful[position] < least or matched < most_matched:
            continue
        if matched > most_matched:
            most_matched, most_rows, n_compared = matched, np.int64(-1), np.int64(0)
        n_compared += 1
        if n_compared > _MOST_COMPARED or n_rows < most_rows:
            continue
        if n_rows > most_rows or hits.columns[position, NAME] > hits.columns[members[first], NAME]:
            most_rows, first = n_rows, i
    head = members[first]
    for i in range(first, start, -1):
        members[i] = members[i - 1]
    members[start] = head


@njit_lean
def fold_families(hits, limit, families):
    """Fold candidates into families, in the order of their most useful members.

    Parameters
    ----------
    hits : FoldedHits
    limit : int
        Families at most.
    families : Families

    Returns
    -------
    n_families, n_read : int
        Families, and candidates that were read.

    Notes
    -----
    Candidates are of one family if they share FAMILY or CONTENT, also by others between them. They are taken from a
    heap, the most useful first, those that share the most first among equals, then those with the fewest values, then
    by name; the rest follows the last family. Those of the rest that belong to a family are put behind its members in
    their own order: first all that share FAMILY, then the others. First stands a member of those that share the most
    values of the nearly best ones, and have the most rows, by name the last one. O(n) expected, and O(log n) for each
    candidate that is read.
    """
    indptr, numbers, owner = families.indptr, families.numbers, families.owner
    n_read, n_families = _read_families(hits, limit, families)
    for position in range(owner.shape[0]):
        if owner[position] == 0:
            owner[position] = numbers[_slot_of(hits.columns[position, FAMILY], families)]
        if owner[position] == 0:
            owner[position] = numbers[_slot_of(hits.columns[position, CONTENT], families)]
        if owner[position] != 0:
            indptr[owner[position]] += 1
    end = np.int64(0)
    for family in range(1, n_families + 1):
        end += indptr[family]
        # A start, which the members move on: when all are written, it is the end.
        indptr[family] = end - indptr[family]
    for i in range(n_read):
        _add_member(families.heap[owner.shape[0] - 1 - i], families)
    for position in range(owner.shape[0]):
        if owner[position] != 0 and numbers[_slot_of(hits.columns[position, FAMILY], families)] != 0:
            _add_member(position, families)
    for position in range(owner.shape[0]):
        if owner[position] != 0:
            _add_member(position, families)
    for family in range(n_families):
        _put_first(indptr[family], indptr[family + 1], hits, families.members)
    return n_families, n_read


@njit_lean
def list_new_columns(columns, tables, own, companions, chosen, counts):
    """List the columns that the tables of some columns have beside them, and the frame has not.

    Parameters
    ----------
    columns : ndarray of int64, shape (n,)
    tables : TableColumns
    own, companions : uint64, and ndarray of uint64, sorted
        Headers of the frame: the query's, 0 for none, and the others.
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
            if column == columns[i] or position < 0:
                continue
            if header != 0 and (header == own or is_member(companions, header)):
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
