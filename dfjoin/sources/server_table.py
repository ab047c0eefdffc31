"""A table of a database on a server: how queries name it, and the reader of what they return."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dfjoin.sources.database_server import path_of_table, quoted, schema_and_table
from dfjoin.sources.declared_keys import DeclaredKeys, group_constraints
from dfjoin.sources.table_reader import TableFile, TableReader, open_typed
from dfjoin.sources.wanted_rows import SqlColumn, literal, read_wanted
from dfjoin.types import TableSource


def name_in_queries(source: TableSource) -> str:
    """Return the schema and the name of a table as queries write them."""
    return ".".join(map(quoted, schema_and_table(source.path)))


def about_table(query: str, source: TableSource) -> str:
    """Return a query of the server's own tables, which names ``{schema}`` and ``{table}``."""
    schema, table = schema_and_table(source.path)
    return query.format(schema=literal(schema), table=literal(table))


@dataclass(frozen=True)
class ServerTable:
    """A table or view whose columns are known.

    Parameters
    ----------
    file : TableFile
    server : object
        A session: ``rows(query)`` returns all rows of a query, ``batches(query)`` some at a time.
    columns : dict of str to SqlColumn
    schema : pyarrow.Schema
        Of the columns.
    keys : str
        Query of the constraints that the database declares, see `about_table`.
    """

    file: TableFile
    server: Any
    columns: dict[str, SqlColumn]
    schema: pa.Schema
    keys: str

    def reader(self, typed: Callable[[Any, pa.DataType], pa.Array], fingerprint: Callable[[], int]) -> TableReader:
        """Return what reads it.

        Parameters
        ----------
        typed : callable
            Makes a column of a type of what a batch of the session holds of it.
        fingerprint : callable
        """
        asked = name_in_queries(self.file.source)

        def select(selected: str, names: list[str], rest: str) -> Iterator[pa.RecordBatch]:
            for cells in self.server.batches(f"SELECT {selected} FROM {asked} {rest}"):
                found = zip(names, cells, strict=True)
                yield pa.record_batch([typed(one, self.schema.field(name).type) for name, one in found], names=names)

        def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
            yield from read_wanted(self.file.rows_by_raw(self.schema.names), names, self.columns, select)

        def declared() -> DeclaredKeys:
            rows = self.server.rows(about_table(self.keys, self.file.source))
            return group_constraints(
                (name, own, path_of_table(schema, table) if table else "", key)
                for name, own, schema, table, key in rows
            )

        return open_typed(self.file, self.schema, batches, declared).within(fingerprint, self.server)
