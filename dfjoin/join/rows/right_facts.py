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
from dfjoin.store.table import LakeTable
from dfjoin.values.key_index import KeyIndex
from dfjoin.values.normalize import ValueSet
from dfjoin.values.profile import NumberColumn, is_measured, number_column

_WHOLE_DECIMAL = re.compile(r"decimal\d*\((\d+), 0\)")


class RightFacts(Protocol):
    """What is known of a whole right table."""

    @property
    def is_unique(self) -> bool | None:
        """Whether each of its keys has one row; None where the rows that are joined have to tell."""

    def is_measure(self, name: str) -> bool:
        """Tell whether a column of numbers measures something, see `dfjoin.values.profile.is_measured`."""


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


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
