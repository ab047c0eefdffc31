"""Dynamic LSH: how many bands of how many rows to ask of a partition, for a threshold and a query size."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.sets.lsh_partitions import error_areas

_MAX_BAND_ROWS = 32
_BANDS_STEP = 1.2  # factor between the numbers of bands that are considered
_CLASSES = 16  # of |X| / |Q| for each doubling
_GRID = 100  # thresholds are tuned for on this grid, so that what was integrated serves other queries
_LARGEST = 14 * _CLASSES  # beyond it a signature tells nothing any more


def _quadrature() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gauss-Legendre on stretches of [0, 1] that get short towards both ends, where a band's curve is steep."""
    x, w = np.polynomial.legendre.leggauss(8)
    edges = (0.0, 1 / 256, 1 / 32, 1 / 8, 1 / 2, 7 / 8, 31 / 32, 1.0)
    pairs = [(low, high - low) for low, high in zip(edges, edges[1:], strict=False)]
    nodes = np.concatenate([low + width * (x + 1) / 2 for low, width in pairs])
    return nodes, np.concatenate([width * w / 2 for _, width in pairs])


NODES, WEIGHTS = _quadrature()
"""Quadrature rule on [0, 1] for `error_areas`."""


class Bands(NamedTuple):
    """How a partition is asked.

    Parameters
    ----------
    n_bands, n_band_rows : int
        b and r.
    recall : float
        Expected share of the columns at or above the threshold that agree in a whole band, their containment
        taken as uniform. What a search loses besides is in `dfjoin.search.lsh.expected_recall`.
    """

    n_bands: int
    n_band_rows: int
    recall: float


@lru_cache(maxsize=8)
def _pairs(n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the (b, r) with b r <= n_rows that are considered, r ascending."""
    bands: list[int] = []
    rows: list[int] = []
    for r in range(1, min(n_rows, _MAX_BAND_ROWS) + 1):
        most = n_rows // r
        steps = math.ceil(math.log(most) / math.log(_BANDS_STEP)) + 1 if most > 1 else 1
        numbers = sorted({min(most, max(1, round(_BANDS_STEP**k))) for k in range(steps)} | {most})
        bands += numbers
        rows += [r] * len(numbers)
    return np.array(bands, np.int64), np.array(rows, np.int64)


def ratio_classes(sizes: NDArray[np.int64], n_query: int) -> NDArray[np.int64]:
    """Return the class of each ratio |X| / |Q|; its upper bound stands for the ratio.

    Examples
    --------
    >>> ratio_classes(np.array([100, 200, 101]), 100).tolist()
    [0, 16, 1]
    """
    classes = np.ceil(_CLASSES * np.log2(sizes / n_query) - 1e-9)
    return np.clip(classes, -_LARGEST, _LARGEST).astype(np.int64)


def rounded_ratios(sizes: NDArray[np.int64], n_query: int) -> NDArray[np.float64]:
    """Return each ratio |X| / |Q| as its class has it: rounded up to a sixteenth of a doubling."""
    return 2.0 ** (ratio_classes(sizes, n_query) / _CLASSES)


@lru_cache(maxsize=1 << 16)
def choose_bands(n_rows: int, threshold: float, ratio: int, recall: float) -> Bands:
    """Choose (b, r) for the columns of a partition.

    Of the pairs whose expected recall reaches `recall` the one with the fewest false positives and false
    negatives is taken, fewer bands and rows among equals; if none reaches it, the one with the highest.

    Parameters
    ----------
    n_rows : int
        Values of a signature.
    threshold : float
        Containment, 0 to 1.
    ratio : int
        From `ratio_classes`, for the largest set size of the partition.
    recall : float
        0 to 1; 0 takes the pair with the fewest errors whatever its recall, 1 every row as a band.

    Returns
    -------
    Bands
        With no bands where no column of that size can reach the threshold.

    Notes
    -----
    Source: Zhu, thesis, section 2.4.7, equations 2.25 and 2.26. Deviations: the ratio is rounded up to a
    sixteenth of a doubling, so that what was computed once serves every query, and the recall has a bound:
    as the threshold comes near to min(1, |X| / |Q|), the range in which columns are missed shrinks to
    nothing, and with it the reason not to miss them all. There the recall is that of the threshold itself.
    """
    upper = 2.0 ** (ratio / _CLASSES)
    top = min(1.0, upper)
    if upper < threshold:
        return Bands(0, 1, 1.0)
    bands, rows = _pairs(n_rows)
    # Below the top, so that the interval that is integrated is not empty.
    low = min(threshold, top * (1 - 1e-6))
    false_positives, false_negatives = error_areas(low, upper, bands, rows, NODES, WEIGHTS)
    recalls = 1 - false_negatives / (top - low)
    errors = false_positives + false_negatives
    good = recalls >= min(recall, recalls.max()) if recall < 1 else bands == n_rows
    errors[~good] = np.inf
    best = int(np.argmin(errors))
    return Bands(int(bands[best]), int(rows[best]), float(recalls[best]))


class BandsOfPartitions(NamedTuple):
    """`Bands` of some partitions, as the kernels take them: int64, int64 and float64, shape (n_partitions,)."""

    n_bands: NDArray[np.int64]
    n_band_rows: NDArray[np.int64]
    recall: NDArray[np.float64]


def bands_of_partitions(
    n_rows: int, threshold: float, ends: NDArray[np.int64], n_query: int, recall: float
) -> BandsOfPartitions:
    """Choose (b, r) for each partition, see `choose_bands`.

    Parameters
    ----------
    n_rows : int
    threshold : float
        Rounded down to a hundredth.
    ends : ndarray of int64, shape (n_partitions,)
        Largest set size of each.
    n_query : int
        Distinct values of the query.
    recall : float
    """
    classes = ratio_classes(ends, n_query).tobytes()
    return _choose_all(n_rows, math.floor(threshold * _GRID + 1e-9) / _GRID, classes, recall)


@lru_cache(maxsize=1 << 10)
def _choose_all(n_rows: int, threshold: float, classes: bytes, recall: float) -> BandsOfPartitions:
    """Choose (b, r) for each class of an int64 array."""
    chosen = [choose_bands(n_rows, threshold, c, recall) for c in np.frombuffer(classes, np.int64).tolist()]
    columns = [np.array(column) for column in zip(*chosen, strict=True)]
    for column in columns:  # shared by all queries
        column.flags.writeable = False
    return BandsOfPartitions(*columns)


@lru_cache(maxsize=64)
def margin_of(recall: float) -> float:
    """Return how many standard errors a column at the threshold may fall short, to be lost in (1 - recall) / 2."""
    return NormalDist().inv_cdf((1 + recall) / 2)


def jaccard_of(containment, sizes, n_query: int):
    """Translate containment to Jaccard similarity (equation 2.7), for numbers or arrays.

    Examples
    --------
    >>> jaccard_of(0.5, 100, 100), float(containment_of(1 / 3, 100, 100))
    (0.3333333333333333, 0.5)
    """
    return containment / (sizes / n_query + 1 - containment)


def containment_of(jaccard, sizes, n_query):
    """Translate Jaccard similarity to containment (equation 2.7), at most what the sizes allow; numbers or arrays."""
    return np.minimum((sizes / n_query + 1) * jaccard / (1 + jaccard), np.minimum(1.0, sizes / n_query))


def standard_error(jaccard, sizes, n_query: int, n_rows: int):
    """Return the standard error of the containment that a signature of `n_rows` values estimates.

    That of the Jaccard similarity, ``sqrt(s (1 - s) / n_rows)``, times the slope of equation 2.7. An estimate
    of nothing or of everything is taken as half a row away from it.
    """
    s = np.clip(jaccard, 0.5 / n_rows, 1 - 0.5 / n_rows)
    return (sizes / n_query + 1) / (1 + s) ** 2 * np.sqrt(s * (1 - s) / n_rows)
