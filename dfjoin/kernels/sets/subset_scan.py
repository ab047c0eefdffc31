"""Subsets among sets that share their rarest element: bitmaps of the sets that hold it, then a test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean, prefetch
from dfjoin.kernels.sets.set_lists import is_subset
from dfjoin.kernels.sets.subset_runs import match_signatures, write_pairs

_STEP = 16  # entries of a list that count as one step where slices are read
_AHEAD = 16
_NEAR = 8
N_SLICES = 256
MOST_READ = 64
"""Slices that the sets of a list are written to, and those that a left set reads at most."""
_SLICED_FROM = 256  # entries of a list
_FEW = 4  # runs of left sets that share it
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_LAST_SLICE = np.uint32(N_SLICES - 1)
_EIGHT, _SIXTEEN = np.uint32(8), np.uint32(16)
_TOP_SIX = np.uint64(58)
_PLACES = np.zeros(64, np.uint8)
for _position in range(64):
    _PLACES[(0x03F79D71B4CB0A89 << _position & 0xFFFFFFFFFFFFFFFF) >> 58] = _position


class ScanWork(NamedTuple):
    """Scratch: the bitmaps of one list, its slices, the slices that a left set reads, and the sets that it finds.

    `signatures` has the length of the longest list, `slices` a row of N_SLICES words for each 64 of it, `wanted`
    MOST_READ entries, `held` MOST_HELD, see `subset_runs`.
    """

    signatures: NDArray[np.uint64]
    slices: NDArray[np.uint64]
    wanted: NDArray[np.int64]
    held: NDArray[np.int32]


@njit_inner
def _slice_of(element):
    """Return the slice of an element: of up to 256 elements each has its own."""
    return np.int64((element ^ (element >> _EIGHT) ^ (element >> _SIXTEEN)) & _LAST_SLICE)


@njit_inner
def _slice_sets(lists, start, n, right, slices):
    """Write slices of the sets of a list: bit i of word [w, b] is set if set 64 w + i has an element of slice b.

    Returns the number of words of a slice. O(n + elements of the sets).
    """
    n_words = (n + 63) >> 6
    for w in range(n_words):
        for b in range(N_SLICES):
            slices[w, b] = 0
        first = start + (w << 6)
        for i in range(min(np.int64(64), n - (w << 6))):
            if first + i + _AHEAD < start + n:
                prefetch(right.elements, right.indptr[lists.rows[first + i + _AHEAD]])
            row = np.int64(lists.rows[first + i])
            mark = _ONE << np.uint64(i)
            for p in range(right.indptr[row], right.indptr[row + 1]):
                slices[w, _slice_of(right.elements[p])] |= mark
    return n_words


@njit_inner
def _lowest_bit(word):
    """Return the place of the lowest bit that is set, by the product of that bit with a de Bruijn sequence."""
    return np.int64(_PLACES[((word & (~word + _ONE)) * _DE_BRUIJN) >> _TOP_SIX])


@njit_inner
def _list_slices(left, row, element, wanted):
    """List the slices of the elements of a set but one; return how many there are."""
    n = np.int64(0)
    for p in range(left.indptr[row], left.indptr[row + 1]):
        if np.int64(left.elements[p]) != element and n < MOST_READ:
            wanted[n] = _slice_of(left.elements[p])
            n += 1
    return n


@njit_inner
def _agreeing(slices, wanted, n_wanted, word):
    """Tell which of the 64 sets of a word are in all of some slices."""
    found = _ALL
    for k in range(n_wanted):
        found &= slices[word, wanted[k]]
        if found == 0:
            break
    return found


@njit_inner
def _load_signatures(rows, start, n, signatures, local):
    """Copy the bitmaps of the sets of a list beside each other."""
    for q in range(n):
        if q + _AHEAD < n:
            prefetch(signatures, np.int64(rows[start + q + _AHEAD]))
        local[q] = signatures[rows[start + q]]


@njit_inner
def _copy_rows(rows, start, n, p, held):
    """Take the sets of a list from place `p` on; return how many, and where to go on."""
    n_held = min(n - p, held.shape[0])
    for i in range(n_held):
        held[i] = rows[start + p + i]
    return n_held, p + n_held


@njit_inner
def _match_slices(rows, start, n, p, work, n_wanted):
    """Find the sets of a list that are in all slices of a left set; return how many, and where to go on."""
    n_held = np.int64(0)
    while p < n and n_held + 64 <= work.held.shape[0]:  # a word may add 64 sets
        found = _agreeing(work.slices, work.wanted, n_wanted, p >> 6)
        if n - p < 64:
            found &= (_ONE << np.uint64(n - p)) - _ONE  # bits behind the end of the list mean nothing
        while found != 0:
            work.held[n_held] = rows[start + p + _lowest_bit(found)]
            n_held += 1
            found &= found - _ONE
        p = min(p + 64, n)
    return n_held, p


@njit_inner
def _keep_supersets(left, row, right, is_same, held, n):
    """Keep the right sets that hold all elements of a left one; return how many."""
    n_kept = np.int64(0)
    for i in range(n):
        if i + _AHEAD < n:
            prefetch(right.indptr, np.int64(held[i + _AHEAD]))
        if i + _NEAR < n:
            prefetch(right.elements, right.indptr[held[i + _NEAR]])
        other = np.int64(held[i])
        if (is_same and other == row) or is_subset(left, row, right, other):
            held[n_kept] = held[i]
            n_kept += 1
    return n_kept


@njit_lean
def scan_lists(runs, rights, lists, work, state, pairs, most):
    """Find the right sets that hold all elements of left sets, as many pairs as there is room for.

    Parameters
    ----------
    runs : LeftRuns
    rights : tuple of (SetLists, ndarray of uint64, bool)
        The right sets, their bitmaps, and whether they are the left sets.
    lists : InvertedLists
        The right sets that hold each element that is the rarest of a left set.
    work : ScanWork
    state : ndarray of int64, shape (5,)
        Zeros; afterwards, where to go on: element, run, place in its list, and, of the pairs of the sets in
        ``work.held``, how many sets there are and how many pairs are written.
    pairs : Pairs
        Receives the pairs, in the order of the rarest elements.
    most : int
        Entries of lists to look at before the kernel returns, so that a join can be interrupted.

    Returns
    -------
    int
        The number of pairs.

    Notes
    -----
    The partition of the left sets by one element, with the right sets that hold this element as its local index, is
    that of Yang et al., "Internal and external memory set containment join", VLDB Journal 2021, section 5.1; there the
    element is the most frequent one, and the local index is an inverted index. Here it is the rarest one, so that the
    lists are short, and the local index is the bitmap of each set: 16 of them are compared in a few instructions. Long
    lists that many left sets share are written as slices, a bitmap of the sets for each hash of an element. A set that
    passes is tested element by element; equal left sets share all of this.
    O(Σ over runs of the length of the list of the rarest element / 16 + pairs × size).
    """
    left, (right, signatures, is_same) = runs.sets, rights
    n_pairs, n_seen = np.int64(0), np.int64(0)
    element, run, p, n_held, n_written = state[0], state[1], state[2], state[3], state[4]
    n_elements = lists.starts.shape[0]
    loaded, n_words = np.int64(-1), np.int64(0)
    while element < n_elements and n_seen <= most:
        if n_held > 0:
            begin, end = np.int64(runs.starts[run]), np.int64(runs.starts[run + 1])
            n_now = write_pairs(runs.order, begin, end, work.held, n_held, n_written, pairs, n_pairs)
            n_pairs += n_now - n_written
            n_written = n_now
            if n_written < (end - begin) * n_held:
                break
            n_held, n_written = np.int64(0), np.int64(0)
        start = lists.starts[element]
        n = lists.ends[element] - start
        n_left = np.int64(runs.first[element + 1]) - run
        if n_left == 0:
            element += 1
            continue
        if p == n:
            run += 1
            p = np.int64(0)
            continue
        before = p
        row = np.int64(runs.order[runs.starts[run]])
        size = left.indptr[row + 1] - left.indptr[row]
        if size == 1:
            n_held, p = _copy_rows(lists.rows, start, n, p, work.held)
            n_seen += p - before
            continue
        if element != loaded:
            loaded = element
            n_words = np.int64(0)
            if n >= _SLICED_FROM and n_left > _FEW:
                n_words = _slice_sets(lists, start, n, right, work.slices)
            else:
                _load_signatures(lists.rows, start, n, signatures, work.signatures)
        if n_words > 0:
            n_wanted = _list_slices(left, row, element, work.wanted)
            n_held, p = _match_slices(lists.rows, start, n, p, work, n_wanted)
            n_seen += (p - before) // _STEP + 1
        else:
            n_held, p = match_signatures(lists.rows, (start, n), p, runs.signatures[run], work.signatures, work.held)
            n_seen += p - before
        if n_words == 0 or n_elements > N_SLICES or size > MOST_READ:
            n_held = _keep_supersets(left, row, right, is_same, work.held, n_held)
    state[0], state[1], state[2], state[3], state[4] = element, run, p, n_held, n_written
    return n_pairs
