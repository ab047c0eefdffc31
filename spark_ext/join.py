"""`auto_join` of Spark DataFrames: what is joined is decided as in pandas, the join itself is Spark's.

The decision reads the whole frame where it is small, else a sample of its rows, and gives a plan, which
`spark_ext.join_steps` carries out with expressions and joins of Spark on all rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import pandas as pd

from dfjoin._validation import check_choice
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.join.auto import join
from dfjoin.join.options import JoinOptions, join_options
from dfjoin.join.plan import JoinPlan
from dfjoin.join.report import JoinReport
from dfjoin.lake import Lake, resolve_lake
from dfjoin.search.candidates import JoinCandidates
from dfjoin.values.frames import frame_to_table, is_pandas, is_spark
from spark_ext.join_steps import Decision, StepRun
from spark_ext.picked_hits import picked, search_again
from spark_ext.search import WHERE
from spark_ext.transfer import collect, to_pandas

__all__ = ["auto_join", "report_of"]

_SAMPLE_ROWS = 100_000
"""Rows of the left frame that a join is decided on: all of a smaller frame."""

_SMALL_ROWS = 1_000_000
_SMALL_BYTES = 64 << 20
"""Rows and bytes as Arrow of a right frame that comes to this process."""

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
    check_choice(where, "where", WHERE)
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
        result = StepRun(frame.sparkSession, step, options, where, decided).run(result)
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


def _decide(frame: Any, other: Any, options: JoinOptions) -> Decision:
    """Decide what is joined: in pandas, on the rows of the frame or a sample of them."""
    if isinstance(other, (Lake, str)) or hasattr(other, "__fspath__"):
        return _on_sample(frame, resolve_lake(other, "other").snapshot, options)
    if isinstance(other, JoinCandidates):
        return _on_sample(frame, other, options)
    if is_spark(other):
        picks = picked(other)
        if picks is not None:
            return _on_sample(frame, search_again(frame, picks), options)
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
        return _as_given(plan)
    raise InvalidTypeError(
        f"`other` must be a Lake or its path, a result of discover_joinable, a DataFrame of Spark or pandas, or a "
        f"JoinPlan, got {type(other).__name__}"
    )


_UNKNOWN: dict[str, Any] = {"rows_in": 0, "rows_out": 0, "how": "", "passed_over": [], "n_passed_over": 0}


def _as_given(plan: JoinPlan | dict[str, Any], **more: Any) -> Decision:
    """Do what a given plan says; nothing was joined to decide it."""
    plan = plan if isinstance(plan, JoinPlan) else JoinPlan.from_dict(plan)
    return Decision(plan, {"joined": [], "plan": plan.to_dict(), **_UNKNOWN}, **more)


def _on_sample(frame: Any, other: Any, options: JoinOptions, **more: Any) -> Decision:
    """Join a sample of the rows in pandas, and keep the plan.

    A given plan is only checked, on none of the rows of a large frame, unless it shall raise where nothing matches.
    """
    is_given = options.plan is not None and options.on_no_match != "raise"
    sample, is_whole = _sample(frame, not is_given)
    report = dict(join(sample, other, options).attrs["dfjoin"])
    if is_given and not is_whole:
        return _as_given(options.plan, **more)
    if not is_whole:
        report["sampled_rows"] = len(sample)
    return Decision(JoinPlan.from_dict(report["plan"]), report, **more)


def _sample(frame: Any, is_drawn: bool) -> tuple[pd.DataFrame, bool]:
    """Return the rows that a join is decided on, and whether they are all; none of a large frame unless `is_drawn`."""
    table = collect(frame.limit(_SAMPLE_ROWS + 1))
    is_whole = table.num_rows <= _SAMPLE_ROWS
    if not is_whole and not is_drawn:
        table = table.slice(0, 0)
    elif not is_whole:
        share = _SAMPLE_ROWS / frame.count()
        table = collect(frame.sample(fraction=min(1.0, share), seed=1).limit(_SAMPLE_ROWS))
    return to_pandas(table), is_whole


def _of_frames(frame: Any, other: Any, options: JoinOptions) -> Decision:
    """Decide how two frames are joined."""
    if is_pandas(other):
        rows = frame_to_table(other.reset_index(drop=True))
        return _on_sample(frame, to_pandas(rows), options, rows=rows)
    rows = collect(other.limit(_SMALL_ROWS + 1))
    if rows.num_rows <= _SMALL_ROWS and rows.nbytes <= _SMALL_BYTES:
        return _on_sample(frame, to_pandas(rows), options, right=other, rows=rows)
    if options.plan is not None:
        return _as_given(options.plan, right=other)
    if options.on is None or options.is_relation_requested:
        raise InvalidParameterError(
            f"`on` must be given where the other frame has more than {_SMALL_ROWS:,} rows or {_SMALL_BYTES >> 20} "
            "MiB; a relation of keys that are not equal is learned from smaller frames: join samples of both, and pass "
            "their plan as plan="
        )
    few = to_pandas(rows.slice(0, _SAMPLE_ROWS))
    plain = replace(options, on_no_match="ignore")
    if options.how != "asof":
        plain = replace(plain, transform=False, fuzzy=False)
    decided = _on_sample(frame, few, plain, right=other)
    (step,) = decided.plan.steps  # its first rows do not tell whether keys are repeated
    return replace(decided, plan=replace(decided.plan, steps=(replace(step, counted=None, is_unique=None),)))
