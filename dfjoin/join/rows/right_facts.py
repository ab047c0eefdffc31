"""What is known of a whole right table, whatever rows of it are joined: so that types follow from the table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS
from dfjoin.index.column_values import tokens_of_column, value_of_token
from dfjoin.join.aggregate import as_floats, cell_kind
from dfjoin.store.table import LakeTable
from dfjoin.values.key_index import KeyIndex
from dfjoin.values.measures import MOST_LOOKED_AT, NumberColumn, is_measured, number_column
from dfjoin.values.value_set import ValueSet

__all__ = ["FrameFacts", "RightFacts", "TableFacts"]


_WHOLE_DECIMAL = re.compile(r"decimal\d*\((\d+), 0\)")


class RightFacts(Protocol):
    """What is known of a whole right table."""

    @property
    def is_unique(self) -> bool | None:
        """Whether each of its keys has one row; None where the rows that are joined have to tell."""

    def is_measure(self, name: str) -> bool:
        """Tell whether a column of numbers measures something, see `dfjoin.values.measures.is_measured`."""


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
        """Tell whether a column of numbers measures something."""
        return is_measured(name, self._numbers(self._table.record(name)))

    def _numbers(self, record: dict[str, Any]) -> NumberColumn:
        """Describe the numbers of a column as the index has it."""

        def distinct() -> tuple[int, NDArray[np.float64]]:
            return record["cardinality"], self._some_values(record["name"])

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
        return NumberColumn(n_values, low, high, is_whole, is_exact, distinct)

    def _some_values(self, name: str) -> NDArray[np.float64]:
        """Return some distinct values of an indexed column: those with the smallest hashes."""
        segment, _ = self._table.snapshot.find_table(self._table.name)
        tokens = np.sort(tokens_of_column(segment, self._table.column_number(name)))[:MOST_LOOKED_AT]
        values = np.array([_float(value_of_token(segment, int(token))) for token in tokens], np.float64)
        return np.sort(values[np.isfinite(values)])


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
