"""Search by distance, naively: every query value with every value of every column."""

import math

import numpy as np


def distance(a, b):
    """Euclidean distance in float64."""
    return math.sqrt(sum((float(x) - float(y)) ** 2 for x, y in zip(a, b, strict=True)))


def count_near(query, columns, vector_of, radius):
    """For each column, the query values with a partner, and the pairs.

    `columns` maps a name to (values, is_text); a value matches an equal one, and in columns of text one whose vector
    lies within the radius. `vector_of` returns None for a value without a vector.
    """
    found = {}
    for name, (values, is_text) in columns.items():
        hits = pairs = 0
        for q in set(query):
            partners = 0
            for value in set(values):
                a, b = vector_of(q), vector_of(value)
                is_near = is_text and a is not None and b is not None and distance(a, b) <= radius
                partners += value == q or is_near
            hits += partners > 0
            pairs += partners
        if hits:
            found[name] = hits, pairs
    return found


def unit(vector):
    """A vector of length 1 in float32, as it is stored; None for zeros."""
    exact = np.asarray(vector, np.float64)
    norm = math.sqrt(float((exact**2).sum()))
    return None if norm == 0 else (exact / norm).astype(np.float32)
