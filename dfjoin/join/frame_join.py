"""Joining two frames: by equal keys, or by a relation that is learned where keys are not equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin._validation import show
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, shortlist, warn
from dfjoin.join.aggregate import object_kind
from dfjoin.join.asof_join import join_frames_asof
from dfjoin.join.break_ties import break_ties
from dfjoin.join.choose_key import choose_equal_keys
from dfjoin.join.dated_rows import is_of_dates_alone
from dfjoin.join.execute import RightSide
from dfjoin.join.key_evidence import is_row_number
from dfjoin.join.key_relation import KINDS, Relation
from dfjoin.join.keys import KeyColumns, expand_pairs, is_measure
from dfjoin.join.options import JoinOptions
from dfjoin.join.plan import JoinPlan, JoinStep, json_label
from dfjoin.join.relate import relate, relate_again
from dfjoin.join.report import JoinAccount
from dfjoin.join.saved_relation import SavedRelation
from dfjoin.programs.program import MAX_COLUMNS
from dfjoin.search.lost_zeros import LostZeros, find_lost_zeros_between, is_clearly_more
from dfjoin.search.query import QueryColumn
from dfjoin.transform.prepared_columns import Column
from dfjoin.types import IndexSettings
from dfjoin.values.cells import CONVERSION_ERRORS, cell_texts
from dfjoin.values.frames import select_column
from dfjoin.values.names import clean_names

__all__ = ["join_frame_again", "join_frames"]

_SETTINGS = IndexSettings()
_KEY_UNIQUENESS = 0.8
_MAX_MEASURES = 200_000
"""Rows up to which columns of fractions that are not named are looked at as keys: writing them takes a while."""
_LEFT_OVER = 0.03
"""Share of the values of both sides from which more than equality is tried for the rest."""
_POOR = 0.1
"""Share of the values of both sides that equality leaves, from which relations of other columns are looked for."""
_WIDER = 1.1
"""Rows that a relation of other columns must join, over those of equal keys."""
_MIN_SAME = 0.9
"""Share of the rows with an equal key that such a relation must join with the same rows, where it joins both."""
_MIN_BOTH = 5
_MATCH, _DISTANCE = "_match", "_distance"

Labels = tuple[list[Any], list[Any]]
"""The key columns of the left frame, and those of the right one."""


def join_frames(df: pd.DataFrame, other: pd.DataFrame, options: JoinOptions) -> JoinAccount:
    """Join another frame, on given keys or on those that relate it best.

    First the keys are decided on, from the columns alone; then the frames are joined, once.
    """
    _check_other(other)
    settings = replace(_SETTINGS, dayfirst=options.dayfirst)
    left, right = KeyColumns(df, settings, pad=options.pad), KeyColumns(other, settings, "right_on", options.pad)
    if options.how == "asof":
        return join_frames_asof(left, right, _texts_of(other), options)
    account = JoinAccount(left)
    named = _named_keys(df, other, options)
    equal = named if named is not None and len(named[0]) == len(named[1]) else None
    is_allowed = options.is_relation_allowed
    if equal is not None and len(equal[0]) > 1:
        is_allowed = options.is_relation_requested  # a composite key is meant whole, and a program may read a part
    if named is None and not options.is_relation_requested:
        pair, passed = choose_equal_keys(left, right, options.threshold)
        for columns, reason in passed:
            account = account.pass_over("", columns, reason)
        equal = None if pair is None else ([pair[0]], [pair[1]])
    if (
        options.pad is None
        and not options.is_relation_requested
        and (named is None if equal is None else len(equal[0]) == 1)
    ):
        keys, lost = _find_lost_zeros(left, right, equal, options.threshold)
        if lost.width:
            options = replace(options, pad=lost.width)
            left = KeyColumns(df, settings, pad=options.pad)
            right = KeyColumns(other, settings, "right_on", options.pad)
            return _join_equal(replace(account, left=left), right, keys, options)
    relation: Relation | None = None
    if is_allowed:
        is_enough = equal is not None and _is_enough(left, right, equal, named is not None, options)
        if not is_enough:
            relation, tried = _find_relation(left, right, named, options)
        elif equal is not None and _leaves_texts(left, right, equal, _LEFT_OVER):
            relation, tried = _find_relation(left, right, equal, options, equals_first=True)
            if named is None and _leaves_texts(left, right, equal, _POOR):
                relation = _find_wider_relation(left, right, equal, relation, options)
        else:
            tried = []
        for reason in tried:
            account = account.pass_over("", "", reason)
    if relation is not None:
        if named is None:
            relation = break_ties(relation, left, right)
        return _join_related(account, right, relation, options)
    return account if equal is None else _join_equal(account, right, equal, options)


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
    by_text = {text: label for label, text in _texts_of(other).items()}
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
        return join_frames_asof(left, right, _texts_of(other), replace(options, on=on, right_on=right_on), step)
    if step.relation is None:
        return _join_equal(account, right, (labels, [by_text[name] for name in step.right_on]), options, step)
    saved = SavedRelation.from_dict(step.relation)
    own, theirs = saved.columns
    sides = _text_columns(left, _texts_of(df), own), _text_columns(right, _texts_of(other), theirs)
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
    select_column(df, own, "on")
    return own


def _check_other(other: pd.DataFrame) -> None:
    """Raise unless the columns of the other frame can be told apart by their names."""
    if other.columns.duplicated().any():
        raise InvalidParameterError(
            f"`other` has columns of the same name ({shortlist(other.columns[other.columns.duplicated()])}); "
            "rename them"
        )


# Which keys -----------------------------------------------------------------------------------------------


def _named_keys(df: pd.DataFrame, other: pd.DataFrame, options: JoinOptions) -> Labels | None:
    """Return the key columns that the caller names, checked."""
    on, right_on = options.on, options.right_on
    if on is None:
        if right_on is not None:
            raise InvalidParameterError("`on` must be given together with `right_on`")
        return None
    labels = _labels(df, on, "on")
    right_labels = labels if right_on is None else _labels(other, right_on, "right_on")
    if right_on is None:
        missing = [label for label in right_labels if label not in other.columns]
        if missing:
            raise ColumnNotFoundError(
                f"`on` must name columns of both frames when `right_on` is not given; the other frame has "
                f"{shortlist(other.columns)}, not {missing[0]!r}: pass `right_on`"
            )
    if len(labels) != len(right_labels) and options.transform is False:
        raise InvalidParameterError(
            f"`right_on` must name as many columns as `on` ({len(labels)}), got {len(right_labels)}; a program may "
            "relate them, if you leave out transform=False"
        )
    if len(labels) != len(right_labels) and max(len(labels), len(right_labels)) > MAX_COLUMNS:
        raise InvalidParameterError(
            f"`right_on` must name as many columns as `on` ({len(labels)}), got {len(right_labels)}; a program relates "
            f"at most {MAX_COLUMNS}"
        )
    return labels, right_labels


def _labels(df: pd.DataFrame, on: Any, argument: str) -> list[Any]:
    """Return the key columns that `on` names, checked."""
    labels = list(on) if isinstance(on, list) else [on]
    if not labels:
        raise InvalidParameterError(f"`{argument}` must name at least one column, got an empty list")
    for label in labels:
        select_column(df, label, argument)
    return labels


def _is_enough(left: KeyColumns, right: KeyColumns, keys: Labels, is_named: bool, options: JoinOptions) -> bool:
    """Tell whether equal keys do, so that no relation is looked for.

    Columns that the caller names do when they reach the threshold; columns that were chosen reach it, and do when
    one of them is nearly a key: two tables that agree on a party do not agree on persons.
    """
    if options.is_relation_requested:
        return False
    if not is_named:
        return any(_is_key(side, labels[0]) for side, labels in zip((left, right), keys, strict=True))
    index = left.index(keys[0])
    found = index.match(right.parts(keys[1]))
    return not index.n_keys or np.unique(found[found >= 0]).size / index.n_keys >= options.threshold


def _leaves_texts(left: KeyColumns, right: KeyColumns, keys: Labels, least: float) -> bool:
    """Tell whether one column of texts is the key of either side, and equality leaves a share of both sides alone."""
    if len(keys[0]) != 1 or len(keys[1]) != 1:
        return False
    sides = [_as_query(side, labels[0]) for side, labels in zip((left, right), keys, strict=True)]
    if not all(side and side[0].profile.kind == "text" for side in sides):
        return False
    own, theirs = sides[0][0].values, sides[1][0].values
    shared = int(np.isin(own.hashes, theirs.hashes).sum())
    return all(len(side) - shared >= max(2, least * len(side)) for side in (own, theirs))


def _is_key(side: KeyColumns, label: Any) -> bool:
    """Tell whether a column's values are nearly all different."""
    values = side.values(side.position(label))
    return len(values) >= _KEY_UNIQUENESS * int(np.count_nonzero(values.codes >= 0))


def _find_lost_zeros(
    left: KeyColumns, right: KeyColumns, keys: Labels | None, threshold: float
) -> tuple[Labels, LostZeros]:
    """Find out whether the integers of a key match clearly more with zeros in front than as they are.

    Where no keys were found, every pair of columns is looked at: the one that matches most is taken, if it reaches the
    threshold. Zeros that help a little, or too little, are warned of.
    """
    found: list[tuple[LostZeros, QueryColumn, QueryColumn, bool]] = []
    if keys is None:
        sides = [left.candidates(), right.candidates()]
    else:
        sides = [_as_query(side, labels[0]) for side, labels in zip((left, right), keys, strict=True)]
    for own in sides[0]:
        for theirs in sides[1]:
            for integers, texts in ((own, theirs), (theirs, own)):
                lost = find_lost_zeros_between(integers, texts.values)
                if lost.width:
                    found.append((lost, own, theirs, integers is own))
    if not found:
        return ([], []), LostZeros(0, 0, 0)
    lost, own, theirs, is_own = max(found, key=lambda one: one[0].respelled)
    is_enough = keys is not None or lost.respelled >= threshold * len(own.values)
    if is_enough and is_clearly_more(lost.respelled, lost.plain):
        return ([own.label], [theirs.label]), lost
    integers, texts = (own, theirs) if is_own else (theirs, own)
    remedy = "" if keys is not None else f", with on={own.label!r}, right_on={theirs.label!r}"
    warn(
        f"the integers of column {integers.name!r} {'' if is_own else 'of the other frame '}match {lost.respelled:,} "
        f"values of {texts.name!r} when written with zeros up to {lost.width} digits, and {lost.plain:,} as they are; "
        f"read the column with dtype=str, or pass `pad={lost.width}`{remedy}"
    )
    return ([], []), LostZeros(0, 0, 0)


def _as_query(side: KeyColumns, label: Any) -> list[QueryColumn]:
    """Return a key column as a search has it; nothing for one without values that can be compared."""
    try:
        return [side.query(side.position(label))]
    except InvalidTypeError:
        return []


def _find_relation(
    left: KeyColumns, right: KeyColumns, named: Labels | None, options: JoinOptions, *, equals_first: bool = False
) -> tuple[Relation | None, list[str]]:
    """Look for programs, or similar texts, that relate the keys; return what was tried and failed, too."""
    own_texts, other_texts = _texts_of(left.frame), _texts_of(right.frame)
    on, right_on = None, None
    if named is not None:
        on, right_on = [own_texts[label] for label in named[0]], [other_texts[label] for label in named[1]]
    sides = _text_columns(left, own_texts, on or []), _text_columns(right, other_texts, right_on or [])
    if named is None:
        sides = _without_row_numbers(left, sides[0], own_texts), _without_row_numbers(right, sides[1], other_texts)
    for named_columns, columns in zip((on, right_on), sides, strict=True):
        for name in named_columns or []:
            if name not in columns:
                return None, [f"{name}: booleans and values without text are related by equality alone"]
    relation, tried = relate(*sides, on, right_on, options, equals_first=equals_first)
    # A relation of equal keys alone is the business of the plain join, unless examples name the keys.
    is_taught = options.examples is not None
    return relation if relation is not None and (is_taught or relation.pairs.kinds.any()) else None, tried


def _find_wider_relation(
    left: KeyColumns, right: KeyColumns, equal: Labels, relation: Relation | None, options: JoinOptions
) -> Relation | None:
    """Look for a relation of other columns that joins the same rows as equal keys do, and clearly more.

    ``Province`` without its last word may relate all rows of two tables, whose capitals are equal in half of them.
    That both relations join the same rows, where both do, is evidence for either. Returns the relation that is known of
    the equal keys, if there is no such one.
    """
    wider, _ = _find_relation(left, right, None, options)
    if wider is None or (relation is not None and relation.left_columns == wider.left_columns):
        return relation
    index, other = left.index(equal[0]), right.parts(equal[1])
    known = expand_pairs(index.codes, index.match(other), index.n_keys) if relation is None else relation.row_pairs()
    n_right = len(right.frame)
    same, found = (own * n_right + theirs for own, theirs in (known, wider.row_pairs()))
    n_same, n_found = (np.unique(pairs // n_right).size for pairs in (same, found))
    both = np.intersect1d(same // n_right, found // n_right)
    agreeing = np.unique(np.intersect1d(same, found) // n_right)
    is_better = n_found >= _WIDER * n_same and agreeing.size >= max(_MIN_BOTH, _MIN_SAME * both.size)
    return wider if is_better else relation


def _without_row_numbers(side: KeyColumns, columns: dict[str, Column], names: dict[Any, str]) -> dict[str, Column]:
    """Leave out columns that number the rows: any two of them are related by accident. The last column stays."""
    numbers = {names[query.label] for query in side.candidates() if is_row_number(query)}
    return {name: column for name, column in columns.items() if name not in numbers} or columns


def _text_columns(side: KeyColumns, names: dict[Any, str], named: Sequence[str]) -> dict[str, Column]:
    """Return the columns that can be keys as strings, with the canonical values that are known of them.

    Fractions are keys where they are named, or where they are few.
    """
    found = {}
    for position, label in enumerate(side.frame.columns):
        try:
            array = side.array(position)
        except InvalidTypeError:
            continue
        is_fraction = is_measure(array)
        is_large = len(array) > _MAX_MEASURES and names[label] not in named
        if pa.types.is_boolean(array.type) or (is_fraction and is_large):
            continue
        known = None if pa.types.is_floating(array.type) else partial(side.values, position)
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        try:
            texts = array if pa.types.is_string(array.type) else pc.cast(array, pa.large_string())
        except CONVERSION_ERRORS:  # as a time of a zone that is not known here
            texts = cell_texts(array)
        found[names[label]] = Column(names[label], texts, known, is_fraction)
    return found


# The join -------------------------------------------------------------------------------------------------


def _texts_of(frame: pd.DataFrame) -> dict[Any, str]:
    """Name each column of a frame as text, each name once."""
    texts = [_text(label) for label in frame.columns]
    if len(set(texts)) < len(texts):
        texts = clean_names(texts)
    return dict(zip(frame.columns, texts, strict=True))


def _text(label: Any) -> str:
    """Return a label that JSON can hold."""
    return " ".join(str(part) for part in label) if isinstance(label, tuple) else str(label)


def _brought(other: pd.DataFrame, options: JoinOptions, left_out: list[Any]) -> list[Any]:
    """Return the columns of the other frame that the result gets."""
    if options.columns is None:
        return [label for label in other.columns if label not in left_out]
    for label in options.columns:
        select_column(other, label, "columns")
    return [label for label in other.columns if label in options.columns and label not in left_out]


def _step(labels: list[Any], right_on: list[str], text_of: dict[Any, str], options: JoinOptions) -> JoinStep:
    """Write the join as the step of a plan, which names columns of the other frame by text."""
    columns = None if options.columns is None else [text_of[label] for label in options.columns]
    aggregate = options.aggregate
    if isinstance(aggregate, dict):
        aggregate = {text_of.get(label, label): rule for label, rule in aggregate.items()}
    return JoinStep(labels, "", right_on, columns, {}, aggregate, options.pad, options.dayfirst)


def _join_equal(
    account: JoinAccount, right: KeyColumns, keys: Labels, options: JoinOptions, planned: JoinStep | None = None
) -> JoinAccount:
    """Join on keys that are equal in canonical form; `planned` is the step of a plan that is carried out again."""
    labels, right_labels = keys
    other = right.frame
    text_of = _texts_of(other)
    names = [text_of[label] for label in right_labels]
    index, parts = account.left.index(labels), right.parts(right_labels)
    codes, n_keys = index.match_all(parts) if options.keeps_right_rows else (index.match(parts), index.n_keys)
    brought = _brought(other, options, right_labels)
    frame = other[brought].set_axis([text_of[label] for label in brought], axis=1)
    right_keys = other[right_labels].set_axis(names, axis=1).reset_index(drop=True)
    side = RightSide(frame.reset_index(drop=True), right_keys, codes, n_keys, "right")
    step = _again(_step(labels, names, text_of, options), planned)
    return account.join(step, index, side, options)


def _again(step: JoinStep, planned: JoinStep | None) -> JoinStep:
    """Give a step the names that its columns had when it was planned."""
    return step if planned is None else replace(step, names=planned.names, counted=planned.counted)


def _join_related(
    account: JoinAccount, right: KeyColumns, relation: Relation, options: JoinOptions, planned: JoinStep | None = None
) -> JoinAccount:
    """Join by programs and by similarity; the other frame's key is brought along, as it is not equal."""
    by_text = {text: label for label, text in _texts_of(account.left.frame).items()}
    labels = [by_text[name] for name in relation.left_columns]
    text_of = _texts_of(right.frame)
    brought = _brought(right.frame, options, [])
    frame = right.frame[brought].set_axis([text_of[label] for label in brought], axis=1)
    side = _related_side(frame.reset_index(drop=True), relation, options)
    saved = relation.saved().to_dict() if planned is None else planned.relation
    step = replace(_again(_step(labels, relation.right_columns, text_of, options), planned), relation=saved)
    return account.join(step, relation.left.index, side, options)


def _related_side(frame: pd.DataFrame, relation: Relation, options: JoinOptions) -> RightSide:
    """Write out the right rows of each left key; rows without one have keys of their own."""
    theirs, n_keys = relation.right.index, relation.left.index.n_keys
    of_pair, rows = expand_pairs(relation.pairs.right, theirs.codes, theirs.n_keys)
    order = np.argsort(rows, kind="stable")
    of_pair, rows = of_pair[order], rows[order]
    codes = relation.pairs.left[of_pair]
    if options.keeps_right_rows:
        alone = np.setdiff1d(np.arange(len(frame)), rows)
        rows = np.concatenate([rows, alone])
        codes = np.concatenate([codes, n_keys + np.arange(alone.size)])
        n_keys += alone.size
    taken = frame.take(rows).reset_index(drop=True)
    kinds_held = {} if options.aggregate is None else {name: object_kind(frame[name]) for name in frame.columns}
    if options.indicator:
        n_alone = rows.size - of_pair.size
        kinds = [*np.array(KINDS, object)[relation.pairs.kinds[of_pair]].tolist(), *[None] * n_alone]
        taken[_MATCH] = pd.Series(kinds, dtype="str")
        taken[_DISTANCE] = np.concatenate([relation.pairs.distances[of_pair], np.full(n_alone, np.nan)])
    none = taken.iloc[:, :0]
    return RightSide(taken, none, codes, n_keys, "right", relation.describe(), object_kinds=kinds_held, rows=rows)
