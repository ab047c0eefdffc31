"""Relations of DuckDB; DuckDB is not imported before the caller has one."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa

from dfjoin.frames.arrow_frames import arrow_columns, convert_columns
from dfjoin.frames.given_column import GivenColumn, MadeColumn

__all__ = ["DuckdbFrames"]

_AS_TEXT = ("bit", "time with time zone", "bignum", "varint", "uhugeint")
"""Types that lose something on their way into Arrow."""

_VIEW = "dfjoin_given_5f0e6a52c4b74a5e9d1f83f60b7c2ad9"
"""Temporary view by which a relation lends its connection; a name that no table of the caller has."""

_SETTING = "python_enable_replacements"
"""Setting of DuckDB: whether a query finds variables of Python by their names."""


class DuckdbFrames:
    """Relations of DuckDB; the result is a relation of the same connection."""

    ignores_case = True

    def is_kind(self, value: object) -> bool:
        """Tell whether a value is a relation, without importing DuckDB."""
        names = {(c.__module__.partition(".")[0].lstrip("_"), c.__name__) for c in type(value).__mro__}
        return ("duckdb", "DuckDBPyRelation") in names

    def columns(self, frame: Any, argument: str) -> list[GivenColumn]:
        """Run the relation, once."""
        types = [str(type_) for type_ in frame.types]
        is_lost = [_loses(type_) for type_ in frame.types]
        if any(is_lost):
            parts = [
                f"CAST({name} AS VARCHAR) AS {name}" if is_text else name
                for name, is_text in zip(map(_quoted, frame.columns), is_lost, strict=True)
            ]
            frame = frame.project(", ".join(parts))
        columns = arrow_columns(_with_order(frame.to_arrow_table()))
        return [
            GivenColumn(column.field, column.array, _DuckdbColumn(type_))
            for column, type_ in zip(columns, types, strict=True)
        ]

    def rebuild(self, given: Any, columns: list[MadeColumn]) -> Any:
        """Make a relation; a column has the type that it had in DuckDB, or text where keys were filled in beyond it."""
        relation = convert_columns(columns, partial(_scan, given))
        wanted = {
            _quoted(name): (str(type_), one.origin.own.type)
            for name, type_, one in zip(relation.columns, relation.types, columns, strict=True)
            if one.origin is not None and isinstance(one.origin.own, _DuckdbColumn)
        }
        changed = {name: types for name, types in wanted.items() if types[1] not in (types[0], '"NULL"')}
        if not changed:
            return relation
        lost = [
            f"count(*) FILTER (CAST(TRY_CAST({name} AS {own}) AS {type_}) IS DISTINCT FROM {name})"
            for name, (type_, own) in changed.items()
        ]
        counts = relation.aggregate(", ".join(lost)).fetchall()[0]
        casts = {
            name: f"CAST({name} AS {'VARCHAR' if n_lost else own}) AS {name}"
            for (name, (_, own)), n_lost in zip(changed.items(), counts, strict=True)
        }
        return relation.project(", ".join(casts.get(name, name) for name in map(_quoted, relation.columns)))


def _scan(given: Any, dfjoin_result_5f0e6a52c4b74a5e9d1f83f60b7c2ad9: pa.Table) -> Any:
    """Return a table as a relation of the connection of another one, which a query finds by the variable's name."""

    def run(query: str) -> Any:
        return given.query(_VIEW, query)

    is_off = not run(f"SELECT current_setting('{_SETTING}')").fetchall()[0][0]
    try:
        if is_off:
            run(f"SET {_SETTING} = true")
        return given.query(_VIEW, "SELECT * FROM dfjoin_result_5f0e6a52c4b74a5e9d1f83f60b7c2ad9")
    finally:
        if is_off:
            run(f"SET {_SETTING} = false")
        run(f"DROP VIEW IF EXISTS {_VIEW}")


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


def _loses(type_: Any) -> bool:
    """Tell whether a type, or one of which it is made, loses something on its way into Arrow."""
    if type_.id not in ("list", "array", "struct", "map", "union"):
        return type_.id in _AS_TEXT
    return any(_loses(part) for _, part in type_.children if hasattr(part, "id"))  # an array has its size beside


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
