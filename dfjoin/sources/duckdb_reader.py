"""Opening databases of DuckDB: each table and view, read only, and without a way to other files."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import fs

from dfjoin._optional import import_optional
from dfjoin.errors import TableReadError
from dfjoin.sources.database_server import quoted
from dfjoin.sources.declared_keys import DeclaredKeys, group_constraints
from dfjoin.sources.table_reader import Member, TableFile, TableReader, open_typed, reject_pointer, with_reasons

_ROWS_PER_BATCH = 1 << 15
_CLOSED = {"enable_external_access": "false", "threads": "1"}
_TABLES = """
SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal
UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL
"""
_AS_TEXT = ("UHUGEINT", "BIGNUM", "VARINT", "BIT", "TIME WITH TIME ZONE", "UNION", "VARIANT")
"""Types that Arrow has no like of, or that arrive as bytes of DuckDB's own: they are read as their text."""

_KEYS = """
SELECT constraint_index, constraint_column_names, coalesce(referenced_table, ''), referenced_column_names
FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
AND schema_name = ? AND table_name = ? ORDER BY constraint_index
"""


class _DuckFile:
    """A database opened for reading, as long as one of its tables is read."""

    def __init__(self, path: str) -> None:
        duckdb = import_optional("duckdb", extra="databases", purpose="reading databases of DuckDB")
        self.connection = duckdb.connect(path, read_only=True, config=_CLOSED)
        weakref.finalize(self, self.connection.close)

    def columns(self, table: str) -> list[tuple[str, str]]:
        """Return the names and types of the columns of a table."""
        return [(name, str(kind)) for name, kind, *_ in self.connection.execute(f"DESCRIBE {table}").fetchall()]

    def reader(self, query: str) -> pa.RecordBatchReader:
        """Return the rows of a query, a batch at a time."""
        found: Any = self.connection.cursor().sql(query)
        read = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader
        return read(_ROWS_PER_BATCH)


def _selected(name: str, kind: str) -> str:
    """Return what is selected of a column."""
    own = quoted(name)
    return f"CAST({own} AS VARCHAR) AS {own}" if kind.startswith(_AS_TEXT) and not kind.endswith("]") else own


def members_of_duckdb(file: TableFile) -> Iterator[Member]:
    """Find the tables and views of a database, see `dfjoin.sources.readers.tables_of`."""
    if not isinstance(file.filesystem, fs.LocalFileSystem):
        raise TableReadError("a database of DuckDB is read from a local path only; copy it here")
    reject_pointer(file.filesystem, file.path)
    with with_reasons():
        base = _DuckFile(file.path)
        tables = base.connection.execute(_TABLES).fetchall()
    for schema, table in tables:
        yield Member(_member_of(schema, table), partial(_open_table, file, base, (schema, table)))


def _member_of(schema: str, table: str) -> str:
    return table if schema == "main" else f"{schema}.{table}"


def _open_table(file: TableFile, base: _DuckFile, names: tuple[str, str]) -> TableReader:
    table = ".".join(map(quoted, names))
    with with_reasons():
        selected = {name: _selected(name, kind) for name, kind in base.columns(table)}
        with contextlib.closing(base.reader(f"SELECT {', '.join(selected.values())} FROM {table} LIMIT 0")) as empty:
            schema = empty.schema

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        chosen = ", ".join(selected[name] for name in columns)
        if columns:
            yield from base.reader(f"SELECT {chosen} FROM {table}")

    def declared() -> DeclaredKeys:
        found = base.connection.execute(_KEYS, names).fetchall()
        return group_constraints(
            (str(number), own, f"{file.source.parts[0]}/{_member_of(names[0], other)}" if other else "", key)
            for number, columns, other, keys in found
            for own, key in zip(columns, keys or [""] * len(columns), strict=True)
        )

    return open_typed(file, schema, batches, declared)
