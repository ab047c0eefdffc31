"""Subsets of large sets: a right set's elements are marked once, and the left sets are tested against the marks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean, prefetch
from dfjoin.kernels.sets.subset_runs import write_pairs

_AHEAD = 16
_NEAR = 8
_ONE = np.uint64(1)
_SIX = np.uint32(6)
_LOW = np.uint64(63)


class MarkWork(NamedTuple):
    """Scratch: a bit for each element, all zeros; the runs that a right set holds; and one place.

    `marks` has a word for each 64 elements.
    """

    marks: NDArray[np.uint64]
    runs: NDArray[np.int32]
    right: NDArray[np.int32]


@njit_inner
def mark(sets, row, marks):
    """Mark the elements of a set.

    Parameters
    ----------
    sets : SetLists
    row : int
    marks : ndarray of uint64
        A bit for each element.

    Notes
    -----
    O(elements).
    """
    for p in range(sets.indptr[row], sets.indptr[row + 1]):
        element = sets.elements[p]
        marks[element >> _SIX] |= _ONE << (np.uint64(element) & _LOW)


@njit_inner
def unmark(sets, row, marks):
    """Forget the marks of a set.

    Parameters
    ----------
    sets, row, marks
        As in `mark`.

    Notes
    -----
    O(elements).
    """
    for p in range(sets.indptr[row], sets.indptr[row + 1]):
        marks[sets.elements[p] >> _SIX] = 0


@njit_inner
def is_marked(sets, row, marks):
    """Tell whether all elements of a set are marked.

    Parameters
    ----------
    sets, row, marks
        As in `mark`.

    Returns
    -------
    bool

    Notes
    -----
    O(elements), and less where one is not marked.
    """
    for p in range(sets.indptr[row], sets.indptr[row + 1]):
        element = sets.elements[p]
        if (marks[element >> _SIX] >> (np.uint64(element) & _LOW)) & _ONE == 0:
            return False
    return True


@njit_inner
def _match_runs(runs, elements, p, end, run, missing, found):
    """Find the runs below the elements of a right set whose bitmaps have no bit that it lacks.

    Returns how many, the place in the set and the run to go on with, and how many runs were looked at.
    """
    n, n_seen = np.int64(0), np.int64(0)
    room = found.shape[0]
    while p < end and n < room:
        if p + _AHEAD < end:
            prefetch(runs.first, np.int64(elements[p + _AHEAD]))
        if p + _NEAR < end:
            prefetch(runs.signatures, np.int64(runs.first[elements[p + _NEAR]]))
        run = max(run, np.int64(runs.first[elements[p]]))
        last = np.int64(runs.first[np.int64(elements[p]) + 1])
        n_seen += last - run
        while run < last and n < room:
            found[n] = run
            n += np.int64((runs.signatures[run] & missing) == 0)
            run += 1
        if run == last:
            p += 1
    return n, p, run, n_seen


@njit_inner
def _keep_marked(runs, marks, found, n):
    """Keep the runs whose elements are all marked; return how many."""
    sets, order, starts = runs.sets, runs.order, runs.starts
    for i in range(n):
        prefetch(starts, np.int64(found[i]))
    n_kept = np.int64(0)
    for i in range(n):
        if i + _AHEAD < n:
            prefetch(sets.indptr, np.int64(order[starts[found[i + _AHEAD]]]))
        if i + _NEAR < n:
            prefetch(sets.elements, sets.indptr[order[starts[found[i + _NEAR]]]])
        if is_marked(sets, np.int64(order[starts[found[i]]]), marks):
            found[n_kept] = found[i]
            n_kept += 1
    return n_kept


@njit_lean
def mark_supersets(runs, rights, rows, work, state, pairs, most):
    """Find the left sets of which some right sets hold all elements, as many pairs as there is room for.

    Parameters
    ----------
    runs : LeftRuns
    rights : tuple of (SetLists, ndarray of uint64)
        The right sets and their bitmaps.
    rows : ndarray of int32, shape (n,)
        The right sets that are looked at.
    work : MarkWork
    state : ndarray of int64, shape (6,)
        Zeros; afterwards, where to go on: place in `rows`, in the elements of that set, run; how many runs are in
        ``work.runs``, which of them is written, and how many pairs of it are.
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
    Left sets are grouped by their rarest element, and each right set looks up those of its elements, as in TT-Join
    (Yang et al., ICDE 2017), whose tree of the rarest elements is replaced by bitmaps. A left set that passes costs a
    look at a mark for each of its elements, however large the right set is.
    O(elements of the right sets + Σ over these of the runs of their elements + pairs × size).
    """
    right, signatures = rights
    n_pairs, n_steps = np.int64(0), np.int64(0)
    at, p, run, n_found, i, n_written = state[0], state[1], state[2], state[3], state[4], state[5]
    marked = np.int64(-1)
    while at < rows.shape[0] and n_steps <= most:
        row = np.int64(rows[at])
        work.right[0] = row
        while i < n_found:
            begin, end = np.int64(runs.starts[work.runs[i]]), np.int64(runs.starts[work.runs[i] + 1])
            n_now = write_pairs(runs.order, begin, end, work.right, 1, n_written, pairs, n_pairs)
            n_pairs += n_now - n_written
            n_written = n_now
            if n_written < end - begin:
                break
            n_written = np.int64(0)
            i += 1
        if i < n_found:
            break
        start, end = right.indptr[row], right.indptr[row + 1]
        if marked != row:
            mark(right, row, work.marks)
            marked = row
        if start + p < end:
            n_found, q, run, n_seen = _match_runs(
                runs, right.elements, start + p, end, run, ~signatures[row], work.runs
            )
            n_found = _keep_marked(runs, work.marks, work.runs, n_found)
            n_steps += q - start - p + n_seen
            p = q - start
            i = np.int64(0)
        else:
            unmark(right, row, work.marks)
            marked = np.int64(-1)
            at += 1
            p, run = np.int64(0), np.int64(0)
    if marked >= 0:
        unmark(right, marked, work.marks)
    state[0], state[1], state[2], state[3], state[4], state[5] = at, p, run, n_found, i, n_written
    return n_pairs
