"""Sets in one array: counts, signatures, rarest elements, lists, order and the test for a subset."""

import numpy as np

from dfjoin.containment.set_collection import encode_sides
from dfjoin.kernels.numba._compile import njit_lean
from dfjoin.kernels.sets.set_lists import (
    EMPTY,
    UNKNOWN,
    SetLists,
    are_equal,
    copy_sets,
    count_elements,
    fill_lists,
    find_rarest,
    gallop,
    hash_sets,
    is_subset,
    order_rows,
    sign_sets,
    sort_runs,
)
from tests.oracles.containment import random_sets, sets_of


@njit_lean
def call_is_subset(left, row, right, other):
    return is_subset(left, row, right, other)


@njit_lean
def call_are_equal(sets, a, b):
    return are_equal(sets, a, b)


@njit_lean
def call_gallop(values, low, high, value):
    return gallop(values, low, high, value)


def test_subset_equality_hash_and_signature_agree_with_python(rng):
    left, right = encode_sides(random_sets(rng, 40, 30, 6, 0.5), random_sets(rng, 40, 30, 29, 0.1))
    hashes = np.empty(40, np.uint64)
    hash_sets(left.lists, hashes)
    signatures = [np.empty(40, np.uint64) for _ in range(2)]
    sign_sets(left.lists, signatures[0])
    sign_sets(right.lists, signatures[1])
    a, b = sets_of(left), sets_of(right)
    for i in range(40):
        for j in range(40):
            assert call_is_subset(left.lists, i, right.lists, j) == (a[i] <= b[j])
            if a[i] <= b[j]:
                assert signatures[0][i] & ~signatures[1][j] == 0
            assert call_are_equal(left.lists, i, j) == (a[i] == a[j]) == (hashes[i] == hashes[j])


def test_the_rarest_element_is_that_of_the_fewest_sets():
    left, right = encode_sides([[0, 1], [2], [], [1, 3]], [[0, 1], [1, 3], [3, 0, 1]])
    counts = np.zeros(left.n_elements, np.int64)
    count_elements(right.lists.elements, counts)
    rarest = np.empty(4, np.int64)
    find_rarest(left.lists, counts, rarest)
    codes = {tuple(sorted(s)): i for i, s in enumerate(sets_of(left))}
    assert len(codes) == 4
    assert rarest[1] == UNKNOWN and rarest[2] == EMPTY
    assert counts[rarest[0]] == 2 and counts[rarest[3]] == 2


def test_lists_are_those_asked_for_and_ascend():
    sets = encode_sides((np.array([0, 2, 3, 5]), np.array([0, 2, 2, 0, 1])))[0]
    cursors, rows = np.array([0, -1, 2]), np.full(4, -1, np.int32)
    fill_lists(sets.lists, 2, cursors, rows)
    assert rows.tolist() == [0, 2, 0, 1]
    assert cursors.tolist() == [2, -1, 4]
    cursors = np.array([0, -1, 2])
    fill_lists(sets.lists, 1, cursors, rows)
    assert cursors.tolist() == [0, -1, 3] and rows[2] == 1


def test_rows_are_ordered_by_key_and_equal_sets_lie_together():
    keys = np.array([1, 0, -1, 1, 0, 1])
    order = np.empty(5, np.int32)
    order_rows(keys, np.array([0, 2]), order)
    assert order.tolist() == [1, 4, 0, 3, 5]
    hashes = np.array([9, 5, 0, 3, 4, 9], np.uint64)
    sort_runs(order, np.array([0, 2]), np.array([2, 5]), hashes, np.empty_like(order))
    assert order.tolist() == [4, 1, 3, 0, 5]


def test_gallop_is_a_lower_bound(rng):
    values = np.unique(rng.integers(0, 500, 100)).astype(np.uint32)
    for value in range(-1, 502, 7):
        for low in (0, 3, 50, values.size):
            expected = low + int(np.searchsorted(values[low:], max(value, 0)))
            assert call_gallop(values, low, values.size, max(value, 0)) == expected


def test_sets_are_copied_in_the_order_asked_for():
    sets = encode_sides((np.array([0, 2, 2, 5]), np.array([0, 3, 1, 2, 3])))[0]
    copied = SetLists(np.zeros(4, np.int64), np.full(5, 9, np.uint32))
    copy_sets(sets.lists, np.array([2, 1, 0]), copied)
    assert copied.elements.tolist() == [1, 2, 3, 0, 3] and copied.indptr.tolist() == [0, 3, 3, 5]
