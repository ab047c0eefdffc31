"""Relations of DuckDB; DuckDB is not imported before the caller has one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from dfjoin.frames.arrow_frames import arrow_columns, convert_columns
from dfjoin.frames.given_column import GivenColumn, MadeColumn

__all__ = ["DuckdbFrames"]

_AS_TEXT = ("BIT", "TIME WITH TIME ZONE", "BIGNUM", "VARINT", "UHUGEINT")
"""Types that lose something on their way into Arrow."""

_VIEW = "dfjoin_given"
"""Temporary view by which a relation lends its connection."""


class DuckdbFrames:
    """Relations of DuckDB; the result is a relation of the same connection."""

    def is_kind(self, value: object) -> bool:
        """Tell whether a value is a relation, without importing DuckDB."""
        names = {(c.__module__.partition(".")[0].lstrip("_"), c.__name__) for c in type(value).__mro__}
        return ("duckdb", "DuckDBPyRelation") in names

    def columns(self, frame: Any, argument: str) -> list[GivenColumn]:
        """Run the relation, once."""
        types = [str(type_) for type_ in frame.types]
        if any(_loses(type_) for type_ in types):
            names = map(_quoted, frame.columns)
            parts = [
                f"CAST({name} AS VARCHAR) AS {name}" if _loses(type_) else name
                for name, type_ in zip(names, types, strict=True)
            ]
            frame = frame.project(", ".join(parts))
        columns = arrow_columns(_with_order(frame.to_arrow_table()))
        return [
            GivenColumn(column.field, column.array, _DuckdbColumn(type_))
            for column, type_ in zip(columns, types, strict=True)
        ]

    def rebuild(self, given: Any, columns: list[MadeColumn]) -> Any:
        """Make a relation; a column that kept its type in Arrow has the type that it had in DuckDB."""

        def scan(dfjoin_result: Any) -> Any:  # the query reads it by its name
            return given.query(_VIEW, "SELECT * FROM dfjoin_result")

        relation = convert_columns(columns, scan)
        parts = [
            _with_type(name, str(type_), one.origin)
            for name, type_, one in zip(relation.columns, relation.types, columns, strict=True)
        ]
        return relation.project(", ".join(parts))


def _with_type(name: str, type_: str, origin: GivenColumn | None) -> str:
    """Write a column of a relation in SQL, with the type that it had in DuckDB."""
    wanted = origin.own.type if origin is not None and isinstance(origin.own, _DuckdbColumn) else type_
    is_same = wanted in (type_, '"NULL"')
    return _quoted(name) if is_same else f"CAST({_quoted(name)} AS {wanted}) AS {_quoted(name)}"


class _DuckdbColumn:
    """What DuckDB has of a column: its type, as SQL writes it."""

    def __init__(self, type_: str) -> None:
        self.type = type_


def _with_order(table: pa.Table) -> pa.Table:
    """Say of categories that they are in order, as those of DuckDB's ``ENUM`` are."""
    types = [
        pa.dictionary(type_.index_type, type_.value_type, ordered=True) if pa.types.is_dictionary(type_) else type_
        for type_ in table.schema.types
    ]
    arrays = [
        pa.chunked_array(
            [pa.DictionaryArray.from_arrays(c.indices, c.dictionary, ordered=True) for c in column.chunks], type_
        )
        if pa.types.is_dictionary(type_)
        else column
        for column, type_ in zip(table.columns, types, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=table.column_names)


def _loses(type_: str) -> bool:
    return any(name in type_ for name in _AS_TEXT)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
