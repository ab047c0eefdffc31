"""`auto_join`: decide what is joined, by rank and by what the data says, then join it table by table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dfjoin import _validation as check
from dfjoin.errors import (
    InvalidParameterError,
    InvalidTypeError,
    NoMatchError,
    TableChangedError,
    TableReadError,
    shortlist,
    warn,
)
from dfjoin.join.execute import RightSide
from dfjoin.join.frame_join import check_relation_wishes, join_frames
from dfjoin.join.keys import LeftKey, RowKeys
from dfjoin.join.lake_join import read_related
from dfjoin.join.novelty import brings_new
from dfjoin.join.output_names import stem_of
from dfjoin.join.plan import HOWS, JoinPlan, JoinStep, json_label
from dfjoin.join.report import fit
from dfjoin.join.state import JoinState, apply_step
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.discover import check_frame, discover
from dfjoin.search.modes import MODES
from dfjoin.search.params import search_params
from dfjoin.search.query import normalize_key
from dfjoin.store.snapshot import Snapshot, open_snapshot
from dfjoin.store.table import ON_STALE, LakeTable
from dfjoin.values.frames import is_pandas, select_column

__all__ = ["join"]

_BETWEEN = {"transform": None, "fuzzy": None, "precision": 0.95, "examples": None}
"""Arguments that say how two frames may be related, with their defaults."""
_DEFAULTS = {"on": None, "right_on": None, "k": 1, "threshold": 0.5, "mode": "exact", "columns": None,
             "how": "left", "aggregate": "auto", "max_expansion": 10.0, "indicator": False, **_BETWEEN}  # fmt: skip
_MANY_HOWS = ("left", "inner")
_CANDIDATES_READ = 50  # how far down the ranking a lake join looks


def join(df: Any, other: Any, *, on_no_match: str, on_stale: str, **wishes: Any) -> pd.DataFrame:
    """Carry out `dfjoin.auto_join`."""
    check_frame(df)
    wishes = _checked(wishes)
    check.check_choice(on_no_match, "on_no_match", ("warn", "raise", "ignore"))
    check.check_choice(on_stale, "on_stale", ON_STALE)
    state = JoinState(
        df, wishes["how"], wishes["aggregate"], wishes["max_expansion"], wishes["indicator"], on_stale, len(df)
    )
    index = ""
    if isinstance(other, JoinCandidates):
        _refuse(wishes, "a search result", ("on", "right_on", "k", "threshold", "mode", *_BETWEEN))
        index = str(other.context.snapshot.path)
        _join_candidates(state, other, wishes)
    elif is_pandas(other):
        _refuse(wishes, "a DataFrame", ("k", "mode"))
        join_frames(state, other, wishes)
    elif isinstance(other, (JoinPlan, dict)):
        _refuse(wishes, "a plan", tuple(_DEFAULTS))
        plan = other if isinstance(other, JoinPlan) else JoinPlan.from_dict(other)
        state = replace(
            state, how=plan.how, max_expansion=plan.max_expansion, indicator=plan.indicator, joined=[], steps=[]
        )
        index = plan.index
        _join_plan(state, plan)
    elif isinstance(other, Snapshot):
        _refuse(wishes, "a lake", ("right_on", *_BETWEEN))
        index = str(other.path)
        _join_lake(state, other, wishes)
    else:
        raise InvalidTypeError(
            f"`other` must be a Lake or its path, a result of discover_joinable, a DataFrame or a JoinPlan, "
            f"got {type(other).__name__}"
        )
    return _finish(df, state, index, on_no_match)


def _checked(wishes: dict[str, Any]) -> dict[str, Any]:
    """Check the arguments that do not depend on what is joined."""
    check.check_choice(wishes["mode"], "mode", MODES)
    check.check_choice(wishes["how"], "how", HOWS)
    wishes["k"] = check.check_positive_int(wishes["k"], "k")
    wishes["threshold"] = check.check_fraction(wishes["threshold"], "threshold")
    check.check_choice(wishes["indicator"], "indicator", (True, False))
    check_relation_wishes(wishes)
    expansion = wishes["max_expansion"]
    if isinstance(expansion, bool) or not isinstance(expansion, (int, float)) or not 1 <= expansion < np.inf:
        raise InvalidParameterError(f"`max_expansion` must be a number of at least 1, got {expansion!r}")
    wishes["max_expansion"] = float(expansion)
    if wishes["columns"] is not None:
        wishes["columns"] = list(check.check_patterns(wishes["columns"], "columns"))
    if wishes["k"] > 1 and wishes["how"] not in _MANY_HOWS:
        raise InvalidParameterError(
            f'`how` must be "left" or "inner" when several tables are joined (k={wishes["k"]}), got {wishes["how"]!r}'
        )
    return wishes


def _refuse(wishes: dict[str, Any], what: str, names: tuple[str, ...]) -> None:
    """Raise when an argument was given that means nothing for this kind of `other`."""
    for name in names:
        if wishes[name] != _DEFAULTS[name]:
            raise InvalidParameterError(
                f"`{name}` does not apply when `other` is {what}, got {wishes[name]!r}; leave it out"
            )


# Over a lake ------------------------------------------------------------------------------------------


def _join_lake(state: JoinState, snapshot: Snapshot, wishes: dict[str, Any]) -> None:
    """Join the best acceptable tables of a lake."""
    limit = max(_CANDIDATES_READ, 10 * wishes["k"])
    on = wishes["on"]
    hits = discover(state.frame, on, snapshot, search_params(mode=wishes["mode"], k=limit))
    if on is None or (isinstance(on, str) and on == "*" and "*" not in state.frame.columns):
        hits = _choose_key(state, hits, wishes)
    _join_best(state, hits, wishes, wishes["k"])


def _choose_key(state: JoinState, hits: JoinCandidates, wishes: dict[str, Any]) -> JoinCandidates:
    """Keep the hits of the query column whose first acceptable candidate is the best."""
    scores: dict[str, tuple[float, int]] = {}
    for name, group in hits.groupby("query_column", sort=False):
        trial = replace(state, joined=[], steps=[], passed_over=[])
        _join_best(trial, group, wishes, 1)
        if trial.joined:
            scores[str(name)] = (trial.joined[0]["containment"], trial.joined[0]["matched"])
    if not scores:
        return hits.iloc[:0] if len(hits) == 0 else hits
    best = max(scores.values())
    winners = [name for name, score in scores.items() if score == best]
    if len(winners) > 1:
        raise InvalidParameterError(
            f"`on` must be given: the columns {shortlist(winners)} join equally well "
            f"(containment {best[0]:.3f}, {best[1]:,} values); pass on={winners[0]!r}, for example"
        )
    return hits[hits["query_column"] == winners[0]]


def _join_best(state: JoinState, hits: JoinCandidates, wishes: dict[str, Any], k: int) -> None:
    """Go down the ranking and join the first `k` tables that pass every test."""
    settled: set[str] = set()
    for row in hits.itertuples(index=False):
        if len(state.joined) >= k:
            return
        if row.table in settled:
            continue
        if row.containment < wishes["threshold"]:
            reason = f"containment {row.containment:.3f} is below the threshold {wishes['threshold']:g}"
            state.pass_over(row.table, row.column, reason)
            continue
        if row.accidental:
            state.pass_over(row.table, row.column, "accidental: integers whose ranges explain the overlap")
            continue
        reason = _try_table(state, hits, row, wishes, must_be_new=True)
        settled.add(row.table)
        if reason:
            state.pass_over(row.table, row.column, reason)


def _join_candidates(state: JoinState, hits: JoinCandidates, wishes: dict[str, Any]) -> None:
    """Join the candidates that the user picked, as picked."""
    if len(hits) > 1 and state.how not in _MANY_HOWS:
        raise InvalidParameterError(
            f'`how` must be "left" or "inner" when several tables are joined, got {state.how!r} and '
            f"{len(hits)} candidates"
        )
    for row in hits.itertuples(index=False):
        _try_table(state, hits, row, wishes, must_be_new=False)


def _try_table(state: JoinState, hits: JoinCandidates, row: Any, wishes: dict[str, Any], must_be_new: bool) -> str:
    """Join one candidate; return why not, when it does not pass.

    A candidate that the user picked has to pass the file check only, and fails loudly.
    """
    context = hits.context
    query = context.queries[row.query_column]
    try:
        table = LakeTable(context.snapshot, row.table, state.on_stale)
    except (TableChangedError, InvalidParameterError) as error:  # changed, or a table of Spark's
        if not must_be_new:
            raise
        return str(error)
    columns = wishes["columns"]
    if columns is not None and must_be_new:
        columns = [c for c in columns if c in table.column_names and c != row.column]
        if not columns:
            return f"it has none of the columns {shortlist(wishes['columns'])}"
    aggregate = wishes["aggregate"]
    if isinstance(aggregate, dict):  # a rule may be meant for another of the tables
        aggregate = {name: rule for name, rule in aggregate.items() if name in table.column_names}
    join = context.joins.get((row.query_column, row.table, row.column))
    relation = None if join is None else {key: value for key, value in join.to_dict().items() if key != "tried"}
    step = JoinStep([query.label], row.table, [row.column], columns, {}, aggregate, query.pad, query.dayfirst, relation)
    try:
        left, right = _read(state, table, step)
    except TableReadError as error:
        if not must_be_new:
            raise TableReadError(f"the table `{row.table}` cannot be read: {error}") from error
        return f"it cannot be read: {error}"
    if must_be_new and right.frame.shape[1] == 0:
        return "it has no other columns"
    if must_be_new and not brings_new(state.frame, left.codes, right.frame, right.codes, context.snapshot.settings):
        return "it brings nothing new: every column of it is in the frame already"
    _apply(state, step, left, right)
    return ""


def _read(state: JoinState, table: LakeTable, step: JoinStep) -> tuple[LeftKey | RowKeys, RightSide]:
    """Read what joins of a table of the lake, by equal keys or by programs."""
    if step.relation is None:
        return _read_side(state, table, step)
    return read_related(state.frame, table, step, state.how)


def _apply(state: JoinState, step: JoinStep, left: LeftKey | RowKeys, right: RightSide) -> None:
    """Join what was read of a table of the lake."""
    if step.relation is None:
        apply_step(state, step, left, right)
    else:
        apply_step(state, step, left, right, [], {"transform": step.relation})


def _read_side(state: JoinState, table: LakeTable, step: JoinStep) -> tuple[LeftKey, RightSide]:
    """Read a table of the lake, keeping the rows whose key the frame has (all, for right and outer)."""
    parts = [
        normalize_key(select_column(state.frame, label, "on"), table.settings, step.pad, step.dayfirst)[0]
        for label in step.on
    ]
    left = LeftKey(parts)
    table.check_columns(step.right_on)
    brought = [c for c in table.column_names if c not in step.right_on] if step.columns is None else step.columns
    table.check_columns(brought)
    brought = [c for c in brought if c not in step.right_on]
    wanted = [*step.right_on, *brought]
    settings = [table.key_settings(c) for c in step.right_on]
    n_key = len(step.right_on)
    keeps_all = state.how in ("right", "outer")
    kept: list[pa.RecordBatch] = []
    codes: list[Any] = [np.empty(0, np.int64)]
    for batch in table.batches(wanted):
        if keeps_all:
            kept.append(batch)
            continue
        found = left.match(batch.columns[:n_key], settings)
        rows = np.flatnonzero(found >= 0)
        if rows.size:
            kept.append(batch if rows.size == found.size else batch.take(pa.array(rows)))
            codes.append(found[rows])
    n_keys = left.n_keys
    if keeps_all and kept:
        keys = [pa.chunked_array([b.column(i) for b in kept]) for i in range(n_key)]
        everything, n_keys = left.match_all(keys, settings)
        codes = [everything]
    frame = table.to_frame(kept, wanted)
    side = RightSide(frame[brought], frame[step.right_on], np.concatenate(codes), n_keys, stem_of(table.name))
    return left, side


# A plan, once more --------------------------------------------------------------------------------------


def _known_label(df: pd.DataFrame, label: Any) -> Any:
    """Return the column label that JSON has turned into `label`."""
    return next((own for own in df.columns if json_label(own) == label), label)


def _join_plan(state: JoinState, plan: JoinPlan) -> None:
    """Carry out a plan on a frame that has its key columns."""
    if not plan.index and plan.steps:
        raise InvalidParameterError(
            "`other` is a plan made with a frame, which does not hold that frame; pass the frame itself with "
            f"on={plan.steps[0].on!r}, right_on={plan.steps[0].right_on!r}"
        )
    snapshot = open_snapshot(plan.index) if plan.steps else None
    for step in plan.steps:
        table = LakeTable(snapshot, step.table, state.on_stale)  # type: ignore[arg-type]
        step = replace(step, on=[_known_label(state.frame, label) for label in step.on])
        left, right = _read(state, table, step)
        state.aggregate = step.aggregate
        _apply(state, step, left, right)


# What all have in common ---------------------------------------------------------------------------------


def _finish(df: pd.DataFrame, state: JoinState, index: str, on_no_match: str) -> pd.DataFrame:
    """Attach the report; say so when nothing was joined."""
    plan = JoinPlan(tuple(state.steps), state.how, index, state.max_expansion, state.indicator)
    result = state.frame.copy() if state.frame is df else state.frame
    report = {
        "rows_in": state.rows_in,
        "rows_out": len(result),
        "how": state.how,
        "joined": state.joined,
        "n_passed_over": len(state.passed_over),
        "passed_over": state.passed_over[:50],
        "plan": plan.to_dict(),
    }
    result.attrs = {**df.attrs, "dfjoin": fit(report)}
    if not state.joined:
        text = _no_match_text(state)
        if on_no_match == "raise":
            raise NoMatchError(text + '; pass on_no_match="ignore" to get the frame unchanged')
        if on_no_match == "warn":
            warn(text + "; the frame is unchanged, dfjoin.report(result) lists what was passed over")
    return result


def _no_match_text(state: JoinState) -> str:
    if not state.passed_over:
        return "no candidate shares a value with the frame"
    first = state.passed_over[0]
    return (
        f"no acceptable candidate among {len(state.passed_over)}; the first, {first['table'] or 'the other frame'} "
        f"column {first['column']!r}: {first['reason']}"
    )
