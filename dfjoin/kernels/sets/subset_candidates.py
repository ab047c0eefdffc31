"""Subsets in two passes: candidates from lists with bitmaps, read in order, then a test of the sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean, prefetch
from dfjoin.kernels.sets.set_lists import is_subset, signature_of
from dfjoin.kernels.sets.subset_marks import is_marked, mark, unmark
from dfjoin.kernels.sets.subset_runs import match_signatures, write_pairs

_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)
_AHEAD = 8
_LARGE = 64  # elements of a right set that is marked
_PAGE = 1024  # elements of a page


class ReadWork(NamedTuple):
    """Scratch: a bit for each element, all zeros, and one place; and what was read.

    `pages` has the number of pages, of stretches of pages, and the last page.
    """

    marks: NDArray[np.uint64]
    right: NDArray[np.int32]
    pages: NDArray[np.int64]


@njit_lean
def fill_signed_lists(sets, cursors, rows, signatures):
    """Fill the inverted lists of some elements, each entry with the bitmap of its set.

    Parameters
    ----------
    sets : SetLists
    cursors : ndarray of int64, shape (n_elements,)
        Where the list of each element begins, -1 for one without; afterwards, where it ends.
    rows : ndarray of int32
        Receives the sets of each list, ascending.
    signatures : ndarray of uint64
        Receives their bitmaps.

    Notes
    -----
    O(elements); the sets are read in their order, each entry is written to another place.
    """
    indptr, elements = sets.indptr, sets.elements
    n = elements.shape[0]
    for row in range(indptr.shape[0] - 1):
        bits = signature_of(elements, indptr[row], indptr[row + 1])
        for p in range(indptr[row], indptr[row + 1]):
            if p + _AHEAD < n:
                prefetch(cursors, np.int64(elements[p + _AHEAD]))
            position = cursors[elements[p]]
            if position >= 0:
                rows[position] = row
                signatures[position] = bits
                cursors[elements[p]] = position + 1


@njit_lean
def find_candidates(runs, lists, signatures, held, state, found, most):
    """Find right sets whose bitmaps have all bits of a left set's, in the lists of the left sets' keys.

    Parameters
    ----------
    runs : LeftRuns
    lists : InvertedLists
        The right sets that hold each key.
    signatures : ndarray of uint64
        The bitmap of each entry of the lists.
    held : ndarray of int32, shape (MOST_HELD,)
        Scratch.
    state : ndarray of int64, shape (3,)
        Where to begin: key, run, entry of its list; afterwards, where to go on.
    found : ndarray of uint64
        Receives the candidates: ``right set << 32 | run``. There is room for at least MOST_HELD.
    most : int
        Entries of lists to look at before the kernel returns, so that a join can be interrupted.

    Returns
    -------
    int
        The number of candidates.

    Notes
    -----
    The lists are read in their order. O(Σ over runs of the length of the list / 16 + candidates).
    """
    n_found, n_seen = np.int64(0), np.int64(0)
    key, run, p = state[0], state[1], state[2]
    n_keys = lists.starts.shape[0]
    while key < n_keys and n_seen <= most and n_found + held.shape[0] <= found.shape[0]:
        if run == runs.first[key + 1]:
            key += 1
            continue
        start, n = lists.starts[key], lists.ends[key] - lists.starts[key]
        if p == n:
            run += 1
            p = np.int64(0)
            continue
        before = p
        own = signatures[start : start + n]
        n_held, p = match_signatures(lists.rows, (start, n), p, runs.signatures[run], own, held)
        for i in range(n_held):
            found[n_found + i] = (np.uint64(held[i]) << _HALF) | np.uint64(run)
        n_found += n_held
        n_seen += p - before
    state[0], state[1], state[2] = key, run, p
    return n_found


@njit_inner
def _count_pages(start, end, pages):
    """Count the pages of a stretch of elements that comes after those that were read before."""
    first, last = start // _PAGE, (end - 1) // _PAGE
    if first > pages[2] + 1:
        pages[1] += 1
    pages[0] += last - max(first - 1, pages[2])
    pages[2] = max(pages[2], last)


@njit_lean
def keep_candidates(runs, right, found, work, state, pairs, most):
    """Find the candidates that hold all elements of their left sets, as many pairs as there is room for.

    Parameters
    ----------
    runs : LeftRuns
    right : SetLists
    found : ndarray of uint64, shape (n,)
        Candidates as `find_candidates` gives them, ascending.
    work : ReadWork
    state : ndarray of int64, shape (2,)
        Where to begin: candidate, and how many of its pairs are written; afterwards, where to go on.
    pairs : Pairs
        Receives the pairs, in the order of the right sets.
    most : int
        Steps before the kernel returns, so that a join can be interrupted.

    Returns
    -------
    int
        The number of pairs.

    Notes
    -----
    The right sets are read in their order, each once; the elements of one of more than 64 are marked. A left set of
    one element is held by all of its list, which are not read.
    O(elements of the right sets + candidates × size of the left set).
    """
    left, order, starts = runs.sets, runs.order, runs.starts
    n_pairs, n_steps = np.int64(0), np.int64(0)
    at, n_written = state[0], state[1]
    marked, counted = np.int64(-1), np.int64(-1)
    while at < found.shape[0] and n_steps <= most and n_pairs < pairs.left.shape[0]:
        if at + _AHEAD < found.shape[0]:
            prefetch(right.elements, right.indptr[found[at + _AHEAD] >> _HALF])
        other, run = np.int64(found[at] >> _HALF), np.int64(found[at] & _LOW)
        begin, end = np.int64(starts[run]), np.int64(starts[run + 1])
        row = np.int64(order[begin])
        is_held = n_written > 0 or left.indptr[row + 1] - left.indptr[row] == 1
        if not is_held:
            start, size = right.indptr[other], right.indptr[other + 1] - right.indptr[other]
            if other != counted:
                _count_pages(start, start + size, work.pages)
                counted = other
            if marked >= 0 and marked != other:
                unmark(right, marked, work.marks)
                marked = np.int64(-1)
            if size > _LARGE:
                if marked != other:
                    mark(right, other, work.marks)
                    marked = other
                    n_steps += size
                is_held = is_marked(left, row, work.marks)
            else:
                is_held = is_subset(left, row, right, other)
            n_steps += left.indptr[row + 1] - left.indptr[row]
        if is_held:
            work.right[0] = other
            n_now = write_pairs(order, begin, end, work.right, 1, n_written, pairs, n_pairs)
            n_pairs += n_now - n_written
            n_written = n_now
            if n_written < end - begin:
                break
        n_written = np.int64(0)
        at += 1
    if marked >= 0:
        unmark(right, marked, work.marks)
    state[0], state[1] = at, n_written
    return n_pairs
