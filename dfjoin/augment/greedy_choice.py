"""Forward selection of tables by what they add on held-out rows."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dfjoin.augment.budget import INTERRUPTED, OutOfTimeError
from dfjoin.augment.held_out import Gain, HeldOutLosses, compare_losses, rank_beyond_noise
from dfjoin.augment.known_columns import KnownColumns
from dfjoin.augment.screening import CandidateTable
from dfjoin.augment.table_choice import ChosenTable, SelectionTask, TableChoice, relevant_columns

__all__ = ["GreedyChoice"]

_SURE = 2.0
"""Smallest gain of a table on held-out rows, in standard errors.

Cross-validated over thirteen cases by ``python -m tests.benchmarks.augmentation_thresholds``, as the thresholds below
and those of columns: 1.5 changes nothing, 3.0 costs bioresponse 0.014 and the other twelve nothing.
"""

_LEAST_GAIN = 0.005
"""Smallest gain of a table, as a share of the loss that is left without it: 0.0 changes nothing, 0.02 costs bioresponse
0.033 and the others nothing; the choice by twelve of the cases is this one for the thirteenth."""

_BEYOND_NOISE = 0.75
"""Share of the rounds in which a column has to tell more than itself with shuffled rows: 1.0 costs credit 0.025 and
bioresponse 0.017. 0.5 adds 0.018 and 0.007 in two of thirteen cases, less than their noise, but lets two of three
columns of noise pass."""

_STILL_SURE = 1.0
"""Smallest gain of a table beside all others that were taken, in standard errors, to be kept: a round number.

Without it none of thirteen cases changes (over five splits, bioresponse is joined with 5.4 tables instead of 5.2, at
the same accuracy); 2.0 costs bioresponse 0.014.
"""

_NEARLY_SURE = 0.5
"""Smallest gain, in standard errors, that is measured again in more rounds.

1.0 or never changes bioresponse by 0.001 and the other twelve cases by nothing. Costs of shipments to 34 countries
(``examples/feature_augmentation.py``) are predicted with an R² of 0.814 without it and of 0.871 with it.
"""

_MORE_ROUNDS = 4
"""Cross-validations, on other folds each, that a gain is measured again with."""

_OTHER_FOLDS, _FOLDS_OF_CHECK = 500, 1000
"""What the seed of the folds grows by where the tables that were chosen are measured again."""

_CHECK_ROUNDS = 2
"""Cross-validations of all that was chosen, on folds that chose nothing."""


class GreedyChoice:
    """Forward selection: the table with the largest gain on held-out rows is taken, as long as the gain is sure.

    Parameters
    ----------
    task : SelectionTask
    k : int
        Most tables.
    candidates : sequence of CandidateTable
        The most relevant first: they are measured in this order, as long as there is time.

    Notes
    -----
    Gains are measured anew only for tables that were best when they were measured last (Minoux, 1978): what a table
    adds rarely grows as others are taken. A gain that was there but not sure is measured anew as well, since it becomes
    surer as the loss becomes smaller. Then gains that are nearly sure are measured again in more cross-validations:
    a part of their error comes from how the rows fell into folds. At the end the tables whose gains are there but not
    sure are tried together: many weak ones may be sure where none of them is. Then tables are given back without which
    the others predict as well, on other folds: a later table may tell the same as an earlier one.
    """

    def __init__(self, task: SelectionTask, k: int, candidates: Sequence[CandidateTable]) -> None:
        self._task = task
        self._k = k
        self._candidates = list(candidates)
        self._matrix = task.base()
        self._losses: dict[bytes, HeldOutLosses] = {}
        self._before: dict[tuple[bytes, int], NDArray[np.float64]] = {}
        self._chosen: list[ChosenTable] = []
        self._rejected: dict[str, str] = {}
        self._gains: dict[int, Gain] = {}
        self._left: set[int] = set()
        self._known = KnownColumns()

    def run(self) -> TableChoice:
        """Choose tables; interrupted or out of time, what was chosen until then is kept."""
        stopped = ""
        try:
            stopped = self._measure()
            self._task.budget.begin("choose")
            self._take_one_by_one()
            self._take_nearly_sure()
            self._take_together()
            self._give_back()
        except OutOfTimeError as error:
            stopped = str(error)
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        for i in self._left:
            self._reject(i)
        return self._checked(stopped)

    def _measure(self) -> str:
        """Measure each table alone; return why not all of them, if the time was over."""
        self._task.budget.begin("measure")
        for i, candidate in enumerate(self._candidates):
            try:
                self._gains[i] = self._gain([candidate])
            except OutOfTimeError as error:
                untried = {c.reached.table: f"not tried: {error}" for c in self._candidates[i:]}
                self._rejected |= untried
                return str(error)
            self._left.add(i)
        return ""

    def _take_one_by_one(self) -> None:
        """Take the best table as long as its gain is sure."""
        heap = [(-self._gains[i].share, i, 0) for i in sorted(self._left)]
        heapq.heapify(heap)
        unsure: list[tuple[float, int, int]] = []
        while heap and len(self._chosen) < self._k:
            share, i, seen = heapq.heappop(heap)
            if seen < len(self._chosen) and self._gains[i].share < _LEAST_GAIN:
                continue
            if seen < len(self._chosen):
                self._candidates[i] = self._new_columns(self._candidates[i])
                self._gains[i] = self._gain([self._candidates[i]])
                heapq.heappush(heap, (-self._gains[i].share, i, len(self._chosen)))
            elif gain := self._sure_gain([i], self._gains[i]):
                self._take(i, gain)
                for entry in unsure:
                    heapq.heappush(heap, entry)
                unsure = []
            else:
                unsure.append((share, i, seen))

    def _take_nearly_sure(self) -> None:
        """Measure gains that are nearly sure in more rounds, the largest first; take what is sure then."""
        for i in sorted(self._left, key=lambda i: (-self._gains[i].share, i)):
            if len(self._chosen) == self._k:
                return
            if _is_nearly_sure(self._gains[i]):
                self._candidates[i] = self._new_columns(self._candidates[i])
                self._gains[i] = self._gain([self._candidates[i]], n_rounds=_MORE_ROUNDS)
                if gain := self._sure_gain([i], self._gains[i], _MORE_ROUNDS):
                    self._take(i, gain)

    def _take_together(self) -> None:
        """Take the tables that may add something if they do so together; half of them where they do not."""
        order = sorted(self._left, key=lambda i: (-self._gains[i].share, i))
        batch = [i for i in order if self._gains[i].share > 0][: self._k - len(self._chosen)]
        while len(batch) > 1:
            for i in batch:
                self._candidates[i] = self._new_columns(self._candidates[i])
            gain = self._gain([self._candidates[i] for i in batch])
            if gain.share >= len(batch) * _LEAST_GAIN and self._sure_gain(batch, gain):
                for i in batch:
                    self._take(i, None)
                return
            batch = batch[: len(batch) // 2]

    def _give_back(self) -> None:
        """Give back the table that adds least to the others, as long as that is not beyond its noise."""
        while len(self._chosen) > 1:
            gains = self._gains_beside_others()
            weak = [i for i, one in enumerate(self._chosen) if not self._is_needed(one, gains[i])]
            if not weak:
                return
            least = min(weak, key=lambda i: gains[i].share)
            table, told = self._chosen.pop(least).candidate.reached.table, _told(gains[least])
            self._rejected[table] = f"the other tables predict as well without it: {told}"
            self._task.budget.tell(f"gave back {table}: {told}")

    def _is_needed(self, one: ChosenTable, gain: Gain) -> bool:
        """Tell whether a table is kept; what was taken together with others need not be sure alone."""
        return gain.share > 0 and (one.gain is None or gain.sureness >= _STILL_SURE)

    def _gains_beside_others(self) -> list[Gain]:
        """Measure what each chosen table adds to all others, on other folds than those that chose it."""
        task, whole = self._task, self._matrix_of(self._chosen)
        after: dict[bytes, NDArray[np.float64]] = {}
        gains = []
        for one in self._chosen:
            groups = task.groups(one.candidate)
            key = b"" if groups is None else groups.tobytes()
            losses = HeldOutLosses(task.target, groups, task.seed + _OTHER_FOLDS, task.budget.check)
            if key not in after:
                after[key] = losses.of(whole)
            before = losses.of(self._matrix_of([other for other in self._chosen if other is not one]))
            gains.append(compare_losses(before, after[key], groups))
        return gains

    def _matrix_of(self, chosen: Sequence[ChosenTable]) -> NDArray[np.float64]:
        return np.column_stack([self._task.base(), *(one.matrix for one in chosen)])

    def _sure_gain(self, batch: Sequence[int], gain: Gain, n_rounds: int = 1) -> Gain | None:
        """Return the smaller one of a gain and of that over shuffled rows, if both are sure."""
        if not _is_sure(gain):
            return None
        control = self._gain([self._candidates[i] for i in batch], n_rounds, is_control=True)
        return min(gain, control, key=lambda one: one.share) if _is_sure(control) else None

    def _new_columns(self, candidate: CandidateTable) -> CandidateTable:
        """Leave out columns that say the same as one that was taken."""
        features = tuple(f for f in candidate.features if not self._known.reason(f.encoded))
        return replace(candidate, features=features)

    def _reject(self, i: int) -> None:
        gain = self._gains[i]
        self._rejected[self._candidates[i].reached.table] = (
            f"{self._k} tables that add more were taken"
            if len(self._chosen) >= self._k
            else f"its gain on held-out rows is not sure: {_told(gain)}"
        )

    def _held_out(self, candidate: CandidateTable, n_rounds: int) -> tuple[HeldOutLosses, NDArray[np.float64]]:
        """Return the cross-validation that suits the key of a table, and the losses without the table."""
        task = self._task
        groups = task.groups(candidate)
        key = b"" if groups is None else groups.tobytes()
        if key not in self._losses:
            self._losses[key] = HeldOutLosses(task.target, groups, task.seed, task.budget.check)
        if (key, n_rounds) not in self._before:
            self._before[key, n_rounds] = self._losses[key].of(self._matrix, n_rounds=n_rounds)
        return self._losses[key], self._before[key, n_rounds]

    def _gain(self, candidates: Sequence[CandidateTable], n_rounds: int = 1, *, is_control: bool = False) -> Gain:
        """Measure what the columns of tables add; they are chosen anew in each fold.

        The control compares them with the same columns after their rows were shuffled: further columns of any kind may
        help a model that has few, as they make its trees differ.
        """
        losses, before = self._held_out(candidates[0], n_rounds)
        n_rows = self._task.target.codes.size
        shuffled = np.random.default_rng(self._task.seed).permutation(n_rows)

        def columns(rows: NDArray[np.int64]) -> NDArray[np.float64]:
            features = [f for candidate in candidates for f in relevant_columns(candidate, self._task, rows)]
            values = [feature.encoded.values for feature in features]
            return np.column_stack(values) if values else np.empty((n_rows, 0))

        if is_control:
            before = losses.of(self._matrix, lambda rows: columns(rows)[shuffled], n_rounds)
        gain = compare_losses(before, losses.of(self._matrix, columns, n_rounds), losses.groups)
        names = ", ".join(candidate.reached.text for candidate in candidates)
        self._task.budget.tell(f"{names}: {_told(gain)}")
        return gain

    def _take(self, i: int, gain: Gain | None) -> None:
        candidate = self._candidates[i]
        features = relevant_columns(candidate, self._task) or candidate.features[:1]
        matrix = np.column_stack([feature.encoded.values for feature in features])
        task = self._task
        try:
            passed = rank_beyond_noise(task.target, self._matrix, matrix, task.seed, task.budget.check)
        except OutOfTimeError:
            passed = np.ones(len(features))  # the table helps; there is no time to tell its columns apart
        kept = [place for place in range(len(features)) if passed[place] >= _BEYOND_NOISE] or [0]
        chosen = ChosenTable(candidate, tuple(features[place] for place in kept), gain)
        for feature in chosen.features:
            self._known.add(feature.encoded, "a table that was taken")
        self._left.discard(i)
        self._chosen.append(chosen)
        self._matrix = np.column_stack([self._matrix, chosen.matrix])
        self._before.clear()
        self._task.budget.tell(f"took {candidate.reached.text} with {len(kept)} columns")

    def _checked(self, stopped: str) -> TableChoice:
        """Measure all that was chosen on folds that chose nothing; where that does not help, take nothing."""
        task, gain = self._task, None
        if self._chosen and stopped != INTERRUPTED:
            task.budget.begin("check")
            groups = task.groups(self._chosen[0].candidate)
            losses = HeldOutLosses(task.target, groups, task.seed + _FOLDS_OF_CHECK, task.budget.check)
            try:
                before = losses.of(task.base(), n_rounds=_CHECK_ROUNDS)
                gain = compare_losses(before, losses.of(self._matrix_of(self._chosen), n_rounds=_CHECK_ROUNDS), groups)
            except OutOfTimeError as error:
                stopped = str(error)
            except KeyboardInterrupt:
                stopped = INTERRUPTED
            if gain is not None and gain.share <= 0:
                told = f"all that was chosen does not help on other folds: {gain.share:+.1%} of the loss"
                self._rejected |= {one.candidate.reached.table: told for one in self._chosen}
                self._chosen = []
        return TableChoice(tuple(self._chosen), self._rejected, gain, stopped)


def _is_sure(gain: Gain) -> bool:
    return gain.share >= _LEAST_GAIN and gain.sureness >= _SURE


def _is_nearly_sure(gain: Gain) -> bool:
    return gain.share >= _LEAST_GAIN and gain.sureness >= _NEARLY_SURE


def _told(gain: Gain) -> str:
    return f"{gain.share:+.1%} ± {gain.error:.1%} of the loss"
