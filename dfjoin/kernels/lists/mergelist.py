"""Posting lists, or the sets of columns → matched query values per column, and the best columns of them."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.numba._compile import njit_inlined, njit_lean, prefetch
from dfjoin.kernels.topk import offer, rank_heap

AHEAD = 4  # lists that are prefetched before they are read
_MAX_PREFETCHED = 256  # postings of each: the machine itself reads ahead in what is longer
_LINE = 16  # postings to a cache line
_BLOCK = 64  # columns passed over together
_ENTRIES_AHEAD = 16


@njit_lean
def collect_lists(groups, weights, list_indptr, tally, lists):
    """Count single-column tokens, and gather the distinct posting lists with their weights.

    Parameters
    ----------
    groups : ndarray of int64, shape (n,)
        Group of each query value, -1 for none.
    weights : ndarray of int32, shape (n,) or (0,)
        What each value counts, in rows; empty: one each.
    list_indptr : ndarray of int64, shape (n_lists + 1,)
    tally : Tally
        Receives the weight of each list, the weight of each column's private tokens and the columns that have some.
    lists : ndarray of uint32, shape (n,)
        Receives the distinct lists.

    Returns
    -------
    n_lists, n_private, n_postings : int
        The number of lists, of columns counted, and of the postings that the lists hold.

    Notes
    -----
    O(n).
    """
    counts, list_weights, columns = tally.counts, tally.list_weights, tally.columns
    n_columns = counts.shape[0]
    n_lists = np.int64(0)
    n_private = np.int64(0)
    n_postings = np.int64(0)
    for i in range(groups.shape[0]):
        group = groups[i]
        if group < 0:
            continue
        weight = weights[i] if weights.shape[0] > 0 else np.int32(1)
        if group < n_columns:
            if counts[group] == 0:
                columns[n_private] = group
                n_private += 1
            counts[group] += weight
        else:
            number = group - n_columns
            if list_weights[number] == 0:
                lists[n_lists] = number
                n_lists += 1
                n_postings += list_indptr[number + 1] - list_indptr[number]
            list_weights[number] += weight
    return n_lists, n_private, n_postings


@njit_inlined
def prefetch_list(lists, i, n_lists, postings):
    """Prefetch the first postings of the list at place `i`, if there is one.

    Parameters
    ----------
    lists : ndarray of uint32, shape (n,)
        Numbers of posting lists; only the first `n_lists` are used.
    i, n_lists : int
    postings : Lists

    Notes
    -----
    At most 16 cache lines: O(1).
    """
    if i < n_lists:
        start, end = postings.indptr[lists[i]], postings.indptr[lists[i] + 1]
        for p in range(start, min(end, start + _MAX_PREFETCHED), _LINE):
            prefetch(postings.columns, p)


@njit_inlined
def _merge(lists, postings, tally, n_met, is_recorded):
    """Add the weight of each list to its columns; with `is_recorded` note which columns were met.

    Every posting then writes its column behind those recorded, and the end moves only when it was new: no branch
    depends on the data. Compiled into each of its two callers, of which each keeps its own half.
    """
    indptr, list_columns = postings.indptr, postings.columns
    counts, list_weights, columns = tally.counts, tally.list_weights, tally.columns
    n_columns = np.uint32(counts.shape[0])
    n_lists = lists.shape[0]
    for i in range(n_lists):
        prefetch_list(lists, i + AHEAD, n_lists, postings)
        number = np.int64(lists[i])
        weight = list_weights[number]
        list_weights[number] = 0
        start = indptr[number]
        end = indptr[number + 1]
        if start < 0 or end > list_columns.shape[0]:
            raise DamagedArraysError
        is_sound = True
        for p in range(start, end):
            column = np.uint32(list_columns[p])
            if column < n_columns:
                if is_recorded:
                    columns[n_met] = column
                    n_met += np.int64(counts[column] == 0)
                counts[column] += weight
            else:
                is_sound = False
        if not is_sound:
            raise DamagedArraysError
    return n_met


@njit_lean
def count_lists(lists, postings, tally):
    """Add the weight of each list to its columns; the baseline of exact search.

    Parameters
    ----------
    lists : ndarray of uint32, shape (n,)
        Distinct lists.
    postings : Lists
    tally : Tally
        The weights of these lists are zero again afterwards.

    Raises
    ------
    DamagedArraysError
        If a list or a posting lies outside the segment.

    Notes
    -----
    MergeList over distinct posting lists. Source: Zhu et al., "JOSIE", SIGMOD 2019, sections 2.2 and
    3.5. O(postings), 1 to 4 ns each: a posting costs one comparison, which never fails, and lists are
    prefetched before they are read.
    """
    _merge(lists, postings, tally, 0, False)


@njit_lean
def count_lists_met(lists, postings, tally, n_met):
    """Add the weight of each list to its columns, as `count_lists`, and record the columns that were met.

    Parameters
    ----------
    lists, postings, tally
        As in `count_lists`; ``tally.columns`` is extended.
    n_met : int
        Columns recorded so far.

    Returns
    -------
    int
        Columns recorded.

    Raises
    ------
    DamagedArraysError
        If a list or a posting lies outside the segment.

    Notes
    -----
    O(postings); the columns that were not met need not be looked at afterwards.
    """
    return _merge(lists, postings, tally, n_met, True)


@njit_lean
def select_top(counts, columns, wanted, best):
    """Select the best columns of those met.

    Parameters
    ----------
    counts : ndarray of int32, shape (n_columns,)
    columns : ndarray of int32, shape (n,)
        Columns counted.
    wanted : Wanted
        Its minimum is at least 1.
    best : ndarray of int32, shape (min(k, n),)
        Receives the columns, best first.

    Returns
    -------
    int
        How many there are.

    Notes
    -----
    A heap with the worst column on top, whose count is the floor for those that follow: O(n log k),
    and most columns are one comparison with it.
    """
    is_allowed, cardinality = wanted.is_allowed, wanted.cardinality
    size = np.int64(0)
    floor = np.int64(wanted.minimum)
    for i in range(columns.shape[0]):
        column = columns[i]
        if counts[column] < floor or (is_allowed.shape[0] > 0 and is_allowed[column] == 0):
            continue
        size = offer(best, size, column, counts, cardinality)
        if size == best.shape[0]:
            floor = max(floor, np.int64(counts[best[0]]))
    rank_heap(best, size, counts, cardinality)
    return size


@njit_lean
def select_top_of_all(counts, wanted, best):
    """Select the best of all columns, as `select_top` does of those met.

    Parameters
    ----------
    counts : ndarray of int32, shape (n_columns,)
    wanted, best
        As in `select_top`.

    Returns
    -------
    int
        How many there are.

    Notes
    -----
    Columns are passed over a block at a time where the block's largest count is below the floor; that
    comparison runs at the speed of memory. O(n_columns + candidates log k).
    """
    is_allowed, cardinality = wanted.is_allowed, wanted.cardinality
    n = counts.shape[0]
    size = np.int64(0)
    floor = np.int64(wanted.minimum)
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
            size = offer(best, size, np.int32(column), counts, cardinality)
            if size == best.shape[0]:
                floor = max(floor, np.int64(counts[best[0]]))
    rank_heap(best, size, counts, cardinality)
    return size


@njit_lean
def sum_set(lists, start, end, list_weights):
    """Add up the weights of the posting lists that a stretch of the forward index names.

    Parameters
    ----------
    lists : ndarray of uint32
        The forward index.
    start, end : int
        The stretch.
    list_weights : ndarray of int32, shape (n_lists,)

    Returns
    -------
    int

    Raises
    ------
    DamagedArraysError
        If the stretch, or a list in it, lies outside the segment.

    Notes
    -----
    O(end - start).
    """
    if start < 0 or end > lists.shape[0]:
        raise DamagedArraysError
    total = np.int64(0)
    for p in range(start, end):
        if p + _ENTRIES_AHEAD < end:
            prefetch(list_weights, np.int64(lists[p + _ENTRIES_AHEAD]))
        number = np.int64(lists[p])
        if number >= list_weights.shape[0]:
            raise DamagedArraysError
        total += list_weights[number]
    return total


@njit_lean
def sum_sets(columns, sets, tally, totals):
    """Count the matched query values of some columns by reading their sets.

    Parameters
    ----------
    columns : ndarray of int32, shape (n,)
    sets : Sets
    tally : Tally
        As `collect_lists` leaves it.
    totals : ndarray of int32, shape (n,)
        Receives the matched values, or rows.

    Raises
    ------
    DamagedArraysError
        If a set or a list lies outside the segment.

    Notes
    -----
    O(entries of the sets).
    """
    for i in range(columns.shape[0]):
        column = np.int64(columns[i])
        known = tally.counts[column]
        totals[i] = known + sum_set(sets.lists, sets.indptr[column], sets.indptr[column + 1], tally.list_weights)
