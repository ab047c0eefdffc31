"""The scan of cells, against every pair: any centers give all pairs within the radius."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.kernels.lanes import LANES
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_cells import NearPositions, make_cell_queries, make_cell_scratch, scan_cells
from dfjoin.kernels.vectors.vector_search import VectorTable
from dfjoin.vectors import near_cells as vector_cells
from dfjoin.vectors.embedders import unit_rows
from dfjoin.vectors.near_cells import build_cells, caps_of
from dfjoin.vectors.rounded_features import query_pairs
from dfjoin.vectors.trees import features_of


def vectors(seed, n, d):
    """Unit vectors in clusters, some of them twice, some opposite to others."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(1 + n // 40, d))[rng.integers(0, 1 + n // 40, n)] + rng.normal(size=(n, d)) * 0.2
    rows[n // 2 : n // 2 + n // 8] = rows[: n // 8]
    rows[-(n // 8) :] = -rows[: n // 8]
    return unit_rows(rows)


def sealed(*arrays):
    return (as_read_only(np.ascontiguousarray(array)) for array in arrays)


def scan(rows, queries, radius, room):
    """Scan all cells; return the pairs, how often there was no room, and what was read."""
    cells, order = build_cells(rows)
    n = len(queries)
    radii = np.full(n, radius) if np.isscalar(radius) else radius
    made = make_cell_queries(*query_pairs(features_of(queries, cells.projection), radii), queries)
    table = VectorTable(*sealed(rows[order], np.arange(len(rows), dtype=np.uint32)))
    state, stats, n_full = np.zeros(3, np.int64), np.zeros(4, np.int64), 0
    found = NearPositions(np.empty(room, np.int32), np.empty(room, np.int32))
    scratch = make_cell_scratch(n, cells.blocks.indptr)
    padded = np.concatenate([queries, np.zeros((-n % LANES, rows.shape[1]), np.float32)])
    products = as_read_only(cells.centers @ np.ascontiguousarray(padded.T))
    caps = caps_of(radii, rows.shape[1])
    while not scan_cells(cells.blocks, table, made, products, caps, found, scratch, state, stats):
        found = NearPositions(*(np.concatenate([array, np.empty(room, np.int32)]) for array in found))
        n_full += 1
    pairs = zip(found.queries[: state[2]].tolist(), order[found.positions[: state[2]]].tolist(), strict=True)
    return sorted(pairs), n_full, stats


def brute(rows, queries, radius):
    gaps = queries[:, None].astype(float) - rows[None].astype(float)
    return [tuple(pair) for pair in np.argwhere(np.sqrt((gaps**2).sum(-1)) <= radius).tolist()]


def test_each_query_has_a_radius_of_its_own():
    rows = vectors(3, 500, 20)
    queries, radii = rows[::7], np.resize([0.0, 0.1, 0.3, 0.9, 1.5], 72)
    assert scan(rows, queries, radii, 50_000)[0] == brute(rows, queries, radii[:, None])


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-6, 0.05, 0.3, 0.9, 1.4142, 1.5, 1.9999, 2.0]))
@settings(max_examples=25, deadline=None)
def test_all_pairs_within_the_radius_are_found_once(seed, radius):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 300)), int(rng.integers(1, 40))
    rows = vectors(seed, n, d)
    queries = unit_rows(np.concatenate([rows[:9], rows[:9] + rng.normal(size=(min(9, n), d)) * 0.1, rows[:2] * -1.0]))
    size, vector_cells._OF_CELL = vector_cells._OF_CELL, int(rng.integers(5, 100))
    try:
        found, _, _ = scan(rows, queries, radius, 10_000)
    finally:
        vector_cells._OF_CELL = size
    assert found == brute(rows, queries, radius)


def test_the_scan_goes_on_where_the_room_ended(monkeypatch):
    monkeypatch.setattr(vector_cells, "_OF_CELL", 50)
    rows = vectors(1, 400, 6)
    found, n_full, stats = scan(rows, rows[::9], 0.8, 400)
    assert n_full > 3 and found == brute(rows, rows[::9], 0.8)
    again, none, whole = scan(rows, rows[::9], 0.8, 100_000)
    assert again == found and none == 0 and whole[1:].tolist() == stats[1:].tolist()


def test_a_small_radius_scans_little():
    rows = vectors(2, 5000, 20)
    found, _, stats = scan(rows, rows[:50], 0.05, 10_000)
    assert len(found) >= 50
    assert stats[1] * 16 < 50 * 5000 / 4
    assert stats[2] < 3 * len(found)


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 64, 65])
def test_few_vectors(n):
    rows = unit_rows(np.random.default_rng(n).normal(size=(n, 3)))
    queries = unit_rows(np.eye(3))
    assert scan(rows, queries, 1.2, 4096)[0] == brute(rows, queries, 1.2)
