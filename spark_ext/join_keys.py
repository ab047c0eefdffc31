"""Keys of Spark DataFrames: columns in canonical form, programs applied, as expressions of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from dfjoin.errors import InvalidParameterError
from dfjoin.kernels.texts.dates import day_month_year_votes
from dfjoin.kernels.texts.numbers import DAY_MONTH_YEAR
from dfjoin.programs.program import Program
from dfjoin.programs.spark_sql import quote
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import (
    ValueSet,
    keep_values,
    normalize_batch,
    normalize_column,
    null_codes,
    read_dates,
    settings_for,
)
from dfjoin.values.nulls import NULL_TEXTS, NullEvidence
from dfjoin.values.zero_padding import respell_zeros
from spark_ext.canonical_sql import DATE_LIKE, FOLD, KeyClasses, key_sql
from spark_ext.compiled_fold import fold_program, fold_texts
from spark_ext.jobs import in_tasks
from spark_ext.queries import is_searchable, wall_time, wall_type
from spark_ext.transfer import collect, quoted

__all__ = [
    "PREFIX",
    "KeyReading",
    "choose_key",
    "classes_of",
    "classes_of_keys",
    "decided_reading",
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
            made = fold_texts(frame, operand) if step == FOLD else F.expr(step.replace("{0}", operand))
        frame = frame.withColumn(last, made)
        operand = quoted(last)
    return frame.drop(*(f"{name}_{number}" for number in range(len(steps) - 1)))


@dataclass(frozen=True)
class KeyReading:
    """How a column is read as a key.

    Parameters
    ----------
    settings : IndexSettings
    pad : int, optional
        Digits to which its integers are written with zeros in front.
    is_decided : bool
        The settings say what the whole column tells: which texts are nulls, and the order of all-digit dates.
    """

    settings: IndexSettings
    pad: int | None = None
    is_decided: bool = False

    def as_decided(self, date_order: str, nulls: Sequence[str]) -> KeyReading:
        """Return how a column is read whose values tell the order of its dates, and which of its texts are nulls."""
        settings = settings_for(replace(self.settings, null_evidence=False), date_order, tuple(nulls))
        return replace(self, settings=settings, is_decided=True)

    def values(self, array: pa.Array | pa.ChunkedArray) -> ValueSet:
        """Bring values of the column into canonical form."""
        if self.is_decided:
            values = normalize_batch(array, self.settings)
            values = values if self.settings.dayfirst is None else read_dates(values, self.settings)
        else:
            values = normalize_column(array, self.settings)
        return values if self.pad is None else respell_zeros(values, self.pad, self.settings)


def with_key(frame: Any, column: str, name: str, classes: KeyClasses, reading: KeyReading) -> Any:
    """Add a column of a frame as a key in canonical form.

    Parameters
    ----------
    frame : pyspark DataFrame
    column, name : str
        The column, and the key.
    classes : KeyClasses
        Of the keys of the other side.
    reading : KeyReading

    Notes
    -----
    Expressions of Spark alone, unless the other side has dates or fractions as keys: then those distinct values that
    may be one pass through tasks of Python. What the whole column decides is decided once, here, by a job.
    """
    raw = f"{name}_raw"
    frame = frame.withColumn(raw, wall_time(frame, column))
    type_ = type_of(frame, raw)
    needs_python = classes.needs_python(type_)
    is_open = type_ == "string" and (classes.has_times or classes.has_null_texts) and not reading.is_decided
    if frame.isStreaming and (is_open or needs_python):
        raise InvalidParameterError(
            f"`df` must not be a stream where keys are dates or null spellings in texts, or fractions, got {column!r}: "
            "they are read by all values of the column together; join each micro-batch, in foreachBatch"
        )
    if is_open:
        reading = decided_reading(frame.select(raw).distinct(), reading)
    frame = with_sql(frame, key_sql(quoted(raw), type_, classes, reading.settings, reading.pad), name)
    if not needs_python:
        return frame.drop(raw)
    other, part = f"{name}_other", f"{name}_part"
    is_other = F.coalesce(F.expr(needs_python.format(quoted(raw), quoted(name))), F.lit(False))
    others = frame.where(is_other).select(raw).distinct()
    others = in_tasks(others, _KeyValues(reading), f"`{raw}` {type_}, `{other}` string, `{part}` int")
    # The rows of all other values are dealt out by a second key.
    own = F.when(is_other, 0).otherwise(row_number(frame, frame.columns) + 1)
    frame = frame.withColumn(part, own).join(others, [raw, part], "left")
    return frame.withColumn(name, F.when(F.col(part) == 0, F.col(other)).otherwise(F.col(name))).drop(raw, part, other)


class _KeyValues:
    """Brings distinct values of a column into canonical form, in a task."""

    def __init__(self, reading: KeyReading) -> None:
        self._reading = reading

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            values = self._reading.values(batch.column(0))
            texts = pa.array(values.values(), pa.string())
            keys = texts.take(pa.array(values.codes, mask=values.codes < 0))
            parts = pa.array(np.zeros(batch.num_rows, np.int32))
            yield pa.record_batch([batch.column(0), keys, parts], names=["raw", "key", "part"])


def decided_reading(values: Any, reading: KeyReading) -> KeyReading:
    """Find out what a whole column of texts decides: tasks collect the evidence of its distinct values, one job."""
    found = values.where(F.col(values.columns[0]).isNotNull())
    parts = collect(in_tasks(found, _Evidence(reading.settings), _EVIDENCE)).to_pylist()
    evidence, texts = NullEvidence(), set[str]()
    for part in parts:
        evidence.merge(NullEvidence.from_bytes(part["shapes"]))
        texts.update(part["texts"])
    nulls = evidence.decide(texts) if texts else ()
    orders = {order for part in parts for order in part["orders"]} if reading.settings.dayfirst is None else set()
    is_known = bool(parts) and all(part["is_dated"] for part in parts) and len(nulls) == len(texts) and len(orders) == 1
    return reading.as_decided(orders.pop() if is_known else "", nulls)


_EVIDENCE = "shapes binary, texts array<string>, is_dated boolean, orders array<string>"


class _Evidence:
    """Collects what a part of the distinct values of a column tells of all, in a task."""

    def __init__(self, settings: IndexSettings) -> None:
        self._settings = settings

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        evidence, texts, orders, is_dated = NullEvidence(), set[str](), set[str](), True
        for batch in batches:
            values = normalize_batch(batch.column(0), self._settings)
            nulls_here = null_codes(values, self._settings)
            texts.update(values.value(code) for code in nulls_here.tolist())
            if self._settings.null_evidence:
                evidence.add(values.hashes, values.data, values.offsets, nulls_here)
            is_other = np.ones(len(values), bool)
            is_other[nulls_here] = False
            others = keep_values(values, is_other)
            is_dated = is_dated and bool((others.classes == DAY_MONTH_YEAR).all())
            if is_dated and len(others):
                votes = day_month_year_votes(others.data, others.offsets)
                orders.update(order for order, n in zip(("dmy", "mdy"), votes, strict=True) if n)
        row = {"shapes": evidence.to_bytes(), "texts": sorted(texts), "is_dated": is_dated, "orders": sorted(orders)}
        yield pa.RecordBatch.from_pylist([row], _EVIDENCE_SCHEMA)


_EVIDENCE_SCHEMA = pa.schema(
    [
        ("shapes", pa.binary()),
        ("texts", pa.list_(pa.string())),
        ("is_dated", pa.bool_()),
        ("orders", pa.list_(pa.string())),
    ]
)


def classes_of(frame: Any, column: str) -> KeyClasses:
    """Find out what kinds of keys a column of a frame has; at most two jobs over texts, none over other types."""
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
    """Look at folded texts, or at keys in canonical form; a second job where some look like dates."""
    name, nulls = quoted(key), ", ".join(quote(text) for text in NULL_TEXTS)
    found = collect(
        frame.agg(
            F.expr(f"coalesce(bool_or({name} RLIKE {quote(DATE_LIKE)}), false)").alias("times"),
            F.expr(f"coalesce(bool_or({name} IN ({nulls})), false)").alias("nulls"),
        )
    ).to_pylist()[0]
    has_times = found["times"]
    if has_times:  # an address looks like a date, and is none
        texts = frame.where(F.expr(f"{name} RLIKE {quote(DATE_LIKE)}")).select(name).distinct()
        has_times = any(collect(in_tasks(texts, _any_times, "has_times boolean")).column(0).to_pylist())
    return KeyClasses(True, True, has_times, found["nulls"])


def _any_times(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Tell of each batch of texts whether one of them is a date or a time, in a task."""
    for batch in batches:
        values = normalize_batch(batch.column(0), IndexSettings())
        yield pa.record_batch([pa.array([KeyClasses.of(values).has_times])], names=["has_times"])


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
    if classes.has_times:
        made = f"{name}_made"
        made_frame = frame.withColumn(made, F.expr(written))
        return with_key(made_frame, made, name, classes, KeyReading(settings)).drop(made)
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
