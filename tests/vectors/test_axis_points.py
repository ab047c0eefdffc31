"""Points: places on the sphere against the haversine formula, distinct points, pairs against all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.search.distance.distance_join import nearest_pairs
from dfjoin.vectors.axis_points import (
    chord_of_length,
    distinct_points,
    length_of_chord,
    near_points,
    nearest_points,
    place_degrees,
    place_points,
)
from tests.oracles.places import haversine

LATITUDES, LONGITUDES = st.floats(-90, 90), st.floats(-180, 360)


@given(LATITUDES, LONGITUDES, LATITUDES, LONGITUDES)
@settings(max_examples=60, deadline=None)
def test_great_circles_are_those_of_the_haversine_formula(a, b, c, d):
    one, other = place_points(np.array([a, c]), np.array([b, d]))
    length = length_of_chord(np.array([np.linalg.norm(one - other)]))[0]
    assert length == pytest.approx(haversine((a, b), (c, d)), rel=1e-6, abs=1e-6)
    assert chord_of_length(length) == pytest.approx(np.linalg.norm(one - other), abs=1e-12)
    back = place_degrees(np.array([one]))[0]
    assert haversine(back, (a, b)) < 0.02


def test_places_that_are_one_and_places_that_are_none():
    points = place_points(np.array([10.0, 10, 90, 90, 0, 0]), np.array([180.0, -180, 5, 77, 350, -10]))
    assert (points[0] == points[1]).all() and (points[2] == points[3]).all()
    np.testing.assert_allclose(points[4], points[5], atol=1e-15)
    none = place_points(np.array([91.0, 0, np.nan, -90.1]), np.array([0.0, 361, 0, 0]))
    assert np.isnan(none).any(axis=1).all()
    assert chord_of_length(1e9) == 2


def test_distinct_points():
    rows = np.array([[1.0, 2], [0.0, 5], [np.nan, 1], [-0.0, 5], [1, np.inf], [1, 2]])
    points, codes = distinct_points(rows)
    assert points.tolist() == [[0, 5], [1, 2]] and codes.tolist() == [1, 0, -1, 0, -1, 1]
    assert not np.signbit(points).any()
    assert [part.size for part in distinct_points(np.empty((0, 3)))] == [0, 0]


@given(st.integers(0, 10**6), st.floats(0, 2), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_pairs_are_those_of_all_pairs(seed, radius, d):
    rng = np.random.default_rng(seed)
    one, other = (rng.integers(0, 4, (rng.integers(0, 30), d)) / 2 for _ in range(2))
    left, right, distances = near_points(one, other, radius)
    gaps = np.sqrt(((one[:, None] - other[None]) ** 2).sum(axis=2)).reshape(len(one), len(other))
    expected = np.nonzero(gaps <= radius)
    assert (left.tolist(), right.tolist()) == (expected[0].tolist(), expected[1].tolist())
    np.testing.assert_allclose(distances, gaps[expected], atol=1e-12)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0, 1e300]), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_the_nearest_pair_of_each_point(seed, radius, d):
    rng = np.random.default_rng(seed)
    one, other = (rng.integers(0, 4, (rng.integers(0, 200), d)) / 2 for _ in range(2))
    one[rng.random(len(one)) < 0.1] *= 1e150
    expected = nearest_pairs(*near_points(one, other, radius))
    for found, wanted in zip(nearest_points(one, other, radius), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_many_pairs_are_compared_in_parts(monkeypatch):
    monkeypatch.setattr("dfjoin.vectors.axis_points.PAIRS_AT_ONCE", 7)
    points = np.arange(12.0)[:, None]
    left, right, _ = near_points(points, points, 20)
    assert left.size == 144 and (np.bincount(right) == 12).all()
