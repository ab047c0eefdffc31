"""Precision without labels: what would be joined if no text had a counterpart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["estimate_errors", "wrong_share"]


def wrong_share(scores: NDArray[np.float64], decoys: NDArray[np.float64]) -> float:
    """Estimate the share of texts whose nearest reference text is a wrong one.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        Scores of the query texts, higher is better.
    decoys : ndarray of float64, shape (n_decoys,)
        Scores of the decoys.

    Returns
    -------
    float
        Between 0 (excluded) and 1: texts with a score no better than the median decoy, over their share
        among the decoys, plus one text.

    Notes
    -----
    Source: Storey, "A direct approach to false discovery rates", JRSS B 2002, with lambda at the median.
    """
    if scores.size == 0 or decoys.size == 0:
        return 1.0
    middle = np.median(decoys)
    share = np.count_nonzero(decoys <= middle) / decoys.size
    return float(min(1.0, (np.count_nonzero(scores <= middle) + 1) / scores.size / share))


def estimate_errors(scores: NDArray[np.float64], decoys: NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimate for each text the share of wrong pairs among those that score at least as high.

    A reference text is different from every other one, so its nearest *other* reference text is a wrong
    match: a decoy. Query texts without a counterpart behave like decoys, so that of n query texts, a
    share w of which has a wrong neighbour, n w P(decoy >= s) wrong pairs are expected above a score s.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        Scores of the query texts, higher is better.
    decoys : ndarray of float64, shape (n_decoys,)
        Scores of the decoys.

    Returns
    -------
    ndarray of float64, shape (n,)
        Not decreasing as scores fall; above 1 means that nothing can be told.

    Notes
    -----
    Source: target-decoy estimates of proteomics (Elias and Gygi, Nature Methods 2007; one is added to
    the decoys as in Levitsky et al. 2017) on the premise of Auto-FuzzyJoin (SIGMOD 2021, section 3.2)
    that a reference table holds few duplicates. Deviation from the latter, which counts reference texts
    in a ball of twice the distance around the partner: that ball needs a metric, and is blind to what
    texts without a counterpart are like. O(n log n).
    """
    n = scores.size
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    n_above = n - np.searchsorted(ranked[::-1], ranked, side="left")
    n_decoys = decoys.size - np.searchsorted(np.sort(decoys), ranked, side="left")
    wrong = wrong_share(scores, decoys) * n * (n_decoys + 1) / (decoys.size + 1)
    errors = np.empty(n)
    errors[order] = np.minimum.accumulate((wrong / np.maximum(n_above, 1))[::-1])[::-1]
    return errors
