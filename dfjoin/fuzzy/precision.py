"""Precision without labels: what would be joined if no text had a counterpart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["estimate_errors", "wrong_share"]


def wrong_share(scores: NDArray[np.float64], partners: NDArray[np.int32], decoys: NDArray[np.float64]) -> float:
    """Estimate the share of texts whose nearest reference text is a wrong one.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        Scores of the query texts, higher is better.
    partners : ndarray of int32, shape (n,)
        Their nearest reference texts.
    decoys : ndarray of float64, shape (n_decoys,)
        Scores of the decoys.

    Returns
    -------
    float
        Between 0 (excluded) and 1: texts with a score no better than the median decoy, plus one, over
        their share among the decoys; at least the share of texts that are not the first one above that
        score with their partner.

    Notes
    -----
    Source: Storey, "A direct approach to false discovery rates", JRSS B 2002, with lambda at the median.
    The lower bound is ours: see `estimate_errors` on texts with one partner.
    """
    if scores.size == 0 or decoys.size == 0:
        return 1.0
    middle = np.median(decoys)
    share = np.count_nonzero(decoys <= middle) / decoys.size
    n_wrong = (np.count_nonzero(scores <= middle) + 1) / share
    n_repeated = scores.size - np.unique(partners[scores > middle]).size
    return float(min(1.0, max(n_wrong, n_repeated) / scores.size))


def estimate_errors(
    scores: NDArray[np.float64], partners: NDArray[np.int32], decoys: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Estimate for each text the share of wrong pairs among those that score at least as high.

    A reference text is different from every other one, so its nearest *other* reference text is a wrong
    match: a decoy. Query texts without a counterpart behave like decoys, so that of n query texts, a
    share w of which has a wrong neighbour, n w P(decoy >= s) wrong pairs are expected above a score s.
    They are set against the distinct reference texts joined above s, not against the query texts: these
    are no independent witnesses, as a word that they all have may lead all of them to the same wrong
    partner ("university" to the one museum of a university).

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        Scores of the query texts, higher is better.
    partners : ndarray of int32, shape (n,)
        Their nearest reference texts.
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
    texts without a counterpart are like. Where each reference text has many spellings, the estimate is
    too high, on the safe side. O(n log n).
    """
    n = scores.size
    if n == 0:
        return np.empty(0)
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    is_first = np.zeros(n, bool)
    is_first[np.unique(partners[order], return_index=True)[1]] = True
    n_above = np.cumsum(is_first)[n - 1 - np.searchsorted(ranked[::-1], ranked, side="left")]
    n_decoys = decoys.size - np.searchsorted(np.sort(decoys), ranked, side="left")
    wrong = wrong_share(scores, partners, decoys) * n * (n_decoys + 1) / (decoys.size + 1)
    errors = np.empty(n)
    errors[order] = np.minimum.accumulate((wrong / np.maximum(n_above, 1))[::-1])[::-1]
    return errors
