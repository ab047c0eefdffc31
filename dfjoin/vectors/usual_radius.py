"""The radius of a search by distance that a trained model suggests, where a user gives none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["usual_radius"]

_SHARE = 1 / 256
"""Pairs of different texts that lie within the radius; chosen with misspelled names, see tests/benchmarks/README.md."""

_SMALLEST, _LARGEST = 0.05, 0.45
_MOST = 4096
_BLOCK = 512


def usual_radius(rows: NDArray[np.float32]) -> float:
    """Return the radius within which one of 256 pairs of different texts lies.

    Parameters
    ----------
    rows : ndarray of float32, shape (n, d)
        Unit vectors of texts in random order; the first 4,096 are compared.

    Returns
    -------
    float
        A fraction of the largest distance, in whole hundredths, between 0.05 and 0.45.

    Notes
    -----
    How near two texts lie depends on the model: the more texts it was trained on, the nearer. The share of pairs that
    match by chance is the same for all models then. O(4096² d).
    """
    rows = rows[:_MOST]
    n = rows.shape[0]
    nearest = [np.empty(0, np.float32)]
    n_wanted = int(n * (n - 1) / 2 * _SHARE) + 1
    for start in range(0, n, _BLOCK):
        products = rows[start : start + _BLOCK] @ rows.T
        own = products[np.triu(np.ones(products.shape, bool), start + 1)]
        nearest.append(np.partition(own, -n_wanted)[-n_wanted:] if own.size > n_wanted else own)
    cosines = np.concatenate(nearest).astype(np.float64)
    if cosines.size < n_wanted:
        return _LARGEST
    cosine = np.partition(cosines, -n_wanted)[-n_wanted]
    radius = np.sqrt(max(0.0, 2 - 2 * cosine)) / 2
    return min(_LARGEST, max(_SMALLEST, int(radius * 100) / 100))
