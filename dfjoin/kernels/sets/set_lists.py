"""Sets as stretches of one array: counts, signatures, rarest elements, inverted lists, and the test for a subset."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.hashing import K0, K1
from dfjoin.kernels.numba._compile import njit_inner, njit_lean, prefetch
from dfjoin.kernels.sorting import lower_bound, merge_sort_by

UNKNOWN, EMPTY = -1, -2
"""Rarest element of a set that has an element which no set of the other side has, and of a set without elements."""

_FAR_LARGER = 8
_AHEAD = 16
_SHIFT = np.uint64(58)
_HALF = np.uint64(32)
_ONE = np.uint64(1)


class SetLists(NamedTuple):
    """A collection of sets: set i is ``elements[indptr[i] : indptr[i + 1]]``, strictly ascending."""

    indptr: NDArray[np.int64]
    elements: NDArray[np.uint32]


class InvertedLists(NamedTuple):
    """The sets that hold each element: ``rows[starts[e] : ends[e]]``, ascending."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    rows: NDArray[np.int32]


@njit_lean
def count_elements(elements, counts):
    """Count in how many sets each element is.

    Parameters
    ----------
    elements : ndarray of uint32
        Of many sets, each of which has an element once.
    counts : ndarray of int64, shape (n_elements,)
        Added to.

    Notes
    -----
    O(elements).
    """
    for i in range(elements.shape[0]):
        counts[elements[i]] += 1


@njit_lean
def count_small_sets(sets, largest, counts):
    """Count in how many sets of a limited size each element is.

    Parameters
    ----------
    sets : SetLists
    largest : int
        Larger sets are left out.
    counts : ndarray of int64, shape (n_elements,)
        Added to.

    Notes
    -----
    O(elements).
    """
    indptr, elements = sets.indptr, sets.elements
    for row in range(indptr.shape[0] - 1):
        if indptr[row + 1] - indptr[row] <= largest:
            for p in range(indptr[row], indptr[row + 1]):
                counts[elements[p]] += 1


@njit_inner
def signature_of(elements, start, end):
    """Return the bitmap of a set, see `sign_sets`.

    Parameters
    ----------
    elements : ndarray of uint32
        The set is ``elements[start:end]``.
    start, end : int

    Returns
    -------
    uint64

    Notes
    -----
    O(elements).
    """
    bits = np.uint64(0)
    for p in range(start, end):
        bits |= _ONE << ((np.uint64(elements[p]) * K0) >> _SHIFT)
    return bits


@njit_lean
def sign_sets(sets, signatures):
    """Write a bitmap of 64 bits for each set: the bits that the hashes of its elements name.

    Parameters
    ----------
    sets : SetLists
    signatures : ndarray of uint64, shape (n_sets,)
        Receives them. A set can be a subset only of those whose bitmap has all bits of its own.

    Notes
    -----
    The signature of Helmer and Moerkotte (VLDB 1997). O(elements).
    """
    indptr, elements = sets.indptr, sets.elements
    for row in range(signatures.shape[0]):
        signatures[row] = signature_of(elements, indptr[row], indptr[row + 1])


@njit_lean
def hash_sets(sets, hashes):
    """Hash each set; equal sets have equal hashes.

    Parameters
    ----------
    sets : SetLists
    hashes : ndarray of uint64, shape (n_sets,)
        Receives them.

    Notes
    -----
    O(elements).
    """
    indptr, elements = sets.indptr, sets.elements
    for row in range(hashes.shape[0]):
        total = K1
        for p in range(indptr[row], indptr[row + 1]):
            mixed = (np.uint64(elements[p]) + _ONE) * K0
            mixed ^= mixed >> _HALF
            total += mixed * K1
        hashes[row] = total


@njit_lean
def find_rarest(sets, counts, rarest):
    """Find the element of each set that the fewest sets of the other side have.

    Parameters
    ----------
    sets : SetLists
    counts : ndarray of int64, shape (n_elements,)
        Sets of the other side that have each element.
    rarest : ndarray of int64, shape (n_sets,)
        Receives the element; UNKNOWN where a count is zero, so that no set can hold all of it; EMPTY without elements.

    Notes
    -----
    Of equal counts the smallest element. O(elements).
    """
    indptr, elements = sets.indptr, sets.elements
    for row in range(rarest.shape[0]):
        found = np.int64(EMPTY)
        fewest = np.int64(0)
        for p in range(indptr[row], indptr[row + 1]):
            element = np.int64(elements[p])
            if found == EMPTY or counts[element] < fewest:
                found = element
                fewest = counts[element]
        rarest[row] = UNKNOWN if found >= 0 and fewest == 0 else found


@njit_lean
def order_rows(keys, cursors, order):
    """Order rows by their keys, equal keys as they come: a counting sort.

    Parameters
    ----------
    keys : ndarray of int64, shape (n,)
        Rows with a negative key are left out.
    cursors : ndarray of int64, shape (n_keys,)
        Where the rows of each key begin; afterwards, where they end.
    order : ndarray of int32
        Receives the rows.

    Notes
    -----
    O(n).
    """
    for row in range(keys.shape[0]):
        key = keys[row]
        if key >= 0:
            order[cursors[key]] = row
            cursors[key] += 1


@njit_lean
def fill_lists(sets, largest, cursors, rows):
    """Fill the inverted lists of some elements.

    Parameters
    ----------
    sets : SetLists
    largest : int
        Larger sets are left out.
    cursors : ndarray of int64, shape (n_elements,)
        Where the list of each element begins, -1 for one without; afterwards, where it ends.
    rows : ndarray of int32
        Receives the sets of each list, ascending.

    Notes
    -----
    O(elements); each is written to another place, so that memory decides the time.
    """
    indptr, elements = sets.indptr, sets.elements
    n = elements.shape[0]
    for row in range(indptr.shape[0] - 1):
        if indptr[row + 1] - indptr[row] > largest:
            continue
        for p in range(indptr[row], indptr[row + 1]):
            if p + _AHEAD < n:
                prefetch(cursors, np.int64(elements[p + _AHEAD]))
            position = cursors[elements[p]]
            if position >= 0:
                rows[position] = row
                cursors[elements[p]] = position + 1


@njit_lean
def copy_sets(sets, rows, copied):
    """Copy some sets.

    Parameters
    ----------
    sets : SetLists
    rows : ndarray of int64, shape (n,)
    copied : SetLists
        Receives the sets; its `indptr` has n + 1 entries, of which the first is 0.

    Notes
    -----
    O(elements of the sets).
    """
    n = np.int64(0)
    for i in range(rows.shape[0]):
        if i + _AHEAD < rows.shape[0]:
            prefetch(sets.elements, sets.indptr[rows[i + _AHEAD]])
        for p in range(sets.indptr[rows[i]], sets.indptr[rows[i] + 1]):
            copied.elements[n] = sets.elements[p]
            n += 1
        copied.indptr[i + 1] = n


@njit_inner
def _is_hash_before(hashes, a, b):
    """Tell whether set `a` comes before set `b` in the order of hashes."""
    return hashes[a] < hashes[b]


_sort_by_hash = merge_sort_by(_is_hash_before)


@njit_lean
def sort_runs(order, starts, ends, hashes, scratch):
    """Put equal sets beside each other within each run of rows.

    Parameters
    ----------
    order : ndarray of int32
        Rows; changed.
    starts, ends : ndarray of int64, shape (n_keys,)
        The runs.
    hashes : ndarray of uint64, shape (n_sets,)
    scratch : ndarray of int32, shape of `order`

    Notes
    -----
    O(n log(longest run)).
    """
    for key in range(starts.shape[0]):
        if ends[key] - starts[key] > 1:
            _sort_by_hash(order, starts[key], ends[key], scratch, hashes)


@njit_inner
def are_equal(sets, a, b):
    """Tell whether two sets of a collection are equal.

    Parameters
    ----------
    sets : SetLists
    a, b : int
        Numbers of the sets.

    Returns
    -------
    bool

    Notes
    -----
    O(elements).
    """
    indptr, elements = sets.indptr, sets.elements
    size = indptr[a + 1] - indptr[a]
    if size != indptr[b + 1] - indptr[b]:
        return False
    for i in range(size):
        if elements[indptr[a] + i] != elements[indptr[b] + i]:
            return False
    return True


@njit_inner
def gallop(values, low, high, value):
    """Find the first entry of an ascending stretch that is not below a value, by doubling steps from its beginning.

    Parameters
    ----------
    values : ndarray
        ``values[low:high]`` ascends.
    low, high : int
    value : number

    Returns
    -------
    int
        `low` to `high`.

    Notes
    -----
    O(log(distance from `low`)).
    """
    step = np.int64(1)
    end = low
    while end < high and values[end] < value:
        low = end + 1
        end += step
        step *= 2
    return lower_bound(values, low, min(end, high), value)


@njit_inner
def is_subset(left, row, right, other):
    """Tell whether a set of one collection is a subset of a set of another one.

    Parameters
    ----------
    left : SetLists
    row : int
    right : SetLists
    other : int
        Set `row` of `left` is compared with set `other` of `right`.

    Returns
    -------
    bool

    Notes
    -----
    Both are merged; where the other one is far larger, each element is searched by doubling steps. O(smaller of the sum
    of both sizes and size × log(ratio)), and less where an element is missing.
    """
    i, i_end = left.indptr[row], left.indptr[row + 1]
    j, j_end = right.indptr[other], right.indptr[other + 1]
    size = i_end - i
    if size > j_end - j:
        return False
    if (j_end - j) > _FAR_LARGER * size:
        while i < i_end:
            j = gallop(right.elements, j, j_end, left.elements[i])
            if j == j_end or right.elements[j] != left.elements[i]:
                return False
            i += 1
            j += 1
        return True
    while i < i_end:
        if i_end - i > j_end - j:
            return False
        if right.elements[j] == left.elements[i]:
            i += 1
        elif right.elements[j] > left.elements[i]:
            return False
        j += 1
    return True
