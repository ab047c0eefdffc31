"""Joins of keys that are not equal: programs as expressions of Spark; distances and likeness on the distinct keys.

Programs and equality need no Python where rows pass. A relation by distance, by likeness, or of values whose text is
not the same in Spark is found on the distinct keys of both sides, in this process, by the join of pandas frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from dfjoin.errors import InvalidParameterError
from dfjoin.join.auto import join
from dfjoin.join.options import JoinOptions
from dfjoin.join.output_names import stem_of
from dfjoin.join.plan import JoinPlan, JoinStep, SavedRelation, distance_relation
from dfjoin.join.rows.dated_rows import is_of_dates_alone
from dfjoin.join.rows.execute import MARKS
from dfjoin.join.rows.read_rows import columns_to_add
from dfjoin.join.rules import names_of_rules
from dfjoin.programs.program import Program
from dfjoin.store.table import LakeTable
from dfjoin.transform.evidence.transform_join import TransformJoin
from dfjoin.values.normalize import ValueSet, normalize_column
from spark_ext.canonical_sql import KeyClasses
from spark_ext.join_keys import PREFIX, choose_key, program_key, type_of
from spark_ext.join_tables import PROGRAM_SETTINGS, LocalRows, OtherFrame, RightTable, shipped, spark_rows, with_known
from spark_ext.rows_here import wall_columns
from spark_ext.transfer import collect, quoted, to_pandas

__all__ = ["Related", "relate_frames", "relate_on_lake"]

_MOST_KEYS = 1_000_000
"""Distinct keys of the left frame that are related in this process."""

_NATIVE = ("string", "tinyint", "smallint", "int", "bigint", "date")
"""Types whose text in Spark is the one that programs are learned on."""


@dataclass(frozen=True)
class Related:
    """A frame and a right side whose key columns are equal where their rows belong together.

    Parameters
    ----------
    frame : pyspark DataFrame
        The left frame with the key columns.
    keys : list of str
        Their names.
    right : RightTable
    date : str
        Column of the frame with its date, where rows with the same key are of other keys on another date.
    """

    frame: Any
    keys: list[str]
    right: RightTable
    date: str = ""


@dataclass(frozen=True)
class _Programs:
    """The programs that read either side, in the order in which they are tried."""

    left: list[Program]
    right: list[Program]
    precisions: list[float]

    @classmethod
    def of(cls, found: TransformJoin) -> _Programs:
        source = [ranked.program for ranked in found.programs]
        target = [] if found.target is None else [found.target]
        return cls(*found.ordered(source, target), [ranked.precision for ranked in found.programs])

    @property
    def kind(self) -> str:
        """What a match is called: equal where both sides are copies."""
        return "equal" if all(program.is_identity for program in (*self.left, *self.right)) else "program"

    @property
    def chance(self) -> float:
        """How likely a match is right, where there is one program."""
        return 1.0 if self.kind == "equal" else self.precisions[0]

    def are_native(self, frame: Any, columns: Sequence[str]) -> bool:
        """Tell whether Spark can apply them: one key on the right, and texts of the frame that are the same there."""
        return len(self.right) == 1 and bool(self.left) and all(type_of(frame, name) in _NATIVE for name in columns)


def _with_programs(frame: Any, programs: Sequence[Program], right: RightTable, name: str) -> Any:
    """Add the key that the programs of the left side make: the first one that the right side has."""
    columns = {name: name for program in programs for name in program.columns}
    if len(programs) == 1:
        return program_key(frame, programs[0], columns, name, right.classes[0])
    made = [f"{name}_{i}" for i in range(len(programs))]
    for one, program in zip(made, programs, strict=True):
        frame = program_key(frame, program, columns, one, right.classes[0])
    return choose_key(frame, made, right.frame.select(right.keys[0]).distinct(), name)


# Two frames -----------------------------------------------------------------------------------------------


def relate_frames(frame: Any, other: OtherFrame, step: JoinStep, options: JoinOptions) -> Related:
    """Relate a frame with another one, as a step says.

    Parameters
    ----------
    frame : pyspark DataFrame
    other : OtherFrame
    step : JoinStep
    options : JoinOptions
        `indicator` tells how each row was matched, and `how` whether rows without a partner stay.
    """
    if step.relation is None:
        return _by_keys(frame, other, step, replace(options, indicator=False))
    if distance_relation(step.relation) is not None:
        return _by_keys(frame, other, step, options)
    saved = SavedRelation.from_dict(step.relation)
    programs = _Programs.of(saved.programs)
    own, theirs = saved.columns
    is_native = saved.likeness is None and saved.elements is None and programs.are_native(frame, own)
    if not is_native or (len(programs.left) > 1 and options.indicator):
        return _by_keys(frame, other, step, options)
    if not all(type_of(other.frame, name) in _NATIVE for name in theirs):
        return _by_keys(frame, other, step, options)
    added = _added(other, step)
    if options.indicator:
        marks = dict(zip(MARKS, map(F.lit, (programs.kind, 0.0, programs.chance)), strict=True))
        other, added = replace(other, frame=other.frame.withColumns(marks)), [*added, *marks]
    right = spark_rows(other, step, added, {}, programs.right[0])
    key = f"{PREFIX}l0"
    return Related(_with_programs(frame, programs.left, right, key), [key], right)


def _added(other: OtherFrame, step: JoinStep) -> list[str]:
    """Return the columns to bring; keys that are not equal are among them."""
    names = other.frame.columns
    return list(names) if step.columns is None else [name for name in names if name in step.columns]


def _labels(step: JoinStep) -> tuple[list[str], list[str]]:
    """Return the columns of both sides that decide which rows meet."""
    dated = {"on": [], "right_on": []} if step.dated is None else {**step.dated, "on": [step.dated["on"]]}
    own, theirs = [*step.on, *dated["on"]], [*step.right_on, *dated["right_on"]]
    return list(dict.fromkeys(own)), list(dict.fromkeys(theirs))


def _by_keys(frame: Any, other: OtherFrame, step: JoinStep, options: JoinOptions) -> Related:
    """Relate the distinct keys of a frame with those of another one, in this process; rows stay in Spark."""
    own, theirs = _labels(step)
    numbered, keys = _numbered(frame, own)
    table = _distinct(other, theirs)
    row = f"{PREFIX}row"
    right = to_pandas(table).assign(**{row: np.arange(table.num_rows)})
    asked = replace(step, columns=[row], names={row: row}, aggregate=None, counted=False)
    plan = JoinPlan((asked,), "inner", "", 2.0**62, True)
    pairs = join(keys, right, JoinOptions(plan=plan, on_no_match="ignore"))
    pairs = pairs[pairs[row].notna()]  # a join by dates keeps all rows
    renamed = {name: f"{PREFIX}d{i}" for i, name in enumerate(theirs)}
    known = table.rename_columns(list(renamed.values())).take(pa.array(pairs[row].to_numpy(np.int64)))
    key, order = f"{PREFIX}k0", f"{PREFIX}place"
    known = known.append_column(key, pc.cast(pa.array(pairs[f"{PREFIX}left"].to_numpy(np.int64)), pa.string()))
    added = _added(other, step)
    if step.period is not None or (step.dated is not None and not is_of_dates_alone(step)):  # keys are equal
        added = [name for name in added if name not in step.right_on]
    if options.indicator:
        for name in MARKS:
            known = known.append_column(name, pa.array(pairs[name], pa.string() if name == MARKS[0] else pa.float64()))
        added = [*added, *MARKS]
    rows = other.frame.withColumn(order, F.monotonically_increasing_id())
    rows = with_known(rows, renamed, known, "left" if options.keeps_right_rows else "inner")
    if options.keeps_right_rows:  # a row without a partner has a key of its own, which no left row has
        rows = rows.withColumn(key, F.coalesce(F.col(key), F.concat(F.lit("  "), F.col(order).cast("string"))))
    values = {name: f"{PREFIX}c{i}" for i, name in enumerate(added)}
    taken = rows.select(*(F.col(quoted(name)).alias(mine) for name, mine in values.items()), key, order)
    right_table = RightTable(taken, [key], values, [], "right", [KeyClasses()], is_small=other.is_small)
    return Related(numbered, [f"{PREFIX}l0"], right_table)


def _distinct(other: OtherFrame, names: Sequence[str]) -> pa.Table:
    """Return the distinct keys of the other frame."""
    table = other.here(names)
    if table is not None:
        return table.group_by(list(names), use_threads=False).aggregate([]).select(list(names))
    return _collected(other.frame, names, "right_on")


def _collected(frame: Any, names: Sequence[str], argument: str) -> pa.Table:
    """Collect the distinct keys of a frame, as a join reads them."""
    if frame.isStreaming:
        raise InvalidParameterError(
            "`df` must not be a stream where keys are related by distance, likeness or periods, which are found on all "
            "distinct keys; join each micro-batch, in foreachBatch"
        )
    table = collect(wall_columns(frame, names).distinct().limit(_MOST_KEYS + 1))
    if table.num_rows > _MOST_KEYS:
        raise InvalidParameterError(
            f"`{argument}` must have at most {_MOST_KEYS:,} distinct keys where they are related by distance, likeness "
            "or periods; join the distinct keys of a part of the rows"
        )
    return table


def _numbers(column: pd.Series) -> ValueSet:
    return normalize_column(pa.array(column.to_numpy(np.int64)), PROGRAM_SETTINGS)


def _numbered(frame: Any, on: Sequence[str]) -> tuple[Any, pd.DataFrame]:
    """Number the distinct keys of a frame: the frame with the number as text, and the keys with it."""
    table = _collected(frame, on, "on")
    numbers = np.arange(table.num_rows)
    own = {name: f"{PREFIX}n{i}" for i, name in enumerate(on)}
    known = table.rename_columns([own[name] for name in table.column_names])
    known = known.append_column(f"{PREFIX}l0", pc.cast(pa.array(numbers), pa.string()))
    return with_known(frame, own, known), to_pandas(table).assign(**{f"{PREFIX}left": numbers})


# A lake ---------------------------------------------------------------------------------------------------


def relate_on_lake(
    frame: Any, step: JoinStep, table: LakeTable, read: Callable[[Program], RightTable], *, has_marks: bool
) -> Related:
    """Relate a frame with a table of a lake, as a step says.

    Parameters
    ----------
    frame : pyspark DataFrame
    step : JoinStep
    table : LakeTable
    read : callable
        Returns the table with the key that a program makes.
    has_marks : bool
        Whether the rows tell how they were matched.
    """
    relation = step.relation or {}
    key = f"{PREFIX}l0"
    if "programs" in relation and "likeness" not in relation and step.dated is None and not has_marks:
        (label,) = step.on
        programs = _Programs.of(TransformJoin.from_dict(relation))
        if step.pad is None and programs.are_native(frame, [label]):
            own = [replace(program, columns=tuple(label for _ in program.columns)) for program in programs.left]
            right = read(programs.right[0])
            return Related(_with_programs(frame, own, right, key), [key], right)
    numbered, keys = _numbered(frame, _labels(step)[0])
    right = _lake_rows(frame.sparkSession, keys, step, table, has_marks)
    return Related(numbered, [key], right)


def _lake_rows(spark: Any, keys: pd.DataFrame, step: JoinStep, table: LakeTable, has_marks: bool) -> RightTable:
    """Join the distinct keys of a frame with a table of a lake, in this process; their numbers are the key then.

    Rows stay as they are, but where a step has several rules for rows before a date: what a rule tells depends on the
    date of the key, and one row is made for each.
    """
    added = columns_to_add(table, step)
    copies = names_of_rules(added, step.aggregate) if step.dated is not None else {}
    if copies:
        added = [*(name for name in added if not isinstance(step.aggregate.get(name), list)), *copies]
    names = {name: f"{PREFIX}v{i}" for i, name in enumerate(added)}
    asked = replace(step, columns=added, names=names, aggregate=None, counted=False)
    if copies:
        asked = replace(step, names=names, counted=True)
    plan = JoinPlan((asked,), "inner", str(table.snapshot.path), 2.0**62, has_marks)
    pairs = join(keys, plan, JoinOptions(on_no_match="ignore"))
    names |= {name: name for name in MARKS if has_marks and name in pairs}
    if copies:
        (counted,) = set(pairs.columns) - {*keys.columns, *names.values(), "_merge"}
        pairs = pairs[pairs[counted] > 0]  # a join by dates keeps all rows
        names[f"{PREFIX}rows"] = counted
    rows = pairs[list(names.values())].set_axis(list(names), axis=1).reset_index(drop=True)
    local = LocalRows(rows, rows.iloc[:, :0], [_numbers(pairs[f"{PREFIX}left"])], stem_of(step.table), {})
    if not copies:
        return shipped(spark, local, step)
    right = shipped(spark, local, replace(step, aggregate=None))
    values = dict(right.values)
    count = values.pop(f"{PREFIX}rows")
    return replace(right, values=values, count=count, most_rows=int(rows[f"{PREFIX}rows"].max() if len(rows) else 0))
