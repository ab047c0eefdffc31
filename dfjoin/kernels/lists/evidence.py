"""What shared values tell: the weights of the values of a query, and their sums over every column that holds some."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.lists.mergelist import AHEAD, prefetch_list
from dfjoin.kernels.numba._compile import njit_lean

__all__ = [
    "BITS",
    "COUNT",
    "N_SUMS",
    "ROWS",
    "SCALE",
    "SPREAD",
    "WEIGHT",
    "Sums",
    "add_columns",
    "add_lists",
    "add_matches",
    "add_sets",
    "collect_evidence",
    "weigh_values",
]

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

    `sums`, zeros at first, has a row for each column that is summed, from 1 on; row 0 receives what the others share,
    without a branch, and is not read. `rows` has an entry for each column of the segment, its row, and `places` one for
    each posting list; both are zeros between searches. `lists` and `list_sums` have an entry for each value of the
    query and may hold anything.
    """

    sums: NDArray[np.int64]
    rows: NDArray[np.int32]
    places: NDArray[np.int32]
    lists: NDArray[np.uint32]
    list_sums: NDArray[np.int64]


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
    for i in range(weights.shape[0]):
        n_bytes = offsets[i + 1] - offsets[i]
        n_digits = np.int64(0)
        number = 0.0
        for p in range(offsets[i], offsets[i + 1]):
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
        weights[i, COUNT] = 1
        weights[i, ROWS] = rows[i]
        weights[i, WEIGHT] = np.int64(SCALE / math.sqrt(holding) + 0.5)
        weights[i, BITS] = np.int64(bits * SCALE + 0.5)
        weights[i, SPREAD] = np.int64(max(0.0, math.log(holding)) * SCALE + 0.5)


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
        Receives them: `places` is one more than the place of a list.

    Returns
    -------
    n_lists, n_postings : int
        Distinct lists, and the postings in them.

    Notes
    -----
    O(values).
    """
    sums, rows, places, lists, list_sums = scratch
    n_columns = rows.shape[0]
    n_lists = np.int64(0)
    n_postings = np.int64(0)
    for i in range(groups.shape[0]):
        group = groups[i]
        if group < 0:
            continue
        if group < n_columns:
            for s in range(N_SUMS):
                sums[rows[group], s] += weights[i, s]
            continue
        number = group - n_columns
        place = np.int64(places[number]) - 1
        if place < 0:
            place = n_lists
            places[number] = n_lists + 1
            lists[n_lists] = number
            n_lists += 1
            n_postings += list_indptr[number + 1] - list_indptr[number]
            for s in range(N_SUMS):
                list_sums[place, s] = weights[i, s]
        else:
            for s in range(N_SUMS):
                list_sums[place, s] += weights[i, s]
    return n_lists, n_postings


@njit_lean
def add_lists(n_lists, postings, scratch):
    """Add the sums of each collected posting list to those of its columns that are summed.

    Parameters
    ----------
    n_lists : int
        As `collect_evidence` returned it.
    postings : Lists
    scratch : Sums

    Raises
    ------
    DamagedArraysError
        If a list or a posting lies outside the segment.

    Notes
    -----
    MergeList over distinct posting lists (Zhu et al., "JOSIE", SIGMOD 2019, sections 2.2 and 3.5), with five integers
    for a column instead of one, which lie in one cache line. O(postings).
    """
    sums, rows, _, lists, list_sums = scratch
    n_columns = np.uint32(rows.shape[0])
    for place in range(n_lists):
        prefetch_list(lists, place + AHEAD, n_lists, postings)
        number = np.int64(lists[place])
        start, end = postings.indptr[number], postings.indptr[number + 1]
        if start < 0 or end > postings.columns.shape[0]:
            raise DamagedArraysError
        count, n_rows, bits = list_sums[place, COUNT], list_sums[place, ROWS], list_sums[place, BITS]
        weight, spread = list_sums[place, WEIGHT], list_sums[place, SPREAD]
        for p in range(start, end):
            column = np.uint32(postings.columns[p])
            if column >= n_columns:
                raise DamagedArraysError
            row = rows[column]
            sums[row, COUNT] += count
            sums[row, ROWS] += n_rows
            sums[row, BITS] += bits
            sums[row, WEIGHT] += weight
            sums[row, SPREAD] += spread


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
    sums, rows, places, _, list_sums = scratch
    for i in range(columns.shape[0]):
        row = rows[columns[i]]
        start, end = set_indptr[columns[i]], set_indptr[columns[i] + 1]
        if start < 0 or end > set_lists.shape[0]:
            raise DamagedArraysError
        for p in range(start, end):
            number = np.int64(set_lists[p])
            if number >= places.shape[0]:
                raise DamagedArraysError
            place = np.int64(places[number]) - 1
            if place >= 0:
                for s in range(N_SUMS):
                    sums[row, s] += list_sums[place, s]
