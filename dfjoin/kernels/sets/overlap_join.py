"""Pairs of sets of which one holds at least a given weight of the other: prefixes of rare elements, then a count."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.sets.set_lists import SetLists, gallop
from dfjoin.kernels.sorting import merge_sort_by

_STEP_COST = 4  # of a search for one element in one set, beside that of one entry of a list


class OverlapSides(NamedTuple):
    """The left sets, the right ones, and what is asked for.

    `by_length` has the elements of each left set in ascending order of the number of right sets that hold them,
    `weights` the weight of each element, `needed` the weight of the elements of each left set that a right one has to
    hold, at least 1.
    """

    left: SetLists
    right: SetLists
    by_length: NDArray[np.uint32]
    weights: NDArray[np.int64]
    needed: NDArray[np.int64]


class OverlapWork(NamedTuple):
    """Scratch: a count for each right set, all zeros, and room for the sets that are met."""

    counts: NDArray[np.int64]
    met: NDArray[np.int32]


class OverlapPairs(NamedTuple):
    """Receives pairs: numbers of left and right sets, and the weight of what they share."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    matched: NDArray[np.int64]


@njit_inner
def _is_shorter(lengths, a, b):
    """Tell whether the list of element `a` is shorter than that of element `b`."""
    return lengths[a] < lengths[b]


_sort_elements = merge_sort_by(_is_shorter)


@njit_lean
def sort_by_length(indptr, elements, lengths, scratch):
    """Put the elements of each set in ascending order of the length of their lists, in place.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_sets + 1,)
    elements : ndarray of uint32
        Changed; elements of equal length stay in their order.
    lengths : ndarray of int64, shape (n_elements,)
    scratch : ndarray of uint32, shape of `elements`

    Notes
    -----
    O(elements × log(largest set)).
    """
    for row in range(indptr.shape[0] - 1):
        if indptr[row + 1] - indptr[row] > 1:
            _sort_elements(elements, indptr[row], indptr[row + 1], scratch, lengths)


@njit_inner
def _count_prefix(row, sides, lists, work):
    """Count the right sets that the lists of the rarest elements of a left set name.

    Returns the number of sets met, the first element that is not counted, the weight of those from there on, and the
    entries read.
    """
    weights, counts, met = sides.weights, work.counts, work.met
    p, end = sides.left.indptr[row], sides.left.indptr[row + 1]
    rest = np.int64(0)
    for q in range(p, end):
        rest += weights[sides.by_length[q]]
    n_met, n_steps = np.int64(0), np.int64(0)
    while p < end and rest >= sides.needed[row]:
        element = sides.by_length[p]
        for r in range(lists.starts[element], lists.ends[element]):
            other = lists.rows[r]
            if counts[other] == 0:
                met[n_met] = other
                n_met += 1
            counts[other] += weights[element]
        n_steps += lists.ends[element] - lists.starts[element] + 1
        rest -= weights[element]
        p += 1
    return n_met, p, rest, n_steps


@njit_inner
def _drop_lighter(least, n_met, work):
    """Keep the sets met that weigh at least so much; forget the counts of the others. Return how many stay."""
    n_left = np.int64(0)
    for k in range(n_met):
        other = work.met[k]
        if work.counts[other] >= least:
            work.met[n_left] = other
            n_left += 1
        else:
            work.counts[other] = 0
    return n_left


@njit_inner
def _search_candidates(row, p, rest, n_met, sides, work):
    """Search the elements from `p` on in each set met, until it cannot reach the weight; return the steps."""
    weights, counts, right = sides.weights, work.counts, sides.right
    n_steps = np.int64(0)
    for k in range(n_met):
        other = np.int64(work.met[k])
        left_over = rest
        for q in range(p, sides.left.indptr[row + 1]):
            element = sides.by_length[q]
            stop = right.indptr[other + 1]
            at = gallop(right.elements, right.indptr[other], stop, element)
            left_over -= weights[element]
            n_steps += _STEP_COST
            if at < stop and right.elements[at] == element:
                counts[other] += weights[element]
            elif counts[other] + left_over < sides.needed[row]:
                break
    return n_steps


@njit_inner
def _read_rest(row, p, sides, lists, counts):
    """Add the elements from `p` on to the sets that are counted already, from the lists."""
    for q in range(p, sides.left.indptr[row + 1]):
        element = sides.by_length[q]
        for r in range(lists.starts[element], lists.ends[element]):
            if counts[lists.rows[r]] > 0:
                counts[lists.rows[r]] += sides.weights[element]


@njit_lean
def join_overlaps(sides, lists, work, state, pairs, most):
    """Find the right sets that hold at least the needed weight of each left set, as many pairs as there is room for.

    Parameters
    ----------
    sides : OverlapSides
    lists : InvertedLists
        The right sets that hold each element.
    work : OverlapWork
    state : ndarray of int64, shape (1,)
        The left set to begin with; afterwards, the one to go on with.
    pairs : OverlapPairs
        Receives the pairs; there is room for at least as many as there are right sets.
    most : int
        Steps before the kernel returns, so that a join can be interrupted.

    Returns
    -------
    int
        The number of pairs.

    Notes
    -----
    A right set that holds none of the rarest elements of a left set cannot reach the needed weight with the others,
    once these weigh less than it (the prefix filter of Chaudhuri et al., ICDE 2006). The sets that the lists of this
    prefix name are candidates; the weight of the other elements is then added from their lists, or, where these are
    longer, by searching each candidate, which is given up when it can no longer reach the weight. All counts are exact.
    Order of the pairs: left set, then as met.
    """
    indptr = sides.left.indptr
    counts, met = work.counts, work.met
    n_pairs, n_steps = np.int64(0), np.int64(0)
    row = state[0]
    while row < indptr.shape[0] - 1 and n_steps <= most:
        needed = sides.needed[row]
        n_met, p, rest, n_read = _count_prefix(row, sides, lists, work)
        n_steps += n_read
        n_met = _drop_lighter(needed - rest, n_met, work)
        n_entries = np.int64(0)
        for q in range(p, indptr[row + 1]):
            n_entries += lists.ends[sides.by_length[q]] - lists.starts[sides.by_length[q]]
        if n_met > 0 and n_entries > _STEP_COST * n_met * (indptr[row + 1] - p):
            n_steps += _search_candidates(row, p, rest, n_met, sides, work)
        elif n_met > 0:
            _read_rest(row, p, sides, lists, counts)
            n_steps += n_entries
        n_met = _drop_lighter(needed, n_met, work)
        is_full = n_pairs + n_met > pairs.left.shape[0]
        for k in range(n_met):
            other = met[k]
            if not is_full:
                pairs.left[n_pairs] = row
                pairs.right[n_pairs] = other
                pairs.matched[n_pairs] = counts[other]
                n_pairs += 1
            counts[other] = 0
        if is_full:
            break
        row += 1
    state[0] = row
    return n_pairs
