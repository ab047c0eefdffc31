"""`auto_join` of Spark DataFrames: what is joined is decided as in pandas, the join itself is Spark's.

The decision reads the whole frame where it is small, else a sample of its rows, and gives a plan, which
`spark_ext.join_steps` carries out with expressions and joins of Spark on all rows.
"""

from __future__ import annotations

import contextlib
import io
import re
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyspark.sql.types import NumericType

from dfjoin._validation import check_choice
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.frames.given_frame import stored_frame
from dfjoin.join.auto import join
from dfjoin.join.frame_join import NEAR_MODES
from dfjoin.join.keys import KeyIndex
from dfjoin.join.options import JoinOptions, join_options
from dfjoin.join.plan import JoinPlan, SavedRelation, distance_relation, require_lake
from dfjoin.join.rows.report import JoinReport
from dfjoin.lake import Lake, resolve_lake
from dfjoin.search.candidates import JoinCandidates
from dfjoin.types import IndexSettings
from dfjoin.values.frames import frame_to_table, is_pandas, is_spark, with_levels
from spark_ext.column_names import check_once, ignores_case, respelled_options, respelled_plan
from spark_ext.jobs import described
from spark_ext.join_keys import PREFIX, KeyReading
from spark_ext.join_steps import Decision, StepRun
from spark_ext.join_tables import OtherFrame
from spark_ext.picked_hits import frame_of, picked, search_again, work_of
from spark_ext.queries import check_column
from spark_ext.rows_here import MOST_BYTES, RowsHere, all_here, collect_rows, draw_rows
from spark_ext.search import WHERE
from spark_ext.task_counters import new_notes, summary
from spark_ext.transfer import JobCounts, count_rows, counting, to_spark

__all__ = ["auto_join", "report_of"]

_SAMPLE_ROWS = 100_000
"""Rows of the left frame that a join is decided on: all of a smaller frame."""

_SMALL_ROWS = 1_000_000
"""Rows of a right frame whose keys come to this process."""

_REPORT_NAME = f"{PREFIX}report_"
_MOST_REPORTS = 256


@dataclass(frozen=True)
class _Work:
    """What a join took.

    Parameters
    ----------
    collected : JobCounts
        By its jobs.
    notes : accumulator or None
        Of what tasks tell that read tables of the lake whenever the result is read.
    """

    collected: JobCounts
    notes: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {**asdict(self.collected), **summary(() if self.notes is None else self.notes.value)}


_reports: dict[str, tuple[dict[str, Any], _Work]] = {}
"""Name that a result has in its plan → its report and work, of the latest results."""


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
    check_choice(where, "where", WHERE)
    options = join_options(**arguments)
    if options.reviewed is not None:
        raise InvalidParameterError(
            "`reviewed` applies to frames of pandas: Spark carries out a plan, which holds no pairs of a person; join "
            "the frames in pandas, or leave it out"
        )
    check_once(frame, "df")
    spark = frame.sparkSession
    with counting() as collected:
        with described(spark, "join: decide"):
            decided = _decide_for_stream(frame, other, options) if frame.isStreaming else _decide(frame, other, options)
        if not decided.plan.steps:
            return _reported(frame, decided.report, _Work(collected))
        work = _Work(collected, new_notes(spark))
        return _reported(_carried_out(frame, options, where, decided, work.notes), decided.report, work)


def _carried_out(frame: Any, options: JoinOptions, where: str, decided: Decision, notes: Any) -> Any:
    """Carry out the steps of a plan."""
    result, n = frame, len(decided.plan.steps)
    options = replace(
        options,
        how=decided.plan.how,
        max_expansion=decided.plan.max_expansion,
        indicator=decided.plan.indicator,
        ignores_case=ignores_case(frame.sparkSession),
    )
    for number, step in enumerate(decided.plan.steps, 1):
        with described(frame.sparkSession, f"join: step {number} of {n}"):
            result = StepRun(frame.sparkSession, step, options, where, decided, notes).run(result)
    return result


def report_of(frame: Any) -> JoinReport | dict[str, Any]:
    """Carry out `spark_ext.report`."""
    work = work_of(frame)
    if work is not None:
        return work
    found = _reports.get(_report_name(frame)) if is_spark(frame) else None
    if found is None:
        raise InvalidParameterError(
            "`frame` carries no join report; pass what auto_join of a Spark DataFrame returned in this process, or "
            "what further steps made of it (a checkpoint, and a table that was written and read, carry none)"
        )
    values, of_join = found
    return JoinReport({**values, "work": of_join.to_dict()})


def _report_name(frame: Any) -> str:
    """Return the name of the last join in the plan of a frame, which Spark prints from its end; empty for none."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain(extended=True)
    analyzed = printed.getvalue().partition("== Analyzed Logical Plan ==")[2]
    found = re.search(rf"SubqueryAlias ({_REPORT_NAME}\w+)", analyzed)
    return "" if found is None else found[1]


def _reported(frame: Any, report: dict[str, Any], work: _Work) -> Any:
    """Give a frame a name in its plan, by which further steps know the report."""
    name = _REPORT_NAME + uuid.uuid4().hex
    _reports[name] = report, work
    for oldest in list(_reports)[:-_MOST_REPORTS]:
        del _reports[oldest]
    return frame.alias(name)


# Decision -------------------------------------------------------------------------------------------------


def _decide(frame: Any, other: Any, options: JoinOptions) -> Decision:
    """Decide what is joined: in pandas, on the rows of the frame or a sample of them."""
    other = stored_frame(other)
    if is_spark(other):
        picks = picked(other)
        if picks is None:
            return _of_frames(frame, other, options)
        other = search_again(frame, picks)
    if is_pandas(other) and not isinstance(other, JoinCandidates):
        return _of_frames(frame, other, options)
    options, lake = respelled_options(options, frame), None
    if isinstance(other, (Lake, str)) or hasattr(other, "__fspath__"):
        lake = resolve_lake(other, "other").snapshot
        if options.plan is None:
            return _on_sample(frame, lake, options)
        other = options.plan
    if isinstance(other, JoinCandidates):
        return _on_sample(frame, other, options)
    if isinstance(other, (JoinPlan, dict)):
        plan = other if isinstance(other, JoinPlan) else JoinPlan.from_dict(other)
        require_lake(plan)
        plan = plan if lake is None else replace(plan, index=lake.location)
        return _as_given(respelled_plan(plan, frame))
    raise InvalidTypeError(
        f"`other` must be a Lake or its path, a result of discover_joinable, a DataFrame of Spark, pandas or polars, "
        f"or a JoinPlan, got {type(other).__name__}"
    )


def _decide_for_stream(frame: Any, other: Any, options: JoinOptions) -> Decision:
    """Decide what is joined to a stream: a plan says it, or the frame of rows that picked hits were searched for."""
    rows = frame_of(other) if is_spark(other) else None
    if rows is None and not isinstance(other, (JoinPlan, dict)):
        raise InvalidParameterError(
            "`df` must not be a stream where something is decided by its rows; decide with a frame of some of them, "
            "and join the stream by picked hits of its search, stream.auto_join(hits), or by the plan of its join: "
            'stream.auto_join(spark_ext.report(wide).to_dict()["plan"])'
        )
    decided = _decide(frame if rows is None else rows, other, options)
    if decided.plan.how not in ("left", "inner", "asof"):
        raise InvalidParameterError(
            f"`how` must be 'left', 'inner' or 'asof' for a stream, got {decided.plan.how!r}: whether a row of a table "
            "finds no partner is known at the end of a stream alone"
        )
    return replace(decided, left=None)  # other keys will come


def _as_given(plan: JoinPlan, right: OtherFrame | None = None) -> Decision:
    """Do what a given plan says; nothing was joined to decide it, and no table of a lake was looked at."""
    unknown: dict[str, Any] = {"rows_in": None, "rows_out": None, "joined": [], "passed_over": [], "n_passed_over": 0}
    return Decision(plan, {**unknown, "how": plan.how, "plan": plan.to_dict()}, right)


def _on_sample(frame: Any, other: Any, options: JoinOptions, right: OtherFrame | None = None) -> Decision:
    """Join a sample of the rows in pandas, and keep the plan.

    A given plan is only checked, on none of the rows of a large frame, unless it shall raise where nothing matches.
    """
    is_given = options.plan is not None and options.on_no_match != "raise"
    keys = _keys_of(options.on, options.plan, "on")
    _check_types(frame, keys, "on")
    sample = _sample(frame, keys, not is_given)
    report = dict(join(sample.frame, other, options).attrs["dfjoin"])
    if is_given and not sample.is_whole:
        return _as_given(options.plan, right)
    if not sample.is_whole:
        report["sampled_rows"] = len(sample.frame)
    plan = JoinPlan.from_dict(report["plan"])
    if right is not None and right.away:
        _forget_values(report, right)
        if any(isinstance(right.frame.schema[name].dataType, NumericType) for name in right.away):
            plan = replace(plan, steps=tuple(replace(step, measures=None) for step in plan.steps))
    return Decision(plan, report, right, sample if sample.is_whole else None, is_checked=True)


def _forget_values(report: dict[str, Any], right: OtherFrame) -> None:
    """Leave out of a report what values would tell that stay in Spark."""
    for step in report["joined"]:
        away = {column["name"] for column in step["columns"] if column["column"] in right.away}
        for column in step["columns"]:
            if column["name"] in away:
                del column["n_disagreeing"]
        step["rows"] = [{name: text for name, text in row.items() if name not in away} for row in step["rows"]]


def _keys_of(on: Any, plan: Any, side: str) -> list[str] | None:
    """Return the columns of one side that are keys, as the caller or a plan names them; None: any may be one."""
    if not isinstance(plan, JoinPlan):
        return None if on is None or on == "*" else list(on) if isinstance(on, list) else [on]
    names: list[str] = []
    for step in plan.steps:
        dates = [] if step.dated is None else step.dated[side]
        names += [*getattr(step, side), *(dates if isinstance(dates, list) else [dates])]
        if step.relation is not None and not step.table and distance_relation(step.relation) is None:
            own, theirs = SavedRelation.from_dict(step.relation).columns
            names += own if side == "on" else theirs
    return names


def _check_types(frame: Any, keys: list[str] | None, argument: str) -> None:
    """Raise where the values of a key have no text: they come here as nulls; pandas tells of one that is not there."""
    for name in keys or ():
        if name in frame.columns:
            check_column(frame, name, argument)


def _sample(frame: Any, keys: list[str] | None, is_drawn: bool) -> RowsHere:
    """Return the rows that a join is decided on: all, or some of a large frame; none of these unless `is_drawn`."""
    rows = draw_rows(frame, keys, _SAMPLE_ROWS, is_part_used=is_drawn)
    if rows.is_whole:
        return rows
    if not is_drawn:
        return replace(rows, frame=rows.frame.iloc[:0])
    share = _SAMPLE_ROWS / max(1, count_rows(frame))
    drawn = frame.sample(fraction=min(1.0, share), seed=1).limit(_SAMPLE_ROWS)
    return replace(collect_rows(drawn, rows, keys, _SAMPLE_ROWS), is_whole=False)


def _of_frames(frame: Any, other: Any, options: JoinOptions) -> Decision:
    """Decide how two frames are joined."""
    local = None
    if is_pandas(other):
        local = frame_to_table(with_levels(other).reset_index(drop=True))
        other = to_spark(frame.sparkSession, local)
    check_once(other, "other")
    options = respelled_options(options, frame, other)
    keys = _keys_of(options.on if options.right_on is None else options.right_on, options.plan, "right_on")
    _check_types(other, keys, "on" if options.right_on is None else "right_on")
    rows = draw_rows(other, keys, _SMALL_ROWS) if local is None else all_here(other, local)
    if rows.is_whole:
        return _on_sample(frame, rows.frame, options, OtherFrame(other, rows))
    right = OtherFrame(other, None)
    if options.plan is not None:
        return _as_given(options.plan, right)
    if options.on is None or options.is_relation_requested:
        raise InvalidParameterError(
            f"`on` must be given where the other frame has more than {_SMALL_ROWS:,} rows or {MOST_BYTES >> 20} "
            "MiB; a relation of keys that are not equal is learned from smaller frames: join samples of both, and pass "
            "their plan as plan="
        )
    few = draw_rows(other.limit(_SAMPLE_ROWS), keys, _SAMPLE_ROWS)
    plain = replace(options, on_no_match="ignore")
    if options.how != "asof" and options.mode not in NEAR_MODES:
        plain = replace(plain, transform=False, fuzzy=False)
    if options.keeps_right_rows and options.aggregate is not None and options.mode not in NEAR_MODES:
        few = _with_keys(few, keys or [], options)
    decided = _on_sample(frame, few.frame, plain, replace(right, rows=few))
    (step,) = decided.plan.steps  # its first rows do not tell whether keys are repeated
    step = replace(step, counted=None, is_unique=None)
    return replace(decided, plan=replace(decided.plan, steps=(step,)), right=right)


def _with_keys(few: RowsHere, keys: Sequence[str], options: JoinOptions) -> RowsHere:
    """Leave out the rows without a key: how many are left out of a result is told of all rows, see `StepRun`."""
    reading = KeyReading(IndexSettings(), options.pad)
    parts = [reading.values(few.table.column(name)) for name in keys if name in few.table.column_names]
    return replace(few, frame=few.frame[KeyIndex.of(parts).codes >= 0]) if parts else few
