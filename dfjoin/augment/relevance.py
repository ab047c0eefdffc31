"""Relevance of columns to a target and redundancy among them, by mutual information."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_BINS = 10
"""Most bins of a column; nulls have one more."""

_DETERMINED = 0.9
"""Share of the entropy of a column that another one tells, from which the column says nothing new.

Of thirteen cases 0.7 adds 0.005 to school, 0.99 changes none; see ``tests/benchmarks/NOTES.md``.
"""


def bins_for(n_independent: int) -> int:
    """Return how many bins suit so many independent rows: about five rows for each pair of bins, 2 to 10.

    Examples
    --------
    >>> [bins_for(n) for n in (10, 100, 300, 10_000)]
    [2, 4, 7, 10]
    """
    return int(min(_BINS, max(2, (n_independent / 5) ** 0.5)))


def bin_column(values: NDArray[np.float64], is_number: bool, n_bins: int = _BINS) -> NDArray[np.int64]:
    """Put the values of a column into bins.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows,)
        As `dfjoin.augment.encoding.encode_column` gives them.
    is_number : bool
        Numbers are cut at their quantiles; of other values the most frequent have a bin each, the rest one.
    n_bins : int
        Bins without that of the nulls.

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        0 for null.
    """
    held = ~np.isnan(values)
    bins = np.zeros(values.size, np.int64)
    if not held.any():
        return bins
    if is_number:
        cuts = np.unique(np.quantile(values[held], np.arange(1, n_bins) / n_bins))
        bins[held] = 1 + np.searchsorted(cuts, values[held], side="left")
    else:
        bins[held] = 1 + np.minimum(values[held], n_bins - 1).astype(np.int64)
    return bins


def mutual_information(a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[float, int]:
    """Return the mutual information of two columns of bins, in nats, and its degrees of freedom under independence."""
    width = int(b.max(initial=0)) + 1
    table = np.bincount(a * width + b, minlength=(int(a.max(initial=0)) + 1) * width).reshape(-1, width)
    table = table[table.any(axis=1)][:, table.any(axis=0)].astype(np.float64)
    n = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    held = table > 0
    information = float((table[held] * np.log(table[held] / expected[held])).sum() / n)
    return max(0.0, information), (table.shape[0] - 1) * (table.shape[1] - 1)


def relevance(bins: NDArray[np.int64], target: NDArray[np.int64], n_independent: int) -> float:
    """Measure how far the information of a column about the target lies above what chance explains.

    Parameters
    ----------
    bins, target : ndarray of int64, shape (n_rows,)
    n_independent : int
        Rows that are independent of each other: the distinct keys where rows share one.

    Returns
    -------
    float
        ``(G − f) / sqrt(2 f)`` of the likelihood ratio G = 2 n I and its degrees of freedom f: about standard normal
        for a column that has nothing to do with the target (and many rows); 0 for a column of one value.
    """
    information, freedom = mutual_information(bins, target)
    return 0.0 if freedom == 0 else (2 * n_independent * information - freedom) / np.sqrt(2 * freedom)


def choose_columns(
    columns: Sequence[NDArray[np.int64]],
    target: NDArray[np.int64],
    n_independent: int,
    limit: int,
    least: float,
) -> list[int]:
    """Choose relevant columns that are not redundant, the best first.

    Parameters
    ----------
    columns : sequence of ndarray of int64
        Bins of each column.
    target : ndarray of int64
        Bins of the target.
    n_independent : int
        See `relevance`.
    limit : int
        Most columns to choose.
    least : float
        Smallest relevance.

    Returns
    -------
    list of int
        Positions in `columns`.

    Notes
    -----
    Minimum redundancy, maximum relevance (Peng, Long and Ding, TPAMI 2005; AutoFeat uses it as well): the next
    column has the largest information about the target less the mean information about the columns that were chosen.
    Of information, the expectation under independence f / 2n is taken off (Miller, 1955). The criterion orders the
    columns; what ends the choice is `limit`. A column that a chosen one nearly determines is left out. Only the
    4 × `limit` most relevant columns are compared with each other. O(columns + limit²) passes over the rows.
    """
    scores = np.array([relevance(bins, target, n_independent) for bins in columns])
    order = [int(i) for i in np.argsort(-scores, kind="stable") if scores[i] >= least][: 4 * limit]
    gains = np.array([_corrected(columns[i], target) for i in order])
    entropies = np.array([mutual_information(columns[i], columns[i])[0] for i in order])
    redundancy, closest = np.zeros(len(order)), np.zeros(len(order))
    chosen: list[int] = []
    left = list(range(len(order)))
    while left and len(chosen) < limit:
        merits = gains[left] - redundancy[left] / max(1, len(chosen))
        best = left[int(np.argmax(merits))]
        chosen.append(best)
        for i in left:
            shared = _corrected(columns[order[i]], columns[order[best]])
            redundancy[i] += shared
            closest[i] = max(closest[i], shared)
        left = [i for i in left if i != best and closest[i] < _DETERMINED * entropies[i]]
    return [order[i] for i in chosen]


def _corrected(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    information, freedom = mutual_information(a, b)
    return max(0.0, information - freedom / (2 * max(1, a.size)))
