"""ProbeSet and JOSIE, called directly, against counting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.lists.josie import josie, probe_set
from dfjoin.kernels.lists.josie_costs import ENTRIES_READ, LISTS_READ, N_PRUNED, POSTINGS_READ, SETS_READ, WHOLE
from dfjoin.kernels.records import Candidates, QueryLists, SegmentIndex, Wanted
from tests.kernels.packing import csr
from tests.oracles.kernels import naive_counts, naive_top

COSTS = np.array([30.0, 6.0, 250.0, 1.2])


class Lake:
    """A segment of given posting lists, each of which stands for some values, and of private values."""

    def __init__(self, n_columns, lists, sizes, n_private):
        self.n_columns, self.lists, self.sizes, self.n_private = n_columns, lists, sizes, n_private
        sets = [[number for number, columns in enumerate(lists) if c in columns] for c in range(n_columns)]
        self.cardinality = [n_private[c] + sum(sizes[number] for number in sets[c]) for c in range(n_columns)]
        positions = [
            [n_private[c] + sum(sizes[n] for n in sets[c] if n < number) for c in columns]
            for number, columns in enumerate(lists)
        ]
        group_indptr = np.append(0, np.cumsum([*n_private, *sizes])).astype(np.int64)
        self.index = SegmentIndex(
            *csr(lists), csr(positions)[1], *csr(sets, np.uint32), group_indptr, np.array(self.cardinality, np.int64)
        )

    def query(self, groups, weights, k):
        """The arrays of a query of posting groups: its lists, and the candidates that its private values are."""
        totals = np.zeros(self.n_columns + len(self.lists), np.int32)
        np.add.at(totals, groups, 1 if weights is None else weights)
        private, list_weights = totals[: self.n_columns].copy(), totals[self.n_columns :].copy()
        numbers = np.flatnonzero(list_weights).astype(np.uint32)
        rest = np.append(np.cumsum(list_weights[numbers][::-1])[::-1], 0).astype(np.int64)
        lengths = np.diff(self.index.list_indptr)[numbers]
        costs = np.append(0, np.cumsum(COSTS[0] + COSTS[1] * lengths)).astype(np.float64)
        met = np.zeros(self.n_columns + 1, np.int32)
        with_private = np.flatnonzero(private)
        met[: with_private.size] = with_private
        scratch = [np.zeros(self.n_columns, np.int32) for _ in range(4)]
        marks = np.zeros(self.n_columns, np.uint8)
        estimates, best = np.zeros(self.n_columns), np.zeros(min(k, self.n_columns), np.int32)
        candidates = Candidates(private, met, marks, *scratch[:3], estimates, scratch[3], best)
        return QueryLists(numbers, list_weights, rest, costs), candidates, with_private.size

    def run(self, plan, groups, weights=None, allowed=(), minimum=1, k=10, budget=0.0):
        """Run a plan; return the columns of whole count with their counts, whether it ended, and what was read."""
        query, candidates, n_private = self.query(groups, weights, k)
        wanted = Wanted(np.array(allowed, np.uint8), self.index.cardinality, minimum, k)
        counters = np.zeros(5, np.int64)
        arguments = (query, self.index, candidates, n_private, wanted, weights is None)
        is_done = True
        if plan == "josie":
            n_met, is_done = josie(*arguments, COSTS, 3, budget, counters)
        else:
            n_met = probe_set(*arguments, counters)
        met = candidates.met[:n_met].tolist()
        assert len(set(met)) == len(met)
        assert set(np.flatnonzero(candidates.marks).tolist()) <= set(met)
        whole = {c: int(candidates.counts[c]) for c in met if candidates.marks[c] == WHOLE}
        return whole, is_done, counters


@st.composite
def lakes(draw):
    n_columns = draw(st.integers(2, 7))
    distinct = st.sets(st.integers(0, n_columns - 1), min_size=2).map(lambda columns: tuple(sorted(columns)))
    lists = [list(one) for one in draw(st.lists(distinct, max_size=12, unique=True))]
    sizes = draw(st.lists(st.integers(1, 4), min_size=len(lists), max_size=len(lists)))
    n_private = draw(st.lists(st.integers(0, 4), min_size=n_columns, max_size=n_columns))
    return Lake(n_columns, lists, sizes, n_private)


def draw_query(data, lake):
    """Some of the values of each group, as many as it has at most."""
    groups = []
    for group, size in enumerate([*lake.n_private, *lake.sizes]):
        groups += [group] * data.draw(st.integers(0, size))
    return groups


@pytest.mark.parametrize("plan", ["josie", "probeset"])
@given(lake=lakes(), data=st.data(), minimum=st.integers(1, 3), k=st.integers(1, 8), is_weighted=st.booleans())
def test_the_best_columns_are_among_those_counted_whole(plan, lake, data, minimum, k, is_weighted):
    groups = draw_query(data, lake)
    weights = [data.draw(st.integers(1, 3)) for _ in groups] if is_weighted else None
    allowed = data.draw(st.sampled_from([[], [c % 2 for c in range(lake.n_columns)]]))
    whole, is_done, _ = lake.run(plan, groups, weights, allowed, minimum, k)
    assert is_done
    counts = naive_counts(groups, weights, lake.n_columns, lake.lists)
    assert whole == {column: counts[column] for column in whole}
    best = naive_top([counts[c] for c in range(lake.n_columns)], counts, allowed, lake.cardinality, minimum, k)
    assert set(best) <= set(whole)


LISTS = [[0, 1], [0, 2], [0, 3], [0, 4], [0, 1, 2, 3], [0, 1, 2, 4]]
LAKE = Lake(5, LISTS, [2] * len(LISTS), [1, 0, 0, 0, 3])
WHOLE_QUERY = [5 + number for number in range(len(LISTS)) for _ in range(2)]


def test_probe_set_reads_no_list_that_cannot_lead_to_an_answer():
    whole, _, counters = LAKE.run("probeset", WHOLE_QUERY, k=1)
    assert whole[0] == 12
    assert counters[LISTS_READ] == 1 and counters[POSTINGS_READ] == 2  # then the best has all, the rest less
    assert counters[SETS_READ] == 1 and counters[ENTRIES_READ] == 5
    assert counters[N_PRUNED] == 1


def test_positions_bound_values_and_not_rows():
    """Column 1 ends after its list: at most two values are left, but these may stand for many rows."""
    lake = Lake(2, [[0, 1]], [1], [3, 0])
    groups, weights = [0, 0, 0, 2], [1, 1, 1, 9]
    assert lake.run("probeset", groups, k=2)[0] == {0: 4, 1: 1}
    assert lake.run("probeset", groups, weights, minimum=9, k=2)[0] == {0: 12, 1: 9}
    assert lake.run("josie", groups, weights, minimum=9, k=2)[0] == {0: 12, 1: 9}


def test_a_candidate_is_bound_by_what_its_set_holds_behind_the_latest_match():
    """Column 1 ends with its second list, of which the query holds half: three of its four values."""
    lake = Lake(3, [[0, 1], [0, 1, 2], [0, 2], [0, 2]], [2] * 4, [0] * 3)
    query, candidates, n_private = lake.query([3, 3, 4, 5, 5, 6, 6], None, 3)
    wanted, counters = Wanted(np.empty(0, np.uint8), lake.index.cardinality, 4, 3), np.zeros(5, np.int64)
    josie(query, lake.index, candidates, n_private, wanted, True, COSTS, 3, 0.0, counters)
    assert {c: int(candidates.counts[c]) for c in range(3) if candidates.marks[c] == WHOLE} == {0: 7, 2: 5}
    assert candidates.read_until[1] == 4
    assert counters[N_PRUNED] == 1


def test_josie_gives_up_when_its_budget_is_nearly_what_it_costs():
    _, is_done, _ = LAKE.run("josie", WHOLE_QUERY, k=5, budget=1.0)
    assert not is_done
    _, is_done, _ = LAKE.run("josie", WHOLE_QUERY, k=5, budget=1e9)
    assert is_done


def test_nothing_is_read_for_a_query_of_private_values():
    for plan in ("josie", "probeset"):
        whole, is_done, counters = LAKE.run(plan, [0, 4, 4], k=3)
        assert whole == {0: 1, 4: 2} and is_done
        assert not counters.any()


@pytest.mark.parametrize("plan", ["josie", "probeset"])
@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("list_columns", [9] + [0] * 13),
        ("list_columns", [-1] + [0] * 13),
        ("list_indptr", [-1, 2, 4, 6, 8, 12, 16]),
        ("list_indptr", [0, 99, 4, 6, 8, 12, 16]),
        ("set_lists", [2**20] * 16),
        ("set_indptr", [-1, 6, 9, 12, 14, 16]),
        ("set_indptr", [7, 6, 9, 12, 14, 16]),
        ("set_indptr", [0, 99, 99, 99, 99, 99]),
    ],
)
def test_damage_is_reported(plan, name, bad):
    array = getattr(LAKE.index, name)
    lake = Lake(5, LISTS, [2] * len(LISTS), [1, 0, 0, 0, 3])
    lake.index = lake.index._replace(**{name: np.array(bad, array.dtype)})
    with pytest.raises(DamagedArraysError):
        lake.run(plan, WHOLE_QUERY, k=1)
