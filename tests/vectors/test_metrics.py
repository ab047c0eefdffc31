"""Metrics and radii."""

import math

import numpy as np
import pytest

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.vectors.metrics import METRICS, Metric, chord_of_arc, metric_of, radius_of, register_metric


def manhattan(one, many):
    return np.abs(many.astype(float) - one).sum(axis=1)


def cosine(one, many):
    return 1 - many.astype(float) @ one.astype(float)


@pytest.fixture
def cleaned():
    before = dict(METRICS)
    yield
    METRICS.clear()
    METRICS.update(before)


def test_distances():
    one, many = np.array([1.0, 0.0], np.float32), np.array([[1, 0], [0, 1], [-1, 0]], np.float32)
    np.testing.assert_allclose(metric_of("euclidean").distances(one, many), [0, math.sqrt(2), 2])
    np.testing.assert_allclose(metric_of("angular").distances(one, many), [0, math.pi / 2, math.pi])


def test_small_angles_are_exact():
    angle = 1e-6
    many = np.array([[math.cos(angle), math.sin(angle)]])
    assert metric_of("angular").distances(np.array([1.0, 0.0]), many)[0] == pytest.approx(angle, rel=1e-9)


def test_radii():
    euclidean, angular = metric_of("euclidean"), metric_of("angular")
    assert radius_of(euclidean, 0.06, "fraction") == 0.12 and radius_of(euclidean, 0.3, "absolute") == 0.3
    assert radius_of(angular, 0.5, "fraction") == pytest.approx(math.pi / 2)
    assert chord_of_arc(math.pi / 3) == pytest.approx(1.0) and chord_of_arc(10.0) == 2.0


def test_a_metric_can_be_registered(cleaned):
    register_metric(Metric("manhattan", manhattan))
    assert metric_of("manhattan").distances is manhattan
    assert radius_of(metric_of("manhattan"), 2.0, "absolute") == 2.0
    with pytest.raises(InvalidParameterError, match="must be \"absolute\" for the metric 'manhattan'"):
        radius_of(metric_of("manhattan"), 2.0, "fraction")
    with pytest.raises(
        InvalidParameterError, match="\"by_length\" belongs to the metrics 'euclidean', 'angular', got 'man"
    ):
        radius_of(metric_of("manhattan"), 2.0, "by_length")


def test_what_is_no_metric_is_refused(cleaned):
    with pytest.raises(InvalidParameterError, match=r"'cosine' is not for random unit vectors. Take its root"):
        register_metric(Metric("cosine", cosine))
    with pytest.raises(InvalidParameterError, match="must have a name of its own, got 'angular'"):
        register_metric(Metric("angular", manhattan))
    with pytest.raises(InvalidParameterError, match=r"must be one of 'euclidean', 'angular'.*, got 'cosine'; register"):
        metric_of("cosine")


def test_a_metric_is_one():
    with pytest.raises(InvalidTypeError, match=r"`metric` must be a dfjoin.Metric, got 'angular'"):
        register_metric("angular")


def test_units_of_places_are_refused_for_texts():
    with pytest.raises(
        InvalidParameterError, match='`radius_unit` of texts must be "fraction", "by_length" or "absolute", got \'m\''
    ):
        radius_of(metric_of("euclidean"), 5.0, "m")
