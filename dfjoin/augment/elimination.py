"""Recursive elimination: columns are dropped a third at a time, as long as the others predict held-out rows as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dfjoin.augment.boosting import Columns
from dfjoin.augment.budget import INTERRUPTED, OutOfTimeError
from dfjoin.augment.held_out import (
    FOLDS,
    Gain,
    Trained,
    compare_losses,
    fold_rows,
    losses_without,
    train,
)
from dfjoin.augment.relevance import bins_for, relevance
from dfjoin.augment.screening import CandidateTable, FeatureColumn
from dfjoin.augment.table_choice import (
    RELEVANT,
    ChosenTable,
    SelectionTask,
    TableChoice,
    n_independent,
    relevant_columns,
)

_KEPT = 2 / 3
"""Share of the columns that a step of the elimination keeps: a half and three quarters choose the same, see
``tests/benchmarks/NOTES.md``."""

_SURE = 2.0
"""Smallest gain of all that is chosen on held-out rows, in standard errors."""

_MOST_CELLS = 1_000_000
"""Rows × columns that columns are chosen by, at most: of more rows so many are drawn that this is kept."""

_FEWEST_ROWS = 2_000
"""Rows that are never drawn fewer of, however many columns there are."""

_CHECK = 1000
"""What the seed of the folds grows by where what was chosen is measured again."""


def choose_by_elimination(task: SelectionTask, k: int | None, candidates: Sequence[CandidateTable]) -> TableChoice:
    """Choose the columns of tables that predict together, in as few tables as do it.

    Parameters
    ----------
    task : SelectionTask
    k : int or None
        Most tables; None: as many as help.
    candidates : sequence of CandidateTable
        With at least one column each.

    Returns
    -------
    TableChoice
        Tables with the largest gain first.

    Notes
    -----
    Recursive feature elimination with cross-validation (Guyon et al., Machine Learning 46, 2002). A model of boosted
    trees has all columns of all tables at first, so that columns which tell something only together are seen. Of the
    rows that it was not trained on, one part says what each column is worth: by how much the loss grows when the
    column's rows are shuffled (Breiman, Machine Learning 45, 2001). The least third is dropped and the model is trained
    anew, until no column is left. Another part of the rows, a fold, measures each step; the folds that are measured
    have chosen nothing. Five folds give five sequences of columns.

    The step that is taken is the last one whose loss is within one standard error of the least loss. The tables are
    those of the columns that most folds keep until this step: noise is kept by chance, each time other columns of it
    (stability selection, Meinshausen and Bühlmann, 2010). A table costs a join and its further columns nothing, so that
    of these tables all columns come along that any fold keeps until the step of the least loss. Nothing is chosen
    where the gain is not sure, or is none on other folds.

    Rows of one key, or of one group of the caller, are in one fold. Where tables are joined by several keys, the folds
    are parts of one key after the other. Interrupted or out of time, the folds that are complete decide; without any,
    nothing is chosen nor rejected. O(folds ×
    columns × rows) for the models, and as much for the shuffled columns.
    """
    elimination = _Elimination.of(task, candidates)
    stopped = ""
    task.budget.begin("choose")
    try:
        elimination.run(task)
    except OutOfTimeError as error:
        stopped = str(error)
    except KeyboardInterrupt:
        stopped = INTERRUPTED
    if stopped and not elimination.n_folds:
        return TableChoice((), {}, None, stopped)
    columns = elimination.chosen(k, task)
    order = dict.fromkeys(elimination.owners[columns].tolist())
    tables = [np.array([c for c in columns if elimination.owners[c] == i], np.int64) for i in order]
    gains: Sequence[Gain | None] = [None] * len(tables)
    gain: Gain | None = None
    if tables and stopped != INTERRUPTED:
        task.budget.begin("check")
        try:
            gains, gain = elimination.measured_again(tables, task)
        except OutOfTimeError as error:
            stopped = stopped or str(error)
        except KeyboardInterrupt:
            stopped = INTERRUPTED
    rejected = {c.joined.table: elimination.reason(i) for i, c in enumerate(candidates) if i not in order}
    if elimination.n_folds and not tables:
        rejected = dict.fromkeys(rejected, "no choice of tables lowers the loss on held-out rows for sure")
    chosen = [_chosen_table(candidates, elimination, own, one) for own, one in zip(tables, gains, strict=True)]
    if gain is not None and gain.share <= 0:
        rejected |= {one.candidate.joined.table: f"all that was chosen does not help: {gain}" for one in chosen}
        chosen, gain = [], None
    chosen.sort(key=lambda one: 0.0 if one.gain is None else -one.gain.share)
    return TableChoice(tuple(chosen), rejected, gain, stopped)


def _chosen_table(
    candidates: Sequence[CandidateTable], elimination: _Elimination, own: NDArray[np.int64], gain: Gain | None
) -> ChosenTable:
    i = int(elimination.owners[own[0]])
    return ChosenTable(candidates[i], tuple(candidates[i].features[elimination.positions[c]] for c in own), gain)


@dataclass
class _Elimination:
    """The columns of all tables, and what each fold made of them.

    Parameters
    ----------
    n_base : int
        Columns of the frame.
    table : Columns
        Those of the frame, then those of the tables.
    owners, positions : ndarray of int64
        Table of each column of the tables, and its position among the features of its table.
    rows : ndarray of int64
        Rows of the frame that were drawn.
    groupings : sequence of ndarray of int64 or None
        For each key its groups of rows, that of the most tables first.
    sizes : list of int
        Columns that are left at each step, 0 at last.
    losses : ndarray of float64, shape (n_steps, n_rows)
        Sum over the folds that held a row.
    n_held : ndarray of int64, shape (n_rows,)
        Folds that held each row.
    votes : ndarray of int64, shape (n_steps, n_columns)
        Folds that kept a column at each step.
    fold_of : ndarray of int64, shape (n_rows,)
        The last fold that held each row.
    n_folds : int
        Folds that are complete.
    """

    n_base: int
    table: Columns
    owners: NDArray[np.int64]
    positions: NDArray[np.int64]
    rows: NDArray[np.int64]
    groupings: list[NDArray[np.int64] | None]
    sizes: list[int]
    losses: NDArray[np.float64]
    n_held: NDArray[np.int64]
    votes: NDArray[np.int64]
    fold_of: NDArray[np.int64]
    n_folds: int = 0

    @classmethod
    def of(cls, task: SelectionTask, candidates: Sequence[CandidateTable]) -> _Elimination:
        """Gather the columns of all tables; draw rows where there are many."""
        counts = [len(candidate.features) for candidate in candidates]
        n_columns, n_rows = sum(counts), task.target.codes.size
        most = max(_FEWEST_ROWS, _MOST_CELLS // max(1, n_columns))
        rows = np.arange(n_rows)
        if n_rows > most:
            rows = np.sort(np.random.default_rng(task.seed).choice(n_rows, most, replace=False))
        columns = [feature.encoded.values[rows] for candidate in candidates for feature in candidate.features]
        groupings = {id(groups): groups for groups in map(task.groups, candidates)}
        tables_of = [id(task.groups(candidate)) for candidate in candidates]
        ordered = sorted(groupings, key=tables_of.count, reverse=True)[:FOLDS]
        sizes = [n_columns]
        while sizes[-1]:
            sizes.append(int(sizes[-1] * _KEPT))
        base = task.base()[rows]
        return cls(
            base.shape[1],
            Columns(np.column_stack([base, *columns])),
            np.repeat(np.arange(len(candidates)), counts),
            np.concatenate([np.arange(count) for count in counts]) if counts else np.empty(0, np.int64),
            rows,
            [None if (groups := groupings[key]) is None else groups[rows] for key in ordered],
            sizes,
            np.zeros((len(sizes), rows.size)),
            np.zeros(rows.size, np.int64),
            np.zeros((len(sizes), n_columns), np.int64),
            np.zeros(rows.size, np.int64),
        )

    def run(self, task: SelectionTask) -> None:
        """Eliminate the columns once for each fold."""
        target = task.target.take(self.rows)
        splits = list(self._splits(task, task.seed))
        for fold, (held, ranked, trained) in enumerate(splits):
            losses, votes = np.zeros_like(self.losses), np.zeros_like(self.votes)
            kept = np.arange(self.owners.size)
            for step in range(len(self.sizes)):
                task.budget.check()
                model = train(target, self.table, self._with_base(kept), trained, task.seed, task.learning)
                losses[step, held] = model.losses(held)
                votes[step, kept] = 1
                if kept.size:
                    kept = self._best(model, ranked, kept, self.sizes[step + 1], task.seed + fold)
            self.losses += losses
            self.votes += votes
            self.n_held[held] += 1
            self.fold_of[held] = fold
            self.n_folds += 1
            task.budget.report(f"fold {fold + 1} of {len(splits)}: {self.sizes[0]} columns eliminated step by step")

    def _with_base(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the columns of the frame and some of those of the tables."""
        return np.append(np.arange(self.n_base), self.n_base + columns)

    def _splits(self, task: SelectionTask, seed: int) -> Iterator[tuple[NDArray[np.int64], ...]]:
        """Yield the rows that each fold holds out, those that rank the columns, and those that are trained on.

        Folds are parts of one key after the other. A splitter of the caller says what is held out; of rows that all
        lie before, the last quarter ranks the columns, as those that are nearest in time; of others every fourth row.
        """
        target = task.target.take(self.rows)
        if task.learning.cv is not None:
            for known, held in task.learning.cv.split(self.table.values, target.codes, self._error_groups()):
                known, position = np.sort(known), np.arange(known.size)
                is_before = bool(known[-1] < np.min(held))
                is_ranked = position >= known.size * 3 // 4 if is_before else position % 4 == 3
                yield np.asarray(held), known[is_ranked], known[~is_ranked]
            return
        by_key = [fold_rows(target, groups, seed) for groups in self.groupings]
        for fold in range(FOLDS) if by_key else ():
            folds = by_key[fold % len(by_key)]
            next_fold = (fold + 1) % (int(folds.max()) + 1)
            held, ranked = np.flatnonzero(folds == fold), np.flatnonzero(folds == next_fold)
            trained = np.flatnonzero((folds != fold) & (folds != next_fold))
            if not trained.size:  # of two folds, the rows that are trained on rank the columns as well
                trained = ranked
            if held.size:
                yield held, ranked, trained

    def _best(
        self, model: Trained, ranked: NDArray[np.int64], kept: NDArray[np.int64], n_next: int, seed: int
    ) -> NDArray[np.int64]:
        """Return the columns whose values the model needs most."""
        worth = losses_without(model, ranked, [[self.n_base + column] for column in kept], seed).mean(axis=1)
        return kept[np.sort(np.argsort(-worth, kind="stable")[:n_next])]

    def chosen(self, k: int | None, task: SelectionTask) -> NDArray[np.int64]:
        """Return the columns that are chosen; none where nothing helps."""
        held = np.flatnonzero(self.n_held)
        none = np.empty(0, np.int64)
        if not held.size or not self.owners.size:
            return none
        losses = self.losses[:, held] / self.n_held[held]
        groups = self._observations(task)
        groups = None if groups is None else groups[held]
        best = int(losses.mean(axis=1).argmin())
        step = best
        for later in range(best + 1, len(self.sizes)):
            worse = compare_losses(losses[later], losses[best], groups)
            if worse.share <= worse.error:
                step = later
        while k is not None and np.unique(self.owners[self._kept(step)]).size > k:
            step += 1
        if step == len(self.sizes) - 1 or compare_losses(losses[-1], losses[step], groups).sureness < _SURE:
            return none
        columns = self._kept(step)
        further = np.isin(self.owners, self.owners[columns]) & (self.votes[best] > 0)
        return np.union1d(columns, np.flatnonzero(further))

    def _kept(self, step: int) -> NDArray[np.int64]:
        """Return the columns that most folds keep at a step; where there are none, the one that is kept most often."""
        votes = self.votes[step]
        kept = np.flatnonzero(2 * votes > self.n_folds)
        return kept if kept.size or not votes.any() else np.array([votes.argmax()])

    def _observations(self, task: SelectionTask) -> NDArray[np.int64] | None:
        """Return what each row is an observation of: its group, or its fold, which a scorer gives one number for."""
        return self._error_groups() if task.learning.scorer is None else self.fold_of

    def _error_groups(self) -> NDArray[np.int64] | None:
        """Return the largest groups of rows: what rows of one group save is one observation."""
        groups = [grouping for grouping in self.groupings if grouping is not None]
        return min(groups, key=lambda grouping: np.unique(grouping).size) if groups else None

    def measured_again(self, tables: Sequence[NDArray[np.int64]], task: SelectionTask) -> tuple[list[Gain], Gain]:
        """Measure on other folds what each table adds to the others, and what all of them add to the frame."""
        target = task.target.take(self.rows)
        columns = np.concatenate(tables)
        own_columns = [(self.n_base + own).tolist() for own in tables]
        before, after = np.full((2, self.rows.size), np.nan)
        without = np.full((len(tables), self.rows.size), np.nan)
        for held, ranked, rest in self._splits(task, task.seed + _CHECK):
            trained = np.union1d(ranked, rest)
            task.budget.check()
            base = train(target, self.table, self._with_base(columns[:0]), trained, task.seed, task.learning)
            before[held] = base.losses(held)
            model = train(target, self.table, self._with_base(columns), trained, task.seed, task.learning)
            after[held] = model.losses(held)
            without[:, held] = after[held] + losses_without(model, held, own_columns, task.seed)
        held = np.flatnonzero(~np.isnan(after))
        groups = self._observations(task)
        groups = None if groups is None else groups[held]
        scale = float(before[held].mean())
        alone = [compare_losses(without[i, held], after[held], groups, scale) for i in range(len(tables))]
        return alone, compare_losses(before[held], after[held], groups)

    def reason(self, table: int) -> str:
        """Say why a table was not chosen, of those that were measured."""
        steps = np.flatnonzero(self.votes[:, self.owners == table].sum(axis=1))
        if not steps.size:
            return "not tried: the time was over"
        return f"the last of its columns was dropped among {self.sizes[steps[-1]]}: those that stayed predict more"


# Which tables and columns are taken: all, the relevant ones, or those that help on held-out rows ------------


SELECTIONS = ("auto", "relevance", None)

_TABLES = 5
"""Tables that are taken where nothing measures how many help, and the caller does not say it."""


def choose_tables(
    candidates: Sequence[CandidateTable], select: str | None, task: SelectionTask | None, k: int | None
) -> TableChoice:
    """Choose tables and columns.

    Parameters
    ----------
    candidates : sequence of CandidateTable
    select : {"auto", "relevance", None}
    task : SelectionTask or None
        None where there is no target: nothing is selected then.
    k : int or None
        Most tables; None: as many as help, and 5 where that is not measured.

    Notes
    -----
    Where the time is over before a single fold was measured, the relevant tables are taken in place of none.
    """
    with_columns = [candidate for candidate in candidates if candidate.features]
    empty = {c.joined.table: "none of its columns passed the screening" for c in candidates if not c.features}
    if select == "auto" and task is not None:
        choice = choose_by_elimination(task, k, with_columns)
        if choice.chosen or choice.rejected or not choice.stopped:
            return replace(choice, rejected=empty | choice.rejected)
        n_columns = sum(len(candidate.features) for candidate in with_columns)
        quick = _most_relevant(with_columns, task, k or _TABLES, _sure_relevance(n_columns))
        reason = f"{choice.stopped}: the most relevant tables were taken, nothing was measured"
        return replace(quick, rejected=empty | quick.rejected, stopped=reason)
    k = _TABLES if k is None else k
    if select is None or task is None:
        order = sorted(with_columns, key=lambda c: -c.joined.usefulness)
        chosen = tuple(ChosenTable(candidate, candidate.features) for candidate in order[:k])
        return TableChoice(chosen, empty | {c.joined.table: f"below the best {k}" for c in order[k:]})
    choice = _most_relevant(with_columns, task, k, RELEVANT)
    return replace(choice, rejected=empty | choice.rejected)


def _most_relevant(candidates: Sequence[CandidateTable], task: SelectionTask, k: int, least: float) -> TableChoice:
    """Take the tables with the most relevant columns."""
    relevant = [(c, relevant_columns(c, task, least)) for c in candidates]
    empty = {c.joined.table: "none of its columns tells of the target" for c, features in relevant if not features}
    ranked = [(_table_relevance(features, task, c), c, features) for c, features in relevant if features]
    ranked.sort(key=lambda item: (-item[0], item[1].joined.table))
    chosen = tuple(ChosenTable(c, features) for _, c, features in ranked[:k])
    return TableChoice(chosen, empty | {c.joined.table: f"below the best {k}" for _, c, _ in ranked[k:]})


def _sure_relevance(n_columns: int) -> float:
    """Return a relevance that of so many columns of noise one exceeds in one of twenty searches, at most.

    The tail of the normal distribution above z is below exp(−z² / 2).
    """
    return max(RELEVANT, float(np.sqrt(2 * np.log(20 * max(1, n_columns)))))


def _table_relevance(features: Sequence[FeatureColumn], task: SelectionTask, candidate: CandidateTable) -> float:
    rows = np.arange(task.target.codes.size)
    n = n_independent(task.groups(candidate), rows)
    target = task.target.levels(bins_for(n))
    return max(relevance(feature.bins, target, n) for feature in features)
