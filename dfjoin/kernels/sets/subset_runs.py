"""The left sets of a containment join, grouped by their rarest element and of these by equality; and pairs of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.sets.set_lists import SetLists, are_equal

_BLOCK = 16
MOST_HELD = 1024
"""Sets that a search finds before their pairs are written."""


class LeftRuns(NamedTuple):
    """Left sets in runs of equal ones.

    Run i is the sets ``order[starts[i] : starts[i + 1]]``, all equal; ``first[e] : first[e + 1]`` are the runs whose
    rarest element is e; `signatures` has the bitmap of each run, see `sign_sets`.
    """

    sets: SetLists
    order: NDArray[np.int32]
    starts: NDArray[np.int32]
    first: NDArray[np.int32]
    signatures: NDArray[np.uint64]


class Pairs(NamedTuple):
    """Receives pairs: numbers of left and right sets."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]


@njit_lean
def find_runs(sets, order, keys, hashes, starts):
    """Find where the runs of equal sets begin.

    Parameters
    ----------
    sets : SetLists
    order : ndarray of int32, shape (n,)
        Sets, those of one key beside each other, and of these those of one hash.
    keys : ndarray of int64, shape (n_sets,)
    hashes : ndarray of uint64, shape (n_sets,)
    starts : ndarray of int32, shape (n + 1,)
        Receives the beginning of each run, and n after the last one.

    Returns
    -------
    int
        The number of runs.

    Notes
    -----
    O(elements of the sets that have the hash of the set before).
    """
    n = np.int64(0)
    for i in range(order.shape[0]):
        row = np.int64(order[i])
        is_new = True
        if i > 0:
            before = np.int64(order[i - 1])
            is_new = keys[before] != keys[row] or hashes[before] != hashes[row] or not are_equal(sets, before, row)
        if is_new:
            starts[n] = i
            n += 1
    starts[n] = order.shape[0]
    return n


@njit_inner
def write_pairs(lefts, start, end, rights, n_rights, n_written, pairs, n_pairs):
    """Write the pairs of each of some left sets with each of some right ones, as many as there is room for.

    Parameters
    ----------
    lefts : ndarray of int32
        The left sets are ``lefts[start:end]``.
    start, end : int
    rights : ndarray of int32
        The right sets are ``rights[:n_rights]``.
    n_rights, n_written : int
        How many of the pairs, in the order of the left sets, are written already.
    pairs : Pairs
    n_pairs : int
        Where to write.

    Returns
    -------
    int
        How many of the pairs are written now.
    """
    n_now = min((end - start) * n_rights, n_written + pairs.left.shape[0] - n_pairs)
    i, k = n_written // n_rights, n_written % n_rights
    while n_written < n_now:
        left = lefts[start + i]
        n_own = min(n_rights - k, n_now - n_written)
        for j in range(n_own):
            pairs.left[n_pairs + j] = left
            pairs.right[n_pairs + j] = rights[k + j]
        n_pairs += n_own
        n_written += n_own
        i += 1
        k = np.int64(0)
    return n_now


@njit_inner
def match_signatures(rows, stretch, p, own, signatures, held):
    """Find the sets of a list whose bitmaps have all bits of a left set's, as many as there is room for.

    Parameters
    ----------
    rows : ndarray of int32
        The lists of right sets.
    stretch : tuple of int
        Where the list begins, and how many entries it has.
    p : int
        Entry to begin with.
    own : uint64
        Bitmap of the left set.
    signatures : ndarray of uint64
        Those of the sets of this list.
    held : ndarray of int32
        Receives the sets.

    Returns
    -------
    int, int
        How many sets there are, and the entry to go on with.

    Notes
    -----
    16 bitmaps are compared in a few instructions; most of these have no hit.
    """
    start, n = stretch
    n_held = np.int64(0)
    while p < n and n_held + _BLOCK <= held.shape[0]:
        stop = min(p + _BLOCK, n)
        n_hits = np.int64(1)
        if stop == p + _BLOCK:
            n_hits = np.int64(0)
            for q in range(_BLOCK):
                n_hits += np.int64((signatures[p + q] & own) == own)
        if n_hits > 0:
            for q in range(p, stop):
                held[n_held] = rows[start + q]
                n_held += np.int64((signatures[q] & own) == own)
        p = stop
    return n_held, p
