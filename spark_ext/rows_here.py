"""Rows of a Spark DataFrame that come to this process, to decide a join: key columns first, bounded in bytes.

What a join brings stays in Spark: of these rows nothing but keys is used after the decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type

from dfjoin.values.frames import arrow_to_series
from spark_ext.queries import is_searchable, wall_time, wall_type
from spark_ext.transfer import collect, count_rows, has_more_rows, to_pandas

__all__ = ["MOST_BYTES", "RowsHere", "all_here", "collect_rows", "draw_rows", "wall_columns"]

MOST_BYTES = 64 << 20
"""Bytes as Arrow of the rows of one frame that come here."""

_FEW_ROWS = 1_000
"""Rows that tell how large the values of a column are."""


@dataclass(frozen=True)
class RowsHere:
    """Rows of a frame in this process.

    Parameters
    ----------
    frame : DataFrame
        All columns of the frame; a column whose values are not here holds nulls.
    table : pyarrow.Table
        The columns whose values are here, times by the session's clock.
    is_whole : bool
        They are all rows of the frame.
    is_small : bool
        They are, and the values of all columns together are few bytes.
    """

    frame: pd.DataFrame
    table: pa.Table
    is_whole: bool
    is_small: bool = False


def wall_columns(frame: Any, names: Sequence[str]) -> Any:
    """Select columns as a join reads them: times as the session's clock shows them."""
    return frame.select(*(wall_time(frame, name).alias(name) for name in names))


def all_here(frame: Any, rows: pa.Table) -> RowsHere:
    """Take the rows of a frame that were in this process already."""
    if any(pa.types.is_timestamp(type_) and type_.tz for type_ in rows.schema.types):
        rows = collect(wall_columns(frame, frame.columns))
    return RowsHere(to_pandas(rows), rows, True, rows.nbytes <= MOST_BYTES)


def draw_rows(frame: Any, keys: Sequence[str] | None, most: int, *, is_part_used: bool = True) -> RowsHere:
    """Bring the rows of a frame here if they are few, else its first ones.

    Parameters
    ----------
    frame : pyspark DataFrame
    keys : sequence of str or None
        Columns that come before any other; None: any may be a key, and those of short values come first.
    most : int
        So many rows are few, where their keys are below 64 MiB.
    is_part_used : bool, default=True
        False: of a frame of more rows none has to come.

    Returns
    -------
    RowsHere

    Notes
    -----
    One job where the frame has at most 1,000 rows. Else these tell how large the values are, a second job looks whether
    there are more than `most`, unless Spark's plan tells, and a third brings the columns for which there is room. A
    column whose type has no text, or that Arrow lacks, stays in Spark.
    """
    names = [field.name for field in frame.schema.fields if is_searchable(field.dataType.simpleString())]
    is_known = len(names) == len(frame.columns)
    if not is_part_used and has_more_rows(frame, most):
        none = pa.table({name: pa.nulls(0, _arrow_type(frame.schema[name].dataType)) for name in names})
        return RowsHere(_with_all(frame, none), none, False)
    few = min(most, _FEW_ROWS)
    first = collect(wall_columns(frame, names).limit(few + 1) if names else frame.limit(few + 1).select(F.lit(1)))
    if first.num_rows <= few:
        return RowsHere(_with_all(frame, first), first.select(names), True, is_known and first.nbytes <= MOST_BYTES)
    first = first.slice(0, few)
    part = RowsHere(_with_all(frame, first), first.select(names), False)
    is_more = few == most or (is_part_used and has_more_rows(frame, most))
    return part if is_more else collect_rows(frame, part, keys, most)


def collect_rows(frame: Any, few: RowsHere, keys: Sequence[str] | None, most: int) -> RowsHere:
    """Bring all rows of a frame of at most `most` rows here; `few` of them tell how large the values are.

    They are counted where there is no room for `most` rows of their size. The few rows are returned where there is none
    for the keys.
    """
    widths = {name: few.table.column(name).nbytes / few.table.num_rows for name in few.table.column_names}
    n_bytes = sum(widths.values())
    n_rows = most if n_bytes * most <= MOST_BYTES else count_rows(frame)
    chosen = _chosen(widths, keys, n_rows)
    if not chosen:
        return few
    rows = collect(wall_columns(frame, chosen))
    is_small = len(widths) == len(frame.columns) and n_bytes * rows.num_rows <= MOST_BYTES
    return RowsHere(_with_all(frame, rows), rows, True, is_small)


def _chosen(widths: dict[str, float], keys: Sequence[str] | None, n_rows: int) -> list[str]:
    """Choose the columns that come: the keys, then those of the shortest values; none if there is no room for keys."""
    first = [name for name in widths if keys is not None and name in keys]
    rest = sorted((name for name in widths if name not in first), key=widths.__getitem__)
    n_bytes = sum(widths[name] for name in first) * n_rows
    if n_bytes > MOST_BYTES:
        return []
    chosen = set(first)
    for name in rest:
        n_bytes += widths[name] * n_rows
        if n_bytes > MOST_BYTES:
            break
        chosen.add(name)
    return [name for name in widths if name in chosen]


def _with_all(frame: Any, rows: pa.Table) -> pd.DataFrame:
    """Make a frame of all columns; those that are not in `rows` hold nulls of their type."""
    data = {}
    for field in frame.schema.fields:
        if field.name in rows.column_names:
            data[field.name] = arrow_to_series(rows.column(field.name))
        else:
            nulls = pa.nulls(rows.num_rows, _arrow_type(field.dataType))
            data[field.name] = arrow_to_series(pa.chunked_array([nulls]))
    return pd.DataFrame(data, columns=frame.columns, index=range(rows.num_rows))


def _arrow_type(type_: Any) -> pa.DataType:
    """Return the Arrow type of a column as a join reads it; text for one that Arrow lacks or that has no text."""
    name = type_.simpleString()
    if not is_searchable(name):
        return pa.string()
    return pa.timestamp("us") if wall_type(name) == "timestamp_ntz" else to_arrow_type(type_)
