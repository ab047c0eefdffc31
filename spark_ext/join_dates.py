"""Joins of Spark by dates: the latest row of a key that is not dated after a row, found by a window over both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from dfjoin.errors import InvalidParameterError
from dfjoin.join.keys import KeyColumns
from dfjoin.join.plan import JoinStep
from dfjoin.join.relation.period_keys import dates_of
from dfjoin.join.rows.dated_rows import NEVER, is_of_dates_alone, latest_periods
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from spark_ext.canonical_sql import KeyClasses
from spark_ext.join_keys import PREFIX, KeyReading, row_number, type_of
from spark_ext.join_tables import LocalRows, OtherFrame, RightTable, spark_rows, with_known
from spark_ext.queries import wall_time
from spark_ext.relations import Related
from spark_ext.transfer import to_pandas

__all__ = ["finds_by_window", "relate_latest", "with_moments", "with_spark_moments"]

_MOMENT = f"{PREFIX}moment"

_DATED = ("date", "timestamp_ntz")
"""Types of columns that date rows, as a join reads them."""

_MICROSECONDS_OF_A_DAY = 86_400_000_000


def finds_by_window(frame: Any, step: JoinStep) -> bool:
    """Tell whether Spark finds the latest rows by itself: those of equal keys, where the frame has dates, not texts."""
    if step.dated is None or step.dated["rule"] != "latest" or step.relation is not None or is_of_dates_alone(step):
        return False
    rules = step.aggregate.values() if step.table and isinstance(step.aggregate, dict) else ()
    if any(isinstance(own, list) for own in rules):
        return False  # some rules ask how old the rows are
    return step.dated["on"] in frame.columns and type_of(frame, step.dated["on"]) in _DATED


def with_moments(rows: LocalRows, dates: pd.DataFrame, settings: IndexSettings) -> LocalRows:
    """Take the beginning of the latest period of each row as the last part of its key; rows without one have none.

    Parameters
    ----------
    rows : LocalRows
    dates : DataFrame
        Columns of dates or periods of these rows.
    settings : IndexSettings
        How they are read.
    """
    moments = normalize_column(_moments(dates, settings), IndexSettings(null_evidence=False))
    return replace(rows, parts=[*rows.parts, moments])


def _moments(dates: pd.DataFrame, settings: IndexSettings) -> pa.Array:
    """Return the beginning of the latest period of each row, in microseconds since 1970; null for none."""
    side = KeyColumns(dates, settings)
    found = [dates_of(side, label, is_known=True) for label in dates.columns]
    starts, _ = latest_periods([one for one in found if one is not None], len(dates))
    return pa.array(starts, mask=starts == NEVER)


def with_spark_moments(
    other: OtherFrame, step: JoinStep, added: Sequence[str], readings: dict[str, KeyReading]
) -> RightTable:
    """Take a frame of Spark as the right side of a join by dates, as `with_moments` does with rows in this process.

    Raises
    ------
    InvalidParameterError
        If a column that dates the rows of a large frame holds texts or numbers.
    """
    right = spark_rows(_with_moment(other, step, readings), step, [*added, _MOMENT], readings, None)
    values = dict(right.values)
    keys = [*right.keys, values.pop(_MOMENT)]
    return replace(right, keys=keys, values=values, classes=[*right.classes, KeyClasses()], most_rows=None)


def _with_moment(other: OtherFrame, step: JoinStep, readings: dict[str, KeyReading]) -> OtherFrame:
    """Add the moment of each row as text: an expression of Spark, and what is known here of few rows with texts."""
    assert step.dated is not None
    frame, names = other.frame, step.dated["right_on"]
    late = [name for name in names if type_of(frame, name) not in _DATED]
    if not late:
        moments = [_microseconds(frame, name) for name in names]
        latest = moments[0] if len(moments) == 1 else F.greatest(*moments)
        return replace(other, frame=frame.withColumn(_MOMENT, latest.cast("string")))
    dates = other.here(names)
    if dates is None:
        raise InvalidParameterError(
            f"`right_on` must end with a column of dates or times where `other` is large, got {late[0]!r} of "
            f"type {frame.schema[late[0]].dataType.simpleString()}; read it by to_date or to_timestamp"
        )
    own = {name: f"{PREFIX}d{i}" for i, name in enumerate(names)}
    known = dates.group_by(names).aggregate([]).select(names)
    settings = next(iter(readings.values())).settings
    found = pc.cast(_moments(to_pandas(known), settings), pa.string())
    known = known.rename_columns(list(own.values())).append_column(_MOMENT, found)
    return replace(other, frame=with_known(frame, own, known))


def _microseconds(frame: Any, name: str) -> Any:
    """Return the microseconds since 1970 of a column of dates or times, by the clock of the session."""
    column = wall_time(frame, name)
    if type_of(frame, name) == "date":
        return F.unix_date(column) * F.lit(_MICROSECONDS_OF_A_DAY)
    return F.timestamp_diff("MICROSECOND", F.lit("1970-01-01 00:00:00").cast("timestamp_ntz"), column)


def relate_latest(frame: Any, keys: Sequence[str], date: str, right: RightTable) -> Related:
    """Relate each row of a frame with the rows of its key that have the latest moment which is not after its own.

    Parameters
    ----------
    frame : pyspark DataFrame
        With its keys in canonical form.
    keys : sequence of str
        Their names.
    date : str
        Its column of dates or times.
    right : RightTable
        Its last key is the moment of a row.

    Notes
    -----
    One shuffle by key of the frame and of the moments of the right side, and one sort of each key's rows: the last
    moment before a row is taken from a window that ends at it. Rows without a key or a date are dealt out to tasks.
    """
    at, found, is_own, part = (f"{PREFIX}{name}" for name in ("at", "found", "is_own", "part"))
    *right_keys, moment = right.keys
    is_known = F.lit(True)
    for key in keys:
        is_known = is_known & F.col(key).isNotNull()
    dealt = F.when(is_known, 0).otherwise(row_number(frame, frame.columns) + 1)
    own = frame.withColumns(
        {at: _microseconds(frame, date), found: F.lit(None).cast("bigint"), is_own: F.lit(True), part: dealt}
    )
    known = [F.col(theirs).alias(mine) for theirs, mine in zip(right_keys, keys, strict=True)]
    begin = F.col(moment).cast("bigint")
    theirs = right.frame.where(F.col(moment).isNotNull()).select(*known, begin.alias(at), begin.alias(found)).distinct()
    both = own.unionByName(theirs.withColumn(part, F.lit(0)), allowMissingColumns=True)
    before = Window.partitionBy(part, *keys).orderBy(F.col(at).asc_nulls_first(), F.col(is_own).asc_nulls_first())
    before = before.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    name = f"{PREFIX}l{len(keys)}"
    dated = both.withColumn(name, F.last(found, ignorenulls=True).over(before).cast("string"))
    return Related(dated.where(F.col(is_own)).drop(found, is_own, part), [*keys, name], right, at)
