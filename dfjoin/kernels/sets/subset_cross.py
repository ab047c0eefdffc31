"""Subsets by intersecting all inverted lists of a set at once: the cross-cutting framework with early termination."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.numba._compile import njit_lean
from dfjoin.kernels.sets.set_lists import gallop


@njit_lean
def cross_cut(left, lists, cursors, state, pairs, most):
    """Find the right sets that hold all elements of left sets, as many pairs as there is room for.

    Parameters
    ----------
    left : SetLists
        The elements of each set in the order in which their lists are visited: ascending in length.
    lists : InvertedLists
        The right sets that hold each element.
    cursors : ndarray of int64, shape (largest left set,)
        Scratch.
    state : ndarray of int64, shape (2,)
        Where to begin: left set, and the right set from which on; afterwards, where to go on.
    pairs : Pairs
        Receives the pairs, in the order of the left sets and then of the right ones.
    most : int
        Steps before the kernel returns, so that a join can be interrupted.

    Returns
    -------
    int
        The number of pairs.

    Notes
    -----
    Algorithm 1 of Yang et al., "Internal and external memory set containment join", VLDB Journal 2021, with the early
    termination of section 3.3: the lists are searched for a candidate in ascending order of length; where one does not
    hold it, the largest next entry of the lists visited is the next candidate. A list is searched by doubling steps
    from where its last search ended, instead of by bisection of the whole list.
    """
    indptr, elements = left.indptr, left.elements
    n_rows = indptr.shape[0] - 1
    room = pairs.left.shape[0]
    n_pairs = np.int64(0)
    n_steps = np.int64(0)
    row = state[0]
    candidate = state[1]
    while row < n_rows and n_steps <= most and n_pairs < room:
        first, size = indptr[row], indptr[row + 1] - indptr[row]
        for k in range(size):
            cursors[k] = lists.starts[elements[first + k]]
        is_over = size == 0
        while not is_over and n_pairs < room:
            following = candidate
            is_held = True
            for k in range(size):
                end = lists.ends[elements[first + k]]
                at = gallop(lists.rows, cursors[k], end, candidate)
                cursors[k] = at
                n_steps += 1
                if at == end:
                    is_over = True
                    is_held = False
                    break
                if lists.rows[at] != candidate:
                    following = max(following, np.int64(lists.rows[at]))
                    is_held = False
                    break
                if at + 1 < end:
                    following = max(following, np.int64(lists.rows[at + 1]))
                else:
                    # Beyond every set: the list ends, and no further set is in all of them.
                    following = np.int64(1) << 40
            if is_held:
                pairs.left[n_pairs] = row
                pairs.right[n_pairs] = candidate
                n_pairs += 1
            candidate = following
        if not is_over:
            break
        row += 1
        candidate = np.int64(0)
    state[0] = row
    state[1] = candidate
    return n_pairs
