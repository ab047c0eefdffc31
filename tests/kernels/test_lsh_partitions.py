"""The partitions against all ways to cut, and the error areas against plain sums of many thin slices."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config

from dfjoin.kernels.sets.lsh_partitions import error_areas, optimal_ends
from dfjoin.search.lsh.bands import NODES, WEIGHTS


def cost_of(sizes, counts, ends):
    """Equation 2.17: expected false positives of the partitions that end at these positions."""
    total, begin = 0.0, 0
    for end in ends:
        total += sum(counts[i] * (1 - sizes[i] / sizes[end]) for i in range(begin, end + 1))
        begin = end + 1
    return total


@given(st.dictionaries(st.integers(1, 10**6), st.integers(1, 50), min_size=1, max_size=9), st.data())
def test_no_other_cut_is_better(histogram, data):
    sizes = sorted(histogram)
    counts = [histogram[size] for size in sizes]
    n = data.draw(st.integers(1, len(sizes)))
    ends = optimal_ends(np.array(sizes), np.array(counts), n).tolist()
    assert len(ends) == n and ends[-1] == len(sizes) - 1 and ends == sorted(set(ends))
    every = itertools.combinations(range(len(sizes) - 1), n - 1)
    best = min(cost_of(sizes, counts, [*cut, len(sizes) - 1]) for cut in every)
    assert cost_of(sizes, counts, ends) == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_the_example_of_the_thesis():
    """Example 2.4.1: three and four together, ninety-nine and a hundred together."""
    ends = optimal_ends(np.array([3, 4, 99, 100]), np.array([4, 4, 3, 3]), 2)
    assert ends.tolist() == [1, 3]


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="tens of thousands of sizes")
def test_tens_of_thousands_of_sizes_against_the_quadratic_program(rng):
    """The same cost as the plain dynamic program, on as many sizes as that can bear."""
    sizes = np.unique((10 * (rng.pareto(0.9, 3000) + 1)).astype(np.int64))
    counts = rng.integers(1, 30, sizes.size)
    columns, values = np.append(0, np.cumsum(counts)), np.append(0, np.cumsum(counts * sizes))
    single = (
        columns[1:][None, :] - columns[:-1][:, None] - (values[1:][None, :] - values[:-1][:, None]) / sizes[None, :]
    )
    single[np.tril_indices(sizes.size, -1)] = np.inf
    cost = single[0]
    for _ in range(15):
        cost = np.append(np.inf, np.min(cost[:-1, None] + single[1:, 1:], axis=0))
    ends = optimal_ends(sizes, counts, 16)
    assert cost_of(sizes, counts, ends) == pytest.approx(cost[-1], rel=1e-9)


def slices(threshold, ratio, b, r, n=400_000):
    """Equations 2.22 to 2.24 by the midpoint rule."""
    top = min(1.0, ratio)
    middle = min(threshold, top)
    areas = []
    for low, high, is_miss in ((0.0, middle, False), (middle, top, True)):
        t = low + (high - low) * (np.arange(n) + 0.5) / n
        found = 1 - (1 - (t / (ratio + 1 - t)) ** r) ** b
        areas.append((high - low) * float(np.mean(1 - found if is_miss else found)))
    return areas


@pytest.mark.parametrize("threshold", [0.0, 1e-6, 0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize("ratio", [0.001, 0.4, 1.0, 1.05, 7.0, 4096.0])
def test_areas_are_the_integrals_of_the_thesis(threshold, ratio):
    pairs = [(1, 1), (256, 1), (3, 2), (128, 2), (9, 5), (64, 4), (1, 32), (8, 32)]
    if config.DISABLE_JIT:
        pairs = pairs[:4]
    pairs.sort(key=lambda pair: pair[1])
    bands, rows = (np.array(column) for column in zip(*pairs, strict=True))
    areas = error_areas(threshold, ratio, bands, rows, NODES, WEIGHTS)
    for i, (b, r) in enumerate(pairs):
        assert areas[:, i] == pytest.approx(slices(threshold, ratio, b, r), abs=2e-4)
        if ratio < threshold:
            assert areas[1, i] == 0.0
