"""What a selection of tables is made for, and what it comes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.augment.budget import AugmentBudget
from dfjoin.augment.encoding import EncodedColumn, PredictionTarget
from dfjoin.augment.held_out import BOOSTED_TREES, Gain, Learning
from dfjoin.augment.relevance import bins_for, choose_columns
from dfjoin.augment.screening import CandidateTable, FeatureColumn, screening_reason

_COLUMNS_A_TABLE = 12
"""Columns that `select="relevance"` takes of one table, at most."""

RELEVANT = 2.0
"""Smallest relevance of a column, in standard deviations above chance, see `dfjoin.augment.relevance.relevance`."""


@dataclass(frozen=True)
class ChosenTable:
    """A table that is joined, and its columns.

    Parameters
    ----------
    candidate : CandidateTable
    features : tuple of FeatureColumn
    gain : Gain or None
        What the table adds on held-out rows to the other ones that were chosen; None where that was not measured.
    """

    candidate: CandidateTable
    features: tuple[FeatureColumn, ...]
    gain: Gain | None = None


@dataclass(frozen=True)
class TableChoice:
    """What was chosen.

    Parameters
    ----------
    chosen : tuple of ChosenTable
        The one that adds most first.
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
        Takes a candidate, the groups of rows that are held out together, or None.
    seed : int
    budget : AugmentBudget
    learning : Learning
    """

    target: PredictionTarget
    own: Sequence[EncodedColumn]
    groups: Callable[[CandidateTable], NDArray[np.int64] | None]
    seed: int
    budget: AugmentBudget
    learning: Learning = BOOSTED_TREES

    def base(self) -> NDArray[np.float64]:
        """Return the columns of the frame that say something, as numbers."""
        columns = [column.values for column in self.own if not screening_reason(column)]
        return np.column_stack(columns) if columns else np.empty((self.target.codes.size, 0))


def n_independent(groups: NDArray[np.int64] | None, rows: NDArray[np.int64]) -> int:
    """Count the groups of some rows."""
    return rows.size if groups is None else int(np.unique(groups[rows]).size)


def relevant_columns(
    candidate: CandidateTable, task: SelectionTask, least: float = RELEVANT
) -> tuple[FeatureColumn, ...]:
    """Choose the relevant columns of a table that are not redundant."""
    bins = [feature.bins for feature in candidate.features]
    n_groups = n_independent(task.groups(candidate), np.arange(task.target.codes.size))
    target = task.target.levels(bins_for(n_groups))
    chosen = choose_columns(bins, target, n_groups, _COLUMNS_A_TABLE, least)
    return tuple(candidate.features[i] for i in chosen)
