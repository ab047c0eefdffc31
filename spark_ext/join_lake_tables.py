"""Tables of a lake as right sides of a join in Spark: read in this process, or batch by batch in a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema

from dfjoin.join.aggregate import nullable_column
from dfjoin.join.output_names import stem_of
from dfjoin.join.plan import JoinStep
from dfjoin.join.read_rows import columns_to_add, read_rows
from dfjoin.programs.program import Program
from dfjoin.store.snapshot import open_snapshot
from dfjoin.store.table import LakeTable
from dfjoin.values.frames import frame_to_table
from dfjoin.values.normalize import normalize_column
from dfjoin.values.value_set import ValueSet
from spark_ext.join_keys import PREFIX, classes_of_keys
from spark_ext.join_tables import PROGRAM_SETTINGS, LocalRows, RightTable, texts_of_rows

__all__ = ["lake_rows", "read_in_task"]


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
    brought = columns_to_add(table, step)
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
    reader = _TableReader(index, step, columns_to_add(table, step), program)
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
            columns = {f"{PREFIX}k{i}": texts_of_rows(part, every) for i, part in enumerate(keys)}
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
