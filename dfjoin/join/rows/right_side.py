"""The right side of a step: rows of a table, what is known of the whole table, and copies of columns for several rules.

What is known of the table, whatever rows of it are joined, decides types and rules: results do not depend on the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS
from dfjoin.join.aggregate import as_floats, cell_kind
from dfjoin.join.plan import JoinStep
from dfjoin.join.rules import CellRules, check_rule, names_of_rules, split_rule, without_dates
from dfjoin.store.table import LakeTable
from dfjoin.values.header_meaning import is_year_name
from dfjoin.values.key_index import KeyIndex, row_of_keys
from dfjoin.values.normalize import ValueSet
from dfjoin.values.profile import NumberColumn, is_measured, number_column

_WHOLE_DECIMAL = re.compile(r"decimal\d*\((\d+), 0\)")

_LONGEST_SUBJECT = 24
"""Letters up to which a text fits into names of columns."""


class RightFacts(Protocol):
    """What is known of a whole right table."""

    @property
    def is_unique(self) -> bool | None:
        """Whether each of its keys has one row; None where the rows that are joined have to tell."""

    def is_measure(self, name: str) -> bool:
        """Tell whether a column of numbers measures something, see `dfjoin.values.profile.is_measured`."""

    def subject(self, step: JoinStep) -> str:
        """Return what all rows are about and no column that a step brings says; empty where nothing tells."""


class FrameFacts:
    """What is known of a frame.

    Parameters
    ----------
    frame : DataFrame
        All of its rows.
    parts : sequence of ValueSet
        Its key columns, in canonical form; empty where keys are not equal.
    """

    def __init__(self, frame: pd.DataFrame, parts: Sequence[ValueSet] = ()) -> None:
        self._frame = frame
        self._parts = parts

    @cached_property
    def is_unique(self) -> bool | None:
        """Whether each of its keys has one row."""
        if not self._parts:
            return None
        if any(len(part) == part.n_rows or len(part) == np.count_nonzero(part.codes >= 0) for part in self._parts):
            return True
        if len(self._parts) == 1:
            return False
        index = KeyIndex.of(self._parts)
        return bool(index.n_keys == np.count_nonzero(index.codes >= 0))

    def is_measure(self, name: str) -> bool:
        """Tell whether a column of numbers measures something; how near a pair is, which the frame lacks, does."""
        if name not in self._frame:
            return True
        column = self._frame[name]
        is_exact = cell_kind(column) != "float"
        return is_measured(name, number_column(as_floats(column), is_exact=is_exact))

    def subject(self, step: JoinStep) -> str:
        """Return nothing: all columns of a frame are added."""
        return ""


class TableFacts:
    """What the index knows of a table of a lake.

    Parameters
    ----------
    table : LakeTable
    key : sequence of str
        Its key columns; empty where keys are not equal.
    """

    def __init__(self, table: LakeTable, key: Sequence[str] = ()) -> None:
        self._table = table
        self._key = key

    @cached_property
    def is_unique(self) -> bool | None:
        """Whether each of its keys has one row; of several columns only known where one of them does."""
        records = [self._table.record(name) for name in self._key]
        if any(record["cardinality"] == record["n_rows"] - record["n_null"] for record in records):
            return True
        return False if len(records) == 1 else None

    def is_measure(self, name: str) -> bool:
        """Tell whether a column of numbers measures something; how near a pair is, which no table has, does."""
        return name not in self._table.column_names or is_measured(name, self.numbers(name))

    def subject(self, step: JoinStep) -> str:
        """Return the text of the first column of one value that a step leaves out, if it may name a thing.

        Only where the key is days or years alone: these do not say what they are days of. One value beside a key of
        names, as the city of all offices, is a fact like others.
        """
        by_period = step.period is not None and len(step.right_on) == 1
        if not by_period and not all(map(self._is_calendar, step.right_on)):
            return ""
        for name in left_out_columns(self._table, step):
            record = self._table.record(name)
            if record["cardinality"] == 1 and KINDS[record["kind"]] == "text":
                for text in filter(_may_name, record["samples"][:1]):
                    return str(text)
        return ""

    def _is_calendar(self, name: str) -> bool:
        """Tell whether a column holds days, or has the header of years."""
        return KINDS[self._table.record(name)["kind"]] == "date" or is_year_name(name)

    def numbers(self, name: str) -> NumberColumn:
        """Describe the numbers of a column as the index has it."""
        record: dict[str, Any] = self._table.record(name)

        is_exact, is_whole = KINDS[record["kind"]] != "float", KINDS[record["kind"]] == "integer"
        declared = _WHOLE_DECIMAL.fullmatch(record["type"])
        if record["has_range"]:
            low, high = float(record["min_integer"]), float(record["max_integer"])
        elif declared:  # its first and last values are those of texts
            is_whole, high = True, 10.0 ** int(declared[1])
            low = -high
        else:
            low, high = (_float(record[bound]) for bound in ("min", "max"))
        n_values = record["n_rows"] - record["n_null"]
        return NumberColumn(n_values, low, high, is_whole, is_exact, lambda: record["cardinality"])


@dataclass(frozen=True)
class RightSide:
    """The rows of a right table that take part.

    Parameters
    ----------
    frame : DataFrame
        The columns to bring.
    keys : DataFrame
        The key columns in the right table's spelling, same rows; without columns where no row needs them.
    codes : ndarray of int64, shape (n_rows,)
        Left key of each row; n_left_keys and above for keys that the left side lacks, -1 for nulls.
    n_keys : int
        Codes are below it.
    stem : str
        Short name of the table.
    relation : dict
        How the keys are related where they are not equal, as plain JSON values for the report.
    left_out : dict of str
        Columns of the table that are not added though nobody left them out → why.
    rows : ndarray of int64, shape (n_rows,), or None
        Row of the table for each row, where one stands there once for each of its keys; None: each stands there once.
    object_kinds : dict of str
        Columns that are held as objects → what the whole column holds ("decimal", "date", …), so that the dtype of
        the result does not depend on the rows that match. A column that is not named tells it by its rows.
    facts : RightFacts or None
        What is known of the whole table; None: these rows tell.
    marks : DataFrame or None
        How the key of each row was matched, see `match_marks`; None: keys are equal.
    decided : dict
        Fields of the step that pairing the keys decided, so that a later join by the same plan decides nothing anew.
    ages : ndarray of float64, shape (n_rows,), or None
        Days from the end of the date or period of each row to the date of its key; None where keys have no dates.
    """

    frame: pd.DataFrame
    keys: pd.DataFrame
    codes: NDArray[np.int64]
    n_keys: int
    stem: str
    relation: dict[str, Any] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    object_kinds: dict[str, str] = field(default_factory=dict)
    rows: NDArray[np.int64] | None = None
    facts: RightFacts | None = None
    marks: pd.DataFrame | None = None
    decided: dict[str, Any] = field(default_factory=dict)
    ages: NDArray[np.float64] | None = None

    def rules(self, aggregate: Any, step: JoinStep) -> CellRules:
        """Decide how cells of several rows become one, as a step says that was made before.

        Parameters
        ----------
        aggregate : str or dict
            Checked, see `dfjoin.join.rules.check_aggregate`.
        step : JoinStep
        """
        facts = FrameFacts(self.frame) if self.facts is None else self.facts
        is_unique = facts.is_unique if step.is_unique is None else step.is_unique
        if is_unique is None:
            is_unique = row_of_keys(self.codes, self.n_keys) is not None
        measures = None if step.measures is None else set(step.measures)
        aggregate = without_dates(aggregate, self.frame.columns, step.dated)
        return CellRules(aggregate, is_unique, facts.is_measure if measures is None else measures.__contains__)


def left_out_columns(table: LakeTable, step: JoinStep) -> dict[str, str]:
    """Return the columns that a step leaves out as they say nothing, and why; those that it names are added."""
    if step.columns is not None:
        return {}
    named = {*step.right_on, *(step.aggregate if isinstance(step.aggregate, dict) else ())}
    return {name: reason for name, reason in table.void_columns.items() if name not in named}


def _may_name(text: str) -> bool:
    """Tell whether a text may name what a table is about: ``Spain``, but not ``NA`` or ``3/20/2014 3:33 PM``."""
    n_letters = sum(map(str.isalpha, text))
    return n_letters > 2 and 2 * n_letters > len(text) and len(text) <= _LONGEST_SUBJECT


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def spread_rules(right: RightSide, aggregate: Any) -> tuple[RightSide, Any]:
    """Give a right side a copy of a column for each of its rules, where a step has several for it.

    Parameters
    ----------
    right : RightSide
        With `ages` where a rule needs the order of the rows in time.
    aggregate : str, dict or None
        Of a step: a dict may have a list of rules for a column.

    Returns
    -------
    right : RightSide
        Where rows have ages, the oldest row first: ``last`` is the latest one then.
    aggregate : str, dict or None
        One rule for each column.

    Raises
    ------
    InvalidParameterError
        If a rule needs dates and the rows have none, or does not suit the values of its column.
    """
    if not isinstance(aggregate, dict) or not any(isinstance(rules, list) for rules in aggregate.values()):
        return right, aggregate
    if right.ages is not None:
        right = _oldest_first(right, right.ages)
    kinds = dict(right.object_kinds)
    copies = names_of_rules(right.frame.columns, aggregate)
    stays = [name for name in right.frame.columns if not isinstance(aggregate.get(name), list)]
    made = {name: right.frame[name] for name in stays}
    rules = {name: aggregate[name] for name in stays if aggregate.get(name) is not None}
    for copy, (name, rule) in copies.items():
        made[copy], rules[copy] = _copy(right, name, rule)
        kinds |= {copy: kinds[name]} if name in kinds and rule != "since" else {}
    frame = pd.DataFrame(made, index=right.frame.index)
    return replace(right, frame=frame, object_kinds=kinds), rules


def _oldest_first(right: RightSide, ages: np.ndarray) -> RightSide:
    order = np.argsort(-ages, kind="stable")
    take: Callable[[pd.DataFrame], pd.DataFrame] = lambda side: side.iloc[order].reset_index(drop=True)  # noqa: E731
    rows = None if right.rows is None else right.rows[order]
    sides = take(right.frame), take(right.keys)
    return replace(right, frame=sides[0], keys=sides[1], codes=right.codes[order], rows=rows, ages=ages[order])


def _copy(right: RightSide, name: str, rule: str) -> tuple[pd.Series, str]:
    """Return the cells that a rule is applied to, and the rule without its window."""
    column, (base, days) = right.frame[name], split_rule(name, rule, is_dated=right.ages is not None)
    if base != "since":
        check_rule(name, column.dtype, cell_kind(column, right.object_kinds.get(name, "")), base, "aggregates")
    else:
        assert right.ages is not None
        column, base = pd.Series(right.ages).where(column.notna().to_numpy()), "min"
    if days is not None:
        assert right.ages is not None
        column = column.where(right.ages < days)  # a row that ended a day ago is of the day before
    return column, base
