"""`auto_join` of Spark DataFrames: what is joined is decided as in pandas, the join itself is Spark's.

The decision reads the whole frame where it is small, else a sample of its rows, and gives a plan. The plan is carried
out with expressions and joins of Spark on all rows.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import pandas as pd
import pyarrow as pa
from pyspark.sql import functions as F

from dfjoin._validation import check_choice
from dfjoin.errors import InvalidParameterError, InvalidTypeError, JoinExpansionError
from dfjoin.join.auto import join
from dfjoin.join.execute import name_columns
from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import JoinOptions, join_options
from dfjoin.join.output_names import free_name
from dfjoin.join.plan import JoinPlan, JoinStep
from dfjoin.join.report import JoinReport
from dfjoin.lake import Lake, resolve_lake
from dfjoin.programs.program import Program
from dfjoin.search.candidates import JoinCandidates
from dfjoin.store.snapshot import Snapshot, open_snapshot
from dfjoin.store.table import LakeTable
from dfjoin.types import IndexSettings
from dfjoin.values.frames import frame_to_table, is_pandas, is_spark
from spark_ext import search
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
from spark_ext.relations import Related, relate_frames, relate_on_lake
from spark_ext.transfer import collect, quoted, to_pandas

__all__ = ["auto_join", "report_of"]

_SAMPLE_ROWS = 100_000
"""Rows of the left frame that a join is decided on: all of a smaller frame."""

_SMALL_ROWS = 1_000_000
_SMALL_BYTES = 64 << 20
"""Rows and bytes as Arrow of a right frame that comes to this process."""

_SMALL_FILE = 64 << 20
"""Bytes of a table of a lake that is read in this process with ``where="auto"``."""

_REPORTS: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
"""Result → its report."""


def auto_join(frame: Any, other: Any, where: str, arguments: dict[str, Any]) -> Any:
    """Carry out `auto_join` of a Spark DataFrame.

    Parameters
    ----------
    frame : pyspark DataFrame
    other : Lake, path, result of a search, DataFrame of Spark or pandas, JoinPlan or dict
    where : {"auto", "driver", "cluster"}
        Where tables of a lake are read.
    arguments : dict
        Of `dfjoin.auto_join` by name, without `df` and `other`.

    Returns
    -------
    pyspark DataFrame
    """
    check_choice(where, "where", search.WHERE)
    options = join_options(**arguments)
    twice = sorted({name for name in frame.columns if frame.columns.count(name) > 1})
    if twice:
        raise InvalidParameterError(f"`df` has several columns of the name {twice[0]!r}; rename them")
    decided = _decide(frame, other, options)
    if not decided.plan.steps:
        return _reported(frame, decided.report)
    result = frame
    options = replace(
        options, how=decided.plan.how, max_expansion=decided.plan.max_expansion, indicator=decided.plan.indicator
    )
    for step in decided.plan.steps:
        result = _Step(frame.sparkSession, step, options, where, decided).run(result)
    return _reported(result, decided.report)


def report_of(frame: Any) -> JoinReport:
    """Carry out `spark_ext.report`."""
    values = _REPORTS.get(frame) if is_spark(frame) else None
    if values is None:
        raise InvalidParameterError(
            "`frame` carries no join report; pass what auto_join of a Spark DataFrame returned (a further step of "
            "Spark makes another frame)"
        )
    return JoinReport(values)


def _reported(frame: Any, report: dict[str, Any]) -> Any:
    """Return a frame of its own that the report belongs to."""
    result = frame.select("*")
    _REPORTS[result] = report
    return result


# Decision -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Decided:
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


def _decide(frame: Any, other: Any, options: JoinOptions) -> _Decided:
    """Decide what is joined: in pandas, on the rows of the frame or a sample of them."""
    if isinstance(other, (Lake, str)) or hasattr(other, "__fspath__"):
        return _on_sample(frame, resolve_lake(other, "other").snapshot, options)
    if isinstance(other, JoinCandidates):
        return _on_sample(frame, other, options)
    if is_spark(other):
        picks = search.picked(other)
        if picks is not None:
            return _on_sample(frame, search.search_again(frame, picks), options)
        return _of_frames(frame, other, options)
    if is_pandas(other):
        return _of_frames(frame, other, options)
    if isinstance(other, (JoinPlan, dict)):
        plan = other if isinstance(other, JoinPlan) else JoinPlan.from_dict(other)
        if not plan.index and plan.steps:
            raise InvalidParameterError(
                "`other` is a plan made with a frame, which does not hold that frame; pass the frame as `other`, and "
                "the plan as plan=, as in sdf.auto_join(frame, plan=plan)"
            )
        return _Decided(plan, {"joined": [], "plan": plan.to_dict(), **_UNKNOWN})
    raise InvalidTypeError(
        f"`other` must be a Lake or its path, a result of discover_joinable, a DataFrame of Spark or pandas, or a "
        f"JoinPlan, got {type(other).__name__}"
    )


_UNKNOWN: dict[str, Any] = {"rows_in": 0, "rows_out": 0, "how": "", "passed_over": [], "n_passed_over": 0}


def _on_sample(frame: Any, other: Any, options: JoinOptions, **more: Any) -> _Decided:
    """Join a sample of the rows in pandas, and keep the plan."""
    sample, is_whole = _sample(frame)
    report = dict(join(sample, other, options).attrs["dfjoin"])
    if not is_whole:
        report["sampled_rows"] = len(sample)
    return _Decided(JoinPlan.from_dict(report["plan"]), report, **more)


def _sample(frame: Any) -> tuple[pd.DataFrame, bool]:
    """Return the rows that a join is decided on, and whether they are all."""
    table = collect(frame.limit(_SAMPLE_ROWS + 1))
    is_whole = table.num_rows <= _SAMPLE_ROWS
    if not is_whole:
        share = _SAMPLE_ROWS / frame.count()
        table = collect(frame.sample(fraction=min(1.0, share), seed=1).limit(_SAMPLE_ROWS))
    return to_pandas(table), is_whole


def _of_frames(frame: Any, other: Any, options: JoinOptions) -> _Decided:
    """Decide how two frames are joined."""
    if is_pandas(other):
        rows = frame_to_table(other.reset_index(drop=True))
        return _on_sample(frame, to_pandas(rows), options, rows=rows)
    rows = collect(other.limit(_SMALL_ROWS + 1))
    if rows.num_rows <= _SMALL_ROWS and rows.nbytes <= _SMALL_BYTES:
        return _on_sample(frame, to_pandas(rows), options, right=other, rows=rows)
    if options.plan is not None:
        plan = options.plan if isinstance(options.plan, JoinPlan) else JoinPlan.from_dict(options.plan)
        return _Decided(plan, {"joined": [], "plan": plan.to_dict(), **_UNKNOWN}, other)
    if options.on is None or options.is_relation_requested:
        raise InvalidParameterError(
            f"`on` must be given where the other frame has more than {_SMALL_ROWS:,} rows or {_SMALL_BYTES >> 20} "
            "MiB; a relation of keys that are not equal is learned from smaller frames: join samples of both, and pass "
            "their plan as plan="
        )
    few = to_pandas(rows.slice(0, _SAMPLE_ROWS))
    plain = replace(options, transform=False, fuzzy=False, on_no_match="ignore")
    decided = _on_sample(frame, few, plain, right=other)
    (step,) = decided.plan.steps  # its first rows do not tell whether keys are repeated
    return replace(decided, plan=replace(decided.plan, steps=(replace(step, counted=None),)))


# Execution ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Step:
    """One step of a plan on its way through Spark."""

    spark: Any
    step: JoinStep
    options: JoinOptions
    where: str
    decided: _Decided

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
            _guard(related, on, self.step, self.options)
        right = aggregated(related.right, self.step.aggregate)
        return _joined(frame, replace(related, right=right), on, self.step, self.options)

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


def _guard(related: Related, on: list[str], step: JoinStep, options: JoinOptions) -> None:
    """Stop a join that would multiply rows beyond what the caller allows; one job that counts keys."""
    right = related.right
    if right.is_small and not right.is_repeated:
        return
    keys = [F.col(name) for name in related.keys]
    shown = F.concat_ws(" + ", *(F.min(F.col(quoted(label)).cast("string")) for label in on)).alias("shown")
    counted = related.frame.groupBy(*keys).agg(F.count(F.lit(1)).alias("own"), shown)
    theirs = right.frame.groupBy(*right.keys).agg(F.count(F.lit(1)).alias("other"))
    same = _all_equal(related.keys, right.keys)
    pairs = counted.join(theirs, same, "left")
    n_pairs = F.col("own") * F.coalesce(F.col("other"), F.lit(0))
    worst = F.expr("max_by(struct(shown, own, other), own * coalesce(other, 0))").alias("worst")
    found = collect(
        pairs.agg(
            F.sum("own").alias("rows"),
            F.sum(n_pairs).alias("pairs"),
            F.sum(F.when(F.col("other").isNull(), F.col("own"))).alias("alone"),
            worst,
        )
    ).to_pylist()[0]
    n_rows = found["rows"] or 0
    n_out = (found["pairs"] or 0) + ((found["alone"] or 0) if options.how in ("left", "outer") else 0)
    if not n_rows or n_out <= options.max_expansion * n_rows:
        return
    key, other = found["worst"], repr(right.stem) if step.table else "the other frame"
    n_own = f"{key['own']:,} row" + ("s" if key["own"] > 1 else "")
    raise JoinExpansionError(
        f"the join with {other} would make {n_out:,} rows of {n_rows:,}, {n_out / n_rows:.1f} times as many, above "
        f"`max_expansion` {options.max_expansion:g}; the worst key, {key['shown']!r}, stands in {n_own} of yours and "
        f'{key["other"]:,} of the table: pass aggregate="auto" for one row per key, or a higher `max_expansion`'
    )


def _all_equal(left: list[str], right: list[str]) -> Any:
    return functools.reduce(operator.and_, (F.col(a) == F.col(b) for a, b in zip(left, right, strict=True)))


def _joined(frame: Any, related: Related, on: list[str], step: JoinStep, options: JoinOptions) -> Any:
    """Join a frame with a right side by their keys, and name the new columns."""
    right = related.right
    taken = set(frame.columns)
    names = name_columns(list(right.values), step, right.stem, taken)
    is_counted = bool(right.count) and (_is_counted(related) if step.counted is None else step.counted)
    counted = free_name(f"{right.stem}_rows", right.stem, taken) if is_counted else ""
    merged = free_name("_merge", right.stem, taken) if options.indicator else ""
    left_mark, right_mark = f"{PREFIX}is_left", f"{PREFIX}is_right"
    left = related.frame
    theirs = right.frame.withColumn(right_mark, F.lit(True))
    if options.keeps_right_rows:
        left = left.withColumn(left_mark, F.lit(True))
    if right.is_small and not options.keeps_right_rows:
        theirs = F.broadcast(theirs)
    how = {"outer": "full"}.get(options.how, options.how)
    wide = left.join(theirs, _all_equal(related.keys, right.keys), how)
    spelled = dict(zip(on, right.spelled, strict=True)) if options.keeps_right_rows and right.spelled else {}
    columns = [_filled(frame, name, spelled, left_mark) for name in frame.columns]
    columns += [F.col(right.values[column]).alias(name) for column, name in names.items()]
    if counted:
        columns.append(F.coalesce(F.col(right.count), F.lit(0)).alias(counted))
    if merged:
        both = F.when(F.col(right_mark).isNull(), F.lit("left_only")).otherwise(F.lit("both"))
        both = (
            F.when(F.col(left_mark).isNull(), F.lit("right_only")).otherwise(both) if options.keeps_right_rows else both
        )
        columns.append(both.alias(merged))
    return wide.select(*columns)


def _filled(frame: Any, name: str, spelled: dict[str, str], left_mark: str) -> Any:
    """Return a column of the left frame; in rows of the right side alone its key, as it is spelled there."""
    column = F.col(quoted(name))
    if name not in spelled:
        return column
    type_ = frame.schema[name].dataType
    own, theirs = F.col(left_mark), F.col(spelled[name])
    return F.when(own.isNotNull(), column).otherwise(theirs.cast(type_)).alias(name)


def _is_counted(related: Related) -> bool:
    """Tell whether a join is 1:m: a key stands in several rows of the right side, and none in several of the left."""
    right = related.right
    if right.is_repeated is False:
        return False
    shared = related.frame.join(
        F.broadcast(right.frame) if right.is_small else right.frame, _all_equal(related.keys, right.keys), "left_semi"
    )
    twice = shared.groupBy(*related.keys).count().where("count > 1").limit(1)
    repeated = right.frame.where(F.col(right.count) > 1).limit(1)
    return collect(twice).num_rows == 0 and collect(repeated).num_rows > 0
