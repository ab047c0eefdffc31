"""Opening tables of PostgreSQL through ADBC: read only, streamed, each table as one moment of the database shows it."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin._optional import import_optional
from dfjoin.errors import InvalidParameterError, TableReadError
from dfjoin.sources.table_reader import TableFile, TableReader, open_typed, with_reasons
from dfjoin.types import Root, TableSource

__all__ = ["fingerprint_of_postgresql", "open_postgresql", "place_of_postgresql", "tables_of_postgresql"]

_NATIVE = {
    *("bool", "int2", "int4", "int8", "float4", "float8", "text", "varchar", "bpchar", "bytea", "date", "time"),
    *("timestamp", "timestamptz", "interval", "_bool", "_int2", "_int4", "_int8", "_float4", "_float8", "_text"),
}
"""Types that arrive as those of Arrow; any other is read as its text."""

_TABLES = """
SELECT n.nspname::text, c.relname::text, pg_table_size(c.oid)::int8
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
  AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1, 2
"""
_COLUMNS = """
SELECT a.attname::text, t.typname::text, a.atttypmod::int8
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname = {schema} AND c.relname = {table} AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_DIGEST = "SELECT count(*)::int8, coalesce(sum(('x' || left(md5(t::text), 15))::bit(60)::int8), 0)::text FROM {table} t"

_connections: dict[str, str] = {}
"""URIs with their credentials by those without, so that a root listed with them in this process can be read; they are
written nowhere. In another process the environment (``PGUSER``, ``PGPASSWORD``) or ``~/.pgpass`` has them."""


class _Selected(NamedTuple):
    type: pa.DataType | None
    select: str


class _Server:
    """A transaction that changes nothing and sees one moment."""

    def __init__(self, uri: str) -> None:
        dbapi = import_optional("adbc_driver_postgresql.dbapi", extra="databases", purpose="reading PostgreSQL")
        try:
            self._connection = dbapi.connect(_connections.get(uri, uri))
        except Exception as error:
            raise TableReadError(f"the database {uri!r} cannot be opened: {_safe(error, uri)}") from None
        weakref.finalize(self, self._connection.close)
        self._uri = uri
        self.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def run(self, query: str) -> None:
        """Run a statement."""
        with self._connection.cursor() as cursor:
            cursor.execute(query)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self._connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    def schema(self, query: str) -> pa.Schema:
        """Return the types of what a query without rows selects."""
        with self._connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetch_arrow_table().schema

    def batches(self, query: str) -> Iterator[pa.RecordBatch]:
        """Return the rows of a query, a batch at a time."""
        with self._connection.cursor() as cursor:
            cursor.execute(query)
            yield from cursor.fetch_record_batch()


def _safe(error: BaseException, uri: str) -> str:
    """Return the text of an error without the credentials of a connection."""
    text = str(error)
    full = _connections.get(uri, uri)
    parts = urlsplit(full)
    for secret in (full, parts.password, parts.query):
        if secret:
            text = text.replace(secret, "…")
    return " ".join(text.split())[:300]


def place_of_postgresql(uri: str) -> str:
    """Return the URI of a database without credentials and options; they are remembered in this process."""
    parts = urlsplit(uri)
    if not parts.path.strip("/"):
        raise InvalidParameterError(
            "`source` must name the database: postgresql://host/database; got a URI without one"
        )
    host = parts.netloc.rpartition("@")[2]
    place = f"postgresql://{host}/{parts.path.strip('/')}"
    if parts.netloc != host or parts.query:
        _connections[place] = uri
    return place


def tables_of_postgresql(root: Root) -> Iterator[TableSource]:
    """List the tables and views of a database that the user may read; those of ``public`` by their names alone."""
    server = _Server(root.uri)
    for schema, table, size in server.rows(_TABLES):
        name = table if schema == "public" else f"{schema}.{table}"
        path = f"{schema}/{table}"
        yield TableSource(name, root, path, "postgresql", size, 0, (path,))


def fingerprint_of_postgresql(source: TableSource) -> int:
    """Let the server make a digest of the rows of a table, in any order."""
    with with_reasons():
        return _digest(_Server(source.root.uri), source)


def _digest(server: _Server, source: TableSource) -> int:
    ((count, total),) = server.rows(_DIGEST.format(table=_table(source)))
    types = server.rows(_columns_query(source))
    text = f"{count}:{total}:{types}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def open_postgresql(file: TableFile) -> TableReader:
    """Open a table or view, see `dfjoin.sources.readers.open_table`."""
    source = file.source
    with with_reasons():
        server = _Server(source.root.uri)
        columns = {name: _column(name, kind, modifier) for name, kind, modifier in server.rows(_columns_query(source))}
        if not columns:
            raise TableReadError("there is no such table in the database")
        chosen = ", ".join(column.select for column in columns.values())
        given = server.schema(f"SELECT {chosen} FROM {_table(source)} LIMIT 0")
        schema = pa.schema([(name, column.type or given.field(name).type) for name, column in columns.items()])

    def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
        selected = ", ".join(columns[name].select for name in names)
        for batch in server.batches(f"SELECT {selected} FROM {_table(source)}") if names else ():
            arrays = [_typed(array, columns[name].type) for name, array in zip(names, batch.columns, strict=True)]
            yield pa.record_batch(arrays, names=names)

    reader = open_typed(file, schema, batches)
    return reader.within(lambda: _digest(server, source), server)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _table(source: TableSource) -> str:
    schema, _, table = source.path.partition("/")
    return f"{_quoted(schema)}.{_quoted(table)}"


def _columns_query(source: TableSource) -> str:
    schema, _, table = source.path.partition("/")
    return _COLUMNS.format(schema=_literal(schema), table=_literal(table))


def _column(name: str, kind: str, modifier: int) -> _Selected:
    """Return the type of a column, None as it arrives, and what to select."""
    own = _quoted(name)
    if kind == "numeric":
        precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
        if modifier < 4 or precision > 76 or scale > precision:
            return _Selected(pa.float64(), f"{own}::float8 AS {own}")
        wide = pa.decimal128 if precision <= 38 else pa.decimal256
        return _Selected(wide(precision, scale), f"nullif({own}, 'NaN')::text AS {own}")
    return _Selected(None, own) if kind in _NATIVE else _Selected(pa.string(), f"{own}::text AS {own}")


def _typed(array: pa.Array, type_: pa.DataType | None) -> pa.Array:
    return array if type_ is None or array.type == type_ else pc.cast(array, type_)
