"""Tables of pyarrow, and what offers the Arrow C stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from dfjoin.errors import InvalidTypeError
from dfjoin.frames.given_column import GivenColumn, MadeColumn

__all__ = ["ArrowFrames", "arrow_columns", "arrow_table", "convert_columns"]


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
