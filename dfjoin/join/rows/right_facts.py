"""What is known of a whole right table, whatever rows of it are joined: so that types follow from the table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from dfjoin.index.catalog import KINDS
from dfjoin.join.aggregate import as_floats, cell_kind
from dfjoin.join.plan import JoinStep
from dfjoin.store.table import LakeTable
from dfjoin.values.header_meaning import is_year_name
from dfjoin.values.key_index import KeyIndex
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
        if any(len(part) == np.count_nonzero(part.codes >= 0) for part in self._parts):
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
