"""Expected recall of a search by signatures: the share of the wanted columns that bands and filter let through."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dfjoin.search.lsh.bands import (
    NODES,
    WEIGHTS,
    Bands,
    jaccard_of,
    margin_of,
)

_MOST_EXACT = 512
"""Rows of a signature up to which the agreement of bands is counted exactly."""

_MOST_LOOKED_AT = 256
"""Columns, at most, that tell what share of all was found."""


def fewest_agreeing(
    sizes: NDArray[np.float64], threshold: float, n_rows: int, recall: float, is_counted: bool
) -> NDArray[np.int64]:
    """Return in how many rows a column agrees with the query at least, to be kept.

    Parameters
    ----------
    sizes : ndarray of float64, shape (n,)
        Distinct values of each column, in those of the query.
    threshold : float
        Containment.
    n_rows : int
        Values of a signature.
    recall : float
        A column at the threshold that is counted afterwards is lost with a probability of (1 - recall) / 2.
    is_counted : bool
        False: a column is kept if its estimate reaches the threshold, which one at the threshold does every other time.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    wanted = jaccard_of(np.minimum(threshold, sizes), sizes, 1)
    if is_counted and recall >= 1:
        return np.zeros(sizes.shape, np.int64)
    margin = margin_of(recall) * np.sqrt(wanted * (1 - wanted) / n_rows) if is_counted else 0.0
    return np.maximum(0, np.ceil(n_rows * (wanted - margin - 1e-9))).astype(np.int64)


def probability_found(
    similarity: NDArray[np.float64], fewest: NDArray[np.int64], n_rows: int, bands: tuple[int, int]
) -> NDArray[np.float64]:
    """Return the probability that a column agrees with the query in a whole band and in enough rows.

    Parameters
    ----------
    similarity : ndarray of float64, shape (n,)
        Jaccard similarity of each column with the query: the probability that a row agrees.
    fewest : ndarray of int64, shape (n,)
        Rows that have to agree.
    n_rows : int
        Values of a signature.
    bands : tuple of int
        b and r, b r <= n_rows.

    Returns
    -------
    ndarray of float64, shape (n,)

    Notes
    -----
    Rows agree independently of each other. The number of agreeing rows is binomial, and given that number each set
    of rows is equally likely, so that the share of the sets with a whole band does not depend on the similarity.
    O(n n_rows).
    """
    s = np.clip(similarity, 1e-12, 1 - 1e-12)[:, None]
    agreeing = np.arange(n_rows + 1)
    weights = np.exp(_log_choices(n_rows) + agreeing * np.log(s) + (n_rows - agreeing) * np.log1p(-s))
    weights[agreeing < fewest[:, None]] = 0.0
    return np.clip(weights @ _share_with_band(n_rows, *bands), 0.0, 1.0)


@lru_cache(maxsize=16)
def _log_choices(n: int) -> NDArray[np.float64]:
    """Return the logarithms of the binomial coefficients of n, shape (n + 1,)."""
    return np.array([math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)])


@lru_cache(maxsize=1 << 10)
def _share_with_band(n_rows: int, n_bands: int, n_band_rows: int) -> NDArray[np.float64]:
    """Return the share of the sets of k of the rows that hold a whole band, for each k; shape (n_rows + 1,).

    The sets without one are counted by the coefficients of ``((1 + x)^r - x^r)^b (1 + x)^(n - b r)``, all at once as
    the digits of that number at a power of two that no coefficient reaches. Beyond 512 rows, where this would take
    long, bands are taken as independent of each other given k.
    """
    rest = n_rows - n_bands * n_band_rows
    if n_rows <= _MOST_EXACT:
        n_bytes = n_rows // 8 + 1
        x = 1 << (8 * n_bytes)
        digits = ((1 + x) ** n_band_rows - x**n_band_rows) ** n_bands * (1 + x) ** rest
        data = digits.to_bytes(n_bytes * (n_rows + 2), "little")
        without = [int.from_bytes(data[k * n_bytes : (k + 1) * n_bytes], "little") for k in range(n_rows + 1)]
        return np.array([1 - without[k] / math.comb(n_rows, k) for k in range(n_rows + 1)])
    agreeing, whole = np.arange(n_rows + 1), np.ones(n_rows + 1)
    for i in range(n_band_rows):
        whole *= np.maximum(0, agreeing - i) / (n_rows - i)
    return 1 - (1 - whole) ** n_bands


@lru_cache(maxsize=1 << 14)
def uniform_recall(n_rows: int, threshold: float, ratio: float, bands: Bands, recall: float, is_counted: bool) -> float:
    """Return the share of the columns of a size that are found, their containment uniform above the threshold.

    Parameters
    ----------
    n_rows : int
        Values of a signature.
    threshold : float
        Containment.
    ratio : float
        Distinct values of a column, in those of the query.
    bands : Bands
    recall, is_counted
        As `fewest_agreeing` takes them.
    """
    top = min(1.0, ratio)
    if bands.n_bands == 0:
        return 1.0  # no column of that size reaches the threshold
    low = min(threshold, top * (1 - 1e-6))
    similarity = jaccard_of(low + (top - low) * NODES, ratio, 1)
    fewest = fewest_agreeing(np.full(NODES.size, ratio), threshold, n_rows, recall, is_counted)
    return float(WEIGHTS @ probability_found(similarity, fewest, n_rows, (bands.n_bands, bands.n_band_rows)))


def number_behind(
    similarity: NDArray[np.float64],
    fewest: NDArray[np.int64],
    n_rows: int,
    n_bands: NDArray[np.int64],
    n_band_rows: NDArray[np.int64],
) -> float:
    """Return for how many columns those found stand: each for the reciprocal of the probability that it is found.

    Parameters
    ----------
    similarity, fewest : ndarray, shape (n,)
        As `probability_found` takes them.
    n_rows : int
        Values of a signature.
    n_bands, n_band_rows : ndarray of int64, shape (n,)
        b and r that each was asked with.

    Returns
    -------
    float
        At least n, the expected number of columns there are.

    Notes
    -----
    Source: Horvitz, Thompson, "A generalization of sampling without replacement from a finite universe", JASA 1952.
    Of more than 256 columns some are looked at, at equal distances. O(256 n_rows).
    """
    n = similarity.size
    if n == 0:
        return 0.0
    looked_at = np.unique(np.linspace(0, n - 1, min(n, _MOST_LOOKED_AT)).astype(np.int64))
    total = 0.0
    pairs = np.stack([n_bands[looked_at], n_band_rows[looked_at]])
    for b, r in np.unique(pairs, axis=1).T.tolist():
        own = looked_at[(pairs[0] == b) & (pairs[1] == r)]
        found = probability_found(similarity[own], fewest[own], n_rows, (b, r)) if b else np.ones(own.size)
        total += float((1 / np.maximum(found, 1e-3)).sum())
    return total * n / looked_at.size
