"""Frames of polars, eager and lazy; polars is not imported before the caller has one."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from dfjoin.frames.arrow_frames import convert_columns
from dfjoin.frames.given_column import GivenColumn, MadeColumn, numbered_column
from dfjoin.values.cells import CONVERSION_ERRORS

__all__ = ["PolarsFrames"]


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
