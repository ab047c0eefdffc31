"""Columns that come in and go out: as Arrow, with what their library has of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.errors import InvalidTypeError
from dfjoin.values.cells import CONVERSION_ERRORS, cell_texts, cell_type, workable_array, workable_type
from dfjoin.values.frames import storable_array


@dataclass(frozen=True)
class GivenColumn:
    """A column of a frame that came in.

    Parameters
    ----------
    field : pyarrow Field
        Its name, and its type and metadata in Arrow.
    array : pyarrow ChunkedArray
        Its values, of a type that rows can be taken of.
    own : object
        What its library has of it, for a frame of the same library: a Series of polars, a column of Arrow, its type in
        DuckDB.
    is_numbered : bool
        Arrow does not have its type: `array` holds the numbers of its rows, in structs, which are no keys.
    """

    field: pa.Field
    array: pa.ChunkedArray
    own: Any
    is_numbered: bool = False

    @classmethod
    def of(cls, field: pa.Field, column: pa.ChunkedArray, own: Any) -> GivenColumn:
        """Make a column that Arrow has; views and runs are written out, since Arrow takes no rows of them."""
        type_ = workable_type(field.type)
        if pa.types.is_dictionary(type_) and pa.types.is_unsigned_integer(type_.index_type):
            # pandas 2 makes no objects of them
            signed = pa.dictionary(pa.int64(), type_.value_type, type_.ordered)
            return cls(field, column.cast(signed), own)
        if type_ == field.type:
            return cls(field, column, own)
        chunks = [workable_array(chunk) for chunk in column.chunks]
        return cls(field, pa.chunked_array(chunks, chunks[0].type if chunks else type_), own)


def numbered_column(name: str, n_rows: int, own: Any) -> GivenColumn:
    """Make a column of a type that Arrow does not have: the number of each of its rows stands for the value."""
    rows = pa.StructArray.from_arrays([pa.array(np.arange(n_rows))], names=["row"])
    return GivenColumn(pa.field(name, rows.type), pa.chunked_array([rows]), own, is_numbered=True)


@dataclass(frozen=True)
class MadeColumn:
    """A column of a result.

    Parameters
    ----------
    name : str
    array : pyarrow ChunkedArray
        Its values; of the type of `origin`, where that is known.
    origin : GivenColumn or None
        The column whose cells it has.
    """

    name: str
    array: pa.ChunkedArray
    origin: GivenColumn | None = None

    @classmethod
    def of(cls, name: str, column: pd.Series, origin: GivenColumn | None, is_own: bool = True) -> MadeColumn:
        """Take a column out of the frame that a join made.

        It gets the type of the column that it comes from, unless a rule computed it, or keys were filled in from the
        other frame that do not have this type. One that does not change is given back as its library had it, unless it
        is of the other frame, which may be one of another library.
        """
        array = _to_arrow(column, origin)
        if origin is None:
            return cls(name, array)
        if is_own and _are_same(array, origin.array):
            return cls(name, origin.array, origin)
        type_ = array.type
        if not (type_ in (origin.field.type, origin.array.type) or pa.types.is_null(type_)):
            return cls(name, array)
        if pa.types.is_dictionary(type_) and not _has_its_categories(array, origin.array):
            return cls(name, array.cast(type_.value_type))
        restored = _of_type(array, origin.field.type)
        return cls(name, restored, origin if restored.type == origin.field.type else None)

    @property
    def is_unchanged(self) -> bool:
        """Whether all rows of the origin stand in it, in their order."""
        return self.origin is not None and self.array is self.origin.array

    @property
    def field(self) -> pa.Field:
        """Name, type and metadata in Arrow."""
        if self.origin is None:
            return pa.field(self.name, self.array.type)
        field = self.origin.field.with_name(self.name).with_type(self.array.type)
        return field if field.nullable or not self.array.null_count else field.with_nullable(True)

    def as_text(self) -> MadeColumn:
        """Return the column as texts, for a library that lacks its type."""
        if self.is_numbered and self.origin is not None:
            values = self.origin.own.to_list()
            own = [None if row is None or values[row] is None else str(values[row]) for row in self.rows]
            return MadeColumn(self.name, pa.chunked_array([pa.array(own, pa.string())]))
        try:
            texts = cell_texts(self.array)
        except InvalidTypeError:
            texts = pa.array([None if value is None else str(value) for value in self.array.to_pylist()], pa.string())
        return MadeColumn(self.name, pa.chunked_array([texts]))

    @property
    def is_numbered(self) -> bool:
        """Whether it holds numbers of rows, see `GivenColumn`."""
        return self.origin is not None and self.origin.is_numbered

    @property
    def rows(self) -> list[int | None]:
        """Of a numbered column: row of the origin for each row; None for a null."""
        return pc.struct_field(self.array, "row").to_pylist()


class FrameKind(Protocol):
    """A kind of frame: how its columns come in, and how one is made of the columns of a result."""

    ignores_case: bool
    """Names of its columns that differ by case alone are one name."""

    def is_kind(self, value: object) -> bool:
        """Tell whether a value is a frame of this kind; imports nothing."""

    def columns(self, frame: Any, argument: str) -> list[GivenColumn]:
        """Read the columns of a frame, once; `argument` is the name of what carried it, for messages."""

    def rebuild(self, given: Any, columns: list[MadeColumn]) -> Any:
        """Make a frame of the class of `given`."""


def _are_same(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Tell whether two columns are the same places in memory; pandas makes new objects for these."""
    return (one.type, one.num_chunks) == (other.type, other.num_chunks) and all(
        len(own) == len(theirs) and own.offset == theirs.offset and _addresses(own) == _addresses(theirs)
        for own, theirs in zip(one.chunks, other.chunks, strict=True)
    )


def _addresses(array: pa.Array) -> list[int | None]:
    return [None if buffer is None else buffer.address for buffer in array.buffers()]


def _to_arrow(column: pd.Series, origin: GivenColumn | None) -> pa.ChunkedArray:
    """Return what a column of pandas holds as Arrow; objects of no common type become text."""
    if isinstance(column.dtype, pd.ArrowDtype):
        return column.array.__arrow_array__()
    if column.dtype != object:
        array = pa.array(column, from_pandas=True)
    else:
        array = storable_array(column) if origin is None else _of_keys(column, origin.array.type)
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _of_keys(column: pd.Series, type_: pa.DataType) -> pa.Array:
    """Convert objects to the type of their origin; keys of both sides, of two types, as they print."""
    is_of_type = cell_type(type_) in (pa.string(), pa.large_string()) or not any(isinstance(v, str) for v in column)
    if is_of_type and not (pa.types.is_date(type_) and any(isinstance(v, datetime) for v in column)):
        is_coded = pa.types.is_dictionary(type_)  # Arrow 18 makes no codes of objects
        try:
            array = pa.array(column, type_.value_type if is_coded else type_, from_pandas=True)
            return array.cast(type_) if is_coded else array
        except CONVERSION_ERRORS:
            pass
    values = [None if is_null else value for value, is_null in zip(column, column.isna(), strict=True)]
    is_number = [v is None or isinstance(v, float) or (isinstance(v, Decimal) and float(v) == v) for v in values]
    if pa.types.is_floating(type_) and all(is_number):
        return pa.array([None if v is None else float(v) for v in values], type_)
    if pa.types.is_decimal(type_) and all(is_number):
        try:
            return pa.array([Decimal(str(v)) if isinstance(v, float) else v for v in values], type_)
        except CONVERSION_ERRORS:  # more digits than the type has
            pass
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def _has_its_categories(array: pa.ChunkedArray, origin: pa.ChunkedArray) -> bool:
    """Tell whether all categories of a column are some of its origin: keys of another frame may have others."""
    own = [workable_array(chunk.dictionary) for chunk in array.chunks]
    known = [workable_array(chunk.dictionary) for chunk in origin.chunks]
    if not own or not known:
        return not own
    return all(bool(pc.all(pc.is_in(values, pa.concat_arrays(known)), min_count=0).as_py()) for values in own)


def _of_type(array: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """Convert a column to the type that its origin had; as it is where values do not fit."""
    if array.type == type_:
        return array
    try:
        if pa.types.is_list_view(type_) or pa.types.is_large_list_view(type_):  # Arrow casts no lists to views
            return pa.chunked_array([pa.array(array.to_pylist(), type_)])
        if pa.types.is_run_end_encoded(type_):
            runs = [pc.run_end_encode(chunk, run_end_type=type_.run_end_type) for chunk in array.chunks]
            return pa.chunked_array(runs, type_)
        return array.cast(type_)
    except CONVERSION_ERRORS:
        return array
