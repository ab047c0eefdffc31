"""Keys of Spark DataFrames: columns in canonical form, programs applied, as expressions of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from dfjoin.errors import InvalidTypeError
from dfjoin.programs.program import Program
from dfjoin.programs.spark_sql import quote
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from dfjoin.values.nulls import NULL_TEXTS
from dfjoin.values.zero_padding import respell_zeros
from spark_ext.canonical_sql import DATE_LIKE, FOLD, KeyClasses, key_sql
from spark_ext.compiled_fold import fold_compiled, fold_program
from spark_ext.queries import check_named, is_searchable, wall_time, wall_type
from spark_ext.transfer import collect, quoted

__all__ = [
    "PREFIX",
    "check_column",
    "choose_key",
    "classes_of",
    "classes_of_keys",
    "program_key",
    "row_number",
    "type_of",
    "with_key",
    "with_sql",
]

PREFIX = "__dfjoin_"
"""Begin of the names of columns that only a join sees."""

_SPREAD = 1009
"""Into how many parts rows without a key are dealt."""


def check_column(frame: Any, name: Any, argument: str) -> str:
    """Return the name of a column that can be a key, or raise."""
    check_named(frame, name, argument)
    type_ = frame.schema[name].dataType.simpleString()
    if not is_searchable(type_):
        raise InvalidTypeError(
            f"`{argument}` must name a column whose values have a text, got {name!r} of type {type_}; turn its values "
            "into text first"
        )
    return name


def type_of(frame: Any, name: str) -> str:
    """Return the type that a column has as a key."""
    return wall_type(frame.schema[name].dataType.simpleString())


def row_number(frame: Any, columns: Sequence[str]) -> Any:
    """Return a number from 0 to 1,008 for each row, by which rows without a key are dealt out to tasks.

    It is a digest of the row: a task that is repeated gives each row the same one.
    """
    simple = [F.col(quoted(name)) for name in columns if is_searchable(frame.schema[name].dataType.simpleString())]
    return F.pmod(F.xxhash64(*simple) if simple else F.lit(0), F.lit(_SPREAD)).cast("int")


def with_sql(frame: Any, steps: Sequence[Any], name: str) -> Any:
    """Add a column that a chain of expressions makes, each of the one before it, ``{0}``; folds are compiled.

    Parameters
    ----------
    frame : pyspark DataFrame
    steps : sequence of str or pyspark Column
        As from `key_sql`; a column is no text, and reads the frame.
    name : str
    """
    operand = ""
    for number, step in enumerate(steps):
        last = name if number == len(steps) - 1 else f"{name}_{number}"
        made = step
        if isinstance(step, str):
            folded = fold_compiled(frame, operand) if step == FOLD else None
            made = F.expr(step.replace("{0}", operand)) if folded is None else folded
        frame = frame.withColumn(last, made)
        operand = quoted(last)
    return frame.drop(*(f"{name}_{number}" for number in range(len(steps) - 1)))


def with_key(
    frame: Any, column: str, name: str, classes: KeyClasses, settings: IndexSettings, pad: int | None = None
) -> Any:
    """Add a column of a frame as a key in canonical form.

    Parameters
    ----------
    frame : pyspark DataFrame
    column, name : str
        The column, and the key.
    classes : KeyClasses
        Of the keys of the other side.
    settings : IndexSettings
    pad : int, optional

    Notes
    -----
    Expressions of Spark alone, unless the other side's keys make it necessary to read the column as a whole: then its
    distinct values pass through one task of Python.
    """
    raw = f"{name}_raw"
    frame = frame.withColumn(raw, wall_time(frame, column))
    type_ = type_of(frame, raw)
    if classes.decides_whole_columns(type_):
        keys = frame.select(raw).where(F.col(raw).isNotNull()).distinct().coalesce(1)
        # Rows without a value are dealt out by a second key, 0 for those with one.
        part = f"{name}_part"
        keys = keys.mapInArrow(_WholeColumn(settings, pad), f"`{raw}` {type_}, `{name}` string, `{part}` int")
        own = F.when(F.col(raw).isNull(), row_number(frame, frame.columns) + 1).otherwise(0)
        return frame.withColumn(part, own).join(keys, [raw, part], "left").drop(raw, part)
    return with_sql(frame, key_sql(quoted(raw), type_, classes, settings, pad), name).drop(raw)


class _WholeColumn:
    """Brings the distinct values of a column into canonical form: in a task that sees all of them."""

    def __init__(self, settings: IndexSettings, pad: int | None) -> None:
        self._settings = settings
        self._pad = pad

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns = [batch.column(0) for batch in batches]
        if not columns:
            return
        raw = pa.chunked_array(columns).combine_chunks()
        values = respell_zeros(normalize_column(raw, self._settings), self._pad, self._settings)
        texts = pa.array(values.values(), pa.string())
        keys = texts.take(pa.array(values.codes, mask=values.codes < 0))
        parts = pa.array(np.zeros(len(raw), np.int32))
        yield from pa.table([raw, keys, parts], names=["raw", "key", "part"]).to_batches()


def classes_of(frame: Any, column: str) -> KeyClasses:
    """Find out what kinds of keys a column of a frame has; one job over texts, none over other types."""
    type_ = type_of(frame, column)
    if type_ in ("tinyint", "smallint", "int", "bigint", "boolean"):
        return KeyClasses(True, False, False, False)
    if type_ in ("date", "timestamp_ntz"):
        return KeyClasses(False, False, True, False)
    if type_ != "string":
        return KeyClasses(True, True, False, False)
    texts = with_sql(frame.select(wall_time(frame, column).alias("x")), ["x", FOLD], "y")
    return classes_of_keys(texts, "y")


def classes_of_keys(frame: Any, key: str) -> KeyClasses:
    """Look at folded texts, or at keys in canonical form; one job."""
    name, nulls = quoted(key), ", ".join(quote(text) for text in NULL_TEXTS)
    found = collect(
        frame.agg(
            F.expr(f"coalesce(bool_or({name} RLIKE {quote(DATE_LIKE)}), false)").alias("times"),
            F.expr(f"coalesce(bool_or({name} IN ({nulls})), false)").alias("nulls"),
        )
    ).to_pylist()[0]
    return KeyClasses(True, True, found["times"], found["nulls"])


# Programs -------------------------------------------------------------------------------------------------


def program_key(frame: Any, program: Program, columns: dict[str, str], name: str, classes: KeyClasses) -> Any:
    """Add what a program makes of the columns of a frame, as a key in canonical form.

    Parameters
    ----------
    frame : pyspark DataFrame
    program : Program
    columns : dict of str
        Column that the program names → column of the frame.
    name : str
        The key.
    classes : KeyClasses
        Of the keys of the other side.
    """
    settings = IndexSettings(null_evidence=False)
    classes = replace(classes, has_null_texts=False)
    texts = [f"cast({quoted(columns[own])} AS string)" for own in program.columns]
    written = program.to_spark_sql(texts)
    if classes.decides_whole_columns("string"):
        made = f"{name}_made"
        return with_key(frame.withColumn(made, F.expr(written)), made, name, classes, settings).drop(made)
    steps: list[Any] = key_sql(written, "string", classes, settings, None)
    folded = fold_program(frame, program, texts)
    return with_sql(frame, steps if folded is None else [folded, *steps[2:]], name)


def choose_key(frame: Any, candidates: Sequence[str], keys: Any, name: str) -> Any:
    """Add for each row the first of some keys that the other side has.

    Parameters
    ----------
    frame : pyspark DataFrame
    candidates : sequence of str
        Columns with keys, in the order in which they are tried; dropped.
    keys : pyspark DataFrame
        The other side's distinct keys, one column.
    name : str
        The key that is added; null where the other side has none.
    """
    (held,) = keys.columns
    for candidate in candidates:
        found = keys.select(F.col(held).alias(candidate), F.lit(True).alias(f"{candidate}_held"))
        frame = frame.join(found, candidate, "left")
    chosen = F.coalesce(*(F.when(F.col(f"{candidate}_held"), F.col(candidate)) for candidate in candidates))
    return frame.withColumn(name, chosen).drop(*candidates, *(f"{candidate}_held" for candidate in candidates))
