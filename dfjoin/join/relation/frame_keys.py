"""Which equal columns are the key of two frames: those that are named, if they are enough, and lost zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, shortlist, warn
from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import JoinOptions
from dfjoin.programs.program import MAX_COLUMNS
from dfjoin.search.query import QueryColumn
from dfjoin.search.spellings import LostZeros, find_lost_zeros_between, is_clearly_more
from dfjoin.values.frames import select_column
from dfjoin.values.shares import KEY_UNIQUENESS

__all__ = ["KeyLabels", "are_enough", "find_lost_zeros", "leaves_texts", "named_keys"]


KeyLabels = tuple[list[Any], list[Any]]
"""The key columns of the left frame, and those of the right one."""


def named_keys(df: pd.DataFrame, other: pd.DataFrame, options: JoinOptions) -> KeyLabels | None:
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


def are_enough(left: KeyColumns, right: KeyColumns, keys: KeyLabels, is_named: bool, options: JoinOptions) -> bool:
    """Tell whether equal keys do, so that no relation is looked for.

    Columns that the caller names do when they reach the threshold; columns that were chosen reach it, and do when
    one of them is nearly a key: two tables that agree on a party do not agree on persons.
    """
    if options.is_relation_requested:
        return False
    if not is_named:
        return any(_is_key(side, labels[0]) for side, labels in zip((left, right), keys, strict=True))
    index = left.index(keys[0])
    return not index.n_keys or index.n_matched(right.parts(keys[1])) / index.n_keys >= options.threshold


def _is_key(side: KeyColumns, label: Any) -> bool:
    """Tell whether a column's values are nearly all different."""
    values = side.values(side.position(label))
    return len(values) >= KEY_UNIQUENESS * int(np.count_nonzero(values.codes >= 0))


def leaves_texts(left: KeyColumns, right: KeyColumns, keys: KeyLabels, least: float) -> bool:
    """Tell whether one column of texts is the key of either side, and equality leaves a share of both sides alone."""
    if len(keys[0]) != 1 or len(keys[1]) != 1:
        return False
    sides = [_as_query(side, labels[0]) for side, labels in zip((left, right), keys, strict=True)]
    if not all(side and side[0].profile.kind == "text" for side in sides):
        return False
    own, theirs = sides[0][0].values, sides[1][0].values
    shared = np.count_nonzero(left.index(keys[0]).value_codes(0, theirs) >= 0)
    return all(len(side) - shared >= max(2, least * len(side)) for side in (own, theirs))


def find_lost_zeros(
    left: KeyColumns, right: KeyColumns, keys: KeyLabels | None, threshold: float
) -> tuple[KeyLabels, LostZeros]:
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
