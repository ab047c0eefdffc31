"""Which tables and columns are taken: all, the relevant ones, or those that help on held-out rows."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dfjoin.augment.budget import AugmentBudget
from dfjoin.augment.encoding import EncodedColumn, PredictionTarget
from dfjoin.augment.held_out import Gain, HeldOutLosses, compare_losses, rank_beyond_noise
from dfjoin.augment.relevance import bins_for, choose_columns, relevance
from dfjoin.augment.screening import CandidateTable, FeatureColumn, KnownColumns, screening_reason

__all__ = ["SELECTIONS", "ChosenTable", "SelectionTask", "TableChoice", "choose_tables"]

SELECTIONS = ("auto", "relevance", None)

_COLUMNS_A_TABLE = 12
"""Columns that are taken of one table, at most."""

_RELEVANT = 2.0
"""Smallest relevance of a column, in standard deviations above chance, see `dfjoin.augment.relevance.relevance`."""

_SURE = 2.0
"""Smallest gain of a table on held-out rows, in standard errors."""

_LEAST_GAIN = 0.005
"""Smallest gain of a table, as a share of the loss that is left without it."""

_BEYOND_NOISE = 0.75
"""Share of the rounds in which a column has to tell more than itself with shuffled rows."""

_CHECK_ROUNDS = 2
"""Cross-validations of all that was chosen, on folds that chose nothing."""


@dataclass(frozen=True)
class ChosenTable:
    """A table that is brought, and its columns.

    Parameters
    ----------
    candidate : CandidateTable
    features : tuple of FeatureColumn
    gain : Gain or None
        What the columns add on held-out rows to all that were chosen before; None where that was not measured.
    """

    candidate: CandidateTable
    features: tuple[FeatureColumn, ...]
    gain: Gain | None = None

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The columns as numbers."""
        return np.column_stack([feature.encoded.values for feature in self.features])


@dataclass(frozen=True)
class TableChoice:
    """What was chosen.

    Parameters
    ----------
    chosen : tuple of ChosenTable
        In the order in which they were chosen.
    rejected : dict of str
        Table → why it was not chosen.
    gain : Gain or None
        Of all that was chosen, on folds that chose nothing.
    stopped : str
        Why not all tables were looked at; empty if they were.
    """

    chosen: tuple[ChosenTable, ...]
    rejected: dict[str, str]
    gain: Gain | None = None
    stopped: str = ""


@dataclass(frozen=True)
class SelectionTask:
    """What a selection is made for.

    Parameters
    ----------
    target : PredictionTarget
    own : sequence of EncodedColumn
        Columns of the frame.
    groups : callable
        Told a candidate, the groups of rows that are held out together, or None.
    seed : int
    budget : AugmentBudget
    """

    target: PredictionTarget
    own: Sequence[EncodedColumn]
    groups: Callable[[CandidateTable], NDArray[np.int64] | None]
    seed: int
    budget: AugmentBudget

    def base(self) -> NDArray[np.float64]:
        """Return the columns of the frame that say something, as numbers."""
        columns = [column.values for column in self.own if not screening_reason(column)]
        return np.column_stack(columns) if columns else np.empty((self.target.codes.size, 0))


def choose_tables(
    candidates: Sequence[CandidateTable], select: str | None, task: SelectionTask | None, k: int
) -> TableChoice:
    """Choose tables and columns.

    Parameters
    ----------
    candidates : sequence of CandidateTable
    select : {"auto", "relevance", None}
    task : SelectionTask or None
        None where there is no target: nothing is selected then.
    k : int
        Most tables.
    """
    with_columns = [candidate for candidate in candidates if candidate.features]
    empty = {c.reached.table: "none of its columns passed the screening" for c in candidates if not c.features}
    if select is None or task is None:
        order = sorted(with_columns, key=lambda c: -c.reached.usefulness)
        chosen = tuple(ChosenTable(candidate, candidate.features) for candidate in order[:k])
        return TableChoice(chosen, empty | {c.reached.table: f"below the best {k}" for c in order[k:]})
    relevant = [(c, _relevant_columns(c, task)) for c in with_columns]
    empty |= {c.reached.table: "none of its columns tells of the target" for c, features in relevant if not features}
    ranked = [(_table_relevance(features, task, c), c, features) for c, features in relevant if features]
    ranked.sort(key=lambda item: (-item[0], item[1].reached.table))
    if select == "relevance":
        chosen = tuple(ChosenTable(c, features) for _, c, features in ranked[:k])
        return TableChoice(chosen, empty | {c.reached.table: f"below the best {k}" for _, c, _ in ranked[k:]})
    choice = _GreedyChoice(task, k).run([c for _, c, _ in ranked])
    return replace(choice, rejected=empty | choice.rejected)


def _n_independent(groups: NDArray[np.int64] | None, rows: NDArray[np.int64]) -> int:
    return rows.size if groups is None else int(np.unique(groups[rows]).size)


def _relevant_columns(
    candidate: CandidateTable, task: SelectionTask, rows: NDArray[np.int64] | None = None
) -> tuple[FeatureColumn, ...]:
    """Choose the relevant columns of a table that are not redundant, by some rows."""
    rows = np.arange(task.target.codes.size) if rows is None else rows
    bins = [feature.bins[rows] for feature in candidate.features]
    n_independent = _n_independent(task.groups(candidate), rows)
    target = task.target.levels(bins_for(n_independent))[rows]
    chosen = choose_columns(bins, target, n_independent, _COLUMNS_A_TABLE, _RELEVANT)
    return tuple(candidate.features[i] for i in chosen)


def _table_relevance(features: Sequence[FeatureColumn], task: SelectionTask, candidate: CandidateTable) -> float:
    rows = np.arange(task.target.codes.size)
    n = _n_independent(task.groups(candidate), rows)
    target = task.target.levels(bins_for(n))
    return max(relevance(feature.bins, target, n) for feature in features)


class _GreedyChoice:
    """Forward selection: the table with the largest gain on held-out rows is taken, as long as the gain is sure.

    Gains are measured anew only for tables that were best when they were measured last (Minoux, 1978): what a table
    adds rarely grows as others are taken. A gain that was there but not sure is measured anew as well, since it becomes
    surer as the loss becomes smaller.
    """

    def __init__(self, task: SelectionTask, k: int) -> None:
        self._task = task
        self._k = k
        self._matrix = task.base()
        self._losses: dict[bytes, tuple[HeldOutLosses, int, NDArray[np.float64]]] = {}
        self._chosen: list[ChosenTable] = []
        self._rejected: dict[str, str] = {}
        self._known = KnownColumns()

    def _new_columns(self, candidate: CandidateTable) -> CandidateTable:
        """Leave out columns that say the same as one that was taken."""
        features = tuple(f for f in candidate.features if not self._known.reason(f.encoded))
        return replace(candidate, features=features)

    def run(self, candidates: Sequence[CandidateTable]) -> TableChoice:
        """Choose among candidates, the most relevant first."""
        candidates = list(candidates)
        heap: list[tuple[float, int, int]] = []
        gains: dict[int, Gain] = {}
        stopped = ""
        try:
            for i, candidate in enumerate(candidates):
                if stopped := self._task.budget.over_time():
                    self._rejected |= {c.reached.table: f"not tried: {stopped}" for c in candidates[i:]}
                    break
                gains[i] = self._gain(candidate)
                heapq.heappush(heap, (-gains[i].share, i, 0))
            while heap and len(self._chosen) < self._k and not stopped:
                _, i, seen = heapq.heappop(heap)
                candidate = candidates[i]
                if seen < len(self._chosen) and gains[i].share < _LEAST_GAIN:
                    self._reject(candidate, gains[i])
                    continue
                if seen < len(self._chosen):
                    candidate = candidates[i] = self._new_columns(candidate)
                    gains[i] = self._gain(candidate)
                    heapq.heappush(heap, (-gains[i].share, i, len(self._chosen)))
                elif self._is_sure(gains[i]) and self._is_sure(noise := self._gain(candidate, is_control=True)):
                    self._take(candidate, min(gains[i], noise, key=lambda gain: gain.share))
                else:
                    self._reject(candidate, gains[i])
                stopped = self._task.budget.over_time()
        except KeyboardInterrupt:
            stopped = "it was interrupted"
        for _, i, _ in heap:
            if len(self._chosen) >= self._k:
                self._rejected[candidates[i].reached.table] = f"{self._k} tables that add more were taken"
            else:
                self._reject(candidates[i], gains[i])
        return self._checked(stopped)

    @staticmethod
    def _is_sure(gain: Gain) -> bool:
        return gain.share >= _LEAST_GAIN and gain.sureness >= _SURE

    def _reject(self, candidate: CandidateTable, gain: Gain) -> None:
        self._rejected[candidate.reached.table] = (
            f"its gain on held-out rows is not sure: {gain.share:+.1%} ± {gain.error:.1%} of the loss"
        )

    def _held_out(self, candidate: CandidateTable) -> tuple[HeldOutLosses, NDArray[np.float64]]:
        """Return the cross-validation that suits the key of a table, and the losses without the table."""
        groups = self._task.groups(candidate)
        key = b"" if groups is None else groups.tobytes()
        known = self._losses.get(key)
        if known is None or known[1] != len(self._chosen):
            losses = HeldOutLosses(self._task.target, groups, self._task.seed) if known is None else known[0]
            known = self._losses[key] = losses, len(self._chosen), losses.of(self._matrix)
        return known[0], known[2]

    def _gain(self, candidate: CandidateTable, is_control: bool = False) -> Gain:
        """Measure what the columns of a table add; they are chosen anew in each fold.

        The control compares them with the same columns after their rows were shuffled: further columns of any kind may
        help a model that has few, as they make its trees differ.
        """
        losses, before = self._held_out(candidate)
        n_rows = self._task.target.codes.size
        shuffled = np.random.default_rng(self._task.seed).permutation(n_rows)

        def columns(rows: NDArray[np.int64]) -> NDArray[np.float64]:
            features = _relevant_columns(candidate, self._task, rows)
            values = [feature.encoded.values for feature in features]
            return np.column_stack(values) if values else np.empty((n_rows, 0))

        if is_control:
            before = losses.of(self._matrix, lambda rows: columns(rows)[shuffled])
        gain = compare_losses(before, losses.of(self._matrix, columns), losses.groups)
        self._task.budget.tell(f"{candidate.reached.text}: {gain.share:+.1%} ± {gain.error:.1%} of the loss")
        return gain

    def _take(self, candidate: CandidateTable, gain: Gain) -> None:
        features = _relevant_columns(candidate, self._task) or candidate.features[:1]
        matrix = np.column_stack([feature.encoded.values for feature in features])
        passed = rank_beyond_noise(self._task.target, self._matrix, matrix, self._task.seed)
        kept = [i for i in range(len(features)) if passed[i] >= _BEYOND_NOISE] or [0]
        chosen = ChosenTable(candidate, tuple(features[i] for i in kept), gain)
        for feature in chosen.features:
            self._known.add(feature.encoded, "a table that was taken")
        self._chosen.append(chosen)
        self._matrix = np.column_stack([self._matrix, chosen.matrix])
        self._task.budget.tell(f"took {candidate.reached.text} with {len(kept)} columns")

    def _checked(self, stopped: str) -> TableChoice:
        """Measure all that was chosen on folds that chose nothing; where that does not help, take nothing."""
        gain: Gain | None = None
        if self._chosen and stopped != "it was interrupted":
            groups = self._task.groups(self._chosen[0].candidate)
            losses = HeldOutLosses(self._task.target, groups, self._task.seed + 1000)
            before = losses.of(self._task.base(), n_rounds=_CHECK_ROUNDS)
            gain = compare_losses(before, losses.of(self._matrix, n_rounds=_CHECK_ROUNDS), groups)
            if gain.share <= 0:
                told = f"all that was chosen does not help on other folds: {gain.share:+.1%} of the loss"
                self._rejected |= {one.candidate.reached.table: told for one in self._chosen}
                self._chosen = []
        return TableChoice(tuple(self._chosen), self._rejected, gain, stopped)
