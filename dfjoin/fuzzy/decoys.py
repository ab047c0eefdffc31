"""Decoys, by which the precision of a fuzzy join is estimated without labels, and the evidence on two columns.

A decoy is a text of the reference with its nearest other one: a pair that is known to be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.score_evidence import Evidence, gather, learn_rules
from dfjoin.fuzzy.texts import Texts
from dfjoin.fuzzy.tokenized import find_candidates, prepare

__all__ = ["MAX_SAMPLE", "Problem", "draw_sample", "estimate_errors", "is_left_reference", "set_up", "wrong_share"]

MAX_SAMPLE = 10_000
"""Texts of a column that decoys, rules and weights are learned from."""


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
    are not independent, since a word that they all have may lead all of them to the same wrong
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
        Not decreasing as scores fall; above 1 if the data do not allow an estimate.

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


@dataclass(frozen=True)
class Problem:
    """Two columns in their roles of reference and query, with the evidence on their texts.

    Parameters
    ----------
    reference, query : Texts
    targets : Evidence
        Of the query texts to join.
    target_texts : ndarray of int64, shape (n_targets,)
        Their numbers in `query`.
    decoys : Evidence
        Of reference texts, each with its nearest other one.
    runners_up : Evidence
        Of the query texts to join, each with the reference text that would be the nearest one if the
        nearest were not there.
    known : Evidence
        Of the query texts whose partners are known.
    is_known_right : ndarray of bool, shape (n_known,)
        Whether the nearest reference text is a known partner.
    taken : ndarray of int64
        Reference texts that are known partners.
    """

    reference: Texts
    query: Texts
    targets: Evidence
    target_texts: NDArray[np.int64]
    decoys: Evidence
    runners_up: Evidence
    known: Evidence
    is_known_right: NDArray[np.bool_]
    taken: NDArray[np.int64]


def is_left_reference(left: Texts, right: Texts) -> bool:
    """Choose the reference: the column that is more like a key, then the one with more texts.

    Parameters
    ----------
    left, right : Texts

    Returns
    -------
    bool
        The column with the larger share of distinct texts among its rows is the reference; where these
        differ by less than 0.01, the one with more distinct texts; of equals, the right one.
    """
    shares = [len(side) / max(1, side.n_present) for side in (left, right)]
    if abs(shares[0] - shares[1]) >= 0.01:
        return shares[0] > shares[1]
    return len(left) > len(right)


def set_up(reference: Texts, query: Texts, known: tuple[NDArray[np.int64], NDArray[np.int64]], seed: int) -> Problem:
    """Gather the evidence on two columns.

    Parameters
    ----------
    reference, query : Texts
    known : pair of ndarray of int64
        Rows of the reference and of the query that are joined already.
    seed : int

    Returns
    -------
    Problem
    """
    columns = prepare(reference, query)
    sample = draw_sample(len(reference), seed)
    neighbours = find_candidates(columns, columns.reference, sample)
    rules = learn_rules(columns, neighbours)
    evidence, runners_up = gather(columns, columns.query, rules)
    decoys, _ = gather(columns, columns.reference, rules, sample, neighbours)
    partner, text = reference.codes[known[0]], query.codes[known[1]]
    is_pair = (partner >= 0) & (text >= 0)
    partner, text = partner[is_pair], text[is_pair]
    known_texts = np.unique(text)
    target_texts = np.setdiff1d(np.arange(len(query)), known_texts)
    pairs = (text << 32) + partner
    is_right = np.isin((known_texts << 32) + evidence.partners[known_texts], pairs)
    return Problem(
        reference=reference,
        query=query,
        targets=evidence.take(target_texts),
        target_texts=target_texts,
        decoys=decoys,
        runners_up=runners_up.take(target_texts),
        known=evidence.take(known_texts),
        is_known_right=is_right,
        taken=np.unique(partner),
    )


def draw_sample(n: int, seed: int) -> NDArray[np.int64]:
    """Draw at most `MAX_SAMPLE` of n texts.

    Parameters
    ----------
    n, seed : int

    Returns
    -------
    ndarray of int64
        Ascending; all of them if there are no more.
    """
    if n <= MAX_SAMPLE:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, MAX_SAMPLE, replace=False))
