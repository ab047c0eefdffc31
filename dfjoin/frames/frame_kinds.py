"""Tables of pyarrow, and what offers the Arrow C stream."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from dfjoin.errors import InvalidTypeError
from dfjoin.frames.given_column import GivenColumn, MadeColumn, numbered_column
from dfjoin.values.cells import CONVERSION_ERRORS


def arrow_columns(table: pa.Table) -> list[GivenColumn]:
    """Return the columns of a table of pyarrow."""
    return [GivenColumn.of(field, column, column) for field, column in zip(table.schema, table.columns, strict=True)]


def arrow_table(columns: list[MadeColumn], metadata: Any = None) -> pa.Table:
    """Make a table of the columns of a result."""
    columns = [one.as_text() if one.is_numbered else one for one in columns]
    return pa.Table.from_arrays(
        [one.array for one in columns], schema=pa.schema([one.field for one in columns], metadata)
    )


def convert_columns(columns: list[MadeColumn], convert: Callable[[pa.Table], Any]) -> Any:
    """Convert the columns of a result to another library; those of a type that it lacks become text.

    Parameters
    ----------
    columns : list of MadeColumn
    convert : callable
        Makes what the library has of a table; it raises an exception where it lacks a type.
    """

    def is_known(column: MadeColumn) -> bool:
        return try_to(arrow_table([column]).slice(0, 1)) is not None

    def try_to(table: pa.Table) -> Any:
        try:
            return convert(table)
        except BaseException as error:  # whatever the library raises; a panic of Rust is no `Exception`
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            return None

    made = try_to(arrow_table(columns))
    if made is not None:
        return made
    return convert(arrow_table([one if is_known(one) else one.as_text() for one in columns]))


def _as_given(column: MadeColumn) -> MadeColumn:
    """Return a column that did not change as it came in, views and runs among them."""
    return replace(column, array=column.origin.own) if column.is_unchanged and column.origin is not None else column


class ArrowFrames:
    """Tables, record batches and readers of pyarrow; of anything else that has a stream, the result is a table."""

    ignores_case = False

    def is_kind(self, value: object) -> bool:
        """Tell whether a value offers an Arrow stream."""
        return hasattr(value, "__arrow_c_stream__") or isinstance(value, (pa.Table, pa.RecordBatch))

    def columns(self, frame: Any, argument: str) -> list[GivenColumn]:
        """Read the stream, once.

        Raises
        ------
        InvalidTypeError
            If it is one of values, and not of rows.
        """
        try:
            return arrow_columns(frame if isinstance(frame, pa.Table) else pa.table(frame))
        except (pa.ArrowException, TypeError, ValueError) as error:
            name = f"{type(frame).__module__}.{type(frame).__name__}"
            raise InvalidTypeError(
                f"`{argument}` must be a frame, got {name}, whose Arrow stream is none of a table ({error}); give its "
                "values a name, as in pyarrow.table({name: values})"
            ) from error

    def rebuild(self, given: Any, columns: list[MadeColumn]) -> Any:
        """Make a table, or the record batch or reader that came in."""
        metadata = getattr(getattr(given, "schema", None), "metadata", None)
        table = arrow_table([_as_given(one) for one in columns], metadata)
        if isinstance(given, pa.RecordBatchReader):
            return table.to_reader()
        if isinstance(given, pa.RecordBatch):
            arrays = [pa.concat_arrays(column.chunks) if column.num_chunks else None for column in table.columns]
            empty = [pa.array([], field.type) for field in table.schema]
            whole = [one if array is None else array for array, one in zip(arrays, empty, strict=True)]
            return pa.RecordBatch.from_arrays(whole, schema=table.schema)
        return table


# Frames of polars, eager and lazy; polars is not imported before the caller has one -------------------------


class PolarsFrames:
    """``DataFrame`` and ``LazyFrame`` of polars; a lazy one is collected, once, and a lazy one comes back."""

    ignores_case = False

    def is_kind(self, value: object) -> bool:
        """Tell whether a value is a frame of polars."""
        polars = sys.modules.get("polars")  # None, or a module of the caller that has its name
        classes = (getattr(polars, "DataFrame", ()), getattr(polars, "LazyFrame", ()))
        return hasattr(polars, "api") and isinstance(value, classes)

    def columns(self, frame: Any, argument: str) -> list[GivenColumn]:
        """Read the columns; what Arrow has no type for is carried as decimals, or by the numbers of its rows."""
        polars: Any = sys.modules["polars"]
        if isinstance(frame, polars.LazyFrame):
            frame = frame.collect()
        every = [(own, _arrow_like(own, polars)) for own in frame.get_columns()]
        table = polars.DataFrame({own.name: like for own, like in every if like is not None}).to_arrow()
        columns = []
        for own, like in every:
            if like is None:
                columns.append(numbered_column(own.name, len(own), own))
            else:
                position = table.column_names.index(own.name)
                columns.append(GivenColumn.of(table.schema.field(position), table.column(position), own))
        return columns

    def rebuild(self, given: Any, columns: list[MadeColumn]) -> Any:
        """Make a frame; columns that did not change are those that came in."""
        polars: Any = sys.modules["polars"]
        new = [one for one in columns if not (one.is_unchanged or one.is_numbered)]
        table = convert_columns(new, partial(polars.from_arrow, rechunk=False)) if new else polars.DataFrame()
        frame = polars.DataFrame({one.name: _series(one, table, polars) for one in columns})
        return frame.lazy() if isinstance(given, polars.LazyFrame) else frame


def _arrow_like(own: Any, polars: Any) -> Any:
    """Return a column as one that Arrow has a type for; None if there is none."""
    if own.dtype == polars.Object:
        return None
    if str(own.dtype) in ("Int128", "UInt128"):
        for dtype in (polars.Decimal(38, 0), polars.String):
            try:
                return own.cast(dtype)
            except polars.exceptions.PolarsError:
                continue
        return None
    try:
        own.clear().to_arrow()
    except (*CONVERSION_ERRORS, polars.exceptions.PolarsError):
        return None
    return own


def _series(column: MadeColumn, table: Any, polars: Any) -> Any:
    """Return a column of a result as a Series, of the dtype that it came with."""
    if column.origin is None:
        return table.get_column(column.name)
    own = column.origin.own
    is_of_polars = isinstance(own, polars.Series)
    if column.is_unchanged:
        return own.alias(column.name)
    if column.is_numbered:
        return own.gather(column.rows).alias(column.name)
    made = table.get_column(column.name)
    return made.cast(own.dtype) if is_of_polars and made.dtype != own.dtype else made


# Relations of DuckDB; DuckDB is not imported before the caller has one --------------------------------------


_AS_TEXT = ("bit", "time with time zone", "bignum", "varint", "uhugeint")
"""Types that lose something in Arrow."""

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
    """Tell whether a type, or one of which it is made, loses something in Arrow."""
    if type_.id not in ("list", "array", "struct", "map", "union"):
        return type_.id in _AS_TEXT
    return any(_loses(part) for _, part in type_.children if hasattr(part, "id"))  # an array has its size beside


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
