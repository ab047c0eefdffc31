"""Joining two frames: by equal keys, or by a relation that is learned where keys are not equal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, shortlist, warn
from dfjoin.join.aggregate import object_kind
from dfjoin.join.asof_join import join_frames_asof
from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import JoinOptions
from dfjoin.join.plan import JoinPlan, JoinStep, SavedRelation, distance_relation, json_label
from dfjoin.join.relation.break_ties import break_ties
from dfjoin.join.relation.choose_key import choose_equal_keys, choose_key_of_one_value, reason_against_padded
from dfjoin.join.relation.frame_relation import (
    KeyLabels,
    are_enough,
    choose_relation,
    find_lost_zeros,
    named_keys,
    reason_against_relation,
    text_columns,
    texts_of,
)
from dfjoin.join.relation.key_relation import KINDS, Relation
from dfjoin.join.relation.period_keys import (
    PeriodKeys,
    find_entity_and_period,
    find_period_keys,
    is_in_doubt,
    parts_by_period,
)
from dfjoin.join.relation.relate import relate_again
from dfjoin.join.rows.dated_rows import is_of_dates_alone
from dfjoin.join.rows.execute import match_marks
from dfjoin.join.rows.report import JoinAccount
from dfjoin.join.rows.right_side import FrameFacts, RightSide
from dfjoin.search.distance.distance_join import DistanceRelation, PairedKeys, with_partners, with_precision
from dfjoin.search.embedding.axes_join import AxesRelation, point_radius
from dfjoin.search.embedding.axes_query import check_points, is_numeric, read_points
from dfjoin.search.embedding.near_join import NearRelation, ngrams_of_frames
from dfjoin.search.embedding.near_search import NGRAM_RADIUS, vector_radius, with_radius
from dfjoin.search.fuzzy.similar_join import SimilarRelation
from dfjoin.search.fuzzy.similar_texts import spelling_radius
from dfjoin.search.params import search_params
from dfjoin.types import IndexSettings
from dfjoin.values.frames import column_position, name_columns_of, select_column
from dfjoin.values.key_index import KeyIndex, expand_pairs
from dfjoin.values.shares import NEARLY_EVERY

_SETTINGS = IndexSettings()
_CLEARLY_LESS = 0.8
"""Share of the rows that a plan explained, below which it explains clearly less."""


def join_frames(df: pd.DataFrame, other: pd.DataFrame, options: JoinOptions) -> JoinAccount:
    """Join another frame, on given keys or on those that relate it best.

    First the keys are decided on, from the columns alone; then the frames are joined, once.
    """
    _check_other(other)
    settings = replace(_SETTINGS, dayfirst=options.dayfirst)
    left, right = KeyColumns(df, settings, pad=options.pad), KeyColumns(other, settings, "right_on", options.pad)
    if options.how == "asof":
        return join_frames_asof(left, right, texts_of(other), options)
    account = JoinAccount(left)
    if options.mode in NEAR_MODES:
        labels, right_labels, near = near_keys(left, right, options)
        return _join_near(account, right, (labels, right_labels), near, options)
    named = named_keys(df, other, options)
    equal = named if named is not None and len(named[0]) == len(named[1]) else None
    no_keys: list[tuple[Any, Any]] = []
    if named is None and not options.is_relation_requested:
        equal, passed, no_keys = choose_equal_keys(left, right, options.threshold)
        for columns, reason in passed:
            account = account.pass_over("", columns, reason)
    is_allowed = options.is_relation_allowed
    if equal is not None and len(equal[0]) > 1:
        is_allowed = options.is_relation_requested  # a composite key is meant whole, and a program may read a part
    dated = _find_period_keys(left, right, equal, None if named is not None else no_keys, options)
    if dated is not None:
        return _join_equal(account, right, dated.labels, options, period=dated.period)
    if (
        options.pad is None
        and not options.is_relation_requested
        and (named is None if equal is None else len(equal[0]) == 1)
    ):
        keys, lost = find_lost_zeros(left, right, equal, options.threshold)
        if lost.width:
            own, theirs = KeyColumns(df, settings, pad=lost.width), KeyColumns(other, settings, "right_on", lost.width)
            reason = reason_against_padded(own, theirs, keys) if equal is None else ""
            if not reason:
                return _join_equal(replace(account, left=own), theirs, keys, replace(options, pad=lost.width))
            zeros = f"{keys[0][0]} = {keys[1][0]}, with zeros up to {lost.width} digits"
            account, no_keys = account.pass_over("", zeros, reason), [*no_keys, (keys[0][0], keys[1][0])]
    relation, tried = choose_relation(left, right, named, equal, options) if is_allowed else (None, [])
    if is_allowed and named is not None and equal is not None and len(equal[0]) == 1:
        dated = _find_named_periods(left, right, equal, relation, options)
        if dated is not None:
            return _join_equal(account, right, dated.labels, options, period=dated.period)
    if relation is not None and named is None:
        reason = reason_against_relation(relation, left, right, no_keys)
        relation, tried = (None, [*tried, reason]) if reason else (relation, tried)
    for reason in tried:
        account = account.pass_over("", "", reason)
    if relation is not None:
        if named is None:
            relation = break_ties(relation, left, right)
        if options.reviewed is not None:
            relation = _reviewed(relation, options.reviewed)
        return _join_related(account, right, relation, options)
    if options.reviewed is not None:
        warn("`reviewed` pairs are of keys that programs or similarity relate, and there is no such relation here")
    if named is None and equal is None and not options.is_relation_requested:
        equal, passed, _ = choose_key_of_one_value(left, right, options.threshold)
        for columns, reason in passed:
            account = account.pass_over("", columns, reason)
    return account if equal is None else _join_equal(account, right, equal, options)


def _find_period_keys(
    left: KeyColumns,
    right: KeyColumns,
    equal: KeyLabels | None,
    repeated: Sequence[tuple[Any, Any]] | None,
    options: JoinOptions,
) -> PeriodKeys | None:
    """Look for a key with a date in it, where equality of named columns is not enough, or no column is a key.

    `repeated` are the pairs of columns that are no key; None where the caller named the columns.
    """
    if options.is_relation_requested or options.keeps_right_rows or options.pad is not None:
        return None
    if repeated is None:
        if equal is None or len(equal[0]) == 1:
            return None
        return find_period_keys(left, right, equal, options.threshold)
    if equal is not None:
        is_key = len(equal[0]) > 1 or any(
            side.query(side.position(labels[0])).is_unique for side, labels in zip((left, right), equal, strict=True)
        )
        repeated = [] if is_key else [(equal[0][0], equal[1][0])]
    return find_entity_and_period(left, right, repeated, options.threshold) if repeated else None


def _find_named_periods(
    left: KeyColumns, right: KeyColumns, equal: KeyLabels, relation: Relation | None, options: JoinOptions
) -> PeriodKeys | None:
    """Look for periods in which dates of one named column lie, where equality or programs relate some of them only.

    Programs read what they were learned from: of dates in several spellings, those of one.
    """
    if options.is_relation_requested or options.keeps_right_rows or options.pad is not None:
        return None
    if relation is None and are_enough(left, right, equal, True, options):
        return None
    n_joined, n_rows = (0, 1) if relation is None else relation.explained_on_the_left()
    if n_joined >= NEARLY_EVERY * n_rows:
        return None
    dated = find_period_keys(left, right, equal, options.threshold)
    if dated is None or n_joined >= NEARLY_EVERY * dated.share * n_rows:
        return None
    return None if is_in_doubt(left, right, dated) else dated


def _reviewed(relation: Relation, reviewed: Sequence[tuple[str, str, bool]]) -> Relation:
    """Apply what a person said of pairs of a relation."""
    if len(relation.left_columns) != 1 or len(relation.right_columns) != 1 or relation.elements is not None:
        raise InvalidParameterError(
            f"`reviewed` needs keys of one column each, got {' + '.join(relation.left_columns)} = "
            f"{' + '.join(relation.right_columns)}; name one column of either frame, or leave `reviewed` out"
        )
    return relation.with_reviewed(reviewed)


def join_frame_again(df: pd.DataFrame, other: pd.DataFrame, plan: JoinPlan, options: JoinOptions) -> JoinAccount:
    """Join a frame as a plan says that was made with two frames: by equal keys or by the same relation."""
    if plan.index or len(plan.steps) != 1:
        raise InvalidParameterError(
            "`plan` must be one that auto_join made of two frames, got "
            + (f"one of the lake {plan.index!r}; pass it as `other`" if plan.index else f"{len(plan.steps)} steps")
        )
    _check_other(other)
    (step,) = plan.steps
    settings = replace(_SETTINGS, dayfirst=step.dayfirst)
    left, right = KeyColumns(df, settings, pad=step.pad), KeyColumns(other, settings, "other", step.pad)
    account = JoinAccount(left)
    labels = [_label_of(df, label) for label in step.on]
    by_text = {text: label for label, text in texts_of(other).items()}
    dates = [] if step.dated is None else step.dated["right_on"]
    missing = [name for name in [*step.right_on, *dates, *(step.columns or ())] if name not in by_text]
    if missing:
        raise ColumnNotFoundError(
            f"`other` must have the columns that the plan joins; it has {shortlist(by_text)}, not {show(missing[0])}"
        )
    columns = None if step.columns is None else tuple(by_text[name] for name in step.columns)
    aggregate = step.aggregate
    if isinstance(aggregate, dict):
        aggregate = {by_text.get(name, name): rule for name, rule in aggregate.items()}
    options = replace(options, columns=columns, aggregate=aggregate, pad=step.pad, dayfirst=step.dayfirst)
    if step.dated is not None:
        is_key = not is_of_dates_alone(step)
        on = [*(labels if is_key else ()), _label_of(df, step.dated["on"])]
        right_on = [by_text[name] for name in (*(step.right_on if is_key else ()), *step.dated["right_on"])]
        return join_frames_asof(left, right, texts_of(other), replace(options, on=on, right_on=right_on), step)
    if step.relation is None:
        right_labels = [by_text[name] for name in step.right_on]
        return _join_equal(account, right, (labels, right_labels), options, step, step.period)
    near = distance_relation(step.relation)
    if near is not None:
        return _join_near(account, right, (labels, [by_text[name] for name in step.right_on]), near, options, step)
    saved = SavedRelation.from_dict(step.relation)
    own, theirs = saved.columns
    sides = text_columns(left, texts_of(df), own), text_columns(right, texts_of(other), theirs)
    for names, table, what in zip(saved.columns, sides, ("`df`", "`other`"), strict=True):
        lost = [name for name in names if name not in table]
        if lost:
            raise ColumnNotFoundError(
                f"{what} must have a column {show(lost[0])} with values that have a text, which the plan relates"
            )
    relation, reason = relate_again(saved, *sides)
    if reason:
        account = account.pass_over("", "", reason)
    return _join_related(account, right, relation, options, step)


def _label_of(df: pd.DataFrame, label: Any) -> Any:
    """Return the label of a column that JSON has turned into `label`; raises if there is none."""
    own = next((own for own in df.columns if json_label(own) == label), label)
    column_position(df, own, "on")
    return own


def _check_other(other: pd.DataFrame) -> None:
    """Raise unless the columns of the other frame can be distinguished by their names."""
    if other.columns.duplicated().any():
        raise InvalidParameterError(
            f"`other` has columns of the same name ({shortlist(other.columns[other.columns.duplicated()])}); "
            "rename them"
        )


def _new_labels(other: pd.DataFrame, options: JoinOptions, left_out: list[Any]) -> list[Any]:
    """Return the columns of the other frame that the result gets."""
    if options.columns is None:
        return [label for label in other.columns if label not in left_out]
    for label in options.columns:
        column_position(other, label, "columns")
    return [label for label in other.columns if label in options.columns and label not in left_out]


def _columns_of(other: pd.DataFrame, labels: list[Any], text_of: dict[Any, str]) -> pd.DataFrame:
    """Return some columns of the other frame, named as texts, under a new index."""
    columns = other.take([column_position(other, label, "columns") for label in labels], axis=1)
    name_columns_of(columns, [text_of[label] for label in labels])
    columns.index = pd.RangeIndex(len(other))
    return columns


def _step(labels: list[Any], right_on: list[str], text_of: dict[Any, str], options: JoinOptions) -> JoinStep:
    """Write the join as the step of a plan, which names columns of the other frame by text."""
    columns = None if options.columns is None else [text_of[label] for label in options.columns]
    aggregate = options.aggregate
    if isinstance(aggregate, dict):
        aggregate = {text_of.get(label, label): rule for label, rule in aggregate.items()}
    return JoinStep(labels, "", right_on, columns, {}, aggregate, options.pad, options.dayfirst)


def _join_equal(
    account: JoinAccount,
    right: KeyColumns,
    keys: KeyLabels,
    options: JoinOptions,
    planned: JoinStep | None = None,
    period: str | None = None,
) -> JoinAccount:
    """Join on keys that are equal in canonical form; `planned` is the step of a plan that is carried out again.

    Of the last columns it is enough that their dates lie in the same `period`, if one is given.
    """
    labels, right_labels = keys
    other = right.frame
    text_of = texts_of(other)
    names = [text_of[label] for label in right_labels]
    if period is None:
        index, parts = account.left.index(labels), right.parts(right_labels)
    else:
        index = KeyIndex.of(parts_by_period(account.left, labels, period))
        parts = parts_by_period(right, right_labels, period)
    codes, n_keys = index.match_all(parts) if options.keeps_right_rows else (index.match(parts), index.n_keys)
    new_labels = _new_labels(other, options, right_labels)
    frame = _columns_of(other, new_labels, text_of)
    right_keys = _columns_of(other, right_labels if options.keeps_right_rows else [], text_of)
    kinds = {} if options.aggregate is None else {name: object_kind(frame[name]) for name in frame.columns}
    relation = {} if period is None else {"period": period}
    facts = FrameFacts(frame, parts)
    side = RightSide(frame, right_keys, codes, n_keys, "right", relation, object_kinds=kinds, facts=facts)
    step = replace(_again(_step(labels, names, text_of, options), planned), period=period)
    return account.join(step, index, side, options)


def _again(step: JoinStep, planned: JoinStep | None) -> JoinStep:
    """Give a step the names that its columns had when it was planned."""
    if planned is None:
        return step
    step = replace(step, names=planned.names, counted=planned.counted)
    return replace(step, is_unique=planned.is_unique, measures=planned.measures)


def _join_related(
    account: JoinAccount, right: KeyColumns, relation: Relation, options: JoinOptions, planned: JoinStep | None = None
) -> JoinAccount:
    """Join by programs and by similarity; the other frame's key is added, as it is not equal."""
    by_text = {text: label for label, text in texts_of(account.left.frame).items()}
    labels = [by_text[name] for name in relation.left_columns]
    text_of = texts_of(right.frame)
    new_labels = _new_labels(right.frame, options, [])
    frame = right.frame[new_labels].set_axis([text_of[label] for label in new_labels], axis=1)
    theirs, found = relation.right.index, relation.pairs
    pairs = PairedKeys(found.left, found.right, theirs.codes, theirs.n_keys, found.distances, found.chances)
    kinds = np.array(KINDS, object)[found.kinds]
    paired = _PairedSide(pairs, kinds, relation.left.index.n_keys, relation.describe(), {})
    side = _related_side(frame.reset_index(drop=True), paired, options)
    if planned is not None:
        side = replace(side, relation={**(side.relation or {}), **_explained(relation)})
    saved = relation.saved().to_dict() if planned is None else planned.relation
    step = replace(_again(_step(labels, relation.right_columns, text_of, options), planned), relation=saved)
    return account.join(step, relation.left.index, side, options)


def _explained(relation: Relation) -> dict[str, Any]:
    """Say what share of the rows the programs of a plan explain, and warn where it is clearly less than it was.

    Less means four fifths of what it was, and three standard deviations below what chance lets expect. Programs that
    read the right frame may explain few of its rows where the left one has few: those of the left one count as well.
    """
    learned = min(1.0, sum(ranked.coverage for ranked in relation.programs.programs))
    n_joined, n_rows = relation.explained()
    if not learned or not n_rows:
        return {}

    def is_less(n_joined: int, n_rows: int) -> bool:
        expected = learned * n_rows
        return n_joined < _CLEARLY_LESS * expected and expected - n_joined > 3 * math.sqrt(1 + expected * (1 - learned))

    if is_less(n_joined, n_rows) and is_less(*relation.explained_on_the_left()):
        warn(
            f"the programs of `plan` explain {n_joined:,} of {n_rows:,} rows ({n_joined / n_rows:.1%}); when it was "
            f"made they explained {learned:.1%}: join the frames without `plan` to learn how they are related now"
        )
    return {"explained": {"n_rows": n_rows, "n_joined": n_joined, "when_made": learned}}


def _join_near(
    account: JoinAccount,
    right: KeyColumns,
    keys: KeyLabels,
    near: DistanceRelation,
    options: JoinOptions,
    planned: JoinStep | None = None,
) -> JoinAccount:
    """Join keys that lie near each other; the other frame's key is added, as it is not equal."""
    left, text_of = account.left, texts_of(right.frame)
    mine, theirs = (
        [side.point_values(side.position(label), options.pad, options.dayfirst) for label in labels]
        for side, labels in zip((left, right), keys, strict=True)
    )
    own = near.keys(mine, None)
    found = own.pairs(theirs)
    new_labels = _new_labels(right.frame, options, [])
    frame = right.frame[new_labels].set_axis([text_of[label] for label in new_labels], axis=1).reset_index(drop=True)
    kinds = np.full(found.left.size, near.MEASURE, object)
    pairs = _PairedSide(found, kinds, own.n_keys, near.described(found), {"relation": near.learned(found)})
    step = _again(_step(keys[0], [text_of[label] for label in keys[1]], text_of, options), planned)
    return account.join(step, KeyIndex(own.codes, own.n_keys), _related_side(frame, pairs, options), options)


class _PairedSide(NamedTuple):
    """The keys of a right side that belong to keys of the left one.

    `kinds` says of each pair why, `n_keys` is how many keys the left side has, `described` the relation for the report,
    `decided` as of `RightSide`.
    """

    pairs: PairedKeys
    kinds: NDArray[np.object_]
    n_keys: int
    described: dict[str, Any]
    decided: dict[str, Any]


def _without_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """Write columns of runs out cell by cell: pyarrow 18 takes no rows of them."""
    types = {name: dtype.pyarrow_dtype for name, dtype in frame.dtypes.items() if isinstance(dtype, pd.ArrowDtype)}
    runs = {name: type_.value_type for name, type_ in types.items() if pa.types.is_run_end_encoded(type_)}
    decoded = {
        name: pd.array(pc.run_end_decode(pa.chunked_array(pa.array(frame[name].array))), pd.ArrowDtype(type_))
        for name, type_ in runs.items()
    }
    return frame.assign(**decoded) if decoded else frame


def _related_side(frame: pd.DataFrame, paired: _PairedSide, options: JoinOptions) -> RightSide:
    """Write out the right rows of each left key; rows without one have keys of their own."""
    found, n_keys = paired.pairs, paired.n_keys
    of_pair, rows = expand_pairs(found.right, found.codes, found.n_keys)
    order = np.argsort(rows, kind="stable")
    of_pair, rows = of_pair[order], rows[order]
    codes = found.left[of_pair]
    if options.keeps_right_rows:
        alone = np.setdiff1d(np.arange(len(frame)), rows)
        rows = np.concatenate([rows, alone])
        codes = np.concatenate([codes, n_keys + np.arange(alone.size)])
        n_keys += alone.size
    frame = _without_runs(frame)
    taken = frame.take(rows).reset_index(drop=True)
    kinds_held = {} if options.aggregate is None else {name: object_kind(frame[name]) for name in frame.columns}
    of_row = np.append(of_pair, np.full(rows.size - of_pair.size, -1))
    marks = match_marks(paired.kinds, found, of_row) if options.indicator else None
    none = taken.iloc[:, :0]
    facts, described = FrameFacts(frame), paired.described
    return RightSide(taken, none, codes, n_keys, "right", described, {}, kinds_held, rows, facts, marks, paired.decided)


# Joining two frames by distance: places and other points, texts by their n-grams or their spelling ----------


NearColumns = tuple[list[Any], list[Any], DistanceRelation]
"""Key columns of the left frame, those of the right one, and how near they have to be."""


def near_keys(left: KeyColumns, right: KeyColumns, options: JoinOptions) -> NearColumns:
    """Decide which columns of two frames are joined by distance, and how near they have to be.

    Parameters
    ----------
    left, right : KeyColumns
    options : JoinOptions
        Names the columns, the radius, its unit and metric, and which keys within it are partners.

    Returns
    -------
    labels, right_labels : list
        Of places latitude first.
    relation : DistanceRelation

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        If the columns are not named, or do not fit the mode or the unit.
    """
    named = named_keys(left.frame, right.frame, options)
    if named is None:
        raise InvalidParameterError(
            f"`on` must name the columns that are near those of the other frame with mode={options.mode!r}, as "
            f'on=["lat", "lon"]; got {show(options.on)}'
        )
    labels, right_labels = named
    if len(labels) != len(right_labels):
        raise InvalidParameterError(
            f"`right_on` must name as many columns as `on` ({len(labels)}), got {len(right_labels)}, with "
            f"mode={options.mode!r}"
        )
    labels, right_labels, relation = _DECIDE[options.mode](left, right, (labels, right_labels), options)
    held = with_partners(relation.to_dict(), options.partners, options.min_margin)
    held = with_precision(held, options.precision, is_bounded=options.radius is not None)
    return labels, right_labels, type(relation).from_dict(held or {})


def _by_spelling(left: KeyColumns, right: KeyColumns, keys: KeyLabels, options: JoinOptions) -> NearColumns:
    """Relate two columns of text by how they are spelled."""
    _check_texts(left, right, keys, options)
    limit = spelling_radius(options.radius, options.radius_unit, options.metric)
    return *keys, SimilarRelation(limit.radius, limit.unit, limit.metric)


def _by_vectors(left: KeyColumns, right: KeyColumns, keys: KeyLabels, options: JoinOptions) -> NearColumns:
    """Relate columns of numbers by their points, and two columns of text by their n-grams."""
    if _are_points(left, keys[0]):
        return _points(left, right, keys, options)
    _check_texts(left, right, keys, options)
    params = search_params(
        mode=options.mode, radius=options.radius, radius_unit=options.radius_unit, metric=options.metric
    )
    params, identity = with_radius(params, NGRAM_RADIUS), ngrams_of_frames().identity
    vector_radius(params)  # raises if the unit is not one of vectors
    return *keys, NearRelation(params.radius or 0.0, params.radius_unit or "", params.metric or "", identity)


_DECIDE: dict[str, Callable[[KeyColumns, KeyColumns, KeyLabels, JoinOptions], NearColumns]] = {
    "embedding": _by_vectors,
    "fuzzy": _by_spelling,
}

NEAR_MODES = tuple(_DECIDE)
"""Modes by which two frames are joined, as a lake is searched by them."""


def _check_texts(left: KeyColumns, right: KeyColumns, keys: KeyLabels, options: JoinOptions) -> None:
    """Raise unless the keys are one column of either frame that holds no numbers."""
    if len(keys[0]) != 1 or any(_are_points(side, own) for side, own in zip((left, right), keys, strict=True)):
        raise InvalidParameterError(
            f"`on` must name one column of text of both frames with mode={options.mode!r}, got {show(keys[0])} and "
            f'{show(keys[1])}; columns of numbers need mode="embedding" and a radius'
        )


def _are_points(side: KeyColumns, labels: Sequence[Any]) -> bool:
    """Tell whether columns are searched as numbers: several are, and one that holds numbers."""
    return len(labels) > 1 or is_numeric(select_column(side.frame, labels[0], "on"))


def _points(left: KeyColumns, right: KeyColumns, keys: KeyLabels, options: JoinOptions) -> NearColumns:
    """Return columns of numbers in the order of their axes, and how near they have to be."""
    order = check_points(keys[0], options.radius_unit)
    labels, right_labels = ([own[i] for i in order] for own in keys)
    radius = point_radius(options.radius, options.radius_unit, options.metric)
    lengths = []
    for side, own in ((left, labels), (right, right_labels)):
        points, *_ = read_points(side.frame, own, side.settings, radius.unit)  # raises without numbers, and warns
        lengths.append(points.shape[1])
    if len(left.frame) and len(right.frame) and lengths[0] != lengths[1]:
        raise InvalidParameterError(
            f"`on` must name points of one length in both frames, got {lengths[0]} numbers in {show(labels)} and "
            f"{lengths[1]} in {show(right_labels)}; name the columns of the same axes"
        )
    scales = [1.0] * len(labels)
    return labels, right_labels, AxesRelation(radius.radius, radius.unit, scales)
