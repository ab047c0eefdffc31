"""pandas frames on their way into Arrow: one column at a time, of any dtype, by position or name."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dfjoin._validation import show
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.values.names import clean_names

__all__ = ["column_to_arrow", "frame_to_table", "is_pandas", "is_spark", "select_column"]


def is_pandas(value: object) -> bool:
    """Tell whether a value is a pandas DataFrame."""
    return isinstance(value, pd.DataFrame)


def is_spark(value: object) -> bool:
    """Tell whether a value is a Spark DataFrame, without importing pyspark."""
    return any(c.__module__.startswith("pyspark.sql") and c.__name__ == "DataFrame" for c in type(value).__mro__)


def select_column(df: pd.DataFrame, name: Any, argument: str) -> pd.Series:
    """Return one column of a frame.

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
    if not isinstance(position, int):
        count = len(range(df.shape[1])[position]) if isinstance(position, slice) else int(np.count_nonzero(position))
        if df.columns.nlevels > 1:
            raise InvalidParameterError(
                f"`{argument}` must name one column, but {show(name)} stands for {count} columns of a header with "
                f"{df.columns.nlevels} levels; give a label of all levels, such as {show(df.columns[position][0])}"
            )
        raise InvalidParameterError(
            f"`{argument}` must name one column, but {count} columns of the frame are called {show(name)}; rename them"
        )
    return df[name] if df.columns.nlevels == 1 else df.iloc[:, position]


def _hint(df: pd.DataFrame, name: Any) -> str:
    """Say where a name is that is no column: a level of the index is one after ``reset_index``."""
    is_level = isinstance(name, Hashable) and name is not None and any(name == level for level in df.index.names)
    return f"; it is a level of the index: pass df.reset_index({show(name)})" if is_level else ""


def column_to_arrow(column: pd.Series, argument: str = "on") -> pa.Array | pa.ChunkedArray:
    """Convert a column to Arrow; NaN, NaT, None and NA become null.

    Objects of mixed types are converted value by value: numbers, dates and booleans keep their type's
    spelling, everything else is its ``str``.

    Raises
    ------
    InvalidTypeError
        If the column holds lists, dicts, bytes or other values that have no text.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.StringDtype) and isinstance(column.array, pd.arrays.ArrowExtensionArray):
        return column.array.__arrow_array__()  # what it holds; converting the Series takes twenty times as long
    if isinstance(dtype, pd.CategoricalDtype):
        codes = pa.array(column.cat.codes.to_numpy(), mask=column.cat.codes.to_numpy() < 0)
        categories = column_to_arrow(pd.Series(column.cat.categories), argument)
        return categories.take(codes.cast(pa.int64()))
    if isinstance(dtype, (pd.PeriodDtype, pd.IntervalDtype)) or dtype.kind == "c":
        return pa.array(column.astype(str).to_numpy(dtype=object), pa.string(), mask=column.isna().to_numpy())
    try:
        converted = pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        converted = pa.array([_spell(value, argument, column.name) for value in column], pa.string())
    type_ = converted.type
    if pa.types.is_nested(type_) or pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        raise InvalidTypeError(
            f"`{argument}` must name a column of text, numbers, dates or booleans; {column.name!r} holds "
            f"{type_}: turn its values into text first"
        )
    return converted


def _spell(value: Any, argument: str, name: Any) -> str | None:
    """Write one value of a mixed column as its own type would be written."""
    if isinstance(value, (list, dict, set, tuple, bytes, np.ndarray)):
        raise InvalidTypeError(
            f"`{argument}` must name a column of text, numbers, dates or booleans; {name!r} holds "
            f"{type(value).__name__}: turn its values into text first"
        )
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def frame_to_table(df: pd.DataFrame) -> pa.Table:
    """Convert a frame to Arrow, column by column; named index levels become columns.

    Labels become text, blank and repeated ones are renamed as a file's header would be. A column whose
    objects have no common type becomes text; one of lists or bytes stays what it is.
    """
    if any(name is not None for name in df.index.names):
        levels = [df.index.get_level_values(i).to_series(index=df.index) for i in range(df.index.nlevels)]
        named = [level.rename(n) for level, n in zip(levels, df.index.names, strict=True) if n is not None]
    else:
        named = []
    columns = [*named, *(df.iloc[:, i] for i in range(df.shape[1]))]
    labels = [*(level.name for level in named), *df.columns]
    arrays = []
    for column in columns:
        try:
            arrays.append(column_to_arrow(column, "source"))
        except InvalidTypeError:
            try:
                arrays.append(pa.array(column, from_pandas=True))
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                arrays.append(pa.array([None if v is None else str(v) for v in column], pa.string()))
    return pa.table(arrays, names=clean_names([_label_text(label) for label in labels]))


def _label_text(label: Any) -> str:
    """Write a column label as text; the parts of a tuple one after the other."""
    return " ".join(str(part) for part in label) if isinstance(label, tuple) else str(label)
