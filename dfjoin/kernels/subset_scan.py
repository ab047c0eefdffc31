"""Subsets among sets that share their rarest element: bitmaps of the sets that hold it, then a test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels._compile import njit_inner, njit_lean, prefetch
from dfjoin.kernels.set_lists import SetLists, are_equal, is_subset

__all__ = ["MOST_READ", "N_SLICES", "Pairs", "ScanSides", "ScanWork", "scan_subsets"]

_BLOCK = 16
_AHEAD = 16
N_SLICES = 256
MOST_READ = 64
"""Slices that the sets of a list are written to, and those that a left set reads at most."""
_SLICED_FROM = 256  # entries of a list
_FEW = 4  # left sets that share it
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_LAST_SLICE = np.uint32(N_SLICES - 1)
_EIGHT, _SIXTEEN = np.uint32(8), np.uint32(16)
_TOP_SIX = np.uint64(58)
_PLACES = np.zeros(64, np.uint8)
for _place in range(64):
    _PLACES[(0x03F79D71B4CB0A89 << _place & 0xFFFFFFFFFFFFFFFF) >> 58] = _place


class ScanSides(NamedTuple):
    """Two collections, the bitmaps of their sets, and the hashes of the sets of the left one.

    `order` holds the left sets that are searched, sets with the same rarest element (`rarest`) beside each other and,
    of these, equal ones; `is_same` tells whether both sides are one collection.
    Elements are below `n_elements`.
    """

    left: SetLists
    right: SetLists
    left_signatures: NDArray[np.uint64]
    right_signatures: NDArray[np.uint64]
    left_hashes: NDArray[np.uint64]
    order: NDArray[np.int32]
    rarest: NDArray[np.int64]
    n_elements: int
    is_same: bool


class Pairs(NamedTuple):
    """Receives pairs: numbers of left and right sets."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]


class ScanWork(NamedTuple):
    """Scratch: the bitmaps of one list, its slices, and the slices that a left set reads.

    `signatures` has the length of the longest list, `slices` a row of N_SLICES words for each 64 of it, `wanted`
    MOST_READ entries.
    """

    signatures: NDArray[np.uint64]
    slices: NDArray[np.uint64]
    wanted: NDArray[np.int64]


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


@njit_lean
def scan_subsets(sides, lists, work, state, pairs, most):
    """Find the right sets that hold all elements of left sets, as many pairs as there is room for.

    Parameters
    ----------
    sides : ScanSides
    lists : InvertedLists
        The right sets that hold each element that is the rarest of a left set.
    work : ScanWork
    state : ndarray of int64, shape (2,)
        Where to begin: position in `order`, and in the list; afterwards, where to go on.
    pairs : Pairs
        Receives the pairs, in the order of the left sets and then of the right ones.
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
    lists are short, and the local index is the bitmap of each set: 16 of them are compared in a few instructions. A
    set that passes is tested element by element. Equal left sets, which lie beside each other, copy the pairs of the
    first. O(Σ over left sets of the length of the list of the rarest element / 16 + pairs × size).
    """
    left, right = sides.left, sides.right
    order, rarest = sides.order, sides.rarest
    room = pairs.left.shape[0]
    n_pairs = np.int64(0)
    n_seen = np.int64(0)
    at = state[0]
    p = state[1]
    loaded = np.int64(-1)
    n_sliced = np.int64(0)  # words of each slice of the list that is loaded, 0 if it is not sliced
    n_order = order.shape[0]
    local = work.signatures
    first_pair = np.int64(-1)  # where the pairs of the set before begin, -1 if they are not here
    while at < n_order and n_seen <= most:
        row = np.int64(order[at])
        element = rarest[row]
        start, n_list = lists.starts[element], lists.ends[element] - lists.starts[element]
        size = left.indptr[row + 1] - left.indptr[row]
        if first_pair >= 0 and p == 0:
            before = np.int64(order[at - 1])
            if sides.left_hashes[before] == sides.left_hashes[row] and are_equal(left, before, row):
                n_copied = n_pairs - first_pair
                if n_pairs + n_copied > room:
                    break
                for i in range(n_copied):
                    pairs.left[n_pairs + i] = row
                    pairs.right[n_pairs + i] = pairs.right[first_pair + i]
                first_pair = n_pairs
                n_pairs += n_copied
                n_seen += n_copied
                at += 1
                continue
        first_pair = n_pairs if p == 0 else np.int64(-1)
        if size == 1:
            n_copied = min(n_list - p, room - n_pairs)
            for i in range(n_copied):
                pairs.left[n_pairs + i] = row
                pairs.right[n_pairs + i] = lists.rows[start + p + i]
            n_pairs += n_copied
            n_seen += n_copied
            p += n_copied
        else:
            if element != loaded:
                for q in range(n_list):
                    if q + _AHEAD < n_list:
                        prefetch(sides.right_signatures, np.int64(lists.rows[start + q + _AHEAD]))
                    local[q] = sides.right_signatures[lists.rows[start + q]]
                loaded = element
                n_sliced = np.int64(0)
                if n_list >= _SLICED_FROM and at + _FEW < n_order and rarest[order[at + _FEW]] == element:
                    n_sliced = _slice_sets(lists, start, n_list, right, work.slices)
            own = sides.left_signatures[row]
            if n_sliced > 0:
                is_exact = sides.n_elements <= N_SLICES and size <= MOST_READ
                n_wanted = _list_slices(left, row, element, work.wanted)
                n_seen += (n_list - p) // _BLOCK
                word = p >> 6
                while word < n_sliced and n_pairs < room:
                    found = _agreeing(work.slices, work.wanted, n_wanted, word)
                    if word == p >> 6:
                        found &= _ALL << np.uint64(p & 63)
                    while found != 0 and n_pairs < room:
                        at_bit = (word << 6) + _lowest_bit(found)
                        other = np.int64(lists.rows[start + at_bit])
                        if is_exact or (sides.is_same and other == row) or is_subset(left, row, right, other):
                            pairs.left[n_pairs] = row
                            pairs.right[n_pairs] = other
                            n_pairs += 1
                        found &= found - _ONE
                        p = at_bit + 1
                    if found == 0:
                        word += 1
                        p = word << 6
                p = min(p, n_list)
            else:
                n_seen += n_list - p
                while p < n_list and n_pairs < room:
                    if p + _BLOCK <= n_list:
                        n_hits = np.int64(0)
                        for q in range(_BLOCK):
                            n_hits += np.int64((local[p + q] & own) == own)
                        if n_hits == 0:
                            p += _BLOCK
                            continue
                    stop = min(p + _BLOCK, n_list)
                    while p < stop and n_pairs < room:
                        if (local[p] & own) == own:
                            other = np.int64(lists.rows[start + p])
                            if (sides.is_same and other == row) or is_subset(left, row, right, other):
                                pairs.left[n_pairs] = row
                                pairs.right[n_pairs] = other
                                n_pairs += 1
                        p += 1
        if p < n_list:
            break
        p = np.int64(0)
        at += 1
    state[0] = at
    state[1] = p
    return n_pairs
