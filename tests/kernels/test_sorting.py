from bisect import bisect_left

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.sorting import argsort_u64, distinct_numbers, is_member, lower_bound, sort_lists_lexicographic
from tests.kernels.packing import csr

KEYS = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 9), st.integers(2**64 - 9, 2**64 - 1))


@given(st.lists(KEYS, max_size=60))
def test_order_is_that_of_a_stable_argsort(keys):
    array = np.array(keys, np.uint64)
    order = argsort_u64(array)
    assert order.dtype == np.uint32
    assert order.tolist() == np.argsort(array, kind="stable").tolist()
    assert array.tolist() == keys


@given(st.lists(st.integers(-9, 9), max_size=40))
def test_distinct_numbers_are_those_of_a_set(numbers):
    array = np.array(numbers, np.int64)
    assert distinct_numbers(array).tolist() == sorted(set(numbers))
    assert array.tolist() == numbers


def test_order_of_no_keys_is_empty():
    assert argsort_u64(np.empty(0, np.uint64)).shape == (0,)


def test_equal_keys_keep_their_order():
    assert argsort_u64(np.full(33, 7, np.uint64)).tolist() == list(range(33))


def test_keys_that_differ_only_below_their_position_bits_are_sorted():
    keys = np.array([5, 4, 3, 2, 1, 0, 5, 0], np.uint64) | np.uint64(1 << 63)
    assert argsort_u64(keys).tolist() == [5, 7, 4, 3, 2, 1, 0, 6]


def test_order_of_many_hashes_is_that_of_a_stable_argsort(rng):
    keys = rng.integers(0, 2**64, 500, dtype=np.uint64)
    keys = np.concatenate([keys, keys[::3]])
    assert argsort_u64(keys).tolist() == np.argsort(keys, kind="stable").tolist()


@given(st.lists(st.lists(st.integers(0, 4), max_size=4), max_size=12), st.data())
def test_lists_are_sorted_lexicographically_and_stably_within_the_stretch(lists, data):
    order = data.draw(st.permutations(range(len(lists))))
    start = data.draw(st.integers(0, len(lists)))
    end = data.draw(st.integers(start, len(lists)))
    leaders = np.array(data.draw(st.permutations(range(len(lists)))), np.uint32)
    indptr, columns = csr(lists)
    numbers = np.array(order, np.uint32)
    sort_lists_lexicographic(numbers, start, end, leaders, indptr, columns, np.empty_like(numbers))
    middle = sorted(order[start:end], key=lambda number: lists[leaders[number]])
    assert numbers.tolist() == [*order[:start], *middle, *order[end:]]


@given(st.lists(st.integers(0, 9)).map(sorted), st.integers(-1, 10), st.data())
def test_the_lower_bound_is_where_a_value_would_be_inserted_first(values, value, data):
    low = data.draw(st.integers(0, len(values)))
    high = data.draw(st.integers(low, len(values)))
    assert lower_bound(np.array(values, np.int64), low, high, value) == bisect_left(values, value, low, high)


@given(st.lists(KEYS, max_size=30), KEYS)
def test_a_member_is_found_in_what_is_sorted(keys, key):
    array = np.sort(np.array(keys, np.uint64))
    for value in (*keys, key):
        assert is_member(array, np.uint64(value)) == (value in keys)
