"""Partial containment, weighted too, against brute force."""

import numpy as np
import pytest

from dfjoin.containment import partial_join
from dfjoin.containment.partial_join import needed_counts, overlap_pairs
from dfjoin.containment.set_collection import encode_sides
from tests.oracles.containment import naive_pairs, random_sets, sets_of


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("threshold", [1.0, 0.9, 0.5, 0.34, 0.05])
@pytest.mark.parametrize("n_elements", [3, 30, 600])
def test_overlaps_are_those_of_brute_force(rng, monkeypatch, threshold, n_elements, is_weighted):
    left, right = encode_sides(random_sets(rng, 90, n_elements, 25, 0.8), random_sets(rng, 120, n_elements, 60, 0.8))
    weights = rng.integers(1, 6, left.n_elements) if is_weighted else None
    counted = np.ones(left.n_elements, np.int64) if weights is None else weights
    total = np.array([counted[left.elements[a:b]].sum() for a, b in zip(left.indptr, left.indptr[1:], strict=False)])
    expected = [row for row in naive_pairs(sets_of(left), sets_of(right), threshold, weights) if row[2]]
    for most in (partial_join.STEPS, 10):
        monkeypatch.setattr(partial_join, "STEPS", most)
        monkeypatch.setattr(partial_join, "ROOM", 1)
        parts = overlap_pairs(left, right, needed_counts(total, threshold), weights)
        got = sorted(row for part in parts for row in zip(*(a.tolist() for a in part), strict=True))
        assert got == expected


def test_the_needed_count_is_the_smallest_that_reaches_the_threshold():
    sizes = np.arange(1, 400)
    for threshold in (0.1, 0.3, 0.7, 0.95, 1.0):
        needed = needed_counts(sizes, threshold)
        assert np.all(needed / sizes >= threshold)
        assert np.all((needed == 1) | ((needed - 1) / sizes < threshold))


def test_a_product_that_float_rounds_up_needs_no_count_more():
    assert needed_counts(np.array([100]), 0.07).tolist() == [7], "0.07 * 100 is 7.000000000000001"
    for size in (100, 300, 999):
        for percent in range(1, 101):
            least = next(count for count in range(1, size + 1) if count / size >= percent / 100)
            assert needed_counts(np.array([size]), percent / 100).tolist() == [least]
