"""A query column on its way into the index: its values and its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.kernels.lists.key_tuples import TupleTable, table_of
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.kernels.texts.numbers import INTEGER, parse_integers
from dfjoin.search.usefulness.lake_facts import FIRST_YEAR, LAST_YEAR
from dfjoin.types import IndexSettings
from dfjoin.values.cells import CONVERSION_ERRORS, whole_text
from dfjoin.values.frames import column_to_arrow
from dfjoin.values.key_index import KeyIndex
from dfjoin.values.normalize import ValueSet, normalize_column, read_only, with_own_numbers
from dfjoin.values.periods import are_periods
from dfjoin.values.profile import Profile, profile_values
from dfjoin.values.zero_padding import pad_integers

_MOST_DIGITS = 18
_DIGITS_OF_YEAR = 4

_MOST_DAYS = 5000
"""Texts up to which they are read as days: those of some thirteen years."""


class HeldValues(NamedTuple):
    """How many columns of a lake hold each value of a query, and how many hold any value at all."""

    n_holding: NDArray[np.int64]
    n_columns: int


@dataclass(frozen=True)
class QueryColumn:
    """A column of the user's frame, normalised as the lake was.

    Parameters
    ----------
    name : str
        As shown in results.
    label : hashable
        Label in the frame.
    column : Series
        The user's column.
    values : ValueSet
        Its distinct values.
    profile : Profile
        Kind and range of integers.
    pad : int or None
        Width to which integers were padded with zeros; −5: texts of five digits were read without theirs.
    dayfirst : bool or None
        How all-digit dates were read.
    companions : tuple of str
        Names of the columns of its frame, where this is known.
    period : str or None
        The values are periods of this granularity, in which dates of the frame lie, in one of their spellings.
    """

    name: str
    label: object
    column: pd.Series
    values: ValueSet
    profile: Profile
    pad: int | None = None
    dayfirst: bool | None = None
    companions: tuple[str, ...] = ()
    period: str | None = None

    @property
    def labels(self) -> list[Any]:
        """Labels of the columns that make the query."""
        return [self.label]

    @property
    def kind(self) -> str:
        """Kind of its values, one of `dfjoin.index.catalog.KINDS`, or "point"."""
        return self.profile.kind

    @cached_property
    def n_non_null(self) -> int:
        """Rows with a value."""
        return int(np.count_nonzero(self.values.codes >= 0))

    @property
    def is_unique(self) -> bool:
        """No value occurs twice."""
        return self.n_non_null == self.n_values

    @property
    def n_values(self) -> int:
        """Distinct values."""
        return len(self.values)

    @cached_property
    def integers(self) -> NDArray[np.int64]:
        """The values as sorted numbers; only for a column of integers."""
        return read_only(np.sort(parse_integers(self.values.data, self.values.offsets)))

    @cached_property
    def held_integers(self) -> NDArray[np.int64]:
        """The values that are integers as sorted numbers; of a column of other kinds those of at most 18 characters."""
        if self.profile.has_range:
            return self.integers
        found = integers_among(self.values, _MOST_DIGITS)
        found.sort()
        return read_only(found)

    @cached_property
    def digit_range(self) -> tuple[int, int] | None:
        """The smallest and the largest value where all are digits, at most 18, zeros in front or not; else None."""
        return digit_range(self.values)

    @cached_property
    def holds_dates(self) -> bool:
        """Its values are dates, or most of them days, months, years or other periods."""
        return self.kind == "date" or self._are_mostly_years() or self._are_mostly_days()

    def _are_mostly_years(self) -> bool:
        """Tell whether most values are years: a few may have footnotes, or lie in antiquity."""
        if self.n_values > 2 * (LAST_YEAR - FIRST_YEAR + 1):  # there are not so many years
            return False
        values = self.values.values()
        n_years = sum(len(v) == _DIGITS_OF_YEAR and v.isdecimal() and FIRST_YEAR <= int(v) <= LAST_YEAR for v in values)
        return 2 * n_years > len(values)

    def _are_mostly_days(self) -> bool:
        """Tell whether most of some texts are days, months or other periods: ``March 11``, ``APR 1948``, ``Monday``."""
        return self.kind == "text" and self.n_values <= _MOST_DAYS and are_periods(self.values.values())

    def spelling(self, code: int) -> str:
        """Return a value as the user's column spells it first."""
        row = int(np.argmax(self.values.codes == code))
        try:
            return whole_text(str(self.column.iloc[row]))
        except CONVERSION_ERRORS:  # a date that Python does not have
            return self.values.value(code)

    def spellings(self, codes: NDArray[np.integer]) -> list[str]:
        """Return values as the user's column spells them first, or all in canonical form if it cannot spell some."""
        try:
            return self.column.iloc[self.values.first_rows()[codes]].astype(str).to_list()
        except CONVERSION_ERRORS:
            return [self.values.value(code) for code in codes.tolist()]


def integers_among(values: ValueSet, most: int) -> NDArray[np.int64]:
    """Return those values that are integers of at most so many characters, in their order."""
    if INTEGER not in values.classes.tobytes():
        return np.empty(0, np.int64)
    lengths = np.diff(values.offsets)
    chosen = np.flatnonzero((values.classes == INTEGER) & (lengths <= most))
    positions = expand_stretches(values.offsets[chosen], lengths[chosen])
    return parse_integers(values.data[positions], np.append(0, np.cumsum(lengths[chosen])))


def digit_range(values: ValueSet) -> tuple[int, int] | None:
    """Return the smallest and the largest value where all are digits, at most 18; else None."""
    used = values.data[: values.offsets[-1]]
    if used.size == 0 or not ord("0") <= used[0] <= ord("9"):  # as a rule the first byte tells
        return None
    if used.min() < ord("0") or used.max() > ord("9"):
        return None
    if np.diff(values.offsets).max() > _MOST_DIGITS:
        return None
    numbers = parse_integers(values.data, values.offsets)
    return int(numbers.min()), int(numbers.max())


def normalize_key(
    column: pd.Series, settings: IndexSettings, pad: int | None, dayfirst: bool | None, argument: str = "on"
) -> tuple[ValueSet, pa.DataType]:
    """Normalise a key column of a frame; return its values and the Arrow type they came from."""
    array = column_to_arrow(column, argument)
    if dayfirst is not None:
        settings = replace(settings, dayfirst=dayfirst)
    values = with_own_numbers(normalize_column(array, settings))
    return (values if pad is None else pad_integers(values, pad, settings)), array.type


def make_query(
    column: pd.Series,
    settings: IndexSettings,
    *,
    pad: int | None = None,
    dayfirst: bool | None = None,
    argument: str = "on",
    name: str | None = None,
) -> QueryColumn:
    """Normalise a column of a frame for a search.

    Raises
    ------
    InvalidTypeError
        If it holds lists, dicts or bytes.
    """
    values, type_ = normalize_key(column, settings, pad, dayfirst, argument)
    shown = str(column.name) if name is None else name
    profile = profile_values(values, type_, has_texts=False)  # no search asks for the first and last text
    return QueryColumn(shown, column.name, column, values, profile, pad, dayfirst)


# A key of several columns of the user's frame ---------------------------------------------------------------


def joined_names(names: Sequence[object]) -> str:
    """Write the names of the columns of a key as one.

    Examples
    --------
    >>> joined_names(["county", "state"])
    'county + state'
    """
    return " + ".join(map(str, names))


@dataclass(frozen=True)
class KeyQuery:
    """The columns of a key, and its distinct tuples of values.

    Parameters
    ----------
    columns : tuple of QueryColumn
        At least two.
    index : KeyIndex
        The number of the tuple of each row, -1 where a part is null.
    parts : ndarray of int64, shape (n_keys, n_columns)
        The number of the value of each part of each tuple.
    first_rows : ndarray of int64, shape (n_keys,)
        The first row of each tuple.
    """

    columns: tuple[QueryColumn, ...]
    index: KeyIndex
    parts: NDArray[np.int64]
    first_rows: NDArray[np.int64]

    @cached_property
    def table(self) -> TupleTable:
        """The tuples, to be found by the numbers of their parts."""
        return table_of(np.ascontiguousarray(self.parts.T, np.int32), [len(column.values) for column in self.columns])

    @property
    def name(self) -> str:
        """As shown in results."""
        return joined_names([column.name for column in self.columns])

    @property
    def period(self) -> str | None:
        """Granularity of the part that holds periods, None where no part does."""
        return next((column.period for column in self.columns if column.period), None)

    @property
    def n_keys(self) -> int:
        """Distinct tuples without a null."""
        return self.index.n_keys

    @property
    def is_unique(self) -> bool:
        """No tuple occurs twice."""
        return int(np.count_nonzero(self.index.codes >= 0)) == self.n_keys

    def spelling(self, key: int) -> str:
        """Return a tuple as the user's columns spell its parts first."""
        parts = zip(self.columns, self.parts[key].tolist(), strict=True)
        return joined_names([column.spelling(part) for column, part in parts])

    def canonical(self, key: int) -> str:
        """Return a tuple with its parts in canonical form."""
        parts = zip(self.columns, self.parts[key].tolist(), strict=True)
        return joined_names([column.values.value(part) for column, part in parts])


def make_key_query(columns: Sequence[QueryColumn]) -> KeyQuery:
    """Number the tuples that some columns of one frame make together. O(rows log rows) for each column."""
    index = KeyIndex.of([column.values for column in columns])
    rows = np.flatnonzero(index.codes >= 0)
    first = np.empty(index.n_keys, np.int64)
    first[index.codes[rows[::-1]]] = rows[::-1]
    parts = np.stack([column.values.codes[first].astype(np.int64) for column in columns], axis=1)
    return KeyQuery(tuple(columns), index, parts, first)
