"""Candidate columns of a query's signature: the trees of an LSH Forest, probed by band."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels._compile import njit, prefetch

__all__ = ["collect_candidates", "find_equal", "sum_sets"]

_AHEAD = 16


@njit
def find_equal(signature, values, first_slot, starts, ends):
    """Find where each row of a signature stands in the sorted row of the lake.

    Parameters
    ----------
    signature : ndarray of uint32, shape (n_rows,)
    values : ndarray of uint32, shape (n_rows, n)
        Each row sorted.
    first_slot : int
        With no slot from here on nothing is found; the number of slots at most.
    starts, ends : ndarray of int64, shape (n_rows,)
        Receive the stretch of equal values of each row; empty where there is none.

    Returns
    -------
    int
        Entries in all stretches.

    Notes
    -----
    The first level of every prefix tree at once: binary search, step by step over all rows, so that the
    memory of one row is on its way while the others are compared. O(n_rows log n + entries).
    """
    n_rows = values.shape[0]
    n = values.shape[1]
    starts[:] = 0
    if first_slot >= n:
        ends[:] = 0
        return 0
    size = n
    while size > 1:
        half = size // 2
        for row in range(n_rows):
            if values[row, starts[row] + half - 1] < signature[row]:
                starts[row] += half
        size -= half
    total = 0
    for row in range(n_rows):
        place = starts[row]
        if place < n and values[row, place] < signature[row]:
            place += 1
        starts[row] = place
        while place < n and values[row, place] == signature[row]:
            place += 1
        ends[row] = place
        total += place - starts[row]
    return total


@njit
def collect_candidates(starts, ends, slots, first_slot, indptr, n_bands, n_band_rows, agreed, is_candidate, candidates):
    """Collect the columns that agree with a signature in a whole band, and count the rows that agree.

    Band j of a partition with (b, r) is rows ``j r`` to ``j r + r - 1``, for j < b.

    Parameters
    ----------
    starts, ends : ndarray of int64, shape (n_rows,)
        From `find_equal`.
    slots : ndarray of int32, shape (n_rows, n)
        Slot of each value; slots number the signed columns by set size.
    first_slot : int
        Slots below it are too small to reach the threshold and are passed over.
    indptr : ndarray of int64, shape (n_partitions + 1,)
        Slots of each partition.
    n_bands, n_band_rows : ndarray of int64, shape (n_partitions,)
        (b, r) of each partition, ``0 < b r <= n_rows``; b = 0 leaves a partition out.
    agreed : ndarray of uint16, shape (n,)
        Zeros; receives for each slot the rows that agree.
    is_candidate : ndarray of uint8, shape (n,)
        Zeros; receives 1 for each candidate.
    candidates : ndarray of int32, shape (n,)
        Receives the candidates.

    Returns
    -------
    int
        Number of candidates; -1 when a slot lies outside the segment.

    Notes
    -----
    Source: Bawa, Condie, Ganesan, "LSH Forest", WWW 2005, and Zhu, thesis, section 2.4.7. Deviation: there
    is a sorted array for each row of the signature and not for each band, and a band is found by counting
    its rows; so every (b, r) with b r <= n_rows can be asked for, all partitions share the arrays, and the
    count of agreeing rows, which estimates the Jaccard similarity, comes with it. O(rows that agree).
    """
    n_rows = slots.shape[0]
    n = slots.shape[1]
    partition = np.empty(n, np.uint16)
    for p in range(indptr.shape[0] - 1):
        for slot in range(indptr[p], indptr[p + 1]):
            partition[slot] = p
    in_band = np.zeros(n, np.uint16)
    last_band = np.zeros(n, np.int16)
    n_candidates = 0
    for row in range(n_rows):
        for place in range(starts[row], ends[row]):
            slot = np.int64(slots[row, place])
            if slot < 0 or slot >= n:
                return -1
            if slot < first_slot:
                continue
            agreed[slot] += 1
            p = partition[slot]
            if is_candidate[slot] or n_bands[p] == 0:
                continue
            band = row // n_band_rows[p]
            if band >= n_bands[p]:
                continue
            if last_band[slot] != band:
                last_band[slot] = band
                in_band[slot] = 0
            in_band[slot] += 1
            if in_band[slot] == n_band_rows[p]:
                is_candidate[slot] = 1
                candidates[n_candidates] = slot
                n_candidates += 1
    return n_candidates


@njit
def sum_sets(columns, set_indptr, set_lists, hits, counts):
    """Count the matched query values of some columns by reading their sets.

    Parameters
    ----------
    columns : ndarray of int32, shape (n,)
        Column ids.
    set_indptr : ndarray of int64, shape (n_columns + 1,)
    set_lists : ndarray of uint32
    hits : ndarray of int32, shape (n_lists,)
        Weight of each posting list that the query holds, else 0.
    counts : ndarray of int32, shape (n_columns,)
        Weight of each column's private tokens in the query.

    Returns
    -------
    ndarray of int32, shape (n,)
        Matched values, or rows; -1 in the first place when a list lies outside the segment.

    Notes
    -----
    O(entries of the sets).
    """
    totals = np.empty(columns.shape[0], np.int32)
    n_lists = hits.shape[0]
    n_entries = set_lists.shape[0]
    for i in range(columns.shape[0]):
        column = np.int64(columns[i])
        total = counts[column]
        start = set_indptr[column]
        end = set_indptr[column + 1]
        if start < 0 or end > n_entries:
            totals[0] = -1
            return totals
        for p in range(start, end):
            if p + _AHEAD < end:
                prefetch(hits, np.int64(set_lists[p + _AHEAD]))
            number = np.int64(set_lists[p])
            if number >= n_lists:
                totals[0] = -1
                return totals
            total += hits[number]
        totals[i] = total
    return totals
