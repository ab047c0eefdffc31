"""The evidence on the nearest reference text of each text: the pair itself, its rivals on both sides, the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.batches import cut_batches, run_batches
from dfjoin.fuzzy.distances import CONFIGURATIONS, COSINES, base_distance, measure
from dfjoin.fuzzy.match_model import MatchModel
from dfjoin.fuzzy.pair_features import LIKENESS_NAMES, PAIR_NAMES, learn_rules, measure_pairs
from dfjoin.fuzzy.texts import WORDS
from dfjoin.fuzzy.tokenized import TokenizedColumn, TokenizedColumns, find_candidates
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.kernels.token_rows import Rules, TextPairs, list_differences
from dfjoin.kernels.tokenising import SparseRows

__all__ = ["EVIDENCE_NAMES", "MAX_SAMPLE", "Evidence", "draw_sample", "gather"]

MAX_SAMPLE = 10_000
"""Reference texts whose neighbours tell what different things look like."""

_MAX_RIVALS = 4
"""Other candidates of a text that are measured in every configuration, the most alike ones."""

_DISTANCE_OFFSET = 0.02
"""Added to distances before they are divided: far smaller distances count as equal."""
_FAR = -12.0
"""Likeness of a rival that does not exist."""
_LIMIT = 14.0
_NOTHING = np.empty((0, 0))
_DROPPED, _SEEN = 0.3, 1.0
"""Added to counts of words, so that rare ones say little."""

_RIVAL_NAMES = tuple(f"{name}, against the best rival" for name in map(str, CONFIGURATIONS))
_CONTEXT_NAMES = (
    "likeness",
    "margin to the runner-up",
    "margin to the partner's best other text",
    "margin to the partner's neighbours",
    "partner's nearest neighbour",
    "runner-up",
    "left over words, least usual",
    "left over words, mean",
    "left over words, sum",
    "same difference elsewhere",
    "more left over of one side",
    "rank among neighbours",
    "rank among runners-up",
    "standardised likeness",
    "standardised margin to the runner-up",
    "standardised margin to the partner's best other text",
)
_COLUMN_NAMES = (
    "column: mean rank among neighbours",
    "column: share above most neighbours",
    "column: share of different partners",
    "column: mean margin",
    "column: share of mutual pairs",
)
EVIDENCE_NAMES = (*PAIR_NAMES, *_RIVAL_NAMES, *_CONTEXT_NAMES, *_COLUMN_NAMES)
"""Names of the columns of `Evidence.values`."""

_MISSING = PAIR_NAMES.index("left over of the first"), PAIR_NAMES.index("left over of the second")


@dataclass(frozen=True)
class Evidence:
    """The nearest reference text of each text of a column, and the evidence on the pair.

    Parameters
    ----------
    partners : ndarray of int32, shape (n,)
        The most alike reference text, the first one of several; -1 if none has a token in common.
    distances : ndarray of float64, shape (n,)
        Its base distance; 1 if there is none.
    values : ndarray of float64, shape (n, n_names)
        See `EVIDENCE_NAMES`; zeros if there is no partner.
    column_odds : ndarray of float64, shape (n,), or None
        Log likelihood ratio of what the columns of a composite key say of the pair; None for other keys.
    """

    partners: NDArray[np.int32]
    distances: NDArray[np.float64]
    values: NDArray[np.float64]
    column_odds: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return int(self.partners.size)

    def take(self, rows: NDArray[np.int64]) -> Evidence:
        """Return the evidence of some texts."""
        odds = None if self.column_odds is None else self.column_odds[rows]
        return Evidence(self.partners[rows], self.distances[rows], self.values[rows], odds)


class _Ranked(NamedTuple):
    """Candidates by text, the most alike first, of equals the first; `places` counts them from 0 in each text."""

    pairs: TextPairs
    features: NDArray[np.float64]
    likeness: NDArray[np.float64]
    places: NDArray[np.int64]


class _Nearest(NamedTuple):
    """The most alike pair of each text that has one, with what its rivals are like."""

    pairs: TextPairs
    features: NDArray[np.float64]
    rivals: NDArray[np.float64]
    likeness: NDArray[np.float64]
    runner_up: NDArray[np.float64]


class _Neighbourhood(NamedTuple):
    """What reference texts are like among each other.

    `nearest` holds for each reference text its likeness to the most alike other one.
    """

    rules: Rules
    decoys: TextPairs
    ranked: NDArray[np.float64]
    nearest: NDArray[np.float64]


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


def gather(columns: TokenizedColumns, model: MatchModel, seed: int = 0) -> tuple[Evidence, TextPairs]:
    """Collect the evidence of all query texts.

    Parameters
    ----------
    columns : TokenizedColumns
    model : MatchModel
        Its likeness chooses the nearest reference text.
    seed : int, default 0
        Chooses the reference texts that stand for all, where there are more than 10,000.

    Returns
    -------
    Evidence
    TextPairs
        The most alike reference texts of each text, at most five, the nearest first.

    Notes
    -----
    Different reference texts are different things, so a reference text with its nearest other one is a pair that is
    known to be wrong, and so is a query text with its runner-up, if the nearest one is right: both tell what wrong
    pairs of these columns look like (the decoys of Elias and Gygi, Nature Methods 2007, on the premise of
    Auto-FuzzyJoin, SIGMOD 2021, section 3.2). A likeness is evidence by its rank among theirs. A left-over word
    counts by how much more often such words are left over of nearest pairs than of neighbours: what many pairs lack
    alike is a habit of the column, not a difference.

    O(texts × 20 candidates), bounded by the budgets of `find_candidates`; memory 40 MB and 16 bytes a candidate.
    """
    around = _look_around(columns, model, seed)
    n = len(columns.query)

    def compare(texts: NDArray[np.int64]) -> tuple[_Nearest, _Ranked]:
        ranked = _compare(columns, columns.query, model, around.rules, texts)
        return _measure_nearest(columns, ranked), ranked._replace(features=_NOTHING)

    parts = run_batches(compare, cut_batches(columns.query, np.arange(n)))
    best = _concatenate([nearest for nearest, _ in parts])
    rows, others = (np.concatenate([getattr(ranked.pairs, side) for _, ranked in parts]) for side in TextPairs._fields)
    likeness, places = (
        np.concatenate([getattr(ranked, name) for _, ranked in parts]) for name in ("likeness", "places")
    )
    around = _look_around_partners(columns, model, around, best.pairs.others, seed)
    context = _context(columns, around, best, _best_other(others, rows, likeness, best.pairs))
    found = Evidence(np.full(n, -1, np.int32), np.ones(n), np.zeros((n, len(EVIDENCE_NAMES))))
    texts = best.pairs.rows
    found.partners[texts] = best.pairs.others
    found.distances[texts] = base_distance(best.features[:, : len(CONFIGURATIONS)])
    found.values[texts] = np.clip(np.hstack([best.features, best.rivals, context]), -_LIMIT, _LIMIT)
    is_near = places <= _MAX_RIVALS
    return found, TextPairs(rows[is_near], others[is_near])


def _compare(
    columns: TokenizedColumns, side: TokenizedColumn, model: MatchModel, rules: Rules, texts: NDArray[np.int64]
) -> _Ranked:
    """Find the candidates of some texts; rank them by likeness."""
    return _rank(columns, side, model, rules, find_candidates(columns, side, texts))


def _rank(
    columns: TokenizedColumns, side: TokenizedColumn, model: MatchModel, rules: Rules, pairs: TextPairs
) -> _Ranked:
    """Rank the candidates of each text by likeness."""
    features = measure_pairs(columns, side, rules, pairs)
    likeness = np.clip(model.likeness(LIKENESS_NAMES, features), -_LIMIT, _LIMIT)
    order = np.lexsort((pairs.others, -likeness, pairs.rows))
    ranked = TextPairs(pairs.rows[order], pairs.others[order])
    is_first = np.ones(order.size, bool)
    is_first[1:] = ranked.rows[1:] != ranked.rows[:-1]
    starts = np.flatnonzero(is_first)
    places = np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size)))
    return _Ranked(ranked, features[order], likeness[order], places)


def _measure_nearest(columns: TokenizedColumns, ranked: _Ranked) -> _Nearest:
    """Measure the most alike candidate of each text in every configuration, and those after it as its rivals."""
    is_best = ranked.places == 0
    n_best = int(is_best.sum())
    runner_up = np.full(n_best, _FAR)
    text = np.cumsum(is_best) - 1
    is_second = ranked.places == 1
    runner_up[text[is_second]] = ranked.likeness[is_second]
    measured = np.flatnonzero(ranked.places <= _MAX_RIVALS)
    distances = measure(columns, columns.query, TextPairs(*(side[measured] for side in ranked.pairs)))
    least = np.ones((n_best, len(CONFIGURATIONS)))
    for place in range(1, _MAX_RIVALS + 1):
        is_here = ranked.places[measured] == place
        rows = text[measured[is_here]]
        least[rows] = np.minimum(least[rows], distances[is_here])
    own = distances[is_best[measured]]
    features = np.hstack([own, ranked.features[is_best, len(COSINES) :]])
    ratios = np.log((own + _DISTANCE_OFFSET) / (least + _DISTANCE_OFFSET))
    best = TextPairs(*(side[is_best] for side in ranked.pairs))
    return _Nearest(best, features, ratios, ranked.likeness[is_best], runner_up)


def _concatenate(parts: list[_Nearest]) -> _Nearest:
    """Put batches together."""
    pairs = TextPairs(*(np.concatenate([getattr(part.pairs, side) for part in parts]) for side in TextPairs._fields))
    return _Nearest(pairs, *(np.concatenate([part[i] for part in parts]) for i in range(1, len(_Nearest._fields))))


def _look_around(columns: TokenizedColumns, model: MatchModel, seed: int) -> _Neighbourhood:
    """Compare a sample of reference texts with their neighbours: rules first, then likeness."""
    reference = columns.reference
    batches = cut_batches(reference, draw_sample(len(reference), seed))
    found = run_batches(lambda texts: find_candidates(columns, reference, texts), batches)
    rules = learn_rules(columns, TextPairs(*(np.concatenate(side) for side in zip(*found, strict=True))))
    nearest = np.full(len(reference), _FAR)
    pairs, likeness = [], []
    for ranked in run_batches(lambda candidates: _rank(columns, reference, model, rules, candidates), found):
        np.maximum.at(nearest, ranked.pairs.rows, ranked.likeness)
        np.maximum.at(nearest, ranked.pairs.others, ranked.likeness)
        is_best = ranked.places == 0
        pairs.append(TextPairs(*(side[is_best] for side in ranked.pairs)))
        likeness.append(ranked.likeness[is_best])
    decoys = TextPairs(*(np.concatenate(side) for side in zip(*pairs, strict=True)))
    return _Neighbourhood(rules, decoys, np.sort(np.concatenate(likeness)), nearest)


def _look_around_partners(
    columns: TokenizedColumns, model: MatchModel, around: _Neighbourhood, partners: NDArray[np.int32], seed: int
) -> _Neighbourhood:
    """Compare the partners that the sample does not hold with their neighbours, too."""
    sample = draw_sample(len(columns.reference), seed)
    missing = np.setdiff1d(partners, sample).astype(np.int64)
    nearest = around.nearest.copy()
    if missing.size:

        def compare(texts: NDArray[np.int64]) -> _Ranked:
            return _compare(columns, columns.reference, model, around.rules, texts)._replace(features=_NOTHING)

        for ranked in run_batches(compare, cut_batches(columns.reference, missing)):
            np.maximum.at(nearest, ranked.pairs.rows, ranked.likeness)
    return around._replace(nearest=nearest)


def _best_other(
    others: NDArray[np.int32], rows: NDArray[np.int32], likeness: NDArray[np.float64], best: TextPairs
) -> NDArray[np.float64]:
    """Return for each nearest pair the highest likeness of the partner to another text."""
    order = np.lexsort((-likeness, others))
    ranked = others[order]
    start = np.searchsorted(ranked, best.others, side="left")
    is_own = rows[order[start]] == best.rows
    following = np.minimum(start + 1, max(order.size - 1, 0))
    has_more = (start + 1 < order.size) & (ranked[following] == best.others)
    second = np.where(has_more, likeness[order[following]], _FAR)
    return np.where(is_own, second, likeness[order[start]])


def _context(
    columns: TokenizedColumns, around: _Neighbourhood, best: _Nearest, other: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Set each nearest pair against its rivals, against wrong pairs and against the column."""
    n = best.likeness.size
    if n == 0:
        return np.empty((0, len(_CONTEXT_NAMES) + len(_COLUMN_NAMES)))
    likeness = best.likeness
    margin, mutual = likeness - best.runner_up, likeness - other
    near = around.nearest[best.pairs.others]
    rank = _log_rank(around.ranked, likeness)
    rivals = np.sort(best.runner_up[best.runner_up > _FAR])
    if rivals.size == 0:
        rivals = np.array([_FAR])
    low, middle, high = np.percentile(rivals, [25, 50, 75])
    spread = max(0.5, (high - low) / 1.35)
    habits = _habits(columns, around.decoys, best.pairs)
    missing = best.features[:, _MISSING[0]] - best.features[:, _MISSING[1]]
    own = [
        likeness,
        margin,
        mutual,
        likeness - near,
        near,
        best.runner_up,
        *habits,
        missing,
        rank,
        _log_rank(rivals, likeness),
        (likeness - middle) / spread,
        margin / spread,
        mutual / spread,
    ]
    of_column = [
        rank.mean(),
        np.mean(rank < np.log(0.05)),
        np.unique(best.pairs.others).size / n,
        np.minimum(margin, _LIMIT).mean(),
        np.mean(mutual > 0),
    ]
    return np.column_stack([*own, *(np.full(n, value) for value in of_column)])


def _log_rank(ranked: NDArray[np.float64], likeness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log of the share of sorted wrong pairs that are at least as alike, one added to both counts."""
    above = ranked.size - np.searchsorted(ranked, likeness, side="left")
    return np.asarray(np.log((above + 1) / (ranked.size + 1)))


def _habits(columns: TokenizedColumns, decoys: TextPairs, best: TextPairs) -> tuple[NDArray[np.float64], ...]:
    """Tell how usual it is that the words of a difference are left over.

    Returns, for each nearest pair, least, mean and sum over its left-over words of log(share of pairs that leave the
    word over / the same among decoys), and log(1 + other pairs with just this difference).
    """
    space = columns.spaces[WORDS]
    n_words = space.idf.size
    indptr, tokens, sides = list_differences(space.query, space.reference, best)
    dropped = np.bincount(tokens, minlength=n_words)
    seen = (
        _count_words(space.query, best.rows, n_words) + _count_words(space.reference, best.others, n_words) + dropped
    ) / 2
    _, wrong_tokens, _ = list_differences(space.reference, space.reference, decoys)
    wrong = np.bincount(wrong_tokens, minlength=n_words)
    wrong_sides = [_count_words(space.reference, texts, n_words) for texts in decoys]
    wrong_seen = (wrong_sides[0] + wrong_sides[1] + wrong) / 2
    usual = np.log((np.maximum(dropped - 1, 0) + _DROPPED) / (np.maximum(seen - 1, 0) + _SEEN))
    usual -= np.log((wrong + _DROPPED) / (wrong_seen + _SEEN))
    sizes = np.diff(indptr)
    pair_of = np.repeat(np.arange(sizes.size), sizes)
    total = np.bincount(pair_of, usual[tokens], sizes.size)
    least = np.where(sizes > 0, np.inf, 0.0)
    np.minimum.at(least, pair_of, usual[tokens])
    keys = np.zeros(sizes.size, np.uint64)
    np.add.at(keys, pair_of, _scatter(2 * tokens.astype(np.uint64) + sides.astype(np.uint64)))
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    elsewhere = np.where(sizes > 0, np.log(counts[inverse.ravel()]), 0.0)
    mean = total / np.maximum(sizes, 1)
    return np.asarray(least), np.asarray(mean), np.asarray(total), np.asarray(elsewhere)


def _scatter(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash numbers (the finaliser of SplitMix64, Steele et al., OOPSLA 2014), so that sums of them differ."""
    mixed = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _count_words(rows: SparseRows, texts: NDArray[np.int32], n_words: int) -> NDArray[np.int64]:
    """Count the texts that hold each word, among some texts."""
    starts, ends = rows.indptr[texts], rows.indptr[texts + 1]
    return np.bincount(rows.tokens[expand_stretches(starts, ends - starts)], minlength=n_words)
