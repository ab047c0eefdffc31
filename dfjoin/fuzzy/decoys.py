"""Two columns in their roles of reference and query, with the evidence on every text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.rules import Rules, learn_rules
from dfjoin.fuzzy.score_evidence import Evidence, gather
from dfjoin.fuzzy.texts import Texts
from dfjoin.fuzzy.tokenized import Candidates, Columns, find_candidates, prepare

__all__ = ["SAMPLE", "Problem", "is_left_reference", "learn_from_reference", "set_up"]

SAMPLE = 10_000
"""Reference texts that decoys and rules are made of, at most."""


@dataclass(frozen=True)
class Problem:
    """What a fuzzy join is decided on.

    Parameters
    ----------
    reference, query : Texts
    targets : Evidence
        Of the query texts to join.
    target_texts : ndarray of int64, shape (n_targets,)
        Which texts these are.
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


def learn_from_reference(columns: Columns, seed: int) -> tuple[Rules, NDArray[np.int64], Candidates]:
    """Learn the negative rules from a sample of the reference.

    Parameters
    ----------
    columns : Columns
    seed : int

    Returns
    -------
    rules : Rules
    sample : ndarray of int64
        The texts looked at, ascending; all of them up to 10,000.
    candidates : pair of ndarray of int32
        Their neighbours.
    """
    n = len(columns.reference)
    sample = np.arange(n)
    if n > SAMPLE:
        sample = np.sort(np.random.default_rng(seed).choice(n, SAMPLE, replace=False))
    candidates = find_candidates(columns, columns.reference, sample)
    return learn_rules(columns, *candidates), sample, candidates


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
    rules, sample, candidates = learn_from_reference(columns, seed)
    evidence, runners_up = gather(columns, columns.query, rules)
    decoys, _ = gather(columns, columns.reference, rules, sample, candidates)
    partner, text = reference.codes[known[0]], query.codes[known[1]]
    is_pair = (partner >= 0) & (text >= 0)
    partner, text = partner[is_pair], text[is_pair]
    known_texts = np.unique(text)
    target_texts = np.setdiff1d(np.arange(len(query)), known_texts)
    pairs = (text << 32) + partner
    is_right = np.isin((known_texts << 32) + evidence.partners[known_texts], pairs)
    return Problem(
        reference, query, evidence.take(target_texts), target_texts, decoys, runners_up.take(target_texts),
        evidence.take(known_texts), is_right, np.unique(partner),
    )  # fmt: skip
