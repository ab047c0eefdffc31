"""Columns that give the target away: its own copies, its near functions, and copies of the frame's table."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin._optional import import_optional
from dfjoin.augment.encoding import EncodedColumn, PredictionTarget, encode_column
from dfjoin.augment.held_out import answers, fold_rows, predict
from dfjoin.augment.relevance import bin_column, mutual_information
from dfjoin.augment.target_copies import numbers_in_texts, spelled_otherwise
from dfjoin.errors import InvalidTypeError
from dfjoin.join.lakes.table_hops import ReachedTable
from dfjoin.types import IndexSettings
from dfjoin.values.frames import column_to_arrow
from dfjoin.values.normalize import normalize_column

__all__ = ["LeakGuard", "is_allowed"]

_EQUAL = 0.95
"""Share of the rows with a value in which a column agrees with another one, beyond chance, to be a copy of it.

This threshold and the others of leaks and of the screening are measured by
``python -m tests.benchmarks.augmentation_thresholds`` on 13 cases, of which 10 are generated: in use, no leak is missed
and no other column refused. 0.9 and 0.99 change nothing.
"""

_SKILL = 0.95
"""Share of the variance of the target that a column explains alone, on held-out rows, to be refused.

0.9 refuses 1.5 % of the columns that do not leak, 0.97 changes nothing, 0.99 misses 2.9 % of the leaks.
"""

_INFORMED = 0.4
"""Share of the target's entropy below which a column cannot have that skill, so that no model is trained: 0.6
misses 2.7 % of the leaks, 0.0 changes nothing but the time."""

_FEWEST_ROWS = 30
"""Fewer rows do not tell whether a column predicts the target."""

_FEWEST_EQUAL = 10
_DIGITS = 9
_COPIED = 0.8
"""Share of the frame's columns that a copy of its table has: 0.6 and 1.0 change nothing."""


def is_allowed(allow: Sequence[str], table: str, column: str) -> bool:
    """Tell whether patterns of tables or of ``table/column`` name a column.

    Examples
    --------
    >>> is_allowed(["cars.csv/price*"], "cars.csv", "price_eur"), is_allowed(["cars.csv"], "cars.csv", "price")
    (True, True)
    """
    return any(fnmatch.fnmatchcase(table, p) or fnmatch.fnmatchcase(f"{table}/{column}", p) for p in allow)


class LeakGuard:
    """What is known of the frame and its target, to compare columns of the lake with.

    Parameters
    ----------
    frame : DataFrame
        The frame, without its target.
    target : PredictionTarget or None
        None: only copies of the frame are found.
    settings : IndexSettings
        How values are normalised.
    allow : sequence of str
        Patterns of what is brought all the same, see `is_allowed`.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        target: PredictionTarget | None,
        settings: IndexSettings,
        allow: Sequence[str] = (),
    ) -> None:
        self._settings = settings
        self._target = target
        self._allow = allow
        self._labels = list(frame.columns)
        self._columns = {i: _row_marks(frame.iloc[:, i], settings) for i in range(frame.shape[1])}
        self._target_marks = None if target is None else _row_marks(target.labels, settings)

    def reasons(self, reached: ReachedTable) -> dict[str, str]:
        """Return the columns of a table that was joined which are refused, and why."""
        names = {
            column: name
            for column, name in reached.new_columns.items()
            if not is_allowed(self._allow, reached.table, column)
        }
        frame = reached.frame
        marks = {column: _row_marks(frame[name], self._settings) for column, name in names.items()}
        copied = self._copy_reason(reached, marks)
        if copied:
            return dict.fromkeys(names, copied)
        if self._target is None:
            return {}
        reasons = {column: self._target_reason(frame[name], marks[column]) for column, name in names.items()}
        return {column: reason for column, reason in reasons.items() if reason}

    def _copy_reason(self, reached: ReachedTable, marks: dict[str, NDArray[np.uint64]]) -> str:
        """Say that a table is a copy of the frame's own, if it has nearly all of its columns row by row."""
        on = reached.hops[0].on
        n_values = {i: np.unique(values[values != 0]).size for i, values in self._columns.items()}
        others = [i for i, label in enumerate(self._labels) if label not in on and n_values[i] > 1]
        if not others or len(reached.hops) > 1:
            return ""
        found = [i for i in others if any(_agree(self._columns[i], theirs) for theirs in marks.values())]
        n_found = len(found)
        if n_found < _COPIED * len(others):
            return ""
        if sum(n_values[i] > 2 for i in found) < 2 and not self._has_target(marks):
            return ""  # one column in common, or some of two values, are no evidence of a copy
        return (
            f"it comes from a copy of the frame: {n_found} of its {len(others)} other columns are in the table, "
            "row by row"
        )

    def _has_target(self, marks: dict[str, NDArray[np.uint64]]) -> bool:
        own = self._target_marks
        return own is not None and any(_agree(own, theirs) for theirs in marks.values())

    def _target_reason(self, column: pd.Series, marks: NDArray[np.uint64]) -> str:
        """Return why a column gives the target away, if it does."""
        assert self._target is not None and self._target_marks is not None
        if _agree(self._target_marks, marks):
            share = float((self._target_marks == marks)[marks != 0].mean())
            return f"it equals the target in {share:.0%} of the rows that have a value"
        encoded = encode_column(column if self._target.is_class else numbers_in_texts(column))
        if told := spelled_otherwise(encoded, self._target):
            return told
        skill = _skill_alone(encoded, self._target)
        if skill >= _SKILL:
            return f"it predicts the target almost alone: it explains {skill:.1%} of its variance on held-out rows"
        return ""


def _row_marks(column: pd.Series, settings: IndexSettings) -> NDArray[np.uint64]:
    """Return a number for each row, equal where the canonical values are; 0 for null.

    Numbers with fractions are compared by nine digits: files and means round them. True is 1, as in means.
    """
    if pd.api.types.is_bool_dtype(column.dtype):
        column = column.astype("Float64")
    if pd.api.types.is_float_dtype(column.dtype):
        numbers = column.to_numpy(np.float64, na_value=np.nan)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.abs(numbers))))
            rounded = np.round(numbers * scale) / scale
        column = pd.Series(np.where(np.isfinite(rounded), rounded, numbers), name=column.name)
    try:
        values = normalize_column(column_to_arrow(column), settings)
    except InvalidTypeError:
        return np.zeros(len(column), np.uint64)
    return np.append(values.hashes, np.uint64(0))[values.codes]


def _agree(own: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> bool:
    """Tell whether two columns agree in nearly all rows where both have a value, beyond what chance explains."""
    both = (own != 0) & (theirs != 0)
    n_both = int(both.sum())
    if n_both < min(_FEWEST_EQUAL, own.size) or n_both == 0:
        return False
    share = float((own[both] == theirs[both]).mean())
    if share < _EQUAL:
        return False
    _, counts = np.unique(own[both], return_counts=True)
    chance = float(((counts / n_both) ** 2).sum())
    return chance < 1 and (share - chance) / (1 - chance) >= 1 - 2 * (1 - _EQUAL)


def _skill_alone(column: EncodedColumn, target: PredictionTarget) -> float:
    """Return the share of the target's variance that a column explains alone on held-out rows that have a value.

    Of classes the variance is the Brier score of their frequencies. A tree is trained on two thirds of the rows and
    measured on the others, three times. Of numbers a straight line counts as well, which is better where few of them
    are far from all others.
    """
    rows = np.flatnonzero(~np.isnan(column.values))
    if rows.size < _FEWEST_ROWS:
        return 0.0
    own = target.take(rows)
    values = column.values[rows]
    skill = 0.0 if own.is_class or not column.is_number else _line_skill(values, own.values[:, 0])
    information, _ = mutual_information(bin_column(column.values, column.is_number)[rows], own.codes)
    shares = np.bincount(own.codes) / rows.size
    entropy = -float((shares[shares > 0] * np.log(shares[shares > 0])).sum())
    if entropy <= 0 or (column.is_number and information < _INFORMED * entropy):
        return skill
    return max(skill, _tree_skill(values, own))


def _line_skill(values: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    """Return the share of the variance that a straight line explains."""
    if values.min() == values.max() or target.min() == target.max():
        return 0.0
    return float(np.corrcoef(values, target)[0, 1]) ** 2


def _tree_skill(values: NDArray[np.float64], target: PredictionTarget) -> float:
    """Return the share of the loss that a tree takes off on held-out rows."""
    tree = import_optional("sklearn.tree", extra="sklearn", purpose="LakeAugmenter")
    make: Any = tree.DecisionTreeClassifier if target.is_class else tree.DecisionTreeRegressor
    folds = fold_rows(target, None, 0) % 3
    lost = scale = 0.0
    for fold in range(3):
        trained, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if held.size == 0 or trained.size == 0 or (target.is_class and np.unique(target.codes[trained]).size < 2):
            continue
        model = make(min_samples_leaf=3, random_state=0).fit(values[trained, None], answers(target, trained))
        part = target.take(held)
        lost += float(part.losses(predict(model, target, values[held, None])).sum())
        mean = target.values[trained].mean(axis=0)
        scale += float(part.losses(np.broadcast_to(mean, (held.size, mean.size))).sum())
    return 1 - lost / scale if scale > 0 else 0.0
