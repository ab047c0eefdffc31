"""pandas frames on their way into Arrow: one column at a time, of any dtype, by position or name."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from dfjoin._validation import show
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, did_you_mean, shortlist
from dfjoin.values.cells import (
    CONVERSION_ERRORS,
    cell_texts,
    is_searchable_type,
    plain_array,
    whole_text,
    workable_array,
    workable_type,
)
from dfjoin.values.header_meaning import clean_names

NOT_INDEXED = b"dfjoin:not_indexed"
"""Key in the metadata of an Arrow field; its value is the reason why the column is not to be indexed."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def is_pandas(value: object) -> bool:
    """Tell whether a value is a pandas DataFrame."""
    return isinstance(value, pd.DataFrame)


def is_spark(value: object) -> bool:
    """Tell whether a value is a Spark DataFrame, without importing pyspark."""
    return any(c.__module__.startswith("pyspark.sql") and c.__name__ == "DataFrame" for c in type(value).__mro__)


def select_column(df: pd.DataFrame, name: Any, argument: str) -> pd.Series:
    """Return one column of a frame; raises as `column_position` does."""
    position = column_position(df, name, argument)
    return df[name] if df.columns.nlevels == 1 else df.iloc[:, position]


def column_position(df: pd.DataFrame, name: Any, argument: str) -> int:
    """Return the position of a column of a frame.

    Parameters
    ----------
    df : DataFrame
    name : hashable
        Column label.
    argument : str
        Name of the argument that carried it, for messages.

    Raises
    ------
    ColumnNotFoundError
        If there is no such column; the message lists those there are.
    InvalidParameterError
        If several columns have that name.
    """
    try:
        position = df.columns.get_loc(name)
    except (KeyError, TypeError, pd.errors.InvalidIndexError):
        raise ColumnNotFoundError(
            f"`{argument}` must name a column of the frame ({shortlist(df.columns)}), got {show(name)}{_hint(df, name)}"
        ) from None
    if isinstance(position, int):
        return position
    count = len(range(df.shape[1])[position]) if isinstance(position, slice) else int(np.count_nonzero(position))
    if count == 1:
        return range(df.shape[1])[position][0] if isinstance(position, slice) else int(np.argmax(position))
    if df.columns.nlevels > 1:
        raise InvalidParameterError(
            f"`{argument}` must name one column, but {show(name)} stands for {count} columns of a header with "
            f"{df.columns.nlevels} levels; give a label of all levels, such as {show(df.columns[position][0])}"
        )
    raise InvalidParameterError(
        f"`{argument}` must name one column, but {count} columns of the frame are called {show(name)}; rename them"
    )


def name_columns_of(frame: pd.DataFrame, names: list[str]) -> None:
    """Name the columns of a frame as those of a new one are; an index of texts takes pandas 0.1 ms."""
    columns = frame.columns
    if columns.dtype != "str" or columns.name is not None or list(columns) != names:
        frame.columns = pd.Index(names, dtype=None if names else "str")


def _hint(df: pd.DataFrame, name: Any) -> str:
    """Say where a name is that is no column, or which are near: a level of the index is one after ``reset_index``.

    Levels are columns where keys are sought (`with_levels`), not for features.
    """
    is_level = isinstance(name, Hashable) and name is not None and any(name == level for level in df.index.names)
    if is_level:
        return f"; it is a level of the index: pass df.reset_index({show(name)})"
    return did_you_mean(name, [label for label in df.columns if isinstance(label, str)])


def column_to_arrow(column: pd.Series, argument: str = "on") -> pa.Array | pa.ChunkedArray:
    """Convert a column to Arrow, of a plain type; NaN, NaT, None and NA become null.

    Durations, times, UUIDs, periods and intervals become text, see `dfjoin.values.cells.plain_array`. Objects of
    mixed types are converted by their types: numbers, dates and booleans keep their type's spelling, everything
    else is its ``str``.

    Raises
    ------
    InvalidTypeError
        If the column holds lists, dicts, bytes or other values that have no text.
    """
    array = _to_arrow(column, argument)
    if isinstance(array, pa.ChunkedArray) and pa.types.is_large_string(array.type):
        return array
    try:
        array = plain_array(array)
    except CONVERSION_ERRORS as error:
        raise _no_text(column, argument, str(array.type)) from error
    if not (is_searchable_type(array.type) or pa.types.is_boolean(array.type)):
        raise _no_text(column, argument, str(array.type))
    return array


def _no_text(column: pd.Series, argument: str, found: str) -> InvalidTypeError:
    return InvalidTypeError(
        f"`{argument}` must name a column of text, numbers, dates or booleans; {column.name!r} holds {found}: turn "
        "its values into text first"
    )


def _to_arrow(column: pd.Series, argument: str) -> pa.Array | pa.ChunkedArray:
    """Convert a column to the Arrow type that is nearest; raises `InvalidTypeError` for objects without text."""
    dtype = column.dtype
    if isinstance(dtype, pd.StringDtype) and isinstance(column.array, pd.arrays.ArrowExtensionArray):
        return column.array.__arrow_array__()  # what it holds; converting the Series takes twenty times as long
    if isinstance(dtype, pd.CategoricalDtype):
        codes = pa.array(column.cat.codes.to_numpy(), mask=column.cat.codes.to_numpy() < 0)
        categories = _to_arrow(pd.Series(column.cat.categories, name=column.name), argument)
        return workable_array(categories).take(codes.cast(pa.int64()))
    if isinstance(dtype, pd.SparseDtype):
        return _to_arrow(column.sparse.to_dense(), argument)
    if isinstance(dtype, pd.ArrowDtype):
        return nan_as_null(column.array.__arrow_array__())
    if isinstance(dtype, (pd.PeriodDtype, pd.IntervalDtype)) or dtype.kind == "c":
        return pa.array(column.astype(str).to_numpy(dtype=object), pa.string(), mask=column.isna().to_numpy())
    try:
        converted = pa.array(column, from_pandas=True)
    except CONVERSION_ERRORS:
        return _spell_each(column, argument)
    return (
        _spell_each(column, argument)
        if pd.api.types.is_object_dtype(dtype) and _is_mixed(column, converted.type)
        else converted
    )


def nan_as_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of Arrow with nulls for NaN, which Arrow tells apart, and all other columns of pandas do not."""
    if not pa.types.is_floating(column.type):
        return column
    is_nan = pc.is_nan(column.cast(pa.float32()) if pa.types.is_float16(column.type) else column)
    return pc.if_else(is_nan, pa.scalar(None, column.type), column) if pc.any(is_nan).as_py() else column


def _is_mixed(column: pd.Series, type_: pa.DataType) -> bool:
    """Tell whether objects are of types that Arrow has made one: days with times, numbers with booleans."""
    if pa.types.is_string(type_) or isinstance(type_, pa.BaseExtensionType):
        return False
    if pa.types.is_date(type_):
        return any(isinstance(value, datetime) for value in column)
    if not is_searchable_type(type_) and not pa.types.is_boolean(type_):
        return False
    return pd.api.types.infer_dtype(column, skipna=True) in ("mixed", "mixed-integer")


def _spell_each(column: pd.Series, argument: str) -> pa.Array:
    """Write the values of a mixed column, each as a column of its own type would be written."""
    rows_of: dict[type, list[int]] = {}
    for row, value in enumerate(column):
        if not _is_missing(value):
            rows_of.setdefault(type(value), []).append(row)
    texts = np.full(len(column), None, object)
    for rows in rows_of.values():
        texts[rows] = _spell_alike([column.iloc[row] for row in rows], column, argument)
    return pa.array(texts, pa.string())


def _is_missing(value: Any) -> bool:
    return value is None or (pd.api.types.is_scalar(value) and bool(pd.isna(value)))


def _spell_alike(values: list[Any], column: pd.Series, argument: str) -> list[str | None]:
    """Write values of one type."""
    if isinstance(values[0], (list, dict, set, tuple, bytes, np.ndarray)):
        raise _no_text(column, argument, type(values[0]).__name__)
    try:
        return cell_texts(pa.array(values, from_pandas=True)).to_pylist()
    except CONVERSION_ERRORS:
        return [_spell(value, column, argument) for value in values]


def _spell(value: Any, column: pd.Series, argument: str) -> str:
    """Write one value that Arrow does not know."""
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    try:
        text = str(value)
    except Exception as error:  # whatever an object of another library raises
        raise _no_text(column, argument, type(value).__name__) from error
    if not isinstance(value, str) and _ADDRESS.search(text):
        raise _no_text(column, argument, f"{type(value).__name__}, which prints another text each time")
    return whole_text(text)


def frame_of_columns(columns: Mapping[Any, pd.Series]) -> pd.DataFrame:
    """Put columns of equal length side by side by position; to compare their labels takes pandas longer than all else.

    Objects stay objects: an array of texts would get the dtype of texts.
    """
    return pd.DataFrame(
        {
            name: column.reset_index(drop=True) if column.dtype == object else column.array
            for name, column in columns.items()
        }
    )


def arrow_to_series(column: pa.ChunkedArray) -> pd.Series:
    """Convert a column of a table to pandas; integers and booleans with nulls become nullable.

    What pandas has no value for comes as near as it can: dates beyond the year 9999 as ``datetime64``, times
    cut to the microsecond, timestamps of an unknown zone in UTC, other values as objects or their text.
    """
    type_ = column.type
    if isinstance(type_, pa.BaseExtensionType) and type_.extension_name == "arrow.bool8":
        column = pa.chunked_array([plain_array(chunk) for chunk in column.chunks], pa.bool_())
    is_interval = isinstance(type_, pa.BaseExtensionType) and type_.extension_name == "pandas.interval"
    if is_interval and column.null_count and pa.types.is_integer(type_.subtype):
        values = np.full(len(column), np.nan, object)
        values[column.is_valid().to_numpy()] = list(column.drop_null().to_pandas())
        return pd.Series(values, dtype=object)  # whole numbers have no null to mark a bound with
    try:
        if column.null_count and pa.types.is_integer(column.type):
            return column.to_pandas(types_mapper=_nullable_type)
        series = column.to_pandas()
    except CONVERSION_ERRORS:
        return _nearest_series(column)
    return series.astype("boolean") if column.null_count and pa.types.is_boolean(column.type) else series


def _nullable_type(type_: pa.DataType) -> Any:
    name = str(type_)
    return pd.api.types.pandas_dtype(name.replace("i", "I").replace("u", "U"))


def _nearest_series(column: pa.ChunkedArray) -> pd.Series:
    """Convert a column that Arrow does not convert by itself."""
    type_ = column.type
    if pa.types.is_date(type_):
        return column.to_pandas(date_as_object=False)
    try:
        if pa.types.is_time(type_):
            return column.cast(pa.time64("us"), safe=False).to_pandas()
        if pa.types.is_timestamp(type_):
            bare = [chunk.view(pa.int64()).view(pa.timestamp(type_.unit, "UTC")) for chunk in column.chunks]
            return pa.chunked_array(bare, pa.timestamp(type_.unit, "UTC")).to_pandas()
        return pd.Series(column.to_pylist(), dtype=object)
    except CONVERSION_ERRORS:
        pass
    texts = [_text_or_null(scalar) for chunk in column.chunks for scalar in chunk]
    return pd.Series(texts, dtype=object)


def _text_or_null(scalar: pa.Scalar) -> str | None:
    try:
        return str(scalar) if scalar.is_valid else None
    except CONVERSION_ERRORS:
        return None


def as_objects(column: pd.Series) -> pd.Series:
    """Return a column as objects, near ones for dates that Python does not have."""
    try:
        return column.astype(object)
    except CONVERSION_ERRORS:
        nearest = arrow_to_series(column.array.__arrow_array__())
        return pd.Series(list(nearest), index=column.index, name=column.name, dtype=object)


def workable_frame(df: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of whose columns rows can be taken; Arrow's views and runs are written out."""
    wanted: dict[int, Any] = {}
    for position, dtype in enumerate(df.dtypes):
        if not isinstance(dtype, pd.ArrowDtype):
            continue
        type_ = workable_type(dtype.pyarrow_dtype)
        if type_ == dtype.pyarrow_dtype and not pa.types.is_interval(type_):
            continue
        whole = df.iloc[:, position].array.__arrow_array__()
        if type_ != dtype.pyarrow_dtype:
            chunks = [workable_array(chunk) for chunk in whole.chunks]
            wanted[position] = pd.arrays.ArrowExtensionArray(pa.chunked_array(chunks))
        else:  # pandas has no scalars of an interval
            wanted[position] = arrow_to_series(whole).array
    if not wanted:
        return df
    df = df.copy(deep=False)
    for position, array in wanted.items():
        df.isetitem(position, array)
    return df


def frame_to_table(df: pd.DataFrame) -> pa.Table:
    """Convert a frame to Arrow, column by column; named index levels become columns.

    Labels become text, blank and repeated ones are renamed as a file's header would be. A column whose
    objects have no common type becomes text; one of lists or bytes stays what it is. A type that Parquet does
    not hold becomes text; where such text may be another tomorrow, the field says in its metadata why the
    column is not to be indexed (`NOT_INDEXED`).
    """
    named = _named_levels(df)
    columns = [*named, *(df.iloc[:, i] for i in range(df.shape[1]))]
    labels = [*(level.name for level in named), *df.columns]
    arrays, fields = [], []
    names = clean_names([whole_text(label_text(label)) for label in labels])
    for name, column in zip(names, columns, strict=True):
        array, reason = _storable(column)
        arrays.append(array)
        fields.append(pa.field(name, array.type, metadata={NOT_INDEXED: reason.encode()} if reason else None))
    return pa.table(arrays, schema=pa.schema(fields))


def with_levels(df: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the named levels of its index as columns before its own; the index stays.

    A level with the name of a column stays in the index alone; so do all where two levels have one name. In a header
    of several levels the name is followed by empty texts, as ``reset_index`` writes it. The frame itself where no level
    becomes a column.
    """
    levels = [level for level in _named_levels(df) if level.name not in df.columns]
    if not levels or len({level.name for level in levels}) < len(levels):
        return df
    df = df.copy(deep=False)
    empty = [""] * (df.columns.nlevels - 1)
    for position, level in enumerate(levels):
        df.insert(position, (level.name, *empty) if empty else level.name, level)
    return df


def _named_levels(df: pd.DataFrame) -> list[pd.Series]:
    """Return the named levels of the index of a frame as columns."""
    names = enumerate(df.index.names)
    return [df.index.get_level_values(i).to_series(df.index, name) for i, name in names if name is not None]


def _storable(column: pd.Series) -> tuple[pa.Array | pa.ChunkedArray, str]:
    """Convert a column to a type that Parquet holds; also return why it is not to be indexed, if it is not."""
    try:
        array = _to_arrow(column, "source")
    except InvalidTypeError:
        kinds = sorted({type(value).__name__ for value in column if not _is_missing(value)})
        return _printed(column), f"its objects ({', '.join(kinds[:3])}) have no text that stays the same"
    if isinstance(array, pa.ChunkedArray):
        array = pa.chunked_array([workable_array(chunk) for chunk in array.chunks], workable_type(array.type))
    else:
        array = workable_array(array)
    if _is_held_by_parquet(array):
        return array, ""
    try:
        plain = column_to_arrow(column, "source")
        if _is_held_by_parquet(plain):
            return plain, ""
    except InvalidTypeError:
        pass
    return _printed(column), f"values of type {array.type} have no text that stays the same"


def storable_array(column: pd.Series) -> pa.Array | pa.ChunkedArray:
    """Convert a column of any dtype to Arrow; objects of no common type become text."""
    return _storable(column)[0]


def _is_held_by_parquet(array: pa.Array | pa.ChunkedArray) -> bool:
    """Tell whether a column can be written as Parquet; those that are not plain are tried."""
    type_ = array.type
    is_timed = pa.types.is_temporal(type_) or pa.types.is_interval(type_)
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or (pa.types.is_primitive(type_) and not is_timed):
        return True
    try:
        parquet.write_table(pa.table([array], names=["x"]), pa.MockOutputStream())
    except CONVERSION_ERRORS:
        return False
    return True


def _printed(column: pd.Series) -> pa.Array:
    """Return what values print, whatever they are."""
    texts = []
    for value in column:
        try:
            texts.append(None if _is_missing(value) else whole_text(str(value)))
        except Exception:  # whatever an object of another library raises
            texts.append(f"<{type(value).__name__}>")
    return pa.array(texts, pa.string())


def label_text(label: Any) -> str:
    """Write a column label as text; the parts of a tuple one after the other."""
    return " ".join(str(part) for part in label) if isinstance(label, tuple) else str(label)
