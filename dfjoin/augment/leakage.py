"""Columns that give the target away: its own copies, its near functions, and copies of the frame's table."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin._optional import import_optional
from dfjoin._validation import show
from dfjoin.augment.encoding import EncodedColumn, PredictionTarget, encode_column
from dfjoin.augment.held_out import answers, fold_rows, predict
from dfjoin.augment.relevance import bin_column, mutual_information
from dfjoin.augment.suspicion import banded, combined, includes_own_rows, parts_of_target
from dfjoin.augment.target_copies import Spelling, numbers_in_texts, spelled_otherwise
from dfjoin.errors import InvalidTypeError
from dfjoin.join.lakes.table_hops import PathTable
from dfjoin.types import IndexSettings
from dfjoin.values.frames import column_to_arrow
from dfjoin.values.header_meaning import is_year_name, share_a_word
from dfjoin.values.normalize import normalize_column
from dfjoin.values.periods import PeriodColumn, read_periods

_EQUAL = 0.95
"""Share of the rows with a value in which a column agrees with another one, beyond chance, to be a copy of it.

This threshold and the others of leaks and of the screening are measured by
``python -m tests.benchmarks.augmentation_thresholds`` on 13 cases, of which 10 are generated: in use, no leak is missed
and no other column refused. 0.9 and 0.99 change nothing.
"""

_SKILL = 0.95
"""Share of the variance of the target that a column explains alone, on held-out rows, to be suspicious.

0.9 suspects 1.5 % of the columns that do not leak, 0.97 changes nothing, 0.99 misses 2.9 % of the leaks.
"""

_SIBLING = 0.5
"""The same of a column that shares a word with the name of the target."""

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


@dataclass(frozen=True)
class LeakFindings:
    """What is known of the columns of a table that tell much of the target, each with its reason.

    Parameters
    ----------
    refused : dict of str
        Columns that are the target, or stand in a table with it or with the whole frame.
    suspicious : dict of str
        Columns that are made of the target, as far as their values tell, or say nearly all of it.
    known_before : dict of str
        Columns that would be suspicious, but were known before the rows of the frame: only rows that are dated before
        `as_of` are joined.
    """

    refused: dict[str, str] = field(default_factory=dict)
    suspicious: dict[str, str] = field(default_factory=dict)
    known_before: dict[str, str] = field(default_factory=dict)


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
        Patterns of what is added all the same, see `is_allowed`.
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
        self._frame = frame
        self._labels = list(frame.columns)
        self._columns = {i: _row_marks(frame.iloc[:, i], settings) for i in range(frame.shape[1])}
        self._own = [encode_column(frame.iloc[:, i]) for i in range(frame.shape[1])]
        self._target_marks = None if target is None else _row_marks(target.labels, settings)
        periods = (read_periods(frame.iloc[:, i], is_year=is_year_name(label)) for i, label in enumerate(self._labels))
        self._dates = [dates for dates in periods if dates is not None]

    def look_at(self, joined: PathTable, groups: NDArray[np.int64] | None = None) -> LeakFindings:
        """Look for leaks among the columns of a table that was joined.

        Parameters
        ----------
        joined : PathTable
        groups : ndarray of int64, shape (n_rows,), optional
            Key of each row by which the table was joined; None: each row has one of its own.
        """
        names = {
            column: name
            for column, name in joined.new_columns.items()
            if not is_allowed(self._allow, joined.table, column)
        }
        frame = joined.frame
        marks = {column: _row_marks(frame[name], self._settings) for column, name in names.items()}
        if copied := self._copy_reason(joined, marks):
            return LeakFindings(dict.fromkeys(names, copied))
        if self._target is None or not names:
            return LeakFindings()
        encoded = {column: encode_column(_as_numbers(frame[name], self._target)) for column, name in names.items()}
        spelled = {column: self._spelling(encoded[column], marks[column]) for column in names}
        is_before = joined.step.dated is not None
        targets = [
            column
            for column, own in spelled.items()  # of the same thing some days before, nearly all values are the same
            if own is not None and (own.is_exact or not (is_before or self._past_date(joined, column)))
        ]
        if targets:
            beside = f"it stands in a table with `{targets[0]}`, which is the target"
            return LeakFindings({column: getattr(spelled[column], "reason", beside) for column in names})
        reasons = {column: own.reason for column, own in spelled.items() if own is not None}
        reasons |= self._suspicions({column: own for column, own in encoded.items() if column not in reasons}, groups)
        if is_before:
            known = "only rows dated before `as_of` are joined"
            return LeakFindings({}, {}, {column: f"{reason}; {known}" for column, reason in reasons.items()})
        return LeakFindings(
            {}, {column: reason + self._past_date(joined, column) for column, reason in reasons.items()}
        )

    def reasons_together(self, columns: Sequence[EncodedColumn]) -> dict[int, str]:
        """Return which of some columns make the target together, and how."""
        assert self._target is not None
        parts, verb = parts_of_target(columns, self._own, self._target)
        if not parts:
            return {}
        beside = f"with {len(parts) - 1} others" if len(parts) > 1 else "with columns of the frame"
        return dict.fromkeys(parts, f"it is a part of the target: {verb} {beside}, it makes the target exactly")

    def _suspicions(self, columns: dict[str, EncodedColumn], groups: NDArray[np.int64] | None) -> dict[str, str]:
        """Return the columns that seem to be made of the target, and why."""
        assert self._target is not None
        names, encoded = list(columns), list(columns.values())
        reasons = {name: self._suspicion(name, column, groups) for name, column in columns.items()}
        for i, reason in self.reasons_together(encoded).items():
            reasons[names[i]] = reasons[names[i]] or reason
        for pair in combined(encoded, self._target):
            for i, j in (pair, pair[::-1]):
                reasons[names[i]] = reasons[names[i]] or f"with `{names[j]}` it says the class of the target"
        return {name: reason for name, reason in reasons.items() if reason}

    def _suspicion(self, name: str, column: EncodedColumn, groups: NDArray[np.int64] | None) -> str:
        target = self._target
        assert target is not None
        made_of, teller = banded(column, target), column
        if not made_of and column.n_held < column.values.size:
            teller = EncodedColumn(np.isnan(column.values).astype(np.float64), False, 2)
            if bands := banded(teller, target):
                made_of = f"whether it has a value tells of the target: {bands}"
        if not made_of and includes_own_rows(column, target, groups):
            made_of, teller = "it has group means of the target in which the own rows are counted", column
        if made_of:
            return f"{made_of}; {_explains(_skill_alone(teller, target))}"
        alone = _skill_alone(column, target) if _may_predict(column, target) else 0.0
        if alone >= _SKILL:
            return _explains(alone)
        label = target.labels.name
        if alone >= _SIBLING and label is not None and share_a_word(str(label), name):
            return f"its name is like that of the target, {show(label)}; {_explains(alone)}"
        return ""

    def _copy_reason(self, joined: PathTable, marks: dict[str, NDArray[np.uint64]]) -> str:
        """Say that a table is a copy of the frame's own, if it has nearly all of its columns row by row."""
        on = joined.hops[0].on
        n_values = {i: np.unique(values[values != 0]).size for i, values in self._columns.items()}
        others = [i for i, label in enumerate(self._labels) if label not in on and n_values[i] > 1]
        if not others or len(joined.hops) > 1:
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

    def _spelling(self, column: EncodedColumn, marks: NDArray[np.uint64]) -> Spelling | None:
        """Return how a column spells the target, if it does."""
        assert self._target is not None and self._target_marks is not None
        if _agree(self._target_marks, marks):
            share = float((self._target_marks == marks)[marks != 0].mean())
            shown = "100%" if share == 1 else f"{min(share, 0.999):.1%}"
            return Spelling(f"it equals the target in {shown} of the rows that have a value", share == 1)
        return spelled_otherwise(column, self._target)

    def _past_date(self, joined: PathTable, reasons: str) -> str:
        """Name a column of dates before those of the frame, where a suspicious column has values; empty without one.

        It may date the row, or anything else, as a birth: it is reported, and clears no column.
        """
        is_held = joined.frame[joined.new_columns[reasons]].notna().to_numpy()
        for column, name in joined.new_columns.items() if self._dates else ():
            theirs = read_periods(joined.frame[name], is_year=is_year_name(column))
            if theirs is not None and any(_are_before(theirs, own, is_held) for own in self._dates):
                return f"; `{column}` lies before the date of each row: if it dates the row, pass `as_of`"
        return ""


def _are_before(theirs: PeriodColumn, own: PeriodColumn, is_held: NDArray[np.bool_]) -> bool:
    """Tell whether nearly all rows that have a value have both dates, in this order."""
    both = is_held & ~own.is_null & ~theirs.is_null
    is_dated = int(both.sum()) >= max(_FEWEST_EQUAL, _EQUAL * int(is_held.sum()))
    return is_dated and bool((theirs.ends[both] <= own.starts[both]).all())


def _as_numbers(column: pd.Series, target: PredictionTarget) -> pd.Series:
    return column if target.is_class else numbers_in_texts(column)


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


def _explains(share: float) -> str:
    return f"it explains {max(0.0, share):.0%} of the target's variance alone, on held-out rows"


def _may_predict(column: EncodedColumn, target: PredictionTarget) -> bool:
    """Tell whether a column may explain nearly all of the target, by what it tells about it in bins: cheap."""
    rows = np.flatnonzero(~np.isnan(column.values))
    own = target.take(rows)
    if rows.size < _FEWEST_ROWS or not column.is_number:
        return rows.size >= _FEWEST_ROWS
    if not own.is_class and _line_skill(column.values[rows], own.values[:, 0]) >= _SIBLING:
        return True
    information, _ = mutual_information(bin_column(column.values, True)[rows], own.codes)
    return information >= _INFORMED * _entropy(own.codes)


def _entropy(codes: NDArray[np.int64]) -> float:
    shares = np.bincount(codes) / max(1, codes.size)
    return -float((shares[shares > 0] * np.log(shares[shares > 0])).sum())


def _skill_alone(column: EncodedColumn, target: PredictionTarget) -> float:
    """Return the share of the target's variance that a column explains alone on held-out rows that have a value.

    Of classes the variance is the Brier score of their frequencies. A tree is trained on two thirds of the rows and
    measured on the others, three times. Of numbers a straight line counts as well, which is better where few of them
    are far from all others.
    """
    rows = np.flatnonzero(~np.isnan(column.values))
    own = target.take(rows)
    if rows.size < _FEWEST_ROWS or _entropy(own.codes) <= 0:
        return 0.0
    values = column.values[rows]
    line = 0.0 if own.is_class or not column.is_number else _line_skill(values, own.values[:, 0])
    return max(line, _tree_skill(values, own))


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
