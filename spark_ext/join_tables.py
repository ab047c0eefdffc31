"""Right sides of a join in Spark: tables of a lake, frames and Spark tables, with their keys in canonical form.

Small ones are read and made one row per key in this process, by the functions that join pandas frames, and shipped as
Arrow. Large ones stay in Spark: files of a lake are read in a task, and rules are aggregates of Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from dfjoin.join.aggregate import check_aggregate, nullable_column
from dfjoin.join.execute import RightSide, one_row_per_key
from dfjoin.join.keys import KeyIndex
from dfjoin.join.output_names import stem_of
from dfjoin.join.plan import JoinStep
from dfjoin.join.read_rows import brought_columns, read_rows
from dfjoin.programs.program import Program
from dfjoin.store.snapshot import Snapshot, open_snapshot
from dfjoin.store.table import LakeTable
from dfjoin.types import IndexSettings
from dfjoin.values.frames import frame_to_table
from dfjoin.values.names import clean_names
from dfjoin.values.normalize import ValueSet, normalize_column, settings_for
from spark_ext.canonical_sql import KeyClasses
from spark_ext.join_keys import PREFIX, classes_of, classes_of_keys, program_key, with_key
from spark_ext.join_rules import aggregate_rows, rule_of
from spark_ext.queries import wall_time
from spark_ext.transfer import quoted, to_spark

__all__ = [
    "LocalRows",
    "RightTable",
    "aggregated",
    "lake_rows",
    "read_in_task",
    "shipped",
    "spark_rows",
    "spark_source",
]

PROGRAM_SETTINGS = IndexSettings(null_evidence=False)


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
    is_small : bool
        It was shipped from this process.
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
    is_kept : bool
        Dates stay dates where their rows are made one; of a lake they are times, as in pandas.
    """

    frame: pd.DataFrame
    spelled: pd.DataFrame
    parts: list[ValueSet]
    stem: str
    object_kinds: dict[str, str]
    is_kept: bool = False


def shipped(spark: Any, rows: LocalRows, aggregate: Any) -> RightTable:
    """Make one row per key where rules say so, and ship the rows to Spark.

    Parameters
    ----------
    spark : SparkSession
    rows : LocalRows
    aggregate : str, dict or None

    Returns
    -------
    RightTable
    """
    index = KeyIndex.of(rows.parts)
    counts = np.bincount(index.codes[index.codes >= 0], minlength=index.n_keys)
    names = list(rows.frame.columns)
    values = {name: f"{PREFIX}c{i}" for i, name in enumerate(names)}
    spelled = [f"{PREFIX}s{i}" for i in range(rows.spelled.shape[1])]
    keys = [f"{PREFIX}k{i}" for i in range(len(rows.parts))]
    if aggregate is None:
        frame, own, chosen = rows.frame, rows.spelled, np.arange(len(rows.frame))
    else:
        side = RightSide(rows.frame, rows.spelled, index.codes, index.n_keys, rows.stem, object_kinds=rows.object_kinds)
        made = one_row_per_key(side, check_aggregate(aggregate, names))
        frame, own = made.frame, made.keys
        chosen = _first_rows(index)[made.codes]
        if rows.is_kept:
            frame = _with_dates(frame, rows.frame)
    table = frame_to_table(pd.DataFrame(frame).set_axis(list(values.values()), axis=1).reset_index(drop=True))
    if not names:
        table = pa.table({f"{PREFIX}none": pa.nulls(chosen.size, pa.int8())})
    own_table = frame_to_table(own.set_axis(spelled, axis=1).reset_index(drop=True)) if spelled else None
    for name in spelled:
        assert own_table is not None
        table = table.append_column(name, own_table.column(name))
    for name, part in zip(keys, rows.parts, strict=True):
        table = table.append_column(name, _texts_of_rows(part, chosen))
    count = ""
    if aggregate is not None:
        count = f"{PREFIX}rows"
        table = table.append_column(count, pa.array(made.counts.to_numpy(np.int64)))
    classes = [KeyClasses.of(part) for part in rows.parts]
    frame_ = to_spark(spark, table)
    most = int(counts.max(initial=0))
    return RightTable(frame_, keys, values, spelled, rows.stem, classes, count, most, True)


def _first_rows(index: KeyIndex) -> NDArray[np.int64]:
    first = np.full(index.n_keys, -1, np.int64)
    rows = np.flatnonzero(index.codes >= 0)[::-1]
    first[index.codes[rows]] = rows
    return first


def _with_dates(made: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Give values that were dates before they were aggregated that type again."""
    made = made.copy()
    for name in rows.columns:
        was_date = pd.api.types.infer_dtype(rows[name], skipna=True) == "date"
        if was_date and pd.api.types.is_datetime64_any_dtype(made[name].dtype):
            made[name] = pd.Series(made[name].dt.date.where(made[name].notna(), None), dtype=object)
    return made


def _texts_of_rows(part: ValueSet, rows: NDArray[np.int64]) -> pa.Array:
    """Return the canonical text of some rows, null for a null."""
    codes = part.codes[rows]
    return pa.array(part.values(), pa.string()).take(pa.array(codes, mask=codes < 0))


# Tables of a lake -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _All:
    """Asks for all rows of a table, whatever their key."""

    step: JoinStep


def lake_rows(table: LakeTable, step: JoinStep, program: Program | None) -> LocalRows:
    """Read a table of a lake in this process.

    Parameters
    ----------
    table : LakeTable
    step : JoinStep
    program : Program or None
        What makes the key of the canonical text of its key column; None: the key columns are the key.
    """
    rows = read_rows(table, [_All(step)], True)  # type: ignore[list-item]
    brought = brought_columns(table, step)
    n_rows = sum(batch.num_rows for batch in rows.batches)
    frame = rows.to_frame([*step.right_on, *(name for name in brought if name not in step.right_on)], np.arange(n_rows))
    parts = [rows.keys[name] for name in step.right_on]
    if program is not None:
        parts = [_made(program, parts[0])]
    spelled = frame[step.right_on] if program is None else frame.iloc[:, :0]
    return LocalRows(frame[brought], spelled, parts, stem_of(table.name), rows.kinds)


def _made(program: Program, values: ValueSet) -> ValueSet:
    """Return what a program makes of each row of a column in canonical form, in canonical form."""
    texts = pa.array(values.values(), pa.large_string())
    made = normalize_column(program.apply([texts for _ in program.columns]), PROGRAM_SETTINGS)
    return replace(made, codes=np.append(made.codes, -1).astype(np.int32)[values.codes])


def read_in_task(spark: Any, table: LakeTable, step: JoinStep, program: Program | None) -> RightTable:
    """Have a table of a lake read by a task of Spark, batch by batch; its rows never come here."""
    snapshot = table.snapshot
    index = (snapshot.place, snapshot.version, snapshot.moved)
    reader = _TableReader(index, step, brought_columns(table, step), program)
    first = next(reader.batches(table))
    schema = from_arrow_schema(first.schema, prefer_timestamp_ntz=True)
    frame = spark.range(0, 1, 1, 1).mapInArrow(reader, schema)
    keys = [name for name in first.schema.names if name.startswith(f"{PREFIX}k")]
    values = {name: f"{PREFIX}c{i}" for i, name in enumerate(reader.brought)}
    spelled = [name for name in first.schema.names if name.startswith(f"{PREFIX}s")]
    classes = [classes_of_keys(frame, key) for key in keys]
    return RightTable(frame, keys, values, spelled, stem_of(table.name), classes)


class _TableReader:
    """Reads a table of a lake in a task: its key in canonical form, and the columns that are brought."""

    def __init__(
        self, index: tuple[str, int, Mapping[str, str]], step: JoinStep, brought: list[str], program: Program | None
    ) -> None:
        self._index = index
        self._step = step
        self._program = program
        self.brought = brought

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        path, version, moved = self._index
        for _ in batches:
            yield from self.batches(LakeTable(open_snapshot(path, version, moved or None), self._step.table, "ignore"))

    def batches(self, table: LakeTable) -> Iterator[pa.RecordBatch]:
        """Read the table."""
        right_on = self._step.right_on
        wanted = [*right_on, *(name for name in self.brought if name not in right_on)]
        place = 0
        for batch in table.batches(wanted):
            parts = {name: table.normalize(name, batch.column(i)) for i, name in enumerate(right_on)}
            keys = list(parts.values()) if self._program is None else [_made(self._program, parts[right_on[0]])]
            frame = table.to_frame([batch], wanted, parts)
            every = np.arange(batch.num_rows)
            columns = {f"{PREFIX}k{i}": _texts_of_rows(part, every) for i, part in enumerate(keys)}
            taken = pd.DataFrame({name: nullable_column(frame[name]) for name in wanted}, columns=wanted)
            arrow = frame_to_table(taken.set_axis([f"{PREFIX}x{i}" for i in range(len(wanted))], axis=1))
            if self._program is None:
                columns |= {f"{PREFIX}s{i}": _plain(arrow.column(i)) for i in range(len(right_on))}
            columns |= {f"{PREFIX}c{i}": _plain(arrow.column(wanted.index(n))) for i, n in enumerate(self.brought)}
            columns[f"{PREFIX}place"] = pa.array(np.arange(place, place + batch.num_rows))
            place += batch.num_rows
            made = pa.table(columns).combine_chunks()
            yield from made.to_batches() or [pa.RecordBatch.from_pylist([], made.schema)]


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Give a column a type that Spark reads from a task."""
    type_ = column.type
    if pa.types.is_timestamp(type_):
        return pc.cast(column, pa.timestamp("us", type_.tz), safe=False)
    is_text = pa.types.is_large_string(type_) or pa.types.is_null(type_) or pa.types.is_dictionary(type_)
    return column.cast(pa.string()) if is_text or pa.types.is_time(type_) else column


def spark_source(spark: Any, snapshot: Snapshot, name: str) -> tuple[Any, dict[str, IndexSettings]] | None:
    """Return a table of the lake that is a table of Spark, and how its columns are read; None for a file.

    Parameters
    ----------
    spark : SparkSession
    snapshot : Snapshot
    name : str
        Of the table.
    """
    segment, number = snapshot.find_table(name)
    record = segment.catalog.table_record(number)
    if snapshot.root_of(record["root"]).kind != "spark":
        return None
    frame = spark.table(name)
    first = record["first_column"]
    columns = segment.catalog.column_records(range(first, first + record["n_columns"]))
    how = {c["name"]: settings_for(snapshot.settings, c["date_order"], tuple(c["null_spellings"])) for c in columns}
    return frame.toDF(*clean_names(frame.columns)), how


# Frames of Spark ------------------------------------------------------------------------------------------


def spark_rows(
    frame: Any, step: JoinStep, brought: Sequence[str], settings: Mapping[str, IndexSettings], program: Program | None
) -> RightTable:
    """Take a frame of Spark as the right side, with expressions of Spark alone.

    Parameters
    ----------
    frame : pyspark DataFrame
    step : JoinStep
    brought : sequence of str
        Its columns to bring.
    settings : mapping of str to IndexSettings
        How each key column is read.
    program : Program or None
        What makes the key; None: the key columns are the key.
    """
    values = {name: f"{PREFIX}c{i}" for i, name in enumerate(brought)}
    taken = [F.col(quoted(name)).alias(own) for name, own in values.items()]
    inputs = list(step.right_on if program is None else program.columns)
    raw = {name: f"{PREFIX}x{i}" for i, name in enumerate(inputs)}
    place = F.monotonically_increasing_id().alias(f"{PREFIX}place")
    made = frame.select(*taken, *(wall_time(frame, name).alias(own) for name, own in raw.items()), place)
    classes: list[KeyClasses] = []
    keys = []
    if program is not None:
        keys = [f"{PREFIX}k0"]
        none = KeyClasses(True, False, False, False)
        plain = program_key(made, program, raw, keys[0], none)
        classes = [classes_of_keys(plain, keys[0])]
        made = plain if not classes[0].has_times else program_key(made, program, raw, keys[0], classes[0])
        return RightTable(made.drop(*raw.values()), keys, values, [], "right", classes)
    for i, name in enumerate(step.right_on):
        known = classes_of(frame, name)
        made = with_key(made, raw[name], f"{PREFIX}k{i}", known, settings[name], step.pad)
        made = made.withColumnRenamed(raw[name], f"{PREFIX}s{i}")
        keys.append(f"{PREFIX}k{i}")
        classes.append(known)
    stem = stem_of(step.table) if step.table else "right"
    return RightTable(made, keys, values, [f"{PREFIX}s{i}" for i in range(len(keys))], stem, classes)


def aggregated(right: RightTable, aggregate: Any) -> RightTable:
    """Make one row per key of a right side that is in Spark still."""
    if aggregate is None or right.count:
        return right
    rules = check_aggregate(aggregate, list(right.values))
    own = {column: rule_of(rules, name, right.frame, column) for name, column in right.values.items()}
    own |= dict.fromkeys(right.spelled, "first")
    count = f"{PREFIX}rows"
    frame = aggregate_rows(right.frame, right.keys, own, f"{PREFIX}place", count)
    return replace(right, frame=frame, count=count)
