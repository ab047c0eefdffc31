"""Mutual information, relevance and redundancy against sums by hand."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.augment.relevance import bin_column, choose_columns, mutual_information, relevance

BINS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40)


@given(BINS)
def test_mutual_information_is_the_sum_of_its_definition(pairs):
    n = len(pairs)
    both, first, second = Counter(pairs), Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(c / n * math.log(c * n / (first[a] * second[b])) for (a, b), c in both.items())
    a, b = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    information, freedom = mutual_information(a, b)
    assert information == pytest.approx(expected, abs=1e-9)
    assert freedom == (len(first) - 1) * (len(second) - 1)
    assert mutual_information(b, a)[0] == pytest.approx(information, abs=1e-9)


def test_relevance_of_noise_is_about_standard_normal():
    rng = np.random.default_rng(0)
    target = rng.integers(0, 3, 2000)
    found = [relevance(rng.integers(0, 10, 2000), target, 2000) for _ in range(200)]
    assert abs(np.mean(found)) < 0.3 and 0.8 < np.std(found) < 1.25
    assert relevance(target, target, 2000) > 100
    assert relevance(np.zeros(2000, np.int64), target, 2000) == 0


def test_bins():
    values = np.array([np.nan, *range(100)])
    bins = bin_column(values, True)
    assert bins[0] == 0
    np.testing.assert_array_equal(np.bincount(bins)[1:], [10] * 10)
    np.testing.assert_array_equal(np.bincount(bin_column(values, True, 4))[1:], [25] * 4)
    np.testing.assert_array_equal(bin_column(np.array([0.0, 1, 2, 3]), False, 2), [1, 2, 2, 2])
    np.testing.assert_array_equal(bin_column(np.array([0.0, 1, 12, np.nan]), False), [1, 2, 10, 0])
    np.testing.assert_array_equal(bin_column(np.array([np.nan, np.nan]), True), [0, 0])


def test_redundant_columns_are_left_out():
    rng = np.random.default_rng(1)
    one, two, noise = rng.integers(0, 4, 3000), rng.integers(0, 4, 3000), rng.integers(0, 4, 3000)
    target = (2 * one + two) // 2
    columns = [noise, two, one, one[::-1].copy(), (one + 1) % 4]
    assert choose_columns(columns, target, 3000, 5, 3.0) == [2, 1], "a renamed copy says nothing new"
    assert choose_columns(columns, target, 3000, 1, 3.0) == [2]
    assert choose_columns([noise], target, 3000, 5, 3.0) == []
    assert choose_columns([], target, 3000, 5, 3.0) == []


def test_copies_of_the_most_relevant_column_do_not_hide_the_next():
    rng = np.random.default_rng(2)
    one, two = rng.integers(0, 4, 3000), rng.integers(0, 4, 3000)
    target = (2 * one + two) // 2
    copies = [(one + shift) % 4 for shift in range(4)]
    assert choose_columns([*copies, two], target, 3000, 2, 3.0) == [0, 4]
