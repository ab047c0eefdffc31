"""Keys: the columns of a frame in canonical form, and the rows of two sides that have the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.errors import InvalidTypeError
from dfjoin.search.query import QueryColumn
from dfjoin.types import IndexSettings
from dfjoin.values.float_values import lists_of, spell_lists
from dfjoin.values.frames import column_to_arrow, select_column
from dfjoin.values.key_index import KeyIndex
from dfjoin.values.normalize import normalize_column
from dfjoin.values.profile import has_fractions, profile_values
from dfjoin.values.value_set import ValueSet, keep_values
from dfjoin.values.zero_padding import respell_zeros

__all__ = ["KeyColumns", "take_values"]


class KeyColumns:
    """The columns of a frame as keys: each is made Arrow and normalised once, when it is first asked for.

    Parameters
    ----------
    frame : DataFrame
    settings : IndexSettings
        Normalisation of both sides.
    argument : str
        Name of the argument that names its columns, for messages.
    pad : int or None
        Digits to which the integers of keys are written with zeros in front, where nothing else is said.
    """

    def __init__(
        self, frame: pd.DataFrame, settings: IndexSettings, argument: str = "on", pad: int | None = None
    ) -> None:
        self.frame = frame
        self.settings = settings
        self._argument = argument
        self._pad = pad
        self._arrays: dict[int, pa.Array | pa.ChunkedArray] = {}
        self._values: dict[tuple[int, int | None, bool | None], ValueSet] = {}
        self._queries: dict[int, QueryColumn] = {}
        self._indexes: dict[tuple[tuple[int, ...], int | None, bool | None], KeyIndex] = {}

    def position(self, label: Any) -> int:
        """Return the position of a column; raises when there is none of that label, or several."""
        select_column(self.frame, label, self._argument)
        position = self.frame.columns.get_loc(label)
        assert isinstance(position, int)  # several columns of one label were refused
        return position

    def array(self, position: int) -> pa.Array | pa.ChunkedArray:
        """Return a column as Arrow; raises `InvalidTypeError` for one that holds lists, dicts or bytes."""
        if position not in self._arrays:
            self._arrays[position] = column_to_arrow(self.frame.iloc[:, position], self._argument)
        return self._arrays[position]

    def values(self, position: int, pad: int | None = None, dayfirst: bool | None = None) -> ValueSet:
        """Return the canonical values of a column, read with a width of integers and an order of dates."""
        key = position, pad, dayfirst
        if key not in self._values:
            settings = self.settings if dayfirst is None else replace(self.settings, dayfirst=dayfirst)
            values = normalize_column(self.array(position), settings)
            self._values[key] = respell_zeros(values, pad, settings)
        return self._values[key]

    def point_values(self, position: int, pad: int | None, dayfirst: bool | None) -> ValueSet:
        """Return the canonical values of a column that is joined by distance; of one of lists, these as texts."""
        lists = lists_of(self.frame.iloc[:, position])
        if lists is None:
            return self.values(position, pad, dayfirst)
        return normalize_column(spell_lists(lists), self.settings)

    def all_values(self) -> list[ValueSet]:
        """Return the values of every column that has any, in the order of the columns."""
        found = []
        for position in range(self.frame.shape[1]):
            try:
                values = self.values(position)
            except InvalidTypeError:
                continue
            if len(values):
                found.append(values)
        return found

    def candidates(self) -> list[QueryColumn]:
        """Return the columns that can be keys: text, integers or dates with two values or more."""
        found = []
        for position in range(self.frame.shape[1]):
            try:
                if has_fractions(self.array(position)):
                    continue
                query = self.query(position)
            except InvalidTypeError:
                continue
            if query.profile.is_indexable:
                found.append(query)
        return found

    def query(self, position: int) -> QueryColumn:
        """Return a column as a search has it."""
        if position not in self._queries:
            column, values = self.frame.iloc[:, position], self.values(position, self._pad)
            profile = profile_values(values, self.array(position).type, has_texts=False)
            self._queries[position] = QueryColumn(str(column.name), column.name, column, values, profile)
        return self._queries[position]

    def index(self, labels: Sequence[Any], pad: int | None = None, dayfirst: bool | None = None) -> KeyIndex:
        """Number the keys that some columns make together."""
        positions = tuple(self.position(label) for label in labels)
        pad = self._pad if pad is None else pad
        key = positions, pad, dayfirst
        if key not in self._indexes:
            self._indexes[key] = KeyIndex.of([self.values(position, pad, dayfirst) for position in positions])
        return self._indexes[key]

    def parts(self, labels: Sequence[Any]) -> list[ValueSet]:
        """Return the canonical values of some columns."""
        return [self.values(self.position(label), self._pad) for label in labels]

    def remember(self, queries: Sequence[QueryColumn]) -> None:
        """Keep what a search of this frame has normalised already."""
        for query in queries:
            if len(query.labels) > 1:  # points, whose columns are read as numbers
                continue
            position = self.frame.columns.get_loc(query.label)
            if isinstance(position, int):
                self._values[position, query.pad, query.dayfirst] = query.values

    def after(self, frame: pd.DataFrame, rows: NDArray[np.int64]) -> KeyColumns:
        """Return the columns of this frame after a join.

        Parameters
        ----------
        frame : DataFrame
            The columns of this one, then others.
        rows : ndarray of int64, shape (n_rows,)
            Row of this frame for each of its rows; -1 where it has none.
        """
        columns = KeyColumns(frame, self.settings, self._argument, self._pad)
        if rows.min(initial=0) < 0:  # keys were filled in from the other side
            return columns
        if rows.size == len(self.frame) and bool((rows == np.arange(rows.size)).all()):
            columns._arrays, columns._values, columns._indexes = (
                dict(self._arrays),
                dict(self._values),
                dict(self._indexes),
            )
        else:
            columns._values = {key: take_values(values, rows) for key, values in self._values.items()}
        return columns


def take_values(values: ValueSet, rows: NDArray[np.int64]) -> ValueSet:
    """Return the values of some rows; the others are dropped, the order stays."""
    codes = values.codes[rows]
    is_held = np.zeros(len(values), bool)
    is_held[codes[codes >= 0]] = True
    if is_held.all():
        return replace(values, codes=codes)
    return keep_values(replace(values, codes=codes), is_held)
