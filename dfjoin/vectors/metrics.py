"""Distances between vectors, and a radius in the units of a user as a distance that is searched for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, InvalidTypeError, shortlist


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


BY_LENGTH = "by_length"
"""Unit of a radius that is smaller for a long text; see `length_shares`."""

_WHOLE_RADIUS = 20
"""Characters up to which a text has the whole radius; of 8 to 48 that were tried with changed names those of 16 to 24
find most at the same share of strangers and cost."""

_STEPS_AN_OCTAVE = 2
"""Radii for each doubling of the length: each is a search of its own."""

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
    unit : {"fraction", "by_length", "absolute"}
        A fraction is one of the metric's largest distance: of 2 for Euclidean distance, of π for angles. By length it
        is one for texts of 20 characters or fewer.

    Raises
    ------
    InvalidParameterError
        If the metric has no largest distance or does not follow from Euclidean distance, which radii by length are
        of, or the unit is one of places.

    Examples
    --------
    >>> radius_of(metric_of("euclidean"), 0.06, "fraction")
    0.12
    """
    if unit == "absolute":
        return radius
    if unit not in ("fraction", BY_LENGTH):
        raise InvalidParameterError(
            f'`radius_unit` of texts must be "fraction", "by_length" or "absolute", got {show(unit)}; metres and '
            'kilometres belong to places, with on=["lat", "lon"]'
        )
    if unit == BY_LENGTH and metric.name not in PROJECTED:
        raise InvalidParameterError(
            f'`radius_unit` "by_length" belongs to the metrics {shortlist(PROJECTED)}, got {metric.name!r}; use '
            '"absolute"'
        )
    if not metric.full:
        raise InvalidParameterError(
            f'`radius_unit` must be "absolute" for the metric {metric.name!r}, which has no largest distance'
        )
    return radius * metric.full


def length_shares(offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return which part of a radius by length each of some texts has.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
    data : ndarray of uint8
        UTF-8.

    Notes
    -----
    Of n parts of a vector k changed ones move it by √(k / n) times as much as all of them: the same changes move a
    long text less, and texts that share a long phrase lie near each other without meaning the same. So the radius falls
    with the square root of the length, in steps of half an octave.

    Examples
    --------
    >>> texts = [b"a" * n for n in (8, 20, 40, 80)]
    >>> offsets = np.cumsum([0, *map(len, texts)])
    >>> length_shares(offsets, np.frombuffer(b"".join(texts), np.uint8)).round(3).tolist()
    [1.0, 1.0, 0.707, 0.5]
    """
    begins = np.append(0, np.cumsum(data[: offsets[-1]] & 0xC0 != 0x80))  # of characters
    octaves = np.log2(np.maximum(np.diff(begins[offsets]) / _WHOLE_RADIUS, 1.0))
    return np.exp2(-np.ceil(_STEPS_AN_OCTAVE * octaves) / (2 * _STEPS_AN_OCTAVE))


def chord_of_arc(arc: float) -> float:
    """Return the chord of an angle on the unit sphere; the whole diameter from half a turn on.

    Parameters
    ----------
    arc : float
        In radians.
    """
    return 2 * math.sin(min(arc, math.pi) / 2)
