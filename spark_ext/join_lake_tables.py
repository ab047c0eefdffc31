"""Tables of a lake as right sides of a join in Spark: read here, by Spark's own reader, or batch by batch in a task."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from dfjoin.join.aggregate import nullable_column
from dfjoin.join.output_names import stem_of
from dfjoin.join.plan import JoinStep
from dfjoin.join.rows.read_rows import columns_to_add, read_rows
from dfjoin.programs.program import Program
from dfjoin.sources.delta_reader import live_files
from dfjoin.sources.roots import local_path, resolve
from dfjoin.store.snapshot import open_snapshot
from dfjoin.store.table import LakeTable
from dfjoin.types import TableSource
from dfjoin.values.frames import frame_of_columns, frame_to_table
from dfjoin.values.header_meaning import clean_names
from dfjoin.values.normalize import ValueSet, normalize_column
from spark_ext.canonical_sql import KeyClasses
from spark_ext.jobs import in_tasks
from spark_ext.join_keys import PREFIX, KeyReading, classes_of, with_key
from spark_ext.join_tables import (
    PROGRAM_SETTINGS,
    LocalRows,
    OtherFrame,
    RightTable,
    key_facts,
    spark_rows,
    texts_of_rows,
)
from spark_ext.task_counters import TaskCounters
from spark_ext.transfer import known_to_spark, quoted, to_spark

__all__ = ["lake_rows", "read_by_spark", "read_in_task", "reading_of"]


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
    added = columns_to_add(table, step)
    n_rows = sum(batch.num_rows for batch in rows.batches)
    frame = rows.to_frame([*step.right_on, *(name for name in added if name not in step.right_on)], np.arange(n_rows))
    parts = [rows.keys[name] for name in step.right_on]
    if program is not None:
        parts = [_made(program, parts[0])]
    spelled = frame[step.right_on] if program is None else frame.iloc[:, :0]
    return LocalRows(frame[added], spelled, parts, stem_of(table.name), rows.kinds)


def _made(program: Program, values: ValueSet) -> ValueSet:
    """Return what a program makes of each row of a column in canonical form, in canonical form."""
    texts = pa.array(values.values(), pa.large_string())
    made = normalize_column(program.apply([texts for _ in program.columns]), PROGRAM_SETTINGS)
    return replace(made, codes=np.append(made.codes, -1).astype(np.int32)[values.codes])


# Spark's own reader ---------------------------------------------------------------------------------------


def reading_of(table: LakeTable, name: str, pad: int | None = None) -> KeyReading:
    """Return how a column of a table of the lake is read as a key: what the whole column decides is known."""
    return KeyReading(replace(table.settings_of(name), null_evidence=False), pad, True)


def read_by_spark(
    spark: Any, table: LakeTable, step: JoinStep, program: Program | None, own: ValueSet | None
) -> RightTable | None:
    """Have files of Parquet, ORC and Delta read by Spark: the columns that are needed, in as many tasks as it likes.

    Parameters
    ----------
    spark : SparkSession
    table : LakeTable
    step : JoinStep
    program : Program or None
        What makes the key of the canonical text of its key column; None: the key columns are the key.
    own : ValueSet or None
        The keys of the left frame, where rows of other keys are of no use: of whole numbers and dates the files are
        asked for those between the first and the last one.

    Returns
    -------
    RightTable or None
        None for files of another format, and where Spark does not see the files or sees other columns.
    """
    source = table.files
    if source is None or source.root.kind != "files":
        return None
    frame = _frame_of_files(spark, table, source)
    if frame is None or any(frame.schema[name].dataType.typeName() == "timestamp" for name in step.right_on):
        return None  # as a key, the index has an instant in UTC
    added = columns_to_add(table, step)
    order = _ORDER if _ORDER in frame.columns else ""
    readings = {name: reading_of(table, name) for name in step.right_on}
    if program is None:
        if own is not None:
            (name,) = step.right_on
            frame = frame.where(_between(frame, name, own))
        return spark_rows(OtherFrame(frame, None, order), step, added, readings, None)
    (name,) = step.right_on
    canonical = f"{PREFIX}canonical"
    frame = with_key(frame, name, canonical, classes_of(frame, name), readings[name])
    program = replace(program, columns=tuple(canonical for _ in program.columns))
    return spark_rows(OtherFrame(frame, None, order), step, added, {}, program)


_ORDER = f"{PREFIX}order"
_PLAIN_PATH = re.compile(r"(?:[a-z0-9]+://?)?[\w./=+@-]+")
"""A path that Spark takes as it is written, and puts in the same order."""


def _frame_of_files(spark: Any, table: LakeTable, source: TableSource) -> Any:
    """Return the files of a table as a frame of Spark, with their order if they are several; None if it cannot."""
    found = live_files(source) if source.format == "delta" else (source.parts or (source.path,), None)
    if source.format not in _READ_BY_SPARK or found is None:
        return None
    parts, schema = found
    paths = [_spark_path(source, part) for part in parts]
    if not paths or not all(_PLAIN_PATH.fullmatch(path) for path in paths):
        return None
    reader = spark.read.option("mergeSchema", len(paths) > 1)
    folders = {found for part in parts for found in re.findall(r"([^/=]+)=", part.removeprefix(source.path))}
    if folders:
        reader = reader.option("basePath", _spark_path(source, source.path))
    try:
        if schema is not None:  # files of Delta may lack columns, and types of folders stand in its log
            reader = reader.schema(from_arrow_schema(schema, prefer_timestamp_ntz=True))
        frame = reader.format(_READ_BY_SPARK[source.format]).load(paths)
        frame = frame if schema is None else frame.select(*map(quoted, schema.names))
        names = clean_names(frame.columns)
    except Exception:  # py4j's and pyspark's own: no such file there, columns or types that Spark does not read
        return None
    if names != table.column_names or not (schema or all(_is_alike(table, frame, name) for name in folders)):
        return None
    types = [field.dataType.typeName() for field in frame.schema.fields]
    if source.format == "orc" and "timestamp" in types:
        return None  # Spark reads its times by the clock of the machine
    bare = _without_zone(table, [name for name, type_ in zip(names, types, strict=True) if type_ == "timestamp"])
    columns = []
    for raw, name, type_ in zip(frame.columns, names, types, strict=True):
        form = _NAN_AS_NULL if type_ in ("float", "double") else _CLOCK_OF_UTC if name in bare else "{0}"
        columns.append(F.expr(form.format(quoted(raw))).alias(name))
    if len(paths) > 1:
        columns.append(F.struct("_metadata.file_path", "_metadata.row_index").alias(_ORDER))
    frame = frame.select(*columns)
    return frame if schema is None or len(paths) == 1 else _in_order(frame, paths)


_READ_BY_SPARK = {"parquet": "parquet", "orc": "orc", "delta": "parquet"}
"""Format of a table → format of its files, which Spark reads without further jars."""


def _in_order(frame: Any, paths: list[str]) -> Any:
    """Give rows the position of their file where files are read in another order than that of their paths."""
    file, number = f"{PREFIX}file", f"{PREFIX}number"
    plain = [re.sub("^file:/+", "/", path) for path in paths]
    known = to_spark(frame.sparkSession, pa.table({file: plain, number: pa.array(range(len(paths)), pa.int64())}))
    path = F.regexp_replace(f"{_ORDER}.file_path", "^file:/+", "/")
    joined = frame.join(F.broadcast(known), path == F.col(file), "left")
    return joined.withColumn(_ORDER, F.struct(number, f"{_ORDER}.row_index")).drop(file, number)


_NAN_AS_NULL = "CASE WHEN NOT isnan({0}) THEN {0} END"
_CLOCK_OF_UTC = (
    "TIMESTAMP_NTZ'1970-01-01' + make_dt_interval(0, 0, 0, cast(cast(unix_micros({0}) AS decimal(20,0)) / 1000000 AS "
    "decimal(18,6)))"
)


def _without_zone(table: LakeTable, names: list[str]) -> set[str]:
    """Return the columns of times that the index has without a zone: old files of Spark do not tell them apart."""
    first = next(table.batches(names), None) if names else None
    types = [] if first is None else first.schema.types
    return {name for name, type_ in zip(names, types, strict=False) if type_.tz is None}


def _spark_path(source: TableSource, part: str) -> str:
    """Write the path of a file as Spark has it."""
    path = resolve(source.root, part)  # refuses every way out of the root
    if local_path(source.root.uri) is not None:
        return f"file:{path}"
    root = urlsplit(source.root.uri)
    scheme = {"s3": "s3a"}.get(root.scheme, root.scheme)
    return f"{scheme}://{root.netloc}{root.path.rstrip('/')}/{part}"


def _is_alike(table: LakeTable, frame: Any, name: str) -> bool:
    """Tell whether Spark reads the values of a folder's name as they were indexed: as numbers, or as texts."""
    known = {"int32": "int", "string": "string"}
    first = next(table.batches([name]), None)
    return first is not None and known.get(str(first.schema.types[0])) == frame.schema[name].dataType.simpleString()


def _between(frame: Any, name: str, own: ValueSet) -> Any:
    """Return a condition that the rows fulfil that have one of some keys: Parquet files skip what does not."""
    type_, column, texts = frame.schema[name].dataType.simpleString(), F.col(quoted(name)), own.values()
    if type_ in ("tinyint", "smallint", "int", "bigint"):
        numbers = [int(text) for text in texts if re.fullmatch("-?[0-9]{1,18}", text)]
        return column.between(min(numbers), max(numbers)) if numbers else F.lit(False)
    if type_ == "date":
        days = [text for text in texts if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text)]
        return column.between(F.lit(min(days)).cast("date"), F.lit(max(days)).cast("date")) if days else F.lit(False)
    return F.lit(True)


# In a task ------------------------------------------------------------------------------------------------


def read_in_task(
    spark: Any, table: LakeTable, step: JoinStep, program: Program | None, notes: Any = None
) -> RightTable:
    """Have a table of a lake read by a task of Spark, batch by batch; its rows never come here.

    It is read twice: its keys now, by one job, and its rows whenever the result is read. The task adds what it did to
    `notes`, see `spark_ext.task_counters`.
    """
    snapshot = table.snapshot
    index = (snapshot.location, snapshot.version, snapshot.moved)
    reader = _TableReader(index, step, columns_to_add(table, step), program, notes)
    first = next(reader.batches(table))
    frame = _in_one_task(spark, reader, from_arrow_schema(first.schema, prefer_timestamp_ntz=True))
    keys = [name for name in first.schema.names if name.startswith(f"{PREFIX}k")]
    values = {name: f"{PREFIX}c{i}" for i, name in enumerate(reader.added)}
    spelled = [name for name in first.schema.names if name.startswith(f"{PREFIX}s")]
    kinds = [key.replace(f"{PREFIX}k", f"{PREFIX}t") for key in keys]
    of_keys = ", ".join([*(f"{key} string" for key in keys), *(f"{kind} int" for kind in kinds)])
    rows = _in_one_task(spark, replace(reader, added=[], is_of_keys=True), of_keys)
    classes, most, n_without = key_facts(rows, keys, kinds)
    stem = stem_of(table.name)
    return RightTable(frame, keys, values, spelled, stem, classes, "", most, n_without=n_without)


def _in_one_task(spark: Any, reader: _TableReader, schema: Any) -> Any:
    """Return the rows that a task reads of a table."""
    return in_tasks(spark.range(0, 1, 1, 1), reader, schema)


@dataclass(frozen=True)
class _TableReader:
    """Reads a table of a lake in a task: its key in canonical form, and the columns that it adds."""

    index: tuple[str, int, Mapping[str, str]]
    step: JoinStep
    added: list[str]
    program: Program | None
    notes: Any
    is_of_keys: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        path, version, moved = self.index
        for _ in batches:
            snapshot = open_snapshot(path, version, moved or None)
            counters = TaskCounters("read", snapshot)
            yield from self.batches(LakeTable(snapshot, self.step.table, "ignore"))
            if self.notes is not None:
                self.notes.add((counters.reported(),))

    def batches(self, table: LakeTable) -> Iterator[pa.RecordBatch]:
        """Read the table."""
        right_on = self.step.right_on
        wanted = [*right_on, *(name for name in self.added if name not in right_on)]
        first = 0
        for batch in table.batches(wanted):
            parts = {name: table.normalize(name, batch.column(i)) for i, name in enumerate(right_on)}
            keys = list(parts.values()) if self.program is None else [_made(self.program, parts[right_on[0]])]
            every = np.arange(batch.num_rows)
            columns = {f"{PREFIX}k{i}": texts_of_rows(part, every) for i, part in enumerate(keys)}
            if self.is_of_keys:
                for i, part in enumerate(keys):
                    columns[f"{PREFIX}t{i}"] = pa.array(np.full(batch.num_rows, KeyClasses.of(part).bits, np.int32))
                yield from pa.table(columns).combine_chunks().to_batches()
                continue
            found = table.to_columns([batch], wanted, parts)
            taken = frame_of_columns({name: nullable_column(column) for name, column in found.items()})
            arrow = frame_to_table(taken.set_axis([f"{PREFIX}x{i}" for i in range(len(wanted))], axis=1))
            if self.program is None:
                columns |= {f"{PREFIX}s{i}": known_to_spark(arrow.column(i)) for i in range(len(right_on))}
            columns |= {
                f"{PREFIX}c{i}": known_to_spark(arrow.column(wanted.index(n))) for i, n in enumerate(self.added)
            }
            columns[f"{PREFIX}place"] = pa.array(np.arange(first, first + batch.num_rows))
            first += batch.num_rows
            made = pa.table(columns).combine_chunks()
            yield from made.to_batches() or [pa.RecordBatch.from_pylist([], made.schema)]
