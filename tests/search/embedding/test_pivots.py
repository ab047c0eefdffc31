"""Pivots, and the levels of the grid."""

import numpy as np
import pytest

from dfjoin.search.embedding.pexeso.pivots import MAX_LEVELS, build_pivot_index, choose_levels, choose_pivots, map_rows
from dfjoin.vectors.metrics import metric_of

METRIC = metric_of("euclidean")


def rows_of(seed, n=400, d=6):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) * [5, 4, 1, 1, 0.1, 0.1]).astype(np.float32)


def test_pivots_spread_the_mapped_vectors_more_than_random_ones():
    rows = rows_of(0)
    chosen = map_rows(rows, choose_pivots(rows, METRIC, 3), METRIC).std(axis=0).mean()
    rng = np.random.default_rng(1)
    others = [map_rows(rows, rows[rng.choice(400, 3, replace=False)], METRIC).std(axis=0).mean() for _ in range(20)]
    assert chosen > np.median(others)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_vectors_have_few_pivots(n):
    rows = np.repeat(rows_of(0)[:n], 3, axis=0)
    pivots = choose_pivots(rows, METRIC)
    assert 1 <= len(pivots) <= n
    index = build_pivot_index(rows, METRIC)
    assert index.order.size == 3 * n and index.grid.starts[-2] >= 1


def test_mapped_vectors_are_distances():
    rows = rows_of(2, n=10)
    mapped = map_rows(rows, rows[:3], METRIC)
    assert mapped.shape == (10, 3) and (mapped.diagonal() == 0).all()


def test_levels_follow_the_cost_model():
    """Finer cells where vectors are many, within the bits of a key."""
    few, many = (map_rows(r, choose_pivots(r, METRIC), METRIC) for r in (rows_of(3, 30), rows_of(3, 5000)))
    levels = [choose_levels(mapped, float(mapped.max()), float(mapped.max())) for mapped in (few, many)]
    assert 1 <= levels[0] <= levels[1] <= MAX_LEVELS
    assert build_pivot_index(rows_of(3), METRIC, n_pivots=2, n_levels=4).n_levels == 4
