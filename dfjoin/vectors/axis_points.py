"""Points of numeric columns: places on the sphere, distinct points, and pairs of points within a radius."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.nearest_points import FAN, PointBoxes, find_nearest
from dfjoin.kernels.vectors.vector_blocks import BLOCK, order_blocks
from dfjoin.kernels.vectors.vector_search import distances_of_pairs, make_scratch

EARTH_RADIUS = 6_371_008.8
"""Mean radius of the Earth in metres (IUGG); distances between places are along great circles of this sphere."""

PAIRS_AT_ONCE = 1 << 22
"""Pairs of vectors or points that are compared at once."""


def place_points(latitude: NDArray[np.float64], longitude: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return places as unit vectors, shape (n, 3); NaN where a number is missing or out of range.

    Parameters
    ----------
    latitude, longitude : ndarray of float64, shape (n,)
        In degrees: -90 to 90, and -180 to 360.

    Notes
    -----
    The straight line between two unit vectors, 2 sin(angle / 2), grows with the great circle, so that a search by
    Euclidean distance finds the places within a length along it.
    """
    is_legal = (np.abs(latitude) <= 90) & (longitude >= -180) & (longitude <= 360)
    longitude = np.where(longitude > 180, longitude - 360, longitude)
    longitude = np.where((longitude == -180) | (np.abs(latitude) == 90), 180, longitude)  # each place has one spelling
    phi, lam = np.radians(np.where(is_legal, latitude, np.nan)), np.radians(longitude)
    return np.column_stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)])


def place_degrees(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return latitude and longitude of unit vectors in degrees, shape (n, 2), to seven decimals, about a centimetre."""
    x, y, z = points.T
    degrees = np.degrees(np.column_stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)]))
    return np.round(degrees, 7) + 0.0


def chord_of_length(metres: float) -> float:
    """Return the straight line between unit vectors of two places that are so far apart."""
    return 2 * math.sin(min(metres / EARTH_RADIUS, math.pi) / 2)


def length_of_chord(chords: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lengths along great circles in metres of straight lines between unit vectors."""
    return 2 * EARTH_RADIUS * np.arcsin(np.minimum(1.0, chords / 2))


def distinct_points(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct points among rows, and the number of each row's point; -1 for a row that is not finite.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)

    Returns
    -------
    distinct : ndarray of float64, shape (n_points, d)
        In ascending order.
    codes : ndarray of int64, shape (n,)

    Notes
    -----
    O(d n log n). Zero and minus zero are one number.
    """
    codes = np.full(points.shape[0], -1)
    rows = np.flatnonzero(np.isfinite(points).all(axis=1))
    known = points[rows] + 0.0
    order = np.lexsort(known.T[::-1]) if rows.size else rows
    ordered = known[order]
    is_new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: rows.size]
    codes[rows[order]] = np.cumsum(is_new) - 1
    return np.ascontiguousarray(ordered[is_new]), codes


def near_points(
    one: NDArray[np.float64], other: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """List the pairs of points within a radius.

    Parameters
    ----------
    one, other : ndarray of float64, shapes (n, d), (m, d)
    radius : float
        Euclidean.

    Returns
    -------
    left, right : ndarray of int64
        The pairs, by left, then by right.
    distances : ndarray of float64

    Notes
    -----
    Points lie in the cells of a grid, which are as wide as the radius, along the three axes along which they lie
    farthest apart; a point is compared with those of its cell and of the neighbours. O((n + m) log m + pairs in such
    cells). Source: Bentley, Stanat, Williams, "The complexity of finding fixed-radius near neighbors", Information
    Processing Letters 1977.
    """
    none = np.empty(0, np.int64)
    parts = [(none, none, np.empty(0))]
    if one.size and other.size:
        parts += _Grid(other, one, radius).near(one, np.arange(len(one)))
    left, right, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((right, left))
    return left[order], right[order], distances[order]


def nearest_points(
    one: NDArray[np.float64], other: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Pair each point with the nearest one within a radius, of several with the smallest; see `near_points`.

    Notes
    -----
    O((n + m) log m) in few dimensions, whatever the radius; see `find_nearest`.
    """
    nearest, gaps = np.full(len(one), -1), np.zeros(len(one))
    if one.size and other.size:
        boxes = _boxed(other)
        scratch = np.empty(FAN * boxes.levels.size + FAN, np.int64)
        lanes = make_scratch(1).lanes
        for start in range(0, len(one), _STEP):  # between two steps an interrupt is seen
            end = start + _STEP
            queries = as_read_only(np.ascontiguousarray(one[start:end]))
            own = nearest[start:end], gaps[start:end]
            find_nearest(boxes, queries, float(radius), scratch, np.empty(scratch.size), lanes, *own)
    left = np.flatnonzero(nearest >= 0)
    return left, nearest[left], gaps[left]


_MOST_CELLS = 1 << 20
"""Cells along an axis: the numbers of three axes fit into 63 bits."""

_STEP = 1 << 14


def _boxed(points: NDArray[np.float64]) -> PointBoxes:
    """Put points into blocks, and boxes around them."""
    n, order = len(points), np.arange(len(points))
    limits = np.finfo(np.float32)
    features = np.clip(points, limits.min, limits.max).astype(np.float32)
    order_blocks(features, order, np.empty(n, np.float32), np.empty((128, 2), np.int64))
    ordered = np.ascontiguousarray(points[order])
    lows, highs, levels, step = [], [], [0], BLOCK
    low, high = ordered, ordered
    while True:
        starts = np.arange(0, len(low), step)
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        lows.append(low)
        highs.append(high)
        levels.append(levels[-1] + len(low))
        if len(low) == 1:
            break
        step = FAN
    arrays = (ordered, order, np.concatenate(lows), np.concatenate(highs), np.array(levels, np.int64))
    return PointBoxes(*(as_read_only(array) for array in arrays))


class _Grid:
    """Points in cells of a grid, found by their neighbours.

    Parameters
    ----------
    points : ndarray of float64, shape (m, d)
    others : ndarray of float64, shape (n, d)
        Points that are compared with them.
    radius : float
    """

    def __init__(self, points: NDArray[np.float64], others: NDArray[np.float64], radius: float) -> None:
        self._points, self._radius = points, radius
        low = np.minimum(points.min(axis=0), others.min(axis=0))
        high = np.maximum(points.max(axis=0), others.max(axis=0))
        with np.errstate(over="ignore"):
            spans = high - low
        self._axes = np.argsort(-spans, kind="stable")[:3]
        largest = float(np.abs(np.stack([low, high])).max())
        limit = radius + 8 * np.finfo(float).eps * (radius + largest)  # more than rounding moves a point
        self._width = max(limit, float(spans.max()) / _MOST_CELLS, float(np.finfo(float).tiny))
        self._low = low
        keys = self._keys(self._cells(points), np.zeros(self._axes.size, np.int64))
        self._order = np.argsort(keys, kind="stable")
        self._sorted = keys[self._order]

    def _cells(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        with np.errstate(over="ignore", invalid="ignore"):  # numbers near the largest ones lie in one cell
            cells = (points[:, self._axes] - self._low[self._axes]) / self._width
        return np.nan_to_num(cells).astype(np.int64) + 1

    def _keys(self, cells: NDArray[np.int64], moved: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        keys = np.zeros(len(cells), np.int64)
        for axis in range(cells.shape[1]):
            keys = keys * (2 * _MOST_CELLS) + cells[:, axis] + moved[axis]
        return keys

    def near(
        self, one: NDArray[np.float64], numbers: NDArray[np.int64]
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
        """List the pairs of points within the radius, in parts that have all pairs of a point; points as `numbers`."""
        cells = self._cells(one)
        *outer, _ = [(-1, 0, 1)] * cells.shape[1]
        firsts, counts = [], []
        for moved in product(*outer):  # three neighbours along the last axis stand side by side
            first = np.searchsorted(self._sorted, self._keys(cells, [*moved, -1]), "left")
            last = np.searchsorted(self._sorted, self._keys(cells, [*moved, 1]), "right")
            firsts.append(first)
            counts.append(last - first)
        starts, sizes = np.stack(firsts, axis=1), np.stack(counts, axis=1)
        total, parts, start = np.cumsum(sizes.sum(axis=1)), [], 0
        while start < len(one):
            done = int(total[start - 1]) if start else 0
            end = max(start + 1, int(np.searchsorted(total, done + PAIRS_AT_ONCE, "right")))
            parts.append(self._compared(one, numbers, start, (starts[start:end], sizes[start:end])))
            start = end
        return parts

    def _compared(
        self,
        one: NDArray[np.float64],
        numbers: NDArray[np.int64],
        start: int,
        stretches: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Compare points from `start` on with the stretches of each, and keep what lies within the radius."""
        starts, sizes = stretches
        own = sizes.sum(axis=1)
        flat = sizes.ravel()
        left = np.repeat(np.arange(start, start + own.size), own)
        steps = np.arange(int(flat.sum())) - np.repeat(np.cumsum(flat) - flat, flat)
        right = self._order[np.repeat(starts.ravel(), flat) + steps]
        kept = []
        for first in range(0, left.size, PAIRS_AT_ONCE):
            i, j = left[first : first + PAIRS_AT_ONCE], right[first : first + PAIRS_AT_ONCE]
            distances = np.empty(i.size)
            arrays = (as_read_only(np.ascontiguousarray(array)) for array in (one, i, self._points, j))
            distances_of_pairs(*arrays, make_scratch(1).lanes, distances)  # as a search compares them
            near = np.flatnonzero(distances <= self._radius)
            kept.append((numbers[i[near]], j[near], distances[near]))
        none = np.empty(0, np.int64)
        left, right, distances = (
            np.concatenate(part) for part in zip(*kept or [(none, none, np.empty(0))], strict=True)
        )
        return left, right, distances
