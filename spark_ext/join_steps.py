"""The steps of a join plan in Spark: the right side of each is read, keys of both sides are made, rows are joined."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from dfjoin.errors import InvalidParameterError
from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import JoinOptions
from dfjoin.join.plan import JoinPlan, JoinStep
from dfjoin.programs.program import Program
from dfjoin.store.snapshot import Snapshot, open_snapshot
from dfjoin.store.table import LakeTable
from dfjoin.types import IndexSettings
from spark_ext.join_keys import PREFIX, check_column, with_key
from spark_ext.join_tables import (
    LocalRows,
    RightTable,
    aggregated,
    lake_rows,
    read_in_task,
    shipped,
    spark_rows,
    spark_source,
)
from spark_ext.joined_rows import guard_expansion, joined
from spark_ext.relations import Related, relate_frames, relate_on_lake
from spark_ext.transfer import to_pandas

__all__ = ["Decision", "StepRun"]

_SMALL_FILE = 64 << 20
"""Bytes of a table of a lake that is read in this process with ``where="auto"``."""


@dataclass(frozen=True)
class Decision:
    """What a join is to do.

    Parameters
    ----------
    plan : JoinPlan
    report : dict
        Of the join of the sample; of all rows where these are the sample.
    right : pyspark DataFrame, optional
        The other frame.
    rows : pyarrow.Table, optional
        Its rows, where these are few.
    """

    plan: JoinPlan
    report: dict[str, Any]
    right: Any = None
    rows: pa.Table | None = None


@dataclass(frozen=True)
class StepRun:
    """One step of a plan on its way through Spark.

    Parameters
    ----------
    spark : SparkSession
    step : JoinStep
    options : JoinOptions
    where : {"auto", "driver", "cluster"}
        Where tables of a lake are read.
    decided : Decision
        Whose step it is.
    """

    spark: Any
    step: JoinStep
    options: JoinOptions
    where: str
    decided: Decision

    def run(self, frame: Any) -> Any:
        """Join one right side to a frame."""
        if self.step.dated is not None or self.step.period is not None:
            what = "dates" if self.step.dated is not None else "periods"
            raise InvalidParameterError(
                f"`other` is joined with {self.step.table or 'the other frame'} by {what}, which is done in pandas "
                "alone; join frame.toPandas()"
            )
        on = [check_column(frame, label, "on") for label in self.step.on]
        related = self._equal(frame, on) if self.step.relation is None else self._related(frame)
        if self.step.aggregate is None:
            guard_expansion(related, on, self.step, self.options)
        right = aggregated(related.right, self.step.aggregate)
        return joined(frame, replace(related, right=right), on, self.step, self.options)

    def _equal(self, frame: Any, on: list[str]) -> Related:
        """Bring the keys of both sides into canonical form."""
        if self.step.table:
            right = self._lake_table(None)
        else:
            right = self._other_frame()
        settings = self._settings
        keys = []
        for i, (label, classes) in enumerate(zip(on, right.classes, strict=True)):
            keys.append(f"{PREFIX}l{i}")
            frame = with_key(frame, label, keys[-1], classes, settings, self.step.pad)
        return Related(frame, keys, right)

    def _related(self, frame: Any) -> Related:
        """Relate keys that are not equal."""
        if self.step.table:
            return relate_on_lake(self.spark, frame, self.step, self._table, self._lake_table)
        other = self.decided.right if self.decided.rows is None else to_pandas(self.decided.rows)
        return relate_frames(self.spark, frame, other, self.step, self.options.indicator)

    @cached_property
    def _snapshot(self) -> Snapshot:
        return open_snapshot(self.decided.plan.index)

    @cached_property
    def _settings(self) -> IndexSettings:
        """How keys are read."""
        settings = self._snapshot.settings if self.step.table else IndexSettings()
        return settings if self.step.dayfirst is None else replace(settings, dayfirst=self.step.dayfirst)

    @cached_property
    def _table(self) -> LakeTable:
        """The table of the lake, known to be the indexed one."""
        table = LakeTable(self._snapshot, self.step.table, self.options.on_stale)
        table.check_columns(self.step.right_on)
        table.check_columns(self.step.columns or [])
        return table

    def _lake_table(self, program: Program | None) -> RightTable:
        """Read the table of the lake: here if it is small, else in a task, or through the session."""
        source = spark_source(self.spark, self._snapshot, self.step.table)
        if source is not None:
            frame, how = source
            wanted = frame.columns if self.step.columns is None else self.step.columns
            brought = [name for name in wanted if name not in self.step.right_on]
            return spark_rows(frame, self.step, brought, how, program)
        is_large = self._table.size > _SMALL_FILE
        if self.where == "cluster" or (self.where == "auto" and is_large):
            return read_in_task(self.spark, self._table, self.step, program)
        return shipped(self.spark, lake_rows(self._table, self.step, program), self.step.aggregate)

    def _other_frame(self) -> RightTable:
        """Take the other frame as the right side."""
        step, rows = self.step, self.decided.rows
        names = self.decided.right.columns if rows is None else rows.column_names
        wanted = names if step.columns is None else [name for name in names if name in step.columns]
        brought = [name for name in wanted if name not in step.right_on]
        if rows is None:
            settings = dict.fromkeys(step.right_on, self._settings)
            return spark_rows(self.decided.right, step, brought, settings, None)
        other = to_pandas(rows)
        parts = KeyColumns(other, self._settings, "right_on", step.pad).parts(step.right_on)
        local = LocalRows(other[brought], other[step.right_on], parts, "right", {}, is_kept=True)
        return shipped(self.spark, local, step.aggregate)
