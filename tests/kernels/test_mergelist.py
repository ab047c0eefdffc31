from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.lists.mergelist import (
    collect_lists,
    count_lists,
    count_lists_met,
    select_top,
    select_top_of_all,
    sum_sets,
)
from dfjoin.kernels.records import Lists, Sets, Tally, Wanted
from tests.kernels.packing import csr
from tests.oracles.kernels import naive_counts, naive_top

N_COLUMNS = 6
LISTS = [[0, 1], [1, 2, 5], [0, 1, 2, 3, 4, 5], [3, 4]]
GROUPS = st.lists(st.integers(-1, N_COLUMNS + len(LISTS) - 1), max_size=30)
NO_WEIGHTS = np.empty(0, np.int32)


def no_tally(n_columns, n_lists):
    return Tally(np.zeros(n_columns, np.int32), np.zeros(n_lists, np.int32), np.zeros(n_columns + 1, np.int32))


class Counting:
    """The scratch arrays of one search, and the kernels run on them."""

    def __init__(self, groups, weights, is_dense=False, lists=LISTS):
        self.postings = Lists(*csr(lists))
        self.tally = no_tally(N_COLUMNS, len(lists))
        self.is_dense = is_dense
        self.lists = np.zeros(len(groups), np.uint32)
        n_lists, self.n_met, self.n_postings = collect_lists(
            np.array(groups, np.int64), weights, self.postings.indptr, self.tally, self.lists
        )
        self.lists = self.lists[:n_lists]

    def count(self):
        """Count with the kernel that scans, or the one that records."""
        if self.is_dense:
            count_lists(self.lists, self.postings, self.tally)
        else:
            self.n_met = count_lists_met(self.lists, self.postings, self.tally, self.n_met)


@given(GROUPS, st.booleans())
def test_lists_and_private_columns_are_gathered_once_with_their_weight(groups, has_weights):
    weights = [i % 3 + 1 for i in range(len(groups))]
    run = Counting(groups, np.array(weights, np.int32) if has_weights else NO_WEIGHTS)
    expected = Counter()
    for group, weight in zip(groups, weights, strict=True):
        expected[group] += weight if has_weights else 1
    numbers = list(dict.fromkeys(g - N_COLUMNS for g in groups if g >= N_COLUMNS))
    assert run.lists.tolist() == numbers
    assert run.tally.columns[: run.n_met].tolist() == list(dict.fromkeys(g for g in groups if 0 <= g < N_COLUMNS))
    assert run.n_postings == sum(len(LISTS[number]) for number in numbers)
    assert run.tally.list_weights.tolist() == [expected[N_COLUMNS + number] for number in range(len(LISTS))]
    assert run.tally.counts.tolist() == [expected[column] for column in range(N_COLUMNS)]


@pytest.mark.parametrize("is_dense", [False, True])
@given(groups=GROUPS, has_weights=st.booleans())
def test_counts_are_those_of_a_counter_and_scratch_is_clean_afterwards(is_dense, groups, has_weights):
    weights = [i % 4 + 1 for i in range(len(groups))] if has_weights else None
    run = Counting(groups, np.array(weights, np.int32) if has_weights else NO_WEIGHTS, is_dense)
    before = run.n_met
    run.count()
    expected = naive_counts(groups, weights, N_COLUMNS, LISTS)
    assert run.tally.counts.tolist() == [expected[column] for column in range(N_COLUMNS)]
    assert not run.tally.list_weights.any()
    if is_dense:
        assert run.n_met == before
    else:
        touched = run.tally.columns[: run.n_met].tolist()
        assert len(touched) == len(set(touched))
        assert set(touched) == set(expected)
        run.tally.counts[run.tally.columns[: run.n_met]] = 0
        assert not run.tally.counts.any()


@pytest.mark.parametrize("is_dense", [False, True])
@pytest.mark.parametrize("column", [-1, N_COLUMNS, 2**30])
def test_a_posting_outside_the_segment_is_reported(is_dense, column):
    run = Counting([N_COLUMNS], NO_WEIGHTS, is_dense, lists=[[0, column]])
    with pytest.raises(DamagedArraysError):
        run.count()


@pytest.mark.parametrize("is_dense", [False, True])
@pytest.mark.parametrize("indptr", [[0, 99], [0, 3], [-1, 2]])
def test_a_list_outside_the_postings_is_reported(is_dense, indptr):
    run = Counting([N_COLUMNS], NO_WEIGHTS, is_dense, lists=[[0, 1]])
    run.postings.indptr[:] = indptr
    with pytest.raises(DamagedArraysError):
        run.count()


def select(counts, met, allowed, cardinality, minimum, k):
    """Run the kernel that selects among the columns met; among all if `met` is None."""
    wanted = Wanted(np.array(allowed, np.uint8), np.array(cardinality, np.int64), minimum, k)
    best = np.empty(min(k, len(counts if met is None else met)), np.int32)
    if met is None:
        return best[: select_top_of_all(np.array(counts, np.int32), wanted, best)].tolist()
    return best[: select_top(np.array(counts, np.int32), np.array(met, np.int32), wanted, best)].tolist()


@pytest.mark.parametrize("is_dense", [False, True])
@given(
    counts=st.lists(st.integers(0, 4), min_size=1, max_size=25),
    minimum=st.integers(1, 3),
    k=st.integers(1, 30),
    has_mask=st.booleans(),
    data=st.data(),
)
def test_the_best_columns_come_first_with_ties_by_cardinality_and_then_id(is_dense, counts, minimum, k, has_mask, data):
    n = len(counts)
    cardinality = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    allowed = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)) if has_mask else []
    touched = data.draw(st.permutations([c for c in range(n) if counts[c]]))
    found = select(counts, None if is_dense else touched, allowed, cardinality, minimum, k)
    assert found == naive_top(counts, touched, allowed, cardinality, minimum, k)


def test_equal_columns_are_selected_by_id_and_the_mask_and_the_minimum_hold():
    counts, met, cardinality = [2, 3, 3, 1, 3, 2], [5, 4, 3, 2, 1, 0], [9, 9, 9, 1, 8, 9]
    assert select(counts, met, [], cardinality, 1, 4) == [4, 1, 2, 0]
    assert select(counts, met, [], cardinality, 3, 9) == [4, 1, 2]
    assert select(counts, met, [1, 0, 1, 1, 0, 1], cardinality, 2, 9) == [2, 0, 5]
    assert select(counts, [], [], cardinality, 1, 3) == []


@given(st.integers(1, 400), st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_blocks_that_are_passed_over_hold_nothing_of_the_best(n, seed, k):
    rng = np.random.default_rng(seed)
    counts = np.where(rng.random(n) < 0.05, rng.integers(1, 9, n), 0).astype(np.int32)
    cardinality = rng.integers(1, 4, n)
    found = select(counts.tolist(), None, [], cardinality, 1, k)
    assert found == naive_top(counts.tolist(), range(n), [], cardinality.tolist(), 1, k)


@given(st.lists(st.lists(st.integers(0, 9), max_size=40), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_sums_of_sets(sets, random):
    tally = no_tally(len(sets), 10)
    tally.list_weights[:] = [random.randint(0, 3) for _ in range(10)]
    tally.counts[:] = [random.randint(0, 3) for _ in sets]
    columns = np.arange(len(sets), dtype=np.int32)[::-1].copy()
    totals = np.empty(len(sets), np.int32)
    sum_sets(columns, Sets(*csr(sets, np.uint32)), tally, totals)
    assert totals.tolist() == [tally.counts[c] + sum(int(tally.list_weights[n]) for n in sets[c]) for c in columns]


@pytest.mark.parametrize(("indptr", "number"), [([0, 1], 3), ([0, 9], 0), ([-1, 1], 0), ([0, 2], 0)])
def test_sets_that_lead_outside_are_reported(indptr, number):
    sets = Sets(np.array(indptr), np.array([number], np.uint32))
    with pytest.raises(DamagedArraysError):
        sum_sets(np.zeros(1, np.int32), sets, no_tally(1, 3), np.empty(1, np.int32))
