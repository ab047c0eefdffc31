"""Right sides of a join in Spark, with their keys in canonical form: rows of this process, frames and tables of Spark.

Rows of tables of a lake that were read in this process are made one row per key by the functions that join pandas
frames, and shipped as Arrow. Frames stay in Spark whatever their size, and rules are its aggregates; of one of few rows
the keys are here too. Tables of a lake are `spark_ext.join_lake_tables`'.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import functions as F

from dfjoin.join.keys import KeyIndex
from dfjoin.join.output_names import stem_of
from dfjoin.join.plan import JoinStep
from dfjoin.join.rows.execute import one_row_per_key
from dfjoin.join.rows.right_side import RightSide, spread_rules
from dfjoin.join.rules import KEEPING, check_aggregate, names_of_rules, split_rule, without_dates
from dfjoin.programs.program import Program
from dfjoin.store.table import LakeTable
from dfjoin.types import IndexSettings
from dfjoin.values.frames import frame_to_table
from dfjoin.values.header_meaning import clean_names
from dfjoin.values.normalize import ValueSet, normalize_column
from spark_ext.canonical_sql import KeyClasses
from spark_ext.join_keys import PREFIX, KeyReading, classes_of, classes_of_keys, program_key, with_key
from spark_ext.join_rules import aggregate_rows, rules_of
from spark_ext.queries import wall_time
from spark_ext.rows_here import MOST_BYTES, RowsHere
from spark_ext.transfer import collect, quoted, to_spark

__all__ = [
    "PROGRAM_SETTINGS",
    "LocalRows",
    "OtherFrame",
    "RightTable",
    "aggregated",
    "key_facts",
    "shipped",
    "spark_rows",
    "spark_source",
    "texts_of_rows",
    "with_known",
]

PROGRAM_SETTINGS = IndexSettings(null_evidence=False)
"""How outputs of programs are read."""


@dataclass(frozen=True)
class OtherFrame:
    """The other frame of a join.

    Parameters
    ----------
    frame : pyspark DataFrame
    rows : RowsHere or None
        Its keys, where these are few.
    order : str
        Its column that tells the order of its rows; empty where Spark reads them in their order.
    """

    frame: Any
    rows: RowsHere | None = None
    order: str = ""

    @property
    def away(self) -> set[str]:
        """Columns whose values stay in Spark."""
        return set(self.frame.columns).difference(() if self.rows is None else self.rows.table.column_names)

    def here(self, names: Sequence[str]) -> pa.Table | None:
        """Return the values of some columns in all rows; None if they are not in this process."""
        return None if self.rows is None or self.away.intersection(names) else self.rows.table.select(list(names))

    def texts(self, name: str) -> pa.ChunkedArray | None:
        """Return the values of a column in all rows as they are read as keys; None if they are not in this process."""
        table = self.here([name])
        return None if table is None else table.column(name)

    @property
    def is_small(self) -> bool:
        """Whether every task may get all of its rows."""
        return self.rows is not None and self.rows.is_small


@dataclass(frozen=True)
class RightTable:
    """A right side in Spark.

    Parameters
    ----------
    frame : pyspark DataFrame
    keys : list of str
        Its columns with the key in canonical form.
    values : dict of str
        Column of the right side → column of `frame`.
    spelled : list of str
        Its columns with the key as the table spells it.
    stem : str
        Short name of the table.
    classes : list of KeyClasses
        What kinds of keys each key column has.
    count : str
        Its column with the rows of each key; empty where rows are as they are.
    most_rows : int or None
        In so many rows the most frequent key stood; None: not known.
    n_without : int or None
        So many rows have no key; None: not known.
    is_small : bool
        Every task may get all of its rows.
    """

    frame: Any
    keys: list[str]
    values: dict[str, str]
    spelled: list[str]
    stem: str
    classes: list[KeyClasses]
    count: str = ""
    most_rows: int | None = None
    is_small: bool = False
    n_without: int | None = None


@dataclass(frozen=True)
class LocalRows:
    """A right side in this process.

    Parameters
    ----------
    frame : DataFrame
        The columns to bring.
    spelled : DataFrame
        The key columns.
    parts : list of ValueSet
        The canonical values of the key, with a code for every row.
    stem : str
    object_kinds : dict of str
        As in `RightSide`.
    """

    frame: pd.DataFrame
    spelled: pd.DataFrame
    parts: list[ValueSet]
    stem: str
    object_kinds: dict[str, str]


def shipped(spark: Any, rows: LocalRows, step: JoinStep) -> RightTable:
    """Make one row per key where rules say so, and ship the rows to Spark.

    Parameters
    ----------
    spark : SparkSession
    rows : LocalRows
    step : JoinStep
        Its `aggregate` is None to leave the rows as they are.

    Returns
    -------
    RightTable
    """
    index = KeyIndex.of(rows.parts)
    counts = np.bincount(index.codes[index.codes >= 0], minlength=index.n_keys)
    spelled = [f"{PREFIX}s{i}" for i in range(rows.spelled.shape[1])]
    keys = [f"{PREFIX}k{i}" for i in range(len(rows.parts))]
    if step.aggregate is None:
        frame, own, chosen = rows.frame, rows.spelled, np.arange(len(rows.frame))
    else:
        side = RightSide(rows.frame, rows.spelled, index.codes, index.n_keys, rows.stem, object_kinds=rows.object_kinds)
        side, aggregate = spread_rules(side, step.aggregate)
        made = one_row_per_key(side, side.rules(check_aggregate(aggregate, list(side.frame.columns)), step))
        frame, own = made.frame, made.keys
        chosen = _first_rows(index)[made.codes]
    names = list(frame.columns)
    values = {name: f"{PREFIX}c{i}" for i, name in enumerate(names)}
    table = frame_to_table(pd.DataFrame(frame).set_axis(list(values.values()), axis=1).reset_index(drop=True))
    if not names:
        table = pa.table({f"{PREFIX}none": pa.nulls(chosen.size, pa.int8())})
    own_table = frame_to_table(own.set_axis(spelled, axis=1).reset_index(drop=True)) if spelled else None
    for name in spelled:
        assert own_table is not None
        table = table.append_column(name, own_table.column(name))
    for name, part in zip(keys, rows.parts, strict=True):
        table = table.append_column(name, texts_of_rows(part, chosen))
    count = ""
    if step.aggregate is not None:
        count = f"{PREFIX}rows"
        table = table.append_column(count, pa.array(made.counts))
    classes = [KeyClasses.of(part) for part in rows.parts]
    frame_ = to_spark(spark, table)
    most, n_without = int(counts.max(initial=0)), int(np.count_nonzero(index.codes < 0))
    return RightTable(frame_, keys, values, spelled, rows.stem, classes, count, most, True, n_without)


def _first_rows(index: KeyIndex) -> NDArray[np.int64]:
    first = np.full(index.n_keys, -1, np.int64)
    rows = np.flatnonzero(index.codes >= 0)[::-1]
    first[index.codes[rows]] = rows
    return first


def texts_of_rows(part: ValueSet, rows: NDArray[np.int64]) -> pa.Array:
    """Return the canonical text of some rows, null for a null."""
    codes = part.codes[rows]
    return pa.array(part.values(), pa.string()).take(pa.array(codes, mask=codes < 0))


# Frames of Spark ------------------------------------------------------------------------------------------


def spark_source(spark: Any, table: LakeTable) -> Any:
    """Return a table of the lake that is a table of Spark; None for a file.

    Parameters
    ----------
    spark : SparkSession
    table : LakeTable
        Known to be the indexed one.
    """
    snapshot = table.snapshot
    segment, number = snapshot.find_table(table.name)
    record = segment.catalog.table_record(number)
    if snapshot.root_of(record["root"]).kind != "spark":
        return None
    frame = spark.table(record["path"] or table.name)
    return frame.toDF(*clean_names(frame.columns))


def spark_rows(
    other: OtherFrame,
    step: JoinStep,
    added: Sequence[str],
    readings: Mapping[str, KeyReading],
    program: Program | None,
) -> RightTable:
    """Take a frame of Spark as the right side, with expressions of Spark alone.

    Parameters
    ----------
    other : OtherFrame
    step : JoinStep
    added : sequence of str
        Its columns to bring.
    readings : mapping of str to KeyReading
        How each key column is read.
    program : Program or None
        What makes the key; None: the key columns are the key.
    """
    frame = other.frame
    values = {name: f"{PREFIX}c{i}" for i, name in enumerate(added)}
    taken = [F.col(quoted(name)).alias(own) for name, own in values.items()]
    inputs = list(step.right_on if program is None else program.columns)
    raw = {name: f"{PREFIX}s{i}" for i, name in enumerate(inputs)}
    order = (F.col(other.order) if other.order else F.monotonically_increasing_id()).alias(f"{PREFIX}place")
    made = frame.select(*taken, *(F.col(quoted(name)).alias(own) for name, own in raw.items()), order)
    stem = stem_of(step.table) if step.table else "right"
    if program is not None:
        keys, most, n_without = [f"{PREFIX}k0"], None, None
        made_here = _program_values(other, program)
        if made_here is None:
            plain = program_key(made, program, raw, keys[0], KeyClasses(True, False, False, False))
            classes = [classes_of_keys(plain, keys[0])]
        else:
            classes, (most, n_without) = [KeyClasses.of(made_here)], _rows_of_keys([made_here])
        made = program_key(made, program, raw, keys[0], classes[0]).drop(*raw.values())
        return RightTable(made, keys, values, [], stem, classes, "", most, other.is_small, n_without)
    keys = [f"{PREFIX}k{i}" for i in range(len(inputs))]
    classes = []
    for key, (name, own) in zip(keys, raw.items(), strict=True):
        known, reading = _known_key(other, name, readings[name])
        made = with_key(made, own, key, known, reading)
        classes.append(known)
    here = other.here(step.right_on)
    most, n_without = None, None
    if here is not None:
        most, n_without = _rows_of_keys([readings[name].values(here.column(name)) for name in step.right_on])
    return RightTable(made, keys, values, list(raw.values()), stem, classes, "", most, other.is_small, n_without)


def _known_key(other: OtherFrame, name: str, reading: KeyReading) -> tuple[KeyClasses, KeyReading]:
    """Find out what kinds of keys a column has, and how it is read as a whole: here where it is here."""
    texts = other.texts(name)
    if texts is None:
        return classes_of(other.frame, name), reading
    plain = replace(reading, pad=None)
    values = plain.values(texts)
    return KeyClasses.of(values), reading.as_decided(values.date_order, values.nulls)


def _rows_of_keys(parts: list[ValueSet]) -> tuple[int, int]:
    """Count the rows of the most frequent key, and those without one."""
    codes = KeyIndex.of(parts).codes
    return int(np.bincount(codes[codes >= 0]).max(initial=0)), int(np.count_nonzero(codes < 0))


def _program_values(other: OtherFrame, program: Program) -> ValueSet | None:
    """Make the keys of all rows by a program; None if the values are not in this process."""
    table = other.here(list(dict.fromkeys(program.columns)))
    if table is None:
        return None
    texts = [table.column(name).cast(pa.string()) for name in program.columns]
    return normalize_column(program.apply(texts), PROGRAM_SETTINGS)


def with_known(frame: Any, own: Mapping[str, str], known: pa.Table, how: str = "left") -> Any:
    """Add columns that are known for each distinct tuple of some columns.

    Parameters
    ----------
    frame : pyspark DataFrame
    own : mapping of str to str
        Column of the frame → column of `known` with its values as a join reads them.
    known : pyarrow.Table
        Every task gets it where it is small.
    how : {"left", "inner"}
    """
    shipped_ = to_spark(frame.sparkSession, known)
    shipped_ = F.broadcast(shipped_) if known.nbytes <= MOST_BYTES else shipped_
    same = (wall_time(frame, name).eqNullSafe(F.col(theirs)) for name, theirs in own.items())
    return frame.join(shipped_, functools.reduce(operator.and_, same), how).drop(*own.values())


def aggregated(right: RightTable, step: JoinStep, *, counts_lost: bool = False) -> RightTable:
    """Make one row per key of a right side that is in Spark still; where keys have one each, cells are left alone.

    Notes
    -----
    Where it is not known whether keys are repeated, a job asks for one that is; with `counts_lost` the same job counts
    the rows without a key.
    """
    if step.aggregate is None or right.count:
        return right
    if right.most_rows is None and counts_lost:
        _, most_rows, n_without = key_facts(right.frame, right.keys)
        right = replace(right, most_rows=most_rows, n_without=n_without)
    right, given = _spread(right, step.aggregate)
    frame = right.frame
    for key in right.keys:
        frame = frame.where(F.col(key).isNotNull())
    most = right.most_rows
    if most is None:
        repeated = frame.groupBy(*right.keys).count().where(F.col("count") > 1).limit(1)
        most = 1 + collect(repeated).num_rows
    is_unique = most <= 1 if step.is_unique is None else step.is_unique
    aggregate = without_dates(check_aggregate(given, list(right.values)), right.values, step.dated)
    count = f"{PREFIX}rows"
    rules = rules_of(aggregate, is_unique, step.measures, replace(right, frame=frame))
    if most <= 1 and is_unique:
        if all(rule in KEEPING for rule in rules.values()):
            return replace(right, frame=frame.withColumn(count, F.lit(1).cast("long")), count=count, most_rows=1)
        rules = {column: "first" if rule in KEEPING else rule for column, rule in rules.items()}
    rules |= dict.fromkeys(right.spelled, "first")
    frame = aggregate_rows(frame, right.keys, rules, f"{PREFIX}place", count)
    for field in right.frame.schema.fields:
        if field.metadata and field.name in rules and frame.schema[field.name].dataType == field.dataType:
            frame = frame.withMetadata(field.name, field.metadata)
    return replace(right, frame=frame, count=count)


def key_facts(rows: Any, keys: Sequence[str], kinds: Sequence[str] = ()) -> tuple[list[KeyClasses], int, int]:
    """Find out the kinds of the keys of rows, how often the most frequent one stands, and how many rows lack one."""
    counts = rows.groupBy(*keys).agg(F.count(F.lit(1)).alias("n"), *(F.bit_or(kind).alias(kind) for kind in kinds))
    is_held = F.expr(" AND ".join(f"{key} IS NOT NULL" for key in keys))
    most = F.max(F.when(is_held, F.col("n"))).alias("most")
    without = F.sum(F.when(~is_held, F.col("n"))).alias("without")
    (found,) = collect(counts.agg(most, without, *(F.bit_or(kind).alias(kind) for kind in kinds))).to_pylist()
    return [KeyClasses.from_bits(found[kind] or 0) for kind in kinds], found["most"] or 0, found["without"] or 0


def _spread(right: RightTable, aggregate: Any) -> tuple[RightTable, Any]:
    """Give a right side a copy of a column for each of its rules, as `spread_rules` does here."""
    copies = names_of_rules(right.values, aggregate)
    if not copies:
        return right, aggregate
    own = {copy: f"{PREFIX}r{i}" for i, copy in enumerate(copies)}
    frame = right.frame.withColumns({own[copy]: F.col(right.values[name]) for copy, (name, _) in copies.items()})
    stays = {name: column for name, column in right.values.items() if not isinstance(aggregate.get(name), list)}
    rules = {name: rule for name, rule in aggregate.items() if name in stays and rule is not None}
    rules |= {copy: split_rule(name, rule, is_dated=False)[0] for copy, (name, rule) in copies.items()}
    return replace(right, frame=frame, values=stays | own), rules
