"""PEXESO's lemmas as properties: no pair that is left out matches, every pair that is accepted does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.pivot_grids import CellPairs, PivotLimits, block, cell_keys, sift_cells
from dfjoin.kernels.vectors.vector_search import TokenColumns
from dfjoin.search.embedding.pexeso.pivots import make_grid, map_rows
from dfjoin.vectors.metrics import metric_of

METRIC = metric_of("euclidean")
RADII = st.sampled_from([0.0, 0.05, 0.2, 0.5, 1.0, 1.9])


def case(seed, n_levels, n_pivots=3, n=120, n_queries=25):
    """Vectors in clumps, so that whole cells match; pivots among them, so that Lemma 2 has work."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(5, 4))
    rows = (centers[rng.integers(0, 5, n)] + rng.normal(size=(n, 4)) * 0.05).astype(np.float32)
    queries = (centers[rng.integers(0, 5, n_queries)] + rng.normal(size=(n_queries, 4)) * 0.3).astype(np.float32)
    pivots = rows[rng.choice(n, n_pivots, replace=False)]
    mapped, own = map_rows(rows, pivots, METRIC), map_rows(queries, pivots, METRIC)
    side = float(mapped.max()) * 1.001
    target, order = make_grid(mapped, side, n_levels)
    grid, order_q = make_grid(own, side, n_levels)
    exact = np.array([METRIC.distances(q, rows[order]) for q in queries[order_q]])
    return grid, target, exact


def blocked(grid, target, limits):
    pairs = CellPairs(np.empty(1 << 16, np.int64), np.empty(1 << 16, np.int64), np.empty(1 << 16, np.uint8))
    stats = np.zeros(2, np.int64)
    n = block(grid, target, limits, np.empty((1 << 16, 3), np.int64), pairs, stats)
    return CellPairs(pairs.queries[:n], pairs.cells[:n], pairs.is_match[:n]), stats


@pytest.mark.parametrize("n_levels", [1, 2, 4])
def test_a_grid_holds_every_vector_in_the_cells_above_it(n_levels):
    _, target, _ = case(0, n_levels)
    n = target.mapped.shape[0]
    assert target.starts[0] == 0 and target.starts.size == n_levels + 2
    for level in range(n_levels + 1):
        cells = range(target.starts[level], target.starts[level + 1])
        ends = [tuple(target.children[c]) for c in cells]
        below = (target.starts[level + 1], target.starts[level + 2]) if level < n_levels else (0, n)
        assert [a for a, _ in ends] == sorted(a for a, _ in ends) and (ends[0][0], ends[-1][1]) == below
        assert all(a < b for a, b in ends)
    width = target.side / 2**n_levels
    for cell in range(target.starts[n_levels], target.starts[n_levels + 1]):
        mapped = target.mapped[slice(*target.children[cell])]
        assert (mapped >= target.coordinates[cell] * width).all()
        assert (mapped <= (target.coordinates[cell] + 1) * width).all()
        np.testing.assert_array_equal(target.largest[cell], mapped.max(axis=0))
    assert len({tuple(c) for c in target.coordinates[target.starts[-2] :]}) == target.starts[-1] - target.starts[-2]


@given(st.integers(0, 10**6), st.integers(1, 5), RADII)
@settings(max_examples=25, deadline=None)
def test_blocking_loses_no_match_and_accepts_no_other(seed, n_levels, radius):
    """Lemmas 3, 4: what is no pair does not match. Lemmas 5, 6: what is accepted matches. Each pair comes once."""
    grid, target, exact = case(seed, n_levels)
    pairs, _ = blocked(grid, target, PivotLimits(radius, 1e-9))
    covered = np.zeros(exact.shape, int)
    for q, cell, is_match in zip(*pairs, strict=True):
        places = slice(*target.children[cell])
        covered[q, places] += 1
        if is_match:
            assert (exact[q, places] <= radius).all()
    assert covered.max(initial=0) <= 1
    assert (exact[covered == 0] > radius).all()


def grid_of(mapped, side=8.0, n_levels=3):
    return make_grid(np.array(mapped, float), side, n_levels)[0]


def test_cells_are_left_out_and_accepted_as_wholes():
    """Lemma 4 spares the comparison of vectors far apart, Lemma 6 of vectors near a pivot."""
    far, stats = blocked(grid_of([[0.5, 7.5]] * 9), grid_of([[7.5, 0.5]] * 9), PivotLimits(1.0, 0.0))
    assert far.queries.size == 0 and stats.tolist() == [3, 0]
    near, stats = blocked(grid_of([[0.1, 7.0]] * 9), grid_of([[0.3, 7.0]] * 9), PivotLimits(5.0, 0.0))
    assert near.is_match.tolist() == [1] * 9 and stats[1] == 0


def test_cells_of_one_region_are_candidates_without_a_comparison():
    """Quick browsing: Lemma 3 is not asked, here of a radius below zero, by which it would leave out everything."""
    same, _ = blocked(grid_of([[3.1, 3.1]]), grid_of([[3.2, 3.2]]), PivotLimits(0.0, 0.0))
    assert same.queries.size == 1 and same.is_match[0] == 0


def test_what_lies_beyond_the_space_belongs_to_the_last_cells():
    grid, target = grid_of([[100.0, 3.0]]), grid_of([[7.9, 3.0], [0.1, 3.0]])
    pairs, _ = blocked(grid, target, PivotLimits(95.0, 0.0))
    assert pairs.queries.size >= 1
    keys = np.empty(1, np.int64)
    cell_keys(as_read_only(np.array([[1e9, 0.0]])), 8.0, 2, keys)
    assert keys[0] == 0b1010


@pytest.mark.parametrize("room", ["pairs", "stack"])
def test_too_little_room_is_told(room):
    grid, target, _ = case(1, 2)
    n = 1 if room == "pairs" else 1 << 12
    pairs = CellPairs(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint8))
    stack = np.empty((1 if room == "stack" else 1 << 12, 3), np.int64)
    assert block(grid, target, PivotLimits(9.0, 0.0), stack, pairs, np.zeros(2, np.int64)) == -1


def sifted(grid, target, radius, closed):
    pairs, _ = blocked(grid, target, PivotLimits(radius, 1e-9))
    n = target.mapped.shape[0]
    group = as_read_only((np.arange(n) % 4).astype(np.uint32))  # columns 0, 1, 2, and a list of 0 and 2
    postings = TokenColumns(
        group,
        as_read_only(np.array([0, 2])),
        as_read_only(np.array([0, 2], np.int32)),
        as_read_only(np.ones(3, np.uint8)),
    )
    found = CellPairs(np.empty(1 << 16, np.int64), np.empty(1 << 16, np.int64), np.empty(1 << 16, np.uint8))
    stats = np.zeros(3, np.int64)
    sealed = CellPairs(*(as_read_only(array) for array in pairs))
    tokens = as_read_only(np.arange(n).astype(np.uint32))
    limits = PivotLimits(radius, 1e-9)
    k = sift_cells(grid.mapped, target, sealed, limits, tokens, as_read_only(np.array(closed)), postings, found, stats)
    return found, k, stats


@given(st.integers(0, 10**6), RADII)
@settings(max_examples=25, deadline=None)
def test_pivots_leave_out_no_match_and_accept_no_other(seed, radius):
    """Lemma 1 and Lemma 2, for each vector of a candidate cell."""
    grid, target, exact = case(seed, 2)
    found, k, stats = sifted(grid, target, radius, [False] * 3)
    left = np.ones(exact.shape, bool)
    for q, place, is_sure in zip(found.queries[:k], found.cells[:k], found.is_match[:k], strict=True):
        left[q, place] = False
        if is_sure:
            assert exact[q, place] <= radius
    assert (exact[left] > radius).all() and stats[1] == found.is_match[:k].sum()


def test_values_of_closed_columns_alone_are_left_out():
    """Lemma 7: a value is left out where every column that holds it is closed."""
    grid, target, _ = case(3, 2)
    every, n_every, _ = sifted(grid, target, 1.0, [False] * 3)
    found, k, stats = sifted(grid, target, 1.0, [True, False, False])
    kept = every.cells[:n_every] % 4 != 0
    assert found.cells[:k].tolist() == every.cells[:n_every][kept].tolist() and stats[2] > 0
    _, k, _ = sifted(grid, target, 1.0, [True, False, True])
    assert k == (every.cells[:n_every] % 4 == 1).sum()
