from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.mergelist import (
    clear_counts,
    collect_lists,
    count_few,
    count_lists,
    gather_groups,
    select_top,
    select_top_of_all,
)
from tests.kernels.packing import csr

N_COLUMNS = 6
LISTS = [[0, 1], [1, 2, 5], [0, 1, 2, 3, 4, 5], [3, 4]]
ANY = np.empty(0, np.uint8)
GROUPS = st.lists(st.integers(-1, N_COLUMNS + len(LISTS) - 1), max_size=30)
NO_WEIGHTS = np.empty(0, np.int32)


class Counting:
    """The scratch arrays of one search, and the two kernels run on them."""

    def __init__(self, groups, weights, is_dense=False, lists=LISTS):
        self.indptr, self.list_columns = csr(lists)
        self.hits = np.zeros(len(lists), np.int32)
        self.counts = np.zeros(N_COLUMNS, np.int32)
        self.columns = np.zeros(N_COLUMNS + 1, np.int32)
        self.lists = np.zeros(len(groups), np.uint32)
        self.state = np.zeros(3, np.int64)
        self.is_dense = is_dense
        collect_lists(
            np.array(groups, np.int64),
            weights,
            N_COLUMNS,
            self.indptr,
            self.hits,
            self.counts,
            self.lists,
            self.columns,
            self.state,
        )
        self.n_lists, self.n_touched, self.n_postings = self.state.tolist()

    def count(self):
        """Count with the kernel that scans, or the one that records; tell whether it found damage."""
        lists = (self.lists, self.n_lists, self.hits, self.indptr, self.list_columns, self.counts)
        if self.is_dense:
            return not count_lists(*lists)
        self.n_touched = count_few(*lists, self.columns, self.n_touched)
        return self.n_touched < 0


def naive_counts(groups, weights=None):
    counts = Counter()
    for i, group in enumerate(groups):
        if group >= 0:
            for column in [group] if group < N_COLUMNS else LISTS[group - N_COLUMNS]:
                counts[column] += 1 if weights is None else weights[i]
    return counts


@given(st.lists(st.integers(-1, 4), max_size=40))
def test_tokens_are_replaced_by_their_groups_and_absent_ones_stay(tokens):
    group = [4, 0, 8, 1, 0]
    found = gather_groups(np.array(tokens, np.int64), np.array(group, np.uint32), 9)
    assert found.tolist() == [-1 if t < 0 else group[t] for t in tokens]


@pytest.mark.parametrize("tokens", [[2], [0, -1, 2, 1], [-1] * 20 + [2]])
def test_a_group_outside_the_segment_is_reported(tokens):
    assert gather_groups(np.array(tokens, np.int64), np.array([1, 3, 4], np.uint32), 4)[0] == -2


@given(GROUPS, st.booleans())
def test_lists_and_private_columns_are_gathered_once_with_their_weight(groups, has_weights):
    weights = [i % 3 + 1 for i in range(len(groups))]
    run = Counting(groups, np.array(weights, np.int32) if has_weights else NO_WEIGHTS)
    expected = Counter()
    for group, weight in zip(groups, weights, strict=True):
        expected[group] += weight if has_weights else 1
    numbers = list(dict.fromkeys(g - N_COLUMNS for g in groups if g >= N_COLUMNS))
    assert run.lists[: run.n_lists].tolist() == numbers
    assert run.columns[: run.n_touched].tolist() == list(dict.fromkeys(g for g in groups if 0 <= g < N_COLUMNS))
    assert run.n_postings == sum(len(LISTS[number]) for number in numbers)
    assert run.hits.tolist() == [expected[N_COLUMNS + number] for number in range(len(LISTS))]
    assert run.counts.tolist() == [expected[column] for column in range(N_COLUMNS)]


@pytest.mark.parametrize("is_dense", [False, True])
@given(groups=GROUPS, has_weights=st.booleans())
def test_counts_are_those_of_a_counter_and_scratch_is_clean_afterwards(is_dense, groups, has_weights):
    weights = [i % 4 + 1 for i in range(len(groups))] if has_weights else None
    run = Counting(groups, np.array(weights, np.int32) if has_weights else NO_WEIGHTS, is_dense)
    before = run.n_touched
    assert not run.count()
    expected = naive_counts(groups, weights)
    assert run.counts.tolist() == [expected[column] for column in range(N_COLUMNS)]
    assert not run.hits.any()
    if is_dense:
        assert run.n_touched == before
    else:
        touched = run.columns[: run.n_touched].tolist()
        assert len(touched) == len(set(touched))
        assert set(touched) == set(expected)
        clear_counts(run.counts, run.columns, run.n_touched)
        assert not run.counts.any()


@pytest.mark.parametrize("is_dense", [False, True])
@pytest.mark.parametrize("column", [-1, N_COLUMNS, 2**30])
def test_a_posting_outside_the_segment_is_reported(is_dense, column):
    run = Counting([N_COLUMNS], NO_WEIGHTS, is_dense, lists=[[0, column]])
    assert run.count()


@pytest.mark.parametrize("is_dense", [False, True])
@pytest.mark.parametrize("indptr", [[0, 99], [-1, 2]])
def test_a_list_outside_the_postings_is_reported(is_dense, indptr):
    run = Counting([N_COLUMNS], NO_WEIGHTS, is_dense, lists=[[0, 1]])
    run.indptr[:] = indptr
    assert run.count()


def naive_top(counts, touched, allowed, cardinality, minimum, k):
    good = [c for c in touched if counts[c] >= minimum and (not allowed or allowed[c])]
    return sorted(good, key=lambda c: (-counts[c], cardinality[c], c))[:k]


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
    columns = np.zeros(n, np.int32)
    columns[: len(touched)] = touched
    wanted = (np.array(allowed, np.uint8), np.array(cardinality, np.int64), minimum, k)
    given_counts = np.array(counts, np.int32)
    if is_dense:
        best = select_top_of_all(given_counts, *wanted)
    else:
        best = select_top(given_counts, columns, len(touched), *wanted)
    assert best.tolist() == naive_top(counts, touched, allowed, cardinality, minimum, k)


def test_equal_columns_are_selected_by_id_and_the_mask_and_the_minimum_hold():
    counts = np.array([2, 3, 3, 1, 3, 2], np.int32)
    columns = np.array([5, 4, 3, 2, 1, 0], np.int32)
    cardinality = np.array([9, 9, 9, 1, 8, 9], np.int64)
    assert select_top(counts, columns, 6, ANY, cardinality, 1, 4).tolist() == [4, 1, 2, 0]
    assert select_top(counts, columns, 6, ANY, cardinality, 3, 9).tolist() == [4, 1, 2]
    mask = np.array([1, 0, 1, 1, 0, 1], np.uint8)
    assert select_top(counts, columns, 6, mask, cardinality, 2, 9).tolist() == [2, 0, 5]
    assert select_top(counts, columns, 0, ANY, cardinality, 1, 3).tolist() == []


def test_clearing_leaves_counts_that_were_not_touched():
    counts = np.array([4, 5, 6], np.int32)
    clear_counts(counts, np.array([2, 0, 1], np.int32), 2)
    assert counts.tolist() == [0, 5, 0]


@given(st.integers(1, 400), st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_blocks_that_are_passed_over_hold_nothing_of_the_best(n, seed, k):
    rng = np.random.default_rng(seed)
    counts = np.where(rng.random(n) < 0.05, rng.integers(1, 9, n), 0).astype(np.int32)
    cardinality = rng.integers(1, 4, n)
    best = select_top_of_all(counts, ANY, cardinality, 1, k)
    assert best.tolist() == naive_top(counts, range(n), [], cardinality, 1, k)
