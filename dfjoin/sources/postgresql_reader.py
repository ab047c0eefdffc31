"""Opening tables of PostgreSQL through ADBC: read only, streamed, each table as one moment of the database shows it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin._optional import import_optional
from dfjoin.errors import TableReadError
from dfjoin.sources.database_server import full_uri, location_of, path_of_table, quoted, safe_text, shared_session
from dfjoin.sources.roots import fingerprint_text
from dfjoin.sources.server_table import ServerTable, about_table, name_in_queries
from dfjoin.sources.table_reader import TableFile, TableReader, with_reasons
from dfjoin.sources.wanted_rows import SqlColumn, literal
from dfjoin.types import Root, TableSource

_TEXTS = ("text", "varchar", "bpchar")
_NATIVE = {
    *("bool", "int2", "int4", "int8", "float4", "float8", *_TEXTS, "bytea", "date", "time"),
    *("timestamp", "timestamptz", "interval", "_bool", "_int2", "_int4", "_int8", "_float4", "_float8", "_text"),
}
"""Types that arrive as those of Arrow; any other is read as its text."""

_WITH_INFINITY = ("date", "timestamp", "timestamptz")
"""Types with ``infinity``, which Arrow has no like of: it is a null, as it has no end."""

_TABLES = """
SELECT n.nspname::text, c.relname::text, pg_table_size(c.oid)::int8
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
  AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1, 2
"""
_COLUMNS = """
SELECT a.attname::text, coalesce(b.typname, t.typname)::text,
  (CASE WHEN b.oid IS NULL THEN a.atttypmod ELSE t.typtypmod END)::int8
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype AND t.typtype = 'd'
WHERE n.nspname = {schema} AND c.relname = {table} AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_DIGEST = "SELECT count(*)::int8, coalesce(sum(('x' || left(md5(t::text), 15))::bit(60)::int8), 0)::text FROM {table} t"

_KEYS = """
SELECT c.conname::text, a.attname::text, coalesce(n.nspname::text, ''), coalesce(r.relname::text, ''),
  coalesce(b.attname::text, '')
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace s ON s.oid = t.relnamespace
CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k(number, place)
JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number
LEFT JOIN pg_class r ON r.oid = c.confrelid LEFT JOIN pg_namespace n ON n.oid = r.relnamespace
LEFT JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = c.confkey[k.place]
WHERE c.contype IN ('p', 'u', 'f') AND s.nspname = {schema} AND t.relname = {table} ORDER BY c.conname, k.place
"""
_SETTINGS = (
    "SET standard_conforming_strings = on",
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
)


class _PostgresServer:
    """A transaction that changes nothing and sees one moment, that of an exported snapshot if one is named."""

    def __init__(self, uri: str, snapshot: str = "") -> None:
        dbapi = import_optional("adbc_driver_postgresql.dbapi", extra="databases", purpose="reading PostgreSQL")
        full = full_uri(uri)
        try:
            self._connection = dbapi.connect(full)
            weakref.finalize(self, self._connection.close)
            for statement in (*_SETTINGS, *([f"SET TRANSACTION SNAPSHOT {literal(snapshot)}"] if snapshot else [])):
                with self._connection.cursor() as cursor:
                    cursor.execute(statement)
        except Exception as error:
            raise TableReadError(f"the database {uri!r} cannot be opened: {safe_text(error, full)}") from None
        self.is_usable = True

    @contextmanager
    def _running(self, query: str) -> Iterator[Any]:
        """Run a query; one that fails ends the transaction."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(query)
                yield cursor
        except Exception:
            self.is_usable = False
            raise

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self._running(query) as cursor:
            return cursor.fetchall()

    def schema(self, query: str) -> pa.Schema:
        """Return the types of what a query without rows selects."""
        with self._running(query) as cursor:
            return cursor.fetch_arrow_table().schema

    def batches(self, query: str) -> Iterator[list[pa.Array]]:
        """Return the rows of a query, the columns of a batch at a time."""
        with self._running(query) as cursor:
            for batch in cursor.fetch_record_batch():
                yield batch.columns


class _Moment:
    """A moment of a database, which all transactions of a build see."""

    is_usable = True

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._first = self._server = _PostgresServer(uri)
        ((self._snapshot,),) = self._first.rows("SELECT pg_export_snapshot()")  # known as long as the first one lives

    def server(self) -> _PostgresServer:
        """Return a transaction, another one after a query that failed."""
        if self._server is self._first or not self._server.is_usable:
            self._server = _PostgresServer(self._uri, self._snapshot)
        return self._server


def _server_of(root: Root) -> _PostgresServer:
    moment = shared_session(root.uri, _Moment)
    return _PostgresServer(root.uri) if moment is None else moment.server()


def location_of_postgresql(given: str | Callable[[], str]) -> str:
    """Return the URI of a database without credentials and options; they are remembered in this process."""
    return location_of(given, "postgresql")


def tables_of_postgresql(root: Root) -> Iterator[TableSource]:
    """List the tables and views of a database that the user may read; those of ``public`` by their names alone."""
    with with_reasons():
        found = _server_of(root).rows(_TABLES)
    for schema, table, size in found:
        name = table if schema == "public" else f"{schema}.{table}"
        path = path_of_table(schema, table)
        yield TableSource(name, root, path, "postgresql", size, 0, (path,))


def fingerprint_of_postgresql(source: TableSource) -> int:
    """Let the server make a digest of the rows of a table, in any order."""
    with with_reasons():
        return _digest(_server_of(source.root), source)


def _digest(server: _PostgresServer, source: TableSource) -> int:
    ((count, total),) = server.rows(_DIGEST.format(table=name_in_queries(source)))
    types = server.rows(about_table(_COLUMNS, source))
    text = f"{count}:{total}:{types}"
    return fingerprint_text(text)


def open_postgresql(file: TableFile) -> TableReader:
    """Open a table or view, see `dfjoin.sources.readers.open_table`."""
    source = file.source
    with with_reasons():
        server = _server_of(source.root)
        columns = {name: _column(name, *about) for name, *about in server.rows(about_table(_COLUMNS, source))}
        if not columns:
            raise TableReadError("there is no such table in the database")
        chosen = ", ".join(column.select for column in columns.values())
        given = server.schema(f"SELECT {chosen} FROM {name_in_queries(source)} LIMIT 0")
        types = zip(columns.items(), given.types, strict=True)
        schema = pa.schema([(name, column.type or type_) for (name, column), type_ in types])

    table = ServerTable(file, server, columns, schema, _KEYS)
    return table.reader(_typed, lambda: _digest(server, source))


def _column(name: str, kind: str, modifier: int) -> SqlColumn:
    """Return the type of a column, None as it arrives, what to select, and what to compare."""
    own = quoted(name)
    if kind == "numeric":
        precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
        if modifier < 4 or precision > 76 or scale > precision:
            return SqlColumn(pa.float64(), f"{own}::float8", (own,))
        wide = pa.decimal128 if precision <= 38 else pa.decimal256
        return SqlColumn(wide(precision, scale), f"nullif({own}, 'NaN')::text", (own,))
    if kind in _TEXTS:
        return SqlColumn(None, own, (own, f'{own} COLLATE "C"'))
    if kind in _WITH_INFINITY:
        return SqlColumn(None, f"CASE WHEN isfinite({own}) THEN {own} END", (own,))
    if kind in _NATIVE:
        return SqlColumn(None, own, (own,))
    return SqlColumn(pa.string(), f"{own}::text", (f"{own}::text",))


def _typed(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return array if array.type == type_ else pc.cast(array, type_)
