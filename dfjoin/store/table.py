"""Reading a table of the lake as it was indexed: same dialect, same names, checked to be the same file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin import _validation as check
from dfjoin.errors import (
    ColumnNotFoundError,
    InvalidParameterError,
    TableChangedError,
    TableReadError,
    did_you_mean,
    shortlist,
    warn,
)
from dfjoin.index.catalog import KINDS, NOT_IN_FILE, read_dialect
from dfjoin.sources.readers import current_fingerprint, open_table
from dfjoin.sources.table_kinds import KINDS as KINDS_OF_TABLES
from dfjoin.sources.wanted_rows import RowsByKey
from dfjoin.store.snapshot import Snapshot
from dfjoin.types import Dialect, IndexSettings, TableSource
from dfjoin.values.cells import is_list_type
from dfjoin.values.float_values import spell_lists
from dfjoin.values.frames import arrow_to_series, frame_of_columns
from dfjoin.values.normalize import ValueSet, normalize_batch, normalize_column, read_dates, settings_for
from dfjoin.values.profile import kind_of

if TYPE_CHECKING:
    from dfjoin.ingest.engine import SparkTable


_TYPED = ("integer", "decimal", "float", "date", "boolean")

_ROWS_READ_WHOLE = 10_000
"""Rows of a table of a database that are read at once; of more the keys are read first."""

ON_STALE = ("error", "warn", "ignore")


@dataclass(frozen=True)
class _Column:
    """What the catalogue says of a column that is to be read."""

    name: str
    kind: str
    type: str
    date_order: str
    null_spellings: tuple[str, ...]


@dataclass(frozen=True)
class _FileTable:
    """Reads a table of files."""

    source: TableSource
    fingerprint: int
    dialect: Dialect | None
    max_columns: int

    def is_as_recorded(self) -> bool:
        """Compare the files with the catalogue; raises `TableReadError` where they cannot be read."""
        return current_fingerprint(self.source) == self.fingerprint

    def batches(self, columns: Sequence[str], rows: RowsByKey | None = None) -> Iterator[pa.RecordBatch]:
        """Read some columns."""
        most, dialect = self.max_columns, self.dialect
        return open_table(self.source, dialect=dialect, columns=list(columns), max_columns=most, rows=rows).batches()


class _TableOfSpark:
    """Reads a table through the active Spark session."""

    def __init__(self, record: dict[str, Any]) -> None:
        self._record = record

    @cached_property
    def _table(self) -> SparkTable:
        from dfjoin.ingest.engine import session_table  # brings all that builds an index

        return session_table(self._record["name"], self._record["path"])

    def is_as_recorded(self) -> bool:
        """Compare the version with the catalogue; an index of before says none, nor is there one of a DataFrame."""
        return self._record["version"] in ("", self._table.version())

    def batches(self, columns: Sequence[str], rows: RowsByKey | None = None) -> Iterator[pa.RecordBatch]:
        """Read some columns."""
        return self._table.batches(columns)


class LakeTable:
    """A table of the lake, opened for reading and known to be the indexed one.

    Parameters
    ----------
    snapshot : Snapshot
    name : str
        Name of the table.
    on_stale : {"error", "warn", "ignore"}
        What to do when its file has changed since it was indexed.

    Attributes
    ----------
    n_rows, size : int
        Its rows, and the bytes of its file.
    is_changed : bool
        Its file is not the indexed one, and `on_stale` lets it pass.
    void_columns : dict of str
        Columns that say nothing of a row, and why, see `void_reason`.

    Raises
    ------
    TableNotFoundError, TableChangedError
        As the names say.
    """

    def __init__(self, snapshot: Snapshot, name: str, on_stale: str = "error") -> None:
        check.check_choice(on_stale, "on_stale", ON_STALE)
        segment, number = snapshot.find_table(name)
        record = segment.catalog.table_record(number)
        columns = segment.catalog.column_records(segment.catalog.columns_of(number))
        columns.sort(key=lambda c: c["position"])
        self._records = {c["name"]: c for c in columns}
        self.name = name
        self.snapshot = snapshot
        self.settings = snapshot.settings
        self.n_rows: int = record["n_rows"]
        self.size: int = record["size"]
        self._columns = {
            c["name"]: _Column(c["name"], KINDS[c["kind"]], c["type"], c["date_order"], tuple(c["null_spellings"]))
            for c in columns
            if c["position"] != NOT_IN_FILE
        }
        reasons = {c["name"]: void_reason(c["name"], c) for c in columns if c["name"] in self._columns}
        self._mostly_null = {c["name"] for c in columns if is_mostly_null(c)}
        self.void_columns = {name: reason for name, reason in reasons.items() if reason}
        self._left_out = {c["name"] for c in columns if c["position"] == NOT_IN_FILE}
        kind = KINDS_OF_TABLES.get(record["format"])
        self._is_typed = kind is None or not kind.is_untyped
        kind_of_root = snapshot.root_of(record["root"]).kind
        self._is_of_spark, self._is_given = kind_of_root == "spark", kind_of_root == "memory"
        self._opened: _FileTable | _TableOfSpark
        if self._is_of_spark:
            self._opened = _TableOfSpark(record)  # a session that is missing shows when it is asked
        else:
            most = max(snapshot.settings.max_columns, record["n_columns"])
            source, dialect = snapshot.source_of(record), read_dialect(record)
            self._opened = _FileTable(source, record["fingerprint"], dialect, most)
        self.is_changed = self._check_unchanged(on_stale)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in the order of the file; those that were excluded from a kept frame are not there."""
        return list(self._columns)

    def filled_first(self) -> list[str]:
        """Return the names of the columns, those that are mostly null last."""
        return sorted(self._columns, key=self._mostly_null.__contains__)

    @property
    def files(self) -> TableSource | None:
        """The files that are read; None for a table of Spark."""
        return self._opened.source if isinstance(self._opened, _FileTable) else None

    def settings_of(self, column: str) -> IndexSettings:
        """Return how values of a column are read by themselves: what its whole column tells stands in the catalogue."""
        known = self._columns[column]
        return settings_for(self.settings, known.date_order, known.null_spellings)

    def record(self, column: str) -> dict[str, Any]:
        """Return what the catalogue says of a column: kind, rows, nulls, distinct values, range."""
        return self._records[column]

    def _check_unchanged(self, on_stale: str) -> bool:
        """Compare the file with the catalogue; return whether it has changed, where that is no error."""
        problem = ""
        is_readable = True
        try:
            if not self._opened.is_as_recorded():
                problem = "its content is another"
        except (TableReadError, InvalidParameterError) as error:
            problem, is_readable = str(error), False
        if problem and (on_stale == "error" or not is_readable):
            if is_readable:
                remedy = (
                    "read it anew with `lake.add(source)`, with full=True if its size and time are as they were, or "
                    'pass on_stale="warn" to go on'
                )
            elif self._is_of_spark:
                remedy = "or remove it from the index"
            elif self._is_given:
                remedy = "a frame that was not kept (keep_data=False) cannot be read: join the frame itself"
            else:
                remedy = "if the tables have moved, join with open_lake(index, roots=…); else remove this one"
            if self._is_of_spark and not is_readable:
                raise TableReadError(f"the table `{self.name}` cannot be read: {problem}, {remedy}")
            raise TableChangedError(f"the table `{self.name}` is not the one that was indexed: {problem}; {remedy}")
        if problem and on_stale == "warn":
            warn(f"the table `{self.name}` is not the one that was indexed: {problem}")
        return bool(problem)

    def normalize(self, column: str, array: pa.Array | pa.ChunkedArray) -> ValueSet:
        """Bring a batch of a column into the canonical form that the index has of it.

        All-digit dates and nulls are read as the catalogue says of the whole column, whatever the batch would tell.
        Lists of numbers are written as texts, see `spell_lists`.
        """
        if is_list_type(array.type):
            array = spell_lists(array)
        settings = self.settings_of(column)
        values = normalize_batch(array, settings)
        return values if settings.dayfirst is None else read_dates(values, settings)

    def note_excluded(self, columns: Sequence[str]) -> str:
        """Say how to get those of some columns that were excluded; empty when none of them was."""
        excluded = [name for name in columns if name in self._left_out]
        if not excluded:
            return ""
        return (
            f"; {shortlist(excluded)} was excluded when the index was built, and a frame in memory is kept without "
            "such columns: join them from the frame itself, df.auto_join(frame, on=...)"
        )

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raise `ColumnNotFoundError` unless the table has these columns."""
        missing = [c for c in columns if c not in self._columns]
        if missing:
            raise ColumnNotFoundError(
                f"`columns` must name columns of `{self.name}` ({shortlist(self._columns)}), "
                f"got {check.show(missing[0])}{did_you_mean(missing[0], self._columns)}{self.note_excluded(missing)}"
            )

    def batches(
        self,
        columns: Sequence[str],
        keys: Sequence[str] = (),
        may_join: Callable[[Sequence[ValueSet]], NDArray[np.bool_]] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Read some columns, batch by batch, as the file has them.

        Parameters
        ----------
        columns : sequence of str
        keys, may_join : optional
            Columns, and what tells from their values which rows are wanted. A server of a database sends these alone of
            a large table; other rows come, too, in any case that is easier to read.
        """
        rows = None
        if may_join is not None and self.n_rows > _ROWS_READ_WHOLE:
            rows = RowsByKey(
                tuple(keys),
                lambda arrays: may_join([self.normalize(key, one) for key, one in zip(keys, arrays, strict=True)]),
            )
        try:
            yield from self._opened.batches(columns, rows)
        except ColumnNotFoundError as error:  # the caller asked for what the catalogue has
            if not self.is_changed:
                raise
            raise TableReadError(
                f"the table `{self.name}` is not the one that was indexed: it lacks one of the columns "
                f"{shortlist(columns)}; read it anew with `lake.add(source)`"
            ) from error

    def to_columns(
        self,
        batches: Sequence[pa.RecordBatch],
        columns: Sequence[str],
        known: Mapping[str, ValueSet] | None = None,
        holds_arrow: bool = False,
    ) -> dict[str, pd.Series]:
        """Convert what `batches` read to the dtypes that the catalogue's kinds say; name → column.

        Parameters
        ----------
        batches : sequence of pyarrow RecordBatch
            Of these columns, in this order.
        columns : sequence of str
        known : mapping of str to ValueSet, optional
            Columns that were normalised already, with a code for every row.
        holds_arrow : bool
            The columns are held as Arrow, of the types that the file has.
        """
        found = {}
        for position, name in enumerate(columns):
            chunks = [batch.column(position) for batch in batches]
            type_ = chunks[0].type if chunks else pa.string()
            column, values = pa.chunked_array(chunks, type_), (known or {}).get(name)
            found[name] = self._as_arrow(name, column, values) if holds_arrow else self._typed(name, column, values)
        return found

    def to_frame(self, columns: Sequence[str]) -> pd.DataFrame:
        """Read some columns, at least one, as a frame with the dtypes that the catalogue's kinds say."""
        return frame_of_columns(self.to_columns(list(self.batches(columns)), columns))

    def _as_arrow(self, name: str, column: pa.ChunkedArray, values: ValueSet | None) -> pd.Series:
        """Hold a column as Arrow: text of a file without types is converted by its kind."""
        if not self._has_type(column):
            column = pa.chunked_array([pa.array(self._typed(name, column, values), from_pandas=True)])
        return pd.Series(pd.arrays.ArrowExtensionArray(column))

    def _has_type(self, column: pa.ChunkedArray) -> bool:
        """Tell whether a column has the type of its values, and is no text of a file without types."""
        return self._is_typed or not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type))

    def _typed(self, name: str, column: pa.ChunkedArray, values: ValueSet | None) -> pd.Series:
        """Convert a column: text of a file without types by its kind, anything else as it is."""
        if self._has_type(column):
            return arrow_to_series(column)
        if values is None:
            values = self.normalize(name, column)
        kind = self._columns[name].kind
        converted = _convert(values, kind) if kind in _TYPED else None
        if converted is not None:
            return converted
        combined = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        return pc.if_else(pa.array(values.codes < 0), pa.scalar(None, combined.type), combined).to_pandas()


_SHOWN_LETTERS = 60
_ROW_NAMES = re.compile(r"row[ ._]?names?|unnamed: 0(?:\.\d+)*", re.IGNORECASE)
"""What R and pandas call the column of row names when they write it into a file."""


def is_mostly_null(numbers: Mapping[str, Any]) -> Any:
    """Tell whether more than half of a column is null: it is named behind the others of its table.

    Parameters
    ----------
    numbers : mapping
        `n_rows` and `n_null` of the catalogue; numbers, or arrays of them.
    """
    return 2 * numbers["n_null"] > numbers["n_rows"]


def void_reason(name: str, numbers: Mapping[str, Any]) -> str:
    """Return why a column says nothing of a row, so that a join does not bring it unless it is named.

    Parameters
    ----------
    name : str
    numbers : mapping
        `n_rows`, `n_null`, `cardinality` and `samples` of the catalogue.

    Returns
    -------
    str
        Empty for a column that may say something. A column of one value says something where others are null, or
        where the table has a single row. The value is reported: it may be what the whole table is about.

    Examples
    --------
    >>> void_reason("Unnamed: 0", {"n_rows": 3, "n_null": 0, "cardinality": 3, "samples": ["a", "b", "c"]})
    'row names'
    >>> void_reason("country", {"n_rows": 3, "n_null": 0, "cardinality": 1, "samples": ["Spain"]})
    "one value, 'Spain'"
    >>> void_reason("country", {"n_rows": 3, "n_null": 1, "cardinality": 1, "samples": ["Spain"]})
    ''
    """
    if _ROW_NAMES.fullmatch(name.strip()):
        return "row names"
    if numbers["n_rows"] and numbers["n_null"] == numbers["n_rows"]:
        return "no value"
    if numbers["n_rows"] < 2 or numbers["cardinality"] != 1 or numbers["n_null"]:
        return ""
    return ", ".join(["one value", *(repr(_shortened(text)) for text in numbers["samples"][:1])])


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_LETTERS else f"{text[: _SHOWN_LETTERS - 1]}…"


def _convert(values: ValueSet, kind: str) -> pd.Series | None:
    """Convert canonical values to numbers, dates or booleans; None when one of them is none."""
    texts = pa.array(values.values(), pa.string())
    codes = values.codes
    is_null = codes < 0
    try:
        if kind == "integer":
            distinct = pc.cast(texts, pa.int64()).to_numpy(zero_copy_only=False)
        elif kind in ("float", "decimal"):
            distinct = pc.cast(pc.replace_substring(texts, ",", ""), pa.float64()).to_numpy(zero_copy_only=False)
        elif kind == "date":
            iso = pc.replace_substring(pc.utf8_upper(texts), "T", " ")
            distinct = pc.cast(iso, pa.timestamp("us")).to_numpy(zero_copy_only=False)
        else:
            distinct = np.isin(values.values(), ["true", "yes", "t", "y", "1"])
    except pa.ArrowInvalid:
        return None
    if not is_null.any():
        return pd.Series(distinct[codes])
    if kind == "date":
        return pd.Series(np.append(distinct, np.datetime64("NaT", "us"))[codes])
    if kind in ("float", "decimal"):
        return pd.Series(np.append(distinct, np.nan)[codes])
    filled = np.append(distinct, distinct.dtype.type(0))[codes]
    dtype = pd.arrays.IntegerArray if kind == "integer" else pd.arrays.BooleanArray
    return pd.Series(dtype(filled, is_null))


def content_of(snapshot: Snapshot, name: str) -> tuple[Any, ...]:
    """Return a mark of the rows and columns of a table, from the catalogue alone.

    Two tables of the same mark had the same content when they were indexed; tables of Spark have marks of their own.

    Parameters
    ----------
    snapshot : Snapshot
    name : str
    """
    segment, number = snapshot.find_table(name)
    record = segment.catalog.table_record(number)
    if snapshot.root_of(record["root"]).kind == "spark":
        return (name,)
    columns = segment.catalog.column_records(segment.catalog.columns_of(number))
    named = tuple(sorted((c["position"], c["name"], c["kind"], c["date_order"]) for c in columns))
    source = snapshot.source_of(record)
    # Directories that give columns their values; of a file that holds several tables, which one it is.
    parts = (*(part for part in record["parts"] if "=" in part), source.member)
    return record["fingerprint"], record["size"], record["format"], record["dialect"], parts, named


def read_frame(snapshot: Snapshot, name: str, columns: str | list[str] | None, *, on_stale: str) -> pd.DataFrame:
    """Read a table of the lake, see `Lake.table`."""
    chosen = None if columns is None else check.check_names(columns, "columns", "a column or a list of columns")
    table = LakeTable(snapshot, name, on_stale)
    wanted = table.column_names if chosen is None else list(chosen)
    table.check_columns(wanted)
    return table.to_frame(wanted)[wanted]  # none, or one twice


def with_types(df: pd.DataFrame) -> pd.DataFrame:
    """Give the text columns of a file's table the dtypes that they would have as a table of a lake."""
    settings = IndexSettings()
    typed = {}
    for position, name in enumerate(df.columns):
        column = df.iloc[:, position]
        typed[name] = column
        array = pa.array(column, from_pandas=True)
        if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            values = normalize_column(array, settings)
            kind = kind_of(values, array.type)
            converted = _convert(values, kind) if kind in _TYPED else None
            typed[name] = column if converted is None else converted
    return pd.DataFrame(typed, columns=df.columns)
