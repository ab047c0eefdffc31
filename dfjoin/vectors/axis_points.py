"""Points of numeric columns: places on the sphere, distinct points, and pairs of points within a radius."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_search import distances_of_pairs, make_scratch

__all__ = [
    "EARTH_RADIUS",
    "PAIRS_AT_ONCE",
    "chord_of_length",
    "distinct_points",
    "length_of_chord",
    "near_points",
    "place_degrees",
    "place_points",
]

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
    Both sides are sorted along the axis along which they lie farthest apart; what differs there by more than the radius
    is not compared. O(n log m + pairs that are near along that axis).
    """
    none = np.empty(0, np.int64)
    parts = [(none, none, np.empty(0))]
    if not (one.size and other.size):
        return parts[0]
    both = np.concatenate([one, other])
    axis = int(np.argmax(both.max(axis=0) - both.min(axis=0)))
    order = np.argsort(other[:, axis], kind="stable")
    line, key = other[order, axis], one[:, axis]
    limit = np.nextafter(radius + 4 * np.finfo(float).eps * (np.abs(key) + radius), np.inf)
    firsts = np.searchsorted(line, key - limit, "left")
    counts = np.searchsorted(line, key + limit, "right") - firsts
    start = 0
    while start < key.size:
        total = np.cumsum(counts[start:])
        end = start + max(1, int(np.searchsorted(total, PAIRS_AT_ONCE, "right")))
        own = counts[start:end]
        left = np.repeat(np.arange(start, start + own.size), own)
        steps = np.arange(int(own.sum())) - np.repeat(np.cumsum(own) - own, own)
        right = order[np.repeat(firsts[start:end], own) + steps]
        for first in range(0, left.size, PAIRS_AT_ONCE):
            i, j = left[first : first + PAIRS_AT_ONCE], right[first : first + PAIRS_AT_ONCE]
            distances = np.empty(i.size)
            arrays = (as_read_only(np.ascontiguousarray(array)) for array in (one, i, other, j))
            distances_of_pairs(*arrays, make_scratch(1).lanes, distances)  # as a search compares them
            near = np.flatnonzero(distances <= radius)
            parts.append((i[near], j[near], distances[near]))
        start = end
    left, right, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((right, left))
    return left[order], right[order], distances[order]
