"""JOSIE's cost model: bounds and estimates of candidates, and what reading a set or a batch of lists is worth.

Source of all equations: Zhu et al., "JOSIE", SIGMOD 2019, section 3.
"""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.sorting import merge_sort_by

ESTIMATED = 256
"""Candidates that a benefit is added up over."""

LISTS_READ, POSTINGS_READ, SETS_READ, ENTRIES_READ, N_PRUNED = range(5)
"""Positions of the numbers in `counters`."""

UNREAD, WHOLE, PRUNED = 1, 2, 3
"""Marks of a column that was met: its set is not read, its count is whole, it cannot be an answer."""


@njit_lean
def bound(count, rest, remaining, uses_positions):
    """Compute the largest overlap that a candidate can still reach, equation 6.

    Parameters
    ----------
    count : int
        Weight counted so far.
    rest : int
        Weight of the lists that are not read yet.
    remaining : int
        Values of its set behind the latest match.
    uses_positions : bool
        Weights count values, so that `remaining` bounds them.

    Returns
    -------
    int
    """
    return count + min(rest, remaining) if uses_positions else count + rest


@njit_lean
def prefix_end(rest, limit):
    """Return the first position from which on the lists weigh less than the limit: the prefix ends there.

    Parameters
    ----------
    rest : ndarray of int64, shape (n_lists + 1,)
        Weight of the lists from each position on, descending to 0.
    limit : int
        Smallest count that can still be an answer.

    Returns
    -------
    int
        At most n_lists. O(log n_lists).
    """
    low = 0
    high = rest.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if rest[middle] >= limit:
            low = middle + 1
        else:
            high = middle
    return low


@njit_lean
def set_cost(costs, remaining):
    """Estimate the time to read what is left of a set, equation 15.

    Parameters
    ----------
    costs : ndarray of float64, shape (4,)
        Nanoseconds, as in `dfjoin.kernels.lists.josie.josie`.
    remaining : int
        Values of the set that are left.

    Returns
    -------
    float
        Nanoseconds.
    """
    return costs[2] + costs[3] * remaining


@njit_lean
def filter_candidates(candidates, n_unread, rest, limit, cardinality, uses_positions, counters):
    """Drop the candidates whose bound is strictly below the limit, equation 6.

    Parameters
    ----------
    candidates : Candidates
        The first `n_unread` of its unread ones are looked at, and compacted.
    n_unread : int
    rest : int
        Weight of the lists that are not read yet.
    limit : int
        Smallest count that can still be an answer.
    cardinality, uses_positions, counters
        As in `dfjoin.kernels.lists.josie.josie`.

    Returns
    -------
    int
        Candidates left. O(n_unread).
    """
    unread, marks = candidates.unread, candidates.marks
    kept = np.int64(0)
    for i in range(n_unread):
        column = unread[i]
        if marks[column] != UNREAD:
            continue
        remaining = cardinality[column] - candidates.read_until[column]
        if bound(candidates.counts[column], rest, remaining, uses_positions) < limit:
            marks[column] = PRUNED
            counters[N_PRUNED] += 1
            continue
        unread[kept] = column
        kept += 1
    return kept


@njit_inner
def _is_higher(estimates, a, b):
    """Tell whether the estimate of column `a` is above that of column `b`."""
    return estimates[a] > estimates[b]


_sort_by_estimate = merge_sort_by(_is_higher)


@njit_lean
def order_candidates(candidates, n_unread, at, rest, cardinality, uses_positions):
    """Sort the candidates by estimated overlap, equation 4, the largest first.

    Parameters
    ----------
    candidates : Candidates
        The first `n_unread` of its unread ones are estimated and sorted.
    n_unread : int
    at : int
        Lists read so far.
    rest : ndarray of int64, shape (n_lists + 1,)
        Weight of the lists from each position on.
    cardinality, uses_positions
        As in `dfjoin.kernels.lists.josie.josie`.

    Notes
    -----
    O(n_unread log n_unread). An estimate is capped by the bound.
    """
    unread, counts, estimates = candidates.unread, candidates.counts, candidates.estimates
    for i in range(n_unread):
        column = unread[i]
        from_first = rest[candidates.first[column]]
        sampled = from_first - rest[at]
        remaining = cardinality[column] - candidates.read_until[column]
        estimate = np.float64(bound(counts[column], rest[at], remaining, uses_positions))
        if sampled > 0:
            estimate = min(estimate, counts[column] * (from_first / sampled))
        estimates[column] = estimate
    _sort_by_estimate(unread, 0, n_unread, candidates.scratch, estimates)


@njit_lean
def batch_net_cost(query, candidates, batch, position, n_unread, limit, costs, cardinality, uses_positions):
    """Compute the net cost of reading the next batch of lists, equations 9 to 13.

    Parameters
    ----------
    query : QueryLists
    candidates : Candidates
    batch : tuple of int
        The positions of its first list and behind its last.
    position : int
        The unread candidates before it are settled.
    n_unread, limit
        As in `filter_candidates`.
    costs, cardinality, uses_positions
        As in `dfjoin.kernels.lists.josie.josie`.

    Returns
    -------
    float
        Nanoseconds. O(ESTIMATED).
    """
    at, end = batch
    rest = query.rest
    net = query.costs[end] - query.costs[at]
    share = (rest[at] - rest[end]) / max(1, rest[at])
    for i in range(position, min(n_unread, position + ESTIMATED)):
        column = candidates.unread[i]
        if candidates.marks[column] != UNREAD:
            continue
        count = candidates.counts[column]
        remaining = cardinality[column] - candidates.read_until[column]
        sampled = max(1, rest[candidates.first[column]] - rest[at])
        left = remaining * (1 - share)
        most = count + count * (rest[at] - rest[end]) / sampled
        most += min(rest[end], left) if uses_positions else rest[end]
        net -= set_cost(costs, remaining)
        if most >= limit:
            net += set_cost(costs, left)
    return net


@njit_lean
def set_net_cost(query, candidates, best, at, position, n_unread, limit, costs, cardinality, uses_positions):
    """Compute the net cost of reading the best candidate's set, equations 5, 7 and 13.

    Parameters
    ----------
    query : QueryLists
    candidates : Candidates
    best : ndarray of int32
        The heap of the best columns whose count is whole, when it is full; else empty.
    at : int
        Lists read so far.
    position : int
        The candidate, among the unread ones.
    n_unread, limit, costs, cardinality, uses_positions
        As in `batch_net_cost`.

    Returns
    -------
    float
        Nanoseconds. O(ESTIMATED + log n_lists).
    """
    unread, counts = candidates.unread, candidates.counts
    column = unread[position]
    estimate = candidates.estimates[column]
    net = set_cost(costs, cardinality[column] - candidates.read_until[column])
    raised = limit
    if best.shape[0] > 0 and estimate > limit:
        second = np.float64(1 << 62)
        for child in range(1, min(3, best.shape[0])):
            second = min(second, np.float64(counts[best[child]]))
        raised = max(limit, np.int64(min(estimate, second)))
    if raised == limit:
        return net
    net -= query.costs[prefix_end(query.rest, limit)] - query.costs[max(at, prefix_end(query.rest, raised))]
    for i in range(position + 1, min(n_unread, position + 1 + ESTIMATED)):
        other = unread[i]
        if candidates.marks[other] != UNREAD:
            continue
        remaining = cardinality[other] - candidates.read_until[other]
        if bound(counts[other], query.rest[at], remaining, uses_positions) < raised:
            net -= set_cost(costs, remaining)
    return net
