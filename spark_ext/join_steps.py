"""The steps of a join plan in Spark: the right side of each is read, keys of both sides are made, rows are joined."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dfjoin.errors import InvalidParameterError
from dfjoin.join.options import JoinOptions
from dfjoin.join.plan import JoinPlan, JoinStep
from dfjoin.join.rows.execute import warn_of_lost_rows
from dfjoin.join.rows.read_rows import columns_to_add
from dfjoin.lake import moved_roots_of
from dfjoin.programs.program import Program
from dfjoin.store.snapshot import Snapshot, open_snapshot
from dfjoin.store.table import LakeTable
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import ValueSet
from spark_ext.join_dates import finds_by_window, relate_latest, with_moments, with_spark_moments
from spark_ext.join_keys import PREFIX, KeyReading, with_key
from spark_ext.join_lake_tables import lake_rows, read_by_spark, read_in_task, reading_of
from spark_ext.join_tables import (
    OtherFrame,
    RightTable,
    aggregated,
    shipped,
    spark_rows,
    spark_source,
)
from spark_ext.joined_rows import guard_expansion, joined
from spark_ext.probe import require_index
from spark_ext.queries import check_column
from spark_ext.relations import Related, relate_frames, relate_on_lake
from spark_ext.rows_here import RowsHere

__all__ = ["Decision", "StepRun"]

_SMALL_FILE = 64 << 20
"""Bytes of a table of a lake that is read in this process with ``where="auto"``."""

_MOST_BYTES = 512 << 20
"""Bytes of a table of a lake that is read in this process for its dates, unless ``where="driver"`` asks for it."""


@dataclass(frozen=True)
class Decision:
    """What a join is to do.

    Parameters
    ----------
    plan : JoinPlan
    report : dict
        Of the join of the sample; of all rows where these are the sample.
    right : OtherFrame, optional
    left : RowsHere, optional
        The left frame, where all of its rows were read to decide.
    is_checked : bool
        Tables of a lake were compared with the index when it was decided.
    """

    plan: JoinPlan
    report: dict[str, Any]
    right: OtherFrame | None = None
    left: RowsHere | None = None
    is_checked: bool = False

    @property
    def read_right(self) -> bool:
        """Whether all rows of the right side were read to decide, and what is to be told of them was told."""
        return self.is_checked if self.right is None else self.right.rows is not None


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
    notes : accumulator, optional
        Of what tasks tell that read tables of the lake.
    """

    spark: Any
    step: JoinStep
    options: JoinOptions
    where: str
    decided: Decision
    notes: Any = None

    def run(self, frame: Any) -> Any:
        """Join one right side to a frame."""
        on = [check_column(frame, label, "on") for label in self.step.on]
        if finds_by_window(frame, self.step):
            related = self._latest(frame, on)
        elif self.step.relation is None and self.step.dated is None and self.step.period is None:
            related = self._equal(frame, on)
        else:
            related = self._related(frame)
        if self.step.aggregate is None:
            guard_expansion(related, on, self.step, self.options)
        counts_lost = self.options.keeps_right_rows and self.step.aggregate is not None and not self.decided.read_right
        right = aggregated(related.right, self.step, counts_lost=counts_lost)
        if counts_lost:
            warn_of_lost_rows(right.n_without or 0, self.step)
        return joined(frame, replace(related, right=right), on, self.step, self.options)

    def _equal(self, frame: Any, on: list[str]) -> Related:
        """Bring the keys of both sides into canonical form."""
        right = self._lake_table(None) if self.step.table else self._other_frame()
        return Related(*self._with_keys(frame, on, right), right)

    def _with_keys(self, frame: Any, on: list[str], right: RightTable) -> tuple[Any, list[str]]:
        """Add the keys of a frame in canonical form, and name them."""
        keys = [f"{PREFIX}l{i}" for i in range(len(on))]
        for label, key, classes in zip(on, keys, right.classes, strict=False):  # dates have none
            frame = with_key(frame, label, key, classes, self._reading)
        return frame, keys

    def _latest(self, frame: Any, on: list[str]) -> Related:
        """Bring the keys into canonical form, and find the latest row of each by its date."""
        assert self.step.dated is not None
        right = self._dated_table() if self.step.table else self._dated_frame()
        frame, keys = self._with_keys(frame, on, right)
        return relate_latest(frame, keys, self.step.dated["on"], right)

    def _related(self, frame: Any) -> Related:
        """Relate keys that are not equal."""
        if self.step.table:
            marks = self.options.indicator
            return relate_on_lake(frame, self.step, self._table, self._lake_table, has_marks=marks)
        assert self.decided.right is not None
        return relate_frames(frame, self.decided.right, self.step, self.options)

    @cached_property
    def _snapshot(self) -> Snapshot:
        index = self.decided.plan.index
        return open_snapshot(index, roots=moved_roots_of(index))

    @cached_property
    def _settings(self) -> IndexSettings:
        """How keys are read."""
        settings = self._snapshot.settings if self.step.table else IndexSettings()
        return settings if self.step.dayfirst is None else replace(settings, dayfirst=self.step.dayfirst)

    @property
    def _reading(self) -> KeyReading:
        """How a key column is read of which nothing more is known."""
        return KeyReading(self._settings, self.step.pad)

    @cached_property
    def _table(self) -> LakeTable:
        """The table of the lake, known to be the indexed one."""
        on_stale = "ignore" if self.decided.is_checked else self.options.on_stale
        table = LakeTable(self._snapshot, self.step.table, on_stale)
        table.check_columns(self.step.right_on)
        table.check_columns(self.step.columns or [])
        return table

    def _dated_table(self) -> RightTable:
        """Read the table of the lake here, with its dates."""
        assert self.step.dated is not None
        source = self._spark_source
        if source is not None:
            other, how = source
            return with_spark_moments(other, self.step, self._added(other.frame.columns), how)
        if self.where != "driver" and self._table.size > _MOST_BYTES:
            raise InvalidParameterError(
                f"table {self.step.table!r} of the lake has {self._table.size >> 20:,} MiB; in a join by dates, one of "
                f"at most {_MOST_BYTES >> 20} MiB is read in this process; read it by Spark and pass that frame as "
                "`other`, as in sdf.auto_join(spark.read.parquet(path), on=[key, date], how='asof'), or pass "
                "where='driver' where memory is enough"
            )
        added, dates = columns_to_add(self._table, self.step), self.step.dated["right_on"]
        wanted = [*added, *(name for name in dates if name not in added)]
        rows = lake_rows(self._table, replace(self.step, columns=wanted), None)
        dated = with_moments(rows, rows.frame[dates], self._table.settings)
        return shipped(self.spark, replace(dated, frame=rows.frame[added]), self.step)

    def _dated_frame(self) -> RightTable:
        """Take the other frame as the right side, with its dates."""
        right = self.decided.right
        assert right is not None
        readings = dict.fromkeys(self.step.right_on, self._reading)
        return with_spark_moments(right, self.step, self._added(right.frame.columns), readings)

    def _added(self, names: list[str]) -> list[str]:
        """Return the columns to bring of those of the right side."""
        wanted = names if self.step.columns is None else [name for name in names if name in self.step.columns]
        return [name for name in wanted if name not in self.step.right_on]

    def _lake_table(self, program: Program | None) -> RightTable:
        """Read the table of the lake: here if it is small, else by Spark's own reader or in a task."""
        source = self._spark_source
        if source is not None:
            other, how = source
            return spark_rows(other, self.step, self._added(other.frame.columns), how, program)
        is_large = self._table.size > _SMALL_FILE
        if self.where == "cluster" or (self.where == "auto" and is_large):
            read = read_by_spark(self.spark, self._table, self.step, program, self._own_keys)
            if read is not None:
                return read
            require_index(self.spark, self._snapshot)
            return read_in_task(self.spark, self._table, self.step, program, self.notes)
        return shipped(self.spark, lake_rows(self._table, self.step, program), self.step)

    @property
    def _spark_source(self) -> tuple[OtherFrame, dict[str, KeyReading]] | None:
        """The table of the lake if it is one of Spark, and how its columns are read; None for a file."""
        frame = spark_source(self.spark, self._table)
        if frame is None:
            return None
        how = {name: reading_of(self._table, name, self.step.pad) for name in self._table.column_names}
        return OtherFrame(frame), how

    @property
    def _own_keys(self) -> ValueSet | None:
        """The values of the key of the left frame, where rows of other keys are of no use and all of them are here."""
        left, rest = self.decided.left, (self.step.dated, self.step.period, self.step.relation)
        if left is None or self.options.keeps_right_rows or self.step.is_unique is None or rest != (None, None, None):
            return None
        (name, *others) = self.step.on
        return None if others or name not in left.table.column_names else self._reading.values(left.table.column(name))

    def _other_frame(self) -> RightTable:
        """Take the other frame as the right side."""
        right = self.decided.right
        assert right is not None
        readings = dict.fromkeys(self.step.right_on, self._reading)
        return spark_rows(right, self.step, self._added(right.frame.columns), readings, None)
