"""Opening databases of SQLite: each table and view, read only, by the standard library."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from pyarrow import fs

from dfjoin.errors import TableReadError
from dfjoin.sources.database_server import quoted
from dfjoin.sources.declared_keys import DeclaredKeys, group_constraints
from dfjoin.sources.roots import fingerprints_of_parts, open_root, resolve, unite_fingerprints
from dfjoin.sources.table_reader import Member, TableFile, TableReader, open_typed, reject_pointer, with_reasons
from dfjoin.sources.wanted_rows import literal
from dfjoin.types import TableSource
from dfjoin.values.header_meaning import clean_names

_ROWS_PER_BATCH = 1 << 14
_SECONDS = 60.0
"""Longest wait for the next rows of a view, which may be any query."""

_INSTRUCTIONS = 100_000
_COLUMNS_AT_ONCE = 100
_NOT_OWN = "name NOT GLOB 'sqlite_*' ORDER BY 1"
_TABLES = (
    f"SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' AND {_NOT_OWN}",
    f"SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND {_NOT_OWN}",
)
"""The second one before SQLite 3.37, which does not tell the tables behind a virtual table."""

_COLUMNS = "SELECT name, type FROM pragma_table_xinfo({table}) WHERE hidden <> 1"


class _Base:
    """A database opened for reading, never written to; all of its tables are read as they were at the first look."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as stream:  # noqa: PTH123
            head = stream.read(20)
        if head and head[:16] != b"SQLite format 3\0":
            raise TableReadError("it is no database of SQLite, or is encrypted")
        path, option = self._opened_path(path) if head[18:19] == b"\2" else (path, "mode=ro")
        self._connection = sqlite3.connect(
            f"file:{quote(path)}?{option}", uri=True, isolation_level=None, check_same_thread=False
        )
        weakref.finalize(self, self._connection.close)
        self._until = until = [time.monotonic() + _SECONDS]  # a handler that knew of `self` would keep it alive
        self._connection.set_progress_handler(lambda: time.monotonic() > until[0], _INSTRUCTIONS)
        for setting in ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON"):
            self.rows(f"PRAGMA {setting}")
        self.rows("BEGIN")

    def _opened_path(self, path: str) -> tuple[str, str]:
        """Return where a database with a write-ahead log is read from, and how.

        Log and index of the log, ``-wal`` and ``-shm``, are there as long as a process has the database open, even if
        nothing is in the log; reader and writer agree by the index, which SQLite writes anew here if that process
        died. A log without an index is read with a copy of the database, so that no index is made beside it. A
        database without either is one that nobody changes.
        """
        if all(os.path.exists(path + ending) for ending in ("-wal", "-shm")):  # noqa: PTH110
            return path, "mode=ro"
        if not _log_of(path):
            return path, "immutable=1"
        scratch = tempfile.TemporaryDirectory(prefix="dfjoin-sqlite-")
        weakref.finalize(self, scratch.cleanup)
        for ending in ("", "-wal"):
            shutil.copyfile(path + ending, f"{scratch.name}/copy{ending}")
        return f"{scratch.name}/copy", "mode=ro"

    def rows(self, query: str) -> list[Any]:
        """Return all rows of a query."""
        self._until[0] = time.monotonic() + _SECONDS
        return self._connection.execute(query).fetchall()

    def batches(self, query: str) -> Iterator[list[Any]]:
        """Return the rows of a query, many at a time; what is no UTF-8 of a text becomes U+FFFD."""
        n_rows = 0
        cursor = self._connection.execute(query)
        cursor.arraysize = _ROWS_PER_BATCH
        while True:
            self._until[0] = time.monotonic() + _SECONDS
            try:
                rows = cursor.fetchmany()
            except sqlite3.OperationalError as error:
                if "decode to UTF-8" not in str(error) or self._connection.text_factory is not str:
                    raise
                self._connection.text_factory = lambda text: text.decode("utf-8", "replace")  # takes longer
                cursor = self._connection.execute(f"{query} LIMIT -1 OFFSET {n_rows}")
                cursor.arraysize = _ROWS_PER_BATCH
                continue
            if not rows:
                return
            n_rows += len(rows)
            yield rows


def _log_of(path: str) -> list[str]:
    """Return the path of the write-ahead log of a database, if there is anything in it."""
    log = f"{path}-wal"
    return [log] if os.path.exists(log) and os.path.getsize(log) else []  # noqa: PTH110, PTH202


def fingerprint_of_sqlite(source: TableSource) -> int:
    """Compute the fingerprint of the file of a database, and of its write-ahead log."""
    filesystem, _ = open_root(source.root.uri)
    path = resolve(source.root, source.parts[0])
    paths = [path, *_log_of(path)]
    with with_reasons():
        marks = fingerprints_of_parts(filesystem, paths)
        return unite_fingerprints(paths, marks, sum(info.size or 0 for info in filesystem.get_file_info(paths)))


def members_of_sqlite(file: TableFile) -> Iterator[Member]:
    """Find the tables and views of a database, see `dfjoin.sources.readers.tables_of`."""
    if not isinstance(file.filesystem, fs.LocalFileSystem):
        raise TableReadError("a database of SQLite is read from a local path only; copy it here")
    reject_pointer(file.filesystem, file.path)
    with with_reasons():
        base = _Base(file.path)
        try:
            found = base.rows(_TABLES[0])
        except sqlite3.OperationalError:
            found = base.rows(_TABLES[1])
    names = [name for (name,) in found]
    for name in names:
        yield Member(name, partial(_open_table, file, base, name))


def _open_table(file: TableFile, base: _Base, table: str) -> TableReader:
    with with_reasons():
        declared = {name: type_.upper() for name, type_ in base.rows(_COLUMNS.format(table=literal(table)))}
        names = clean_names(list(declared))
        file.wanted.check(names)
        wanted = file.wanted.raw(list(declared), names)
        known = dict.fromkeys(declared, (pa.null(), "NULL"))
        for first in range(0, len(wanted), _COLUMNS_AT_ONCE):
            some = wanted[first : first + _COLUMNS_AT_ONCE]
            known.update(_types(base, table, {name: declared[name] for name in some}))
    schema = pa.schema([(name, type_) for name, (type_, _) in known.items()])

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        chosen = ", ".join(known[name][1] for name in columns)
        fields = pa.schema([schema.field(name) for name in columns])
        for rows in base.batches(f"SELECT {chosen} FROM {quoted(table)}") if columns else ():
            arrays = [_array(values, field.type) for values, field in zip(zip(*rows, strict=True), fields, strict=True)]
            yield pa.record_batch(arrays, schema=fields)

    reader = open_typed(file, schema, batches, lambda: _declared(base, table, file.source.parts[0]))
    return reader.within(partial(fingerprint_of_sqlite, file.source), base)


def _declared(base: _Base, table: str, file: str) -> DeclaredKeys:
    """Return the keys that a table declares; a reference that names no columns is one to the primary key."""
    keys = [("", name) for name in _primary_key(base, table)]
    for _, index, is_unique, _, is_partial in base.rows(f"PRAGMA index_list({quoted(table)})"):
        columns = [name for _, _, name in base.rows(f"PRAGMA index_info({quoted(index)})")]
        if is_unique and not is_partial and None not in columns:  # an expression has no name
            keys += [(index, name) for name in columns]
    rows = [(constraint, column, "", "") for constraint, column in keys]
    for number, position, other, own, key, *_ in sorted(base.rows(f"PRAGMA foreign_key_list({quoted(table)})")):
        there = _declared_name(base, "sqlite_master", other)
        if key is not None:
            keys_there = [_declared_name(base, f"pragma_table_info({literal(there)})", key)]
        else:
            keys_there = _primary_key(base, there)[position : position + 1]
        rows += [(str(number), own, f"{file}/{there}", name) for name in keys_there]
    return group_constraints(rows)


def _declared_name(base: _Base, source: str, name: str) -> str:
    """Return a name as it was declared, where it may be written in other case; that of no table or column as it is."""
    found = base.rows(f"SELECT name FROM {source} WHERE name = {literal(name)} COLLATE NOCASE")
    return found[0][0] if found else name


def _primary_key(base: _Base, table: str) -> list[str]:
    found = sorted((position, name) for _, name, _, _, _, position in base.rows(f"PRAGMA table_info({quoted(table)})"))
    return [name for position, name in found if position]


def _array(values: tuple[Any, ...], type_: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(type_):
        return pa.array(values, pa.int64()).cast(type_)
    if pa.types.is_temporal(type_):
        return pa.array(values, pa.string()).cast(type_)
    return pa.array(values, type_)


def _types(base: _Base, table: str, declared: dict[str, str]) -> dict[str, tuple[pa.DataType, str]]:
    """Return the type of each column, and what to select: SQLite lets a column hold anything, so its values tell."""
    counts = []
    for name in declared:
        own = quoted(name)
        same_moment = f"datetime({own}) IS replace(substr({own}, 1, 19), 'T', ' ') AND {own} NOT GLOB '*[-+Zz]'"
        for test in (
            *(f"typeof({own}) = '{kind}'" for kind in ("integer", "real", "text", "blob")),
            f"typeof({own}) = 'integer' AND {own} IN (0, 1)",
            f"typeof({own}) = 'text' AND {own} IS date({own})",
            f"typeof({own}) = 'text' AND {same_moment} AND length({own}) IN (19, 23, 26)",
        ):
            counts.append(f"total({test})")
    (row,) = base.rows(f"SELECT {', '.join(counts)} FROM {quoted(table)}")
    return {
        name: _type(name, declared[name], [int(n) for n in row[7 * i : 7 * i + 7]]) for i, name in enumerate(declared)
    }


def _type(name: str, declared: str, counts: list[int]) -> tuple[pa.DataType, str]:
    integers, reals, texts, blobs, booleans, days, moments = counts
    own = quoted(name)
    n = integers + reals + texts + blobs
    if not n:
        return pa.null(), own
    if integers == n:
        return (pa.bool_() if "BOOL" in declared and booleans == n else pa.int64()), own
    if integers + reals == n:
        return pa.float64(), own
    if texts == n:
        is_date = declared.startswith("DATE") or declared.startswith("TIMESTAMP")
        if is_date and days == n:
            return pa.date32(), own
        return (pa.timestamp("us") if is_date and moments == n else pa.string()), own
    return (pa.binary(), f"CAST({own} AS BLOB)") if blobs else (pa.string(), f"CAST({own} AS TEXT)")
