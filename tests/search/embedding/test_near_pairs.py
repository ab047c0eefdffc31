"""Pairs of unit vectors within a radius."""

import math

import numpy as np
import pytest

from dfjoin.search.embedding import near_join as module
from dfjoin.search.embedding.near_join import pairs_within
from dfjoin.search.embedding.near_search import VectorRadius
from dfjoin.vectors.embedders import unit_rows


@pytest.mark.parametrize("radius", [0.0, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("chunk", [10, 1 << 22])
def test_pairs_are_all_pairs(radius, chunk, monkeypatch):
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", chunk)
    rng = np.random.default_rng(0)
    one, other = unit_rows(rng.normal(size=(15, 6))), unit_rows(rng.normal(size=(21, 6)))
    other[:4] = one[:4]
    rows, columns, distances = pairs_within(one, other, VectorRadius("euclidean", radius, radius, 1.0))
    exact = {(i, j): math.dist(one[i].astype(float), other[j].astype(float)) for i in range(15) for j in range(21)}
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == [p for p, d in exact.items() if d <= radius]
    np.testing.assert_allclose(distances, [exact[i, j] for i, j in zip(rows, columns, strict=True)], rtol=1e-13)


@pytest.mark.parametrize("most", [0, 1 << 29])
@pytest.mark.parametrize("radius", [0.3, 1.2])
def test_the_nearest_of_each_are_among_the_closest(radius, most, monkeypatch):
    monkeypatch.setattr(module, "_MOST_PRODUCTS", most)  # in cells, or by a product of matrices
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 100)
    rng = np.random.default_rng(1)
    other = unit_rows(rng.normal(size=(900, 20)))
    other[:50] = other[50:100]  # several are equally near
    one = unit_rows(other[:60] + rng.normal(size=(60, 20)) * 0.05)
    shares = rng.uniform(0.5, 1, 60)
    exact = np.linalg.norm(one[:, None].astype(float) - other[None].astype(float), axis=2)
    reach = VectorRadius("euclidean", radius, radius, 1.0)
    is_within = exact <= radius * shares[:, None]
    rows, columns, _ = pairs_within(one, other, reach, shares)
    assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == set(map(tuple, np.argwhere(is_within).tolist()))
    rows, columns, distances = pairs_within(one, other, reach, shares, is_closest=True)
    found = set(zip(rows.tolist(), columns.tolist(), strict=True))
    is_nearest = is_within & (exact <= exact.min(axis=1, keepdims=True) + 1e-12)
    assert found >= set(map(tuple, np.argwhere(is_nearest).tolist()))
    assert len(found) < is_within.sum() or radius < 1
    np.testing.assert_allclose(distances, exact[rows, columns], rtol=1e-13)


def test_nothing_has_no_pairs():
    empty = np.empty((0, 6), np.float32)
    for found in pairs_within(empty, empty, VectorRadius("euclidean", 0.0, 0.0, 1.0)):
        assert found.size == 0
