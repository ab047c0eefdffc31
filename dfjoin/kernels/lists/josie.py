"""ProbeSet and JOSIE: exact top-k overlap that reads rare posting lists first and verifies in the sets.

Both work on distinct posting lists. A list stands for all query values in it; its weight is their number,
or their rows. A set holds whole lists, so the overlap is the sum of the weights of the lists shared, and of
the column's private values, which need no reading.

Bounds prune only when strictly below the k-th count, so ties come out as in MergeList.
"""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.lists.josie_costs import (
    ENTRIES_READ,
    ESTIMATED,
    LISTS_READ,
    N_PRUNED,
    POSTINGS_READ,
    PRUNED,
    SETS_READ,
    UNREAD,
    WHOLE,
    batch_net_cost,
    bound,
    filter_candidates,
    order_candidates,
    prefix_end,
    set_cost,
    set_net_cost,
)
from dfjoin.kernels.lists.mergelist import sum_set
from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.sorting import lower_bound
from dfjoin.kernels.topk import offer

_ORDER_NS = 80.0  # to filter, estimate and sort, per candidate
_ESTIMATE_NS = 8.0  # to weigh the next read, per candidate looked at
_BATCH_NS = 20_000.0  # a batch ends before it takes longer than this, but for a single long list
_TRIAL_SHARE = 0.04  # of the budget that may be spent before the outlook is judged
_WORTH_SHARE = 0.6  # of the budget that the whole search must stay below to go on


@njit_inner
def _limit(best, size, counts, minimum):
    """Return the smallest count that can still be an answer."""
    return max(minimum, np.int64(counts[best[0]])) if size == best.shape[0] and size > 0 else np.int64(minimum)


@njit_inner
def _weight_after(column, next_list, query, first, segment, counters):
    """Add up the query lists from position `first` on that a set holds: read the set's tail, or search it."""
    numbers, weights, set_lists = query.numbers, query.weights, segment.set_lists
    start = segment.set_indptr[column]
    end = segment.set_indptr[column + 1]
    if start < 0 or start > end or end > set_lists.shape[0]:
        raise DamagedArraysError
    position = lower_bound(set_lists, start, end, next_list)
    length = end - position
    steps = 1
    while (1 << steps) < length:
        steps += 1
    counters[SETS_READ] += 1
    if (numbers.shape[0] - first) * steps >= length:
        counters[ENTRIES_READ] += length
        return sum_set(set_lists, position, end, weights)
    total = np.int64(0)
    for i in range(first, numbers.shape[0]):
        position = lower_bound(set_lists, position, end, np.int64(numbers[i]))
        counters[ENTRIES_READ] += steps
        if position == end:
            break
        if set_lists[position] == numbers[i]:
            total += weights[numbers[i]]
    return total


@njit_inner
def _open_list(number, segment, counters):
    """Return the bounds of a posting list and the values that it stands for; count it as read."""
    start = segment.list_indptr[number]
    end = segment.list_indptr[number + 1]
    if start < 0 or end > segment.list_columns.shape[0]:
        raise DamagedArraysError
    counters[LISTS_READ] += 1
    counters[POSTINGS_READ] += end - start
    group = segment.cardinality.shape[0] + number
    return start, end, segment.group_indptr[group + 1] - segment.group_indptr[group]


@njit_lean
def probe_set(query, segment, candidates, n_private, wanted, uses_positions, counters):
    """Find the columns that can be among the best, reading each candidate when it is first met.

    Parameters
    ----------
    query : QueryLists
    segment : SegmentIndex
    candidates : Candidates
        Its counts are the weights of private values on entry, and its first `n_private` columns met those that have
        some. On return `met` holds all columns met, and those marked `WHOLE` have their whole count. The arrays of
        the unread ones are not used.
    n_private : int
    wanted : Wanted
    uses_positions : bool
        Weights count values, so positions bound them; False for rows.
    counters : ndarray of int64, shape (5,)
        Receives lists, postings, sets and set entries read, and candidates pruned.

    Returns
    -------
    int
        Number of columns met.

    Raises
    ------
    DamagedArraysError
        If a list, a posting or a set lies outside the segment.

    Notes
    -----
    Source: Zhu et al., "JOSIE", SIGMOD 2019, section 2.3 (ProbeSet with prefix and position filter,
    equations 2 and 3) and 3.5. Deviations: ties with the k-th count are kept; private values are known
    before any list is read; a long set is searched for the query's lists instead of read.
    """
    counts, met, marks = candidates.counts, candidates.met, candidates.marks
    is_allowed, cardinality, rest = wanted.is_allowed, wanted.cardinality, query.rest
    n_lists = query.numbers.shape[0]
    best = candidates.best
    size = np.int64(0)
    n_met = np.int64(n_private)
    at = np.int64(0)
    while at < n_lists and rest[at] >= _limit(best, size, counts, wanted.minimum):
        number = np.int64(query.numbers[at])
        start, end, length = _open_list(number, segment, counters)
        for p in range(start, end):
            column = np.int64(segment.list_columns[p])
            if column < 0 or column >= counts.shape[0]:
                raise DamagedArraysError
            if marks[column] != 0 or (is_allowed.shape[0] > 0 and is_allowed[column] == 0):
                continue
            marks[column] = UNREAD
            if counts[column] == 0:
                met[n_met] = column
                n_met += 1
            seen = counts[column] + query.weights[number]
            remaining = cardinality[column] - segment.list_positions[p] - length
            if bound(seen, rest[at + 1], remaining, uses_positions) < _limit(best, size, counts, wanted.minimum):
                counters[N_PRUNED] += 1
                continue
            counts[column] = seen + _weight_after(column, number + 1, query, at + 1, segment, counters)
            marks[column] = WHOLE
            size = offer(best, size, column, counts, cardinality)
        at += 1
    for i in range(n_private):  # met in no list that was read: private values, and perhaps later lists
        column = np.int64(met[i])
        if marks[column] != 0 or (is_allowed.shape[0] > 0 and is_allowed[column] == 0):
            continue
        if counts[column] + rest[at] < _limit(best, size, counts, wanted.minimum):
            counters[N_PRUNED] += 1
            continue
        if rest[at] > 0:
            counts[column] += _weight_after(column, np.int64(query.numbers[at]), query, at, segment, counters)
        marks[column] = WHOLE
        size = offer(best, size, column, counts, cardinality)
    return n_met


@njit_inner
def _take_private(candidates, n_private, is_allowed, segment):
    """Make candidates of the columns with private values; return how many they are."""
    n_unread = np.int64(0)
    for i in range(n_private):
        column = np.int64(candidates.met[i])
        if is_allowed.shape[0] > 0 and is_allowed[column] == 0:
            continue
        candidates.marks[column] = UNREAD
        candidates.first[column] = 0
        candidates.read_until[column] = segment.group_indptr[column + 1] - segment.group_indptr[column]
        candidates.unread[n_unread] = column
        n_unread += 1
    return n_unread


@njit_inner
def _read_batch(batch, query, segment, candidates, sizes, is_allowed, limit, uses_positions, counters):
    """Read some posting lists; update the candidates and take in new ones.

    `batch` are the positions of its first list and behind its last, `sizes` the numbers of columns met and of
    candidates unread, whose new values are returned.
    """
    counts, marks, read_until = candidates.counts, candidates.marks, candidates.read_until
    n_met, n_unread = sizes
    for i in range(batch[0], batch[1]):
        number = np.int64(query.numbers[i])
        weight = query.weights[number]
        start, end, length = _open_list(number, segment, counters)
        for p in range(start, end):
            column = np.int64(segment.list_columns[p])
            if column < 0 or column >= counts.shape[0]:
                raise DamagedArraysError
            if marks[column] >= WHOLE or (is_allowed.shape[0] > 0 and is_allowed[column] == 0):
                continue
            if marks[column] == 0:
                marks[column] = UNREAD
                if counts[column] == 0:
                    candidates.met[n_met] = column
                    n_met += 1
                remaining = segment.cardinality[column] - segment.list_positions[p] - length
                if bound(counts[column] + weight, query.rest[i + 1], remaining, uses_positions) < limit:
                    marks[column] = PRUNED
                    counters[N_PRUNED] += 1
                    continue
                candidates.first[column] = i
                candidates.unread[n_unread] = column
                n_unread += 1
            counts[column] += weight
            read_until[column] = segment.list_positions[p] + length
    return n_met, n_unread


@njit_inner
def _skip_settled(candidates, position, n_unread, rest, limit, cardinality, uses_positions, counters):
    """Return the position of the next candidate that can be an answer; mark those before it as pruned."""
    while position < n_unread:
        column = candidates.unread[position]
        if candidates.marks[column] == UNREAD:
            remaining = cardinality[column] - candidates.read_until[column]
            if bound(candidates.counts[column], rest, remaining, uses_positions) >= limit:
                break
            candidates.marks[column] = PRUNED
            counters[N_PRUNED] += 1
        position += 1
    return position


@njit_inner
def _batch_end(at, batch, costs):
    """Return the position behind the next batch of lists: at most so many, and fewer when they are long."""
    n_lists = costs.shape[0] - 1
    end = min(n_lists, at + 1)
    while end < min(n_lists, at + batch) and costs[end + 1] - costs[at] < _BATCH_NS:
        end += 1
    return end


@njit_inner
def _is_hopeless(spent, at, query, limit, budget):
    """Tell whether, after a trial, the search is seen to take nearly as long as the budget."""
    if budget <= 0 or spent + query.costs[at] <= _TRIAL_SHARE * budget:
        return False
    return spent + query.costs[max(at, prefix_end(query.rest, limit))] > _WORTH_SHARE * budget


@njit_lean
def josie(query, segment, candidates, n_private, wanted, uses_positions, costs, batch, budget, counters):
    """Find the columns that can be among the best, choosing by estimated cost what to read next.

    Parameters
    ----------
    query, segment, candidates, n_private, wanted, uses_positions, counters
        As in `probe_set`; all arrays of the candidates are used, and the query has costs.
    costs : ndarray of float64, shape (4,)
        Nanoseconds: of a posting list and of each posting (L), of a set and of each entry (S).
    batch : int
        Lists to read at a time at most; fewer when they are long.
    budget : float
        Nanoseconds that reading all lists would take; the search gives up once it sees that it will not
        stay well below that. 0: never.

    Returns
    -------
    n_met : int
        Number of columns met; those marked `WHOLE` have their whole count.
    is_done : bool
        False when it gave up.

    Raises
    ------
    DamagedArraysError
        If a list, a posting or a set lies outside the segment.

    Notes
    -----
    Source: Zhu et al., "JOSIE", SIGMOD 2019, Algorithm 1, equations 4 to 13, section 3.5. Deviations:
    Best is the candidate of the largest estimate, and the net cost is that of this one alone; benefits
    are added up over at most 256 candidates; the future position (equation 10) is estimated from the
    latest match on, not from the first; without a `k` (threshold alone) the heap counts as full; ties with
    the k-th count are kept; a candidate whose lists are all read is settled without reading its set.
    """
    counts, marks, unread = candidates.counts, candidates.marks, candidates.unread
    cardinality, rest = wanted.cardinality, query.rest
    best = candidates.best
    size = np.int64(0)
    is_endless = wanted.k >= counts.shape[0]
    n_met = np.int64(n_private)
    n_unread = _take_private(candidates, n_private, wanted.is_allowed, segment)
    at = np.int64(0)
    spent = 0.0
    position = np.int64(0)  # candidates before it are settled
    is_ordered = False
    while True:
        limit = _limit(best, size, counts, wanted.minimum)
        if not is_ordered:
            n_unread = filter_candidates(candidates, n_unread, rest[at], limit, cardinality, uses_positions, counters)
            position = np.int64(0)
            if rest[at] == 0:  # nothing is left to read: every count is whole
                for i in range(n_unread):
                    marks[unread[i]] = WHOLE
                return n_met, True
            spent += _ORDER_NS * n_unread
            order_candidates(candidates, n_unread, at, rest, cardinality, uses_positions)
            is_ordered = True
        position = _skip_settled(candidates, position, n_unread, rest[at], limit, cardinality, uses_positions, counters)
        has_candidate = position < n_unread
        if not has_candidate and rest[at] < limit:
            return n_met, True
        if _is_hopeless(spent, at, query, limit, budget):
            return n_met, False
        end = _batch_end(at, batch, query.costs)
        reads_lists = not has_candidate
        is_full = size == best.shape[0]
        if has_candidate and (is_full or is_endless):
            spent += _ESTIMATE_NS * min(n_unread - position, ESTIMATED)
            batch_net = batch_net_cost(
                query, candidates, (at, end), position, n_unread, limit, costs, cardinality, uses_positions
            )
            full = best if is_full else best[:0]
            set_net = set_net_cost(
                query, candidates, full, at, position, n_unread, limit, costs, cardinality, uses_positions
            )
            reads_lists = set_net > batch_net
        elif has_candidate and at == 0:
            reads_lists = True  # the first batch comes before any set
        if reads_lists:
            n_met, n_unread = _read_batch(
                (at, end),
                query,
                segment,
                candidates,
                (n_met, n_unread),
                wanted.is_allowed,
                limit,
                uses_positions,
                counters,
            )
            at = end
            is_ordered = False
            continue
        column = np.int64(unread[position])
        spent += set_cost(costs, cardinality[column] - candidates.read_until[column])
        counts[column] += _weight_after(column, np.int64(query.numbers[at]), query, at, segment, counters)
        marks[column] = WHOLE
        size = offer(best, size, column, counts, cardinality)
        position += 1
