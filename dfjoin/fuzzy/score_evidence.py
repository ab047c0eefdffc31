"""The evidence against each pair of a text and its nearest reference text.

It says how much nearer the nearest reference text is than the next one in every configuration, and whether the two
texts differ by words that distinguish reference texts which are otherwise similar: negative rules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.distances import CONFIGURATIONS, Configuration, base_distance, measure
from dfjoin.fuzzy.texts import WORDS
from dfjoin.fuzzy.tokenized import TokenizedColumn, TokenizedColumns, find_candidates
from dfjoin.kernels.token_rows import Rules, TextPairs, pair_differences, rule_hits

__all__ = ["NAMES", "Evidence", "gather", "learn_rules", "nearest_two", "rule_evidence"]

NAMES = (*map(str, CONFIGURATIONS), "words exchanged", "word more or less")
"""Names of the columns of `Evidence.values`."""

_BATCH = 4096
"""Texts handled together, which bounds memory to about 40 MB."""

_DISTANCE_OFFSET = 0.02
"""Added to distances before they are divided: far smaller distances count as equal."""

_SHARED = CONFIGURATIONS.index(Configuration("3-grams", "jaccard"))
_MIN_SHARED = 0.25
"""Share of 3-grams by weight below which texts are not joined: the only code that "new haven" shares may be "new"."""


@dataclass(frozen=True)
class Evidence:
    """The nearest reference text of each text of a column, and the evidence against it.

    Parameters
    ----------
    partners : ndarray of int32, shape (n,)
        Nearest reference text by `base_distance`, the first one of several; -1 if none has a token in
        common.
    distances : ndarray of float64, shape (n,)
        Its base distance; 1 if there is none.
    is_admissible : ndarray of bool, shape (n,)
        Whether the two share a quarter of the 3-grams of both, by weight.
    values : ndarray of float64, shape (n, n_names)
        Per configuration log((first + 0.02) / (second + 0.02)), of the distance to the nearest reference text and the
        least distance to any other candidate, then `rule_evidence`; the higher the worse.
    """

    partners: NDArray[np.int32]
    distances: NDArray[np.float64]
    is_admissible: NDArray[np.bool_]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.partners.size)

    def take(self, rows: NDArray[np.int64]) -> Evidence:
        """Return the evidence of some texts."""
        return Evidence(self.partners[rows], self.distances[rows], self.is_admissible[rows], self.values[rows])


def nearest_two(rows: NDArray[np.int32], base: NDArray[np.float64], distances: NDArray[np.float64]):
    """Pick the nearest candidate of each text and measure it against its best rival.

    Parameters
    ----------
    rows : ndarray of int32, shape (n_pairs,)
        Text of each pair, ascending.
    base : ndarray of float64, shape (n_pairs,)
        Distance that decides; the first of equals wins.
    distances : ndarray of float64, shape (n_pairs, n_configurations)

    Returns
    -------
    chosen : ndarray of int64, shape (n_texts,)
        Number of the pair that won, for each text that has one, ascending.
    nearest : ndarray of float64, shape (n_texts, 2, n_configurations)
        Distances of the winner, and the least distances among all others; 1 where there is no other.

    Notes
    -----
    O(n_pairs log n_pairs).
    """
    order = np.lexsort((base, rows))
    ordered = rows[order]
    is_first = np.ones(order.size, bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    chosen = order[is_first]
    group = np.cumsum(is_first) - 1
    rivals = np.ones((chosen.size, distances.shape[1]))
    np.minimum.at(rivals, group[~is_first], distances[order[~is_first]])
    return chosen, np.stack([distances[chosen], rivals], axis=1)


def gather(
    columns: TokenizedColumns,
    side: TokenizedColumn,
    rules: Rules,
    texts: NDArray[np.int64] | None = None,
    candidates: TextPairs | None = None,
) -> tuple[Evidence, Evidence]:
    """Collect the evidence of texts of a side, batch by batch.

    Parameters
    ----------
    columns : TokenizedColumns
    side : TokenizedColumn
        ``columns.query``, or ``columns.reference``: then each text's nearest *other* reference text.
    rules : Rules
    texts : ndarray of int64, optional
        Texts to look at, ascending; all by default.
    candidates : TextPairs, optional
        Result of `find_candidates` for them; looked for by default.

    Returns
    -------
    nearest, runners_up : Evidence
        Of the texts, in their order: on the nearest reference text, and on the nearest one if that were
        not there.
    """
    texts = np.arange(len(side)) if texts is None else texts
    starts = range(0, max(1, texts.size), _BATCH)
    parts = [_gather(columns, side, rules, texts[i : i + _BATCH], candidates) for i in starts]
    return _concatenate([part[0] for part in parts]), _concatenate([part[1] for part in parts])


def _concatenate(parts: list[Evidence]) -> Evidence:
    fields = ([getattr(part, name) for part in parts] for name in Evidence.__dataclass_fields__)
    return Evidence(*(np.concatenate(field) for field in fields))


def _gather(
    columns: TokenizedColumns,
    side: TokenizedColumn,
    rules: Rules,
    texts: NDArray[np.int64],
    candidates: TextPairs | None,
) -> tuple[Evidence, Evidence]:
    """Collect the evidence of one batch."""
    if candidates is None:
        pairs = find_candidates(columns, side, texts)
    else:
        stretch = slice(*np.searchsorted(candidates.rows, [texts[0], texts[-1] + 1])) if texts.size else slice(0)
        pairs = TextPairs(candidates.rows[stretch], candidates.others[stretch])
    distances = measure(columns, side, pairs)
    base = base_distance(distances)
    is_left = np.ones(pairs.rows.size, bool)
    found = []
    for _ in range(2):
        left = np.flatnonzero(is_left)
        chosen, nearest = nearest_two(pairs.rows[left], base[left], distances[left])
        chosen = left[chosen]
        is_left[chosen] = False
        evidence = _without_evidence(texts.size)
        found.append(evidence)
        places = np.searchsorted(texts, pairs.rows[chosen])
        nearest_pairs = TextPairs(pairs.rows[chosen], pairs.others[chosen])
        evidence.partners[places] = nearest_pairs.others
        evidence.distances[places] = base[chosen]
        evidence.is_admissible[places] = nearest[:, 0, _SHARED] <= 1.0 - _MIN_SHARED
        ratios = (nearest[:, 0] + _DISTANCE_OFFSET) / (nearest[:, 1] + _DISTANCE_OFFSET)
        evidence.values[places] = np.hstack([np.log(ratios), rule_evidence(columns, side, rules, nearest_pairs)])
    return found[0], found[1]


def _without_evidence(n: int) -> Evidence:
    """Return the evidence of texts without a partner."""
    return Evidence(np.full(n, -1, np.int32), np.ones(n), np.zeros(n, bool), np.zeros((n, len(NAMES))))


def _own_keys(columns: TokenizedColumns, counts: NDArray[np.int32], last: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the rule that each difference is an instance of, -1 where more than a word differs."""
    kinds = np.append(columns.word_kinds, 0)[last]  # -1, no word, has kind 0
    keys = (kinds.max(axis=1) << 31) + kinds.min(axis=1)
    return np.where((counts <= 1).all(axis=1) & (counts.sum(axis=1) > 0), keys, -1)


def learn_rules(columns: TokenizedColumns, pairs: TextPairs) -> Rules:
    """Learn the words by which neighbours within the reference differ.

    Parameters
    ----------
    columns : TokenizedColumns
    pairs : TextPairs
        Pairs of different reference texts.

    Returns
    -------
    Rules

    Notes
    -----
    Source: negative rules of Li, Cheng, Chu, He, Chaudhuri, "Auto-FuzzyJoin", SIGMOD 2021, section 3.3.
    Deviations: all numbers are one kind of word, so that the rule of "2008 cup" and "2009 cup"
    holds for 2017 as well; a word that only one text has makes a rule too; rules are evidence with a learned weight,
    not a veto. O(n_pairs log n_pairs).
    """
    low, high = np.minimum(*pairs).astype(np.int64), np.maximum(*pairs)
    packed = np.unique((low << 32) + high)
    distinct = TextPairs((packed >> 32).astype(np.int32), (packed & 0xFFFFFFFF).astype(np.int32))
    words = columns.reference.rows[WORDS]
    keys = _own_keys(columns, *pair_differences(words, words, distinct))
    found, counts = np.unique(keys[keys >= 0], return_counts=True)
    return Rules(found, counts.astype(np.int64))


def rule_evidence(
    columns: TokenizedColumns, side: TokenizedColumn, rules: Rules, pairs: TextPairs
) -> NDArray[np.float64]:
    """Tell which pairs of texts differ by words that distinguish reference texts.

    Parameters
    ----------
    columns : TokenizedColumns
    side : TokenizedColumn
        Column of the first text of each pair.
    rules : Rules
    pairs : TextPairs
        A text of the side and a reference text.

    Returns
    -------
    ndarray of float64, shape (n_pairs, 2)
        1 where an exchange of two words, and where a word more or less, falls under a rule, else 0. A
        pair of reference texts is no evidence for the rule that stems from itself.
    """
    a, b = side.rows[WORDS], columns.reference.rows[WORDS]
    hits = rule_hits(a, b, columns.word_kinds, rules, pairs)
    if side is columns.reference:
        counts, last = pair_differences(a, b, pairs)
        is_own = _own_keys(columns, counts, last) >= 0
        hits = hits - (is_own[:, None] & np.stack([counts.min(axis=1) > 0, counts.min(axis=1) == 0], axis=1))
    return (hits > 0).astype(np.float64)
