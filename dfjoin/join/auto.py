"""`auto_join`: find what the other side is, decide what is joined, join it, and report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from dfjoin._validation import show
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, NoMatchError, shortlist, warn
from dfjoin.frames.given_frame import given_frame, is_frame
from dfjoin.join.asof_join import asof_options
from dfjoin.join.frame_join import NEAR_MODES, join_frame_again, join_frames
from dfjoin.join.lakes.lake_join import join_candidates, join_lake, join_plan
from dfjoin.join.options import RELATION_OPTIONS, JoinOptions, refuse_options
from dfjoin.join.plan import JoinPlan, distance_relation
from dfjoin.join.relation.frame_relation import texts_of
from dfjoin.join.rows.report import JoinAccount, columns_text, report_values
from dfjoin.search.candidates import JoinCandidates, unknown_tables
from dfjoin.search.discover import check_frame
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.frames import is_pandas, is_spark, with_levels

_READING_OPTIONS = ("pad", "dayfirst")

_NOT_OF_PICKS = (
    *("on", "right_on", "k", "threshold", "min_score", "tables", "exclude", "mode", "radius", "radius_unit"),
    *("metric", "aliases"),
)

_OF_DISTANCES = ("mode", "radius", "radius_unit", "metric", "partners", "min_margin")

_OF_LAKES = ("k", "min_score", "tables", "exclude", *_OF_DISTANCES)

_LEARNED = tuple(name for name in RELATION_OPTIONS if name != "precision")
"""Those that do not apply where keys are near each other: no program is learned."""

_NOT_OF_PLANS = (
    *_NOT_OF_PICKS,
    "partners",
    "min_margin",
    "columns",
    "how",
    "aggregate",
    "max_expansion",
    "indicator",
)


def join(df: Any, other: Any, options: JoinOptions) -> Any:
    """Carry out `dfjoin.auto_join`; a lake is given as its snapshot.

    Frames of other libraries come in as pandas frames that hold their Arrow columns, and what is joined goes out as the
    kind that `df` is. To a frame of pandas another one is joined as one of pandas. Named levels of the index of one
    of pandas are columns where keys are sought; what is joined has the index again.
    """
    own = given_frame(df)
    theirs = None if isinstance(other, Snapshot) else given_frame(other, "other")
    if theirs is None and is_pandas(other):
        other = with_levels(other)
    if own is None:
        held = with_levels(df) if is_pandas(df) else df
        result, _ = join_held(held, other if theirs is None else theirs.to_pandas(), options)
        return result if held is df else _with_index(result, df, list(held.columns[: held.shape[1] - df.shape[1]]))
    options = replace(options, holds_arrow=True, ignores_case=own.ignores_case)
    result, account = join_held(own.frame, other if theirs is None else theirs.frame, options)
    names = {} if theirs is None else {name: column for step in account.steps for column, name in step.names.items()}
    return own.rebuild(result, {name: theirs.column(column) for name, column in names.items() if theirs is not None})


def _with_index(result: pd.DataFrame, df: pd.DataFrame, levels: list[Any]) -> pd.DataFrame:
    """Take the columns that are levels of the index out again.

    They become the index where rows of the other side have made a new one.
    """
    if result.index.names == df.index.names:
        return result.drop(columns=levels)
    names = [label[0] if result.columns.nlevels > 1 else label for label in levels]
    return result.set_index(levels).rename_axis(index=names)


def join_held(df: pd.DataFrame, other: Any, options: JoinOptions) -> tuple[pd.DataFrame, JoinAccount]:
    """Join a frame of pandas, or one that holds Arrow columns; return the result and the account of it."""
    check_frame(df)
    index = ""
    if not is_pandas(other):
        _check_names(options)
    if not is_pandas(other) and not isinstance(other, Snapshot):
        refuse_options(options, "no DataFrame and no lake", ("plan",))
    if options.how == "asof" and isinstance(other, (JoinCandidates, Snapshot)):
        is_picked = isinstance(other, JoinCandidates)
        options = asof_options(df, options, is_picked=is_picked)
    if isinstance(other, JoinCandidates):
        learned = _LEARNED if other.context.params.mode in NEAR_MODES else RELATION_OPTIONS
        refuse_options(options, "a search result", (*_NOT_OF_PICKS, *learned, *_READING_OPTIONS))
        index = str(other.context.snapshot.path)
        account = join_candidates(df, other, options)
    elif is_pandas(other) and options.plan is not None:
        refuse_options(options, "joined by a plan", (*_NOT_OF_PLANS, *RELATION_OPTIONS, *_READING_OPTIONS))
        plan = options.plan if isinstance(options.plan, JoinPlan) else _plan_of(options.plan)
        options = replace(options, how=plan.how, max_expansion=plan.max_expansion, indicator=plan.indicator)
        account = join_frame_again(df, other, plan, options)
    elif is_pandas(other):
        is_near = options.mode in NEAR_MODES
        of_lakes = [name for name in _OF_LAKES if not (is_near and name in _OF_DISTANCES)]
        refuse_options(options, "a DataFrame", of_lakes)
        _refuse_lost_hits(other, options)
        if is_near:
            refuse_options(options, f"a DataFrame and mode={options.mode!r}", (*_LEARNED, "aliases"))
            if options.how == "asof":
                raise InvalidParameterError(
                    f"`how` must not be 'asof' with mode={options.mode!r} and another frame, which is joined by "
                    "distance or by dates; leave one of them out"
                )
        account = join_frames(df, other, options)
    elif isinstance(other, (JoinPlan, dict)) or options.plan is not None:
        lake, plan = (other, options.plan) if isinstance(other, Snapshot) else (None, other)
        plan = plan if isinstance(plan, JoinPlan) else _plan_of(plan)
        refuse_options(options, "a plan", (*_NOT_OF_PLANS, *RELATION_OPTIONS, *_READING_OPTIONS))
        index = plan.index if lake is None else str(lake.path)
        options = replace(options, how=plan.how, max_expansion=plan.max_expansion, indicator=plan.indicator)
        account = join_plan(df, plan, options, lake)
    elif isinstance(other, Snapshot):
        learned = _LEARNED if options.mode in NEAR_MODES else RELATION_OPTIONS
        refuse_options(options, "a lake", ("right_on", *learned))
        index = str(other.path)
        account = join_lake(df, other, options)
    elif is_spark(other):
        raise InvalidTypeError(
            "`other` is a Spark DataFrame, and `df` one of pandas; call the method of one of Spark, as in "
            "spark.createDataFrame(df).auto_join(other), or bring the other one here, as in "
            "df.auto_join(other.toPandas())"
        )
    else:
        raise InvalidTypeError(
            f"`other` must be a Lake or its path, a result of discover_joinable, a DataFrame or a JoinPlan, "
            f"got {_what_came(other)}"
        )
    if index and isinstance(options.aggregate, dict) and account.steps:
        _refuse_unused_rules(account, options.aggregate)
    _warn_of_many_to_many(account)
    how = "left" if options.how == "asof" else options.how  # the step says that it goes by dates
    plan = JoinPlan(account.steps, how, index, options.max_expansion, options.indicator)
    return _finish(df, account, plan, options, other), account


def _refuse_lost_hits(other: pd.DataFrame, options: JoinOptions) -> None:
    """Raise where a search result has lost its lake, as by a file: its rows are no data, unless its key is named."""
    on = options.on if options.right_on is None else options.right_on
    keys = on if isinstance(on, list) else [on]
    if {"query_column", "table", "column", "matched"} <= set(other.columns) and not set(keys) <= set(other.columns):
        raise InvalidParameterError(
            "`other` has the columns of a result of discover_joinable, but no link to the lake (it went through a file "
            "or became a plain frame); search again and pick rows of the result, or join the lake and name `on` and "
            "`tables`; where it is meant as data, name its key by `right_on`"
        )


def _nothing_text(other: Any, options: JoinOptions) -> str:
    """Say what it means that nothing is joined and nothing was passed over."""
    if isinstance(other, JoinCandidates):
        why = other.why_empty()
        return f"the search result has no row{f' ({why})' if why else ''}"
    if is_pandas(other) and options.plan is None and options.is_relation_allowed:
        return "no columns of the two frames share a value, and no program or likeness relates any"
    return "no candidate shares a value with the frame"


def _check_names(options: JoinOptions) -> None:
    """Raise unless the columns to bring are named by text, as columns of a lake are."""
    for label in options.columns or ():
        if not isinstance(label, str):
            raise InvalidTypeError(
                f"`columns` must name columns of the lake, which are text, got {label!r}; write it as {str(label)!r}"
            )


def _refuse_unused_rules(account: JoinAccount, rules: dict[Any, str]) -> None:
    """Raise when rules are for columns that none of the joined tables has: they are misspelled, and do nothing."""
    used = {name for step in account.steps if isinstance(step.aggregate, dict) for name in step.aggregate}
    unused = [name for name in rules if name not in used]
    if unused:
        tables = ", ".join(repr(step.table) for step in account.steps[:3])
        columns = [name for step in account.steps for name in step.names]
        raise ColumnNotFoundError(
            f"`aggregate` must name columns of the joined tables ({tables}: {shortlist(columns)}), got "
            f"{show(unused[0])}; check the spelling, or pick the table that you mean with discover_joinable"
        )


def _what_came(other: object) -> str:
    """Name what is none of the things that can be joined, and what to write for a row or a column of one."""
    if not isinstance(other, pd.Series):
        return type(other).__name__
    if {"query_column", "table", "column"} <= set(other.index):
        return "a row of a result; pick it as a frame: hits.iloc[[0]] in the place of hits.iloc[0]"
    return "a Series; make it a frame with its key: series.reset_index()"


def _warn_of_many_to_many(account: JoinAccount) -> None:
    """Warn of joins of rows that the key tells apart on neither side; keys within a distance are asked for as such."""
    for step in account.joined:
        relation = step.get("relation", {})
        if step["relationship"] == "m:m" and distance_relation(relation) is None:
            dated = relation.get("dated", {"on": step["on"][0], "right_on": []})
            is_learned = not {"transform", "fuzzy"}.isdisjoint(relation)
            why = "rows have several partners" if is_learned else "keys stand in several rows"
            sides = [*step["on"], dated["on"]], [*step["right_on"], *dated["right_on"]]
            on, right_on = (" + ".join(dict.fromkeys(map(str, side))) for side in sides)
            warn(
                f"the join with {step['table'] or 'the other frame'} on {on} = {right_on} is m:m: {why} "
                "on both sides, so that rows meet which may have nothing to do with each other; join on a "
                "key that one side has once, for example with more columns"
            )


def _plan_of(values: dict[str, Any]) -> JoinPlan:
    """Make a plan of its dict; a dict of frames is none."""
    frames = [name for name, value in values.items() if is_pandas(value) or is_spark(value) or is_frame(value)]
    if frames:
        raise InvalidTypeError(
            f"`other` must be one frame, a lake, picked candidates or a plan, got a dict of frames; pass the frame "
            f"itself (df.auto_join(frames[{show(frames[0])}])), or make a lake of them with "
            'dfjoin.build_lake(frames, index, engine="inline") and join that'
        )
    return JoinPlan.from_dict(values)


def _finish(df: pd.DataFrame, account: JoinAccount, plan: JoinPlan, options: JoinOptions, other: Any) -> pd.DataFrame:
    """Attach the report; say so when nothing was joined."""
    joined = account.left.frame
    result = joined.copy() if joined is df else joined
    if is_pandas(other) and df.columns.nlevels == other.columns.nlevels == 1:
        _restore_labels(result, df.shape[1], account, other)
    result.attrs = {**df.attrs, "dfjoin": report_values(df, account, plan)}
    if not account.joined:
        text = _no_match_text(account, other, options)
        if isinstance(other, Snapshot) and options.as_of is not None and options.on == options.as_of:
            text += (
                "; a lake is searched by equal dates, so pass a table of other dates as a frame, as in "
                'df.auto_join(lake.table(name), on="day", right_on="valid_from", how="asof")'
            )
        if options.on_no_match == "raise":
            raise NoMatchError(text + '; pass on_no_match="ignore" to get the frame unchanged')
        if options.on_no_match == "warn":
            listed = ", dfjoin.report(result) lists what was passed over" if account.passed_over else ""
            warn(f"{text}; the frame is unchanged{listed}")
    elif not plan.index and len(df) and not any(step["rows_matched"] for step in account.joined):
        text = _no_match_text(account, other, options)
        if options.on_no_match == "raise":
            raise NoMatchError(text + '; pass on_no_match="ignore" to get the columns without values')
        if options.on_no_match == "warn":
            remedy = "pass a larger `radius`" if options.mode in NEAR_MODES else "leave `on` out"
            warn(f"{text}; name other keys, or {remedy}")
    return result


def _restore_labels(result: pd.DataFrame, n_own: int, account: JoinAccount, other: pd.DataFrame) -> None:
    """Give new columns the labels of the other frame that are no text, as years are, where their texts were free."""
    if all(isinstance(label, str) for label in other.columns):
        return
    kept = {name for step in account.steps for column, name in step.names.items() if name == column}
    labels = {text: label for label, text in texts_of(other).items() if text in kept and not isinstance(label, str)}
    new = [labels.get(name, name) for name in result.columns[n_own:]]
    result.columns = pd.Index([*result.columns[:n_own], *new], dtype=object, tupleize_cols=False)


def _no_match_text(account: JoinAccount, other: Any, options: JoinOptions) -> str:
    """Say why nothing was joined, or nothing found a partner."""
    if account.joined:
        step = account.joined[0]
        on, right_on = (" + ".join(map(str, step[side])) for side in ("on", "right_on"))
        tried = [passed["reason"] for passed in account.passed_over if not passed["column"]]
        also = f", and no relation of them was found ({tried[0]})" if tried else ""
        return f"no row found a partner on {on} = {right_on}{also}"
    unknown = unknown_tables(other, options.tables or ()) if isinstance(other, Snapshot) else ""
    if unknown or not account.passed_over:
        return unknown or _nothing_text(other, options)
    n_passed, first = len(account.passed_over), account.passed_over[0]
    ordinal = "the first"
    if is_pandas(other):
        same = {f"{name} = {name}" for name in account.left.frame.columns if name in other.columns}
        named = [
            one for one in account.passed_over if not same.isdisjoint((one["column"], one["reason"].split(": ")[0]))
        ]
        first, ordinal = (named[0], "that of equal names") if named else (first, ordinal)
    if all(not passed["column"] for passed in account.passed_over):
        if not is_pandas(other):
            nothing = "no column that can be a key shares a value with a candidate"
            return f"{nothing}; passed over: {n_passed}, the first: {first['reason']}"
        return (
            "no columns of the two frames share enough values, and none of the relations that were tried was accepted "
            f"({n_passed}); {ordinal}: {first['reason']}"
        )
    return f"no acceptable candidate among {n_passed}; {ordinal}, {columns_text(first)}: {first['reason']}"
