"""Columns on their way from record batches to entries, within a memory budget."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS, describe_type
from dfjoin.index.component_files import release_memory
from dfjoin.index.runs import PADDING, Run, make_run, merge_runs, read_run, write_run
from dfjoin.ingest.row_spool import ColumnCells, TableCells
from dfjoin.ingest.undecided import Undecided
from dfjoin.kernels.lists.postings import Entries
from dfjoin.kernels.texts.numbers import DAY_MONTH_YEAR
from dfjoin.types import IndexSettings
from dfjoin.values.cells import CONVERSION_ERRORS, is_searchable_type
from dfjoin.values.normalize import (
    NO_VALUES,
    PackedTexts,
    ValueSet,
    drop_nulls,
    keep_values,
    normalize_batch,
    null_codes,
    read_dates,
    unite_value_sets,
)
from dfjoin.values.nulls import NullEvidence
from dfjoin.values.profile import Profile, merge_profiles, profile_values
from dfjoin.values.text_batch import SAMPLE_ROWS, TextColumn

_SAMPLE_LENGTH = 100
_OTHER_BYTES = 16 << 10
"""Bytes of the values of a column that is not indexed up to which the catalogue keeps them."""

_FEWEST = 1 << 12
"""Values that there is room for at first."""

_BYTES_PER_ENTRY = 60  # arrays that sorting and merging hold per entry, beside the value's own bytes


class EntryBuffer:
    """Collects the distinct values of columns; spills sorted runs when they outgrow the budget.

    Parameters
    ----------
    budget : int
        Bytes of values and bookkeeping to hold before a spill.
    scratch : Path
        Existing directory for the spilled runs.
    """

    def __init__(self, budget: int, scratch: Path) -> None:
        self._budget = budget
        self._scratch = scratch
        self._forget()
        self._spilled: list[Path] = []
        self.dropped: set[int] = set()

    def _forget(self) -> None:
        """Hold no values."""
        self._n = self._n_bytes = 0
        self._columns: list[int] = []
        self._counts: list[int] = []
        self._hashes, self._starts = np.empty(0, np.uint64), np.empty(0, np.int64)
        self._data = np.empty(0, np.uint8)

    def add(self, column: int, values: ValueSet) -> None:
        """Take the distinct values of a column, or of a part of it; they are copied."""
        n = len(values)
        if n == 0:
            return
        texts = values.packed
        end, size = self._n + n, int(texts.offsets[-1])
        if end >= self._hashes.size:
            self._hashes, self._starts = (_widened(array, end) for array in (self._hashes, self._starts))
        if self._n_bytes + size + PADDING > self._data.size:
            self._data = _widened(self._data, self._n_bytes + size + PADDING)
        self._hashes[self._n : end] = texts.hashes
        np.add(texts.offsets[:-1], self._n_bytes, out=self._starts[self._n : end])
        self._data[self._n_bytes : self._n_bytes + size] = texts.data[:size]
        self._columns.append(column)
        self._counts.append(n)
        self._n, self._n_bytes = end, self._n_bytes + size
        if self._n_bytes + _BYTES_PER_ENTRY * end > self._budget:
            self.spill()

    def spill(self) -> None:
        """Write what is held as a sorted run and forget it."""
        if self._n:
            path = Path(tempfile.mkdtemp(dir=self._scratch)) / "run"
            write_run(path, self._sorted())
            self._spilled.append(path)

    def _sorted(self, column_map: NDArray[np.int32] | None = None) -> Run:
        """Make a run of what is held, with column ids as they are or mapped."""
        n = self._n
        self._starts[n] = self._n_bytes
        entries = Entries(
            self._hashes[:n],
            np.arange(n + 1),
            np.repeat(np.array(self._columns, np.int32), self._counts),
            self._starts[:n],
            np.diff(self._starts[: n + 1]).astype(np.int32),
            self._data[: self._n_bytes + PADDING],
        )
        self._forget()
        release_memory()  # before sorting takes as much again
        if column_map is None:
            column_map = np.arange(int(entries.columns.max(initial=-1)) + 1, dtype=np.int32)
        return make_run(entries, column_map)

    def finish(self, column_map: NDArray[np.int32]) -> list[Run]:
        """Return everything as consecutive stretches of one run, with mapped column ids.

        Parameters
        ----------
        column_map : ndarray of int32
            Column as given to `add` → its id in the run, or -1 when it is not to be indexed.
        """
        if not self._spilled:
            return [self._sorted(column_map)] if self._n else []
        runs = [read_run(path) for path in self._spilled]
        if self._n:
            runs.append(self._sorted())
        chunk = max(1 << 16, self._budget // (2 * _BYTES_PER_ENTRY))
        return list(merge_runs(runs, [column_map] * len(runs), chunk))


def _widened(array: NDArray, needed: int) -> NDArray:
    """Return a copy with room for more than what is needed; room that is not used is not in memory."""
    wider = np.empty(2 * needed + _FEWEST, array.dtype)
    wider[: array.size] = array
    return wider


class NotContinued(Exception):
    """What the index has of a table does not tell what the whole table would; all of its files have to be read."""


class ColumnReader:
    """One column while its table is read: distinct values so far, counts, samples.

    Parameters
    ----------
    type_ : pyarrow.DataType
        Type of the column.
    settings : IndexSettings
        Normalisation and number of samples.
    reason : str, optional
        Why the column is not to be indexed, whatever its type.
    cells : TableCells, optional
        Takes the cells of the table; by default its rows are forgotten.
    keeps_values : bool
        Keep the values of the column, if they are few, also where it is not indexed: more files may come.

    Attributes
    ----------
    packed : tuple of (ndarray of uint64, int) or None
        The packed rows of a column that is indexed, and their bits, when it is finished with `cells`.
    undecided : Undecided or None
        What is left open when the column is finished as a part.
    """

    def __init__(
        self,
        type_: pa.DataType,
        settings: IndexSettings,
        reason: str = "",
        cells: TableCells | None = None,
        *,
        keeps_values: bool = False,
    ) -> None:
        self.type = type_
        self._keeps_values = keeps_values
        self._settings = settings
        self._reason = reason
        self._is_searchable = not reason and is_searchable_type(type_)
        self._parts: list[ValueSet] = []
        self.held = 0
        self._n_rows = 0
        self._n_null = 0
        self._samples: dict[str, str] = {}
        self._spilled: list[Profile] = []
        self._is_closed = False
        self._n_samples = 0
        self._n_uncounted = 0
        self._evidence: NullEvidence | None = None
        self._null_rows: dict[str, int] = {}
        self._is_known_null: dict[str, bool] = {}
        self.undecided: Undecided | None = None
        self.packed: tuple[NDArray[np.uint64], int] | None = None
        self._whole: Profile | None = None
        self._cells = ColumnCells(cells) if cells is not None and self._is_searchable else None

    def takes_texts(self) -> bool:
        """Tell whether `add` makes use of texts that are read together with those of other columns."""
        return self._is_searchable and not self._is_closed

    def add(self, array: pa.Array, read: TextColumn | None = None) -> None:
        """Take the column's next batch, and what was read of it together with other columns."""
        is_first = not self._n_rows and not self._parts
        self._whole = read.profile if read is not None and is_first else None
        self._n_rows += len(array)
        if read is not None and read.profile is not None and self._cells is None:
            self._n_null += read.n_null
            if self._n_samples < self._settings.samples:
                self._take_samples((text, "") for text in read.samples)
            self._hold(read.values)
            return
        if array.null_count == len(array):
            self._n_null += len(array)
            if self._cells is not None:
                self._cells.skip(len(array))
            return
        if not self._is_searchable:
            self._n_null += array.null_count
            return
        if self._is_closed:
            whole = (
                array.cast(pa.float32()) if pa.types.is_float16(array.type) else array
            )  # older Arrow has no such NaN
            n_null = pc.sum(pc.is_null(whole, nan_is_null=True)).as_py() or 0
            self._n_null += n_null
            self._n_uncounted += len(array) - n_null
            self._widen_range(array)
            return
        try:
            values = read.values if read is not None else normalize_batch(array, self._settings)
        except CONVERSION_ERRORS as error:
            self._give_up(f"its values cannot be written as text ({type(error).__name__})")
            self._n_null += array.null_count
            return
        if self._cells is not None:
            self._cells.add(values)
        codes = values.codes
        self._n_null += int(np.count_nonzero(codes < 0))
        positions = null_codes(values, self._settings).tolist()
        count_nulls(values, positions, self._null_rows)
        if self._n_samples < self._settings.samples:
            self._sample(array, values, set(positions))
        texts, classes = values.packed, values.classes
        if read is None and 4 * len(values) < len(array):  # views of arrays with room for a value in every row
            texts = PackedTexts(texts.hashes.copy(), texts.data, texts.offsets.copy())
            classes = classes.copy()
        self._hold(ValueSet(texts, classes))

    def _hold(self, values: ValueSet) -> None:
        """Keep the values of a batch."""
        if len(values):
            self._parts.append(values)
            self.held += values.data.shape[0] + _BYTES_PER_ENTRY * len(values)
        if len(self._parts) >= 8 and len(self._parts[-1]) < 1 << 16:
            self._compact()

    def resume(self, record: dict[str, Any], values: ValueSet | None) -> None:
        """Take what the catalogue knows of the rows before the first batch.

        Parameters
        ----------
        record : dict
            Of the column, see `dfjoin.index.catalog.COLUMN_FIELDS`.
        values : ValueSet or None
            Its distinct values; None where they are not kept. Of floats the profile is enough then.

        Raises
        ------
        NotContinued
            If what is known does not tell what the whole column would.
        """
        if record["type"] != describe_type(str(self.type), self._reason) or record["date_order"]:
            raise NotContinued
        self._n_rows, self._n_null = record["n_rows"], record["n_null"]
        self._samples = dict.fromkeys(record["samples"], "")
        self._n_samples = len(self._samples)
        if not self._is_searchable:
            return
        if values is None:
            if record["is_indexed"] or not pa.types.is_floating(self.type):
                raise NotContinued  # its set, which texts are nulls, and its kind are known by all values
            self._spilled.append(profile_of(record))
            return
        self._is_known_null = dict.fromkeys((values.value(n) for n in null_codes(values, self._settings)), False)
        self._is_known_null |= dict.fromkeys(record["null_spellings"], True)
        self._null_rows = dict.fromkeys(self._is_known_null, 0)  # those that are nulls are counted already
        nulls = normalize_batch(pa.array(record["null_spellings"], pa.string()), self._settings)
        self._parts = [part for part in (values, nulls) if len(part)]
        self.held = sum(part.data.shape[0] + _BYTES_PER_ENTRY * len(part) for part in self._parts)

    def _widen_range(self, array: pa.Array) -> None:
        """Take the smallest and largest of floats that are not counted into the column's profile."""
        numbers = array.to_numpy(zero_copy_only=False)
        numbers = numbers[np.isfinite(numbers)]
        if numbers.size:
            ends = normalize_batch(pa.array([numbers.min(), numbers.max()], self.type), self._settings)
            profile = replace(profile_values(ends, self.type), cardinality=0)
            self._spilled[-1] = merge_profiles([self._spilled[-1], profile])

    def _give_up(self, reason: str) -> None:
        """Forget the values: the column is listed with the reason, and not indexed."""
        self._reason, self._is_searchable = reason, False
        self._parts, self.held, self._samples, self._cells = [], 0, {}, None

    def _sample(self, array: pa.Array, values: ValueSet, doubtful: set[int]) -> None:
        """Keep the first distinct values in the file's own spelling; those that may be nulls do not count."""
        rows: dict[int, int] = {}
        n = 0
        for row, code in enumerate(values.codes[:SAMPLE_ROWS].tolist()):
            if code >= 0 and code not in rows:
                rows[code] = row
                n += code not in doubtful
                if n == self._settings.samples:
                    break
        texts = zip(rows, _spellings(array, rows, values), strict=True)
        self._take_samples((text, values.value(code) if code in doubtful else "") for code, text in texts)

    def _take_samples(self, texts: Iterable[tuple[str, str]]) -> None:
        """Keep some texts, each with the value that it is if that may be a null."""
        for text, null in texts:
            self._samples.setdefault(text[:_SAMPLE_LENGTH], null)
        self._n_samples = sum(not null for null in self._samples.values())

    def _compact(self) -> None:
        """Unite the batches so far, so that a value repeated in each is held once."""
        self._parts = [unite_value_sets(self._parts, self._settings)]
        self.held = self._parts[0].data.shape[0] + _BYTES_PER_ENTRY * len(self._parts[0])

    def spill_into(self, buffer: EntryBuffer, column: int) -> None:
        """Hand the values over before the column is complete; all-digit dates stay until the end.

        Texts that may be nulls stay too, and the shapes of the others are noted.

        A column of floats that holds a fraction is never indexed: its values are forgotten, and those that follow are
        not looked at. Its cardinality is an upper bound then.
        """
        if not self._parts:
            return
        self._compact()
        (values,) = self._parts
        values, doubtful = self._without_doubtful(values)
        if not len(values):
            return
        if self._settings.dayfirst is not None:
            values = read_dates(values, self._settings)
        elif values.classes.min() >= DAY_MONTH_YEAR and not self._spilled:
            return  # at most one value per day of ten thousand years
        self._spilled.append(profile_values(values, self.type))
        self._is_closed = pa.types.is_floating(self.type) and self._spilled[-1].kind == "float"
        if not self._is_closed:
            buffer.add(column, values)
        self._parts, self.held = [doubtful] if len(doubtful) else [], 0

    def _without_doubtful(self, values: ValueSet) -> tuple[ValueSet, ValueSet]:
        """Part values from those that may be nulls, and note the shapes of the former."""
        positions = null_codes(values, self._settings)
        if self._settings.null_evidence:
            self._evidence = self._evidence or NullEvidence()
            self._evidence.add(values.hashes, values.data, values.offsets, positions)
        if not positions.size:
            return values, NO_VALUES
        is_doubtful = np.zeros(len(values), bool)
        is_doubtful[positions] = True
        return keep_values(values, ~is_doubtful), keep_values(values, is_doubtful)

    def _without_nulls(self, values: ValueSet) -> ValueSet:
        """Leave out what is a null by the evidence of the whole column."""
        if not self._null_rows:
            return values
        positions = null_codes(values, self._settings)
        evidence = self._evidence or NullEvidence()
        evidence.add(values.hashes, values.data, values.offsets, positions)
        values = drop_nulls(values, positions, evidence)
        if any((text in values.nulls) != was_null for text, was_null in self._is_known_null.items()):
            raise NotContinued  # how many rows hold the text is not known
        self._n_null += sum(self._null_rows[text] for text in values.nulls)
        return values

    def _leave_open(self, values: ValueSet) -> ValueSet:
        """Keep apart what only all parts of the table decide; return the other values."""
        values, _ = self._without_doubtful(values)
        dates: list[str] = []
        if self._settings.dayfirst is not None:
            values = read_dates(values, self._settings)
        elif len(values) and not self._spilled and values.classes.min() >= DAY_MONTH_YEAR:
            dates, values = values.values(), NO_VALUES
        if self._is_searchable and (dates or self._evidence is not None):
            self.undecided = Undecided(dates, self._null_rows, self._evidence or NullEvidence())
        return values

    def finish(self, buffer: EntryBuffer, column: int, is_part: bool = False) -> dict[str, Any]:
        """Hand the column's values to the buffer, if it is (or may be) indexed; return its record."""
        united = unite_value_sets(self._parts, self._settings) if self._parts else NO_VALUES
        held = values = self._leave_open(united) if is_part else self._without_nulls(united)
        is_read = not is_part and (not self._spilled or self._settings.dayfirst is not None)
        if is_read and held.classes.max(initial=0) >= DAY_MONTH_YEAR:
            values = read_dates(replace(held, codes=np.arange(len(held), dtype=np.int32)), self._settings)
        nulls = {*self._null_rows} if is_part else set(values.nulls)
        profile = self._whole
        if profile is None or values is not united or self._spilled:
            profile = merge_profiles([profile_values(values, self.type), *self._spilled])
        if self._reason:
            profile = Profile("binary")
        is_indexed = self._is_searchable and not self._is_closed if is_part else profile.is_indexable
        if is_indexed:
            buffer.add(column, values.without_rows())
            if self._cells is not None and not is_part:
                self._pack(self._cells, united, held, values)
        else:
            buffer.dropped.add(column)
        return {
            "type": describe_type(str(self.type), self._reason),
            **profile_record(profile),
            "cardinality": profile.cardinality + self._n_uncounted,
            "is_indexed": int(is_indexed),
            "n_rows": self._n_rows,
            "n_null": self._n_null,
            "date_order": values.date_order,
            "samples": [text for text, null in self._samples.items() if null not in nulls][: self._settings.samples],
            "null_spellings": list(values.nulls),
            "other_values": self._others(values) if self._keeps_values and not is_indexed else [],
        }

    def _others(self, values: ValueSet) -> list[str]:
        """Return the values of a column that is not indexed, if all of them are at hand and few."""
        is_whole = self._is_searchable and not self._spilled and not values.date_order
        return sorted(values.values()) if is_whole and values.offsets[-1] <= _OTHER_BYTES else []

    def _pack(self, cells: ColumnCells, united: ValueSet, held: ValueSet, values: ValueSet) -> None:
        """Pack the rows of an indexed column; not where its dates were read before all of its values were known.

        Parameters
        ----------
        cells : ColumnCells
        united, held : ValueSet
            The values that were not spilled, with and without those that are nulls.
        values : ValueSet
            The same with dates read; if that changed them, its codes tell which value each of `held` is.
        """
        if not self._spilled:
            self.packed = cells.pack(held.hashes, held.hashes if values is held else values.hashes[values.codes])
        elif self._settings.dayfirst is None or not cells.has_dates:
            hashes = np.setdiff1d(cells.hashes(), np.setdiff1d(united.hashes, held.hashes))
            self.packed = cells.pack(hashes, hashes)


def count_nulls(values: ValueSet, positions: Iterable[int], counts: dict[str, int]) -> None:
    """Add the rows of values that may be nulls to those that their texts have had so far."""
    for position in positions:
        text = values.value(position)
        counts[text] = counts.get(text, 0) + int(np.count_nonzero(values.codes == position))


def profile_record(profile: Profile) -> dict[str, Any]:
    """Return the fields of a column's record that are its profile."""
    values = {name: getattr(profile, name) for name in Profile.__dataclass_fields__}
    return {**values, "kind": KINDS.index(profile.kind), "has_range": int(profile.has_range)}


def profile_of(record: dict[str, Any]) -> Profile:
    """Return the profile that a column's record holds."""
    values = {name: record[name] for name in Profile.__dataclass_fields__}
    return Profile(**{**values, "kind": KINDS[record["kind"]], "has_range": bool(record["has_range"])})


def _spellings(array: pa.Array, rows: dict[int, int], values: ValueSet) -> list[str]:
    """Return cells as their file spells them, by value and row; in canonical form where Python has no such value."""
    type_ = array.type
    if isinstance(type_, pa.BaseExtensionType) or pa.types.is_duration(type_) or pa.types.is_time(type_):
        return [values.value(code) for code in rows]
    texts: list[str] = []
    if rows and (pa.types.is_string(type_) or pa.types.is_large_string(type_)) and max(rows.values()) < 4 * len(rows):
        with suppress(*CONVERSION_ERRORS):  # one call for all: they are nearly always the first cells
            first = array.slice(0, max(rows.values()) + 1).to_pylist()
            return [first[row] for row in rows.values()]
    for code, row in rows.items():
        try:
            texts.append(str(array[row].as_py()))
        except CONVERSION_ERRORS:
            texts.append(values.value(code))
    return texts
