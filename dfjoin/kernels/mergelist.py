"""Posting lists → matched query values per column, and the best columns of them."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels._compile import njit, prefetch

__all__ = [
    "clear_counts",
    "collect_lists",
    "count_few",
    "count_lists",
    "gather_groups",
    "select_top",
    "select_top_of_all",
]

_AHEAD = 4  # lists that are asked for before they are read
_MAX_ASKED = 256  # postings of each: the machine itself reads ahead in what is longer
_LINE = 16  # postings to a cache line
_BLOCK = 64  # columns passed over together


@njit
def gather_groups(tokens, group, n_groups):
    """Return the group of each token; tokens that are -1 stay -1.

    Parameters
    ----------
    tokens : ndarray of int64, shape (n,)
    group : ndarray of uint32, shape (n_tokens,)
    n_groups : int
        Groups of the segment; a larger number in `group` gives -2 in the first place.

    Returns
    -------
    ndarray of int64, shape (n,)

    Notes
    -----
    O(n).
    """
    groups = np.empty(tokens.shape[0], np.int64)
    for i in range(tokens.shape[0]):
        if i + 16 < tokens.shape[0] and tokens[i + 16] >= 0:
            prefetch(group, tokens[i + 16])
        if tokens[i] < 0:
            groups[i] = -1
        else:
            groups[i] = np.int64(group[tokens[i]])
            if groups[i] >= n_groups:
                groups[0] = -2
                return groups
    return groups


@njit
def collect_lists(groups, weights, n_columns, list_indptr, hits, counts, lists, columns, state):
    """Count single-column tokens, and gather the distinct posting lists with their multiplicities.

    Parameters
    ----------
    groups : ndarray of int64, shape (n,)
        Group of each query value, -1 for none.
    weights : ndarray of int32, shape (n,) or (0,)
        What each value counts, in rows; empty: one each.
    n_columns : int
    list_indptr : ndarray of int64, shape (n_lists + 1,)
    hits : ndarray of int32, shape (n_lists,)
        Scratch of zeros; receives the weight of each list.
    counts : ndarray of int32, shape (n_columns,)
        Scratch of zeros; receives the weight of each column's private tokens.
    lists : ndarray of uint32, shape (n,)
        Receives the distinct lists.
    columns : ndarray of int32, shape (n_columns + 1,)
        Receives the columns counted.
    state : ndarray of int64, shape (3,)
        Receives the number of lists, of columns, and the postings that the lists hold.

    Notes
    -----
    O(n).
    """
    n_lists = 0
    n_touched = 0
    n_postings = 0
    for i in range(groups.shape[0]):
        group = groups[i]
        if group < 0:
            continue
        weight = weights[i] if weights.shape[0] > 0 else np.int32(1)
        if group < n_columns:
            if counts[group] == 0:
                columns[n_touched] = group
                n_touched += 1
            counts[group] += weight
        else:
            number = group - n_columns
            if hits[number] == 0:
                lists[n_lists] = number
                n_lists += 1
                n_postings += list_indptr[number + 1] - list_indptr[number]
            hits[number] += weight
    state[0] = n_lists
    state[1] = n_touched
    state[2] = n_postings


@njit
def _ask_for(lists, i, list_indptr, list_columns):
    """Ask for the first postings of list number `i` of those collected, which are read a little later."""
    start = list_indptr[lists[i]]
    for p in range(start, min(list_indptr[lists[i] + 1], start + _MAX_ASKED), _LINE):
        prefetch(list_columns, p)


@njit
def count_lists(lists, n_lists, hits, list_indptr, list_columns, counts):
    """Add the weight of each list to its columns; the baseline of exact search.

    Parameters
    ----------
    lists : ndarray of uint32
        Distinct lists, the first `n_lists` of it.
    n_lists : int
    hits : ndarray of int32, shape (n_all_lists,)
        Weight of each; zero again afterwards.
    list_indptr : ndarray of int64
    list_columns : ndarray of int32
    counts : ndarray of int32, shape (n_columns,)

    Returns
    -------
    bool
        False when a list or a posting lies outside the segment.

    Notes
    -----
    MergeList over distinct posting lists. Source: Zhu et al., "JOSIE", SIGMOD 2019, sections 2.2 and
    3.5. O(postings), 1 to 4 ns each: a posting costs one comparison, which never fails, and lists are
    asked for before they are read.
    """
    n_columns = np.uint32(counts.shape[0])
    n_all = list_columns.shape[0]
    for i in range(n_lists):
        if i + _AHEAD < n_lists:
            _ask_for(lists, i + _AHEAD, list_indptr, list_columns)
        number = np.int64(lists[i])
        weight = hits[number]
        hits[number] = 0
        start = list_indptr[number]
        end = list_indptr[number + 1]
        if start < 0 or end > n_all:
            return False
        is_sound = True
        for p in range(start, end):
            column = np.uint32(list_columns[p])
            if column < n_columns:
                counts[column] += weight
            else:
                is_sound = False
        if not is_sound:
            return False
    return True


@njit
def count_few(lists, n_lists, hits, list_indptr, list_columns, counts, columns, n_touched):
    """Add the weight of each list to its columns, and record the columns that were met.

    Parameters
    ----------
    lists, n_lists, hits, list_indptr, list_columns, counts
        As in `count_lists`.
    columns : ndarray of int32, shape (n_columns + 1,)
        Columns counted so far, the first `n_touched`; extended.
    n_touched : int

    Returns
    -------
    int
        Number of columns in `columns`; -1 when a list or a posting lies outside the segment.

    Notes
    -----
    Every posting writes its column behind those recorded, and the end moves only when it was new:
    no branch that depends on the data. O(postings).
    """
    n_columns = np.uint32(counts.shape[0])
    n_all = list_columns.shape[0]
    for i in range(n_lists):
        if i + _AHEAD < n_lists:
            _ask_for(lists, i + _AHEAD, list_indptr, list_columns)
        number = np.int64(lists[i])
        weight = hits[number]
        hits[number] = 0
        start = list_indptr[number]
        end = list_indptr[number + 1]
        if start < 0 or end > n_all:
            return -1
        is_sound = True
        for p in range(start, end):
            column = np.uint32(list_columns[p])
            if column < n_columns:
                columns[n_touched] = column
                n_touched += np.int64(counts[column] == 0)
                counts[column] += weight
            else:
                is_sound = False
        if not is_sound:
            return -1
    return n_touched


@njit
def clear_counts(counts, columns, n_touched):
    """Set the counted columns back to zero.

    Parameters
    ----------
    counts : ndarray of int32, shape (n_columns,)
    columns : ndarray of int32
        Columns counted, the first `n_touched` of it.
    n_touched : int

    Notes
    -----
    O(n_touched).
    """
    for i in range(n_touched):
        counts[columns[i]] = 0


@njit
def _is_better(counts, cardinality, a, b):
    """Tell whether column `a` ranks before column `b`: matched, then cardinality, then id."""
    if counts[a] != counts[b]:
        return counts[a] > counts[b]
    if cardinality[a] != cardinality[b]:
        return cardinality[a] < cardinality[b]
    return a < b


@njit
def _sift_down(heap, size, counts, cardinality):
    """Move the root of a heap whose root is the worst column to its place."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            return
        if child + 1 < size and _is_better(counts, cardinality, heap[child], heap[child + 1]):
            child += 1
        if not _is_better(counts, cardinality, heap[i], heap[child]):
            return
        heap[i], heap[child] = heap[child], heap[i]
        i = child


@njit
def _offer(heap, size, column, counts, cardinality):
    """Offer a column to the heap of the best, whose root is the worst; return the new size."""
    if size < heap.shape[0]:
        child = size
        heap[child] = column
        while child > 0:
            parent = (child - 1) // 2
            if not _is_better(counts, cardinality, heap[parent], heap[child]):
                break
            heap[parent], heap[child] = heap[child], heap[parent]
            child = parent
        return size + 1
    if _is_better(counts, cardinality, column, heap[0]):
        heap[0] = column
        _sift_down(heap, size, counts, cardinality)
    return size


@njit
def _rank(heap, size, counts, cardinality):
    """Take the heap apart, best first."""
    ranked = np.empty(size, np.int32)
    while size > 0:
        size -= 1
        ranked[size] = heap[0]
        heap[0] = heap[size]
        _sift_down(heap, size, counts, cardinality)
    return ranked


@njit
def select_top(counts, columns, n_touched, is_allowed, cardinality, minimum, k):
    """Select the best `k` columns of those met.

    Order: higher count, then smaller cardinality, then smaller column id, which is (table, column).

    Parameters
    ----------
    counts : ndarray of int32, shape (n_columns,)
    columns : ndarray of int32
        Columns counted, the first `n_touched`.
    n_touched : int
    is_allowed : ndarray of uint8, shape (n_columns,) or (0,)
        1 for columns that may be returned; empty: all.
    cardinality : ndarray of int64, shape (n_columns,)
    minimum : int
        Smallest count to return, at least 1.
    k : int
        How many to return at most.

    Returns
    -------
    ndarray of int32, shape (at most k,)
        Best first.

    Notes
    -----
    A heap of k with the worst column on top, whose count is the floor for those that follow: O(n log k),
    and most columns are one comparison with it.
    """
    heap = np.empty(min(k, n_touched), np.int32)
    size = 0
    floor = minimum
    for i in range(n_touched):
        column = columns[i]
        if counts[column] < floor or (is_allowed.shape[0] > 0 and is_allowed[column] == 0):
            continue
        size = _offer(heap, size, column, counts, cardinality)
        if size == heap.shape[0]:
            floor = max(minimum, counts[heap[0]])
    return _rank(heap, size, counts, cardinality)


@njit
def select_top_of_all(counts, is_allowed, cardinality, minimum, k):
    """Select the best `k` of all columns, as `select_top` does of those met.

    Parameters
    ----------
    counts : ndarray of int32, shape (n_columns,)
    is_allowed, cardinality, minimum, k
        As in `select_top`.

    Returns
    -------
    ndarray of int32, shape (at most k,)
        Best first.

    Notes
    -----
    Columns are passed over a block at a time where the block's largest count is below the floor; that
    comparison runs at the speed of memory. O(n_columns + candidates log k).
    """
    n = counts.shape[0]
    heap = np.empty(min(k, n), np.int32)
    size = 0
    floor = minimum
    for begin in range(0, n, _BLOCK):
        end = min(n, begin + _BLOCK)
        largest = np.int32(0)
        for column in range(begin, end):
            largest = max(largest, counts[column])
        if largest < floor:
            continue
        for column in range(begin, end):
            if counts[column] < floor or (is_allowed.shape[0] > 0 and is_allowed[column] == 0):
                continue
            size = _offer(heap, size, np.int32(column), counts, cardinality)
            if size == heap.shape[0]:
                floor = max(minimum, counts[heap[0]])
    return _rank(heap, size, counts, cardinality)
