"""Distances of points, naively: the haversine formula, and every pair of points."""

import math

EARTH_RADIUS = 6371008.8


def haversine(a, b):
    """Great-circle distance in metres of two places (latitude, longitude) in degrees."""
    phi, psi = math.radians(a[0]), math.radians(b[0])
    half = math.sin((psi - phi) / 2) ** 2
    half += math.cos(phi) * math.cos(psi) * math.sin(math.radians(b[1] - a[1]) / 2) ** 2
    return 2 * EARTH_RADIUS * math.asin(math.sqrt(min(1.0, half)))


def is_point(point):
    """Tell whether all numbers of a point are there and finite."""
    return all(number is not None and math.isfinite(number) for number in point)


def count_points(query, columns, distance, radius):
    """For each column of points, the distinct query points with a partner within the radius, and the pairs."""
    found = {}
    for name, points in columns.items():
        pairs = [
            sum(distance(q, p) <= radius for p in {p for p in points if is_point(p)})
            for q in {q for q in query if is_point(q)}
        ]
        if any(pairs):
            found[name] = sum(n > 0 for n in pairs), sum(pairs)
    return found
