"""Stable sort of 64-bit hashes, lexicographic order of posting lists, and search in what is sorted."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.numba._compile import njit_generic, njit_inner, njit_lean
from dfjoin.kernels.records import as_read_only


def argsort_u64(keys):
    """Return the permutation that sorts 64-bit keys, equal keys in their original order.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n,)
        Not changed; spread over their top bits as hashes are.

    Returns
    -------
    ndarray of uint32, shape (n,)

    Notes
    -----
    The low ceil(log2 n) bits of each key make room for its position, so that numpy's vectorised sort of
    plain numbers does the work (about 10 ns a key, a tenth of an argsort); keys that differ only in
    those bits are put right afterwards. O(n log n) time, 20 n bytes.
    """
    n = keys.shape[0]
    bits = max(1, (max(n, 1) - 1).bit_length())
    low = np.uint64((1 << bits) - 1)
    packed = keys & ~low
    packed |= np.arange(n, dtype=np.uint64)
    packed.sort()
    order = (packed & low).astype(np.uint32)
    _settle(order, packed, as_read_only(keys), np.uint64(bits))
    return order


@njit_lean
def _settle(order, packed, keys, bits):
    """Order by the full key the runs whose top bits are equal; stable insertion sort."""
    n = order.shape[0]
    i = 0
    while i < n:
        j = i + 1
        while j < n and (packed[j] >> bits) == (packed[i] >> bits):
            k = j
            moving = order[j]
            # Rows of a run stand in their order, since their numbers were the low bits: the sort is stable.
            while k > i and keys[order[k - 1]] > keys[moving]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = moving
            j += 1
        i = j


def are_ascending(numbers):
    """Tell whether numbers ascend, so that all are different; the first ones tell of most that do not."""
    return all(bool((some[1:] > some[:-1]).all()) for some in (numbers[:64], numbers))


def are_sorted(numbers):
    """Tell whether no number is below the one before it; the first ones tell of most where some are."""
    return all(bool((some[1:] >= some[:-1]).all()) for some in (numbers[:64], numbers))


def are_all_rows(rows):
    """Tell whether row numbers are 0, 1, 2 … up to their last one: every row once, in order.

    Examples
    --------
    >>> [are_all_rows(np.array(rows, np.int64)) for rows in ([0, 1, 2], [0, 2, 1], [0, 0, 2], [1, 2], [-1, 0], [])]
    [True, False, False, False, False, True]
    """
    n = rows.size
    return n == 0 or bool(rows[0] == 0 and rows[-1] == n - 1 and are_ascending(rows))


def distinct_numbers(numbers):
    """Return the distinct numbers of an array, ascending.

    Parameters
    ----------
    numbers : ndarray of an integer dtype, shape (n,)
        Not changed.

    Returns
    -------
    ndarray, shape (n_distinct,)

    Notes
    -----
    A sort, about 10 ns a number; ``numpy.unique`` enters each number in a hash table, a hundred times as slow for a
    million that differ. O(n log n).
    """
    ascending = np.sort(numbers)
    is_first = np.ones(ascending.size, np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    return ascending[is_first]


def merge_sort_by(is_before):
    """Return a kernel that sorts a stretch of an array by a comparison, in place.

    Parameters
    ----------
    is_before : kernel
        ``is_before(keys, a, b)`` tells whether item `a` comes before item `b`.

    Returns
    -------
    kernel
        ``sort(items, start, end, scratch, keys)`` sorts ``items[start:end]``; `scratch` is an array like `items`,
        and `keys` is what the comparison goes by.

    Notes
    -----
    Bottom-up merge sort, stable; O(n log n) comparisons.
    """

    @njit_generic
    def merge_sort(items, start, end, scratch, keys):
        width = np.int64(1)
        while width < end - start:
            for low in range(start, end, 2 * width):
                middle = min(low + width, end)
                high = min(low + 2 * width, end)
                i = low
                j = middle
                for k in range(low, high):
                    # Of equal ones the left one: the sort is stable.
                    if i < middle and (j >= high or not is_before(keys, items[j], items[i])):
                        scratch[k] = items[i]
                        i += 1
                    else:
                        scratch[k] = items[j]
                        j += 1
            for k in range(start, end):
                items[k] = scratch[k]
            width *= 2

    return merge_sort


@njit_inner
def is_stretch_before(data, i, end_i, j, end_j):
    """Tell whether a stretch of numbers comes before another one in lexicographic order.

    Parameters
    ----------
    data : ndarray
    i, end_i, j, end_j : int
        Where either stretch begins and ends.

    Returns
    -------
    bool

    Notes
    -----
    O(entries that are equal).
    """
    while i < end_i and j < end_j:
        if data[i] != data[j]:
            return data[i] < data[j]
        i += 1
        j += 1
    return i >= end_i and j < end_j


@njit_inner
def _is_list_before(keys, a, b):
    """Tell whether the list of leader `a` comes before that of leader `b` in lexicographic order."""
    leaders, indptr, columns = keys
    one, other = leaders[a], leaders[b]
    return is_stretch_before(columns, indptr[one], indptr[one + 1], indptr[other], indptr[other + 1])


_sort_lists = merge_sort_by(_is_list_before)


@njit_lean
def sort_lists_lexicographic(lists, start, end, leaders, indptr, columns, scratch):
    """Sort ``lists[start:end]``, numbers of posting lists, by the lists they name, in place.

    Parameters
    ----------
    lists : ndarray of uint32
        Numbers of lists.
    start, end : int
        The stretch to sort.
    leaders : ndarray of uint32
        List → row of the CSR (`indptr`, `columns`) that holds it.
    indptr : ndarray of int64
    columns : ndarray of int32
    scratch : ndarray of uint32, shape of `lists`

    Notes
    -----
    Stable; O(m log m) comparisons.
    """
    _sort_lists(lists, start, end, scratch, (leaders, indptr, columns))


@njit_lean
def lower_bound(array, low, high, value):
    """Find the first entry of a sorted stretch that is not below a value.

    Parameters
    ----------
    array : ndarray
        ``array[low:high]`` ascends.
    low, high : int
    value : number

    Returns
    -------
    int
        `low` to `high`. O(log (high - low)).
    """
    while low < high:
        middle = (low + high) // 2
        if array[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit_lean
def is_member(array, value):
    """Tell whether an ascending array holds a value.

    Parameters
    ----------
    array : ndarray
        Ascending.
    value : number

    Returns
    -------
    bool
        O(log n).
    """
    at = lower_bound(array, 0, array.shape[0], value)
    return at < array.shape[0] and array[at] == value
