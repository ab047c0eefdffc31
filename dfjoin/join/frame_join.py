"""Joining two frames: by equal keys, or by a relation that is learned where keys are not equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin import _validation as check
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.join.choose_key import pick_key_pair
from dfjoin.join.execute import RightSide
from dfjoin.join.keys import LeftKey, RowKeys, expand_pairs
from dfjoin.join.plan import JoinStep
from dfjoin.join.relate import KINDS, Relation, relate
from dfjoin.join.state import JoinState, apply_step
from dfjoin.search.query import normalize_key
from dfjoin.types import IndexSettings
from dfjoin.values.frames import column_to_arrow, select_column
from dfjoin.values.names import clean_names

__all__ = ["check_relation_wishes", "join_frames"]

_SETTINGS = IndexSettings()
_KEY_SHARE = 0.8
_MATCH, _DISTANCE = "_match", "_distance"


def check_relation_wishes(wishes: dict[str, Any]) -> None:
    """Check the arguments that say how two frames may be related."""
    for name in ("transform", "fuzzy"):
        check.check_choice(wishes[name], name, (None, True, False))
    wishes["precision"] = check.check_fraction(wishes["precision"], "precision")
    examples = wishes["examples"]
    if examples is None:
        return
    if not isinstance(examples, (list, tuple)) or not examples:
        raise InvalidTypeError(
            f"`examples` must be a list of pairs (left value, right value), got {examples!r:.100}; give at least one"
        )
    for pair in examples:
        if not (isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(v, str) and v for v in pair)):
            raise InvalidTypeError(f"`examples` must be pairs of texts (left value, right value), got {pair!r:.100}")
    if wishes["transform"] is False:
        raise InvalidParameterError("`examples` are what programs are learned from; leave out transform=False")


def join_frames(state: JoinState, other: pd.DataFrame, wishes: dict[str, Any]) -> None:
    """Join another frame, on given keys or on those that relate it best."""
    if other.columns.duplicated().any():
        raise InvalidParameterError(
            f"`other` has columns of the same name ({shortlist(other.columns[other.columns.duplicated()])}); "
            "rename them"
        )
    on, right_on = wishes["on"], wishes["right_on"]
    if right_on is not None and on is None:
        raise InvalidParameterError("`on` must be given together with `right_on`")
    labels: list[Any] | None = None
    right_labels: list[Any] | None = None
    equal: tuple[list[Any], list[Any]] | None = None
    if on is not None:
        labels, right_labels = _key_labels(state.frame, other, on, right_on)
    is_asked = bool(wishes["transform"] or wishes["fuzzy"] or wishes["examples"])
    may_learn = is_asked or wishes["transform"] is None or wishes["fuzzy"] is None
    if labels is not None and len(labels) > 1:
        may_learn = is_asked  # who names a composite key means all of it, and a program may read a part
    if labels is None and not is_asked:
        pair, passed = pick_key_pair(state.frame, other, _SETTINGS, wishes["threshold"])
        state.passed_over += passed
        equal = None if pair is None else ([pair[0]], [pair[1]])
        # Parties that agree relate no persons: where neither column is a key, one is looked for.
        if pair is not None and (not may_learn or _is_key(state.frame, pair[0]) or _is_key(other, pair[1])):
            _join_equal(state, other, [pair[0]], [pair[1]], wishes)
            return
    elif (
        labels is not None
        and right_labels is not None
        and not is_asked
        and (not may_learn or _containment(state.frame, other, labels, right_labels) >= wishes["threshold"])
    ):
        _join_equal(state, other, labels, right_labels, wishes)
        return
    if may_learn and _join_related(state, other, labels, right_labels, wishes):
        return
    if labels is not None and right_labels is not None:
        equal = (labels, right_labels)
    if equal is not None:
        _join_equal(state, other, equal[0], equal[1], wishes)


def _is_key(df: pd.DataFrame, label: Any) -> bool:
    """Tell whether a column's values are nearly all different."""
    values, _ = normalize_key(select_column(df, label, "on"), _SETTINGS, None, None)
    return len(values) >= _KEY_SHARE * int(np.count_nonzero(values.codes >= 0))


def _key_labels(df: pd.DataFrame, other: pd.DataFrame, on: Any, right_on: Any) -> tuple[list[Any], list[Any]]:
    """Return the key columns of either side, checked; programs may relate different numbers of them."""
    labels = _labels(df, on, "on")
    right_labels = labels if right_on is None else _labels(other, right_on, "right_on")
    if right_on is None:
        missing = [label for label in right_labels if label not in other.columns]
        if missing:
            raise ColumnNotFoundError(
                f"`on` must name columns of both frames when `right_on` is not given; the other frame has "
                f"{shortlist(other.columns)}, not {missing[0]!r}: pass `right_on`"
            )
    if len(labels) != len(right_labels):
        raise InvalidParameterError(
            f"`right_on` must name as many columns as `on` ({len(labels)}), got {len(right_labels)}"
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


def _left_key(df: pd.DataFrame, labels: list[Any]) -> LeftKey:
    return LeftKey([normalize_key(select_column(df, label, "on"), _SETTINGS, None, None)[0] for label in labels])


def _right_arrays(other: pd.DataFrame, labels: list[Any]) -> list[Any]:
    return [column_to_arrow(select_column(other, label, "right_on"), "right_on") for label in labels]


def _containment(df: pd.DataFrame, other: pd.DataFrame, labels: list[Any], right_labels: list[Any]) -> float:
    """Share of the left keys that the other frame has; 1 where there are none, so that nothing is learned."""
    left = _left_key(df, labels)
    found = left.match(_right_arrays(other, right_labels), [_SETTINGS] * len(right_labels))
    return np.unique(found[found >= 0]).size / left.n_keys if left.n_keys else 1.0


def _texts_of(other: pd.DataFrame) -> dict[Any, str]:
    """Name each column of a frame as text, each name once."""
    texts = [_text(label) for label in other.columns]
    if len(set(texts)) < len(texts):
        texts = clean_names(texts)
    return dict(zip(other.columns, texts, strict=True))


def _text(label: Any) -> Any:
    """Return a label that JSON can hold."""
    if isinstance(label, tuple):
        return " ".join(str(part) for part in label)
    return label if isinstance(label, str) else str(label)


def _brought(other: pd.DataFrame, wishes: dict[str, Any], left_out: list[Any]) -> list[Any]:
    """Return the columns of the other frame that the result gets."""
    if wishes["columns"] is None:
        return [label for label in other.columns if label not in left_out]
    for label in wishes["columns"]:
        select_column(other, label, "columns")
    return [label for label in other.columns if label in wishes["columns"] and label not in left_out]


def _join_equal(
    state: JoinState, other: pd.DataFrame, labels: list[Any], right_labels: list[Any], wishes: dict[str, Any]
) -> None:
    """Join on keys that are equal in canonical form."""
    text_of = _texts_of(other)
    names = [text_of[label] for label in right_labels]
    step = JoinStep(labels, "", names, wishes["columns"], {}, wishes["aggregate"])
    left = _left_key(state.frame, labels)
    arrays = _right_arrays(other, right_labels)
    settings = [_SETTINGS] * len(arrays)
    if state.how in ("right", "outer"):
        codes, n_keys = left.match_all(arrays, settings)
    else:
        codes, n_keys = left.match(arrays, settings), left.n_keys
    brought = _brought(other, wishes, right_labels)
    frame = other[brought].set_axis([text_of[label] for label in brought], axis=1)
    keys = other[right_labels].set_axis(names, axis=1).reset_index(drop=True)
    apply_step(state, step, left, RightSide(frame.reset_index(drop=True), keys, codes, n_keys, "right"), labels)


# By a learned relation ----------------------------------------------------------------------------------


def _join_related(
    state: JoinState,
    other: pd.DataFrame,
    labels: list[Any] | None,
    right_labels: list[Any] | None,
    wishes: dict[str, Any],
) -> bool:
    """Join by programs and by likeness; False if no honest relation was found."""
    left_texts, right_texts = _texts_of(state.frame), _texts_of(other)
    relation, tried = relate(
        _text_columns(state.frame, left_texts),
        _text_columns(other, right_texts),
        on=None if labels is None else [left_texts[label] for label in labels],
        right_on=None if right_labels is None else [right_texts[label] for label in right_labels],
        transform=wishes["transform"] is not False,
        fuzzy=wishes["fuzzy"],
        precision=wishes["precision"],
        examples=wishes["examples"],
    )
    state.passed_over += [{"table": "", "column": "", "reason": line} for line in tried]
    if relation is None or not relation.kinds.any():
        return False  # equal keys alone are the business of the plain join
    by_text = {text: label for label, text in left_texts.items()}
    left_labels = [by_text[name] for name in relation.left_columns]
    step = JoinStep(left_labels, "", relation.right_columns, wishes["columns"], {}, wishes["aggregate"])
    left = RowKeys(relation.left.codes, relation.left.n_keys)
    # A key that is not equal to the user's says something, so it is brought along.
    brought = _brought(other, wishes, [])
    frame = other[brought].set_axis([right_texts[label] for label in brought], axis=1)
    right = _related_side(frame.reset_index(drop=True), relation, state)
    apply_step(state, step, left, right, [], relation.describe())
    return True


def _text_columns(df: pd.DataFrame, texts: dict[Any, str]) -> dict[str, pa.Array]:
    """Return the columns that can be keys as Arrow strings."""
    found = {}
    for position, label in enumerate(df.columns):
        try:
            array = column_to_arrow(df.iloc[:, position], "df")
        except InvalidTypeError:
            continue
        if pa.types.is_boolean(array.type) or _is_measure(array):
            continue
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        found[texts[label]] = array if pa.types.is_string(array.type) else pc.cast(array, pa.large_string())
    return found


def _is_measure(array: pa.Array | pa.ChunkedArray) -> bool:
    """Tell whether a column holds floats that are no whole numbers: keys are never such."""
    if not pa.types.is_floating(array.type):
        return False
    return bool(pc.any(pc.not_equal(array, pc.floor(array)), min_count=0).as_py())


def _related_side(frame: pd.DataFrame, relation: Relation, state: JoinState) -> RightSide:
    """Write out the right rows of each left key; rows without one have keys of their own."""
    pairs, rows = expand_pairs(relation.right_keys, relation.right.codes, relation.right.n_keys)
    order = np.argsort(rows, kind="stable")
    pairs, rows = pairs[order], rows[order]
    codes, n_keys = relation.left_keys[pairs], relation.left.n_keys
    if state.how in ("right", "outer"):
        alone = np.setdiff1d(np.arange(len(frame)), rows)
        rows = np.concatenate([rows, alone])
        codes = np.concatenate([codes, n_keys + np.arange(alone.size)])
        n_keys += alone.size
    taken = frame.take(rows).reset_index(drop=True)
    if state.indicator:
        n_alone = rows.size - pairs.size
        kinds = [*np.array(KINDS, object)[relation.kinds[pairs]].tolist(), *[None] * n_alone]
        taken[_MATCH] = pd.Series(kinds, dtype="str")
        taken[_DISTANCE] = np.concatenate([relation.distances[pairs], np.full(n_alone, np.nan)])
    return RightSide(taken, taken.iloc[:, :0], codes, n_keys, "right")
