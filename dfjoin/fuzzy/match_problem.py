"""A fuzzy join as a problem: which column is the reference, what is known, and the evidence on what is not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.column_weights import ColumnWeights, KeyParts, learn_weights, measure_levels, sum_weights
from dfjoin.fuzzy.match_evidence import EVIDENCE_NAMES, Evidence, gather
from dfjoin.fuzzy.match_model import MatchModel
from dfjoin.fuzzy.pair_features import differ_in_numbers
from dfjoin.fuzzy.texts import Texts
from dfjoin.fuzzy.tokenized import TokenizedColumns, prepare
from dfjoin.kernels.texts.token_rows import TextPairs

KnownPairs: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows of two columns that are joined already."""


@dataclass(frozen=True)
class Problem:
    """Two columns in their roles of reference and query, with the evidence on their texts.

    Parameters
    ----------
    reference, query : Texts
    targets : Evidence
        Of the query texts to join. A text has no partner where its nearest one differs in numbers alone and names
        another thing, see `differ_in_numbers`; of composite keys the columns say what a number is worth.
    target_texts : ndarray of int64, shape (n_targets,)
        Their numbers in `query`.
    known : Evidence
        Of the query texts whose partners are known.
    is_known_right : ndarray of bool, shape (n_known,)
        Whether the nearest reference text is a known partner.
    weights : tuple of tuple of float, or None
        What the columns of a composite key say; None for other keys, or if too few matches are expected.
    of_columns : tuple of float, or None
        See `Evidence.of_columns`.
    """

    reference: Texts
    query: Texts
    targets: Evidence
    target_texts: NDArray[np.int64]
    known: Evidence
    is_known_right: NDArray[np.bool_]
    weights: ColumnWeights | None = None
    of_columns: tuple[float, ...] | None = None


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


def set_up(
    reference: Texts,
    query: Texts,
    known: KnownPairs,
    model: MatchModel,
    parts: KeyParts | None = None,
    of_columns: tuple[float, ...] | None = None,
) -> Problem:
    """Gather the evidence on two columns.

    Parameters
    ----------
    reference, query : Texts
    known : pair of ndarray of int64
        Rows of the reference and of the query that are joined already.
    model : MatchModel
    parts : KeyParts, optional
        The columns of a composite key.
    of_columns : tuple of float, optional
        What all pairs of an earlier join of other rows told: a few rows tell little of their columns.

    Returns
    -------
    Problem
    """
    columns = prepare(reference, query)
    evidence, near = gather(columns, model)
    if of_columns is not None:
        evidence = evidence.with_columns(of_columns)
    of_columns = evidence.of_columns
    weights = None
    if parts is None:
        evidence = _without_other_numbers(columns, evidence)
    else:
        evidence, weights = _weigh_columns(evidence, near, (reference, query), parts, model)
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
        known=evidence.take(known_texts),
        is_known_right=is_right,
        weights=weights,
        of_columns=of_columns,
    )


def _without_other_numbers(columns: TokenizedColumns, evidence: Evidence) -> Evidence:
    """Leave texts without a partner whose nearest text names another thing, since its numbers differ."""
    texts = np.flatnonzero(evidence.partners >= 0).astype(np.int32)
    pairs = TextPairs(texts, evidence.partners[texts])
    partners = evidence.partners.copy()
    partners[texts[differ_in_numbers(columns, pairs, evidence.values[texts])]] = -1
    return replace(evidence, partners=partners)


def _weigh_columns(
    evidence: Evidence, near: TextPairs, sides: tuple[Texts, Texts], parts: KeyParts, model: MatchModel
) -> tuple[Evidence, ColumnWeights | None]:
    """Add what the columns of a composite key say of each nearest pair; learn it, if it is not known."""
    levels = measure_levels(parts, sides, near)
    is_nearest = evidence.partners[near.rows] == near.others
    weights = parts.weights
    if weights is None:
        chances = model.probability(EVIDENCE_NAMES, evidence.values)[near.rows]
        weights = learn_weights(levels, is_nearest, chances)
    odds = np.zeros(len(evidence))
    if weights is not None:
        odds[near.rows[is_nearest]] = sum_weights(levels[is_nearest], weights)
    return replace(evidence, column_odds=odds), weights
