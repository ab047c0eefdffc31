"""The evidence on the nearest reference text of each text: the pair itself, its rivals on both sides, the columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.differences import DIFFERENCE_NAMES, measure_habits, weigh_differences
from dfjoin.fuzzy.match_model import MatchModel
from dfjoin.fuzzy.pair_features import (
    CONFIGURATIONS,
    COSINES,
    LIKENESS_NAMES,
    PAIR_NAMES,
    base_distance,
    learn_rules,
    measure,
    measure_pairs,
)
from dfjoin.fuzzy.tokenized import TokenizedColumn, TokenizedColumns, find_candidates
from dfjoin.kernels.texts.token_rows import Rules, TextPairs

_BATCH = 1024
"""Texts handled together, which bounds memory to about 20 MB a thread, and the time until a thread ends."""
_BATCH_CHARACTERS = 1 << 15
"""Characters of a batch: long texts come in smaller batches."""
_MAX_THREADS = 8

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def cut_batches(side: TokenizedColumn, texts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut texts into batches; at least one.

    Parameters
    ----------
    side : TokenizedColumn
        The column that holds the texts.
    texts : ndarray of int64

    Returns
    -------
    list of ndarray of int64
        Of at most 1,024 texts each, and so few that they have some 32,768 characters; but 16 texts at least.
    """
    mean_length = side.letters.points.size / max(1, len(side))
    size = int(np.clip(_BATCH_CHARACTERS / max(1.0, mean_length), 16, _BATCH))
    return [texts[i : i + size] for i in range(0, max(1, texts.size), size)]


def run_batches(work: Callable[[_Item], _Result], batches: Sequence[_Item]) -> list[_Result]:
    """Apply a function to each batch, on as many threads as there are cores, at most eight.

    Parameters
    ----------
    work : callable
        Runs in other threads: kernels let go of the interpreter lock, and a signal, which the main thread alone
        handles, meets no machine code there.
    batches : sequence

    Returns
    -------
    list
        The results, in the order of the batches.

    Notes
    -----
    An interrupt (Ctrl-C) is raised at once: batches that have not begun are dropped, and what those that run
    return is thrown away.
    """
    pool = ThreadPoolExecutor(min(_MAX_THREADS, _count_cores(), max(1, len(batches))), "dfjoin-fuzzy")
    try:
        return list(pool.map(work, batches))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _count_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


MAX_SAMPLE = 10_000
"""Reference texts whose neighbours tell what different things look like."""

_MAX_RIVALS = 4
"""Other candidates of a text whose differences are looked at, the most alike ones."""

_FAR = -12.0
"""Likeness of a rival that does not exist."""
LIMIT = 14.0
"""Evidence lies between its negative and it."""

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
)
_COLUMN_NAMES = (
    "column: mean rank among neighbours",
    "column: share above most neighbours",
    "column: share of different partners",
    "column: mean margin",
    "column: share of mutual pairs",
)
EVIDENCE_NAMES = (*PAIR_NAMES, *_CONTEXT_NAMES, *_COLUMN_NAMES)
"""Names of the columns of `Evidence.values`."""

N_OF_COLUMNS = len(_COLUMN_NAMES)
"""Numbers of the evidence that are those of all pairs together."""

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

    @property
    def of_columns(self) -> tuple[float, ...] | None:
        """What all pairs together tell, the same for each; None if no text has a partner."""
        found = self.values[self.partners >= 0, -N_OF_COLUMNS:]
        return tuple(found[0].tolist()) if len(found) else None

    def with_columns(self, numbers: tuple[float, ...]) -> Evidence:
        """Put what all pairs of another join of these columns told in place of what these few tell."""
        values = self.values.copy()
        values[self.partners >= 0, -N_OF_COLUMNS:] = numbers
        return replace(self, values=values)

    def take(self, rows: NDArray[np.int64]) -> Evidence:
        """Return the evidence of some texts."""
        odds = None if self.column_odds is None else self.column_odds[rows]
        return Evidence(self.partners[rows], self.distances[rows], self.values[rows], odds)


class RankedPairs(NamedTuple):
    """Candidates by text, the most alike first, of equals the first; `ranks` counts them from 0 in each text."""

    pairs: TextPairs
    likeness: NDArray[np.float64]
    ranks: NDArray[np.int64]

    def nearest(self, n: int) -> RankedPairs:
        """Return the first n candidates of each text."""
        is_near = self.ranks < n
        pairs = TextPairs(*(side[is_near] for side in self.pairs))
        return RankedPairs(pairs, self.likeness[is_near], self.ranks[is_near])


class _Nearest(NamedTuple):
    """The most alike pair of each text that has one, and the likeness of its runner-up."""

    pairs: TextPairs
    features: NDArray[np.float64]
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


def draw_sample(n: int) -> NDArray[np.int64]:
    """Draw at most `MAX_SAMPLE` of n texts.

    Parameters
    ----------
    n : int

    Returns
    -------
    ndarray of int64
        Ascending; all of them if there are no more.
    """
    if n <= MAX_SAMPLE:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MAX_SAMPLE, replace=False))


def gather(columns: TokenizedColumns, model: MatchModel) -> tuple[Evidence, TextPairs]:
    """Collect the evidence of all query texts.

    Parameters
    ----------
    columns : TokenizedColumns
    model : MatchModel
        Its likeness chooses the nearest reference text.

    Returns
    -------
    Evidence
    TextPairs
        The most alike reference texts of each text, at most five, the nearest first.

    Notes
    -----
    Candidates are ranked by likeness; the five most alike ones of each text once more, with how usual their differences
    are among all texts (`dfjoin.fuzzy.differences`): where many names have one word for another, that exchange is no
    difference. On the evidence of the nearest pair: different reference texts are different things, so a reference text
    with its nearest other one is a pair that is known to be wrong; such pairs tell what wrong pairs of these columns
    look like (the decoys of Elias and Gygi, Nature Methods 2007, on the premise of Auto-FuzzyJoin, SIGMOD 2021, section
    3.2). A left-over word counts by how much more often such words are left over of nearest pairs than of neighbours:
    what many pairs lack alike is a habit of the column, not a difference.

    O(texts × 20 candidates), bounded by the budgets of `find_candidates`; memory 40 MB, 16 bytes a candidate and 100
    bytes a left-over word of the five most alike ones.
    """
    around = _look_around(columns, model)
    n = len(columns.query)
    ranked = rank_candidates(columns, model, around.rules)
    near = _weigh_near(columns, model, ranked)
    best = _measure_nearest(columns, around.rules, near)
    around = _look_around_partners(columns, model, around, best.pairs.others)
    context = _context(columns, around, best, _best_other(ranked, best.pairs))
    found = Evidence(np.full(n, -1, np.int32), np.ones(n), np.zeros((n, len(EVIDENCE_NAMES))))
    texts = best.pairs.rows
    found.partners[texts] = best.pairs.others
    found.distances[texts] = base_distance(best.features[:, : len(CONFIGURATIONS)])
    found.values[texts] = np.clip(np.hstack([best.features, context]), -LIMIT, LIMIT)
    return found, near.pairs


def rank_candidates(columns: TokenizedColumns, model: MatchModel, rules: Rules) -> RankedPairs:
    """Find the candidates of all query texts, and rank them by likeness.

    Parameters
    ----------
    columns : TokenizedColumns
    model : MatchModel
    rules : Rules

    Returns
    -------
    RankedPairs
    """

    def compare(texts: NDArray[np.int64]) -> RankedPairs:
        return _compare(columns, columns.query, model, rules, texts)

    return _concatenate(run_batches(compare, cut_batches(columns.query, np.arange(len(columns.query)))))


def _weigh_near(columns: TokenizedColumns, model: MatchModel, ranked: RankedPairs) -> RankedPairs:
    """Rank the most alike candidates of each text anew, by likeness and by how usual their differences are."""
    near = ranked.nearest(_MAX_RIVALS + 1)
    usual = model.usualness(DIFFERENCE_NAMES, weigh_differences(columns, near.pairs, near.likeness))
    return _in_order(near.pairs, np.clip(near.likeness + usual, -LIMIT, LIMIT))


def _compare(
    columns: TokenizedColumns, side: TokenizedColumn, model: MatchModel, rules: Rules, texts: NDArray[np.int64]
) -> RankedPairs:
    """Find the candidates of some texts; rank them by likeness."""
    return _rank(columns, side, model, rules, find_candidates(columns, side, texts))


def _rank(
    columns: TokenizedColumns, side: TokenizedColumn, model: MatchModel, rules: Rules, pairs: TextPairs
) -> RankedPairs:
    """Rank the candidates of each text by likeness."""
    likeness = model.likeness(LIKENESS_NAMES, measure_pairs(columns, side, rules, pairs))
    return _in_order(pairs, np.clip(likeness, -LIMIT, LIMIT))


def _in_order(pairs: TextPairs, likeness: NDArray[np.float64]) -> RankedPairs:
    """Order candidates by text, the most alike first."""
    order = np.lexsort((pairs.others, -likeness, pairs.rows))
    ranked = TextPairs(pairs.rows[order], pairs.others[order])
    is_first = np.ones(order.size, bool)
    is_first[1:] = ranked.rows[1:] != ranked.rows[:-1]
    starts = np.flatnonzero(is_first)
    ranks = np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size)))
    return RankedPairs(ranked, likeness[order], ranks)


def _concatenate(parts: list[RankedPairs]) -> RankedPairs:
    """Put batches together."""
    pairs = TextPairs(*(np.concatenate([getattr(part.pairs, side) for part in parts]) for side in TextPairs._fields))
    return RankedPairs(pairs, *(np.concatenate([part[i] for part in parts]) for i in (1, 2)))


def _measure_nearest(columns: TokenizedColumns, rules: Rules, near: RankedPairs) -> _Nearest:
    """Measure the most alike candidate of each text in every configuration."""
    best = near.nearest(1)
    is_best = near.ranks == 0
    text = np.cumsum(is_best) - 1
    runner_up = np.full(len(best.likeness), _FAR)
    is_second = near.ranks == 1
    runner_up[text[is_second]] = near.likeness[is_second]
    distances = _measure_in_batches(columns, best.pairs, lambda some: measure(columns, columns.query, some))
    other = _measure_in_batches(columns, best.pairs, lambda some: measure_pairs(columns, columns.query, rules, some))
    features = np.hstack([distances, other[:, len(COSINES) :]])
    return _Nearest(best.pairs, features, best.likeness, runner_up)


def _measure_in_batches(
    columns: TokenizedColumns, pairs: TextPairs, work: Callable[[TextPairs], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Measure pairs in batches; one row for each."""
    batches = cut_batches(columns.query, np.arange(pairs.rows.size))
    return np.concatenate(run_batches(lambda at: work(TextPairs(pairs.rows[at], pairs.others[at])), batches))


def _look_around(columns: TokenizedColumns, model: MatchModel) -> _Neighbourhood:
    """Compare a sample of reference texts with their neighbours: rules first, then likeness."""
    reference = columns.reference
    batches = cut_batches(reference, draw_sample(len(reference)))
    found = run_batches(lambda texts: find_candidates(columns, reference, texts), batches)
    rules = learn_rules(columns, TextPairs(*(np.concatenate(side) for side in zip(*found, strict=True))))
    nearest = np.full(len(reference), _FAR)
    pairs, likeness = [], []
    for ranked in run_batches(lambda candidates: _rank(columns, reference, model, rules, candidates), found):
        np.maximum.at(nearest, ranked.pairs.rows, ranked.likeness)
        np.maximum.at(nearest, ranked.pairs.others, ranked.likeness)
        best = ranked.nearest(1)
        pairs.append(best.pairs)
        likeness.append(best.likeness)
    decoys = TextPairs(*(np.concatenate(side) for side in zip(*pairs, strict=True)))
    return _Neighbourhood(rules, decoys, np.sort(np.concatenate(likeness)), nearest)


def _look_around_partners(
    columns: TokenizedColumns, model: MatchModel, around: _Neighbourhood, partners: NDArray[np.int32]
) -> _Neighbourhood:
    """Compare the partners that the sample does not hold with their neighbours, too."""
    sample = draw_sample(len(columns.reference))
    missing = np.setdiff1d(partners, sample).astype(np.int64)
    nearest = around.nearest.copy()
    if missing.size:

        def compare(texts: NDArray[np.int64]) -> RankedPairs:
            return _compare(columns, columns.reference, model, around.rules, texts)

        for ranked in run_batches(compare, cut_batches(columns.reference, missing)):
            np.maximum.at(nearest, ranked.pairs.rows, ranked.likeness)
    return around._replace(nearest=nearest)


def _best_other(candidates: RankedPairs, best: TextPairs) -> NDArray[np.float64]:
    """Return for each nearest pair the highest likeness of the partner to another text."""
    (rows, others), likeness = candidates.pairs, candidates.likeness
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
    habits = measure_habits(columns, around.decoys, best.pairs)
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
    ]
    of_column = [
        rank.mean(),
        np.mean(rank < np.log(0.05)),
        np.unique(best.pairs.others).size / n,
        np.minimum(margin, LIMIT).mean(),
        np.mean(mutual > 0),
    ]
    return np.column_stack([*own, *(np.full(n, value) for value in of_column)])


def _log_rank(ranked: NDArray[np.float64], likeness: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log of the share of sorted wrong pairs that are at least as alike, one added to both counts."""
    above = ranked.size - np.searchsorted(ranked, likeness, side="left")
    return np.asarray(np.log((above + 1) / (ranked.size + 1)))
