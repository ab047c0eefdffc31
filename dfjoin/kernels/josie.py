"""ProbeSet and JOSIE: exact top-k overlap that reads rare posting lists first and verifies in the sets.

Both work on distinct posting lists. A list stands for all query values in it; its weight is their number,
or their rows. A set holds whole lists, so the overlap is the sum of the weights of the lists shared, and of
the column's private values, which need no reading.

Bounds prune only when strictly below the k-th count, so ties come out as in MergeList.
"""

from __future__ import annotations

import numpy as np

from dfjoin.kernels._compile import njit
from dfjoin.kernels.josie_costs import (
    DAMAGED,
    ENTRIES_READ,
    ESTIMATED,
    LISTS_READ,
    POSTINGS_READ,
    PRUNED,
    SETS_READ,
    batch_net_cost,
    bound,
    filter_candidates,
    order_candidates,
    prefix_end,
    set_cost,
    set_net_cost,
)

__all__ = ["josie", "probe_set"]

_ORDER_NS = 80.0  # to filter, estimate and sort, per candidate
_ESTIMATE_NS = 8.0  # to weigh the next read, per candidate looked at
_BATCH_NS = 20_000.0  # a batch ends before it takes longer than this, but for a single long list
_TRIAL_SHARE = 0.04  # of the budget that may be spent before the outlook is judged
_WORTH_SHARE = 0.6  # of the budget that the whole search must stay below to go on


@njit
def _push(heap, size, count):
    """Keep the largest counts in a min-heap; return its new size."""
    if size < heap.shape[0]:
        i = size
        heap[i] = count
        while i > 0 and heap[(i - 1) // 2] > heap[i]:
            parent = (i - 1) // 2
            heap[parent], heap[i] = heap[i], heap[parent]
            i = parent
        return size + 1
    if size > 0 and count > heap[0]:
        heap[0] = count
        i = 0
        while 2 * i + 1 < size:
            child = 2 * i + 1
            if child + 1 < size and heap[child + 1] < heap[child]:
                child += 1
            if heap[i] <= heap[child]:
                break
            heap[i], heap[child] = heap[child], heap[i]
            i = child
    return size


@njit
def _threshold(heap, size, minimum):
    """Smallest count that can still be an answer."""
    return max(minimum, heap[0]) if size == heap.shape[0] and size > 0 else minimum


@njit
def _lower_bound(array, low, high, value):
    """First place in a sorted stretch whose entry is not below `value`."""
    while low < high:
        middle = (low + high) // 2
        if array[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def _weight_after(column, next_list, lists, first, n_lists, hits, set_indptr, set_lists, state):
    """Weight of the query lists from place `first` on that a set holds; reads the set's tail or searches it."""
    start = set_indptr[column]
    end = set_indptr[column + 1]
    if start < 0 or start > end or end > set_lists.shape[0]:
        state[DAMAGED] = 1
        return 0
    place = _lower_bound(set_lists, start, end, next_list)
    length = end - place
    n_rest = n_lists - first
    steps = 1
    while (1 << steps) < length:
        steps += 1
    total = 0
    if n_rest * steps < length:
        for i in range(first, n_lists):
            place = _lower_bound(set_lists, place, end, lists[i])
            state[ENTRIES_READ] += steps
            if place == end:
                break
            if set_lists[place] == lists[i]:
                total += hits[lists[i]]
    else:
        state[ENTRIES_READ] += length
        for p in range(place, end):
            if set_lists[p] >= hits.shape[0]:
                state[DAMAGED] = 1
                return 0
            total += hits[set_lists[p]]
    state[SETS_READ] += 1
    return total


@njit
def _is_list_sound(number, list_indptr, list_columns, n_columns):
    """Tell whether a posting list lies inside the segment and names columns that it has."""
    start = list_indptr[number]
    end = list_indptr[number + 1]
    if start < 0 or end > list_columns.shape[0]:
        return False
    for p in range(start, end):
        if list_columns[p] < 0 or list_columns[p] >= n_columns:
            return False
    return True


@njit
def _suffix_weights(lists, n_lists, hits):
    """Weight of the lists from each place on; int64, shape (n_lists + 1,)."""
    suffix = np.zeros(n_lists + 1, np.int64)
    for i in range(n_lists - 1, -1, -1):
        suffix[i] = suffix[i + 1] + hits[lists[i]]
    return suffix


@njit
def probe_set(
    lists, n_lists, hits, list_indptr, list_columns, list_positions, group_indptr, set_indptr, set_lists,
    cardinality, counts, columns, n_private, is_allowed, minimum, k, uses_positions, marks, state,
):  # fmt: skip
    """Find the columns that can be among the best, reading each candidate when it is first met.

    Parameters
    ----------
    lists : ndarray of uint32
        Distinct posting lists of the query, ascending, the first `n_lists` of it: the global order.
    n_lists : int
    hits : ndarray of int32, shape (n_all_lists,)
        Weight of each list, 0 for lists that the query lacks.
    list_indptr, list_columns, list_positions
        Posting lists and positions, see FORMAT.md.
    group_indptr : ndarray of int64
        Its differences are the sizes of groups in values.
    set_indptr, set_lists
        The forward index.
    cardinality : ndarray of int64, shape (n_columns,)
    counts : ndarray of int32, shape (n_columns,)
        Weight of private values on entry; on return the whole count of the columns found.
    columns : ndarray of int32, shape (n_columns,)
        Columns with private values, the first `n_private`; receives all columns met.
    n_private : int
    is_allowed : ndarray of uint8, shape (n_columns,) or (0,)
    minimum : int
        Smallest count to return.
    k : int
        Answers wanted.
    uses_positions : bool
        Weights count values, so positions bound them; False for rows.
    marks : ndarray of uint8, shape (n_columns,)
        Scratch of zeros; 1 for a column met, 2 for one whose count is whole.
    state : ndarray of int64, shape (6,)
        Receives lists, postings, sets and set entries read, candidates pruned, and 1 for a damaged index.

    Returns
    -------
    int
        Number of columns met, in `columns`; those marked 2 have their whole count.

    Notes
    -----
    Source: Zhu et al., "JOSIE", SIGMOD 2019, section 2.3 (ProbeSet with prefix and position filter,
    equations 2 and 3) and 3.5. Deviations: ties with the k-th count are kept; private values are known
    before any list is read; a long set is searched for the query's lists instead of read.
    """
    n_columns = counts.shape[0]
    suffix = _suffix_weights(lists, n_lists, hits)
    heap = np.empty(min(k, n_columns), np.int32)
    size = 0
    n_met = n_private
    at = 0
    while at < n_lists and suffix[at] >= _threshold(heap, size, minimum):
        number = np.int64(lists[at])
        weight = hits[number]
        group = n_columns + number
        length = group_indptr[group + 1] - group_indptr[group]
        if not _is_list_sound(number, list_indptr, list_columns, n_columns):
            state[DAMAGED] = 1
            return n_met
        state[LISTS_READ] += 1
        state[POSTINGS_READ] += list_indptr[number + 1] - list_indptr[number]
        for p in range(list_indptr[number], list_indptr[number + 1]):
            column = np.int64(list_columns[p])
            if marks[column] != 0 or (is_allowed.shape[0] > 0 and is_allowed[column] == 0):
                continue
            marks[column] = 1
            if counts[column] == 0:
                columns[n_met] = column
                n_met += 1
            seen = counts[column] + weight
            remaining = cardinality[column] - list_positions[p] - length
            if bound(seen, suffix[at + 1], remaining, uses_positions) < _threshold(heap, size, minimum):
                state[PRUNED] += 1
                continue
            seen += _weight_after(column, number + 1, lists, at + 1, n_lists, hits, set_indptr, set_lists, state)
            counts[column] = seen
            marks[column] = 2
            size = _push(heap, size, seen)
        at += 1
    for i in range(n_private):  # met in no list that was read: private values, and perhaps later lists
        column = np.int64(columns[i])
        if marks[column] != 0 or (is_allowed.shape[0] > 0 and is_allowed[column] == 0):
            continue
        if counts[column] + suffix[at] < _threshold(heap, size, minimum):
            state[PRUNED] += 1
            continue
        if suffix[at] > 0:
            first = np.int64(lists[at])
            counts[column] += _weight_after(column, first, lists, at, n_lists, hits, set_indptr, set_lists, state)
        marks[column] = 2
        size = _push(heap, size, counts[column])
    return n_met


@njit
def _read_batch(
    begin, end, lists, hits, list_indptr, list_columns, list_positions, group_indptr, is_allowed, cardinality, suffix,
    limit, uses_positions, counts, columns, n_met, marks, first, last, unread, n_unread, state,
):  # fmt: skip
    """Read some posting lists; update the counts and positions of candidates, take in new ones."""
    n_columns = counts.shape[0]
    for i in range(begin, end):
        number = np.int64(lists[i])
        weight = hits[number]
        group = n_columns + number
        length = group_indptr[group + 1] - group_indptr[group]
        if not _is_list_sound(number, list_indptr, list_columns, n_columns):
            state[DAMAGED] = 1
            return n_met, n_unread
        state[LISTS_READ] += 1
        state[POSTINGS_READ] += list_indptr[number + 1] - list_indptr[number]
        for p in range(list_indptr[number], list_indptr[number + 1]):
            column = np.int64(list_columns[p])
            if marks[column] >= 2 or (is_allowed.shape[0] > 0 and is_allowed[column] == 0):
                continue
            if marks[column] == 0:
                marks[column] = 1
                if counts[column] == 0:
                    columns[n_met] = column
                    n_met += 1
                remaining = cardinality[column] - list_positions[p] - length
                if bound(counts[column] + weight, suffix[i + 1], remaining, uses_positions) < limit:
                    marks[column] = 3
                    state[PRUNED] += 1
                    continue
                first[column] = i
                unread[n_unread] = column
                n_unread += 1
            counts[column] += weight
            last[column] = list_positions[p] + length
    return n_met, n_unread


@njit
def josie(
    lists, n_lists, hits, list_indptr, list_columns, list_positions, group_indptr, set_indptr, set_lists,
    cardinality, counts, columns, n_private, is_allowed, minimum, k, uses_positions, costs, batch, budget, marks,
    first, last, unread, estimates, state,
):  # fmt: skip
    """Find the columns that can be among the best, choosing by estimated cost what to read next.

    Parameters
    ----------
    lists, n_lists, hits, list_indptr, list_columns, list_positions, group_indptr, set_indptr, set_lists,
    cardinality, counts, columns, n_private, is_allowed, minimum, k, uses_positions, state
        As in `probe_set`.
    costs : ndarray of float64, shape (4,)
        Nanoseconds: of a posting list and of each posting (L), of a set and of each entry (S).
    batch : int
        Lists to read at a time at most; fewer when they are long.
    budget : float
        Nanoseconds that reading all lists would take; the search gives up once it sees that it will not
        stay well below that. 0: never.
    marks : ndarray of uint8, shape (n_columns,)
        Scratch of zeros; 1 unread, 2 whole count, 3 pruned.
    first, last : ndarray of int32, shape (n_columns,)
        Scratch: place of the first list met in the query, values of the set up to the latest one.
    unread : ndarray of int32, shape (n_columns,)
    estimates : ndarray of float64, shape (n_columns,)
        Scratch.

    Returns
    -------
    n_met : int
        Number of columns met, in `columns`; those marked 2 have their whole count.
    is_done : bool
        False when it gave up.

    Notes
    -----
    Source: Zhu et al., "JOSIE", SIGMOD 2019, Algorithm 1, equations 4 to 13, section 3.5. Deviations:
    Best is the candidate of the largest estimate, and the net cost is that of this one alone; benefits
    are added up over at most 256 candidates; the future position (equation 10) is estimated from the
    latest match on, not from the first; without a `k` (threshold alone) the heap counts as full; ties with
    the k-th count are kept; a candidate whose lists are all read is settled without reading its set.
    """
    n_columns = counts.shape[0]
    suffix = _suffix_weights(lists, n_lists, hits)
    list_costs = np.zeros(n_lists + 1, np.float64)
    for i in range(n_lists):
        f = list_indptr[np.int64(lists[i]) + 1] - list_indptr[np.int64(lists[i])]
        list_costs[i + 1] = list_costs[i] + costs[0] + costs[1] * f
    heap = np.empty(min(k, n_columns), np.int32)
    size = 0
    is_endless = k >= n_columns
    n_met = n_private
    n_unread = 0
    for i in range(n_private):
        column = np.int64(columns[i])
        if is_allowed.shape[0] > 0 and is_allowed[column] == 0:
            continue
        marks[column] = 1
        first[column] = 0
        last[column] = group_indptr[column + 1] - group_indptr[column]
        unread[n_unread] = column
        n_unread += 1
    at = 0
    spent = 0.0
    place = 0  # candidates before it are read or pruned
    is_ordered = False
    while True:
        limit = _threshold(heap, size, minimum)
        if not is_ordered:
            n_unread = filter_candidates(
                unread, n_unread, at, suffix[at], limit, counts, cardinality, last, uses_positions, marks, state
            )
            place = 0
            if suffix[at] == 0:  # nothing is left to read: every count is whole
                for i in range(n_unread):
                    marks[unread[i]] = 2
                return n_met, True
            spent += _ORDER_NS * n_unread
            order_candidates(unread, n_unread, at, suffix, counts, cardinality, first, last, uses_positions, estimates)
            is_ordered = True
        while place < n_unread:
            column = unread[place]
            if marks[column] == 1:
                remaining = cardinality[column] - last[column]
                if bound(counts[column], suffix[at], remaining, uses_positions) >= limit:
                    break
                marks[column] = 3
                state[PRUNED] += 1
            place += 1
        has_candidate = place < n_unread
        if (not has_candidate and suffix[at] < limit) or state[DAMAGED] != 0:
            return n_met, True
        if budget > 0 and spent + list_costs[at] > _TRIAL_SHARE * budget:
            if spent + list_costs[max(at, prefix_end(suffix, limit))] > _WORTH_SHARE * budget:
                return n_met, False
        end = min(n_lists, at + 1)
        while end < min(n_lists, at + batch) and list_costs[end + 1] - list_costs[at] < _BATCH_NS:
            end += 1
        reads_lists = not has_candidate
        if has_candidate and (size == heap.shape[0] or is_endless):
            spent += _ESTIMATE_NS * min(n_unread - place, ESTIMATED)
            batch_net = batch_net_cost(
                at, end, place, unread, n_unread, limit, suffix, list_costs, costs, counts, cardinality, first,
                last, uses_positions, marks,
            )  # fmt: skip
            set_net = set_net_cost(
                place, estimates[place], at, unread, n_unread, heap, size, limit, suffix, list_costs, costs, counts,
                cardinality, last, uses_positions, marks,
            )  # fmt: skip
            reads_lists = set_net > batch_net
        elif has_candidate and at == 0:
            reads_lists = True  # the first batch comes before any set
        if reads_lists:
            n_met, n_unread = _read_batch(
                at, end, lists, hits, list_indptr, list_columns, list_positions, group_indptr, is_allowed, cardinality,
                suffix, limit, uses_positions, counts, columns, n_met, marks, first, last, unread, n_unread, state,
            )  # fmt: skip
            at = end
            is_ordered = False
            continue
        column = np.int64(unread[place])
        spent += set_cost(costs, cardinality[column] - last[column])
        counts[column] += _weight_after(
            column, np.int64(lists[at]), lists, at, n_lists, hits, set_indptr, set_lists, state
        )
        marks[column] = 2
        size = _push(heap, size, counts[column])
        place += 1
