"""Rows of a frame and of a right side whose keys are equal: a guard counts them, then they are joined."""

from __future__ import annotations

import functools
import operator
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from dfjoin.errors import InvalidParameterError, JoinExpansionError
from dfjoin.join.options import JoinOptions
from dfjoin.join.output_names import free_name, taken_names
from dfjoin.join.plan import JoinStep
from dfjoin.join.rows.execute import name_columns
from spark_ext.join_keys import PREFIX, row_number
from spark_ext.join_tables import RightTable
from spark_ext.relations import Related
from spark_ext.transfer import collect, quoted

__all__ = ["guard_expansion", "joined"]

_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
"""Type of integers → digits of a decimal that holds them."""

_EXACT_IN_DOUBLE = 15
"""Digits of an integer that a double always holds."""

_MOST_DIGITS = 38


def guard_expansion(related: Related, on: list[str], step: JoinStep, options: JoinOptions) -> None:
    """Stop a join that would multiply rows beyond what the caller allows.

    Parameters
    ----------
    related : Related
    on : list of str
        The key columns of the left frame, as its caller knows them.
    step : JoinStep
    options : JoinOptions

    Raises
    ------
    JoinExpansionError
        The text has the most frequent key.

    Notes
    -----
    The right side tells how many rows its most frequent key has; the left frame is read only where these are more than
    `max_expansion`. The key that multiplies most is looked for only where the join is refused.
    """
    right = related.right
    if right.most_rows is not None and right.most_rows <= 1:
        return
    theirs = right.frame.groupBy(*right.keys).agg(F.count(F.lit(1)).alias("other")).where(_held(right.keys))
    most = right.most_rows
    if most is None:
        most = collect(theirs.agg(F.max("other").alias("most"))).column("most")[0].as_py() or 0
    if most <= options.max_expansion:
        return
    if related.frame.isStreaming:
        raise InvalidParameterError(
            f"`max_expansion` must be at least {most:,} for this stream, whose rows cannot be counted, got "
            f'{options.max_expansion:g}: a key stands in so many rows of the right side; or pass aggregate="auto" for '
            "one row per key"
        )
    own = related.frame.groupBy(*(F.col(name) for name in related.keys)).agg(F.count(F.lit(1)).alias("own"))
    pairs = _with_right(own, related.keys, theirs, right)
    n_pairs = F.col("own") * F.coalesce(F.col("other"), F.lit(0))
    alone = F.when(F.col("other").isNull(), F.col("own"))
    counts = pairs.agg(F.sum("own").alias("rows"), F.sum(n_pairs).alias("pairs"), F.sum(alone).alias("alone"))
    (found,) = collect(counts).to_pylist()
    n_rows = found["rows"] or 0
    n_out = (found["pairs"] or 0) + ((found["alone"] or 0) if options.how in ("left", "outer") else 0)
    if not n_rows or n_out <= options.max_expansion * n_rows:
        return
    key, other = _worst_key(related, on, theirs), repr(right.stem) if step.table else "the other frame"
    n_own = f"{key['own']:,} row" + ("s" if key["own"] > 1 else "")
    raise JoinExpansionError(
        f"the join with {other} would make {n_out:,} rows of {n_rows:,}, {n_out / n_rows:.1f} times as many, above "
        f"`max_expansion` {options.max_expansion:g}; the worst key, {key['shown']!r}, stands in {n_own} of yours and "
        f'{key["other"]:,} of the table: pass aggregate="auto" for one row per key, or a higher `max_expansion`'
    )


def _worst_key(related: Related, on: list[str], theirs: Any) -> dict[str, Any]:
    """Return the key that makes the most rows, as the left frame spells it, and its rows on either side."""
    shown = F.concat_ws(" + ", *(F.min(F.col(quoted(label)).cast("string")) for label in on)).alias("shown")
    own = related.frame.groupBy(*(F.col(name) for name in related.keys)).agg(F.count(F.lit(1)).alias("own"), shown)
    pairs = own.join(theirs, _all_equal(related.keys, related.right.keys), "inner")
    worst = F.expr("max_by(struct(shown, own, other), own * other)").alias("worst")
    return collect(pairs.agg(worst)).column("worst")[0].as_py()


def _with_right(frame: Any, keys: list[str], theirs: Any, right: RightTable, how: str = "left") -> Any:
    """Join a frame with columns of the right side, which every task gets where it is small."""
    return frame.join(F.broadcast(theirs) if right.is_small else theirs, _all_equal(keys, right.keys), how)


def _held(keys: list[str]) -> Any:
    """Tell the rows that have a key."""
    return functools.reduce(operator.and_, (F.col(name).isNotNull() for name in keys))


def _all_equal(left: list[str], right: list[str]) -> Any:
    return functools.reduce(operator.and_, (F.col(a) == F.col(b) for a, b in zip(left, right, strict=True)))


def _looked_up(left: Any, keys: list[str], right: Any, right_keys: list[str], how: str) -> Any:
    """Join a frame with a right side that every task gets: rows are looked up by a hash of their key, then compared.

    Spark finds a long integer in half of the time that it needs for texts. It would look up by both if the keys were
    compared by ``=``.
    """
    hash_, right_hash = f"{PREFIX}hash", f"{PREFIX}right_hash"
    left = left.withColumn(hash_, F.xxhash64(*(F.col(name) for name in keys)))
    right = right.withColumn(right_hash, F.when(_held(right_keys), F.xxhash64(*(F.col(name) for name in right_keys))))
    condition = F.col(hash_) == F.col(right_hash)
    for one, other in zip(keys, right_keys, strict=True):
        condition = condition & (F.col(one) >= F.col(other)) & (F.col(one) <= F.col(other))
    return left.join(F.broadcast(right), condition, how)


def _spread(frame: Any, keys: list[str], columns: list[str]) -> Any:
    """Give the rows without a key keys of their own, which no right side has: no task of the join gets all of them.

    A canonical text never begins with a space.
    """
    own = F.concat(F.lit(" "), row_number(frame, columns).cast("string"))
    return frame.withColumn(keys[0], F.when(_held(keys), F.col(keys[0])).otherwise(own))


def joined(frame: Any, related: Related, on: list[str], step: JoinStep, options: JoinOptions) -> Any:
    """Join a frame with a right side by their keys, and name the new columns.

    Parameters
    ----------
    frame : pyspark DataFrame
        The left frame as its caller gave it.
    related : Related
    on : list of str
        Its key columns.
    step : JoinStep
    options : JoinOptions

    Returns
    -------
    pyspark DataFrame
    """
    right = related.right
    taken = taken_names(frame.columns, ignores_case=options.ignores_case)
    names = name_columns(list(right.values), step, right.stem, taken)
    is_counted = bool(right.count) and (_is_counted(related) if step.counted is None else step.counted)
    counted = free_name(f"{right.stem}_rows", right.stem, taken) if is_counted else ""
    merged = free_name("_merge", right.stem, taken) if options.indicator else ""
    left_mark, right_mark = f"{PREFIX}is_left", f"{PREFIX}is_right"
    left = related.frame
    is_shuffled = not right.is_small or options.keeps_right_rows
    if is_shuffled and options.how in ("left", "outer"):
        left = _spread(left, related.keys, frame.columns)
    theirs = right.frame.withColumn(right_mark, F.lit(True))
    if options.keeps_right_rows:
        left = left.withColumn(left_mark, F.lit(True))
    how = {"outer": "full"}.get(options.how, options.how)
    if is_shuffled:
        wide = left.join(theirs, _all_equal(related.keys, right.keys), how)
    else:
        wide = _looked_up(left, related.keys, theirs, right.keys, how)
    spelled = dict(zip(on, right.spelled, strict=True)) if options.keeps_right_rows and right.spelled else {}
    columns = [_filled(frame, name, right, spelled, left_mark) for name in frame.columns]
    columns += [F.col(right.values[column]).alias(name) for column, name in names.items()]
    if counted:
        columns.append(F.coalesce(F.col(right.count), F.lit(0)).alias(counted))
    if merged:
        both = F.when(F.col(right_mark).isNull(), F.lit("left_only")).otherwise(F.lit("both"))
        both = (
            F.when(F.col(left_mark).isNull(), F.lit("right_only")).otherwise(both) if options.keeps_right_rows else both
        )
        columns.append(both.alias(merged))
    return wide.select(*columns)


def _filled(frame: Any, name: str, right: RightTable, spelled: dict[str, str], left_mark: str) -> Any:
    """Return a column of the left frame; in rows of the right side alone its key, as it is spelled there."""
    column = F.col(quoted(name))
    if name not in spelled:
        return column
    field = frame.schema[name]
    type_ = key_type(field.dataType, right.frame.schema[spelled[name]].dataType)
    own, theirs = F.col(left_mark), F.col(spelled[name])
    filled = F.when(own.isNotNull(), column.cast(type_)).otherwise(theirs.cast(type_))
    return filled.alias(name, metadata=field.metadata)


def _is_counted(related: Related) -> bool:
    """Tell whether shared keys are 1:m: one stands in several rows of the right side, none in several of the left."""
    right = related.right
    if right.most_rows is not None and right.most_rows <= 1:
        return False
    repeated = right.frame.where(F.col(right.count) > 1)
    found = _with_right(related.frame, related.keys, repeated, right, "left_semi").select(*related.keys)
    if collect(found.limit(1)).num_rows == 0:
        return False
    shared = _with_right(related.frame, related.keys, right.frame, right, "left_semi")
    by = [*related.keys, related.date] if related.date else related.keys
    return collect(shared.groupBy(*by).count().where("count > 1").limit(1)).num_rows == 0


def key_type(left: Any, right: Any) -> Any:
    """Return the type in which keys of two types stand in one column, each as it is.

    Parameters
    ----------
    left, right : pyspark DataType

    Returns
    -------
    pyspark DataType
        The type of both; of two types of numbers, or of dates and times, the one that holds all values of both; else
        STRING, where each value stands as Spark writes it.

    Examples
    --------
    >>> from pyspark.sql import types as T
    >>> key_type(T.IntegerType(), T.LongType()), key_type(T.LongType(), T.StringType())
    (LongType(), StringType())
    >>> key_type(T.LongType(), T.DoubleType()), key_type(T.DateType(), T.TimestampType())
    (StringType(), TimestampNTZType())
    """
    if left == right:
        return left
    names = [type_.simpleString() for type_ in (left, right)]
    if "void" in names:
        return right if names[0] == "void" else left
    if set(names) <= {"date", "timestamp", "timestamp_ntz"}:
        return T.TimestampNTZType()
    if all(name in _DIGITS for name in names):
        return max((left, right), key=lambda type_: _DIGITS[type_.simpleString()])
    own, theirs = _digits(left), _digits(right)
    if set(names) & {"float", "double"}:
        is_exact = all(held is None or (held[0] <= _EXACT_IN_DOUBLE and not held[1]) for held in (own, theirs))
        return T.DoubleType() if is_exact and all(map(_is_numeric, (left, right))) else T.StringType()
    if own is None or theirs is None:
        return T.StringType()
    scale = max(own[1], theirs[1])
    precision = max(own[0], theirs[0]) + scale
    return T.DecimalType(precision, scale) if precision <= _MOST_DIGITS else T.StringType()


def _is_numeric(type_: Any) -> bool:
    return isinstance(type_, T.NumericType)


def _digits(type_: Any) -> tuple[int, int] | None:
    """Return how many digits values of a type have before and behind the point; None for any number of them."""
    if isinstance(type_, T.DecimalType):
        return type_.precision - type_.scale, type_.scale
    whole = _DIGITS.get(type_.simpleString())
    return None if whole is None else (whole, 0)
