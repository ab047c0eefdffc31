"""Which relation joins two frames whose keys are not equal: programs and similar texts of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, shortlist, warn
from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import JoinOptions
from dfjoin.join.relation.key_evidence import is_row_number
from dfjoin.join.relation.key_relation import KINDS, Relation
from dfjoin.join.relation.relate import relate
from dfjoin.kernels.sorting import distinct_numbers
from dfjoin.programs.entity_operators import Entity
from dfjoin.programs.name_operators import NormalName
from dfjoin.programs.program import MAX_COLUMNS
from dfjoin.search.query import QueryColumn
from dfjoin.search.spellings import LostZeros, find_lost_zeros_between, is_clearly_more
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.values.cells import CONVERSION_ERRORS, cell_texts
from dfjoin.values.frames import column_position, label_text
from dfjoin.values.header_meaning import clean_names
from dfjoin.values.key_index import expand_pairs
from dfjoin.values.profile import has_fractions
from dfjoin.values.shares import FEW, HALF, HARDLY_ANY, KEY_UNIQUENESS, MOST, NEARLY_ALL

_LEFT_OVER = 0.03
"""Share of the values of both sides from which more than equality is tried for the rest."""
_MAX_MEASURES = 200_000
"""Rows up to which columns of fractions that are not named are looked at as keys: writing them takes a while."""


def choose_relation(
    left: KeyColumns, right: KeyColumns, named: KeyLabels | None, equal: KeyLabels | None, options: JoinOptions
) -> tuple[Relation | None, list[str]]:
    """Look for a relation where equal keys are not enough, or leave texts of both frames without a partner.

    Parameters
    ----------
    left, right : KeyColumns
    named, equal : KeyLabels or None
        The keys that the caller names, and those that are equal, which the caller named or which were found.
    options : JoinOptions

    Returns
    -------
    relation : Relation or None
    tried : list of str
        What was tried and failed.
    """
    if equal is None or not are_enough(left, right, equal, named is not None, options):
        return _find_relation(left, right, named, options)
    if not leaves_texts(left, right, equal, _LEFT_OVER):
        return None, []
    relation, tried = _find_relation(left, right, equal, options, equals_first=True)
    if named is None and leaves_texts(left, right, equal, HARDLY_ANY):
        relation = _find_wider_relation(left, right, equal, relation, options)
    return relation, tried


def _find_relation(
    left: KeyColumns, right: KeyColumns, named: KeyLabels | None, options: JoinOptions, *, equals_first: bool = False
) -> tuple[Relation | None, list[str]]:
    """Look for programs, or similar texts, that relate the keys; return what was tried and failed, too."""
    own_texts, other_texts = texts_of(left.frame), texts_of(right.frame)
    on, right_on = None, None
    if named is not None:
        on, right_on = [own_texts[label] for label in named[0]], [other_texts[label] for label in named[1]]
    sides = text_columns(left, own_texts, on or []), text_columns(right, other_texts, right_on or [])
    if named is None:
        sides = _without_row_numbers(left, sides[0], own_texts), _without_row_numbers(right, sides[1], other_texts)
    for named_columns, columns in zip((on, right_on), sides, strict=True):
        for name in named_columns or []:
            if name not in columns:
                return None, [f"{name}: booleans and values without text are related by equality alone"]
    relation, tried = relate(*sides, on, right_on, options, equals_first=equals_first)
    # A relation of equal keys alone is the business of the plain join, unless a person has named pairs of keys.
    is_taught = options.examples is not None or options.reviewed is not None
    return relation if relation is not None and (is_taught or relation.pairs.kinds.any()) else None, tried


def reason_against_relation(
    relation: Relation, left: KeyColumns, right: KeyColumns, no_keys: Sequence[tuple[Any, Any]]
) -> str:
    """Return why a relation is refused whose keys stand in many rows of both sides, as brands do in two catalogues.

    What holds for equal keys holds for programs and for likeness: such keys join rows that have nothing to do with each
    other. A program that makes most of the keys is evidence of a key; equality, likeness and normal forms are not.

    Parameters
    ----------
    relation : Relation
        Of columns that nobody named.
    left, right : KeyColumns
    no_keys : sequence of tuple
        See `dfjoin.join.relation.choose_key.EqualKeys`.

    Returns
    -------
    str
        Empty if it is not refused.
    """
    names = texts_of(left.frame), texts_of(right.frame)
    refused = [{names[side][pair[side]] for pair in no_keys} for side in (0, 1)]
    reads_one = not refused[0].isdisjoint(relation.left_columns) or not refused[1].isdisjoint(relation.right_columns)
    is_made = 2 * (relation.pairs.kinds == KINDS.index("program")).sum() >= relation.pairs.kinds.size
    is_made &= not any(
        step.operator in (NormalName, Entity)
        for ranked in relation.programs.programs
        for piece in ranked.program.pieces
        for step in piece.all_steps
    )
    share = relation.one_sided()
    if not (reads_one and share < HALF) and (is_made or share >= MOST):
        return ""
    columns = f"{' + '.join(relation.left_columns)} = {' + '.join(relation.right_columns)}"
    return f"{columns}: no key: rows have several partners on both sides; name it by `on` if that is meant"


def _find_wider_relation(
    left: KeyColumns, right: KeyColumns, equal: KeyLabels, relation: Relation | None, options: JoinOptions
) -> Relation | None:
    """Look for a relation of other columns that joins the same rows as equal keys do, and more.

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
    same, found = distinct_numbers(same), distinct_numbers(found)
    rows, found_rows = (distinct_numbers(pairs // n_right) for pairs in (same, found))
    both = np.intersect1d(rows, found_rows, assume_unique=True)
    agreeing = distinct_numbers(np.intersect1d(same, found, assume_unique=True) // n_right)
    is_better = found_rows.size > rows.size and agreeing.size >= max(FEW, NEARLY_ALL * both.size)
    return wider if is_better else relation


def _without_row_numbers(side: KeyColumns, columns: dict[str, Column], names: dict[Any, str]) -> dict[str, Column]:
    """Leave out columns that number the rows: any two of them are related by accident. The last column stays."""
    numbers = {names[query.label] for query in side.candidates() if is_row_number(query)}
    return {name: column for name, column in columns.items() if name not in numbers} or columns


def text_columns(side: KeyColumns, names: dict[Any, str], named: Sequence[str]) -> dict[str, Column]:
    """Return the columns that can be keys as strings, with the canonical values that are known of them.

    Fractions are keys where they are named, or where they are few.
    """
    found = {}
    for position, label in enumerate(side.frame.columns):
        try:
            array = side.array(position)
        except InvalidTypeError:
            continue
        is_fraction = has_fractions(array)
        is_large = len(array) > _MAX_MEASURES and names[label] not in named
        if pa.types.is_boolean(array.type) or (is_fraction and is_large):
            continue
        known = None if pa.types.is_floating(array.type) else partial(side.values, position)
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        try:
            texts = array if pa.types.is_string(array.type) else pc.cast(array, pa.large_string())
            if pa.types.is_timestamp(array.type):  # days have no midnight: pandas knows no type of dates
                texts = pc.replace_substring_regex(texts, r"( 00:00:00)?(\.0+)?$", "")
        except CONVERSION_ERRORS:  # as a time of a zone that is not known here
            texts = cell_texts(array)
        found[names[label]] = Column(names[label], texts, known, is_fraction)
    return found


def texts_of(frame: pd.DataFrame) -> dict[Any, str]:
    """Name each column of a frame as text, each name once."""
    texts = [label_text(label) for label in frame.columns]
    if len(set(texts)) < len(texts):
        texts = clean_names(texts)
    return dict(zip(frame.columns, texts, strict=True))


# Which equal columns are the key of two frames: those that are named, if they are enough, and lost zeros.


KeyLabels = tuple[list[Any], list[Any]]
"""The key columns of the left frame, and those of the right one."""


def named_keys(df: pd.DataFrame, other: pd.DataFrame, options: JoinOptions) -> KeyLabels | None:
    """Return the key columns that the caller names, checked."""
    on, right_on = options.on, options.right_on
    if on is None:
        if right_on is not None:
            raise InvalidParameterError("`on` must be given together with `right_on`")
        return None
    labels = own_labels(df, on, "on")
    if right_on is None:
        named = on if isinstance(on, list) else [on]
        missing = [label for label in named if label not in other.columns]
        if missing:
            raise ColumnNotFoundError(
                f"`on` must name columns of both frames when `right_on` is not given; the other frame has "
                f"{shortlist(other.columns)}, not {missing[0]!r}: pass `right_on`"
            )
    right_labels = own_labels(other, on if right_on is None else right_on, "on" if right_on is None else "right_on")
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


def own_labels(df: pd.DataFrame, on: Any, argument: str) -> list[Any]:
    """Return the key columns that `on` names, checked; a name may stand for the one column below it."""
    labels = list(on) if isinstance(on, list) else [on]
    if not labels:
        raise InvalidParameterError(f"`{argument}` must name at least one column, got an empty list")
    return [df.columns[column_position(df, label, argument)] for label in labels]


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
