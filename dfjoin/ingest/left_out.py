"""Columns that the patterns of an index leave out: they are listed, and none of their values is kept anywhere."""

from __future__ import annotations

import fnmatch
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.index.catalog import NOT_IN_FILE
from dfjoin.ingest.column_buffer import EntryBuffer, NotContinued, count_nulls, profile_record
from dfjoin.ingest.undecided import Undecided
from dfjoin.kernels.texts.numbers import DAY_MONTH_YEAR
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import (
    NO_VALUES,
    ValueSet,
    keep_values,
    normalize_batch,
    null_codes,
    read_dates,
    unite_value_sets,
)
from dfjoin.values.nulls import NullEvidence
from dfjoin.values.profile import Profile, kind_of, merge_profiles
from dfjoin.values.text_batch import TextColumn


def is_wanted_table(name: str, settings: IndexSettings) -> bool:
    """Tell whether the patterns let a table be read."""
    return not settings.tables or _matches(name, settings.tables)


def may_hold_wanted(name: str, settings: IndexSettings) -> bool:
    """Tell whether a file of this name may hold a table, called ``<name>/…``, that the patterns let be read.

    Examples
    --------
    >>> may_hold_wanted("book.xlsx", IndexSettings(tables=("book*/May",)))
    True
    """
    starts = (pattern[:end] for pattern in settings.tables for end in range(len(pattern) + 1))
    return is_wanted_table(name, settings) or any(fnmatch.fnmatchcase(f"{name}/", start) for start in starts)


def is_wanted(table: str, column: str, settings: IndexSettings) -> bool:
    """Tell whether the patterns let a column be indexed."""
    if not settings.columns and not settings.exclude:
        return True
    path = f"{table}/{column}"
    if settings.columns and not _matches(path, settings.columns):
        return False
    return not _matches(path, settings.exclude)


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether a column is named, or matches a pattern: a name may look like a pattern."""
    return path in patterns or any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


class LeftOutColumn:
    """A column that is left out, while its table is read: rows, nulls and what its cells are, by type or spelling.

    Parameters
    ----------
    type_ : pyarrow.DataType
        Type of the column.
    settings : IndexSettings
        Normalisation.

    Notes
    -----
    Text is normalised only until its kind is settled, which a single value that is neither a number nor a date nor a
    boolean word does. No value outlives its batch but all-digit dates, of which a calendar has few, and these are
    never written. Distinct values are not counted.
    """

    held = 0
    undecided: Undecided | None = None

    def __init__(self, type_: pa.DataType, settings: IndexSettings) -> None:
        self.type = type_
        self._settings = settings
        self._is_text = pa.types.is_string(type_) or pa.types.is_large_string(type_)
        self._parts: list[Profile] = []
        self._dates: list[ValueSet] = []
        self._n_rows = 0
        self._n_null = 0
        self._null_rows: dict[str, int] = {}
        self._evidence = NullEvidence()

    @property
    def _is_settled(self) -> bool:
        if self._settings.null_evidence and self._is_text:
            return False  # whether a text is a null is known by all values
        return not self._is_text or any(part.kind == "text" for part in self._parts)

    def takes_texts(self) -> bool:
        """Return False: no value is kept."""
        return False

    def add(self, array: pa.Array, _: TextColumn | None = None) -> None:
        """Take the column's next batch."""
        self._n_rows += len(array)
        self._n_null += array.null_count
        if not self._is_text or array.null_count == len(array):
            return
        if self._is_settled:
            spellings = pa.array(list(self._settings.null_spellings), self.type)
            self._n_null += pc.sum(pc.is_in(array, spellings, skip_nulls=True)).as_py() or 0
            return
        values = normalize_batch(array, self._settings)
        self._n_null += int(np.count_nonzero(values.codes < 0)) - array.null_count
        values = self._without_doubtful(values)
        if not len(values):
            return
        if self._settings.dayfirst is None and values.classes.min() >= DAY_MONTH_YEAR:
            self._dates = [unite_value_sets([*self._dates, values], self._settings)]
        else:
            self._look_at(values)

    def _without_doubtful(self, values: ValueSet) -> ValueSet:
        """Leave out values that may be nulls, count their rows, and note the shapes of the others."""
        positions = null_codes(values, self._settings)
        count_nulls(values, positions.tolist(), self._null_rows)
        if self._settings.null_evidence:
            self._evidence.add(values.hashes, values.data, values.offsets, positions)
        is_held = np.ones(len(values), bool)
        is_held[positions] = False
        values = keep_values(values, is_held) if positions.size else values
        return values.without_rows()

    def _look_at(self, values: ValueSet) -> str:
        """Note the kind of some values; return how all-digit dates were read."""
        read = values if self._settings.dayfirst is None and self._parts else read_dates(values, self._settings)
        self._parts = [merge_profiles([*self._parts, Profile(kind_of(read, self.type))])]
        return read.date_order

    def resume(self, record: dict[str, Any], values: ValueSet | None) -> None:
        """Take the counts of the rows before the first batch; of texts they do not tell which are nulls."""
        if record["type"] != str(self.type) or self._is_text:
            raise NotContinued
        self._n_rows, self._n_null = record["n_rows"], record["n_null"]

    def spill_into(self, buffer: EntryBuffer, column: int) -> None:
        """Do nothing: there is nothing to hand over."""

    def finish(self, buffer: EntryBuffer, column: int, is_part: bool = False) -> dict[str, Any]:
        """Return the column's record; the buffer gets none of its values."""
        buffer.dropped.add(column)
        if is_part and self._null_rows:
            self.undecided = Undecided([], self._null_rows, self._evidence)
        return self.record(is_part)

    def record(self, is_part: bool = False) -> dict[str, Any]:
        """Return what the catalogue says of the column; a part leaves open which texts are nulls."""
        date_order = self._look_at(self._dates[0]) if self._dates else ""
        nulls = self._evidence.decide(self._null_rows)
        if is_part:
            self._null_rows, nulls = {}, ()
        n_null = self._n_null + sum(self._null_rows[text] for text in nulls)
        if self._is_text:
            kind = self._parts[0].kind if self._parts else "empty"
            kind = kind if len(nulls) == len(self._null_rows) else "text"
        else:
            kind = _kind_of_type(self.type) if self._n_rows > n_null else "empty"
        return {
            "type": str(self.type),
            **profile_record(Profile(kind)),
            "is_indexed": 0,
            "n_rows": self._n_rows,
            "n_null": n_null,
            "date_order": date_order,
            "samples": [],
            "null_spellings": list(nulls),
            "other_values": [],
        }


def _kind_of_type(type_: pa.DataType) -> str:
    """Return the kind that a declared type tells, without a look at any value."""
    if pa.types.is_dictionary(type_):
        return _kind_of_type(type_.value_type)
    known = kind_of(NO_VALUES, type_)
    if known != "empty":
        return known
    tests = (
        ("integer", pa.types.is_integer),
        ("float", pa.types.is_floating),
        ("decimal", pa.types.is_decimal),
        ("date", lambda t: pa.types.is_date(t) or pa.types.is_timestamp(t)),
        ("empty", pa.types.is_null),
    )
    return next((kind for kind, holds in tests if holds(type_)), "text")


def describe_left_out(name: str, column: pa.ChunkedArray, settings: IndexSettings) -> dict[str, Any]:
    """Return the catalogue's record of a column that is left out of the kept file of its table."""
    reader = LeftOutColumn(column.type, settings)
    for chunk in column.chunks:
        reader.add(chunk)
    return {"name": name, "position": NOT_IN_FILE, **reader.record()}
