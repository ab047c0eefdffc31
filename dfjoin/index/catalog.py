"""The catalogue of a segment: one Arrow IPC file with its tables, columns, profiles and skipped files.

The file holds one record batch of one row; each of its three fields is a list of records, so that the
numbers of all columns lie in one buffer each and are viewed in place.
"""

from __future__ import annotations

import codecs
import fnmatch
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.index.component_files import damaged
from dfjoin.index.json_shape import Flag, ListOf, Record, TextValue, Whole, check_shape
from dfjoin.types import Dialect, Root

KINDS = ("text", "integer", "decimal", "date", "float", "boolean", "binary", "nested", "empty")
"""Kinds of a column; the catalogue stores their number."""

NOT_IN_FILE = -1
"""`position` of a column that the file of its table does not have: an excluded one of a frame that is kept."""

KEPT = "kept"
"""`version` of a table that was given as a frame and whose file is below the index."""

_FOREIGN_KEY = pa.struct(
    [("columns", pa.list_(pa.string())), ("path", pa.string()), ("key_columns", pa.list_(pa.string()))]
)

TABLE_FIELDS = pa.struct(
    [
        ("name", pa.string()),
        ("root", pa.int32()),
        ("path", pa.string()),
        ("format", pa.string()),
        ("size", pa.int64()),
        ("mtime_ns", pa.int64()),
        ("fingerprint", pa.uint64()),
        ("dialect", pa.string()),
        ("parts", pa.list_(pa.string())),
        ("version", pa.string()),
        ("n_rows", pa.int64()),
        ("first_column", pa.int64()),
        ("n_columns", pa.int32()),
        ("part_sizes", pa.list_(pa.int64())),
        ("part_times", pa.list_(pa.int64())),
        ("part_fingerprints", pa.list_(pa.uint64())),
        ("keys", pa.list_(pa.list_(pa.string()))),
        ("foreign_keys", pa.list_(_FOREIGN_KEY)),
    ]
)
"""One table: where it comes from, how to read it, and which columns are its own."""

COLUMN_FIELDS = pa.struct(
    [
        ("table", pa.int32()),
        ("name", pa.string()),
        ("position", pa.int32()),
        ("type", pa.string()),
        ("kind", pa.int8()),
        ("is_indexed", pa.int8()),
        ("n_rows", pa.int64()),
        ("n_null", pa.int64()),
        ("cardinality", pa.int64()),
        ("has_range", pa.int8()),
        ("min_integer", pa.int64()),
        ("max_integer", pa.int64()),
        ("min", pa.string()),
        ("max", pa.string()),
        ("date_order", pa.string()),
        ("samples", pa.list_(pa.string())),
        ("null_spellings", pa.list_(pa.string())),
        ("other_values", pa.list_(pa.string())),
    ]
)
"""One column and its profile, in order of (table, column); the row number is the column id."""

SKIPPED_FIELDS = pa.struct(
    [("name", pa.string()), ("reason", pa.string()), ("size", pa.int64()), ("mtime_ns", pa.int64())]
)
"""A file that could not be read, why, and which file it was."""

_SCHEMA = pa.schema(
    [
        ("tables", pa.large_list(TABLE_FIELDS)),
        ("columns", pa.large_list(COLUMN_FIELDS)),
        ("skipped", pa.large_list(SKIPPED_FIELDS)),
    ]
)

_OF_PARTS = ("part_sizes", "part_times", "part_fingerprints")
_MAY_BE_ABSENT = {*_OF_PARTS, "keys", "foreign_keys", "null_spellings", "other_values"}
"""Fields, all of them lists, that a catalogue does not have whose lists are all empty, as those of dfjoin 0.1.0."""

DIALECTS = "dialects"
"""The feature of a segment with a file that earlier readers would read with other cells."""

PARTS = "parts"
"""The feature of a segment that knows the files of a table one by one."""

DECLARED_KEYS = "declared_keys"
"""The feature of a segment with a table of a database that declares keys."""

_SINCE_DIALECTS = ("header_lines", "decimal", "thousands", "number_columns", "cells")
"""Fields of a dialect that say what its cells are and that earlier readers pass over."""

_MOST = 2**63 - 1

_RANGES_OF_FIELDS = (
    (TABLE_FIELDS, "root", 0, 2**31 - 1),
    (TABLE_FIELDS, "size", 0, _MOST),
    (TABLE_FIELDS, "n_rows", 0, _MOST),
    (COLUMN_FIELDS, "position", NOT_IN_FILE, 2**31 - 1),
    (COLUMN_FIELDS, "kind", 0, len(KINDS) - 1),
    (COLUMN_FIELDS, "is_indexed", 0, 1),
    (COLUMN_FIELDS, "has_range", 0, 1),
    (COLUMN_FIELDS, "n_rows", 0, _MOST),
    (COLUMN_FIELDS, "n_null", 0, _MOST),
    (COLUMN_FIELDS, "cardinality", 0, _MOST),
)
"""Records, field, smallest and largest legal number."""

Records: TypeAlias = "list[dict[str, Any]] | pa.StructArray"


def write_catalog(tables: Records, columns: Records, skipped: Records) -> pa.Buffer:
    """Write the records of a catalogue as an Arrow IPC file in memory.

    Parameters
    ----------
    tables, columns, skipped : list of dict, or pyarrow.StructArray
        Records with the keys of `TABLE_FIELDS`, `COLUMN_FIELDS` and `SKIPPED_FIELDS`; those of empty lists may be
        absent. Tables in order of name, columns in order of (table, name), by code point.

    Returns
    -------
    pyarrow.Buffer
    """
    lists = []
    for records, fields in zip((tables, columns, skipped), (TABLE_FIELDS, COLUMN_FIELDS, SKIPPED_FIELDS), strict=True):
        if isinstance(records, list):
            absent: dict[str, Any] = {field.name: [] for field in fields if field.name in _MAY_BE_ABSENT}
            records = pa.array([{**absent, **record} for record in records], fields)
        values = _without_empty(records)
        lists.append(pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values))
    sink = pa.BufferOutputStream()
    schema = pa.schema([(field.name, list_.type) for field, list_ in zip(_SCHEMA, lists, strict=True)])
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.record_batch(lists, schema=schema))
    return sink.getvalue()


def _without_empty(records: pa.StructArray) -> pa.StructArray:
    """Leave out the fields that may be absent and hold nothing."""
    held = {field.name: records.field(field.name) for field in records.type}
    held = {name: array for name, array in held.items() if name not in _MAY_BE_ABSENT or len(array.flatten())}
    if len(held) == len(list(records.type)):
        return records
    return pa.StructArray.from_arrays(list(held.values()), fields=[records.type.field(name) for name in held])


def _with_absent(records: pa.StructArray, fields: pa.StructType) -> pa.StructArray:
    """Return records with all fields: empty lists for those that are absent."""
    if records.type == fields:
        return records
    present = {field.name for field in records.type}
    starts = pa.array(np.zeros(len(records) + 1, np.int32))
    arrays = [
        records.field(field.name)
        if field.name in present
        else pa.ListArray.from_arrays(starts, pa.array([], field.type.value_type))
        for field in fields
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(fields))


def _is_legal(schema: pa.Schema) -> bool:
    """Tell whether a schema is that of a catalogue, but for fields that may be absent."""
    if schema.names != _SCHEMA.names:
        return False
    for own, known in zip(schema, _SCHEMA, strict=True):
        if not pa.types.is_large_list(own.type) or not pa.types.is_struct(own.type.value_type):
            return False
        present = {field.name for field in own.type.value_type}
        due = [field for field in known.type.value_type if field.name in present or field.name not in _MAY_BE_ABSENT]
        if own.type.value_type != pa.struct(due):
            return False
    return True


def catalog_features(tables: pa.StructArray, columns: pa.StructArray) -> tuple[str, ...]:
    """Name the features of the format that the records of a segment need, see FORMAT.md.

    Parameters
    ----------
    tables, columns : pyarrow.StructArray
        As `write_catalog` takes them.
    """
    dialects = pc.unique(tables.field("dialect")).to_pylist()
    needs = {
        DIALECTS: any(f'"{name}"' in text for text in dialects for name in _SINCE_DIALECTS),
        PARTS: bool(len(tables.field("part_sizes").flatten()) or len(columns.field("other_values").flatten())),
        DECLARED_KEYS: bool(len(tables.field("keys").flatten()) or len(tables.field("foreign_keys").flatten())),
    }
    return tuple(name for name, is_needed in needs.items() if is_needed)


_NOT_INDEXED = "; not indexed: "


def describe_type(type_: str, reason: str) -> str:
    """Return what the field `type` of a column holds: the type, and why its kind alone does not let it be indexed."""
    return f"{type_}{_NOT_INDEXED}{reason}" if reason else type_


def known_reason(type_: str) -> str:
    """Return the reason that `describe_type` has written into the field `type`; nothing if there is none."""
    _, mark, reason = type_.rpartition(_NOT_INDEXED)
    return reason if mark else ""


def reason_of(record: dict[str, Any]) -> str:
    """Return why a column is not indexed; nothing for one that is.

    Parameters
    ----------
    record : dict
        Keys `type`, `kind`, `is_indexed` and `cardinality` of `COLUMN_FIELDS`.
    """
    if record["is_indexed"]:
        return ""
    reason = known_reason(record["type"])
    kind = KINDS[record["kind"]]
    if reason or kind in _REASONS:
        return reason or _REASONS[kind]
    return "one value" if record["cardinality"] == 1 else "left out by `columns` or `exclude`"


_REASONS = {
    "float": "numbers that are not whole are no keys",
    "boolean": "booleans are no keys",
    "binary": "binary values have no text",
    "nested": "nested values have no text",
    "empty": "no value",
}


_DIALECT = Record(
    {},
    {
        **{field: TextValue() for field in ("encoding", "delimiter", "quote_char", "escape_char", "compression")},
        **{field: Flag() for field in ("double_quote", "has_header", "implicit_index", "ragged")},
        **{field: TextValue() for field in ("decimal", "thousands", "doubt")},
        "skip_lines": Whole(0, 2**31 - 1),
        "header_lines": Whole(0, 2),
        "number_columns": ListOf(Whole(0, 2**31 - 1)),
        "cells": ListOf(Whole(0, 2**31 - 1)),
    },
)


def read_dialect(record: dict[str, Any]) -> Dialect | None:
    """Return how the file of a table is to be read; None where nothing is said.

    Raises
    ------
    IndexCorruptedError
        If the field `dialect` is not what was written.
    """
    if not record["dialect"]:
        return None
    try:
        values = json.loads(record["dialect"])
        check_shape(values, _DIALECT, "dialect")
        dialect = Dialect.from_dict(values)
        codecs.lookup(dialect.encoding)
        if len(dialect.delimiter) != 1 or max(len(dialect.quote_char), len(dialect.escape_char)) > 1:
            raise ValueError("its signs are not one character each")
        if dialect.decimal not in (".", ",") or dialect.thousands not in ("", ".", ",", " ", "'"):
            raise ValueError("its marks of numbers are none")
        if len(dialect.cells) not in (0, 4):
            raise ValueError("its cells are no place in a sheet")
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise damaged(None, "catalog", f"the dialect of table {record['name']!r:.80}: {error}") from error
    return dialect


def find_root(roots: Iterable[Root], number: int) -> Root:
    """Return the root that the field `root` of a table names.

    Raises
    ------
    IndexCorruptedError
        If there is none of that number.
    """
    found = next((root for root in roots if root.id == number), None)
    if found is None:
        raise damaged(None, "catalog", f"a table names root {number}, which the manifest does not list")
    return found


def replace_field(records: pa.StructArray, name: str, values: NDArray[Any]) -> pa.StructArray:
    """Return the records with one field's values replaced."""
    fields = list(records.type)
    arrays = [
        pa.array(values, field.type) if field.name == name else array
        for field, array in zip(fields, records.flatten(), strict=True)
    ]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _check_records(tables: pa.StructArray, columns: pa.StructArray, skipped: pa.StructArray, is_of_run: bool) -> None:
    """Refuse records with nulls, with numbers out of range, or tables that do not divide the columns."""
    due = [*tables.flatten(), *columns.flatten(), *(skipped.field(name) for name in ("name", "reason"))]
    if any(array.null_count for array in (tables, columns, skipped)) or any(map(_holds_null, due)):
        raise ValueError("it holds nulls")
    widths = tables.field("n_columns").to_numpy().astype(np.int64)
    firsts = tables.field("first_column").to_numpy()
    if widths.min(initial=0) < 0 or int(widths.sum()) != len(columns) or np.any(firsts != np.cumsum(widths) - widths):
        raise ValueError("its tables do not divide its columns")
    if np.any(columns.field("table").to_numpy() != np.repeat(np.arange(len(tables)), widths)):
        raise ValueError("its columns name other tables than those that hold them")
    for records, name, least, most in _RANGES_OF_FIELDS:
        values = (tables if records is TABLE_FIELDS else columns).field(name).to_numpy()
        if values.min(initial=0) < least or values.max(initial=least) > most:
            raise ValueError(f"its field `{name}` goes from {values.min()} to {values.max()}")
    n_parts = pc.list_value_length(tables.field("parts")).to_numpy()
    known = pc.list_value_length(tables.field(_OF_PARTS[0])).to_numpy()
    for name in _OF_PARTS:
        lengths = pc.list_value_length(tables.field(name)).to_numpy()
        if np.any(lengths != known) or np.any((lengths > 0) & (lengths != n_parts)):
            raise ValueError(f"its field `{name}` does not say the same for all files of a table")
    rows, nulls, sizes = (columns.field(name).to_numpy() for name in ("n_rows", "n_null", "cardinality"))
    if not is_of_run and (np.any(nulls > rows) or np.any(sizes > rows)):
        raise ValueError("it has a column with more nulls or values than rows")


def _holds_null(array: pa.Array) -> bool:
    """Tell whether an array, or what its lists and records hold, has a null."""
    if array.null_count:
        return True
    if pa.types.is_struct(array.type):
        return any(map(_holds_null, array.flatten()))
    return pa.types.is_list(array.type) and _holds_null(array.flatten())


class Catalog:
    """Read-only view of a catalogue file; numbers are viewed in place, texts decoded on demand.

    Parameters
    ----------
    path : Path
        The Arrow IPC file.
    is_of_run : bool, default False
        It is of a run, and may be a part of a table: rows are counted by one part, and some of their nulls by another.

    Raises
    ------
    IndexCorruptedError
        If the file is no catalogue.
    """

    def __init__(self, path: Path, is_of_run: bool = False) -> None:
        try:
            with pa.memory_map(str(path)) as source:
                reader = pa.ipc.open_file(source)
                if not _is_legal(reader.schema) or reader.num_record_batches != 1:
                    raise pa.ArrowInvalid("its schema is not that of a catalogue")
                batch = reader.get_batch(0)
            batch.validate(full=True)
            if batch.num_rows != 1 or any(list_.null_count for list_ in batch.columns):
                raise pa.ArrowInvalid("it is not one row of lists")
            tables, columns, self._skipped = (batch.column(i).flatten() for i in range(3))
            self._tables, self._columns = _with_absent(tables, TABLE_FIELDS), _with_absent(columns, COLUMN_FIELDS)
            _check_records(self._tables, self._columns, self._skipped, is_of_run)
        except (pa.ArrowException, OSError, IndexError, ValueError) as error:
            raise damaged(None, "catalog", f"{path.name}: {error}") from error

    @property
    def n_tables(self) -> int:
        """Tables of the segment."""
        return len(self._tables)

    @property
    def n_columns(self) -> int:
        """Columns of the segment, those that are not indexed included."""
        return len(self._columns)

    def tables(self) -> pa.StructArray:
        """Return the table records, see `TABLE_FIELDS`."""
        return self._tables

    def columns(self) -> pa.StructArray:
        """Return the column records, see `COLUMN_FIELDS`."""
        return self._columns

    def skipped(self) -> pa.StructArray:
        """Return the skipped files, see `SKIPPED_FIELDS`."""
        return self._skipped

    @cached_property
    def numbers(self) -> dict[str, NDArray[Any]]:
        """Return the numeric fields of the columns, each an array of shape (n_columns,), read-only."""
        names = [field.name for field in COLUMN_FIELDS if pa.types.is_integer(field.type)]
        return {name: self._columns.field(name).to_numpy(zero_copy_only=True) for name in names}

    @cached_property
    def _column_names(self) -> _Texts:
        return _Texts(self._columns.field("name"))

    @cached_property
    def _table_names(self) -> _Texts:
        return _Texts(self._tables.field("name"))

    def column_name(self, column: int) -> str:
        """Return the name of a column."""
        return self._column_names[column]

    def table_name(self, column: int) -> str:
        """Return the name of the table that a column belongs to."""
        return self._table_names[self.numbers["table"][column]]

    def column_names(self, columns: NDArray[np.integer]) -> list[str]:
        """Return the names of some columns."""
        return self._column_names.take(columns)

    def names_of(self, columns: NDArray[np.integer]) -> tuple[list[str], list[str]]:
        """Return the names of the tables of some columns, and of the columns."""
        return self._table_names.take(self.numbers["table"][columns]), self._column_names.take(columns)

    def table_names(self) -> list[str]:
        """Return the names of all tables, sorted by code point."""
        return self._tables.field("name").to_pylist()

    def find_table(self, name: str) -> int:
        """Return the number of the table of that name, -1 if the segment has none. O(log n_tables)."""
        at = bisect_left(range(self.n_tables), name, key=self._table_names.__getitem__)
        return at if at < self.n_tables and self._table_names[at] == name else -1

    def tables_in(self, name: str) -> range:
        """Return the numbers of the tables whose names are a name, a slash and more. O(log n_tables)."""
        first, end = (
            bisect_left(range(self.n_tables), name + mark, key=self._table_names.__getitem__) for mark in "/0"
        )
        return range(first, end)

    def tables_named(self, patterns: Sequence[str]) -> NDArray[np.bool_]:
        """Tell which tables have one of some names, or match one as a pattern (``fnmatch``, case-sensitive).

        O(log n_tables) for a name; for a pattern also the tables that begin as it does up to its first wildcard.
        """
        found, names = np.zeros(self.n_tables, bool), self._table_names
        for pattern in patterns:
            at = self.find_table(pattern)
            if at >= 0:
                found[at] = True
            wildcard = _WILDCARD.search(pattern)
            if wildcard:
                start, tables = pattern[: wildcard.start()], range(self.n_tables)
                first = bisect_left(tables, start, key=lambda table: names[table][: len(start)])
                end = bisect_right(tables, start, key=lambda table: names[table][: len(start)])
                matches = re.compile(fnmatch.translate(pattern)).match
                found[first:end] |= np.array([matches(names[table]) is not None for table in tables[first:end]], bool)
        return found

    def columns_of(self, table: int) -> range:
        """Return the ids of the columns of a table."""
        record = self.table_record(table)
        return range(record["first_column"], record["first_column"] + record["n_columns"])

    def find_column(self, table: int, name: str) -> int:
        """Return the id of a column of a table, -1 if it has none of that name. O(log n_columns)."""
        columns = self.columns_of(table)
        at = bisect_left(columns, name, key=self.column_name)
        return columns[at] if at < len(columns) and self.column_name(columns[at]) == name else -1

    def table_record(self, table: int) -> dict[str, Any]:
        """Return the record of one table."""
        return self._tables[table].as_py()

    def column_records(self, columns: Sequence[int] | NDArray[Any]) -> list[dict[str, Any]]:
        """Return the records of some columns."""
        return [self._columns[int(column)].as_py() for column in columns]


_WILDCARD = re.compile("[*?[]")
"""What may match more than itself in a pattern."""


class _Texts:
    """An Arrow string array whose items are decoded one by one, without an Arrow scalar each."""

    def __init__(self, array: pa.Array) -> None:
        _, offsets, data = array.buffers()
        self._offsets = np.frombuffer(offsets, np.int32, len(array) + 1, array.offset * 4)
        self._data = memoryview(data) if data is not None else memoryview(b"")

    def __getitem__(self, i: int) -> str:
        start, end = self._offsets[i : i + 2].tolist()
        return str(self._data[start:end], "utf-8", "replace")

    def take(self, positions: NDArray[np.integer]) -> list[str]:
        starts, ends, data = self._offsets[positions].tolist(), self._offsets[positions + 1].tolist(), self._data
        return [str(data[start:end], "utf-8", "replace") for start, end in zip(starts, ends, strict=True)]
