"""Distances between vectors, and a radius in the units of a user as a distance that is searched for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, InvalidTypeError, shortlist

__all__ = [
    "METRICS",
    "PROJECTED",
    "Metric",
    "chord_of_arc",
    "metric_of",
    "radius_of",
    "register_metric",
    "row_distances",
]


@dataclass(frozen=True)
class Metric:
    """A distance for which the triangle inequality holds.

    Parameters
    ----------
    name : str
    distances : callable
        One vector of shape (d,) and many of shape (n, d) → distances of shape (n,), in float64.
    full : float
        Distance that ``radius_unit="fraction"`` is a fraction of, the largest between unit vectors; 0: there is none.
    """

    name: str
    distances: Callable[[NDArray[np.floating], NDArray[np.floating]], NDArray[np.float64]]
    full: float = 0.0


def _euclidean(one: NDArray[np.floating], many: NDArray[np.floating]) -> NDArray[np.float64]:
    gaps = many.astype(np.float64) - one.astype(np.float64)
    return np.sqrt(np.einsum("ij,ij->i", gaps, gaps))


def _angular(one: NDArray[np.floating], many: NDArray[np.floating]) -> NDArray[np.float64]:
    """Angle between unit vectors, from their chord: exact for small angles, where a scalar product is not."""
    return 2 * np.arcsin(np.minimum(1.0, _euclidean(one, many) / 2))


METRICS: dict[str, Metric] = {
    "euclidean": Metric("euclidean", _euclidean, 2.0),
    "angular": Metric("angular", _angular, math.pi),
}
"""Name → metric that texts may be compared by."""

PROJECTED = ("euclidean", "angular")
"""Metrics that follow from Euclidean distance, so that orthogonal axes bound them."""


def register_metric(metric: Metric) -> None:
    """Make a metric known under its name; vectors are then compared by it with ``metric=name``.

    Parameters
    ----------
    metric : Metric
        The triangle inequality must hold, or matches are lost.

    Raises
    ------
    InvalidParameterError
        If the name is taken by a metric of dfjoin, or the triangle inequality fails for random unit vectors.
    InvalidTypeError
        If it is no Metric.

    Examples
    --------
    >>> import dfjoin, numpy as np
    >>> dfjoin.register_metric(dfjoin.Metric("cityblock", lambda one, many: np.abs(many - one).sum(axis=1)))
    """
    if not isinstance(metric, Metric):
        raise InvalidTypeError(f"`metric` must be a dfjoin.Metric, got {show(metric)}")
    if metric.name in PROJECTED:
        raise InvalidParameterError(f"`metric` must have a name of its own, got {show(metric.name)}, which dfjoin has")
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(24, 8))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    table = np.array([metric.distances(vector, vectors) for vector in vectors], np.float64)
    sums = (table[:, :, None] + table[None, :, :]).min(axis=1)
    is_metric = np.isfinite(table).all() and (table >= 0).all() and np.allclose(table, table.T, atol=1e-9)
    if not is_metric or (table > sums + 1e-9).any():
        raise InvalidParameterError(
            f"`metric` must be a distance: finite, symmetric, at least 0, with the triangle inequality; "
            f"{metric.name!r} is not for random unit vectors. Take its root, or the angle in the place of a cosine"
        )
    METRICS[metric.name] = metric


def metric_of(name: str) -> Metric:
    """Return a metric by its name."""
    metric = METRICS.get(name)
    if metric is None:
        raise InvalidParameterError(
            f"`metric` must be one of {shortlist(list(METRICS))}, got {show(name)}; register others with "
            "dfjoin.register_metric"
        )
    return metric


def row_distances(metric: Metric, one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the distance of each vector of a matrix from the one in the same row of another matrix.

    Parameters
    ----------
    metric : Metric
    one, other : ndarray, shape (n, d)

    Returns
    -------
    ndarray of float64, shape (n,)
        As `Metric.distances` gives row by row; the metrics of dfjoin take all rows at once.
    """
    if metric.name in PROJECTED:
        return metric.distances(one, other)
    return np.array([metric.distances(a, b[None, :])[0] for a, b in zip(one, other, strict=True)], np.float64)


def radius_of(metric: Metric, radius: float, unit: str) -> float:
    """Return a radius in the units of a metric.

    Parameters
    ----------
    metric : Metric
    radius : float
    unit : {"fraction", "absolute"}
        A fraction is one of the metric's largest distance: of 2 for Euclidean distance, of π for angles.

    Raises
    ------
    InvalidParameterError
        If the metric has no largest distance, or the unit is one of places.

    Examples
    --------
    >>> radius_of(metric_of("euclidean"), 0.06, "fraction")
    0.12
    """
    if unit == "absolute":
        return radius
    if unit != "fraction":
        raise InvalidParameterError(
            f'`radius_unit` of texts must be "fraction" or "absolute", got {show(unit)}; metres and kilometres belong '
            'to places, with on=["lat", "lon"]'
        )
    if not metric.full:
        raise InvalidParameterError(
            f'`radius_unit` must be "absolute" for the metric {metric.name!r}, which has no largest distance'
        )
    return radius * metric.full


def chord_of_arc(arc: float) -> float:
    """Return the chord of an angle on the unit sphere; the whole diameter from half a turn on.

    Parameters
    ----------
    arc : float
        In radians.
    """
    return 2 * math.sin(min(arc, math.pi) / 2)
