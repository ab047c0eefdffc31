"""Joins of keys that are not equal: programs as expressions of Spark; distances and likeness on the distinct keys.

Programs and equality need no Python where rows pass. A relation by distance, by likeness, or of values whose text is
not the same in Spark is found on the distinct keys of the left frame, in this process, by the join of pandas frames.
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
from dfjoin.join.dated_rows import is_of_dates_alone
from dfjoin.join.options import JoinOptions
from dfjoin.join.output_names import stem_of
from dfjoin.join.plan import JoinPlan, JoinStep
from dfjoin.join.read_rows import brought_columns
from dfjoin.join.saved_relation import SavedRelation
from dfjoin.programs.program import Program
from dfjoin.store.table import LakeTable
from dfjoin.transform.transform_join import TransformJoin
from dfjoin.values.normalize import normalize_column
from dfjoin.values.value_set import ValueSet
from spark_ext.join_keys import PREFIX, choose_key, program_key, type_of
from spark_ext.join_tables import PROGRAM_SETTINGS, LocalRows, RightTable, shipped, spark_rows
from spark_ext.transfer import collect, quoted, to_pandas, to_spark

__all__ = ["Related", "relate_frames", "relate_on_lake"]

_MOST_KEYS = 1_000_000
"""Distinct keys of the left frame that are related in this process."""

_NATIVE = ("string", "tinyint", "smallint", "int", "bigint", "date")
"""Types whose text in Spark is the one that programs are learned on."""

_MATCH, _DISTANCE = "_match", "_distance"


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

    @classmethod
    def of(cls, found: TransformJoin) -> _Programs:
        source = [ranked.program for ranked in found.programs]
        target = [] if found.target is None else [found.target]
        return cls(source, target) if found.direction == "left_to_right" else cls(target, source)

    @property
    def kind(self) -> str:
        """What a match is called: equal where both sides are copies."""
        return "equal" if all(program.is_identity for program in (*self.left, *self.right)) else "program"

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


def relate_frames(spark: Any, frame: Any, other: Any, step: JoinStep, indicator: bool) -> Related:
    """Relate a frame with another one, as a step says.

    Parameters
    ----------
    spark : SparkSession
    frame : pyspark DataFrame
    other : pandas or pyspark DataFrame
        In this process where it is small.
    step : JoinStep
    indicator : bool
        Tell how each row was matched.
    """
    if step.relation is None:
        return _by_keys(spark, frame, _only_here(other), step, False)
    saved = SavedRelation.from_dict(step.relation)
    programs = _Programs.of(saved.programs)
    own, theirs = saved.columns
    is_here = isinstance(other, pd.DataFrame)
    is_native = (
        saved.likeness is None and programs.are_native(frame, own) and (len(programs.left) == 1 or not indicator)
    )
    if is_native and not is_here:
        is_native = all(type_of(other, name) in _NATIVE for name in theirs)
    brought = list(other.columns) if step.columns is None else [n for n in other.columns if n in step.columns]
    if not is_native:
        return _by_keys(spark, frame, _only_here(other), step, indicator)
    if is_here:
        program = programs.right[0]
        texts = [_texts(other[name]) for name in program.columns]
        part = normalize_column(program.apply(texts), PROGRAM_SETTINGS)
        rows = other[brought]
        if indicator:
            rows = rows.assign(**{_MATCH: programs.kind, _DISTANCE: 0.0})
        local = LocalRows(rows, other.iloc[:, :0], [part], "right", {})
        right = shipped(spark, local, step)
    else:
        if indicator:
            other = other.withColumn(_MATCH, F.lit(programs.kind)).withColumn(_DISTANCE, F.lit(0.0))
            brought += [_MATCH, _DISTANCE]
        right = spark_rows(other, step, brought, {}, programs.right[0])
    key = f"{PREFIX}l0"
    return Related(_with_programs(frame, programs.left, right, key), [key], right)


def _only_here(other: Any) -> pd.DataFrame:
    """Return a frame that is in this process; raise for one that stays in Spark."""
    if not isinstance(other, pd.DataFrame):
        raise InvalidParameterError(
            "`other` is too large to be related by likeness, by dates that are texts or have no other key, or by "
            "programs over values that are no texts, integers or dates; join a smaller frame, or turn its key into text"
        )
    return other


def _labels(step: JoinStep) -> tuple[list[str], list[str]]:
    """Return the columns of both sides that decide which rows meet."""
    dated = {"on": [], "right_on": []} if step.dated is None else {**step.dated, "on": [step.dated["on"]]}
    own, theirs = [*step.on, *dated["on"]], [*step.right_on, *dated["right_on"]]
    return list(dict.fromkeys(own)), list(dict.fromkeys(theirs))


def _texts(column: pd.Series) -> pa.Array:
    """Return a column as the texts that programs read."""
    array = pa.array(column, from_pandas=True)
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return array if pa.types.is_string(array.type) else pc.cast(array, pa.large_string())


def _by_keys(spark: Any, frame: Any, other: pd.DataFrame, step: JoinStep, indicator: bool) -> Related:
    """Relate the distinct keys of a frame with the rows of another one, in this process."""
    own, theirs = _labels(step)
    numbered, keys = _numbered(spark, frame, own)
    number, row = f"{PREFIX}left", f"{PREFIX}row"
    right = other[theirs].assign(**{row: np.arange(len(other))})
    asked = replace(step, columns=[row], names={row: row}, aggregate=None, counted=False)
    plan = JoinPlan((asked,), "inner", "", 2.0**62, True)
    pairs = join(keys, right, JoinOptions(plan=plan, on_no_match="ignore"))
    pairs = pairs[pairs[row].notna()]  # a join by dates keeps all rows
    brought = list(other.columns) if step.columns is None else [n for n in other.columns if n in step.columns]
    if step.dated is not None and not is_of_dates_alone(step):  # keys are equal
        brought = [name for name in brought if name not in step.right_on]
    rows = other[brought].take(pairs[row].to_numpy(np.int64)).reset_index(drop=True)
    if indicator:
        told = {name: pairs[name].reset_index(drop=True) for name in (_MATCH, _DISTANCE)}
        rows = rows.assign(**told)
    local = LocalRows(rows, other.iloc[:, :0], [_numbers(pairs[number])], "right", {})
    return Related(numbered, [f"{PREFIX}l0"], shipped(spark, local, step))


def _numbers(column: pd.Series) -> ValueSet:
    return normalize_column(pa.array(column.to_numpy(np.int64)), PROGRAM_SETTINGS)


def _numbered(spark: Any, frame: Any, on: Sequence[str]) -> tuple[Any, pd.DataFrame]:
    """Number the distinct keys of a frame: the frame with the number as text, and the keys with it."""
    distinct = frame.select(*(quoted(name) for name in on)).distinct()
    table = collect(distinct.limit(_MOST_KEYS + 1))
    if table.num_rows > _MOST_KEYS:
        raise InvalidParameterError(
            f"`on` must have at most {_MOST_KEYS:,} distinct keys where they are related by distance, likeness or "
            "periods; join the distinct keys of a part of the rows"
        )
    number = f"{PREFIX}left"
    keys = to_pandas(table).assign(**{number: np.arange(table.num_rows)})
    own = {name: f"{PREFIX}n{i}" for i, name in enumerate(on)}
    renamed = table.rename_columns([own[name] for name in table.column_names])
    texts = pc.cast(pa.array(np.arange(table.num_rows)), pa.string())
    known = to_spark(spark, renamed.append_column(f"{PREFIX}l0", texts))
    same = [F.col(quoted(name)).eqNullSafe(F.col(mine)) for name, mine in own.items()]
    condition = same[0]
    for one in same[1:]:
        condition = condition & one
    return frame.join(known, condition, "left").drop(*own.values()), keys


# A lake ---------------------------------------------------------------------------------------------------


def relate_on_lake(
    spark: Any, frame: Any, step: JoinStep, table: LakeTable, read: Callable[[Program], RightTable]
) -> Related:
    """Relate a frame with a table of a lake, as a step says.

    Parameters
    ----------
    spark : SparkSession
    frame : pyspark DataFrame
    step : JoinStep
    table : LakeTable
    read : callable
        Returns the table with the key that a program makes.
    """
    relation = step.relation or {}
    key = f"{PREFIX}l0"
    if "programs" in relation and step.dated is None:
        (label,) = step.on
        programs = _Programs.of(TransformJoin.from_dict(relation))
        if step.pad is None and programs.are_native(frame, [label]):
            own = [replace(program, columns=tuple(label for _ in program.columns)) for program in programs.left]
            right = read(programs.right[0])
            return Related(_with_programs(frame, own, right, key), [key], right)
    numbered, keys = _numbered(spark, frame, _labels(step)[0])
    brought = brought_columns(table, step)
    names = {name: f"{PREFIX}v{i}" for i, name in enumerate(brought)}
    asked = replace(step, columns=brought, names=names, aggregate=None, counted=False)
    plan = JoinPlan((asked,), "inner", str(table.snapshot.path), 2.0**62, False)
    pairs = join(keys, plan, JoinOptions(on_no_match="ignore"))
    rows = pairs[list(names.values())].set_axis(brought, axis=1).reset_index(drop=True)
    local = LocalRows(rows, rows.iloc[:, :0], [_numbers(pairs[f"{PREFIX}left"])], stem_of(step.table), {})
    return Related(numbered, [key], shipped(spark, local, step))
