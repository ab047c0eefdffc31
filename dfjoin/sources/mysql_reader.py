"""Opening tables of MySQL and MariaDB: read only, streamed, as one moment of the database shows them."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin._optional import import_optional
from dfjoin.errors import InvalidParameterError, TableReadError
from dfjoin.sources.database_server import full_uri, location_of, path_of_table, quoted, safe_text, shared_session
from dfjoin.sources.roots import fingerprint_text
from dfjoin.sources.server_table import ServerTable, about_table, name_in_queries
from dfjoin.sources.table_reader import TableFile, TableReader, with_reasons
from dfjoin.sources.wanted_rows import SqlColumn, literal
from dfjoin.types import Root, TableSource

_ROWS_PER_BATCH = 1 << 14
_OPTIONS = ("unix_socket", "ssl_ca", "ssl_cert", "ssl_key", "ssl_verify_cert", "ssl_verify_identity", "read_timeout")
_SETTINGS = (
    "SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', time_zone = '+00:00'",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
)
_TABLES = """
SELECT table_schema, table_name, coalesce(data_length, 0) FROM information_schema.tables
WHERE table_type IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED') AND {wanted} ORDER BY 1, 2
"""
_NOT_OWN = "table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')"
_COLUMNS = """
SELECT column_name, data_type, column_type, coalesce(numeric_precision, 0), coalesce(numeric_scale, 0)
FROM information_schema.columns WHERE table_schema = {schema} AND table_name = {table} ORDER BY ordinal_position
"""
_KEYS = """
SELECT constraint_name, column_name, referenced_table_schema, referenced_table_name, referenced_column_name
FROM information_schema.key_column_usage WHERE table_schema = {schema} AND table_name = {table}
ORDER BY constraint_name, ordinal_position
"""
_INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 32, "int": 32, "bigint": 64}
_TYPES = {
    "float": pa.float32(),
    "double": pa.float64(),
    "year": pa.int16(),
    "date": pa.date32(),
    "datetime": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", "UTC"),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"), pa.string()),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), pa.binary()),
}
"""Types that arrive as those of Arrow, beside integers and decimals; any other is read as its text."""

_SHAPES = ("point", "linestring", "polygon", "geom")
"""How the types of shapes begin, behind ``multi``; they are read as their text."""

_NO_DAY = r"^0000|-00"
"""Dates that MySQL keeps and no calendar has: they are nulls."""


class _MysqlServer:
    """A transaction that changes nothing and sees one moment; of tables without transactions each statement's own."""

    def __init__(self, uri: str) -> None:
        pymysql = import_optional("pymysql", extra="databases", purpose="reading MySQL and MariaDB")
        full = full_uri(uri)
        try:
            self._connection = pymysql.connect(
                **_arguments(full), conv={}, cursorclass=pymysql.cursors.SSCursor, charset="utf8mb4", autocommit=True
            )
            weakref.finalize(self, self._connection._force_close)  # `close` would wait for all rows of a query
            for statement in _SETTINGS:
                self.rows(statement)
        except Exception as error:
            raise TableReadError(f"the database {uri!r} cannot be opened: {safe_text(error, full)}") from None
        self.is_usable = True

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of a query, whose values are texts."""
        with self._connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def batches(self, query: str) -> Iterator[list[tuple[Any, ...]]]:
        """Return the rows of a query, the cells of each column, of many rows at a time."""
        cursor = self._connection.cursor()
        is_read = False
        try:
            cursor.execute(query)
            while rows := cursor.fetchmany(_ROWS_PER_BATCH):
                yield list(zip(*rows, strict=True))
            is_read = True
        finally:
            if not is_read:  # the rows that are left would have to be read before the next query
                self.is_usable = False
                self._connection._force_close()
                if cursor._result is not None:
                    cursor._result.unbuffered_active = False
                cursor.connection = None


def _arguments(uri: str) -> dict[str, Any]:
    """Return how a URI says that the server is reached; the rest is told by ``~/.my.cnf`` and ``MYSQL_PWD``."""
    parts = urlsplit(uri)
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise InvalidParameterError(f"`source` may have the options {', '.join(_OPTIONS)}, got {unknown[0]!r}")
    for name in ("ssl_verify_cert", "ssl_verify_identity"):
        if name in options:
            options[name] = options[name].lower() in ("1", "true", "yes")
    if "read_timeout" in options:
        options["read_timeout"] = float(options["read_timeout"])
    file = Path("~/.my.cnf").expanduser()
    if file.is_file():
        options["read_default_file"] = str(file)
    password = unquote(parts.password or "") or os.environ.get("MYSQL_PWD", "")
    given = {"user": unquote(parts.username or ""), "password": password.encode(), "host": parts.hostname}
    return {**{name: value for name, value in given.items() if value}, "port": parts.port or 0, **options}


def location_of_mysql(given: str | Callable[[], str]) -> str:
    """Return the URI of a database, or of a server whose databases are all read, without credentials and options."""
    return location_of(given, "mysql", needs_database=False)


def _server_of(root: Root) -> _MysqlServer:
    return shared_session(root.uri, _MysqlServer) or _MysqlServer(root.uri)


def _database_of(root: Root) -> str:
    return unquote(urlsplit(root.uri).path.strip("/"))


def tables_of_mysql(root: Root) -> Iterator[TableSource]:
    """List the tables and views of a database, or of all databases that the user may read as ``database.table``."""
    database = _database_of(root)
    wanted = f"table_schema = {literal(database)}" if database else _NOT_OWN
    with with_reasons():
        found = _server_of(root).rows(_TABLES.format(wanted=wanted))
    for schema, table, size in found:
        path = path_of_table(schema, table)
        yield TableSource(table if database else f"{schema}.{table}", root, path, "mysql", int(size), 0, (path,))


def fingerprint_of_mysql(source: TableSource) -> int:
    """Let the server make a digest of the rows of a table, in any order."""
    with with_reasons():
        return _digest(_server_of(source.root), source)


def _digest(server: _MysqlServer, source: TableSource) -> int:
    columns = server.rows(about_table(_COLUMNS, source))
    cells = ", ".join(f"md5(quote({quoted(name)}))" for name, *_ in columns) or "''"
    row = f"conv(left(md5(concat_ws(',', {cells})), 15), 16, 10)"
    found = server.rows(f"SELECT count(*), sum(cast({row} AS unsigned)) FROM {name_in_queries(source)}")
    text = f"{found}:{columns}"
    return fingerprint_text(text)


def open_mysql(file: TableFile) -> TableReader:
    """Open a table or view, see `dfjoin.sources.readers.open_table`."""
    source = file.source
    with with_reasons():
        server = _server_of(source.root)
        columns = {name: _column(name, *about) for name, *about in server.rows(about_table(_COLUMNS, source))}
        if not columns:
            raise TableReadError("there is no such table in the database")
    schema = pa.schema([(name, column.type) for name, column in columns.items()])

    table = ServerTable(file, server, columns, schema, _KEYS)
    return table.reader(_typed, lambda: _digest(server, source))


def _column(name: str, kind: str, full: str, precision: str, scale: str) -> SqlColumn:
    """Return the type of a column, what to select, and what to compare."""
    own = quoted(name)
    if kind in _INTEGERS:
        sign = "u" if "unsigned" in full else ""
        return SqlColumn(getattr(pa, f"{sign}int{_INTEGERS[kind]}")(), own, (own,))
    if kind == "decimal":
        wide = pa.decimal128 if int(precision) <= 38 else pa.decimal256
        return SqlColumn(wide(int(precision), int(scale)), own, (own,))
    if kind == "bit":
        return SqlColumn(pa.uint64(), f"{own} + 0", (own,))
    if kind.removeprefix("multi").startswith(_SHAPES):
        return SqlColumn(pa.string(), f"ST_AsText({own})", (f"ST_AsText({own})",))
    type_, select = (_TYPES[kind], own) if kind in _TYPES else (pa.string(), f"cast({own} AS char)")
    is_text = pa.types.is_string(type_)
    exact = (f"cast(convert({select} USING utf8mb4) AS binary)",) if is_text else ()  # no collation tells all texts
    return SqlColumn(type_, select, (select, *exact))


def _typed(cells: tuple[Any, ...], type_: pa.DataType) -> pa.Array:
    """Make a column of what the server wrote of it as texts."""
    if pa.types.is_binary(type_):
        return pa.array([cell.encode() if isinstance(cell, str) else cell for cell in cells], type_)
    texts = pa.array([cell.decode() if isinstance(cell, bytes) else cell for cell in cells], pa.string())
    if pa.types.is_temporal(type_):
        texts = pc.if_else(pc.match_substring_regex(texts, _NO_DAY), None, texts)
        if pa.types.is_timestamp(type_) and type_.tz:
            return pc.assume_timezone(pc.cast(texts, pa.timestamp("us")), "UTC")
    return pc.cast(texts, type_)
