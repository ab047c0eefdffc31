"""Which tables and columns are taken: all, the relevant ones, or those that help on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dfjoin.augment.elimination import choose_by_elimination
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

__all__ = ["SELECTIONS", "choose_tables"]

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
    empty = {c.reached.table: "none of its columns passed the screening" for c in candidates if not c.features}
    if select == "auto" and task is not None:
        choice = choose_by_elimination(task, k, with_columns)
        if choice.chosen or choice.rejected or not choice.stopped:
            return replace(choice, rejected=empty | choice.rejected)
        n_columns = sum(len(candidate.features) for candidate in with_columns)
        quick = _most_relevant(with_columns, task, k or _TABLES, _sure_relevance(n_columns))
        told = f"{choice.stopped}: the most relevant tables were taken, nothing was measured"
        return replace(quick, rejected=empty | quick.rejected, stopped=told)
    k = _TABLES if k is None else k
    if select is None or task is None:
        order = sorted(with_columns, key=lambda c: -c.reached.usefulness)
        chosen = tuple(ChosenTable(candidate, candidate.features) for candidate in order[:k])
        return TableChoice(chosen, empty | {c.reached.table: f"below the best {k}" for c in order[k:]})
    choice = _most_relevant(with_columns, task, k, RELEVANT)
    return replace(choice, rejected=empty | choice.rejected)


def _most_relevant(candidates: Sequence[CandidateTable], task: SelectionTask, k: int, least: float) -> TableChoice:
    """Take the tables with the most relevant columns."""
    relevant = [(c, relevant_columns(c, task, least)) for c in candidates]
    empty = {c.reached.table: "none of its columns tells of the target" for c, features in relevant if not features}
    ranked = [(_table_relevance(features, task, c), c, features) for c, features in relevant if features]
    ranked.sort(key=lambda item: (-item[0], item[1].reached.table))
    chosen = tuple(ChosenTable(c, features) for _, c, features in ranked[:k])
    return TableChoice(chosen, empty | {c.reached.table: f"below the best {k}" for _, c, _ in ranked[k:]})


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
