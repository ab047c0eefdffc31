"""Negative rules: words by which texts of the reference differ, though they are different things."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.tokenized import WORDS, Columns, Side
from dfjoin.kernels.token_difference import pair_differences, rule_hits

__all__ = ["Rules", "learn_rules", "rule_evidence"]


@dataclass(frozen=True)
class Rules:
    """Kinds of words whose exchange, addition or omission makes another thing.

    Parameters
    ----------
    keys : ndarray of int64, shape (n_rules,)
        Ascending; larger kind times 2^31 plus smaller kind, 0 for no word.
    counts : ndarray of int64, shape (n_rules,)
        Pairs of reference texts that differ by just that.
    """

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.keys.size)


def _own_keys(columns: Columns, counts: NDArray[np.int32], last: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the rule that each difference is an instance of, -1 where more than a word differs."""
    kinds = np.append(columns.word_kinds, 0)[last]  # -1, no word, has kind 0
    keys = (kinds.max(axis=1) << 31) + kinds.min(axis=1)
    return np.where((counts <= 1).all(axis=1) & (counts.sum(axis=1) > 0), keys, -1)


def learn_rules(columns: Columns, rows: NDArray[np.int32], others: NDArray[np.int32]) -> Rules:
    """Learn the words by which neighbours within the reference differ.

    Parameters
    ----------
    columns : Columns
    rows, others : ndarray of int32, shape (n_pairs,)
        Pairs of different reference texts.

    Returns
    -------
    Rules

    Notes
    -----
    Source: negative rules of Li, Cheng, Chu, He, Chaudhuri, "Auto-FuzzyJoin", SIGMOD 2021, section 3.3.
    Deviations: all numbers are one kind of word, so that "2008 cup" and "2009 cup" speak for 2017 as
    well; a word that only one text has makes a rule too; rules are evidence with a learned weight, not
    a veto. O(n_pairs log n_pairs).
    """
    low, high = np.minimum(rows, others).astype(np.int64), np.maximum(rows, others)
    packed = np.unique((low << 32) + high)
    a, b = (packed >> 32).astype(np.int32), (packed & 0xFFFFFFFF).astype(np.int32)
    words = columns.reference.rows[WORDS]
    keys = _own_keys(columns, *pair_differences(words.indptr, words.tokens, words.indptr, words.tokens, a, b))
    found, counts = np.unique(keys[keys >= 0], return_counts=True)
    return Rules(found, counts.astype(np.int64))


def rule_evidence(columns: Columns, side: Side, rules: Rules, rows, others) -> NDArray[np.float64]:
    """Tell which pairs of texts differ by words that tell things apart.

    Parameters
    ----------
    columns : Columns
    side : Side
        Where `rows` are from.
    rules : Rules
    rows, others : ndarray of int32, shape (n_pairs,)

    Returns
    -------
    ndarray of float64, shape (n_pairs, 2)
        1 where an exchange of two words, and where a word more or less, falls under a rule, else 0. A
        pair of reference texts is no evidence for the rule that stems from itself.
    """
    a, b = side.rows[WORDS], columns.reference.rows[WORDS]
    hits = rule_hits(a.indptr, a.tokens, b.indptr, b.tokens, columns.word_kinds, rules.keys, rules.counts, rows, others)
    if side is columns.reference:
        counts, last = pair_differences(a.indptr, a.tokens, b.indptr, b.tokens, rows, others)
        is_own = _own_keys(columns, counts, last) >= 0
        hits = hits - (is_own[:, None] & np.stack([counts.min(axis=1) > 0, counts.min(axis=1) == 0], axis=1))
    return (hits > 0).astype(np.float64)
