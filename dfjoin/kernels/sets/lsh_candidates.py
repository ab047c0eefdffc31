"""Candidate columns of a query's signature: the trees of an LSH Forest, probed by band."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.numba._compile import njit, njit_lean


class Stretches(NamedTuple):
    """Of each row of a signature the stretch of equal values in the sorted row of the lake."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class PartitionBands(NamedTuple):
    """The partitions: slots ``indptr[p] : indptr[p + 1]`` with b and r, ``b r`` at most the rows; b = 0 for none."""

    indptr: NDArray[np.int64]
    n_bands: NDArray[np.int64]
    n_band_rows: NDArray[np.int64]


@njit_lean
def find_equal(signature, values, first_slot, stretches):
    """Find where each row of a signature stands in the sorted row of the lake.

    Parameters
    ----------
    signature : ndarray of uint32, shape (n_rows,)
    values : ndarray of uint32, shape (n_rows, n)
        Each row sorted.
    first_slot : int
        With no slot from here on nothing is found; the number of slots at most.
    stretches : Stretches
        Receives the stretch of each row; empty where there is none.

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
    starts, ends = stretches.starts, stretches.ends
    for row in range(n_rows):
        starts[row] = 0
        ends[row] = 0
    if first_slot >= n:
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
        position = starts[row]
        if position < n and values[row, position] < signature[row]:
            position += 1
        starts[row] = position
        while position < n and values[row, position] == signature[row]:
            position += 1
        ends[row] = position
        total += position - starts[row]
    return total


@njit
def collect_candidates(stretches, slots, first_slot, bands, agreed, candidates):
    """Collect the columns that agree with a signature in a whole band, and count the rows that agree.

    Band j of a partition with (b, r) is rows ``j r`` to ``j r + r - 1``, for j < b.

    Parameters
    ----------
    stretches : Stretches
        From `find_equal`.
    slots : ndarray of int32, shape (n_rows, n)
        Slot of each value; slots number the signed columns by set size.
    first_slot : int
        Slots below it are too small to reach the threshold and are passed over.
    bands : PartitionBands
    agreed : ndarray of uint16, shape (n,)
        Zeros; receives for each slot the rows that agree.
    candidates : ndarray of int32, shape (n,)
        Receives the candidates.

    Returns
    -------
    int
        Number of candidates.

    Raises
    ------
    DamagedArraysError
        If a slot lies outside the segment.

    Notes
    -----
    Source: Bawa, Condie, Ganesan, "LSH Forest", WWW 2005, and Zhu, thesis, section 2.4.7. Deviation: there
    is a sorted array for each row of the signature and not for each band, and a band is found by counting
    its rows; so every (b, r) with b r <= n_rows can be asked for, all partitions share the arrays, and the
    count of agreeing rows, which estimates the Jaccard similarity, comes with it. O(rows that agree).
    """
    n_rows = slots.shape[0]
    n = slots.shape[1]
    indptr, n_bands, n_band_rows = bands.indptr, bands.n_bands, bands.n_band_rows
    is_candidate = np.zeros(n, np.uint8)
    partition = np.empty(n, np.uint16)
    for p in range(indptr.shape[0] - 1):
        for slot in range(indptr[p], indptr[p + 1]):
            partition[slot] = p
    in_band = np.zeros(n, np.uint16)
    last_band = np.zeros(n, np.int16)
    n_candidates = 0
    for row in range(n_rows):
        for position in range(stretches.starts[row], stretches.ends[row]):
            slot = np.int64(slots[row, position])
            if slot < 0 or slot >= n:
                raise DamagedArraysError
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
