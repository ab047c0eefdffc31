"""JOSIE's cost model: bounds and estimates of candidates, and what reading a set or a batch of lists is worth.

Source of all equations: Zhu et al., "JOSIE", SIGMOD 2019, section 3.
"""

from __future__ import annotations

import numpy as np

from dfjoin.kernels._compile import njit

__all__ = [
    "ESTIMATED",
    "batch_net_cost",
    "bound",
    "filter_candidates",
    "order_candidates",
    "prefix_end",
    "set_cost",
    "set_net_cost",
]

ESTIMATED = 256
"""Candidates that a benefit is added up over."""

LISTS_READ, POSTINGS_READ, SETS_READ, ENTRIES_READ, PRUNED, DAMAGED = range(6)
"""Places of the counts in `state`."""


@njit
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


@njit
def prefix_end(suffix, limit):
    """Return the first place from which on the lists weigh less than the limit: the prefix ends there.

    Parameters
    ----------
    suffix : ndarray of int64, shape (n_lists + 1,)
        Weight of the lists from each place on, descending to 0.
    limit : int
        Smallest count that can still be an answer.

    Returns
    -------
    int
        At most n_lists. O(log n_lists).
    """
    low = 0
    high = suffix.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if suffix[middle] >= limit:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def set_cost(costs, remaining):
    """Estimate the time to read what is left of a set, equation 15.

    Parameters
    ----------
    costs : ndarray of float64, shape (4,)
        Nanoseconds, as in `dfjoin.kernels.josie.josie`.
    remaining : int
        Values of the set that are left.

    Returns
    -------
    float
        Nanoseconds.
    """
    return costs[2] + costs[3] * remaining


@njit
def filter_candidates(unread, n_unread, at, rest, limit, counts, cardinality, last, uses_positions, marks, state):
    """Drop the candidates whose bound is strictly below the limit, equation 6.

    Parameters
    ----------
    unread : ndarray of int32
        Candidates, the first `n_unread` of it; compacted.
    n_unread : int
    at : int
        Lists read so far.
    rest : int
        Weight of the other lists.
    limit : int
        Smallest count that can still be an answer.
    counts, cardinality, last, uses_positions, marks, state
        As in `dfjoin.kernels.josie.josie`.

    Returns
    -------
    int
        Candidates left. O(n_unread).
    """
    kept = 0
    for i in range(n_unread):
        column = unread[i]
        if marks[column] != 1:
            continue
        remaining = cardinality[column] - last[column]
        if bound(counts[column], rest, remaining, uses_positions) < limit:
            marks[column] = 3
            state[PRUNED] += 1
            continue
        unread[kept] = column
        kept += 1
    return kept


@njit
def order_candidates(unread, n_unread, at, suffix, counts, cardinality, first, last, uses_positions, estimates):
    """Sort the candidates by estimated overlap, equation 4, the largest first.

    Parameters
    ----------
    unread : ndarray of int32
        Candidates, the first `n_unread` of it.
    n_unread : int
    at : int
        Lists read so far.
    suffix : ndarray of int64, shape (n_lists + 1,)
        Weight of the lists from each place on.
    counts, cardinality, first, last, uses_positions
        As in `dfjoin.kernels.josie.josie`.
    estimates : ndarray of float64
        Receives the estimates in the new order.

    Notes
    -----
    O(n_unread log n_unread). An estimate is capped by the bound.
    """
    for i in range(n_unread):
        column = unread[i]
        sampled = suffix[first[column]] - suffix[at]
        most = bound(counts[column], suffix[at], cardinality[column] - last[column], uses_positions)
        estimate = np.float64(most)
        if sampled > 0:
            estimate = min(estimate, counts[column] * (suffix[first[column]] / sampled))
        estimates[i] = -estimate
    order = np.argsort(estimates[:n_unread], kind="mergesort")
    unread[:n_unread] = unread[:n_unread][order]
    estimates[:n_unread] = -estimates[:n_unread][order]


@njit
def batch_net_cost(
    at, end, place, unread, n_unread, limit, suffix, list_costs, costs, counts, cardinality, first, last,
    uses_positions, marks,
):  # fmt: skip
    """Compute the net cost of reading the next batch of lists, equations 9 to 13.

    Parameters
    ----------
    at, end : int
        The batch: lists from place `at` to `end`.
    place : int
        Candidates before it are settled.
    unread, n_unread, limit, suffix
        As in `order_candidates` and `filter_candidates`.
    list_costs : ndarray of float64, shape (n_lists + 1,)
        Time to read the lists before each place, in nanoseconds.
    costs, counts, cardinality, first, last, uses_positions, marks
        As in `dfjoin.kernels.josie.josie`.

    Returns
    -------
    float
        Nanoseconds. O(ESTIMATED).
    """
    net = list_costs[end] - list_costs[at]
    share = (suffix[at] - suffix[end]) / max(1, suffix[at])
    for i in range(place, min(n_unread, place + ESTIMATED)):
        column = unread[i]
        if marks[column] != 1:
            continue
        remaining = cardinality[column] - last[column]
        sampled = max(1, suffix[first[column]] - suffix[at])
        found = counts[column] * (suffix[at] - suffix[end]) / sampled
        left = remaining * (1 - share)
        most = counts[column] + found
        most += min(suffix[end], left) if uses_positions else suffix[end]
        net -= set_cost(costs, remaining)
        if most >= limit:
            net += set_cost(costs, left)
    return net


@njit
def set_net_cost(
    place, estimate, at, unread, n_unread, heap, size, limit, suffix, list_costs, costs, counts, cardinality, last,
    uses_positions, marks,
):  # fmt: skip
    """Compute the net cost of reading the best candidate's set, equations 5, 7 and 13.

    Parameters
    ----------
    place : int
        The candidate, in `unread`.
    estimate : float
        Its estimated overlap.
    at : int
        Lists read so far.
    unread, n_unread, limit, suffix, list_costs
        As in `batch_net_cost`.
    heap : ndarray of int32
        The largest counts, smallest first.
    size : int
        How many there are.
    costs, counts, cardinality, last, uses_positions, marks
        As in `dfjoin.kernels.josie.josie`.

    Returns
    -------
    float
        Nanoseconds. O(ESTIMATED + log n_lists).
    """
    column = unread[place]
    net = set_cost(costs, cardinality[column] - last[column])
    raised = limit
    if size == heap.shape[0] and estimate > limit:
        second = np.float64(1 << 62)
        if size > 1:
            second = heap[1]
        if size > 2:
            second = min(second, heap[2])
        raised = max(limit, np.int64(min(estimate, second)))
    if raised == limit:
        return net
    net -= list_costs[prefix_end(suffix, limit)] - list_costs[max(at, prefix_end(suffix, raised))]
    for i in range(place + 1, min(n_unread, place + 1 + ESTIMATED)):
        other = unread[i]
        if marks[other] != 1:
            continue
        remaining = cardinality[other] - last[other]
        if bound(counts[other], suffix[at], remaining, uses_positions) < raised:
            net -= set_cost(costs, remaining)
    return net
