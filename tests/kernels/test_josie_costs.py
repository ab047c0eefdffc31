"""The cost model of JOSIE, equation by equation, on numbers worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.lists.josie_costs import (
    N_PRUNED,
    PRUNED,
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
from dfjoin.kernels.records import Candidates, QueryLists

COSTS = np.array([30.0, 6.0, 250.0, 2.0])
CARDINALITY = np.array([10, 20, 30, 40], np.int64)


def candidates(counts, read_until, marks, first=(0, 0, 0, 0)):
    integers = [np.array(values, np.int32) for values in (first, read_until, [0, 1, 2, 3], [0] * 4)]
    first_, read_until_, unread, scratch = integers
    return Candidates(
        np.array(counts, np.int32), np.zeros(5, np.int32), np.array(marks, np.uint8), first_, read_until_, unread,
        np.zeros(4), scratch, np.zeros(4, np.int32),
    )  # fmt: skip


def query(weights, costs):
    rest = np.append(np.cumsum(weights[::-1])[::-1], 0).astype(np.int64)
    nothing = np.empty(0, np.int32)
    return QueryLists(np.arange(len(weights), dtype=np.uint32), nothing, rest, np.array(costs, np.float64))


def test_the_bound_takes_what_is_left_of_the_query_and_of_the_set():
    assert bound(3, 5, 2, True) == 5
    assert bound(3, 2, 5, True) == 5
    assert bound(3, 5, 2, False) == 8


@given(st.lists(st.integers(1, 5), max_size=12), st.integers(0, 30))
def test_the_prefix_ends_where_the_rest_falls_below_the_limit(weights, limit):
    rest = query(weights, []).rest
    expected = next((i for i, left in enumerate(rest.tolist()) if left < limit), len(weights))
    assert prefix_end(rest, limit) == expected


def test_a_set_costs_its_opening_and_its_entries():
    assert set_cost(COSTS, 7) == 250 + 14


def test_candidates_below_the_limit_are_dropped_and_those_at_it_stay():
    found = candidates([4, 4, 4, 9], [8, 17, 0, 0], [UNREAD, UNREAD, UNREAD, WHOLE])
    counters = np.zeros(5, np.int64)
    n = filter_candidates(found, 4, 3, 7, CARDINALITY, True, counters)  # bounds 6, 7, 7
    assert found.unread[:n].tolist() == [1, 2]
    assert found.marks.tolist() == [PRUNED, UNREAD, UNREAD, WHOLE]
    assert counters[N_PRUNED] == 1
    found = candidates([4, 4, 4, 9], [8, 17, 0, 0], [UNREAD, UNREAD, UNREAD, WHOLE])
    assert filter_candidates(found, 4, 3, 7, CARDINALITY, False, counters) == 3  # rows: the set bounds nothing


def test_candidates_are_sorted_by_what_they_are_estimated_to_reach():
    """Half of the query is read. Column 0 was met at once, 1 later; 2 ends soon; 3 has the count of column 0."""
    found = candidates([4, 3, 4, 4], [0, 0, 29, 0], [UNREAD] * 4, first=[0, 2, 0, 0])
    rest = query([4, 4, 4, 4, 4, 4, 4, 4], []).rest  # 32 in all
    order_candidates(found, 4, 4, rest, CARDINALITY, True)
    assert found.estimates.tolist() == [8.0, 9.0, 5.0, 8.0]  # 4 x 32/16; 3 x 24/8; bound 4 + 1; 4 x 32/16
    assert found.unread.tolist() == [1, 0, 3, 2]


def test_before_any_list_is_read_the_estimate_is_the_bound():
    found = candidates([1, 2, 0, 0], [5, 18, 0, 0], [UNREAD] * 4)
    order_candidates(found, 2, 0, query([3, 3], []).rest, CARDINALITY, True)
    assert found.estimates[:2].tolist() == [6.0, 4.0]


def test_a_batch_is_worth_the_sets_that_need_not_be_read_after_it():
    found = candidates([4, 4, 1, 4], [0, 10, 10, 0], [UNREAD, UNREAD, UNREAD, WHOLE])
    lists = query([4, 4, 4, 4], [0, 100, 200, 300, 400])
    net = batch_net_cost(lists, found, (1, 2), 0, 4, 10, COSTS, CARDINALITY, True)
    third = 1 - 4 / 12  # of each set is left
    # Column 0 is thought to find 4 more and can reach 4 + 4 + 20/3; column 1 as well; column 2 finds 1: 1 + 1 + 8 = 10
    expected = 100 - sum(set_cost(COSTS, left) - set_cost(COSTS, left * third) for left in (10, 10, 20))
    assert net == pytest.approx(expected)
    net = batch_net_cost(lists, found, (1, 2), 0, 4, 11, COSTS, CARDINALITY, True)  # column 2 falls below the limit
    assert net == pytest.approx(expected - set_cost(COSTS, 20 * third))


def test_a_set_is_worth_the_lists_and_sets_that_a_higher_limit_saves():
    found = candidates([4, 2, 9, 7], [0, 18, 0, 0], [UNREAD, UNREAD, WHOLE, WHOLE])
    found.estimates[:2] = [8.0, 3.0]
    lists = query([2, 2, 2, 2, 2], [0, 100, 200, 300, 400, 500])
    best = np.array([3, 2], np.int32)  # counts 7 and 9: the answer to beat becomes 8
    reading = set_cost(COSTS, 10)
    net = set_net_cost(lists, found, best, 1, 0, 2, 7, COSTS, CARDINALITY, True)
    # The prefix ends at list 2 (limit 7: 10 8 6) and with limit 8 there too; column 1 reaches 2 + 2 < 8
    assert net == pytest.approx(reading - set_cost(COSTS, 2))
    lower = candidates([4, 2, 9, 3], [0, 18, 0, 0], [UNREAD, UNREAD, WHOLE, WHOLE])
    lower.estimates[:2] = [8.0, 3.0]
    net = set_net_cost(lists, lower, best, 1, 0, 2, 3, COSTS, CARDINALITY, True)
    # Limit 3 → 8: the prefix ends at list 4 and then at list 2
    assert net == pytest.approx(reading - (400 - 200) - set_cost(COSTS, 2))
    assert set_net_cost(lists, found, best[:0], 1, 0, 2, 7, COSTS, CARDINALITY, True) == reading  # nothing is raised
    found.estimates[0] = 7.0
    assert set_net_cost(lists, found, best, 1, 0, 2, 7, COSTS, CARDINALITY, True) == reading


def test_the_limit_is_raised_to_the_second_smallest_of_the_best():
    found = candidates([4, 7, 8, 9], [0, 0, 0, 0], [UNREAD, WHOLE, WHOLE, WHOLE])
    found.estimates[0] = 20.0
    lists = query([1] * 10, range(0, 1100, 100))
    reading = set_cost(COSTS, 10)
    for best in ([1, 2, 3], [1, 3, 2]):  # limit 7 to 8, whichever child it is: the prefix is one list shorter
        heap = np.array(best, np.int32)
        assert set_net_cost(lists, found, heap, 1, 0, 1, 7, COSTS, CARDINALITY, True) == pytest.approx(reading - 100)
