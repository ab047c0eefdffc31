"""Rows of one key on both sides: other columns tell which of them belong together, if they agree for the other keys."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.join.keys import KeyColumns
from dfjoin.join.relation.key_relation import DistinctKeys, KeyPairs, Relation
from dfjoin.kernels.sorting import distinct_numbers
from dfjoin.search.query import QueryColumn
from dfjoin.transform.evidence.chance import MIN_BITS, evidence_bits
from dfjoin.values.key_index import KeyIndex

_MAX_UNIQUE = 500
_MAX_TIED = 200
_MAX_CELLS = 64
"""Pairs of rows of one key that are compared."""
_MAX_COLUMNS = 20
_MARGIN = 2.0
"""Bits by which a pair of rows must be worse than the best of either row, to be given up."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class _Witness:
    """A pair of columns that agree for keys of one row, and what agreement and its absence say, in bits."""

    own: int
    theirs: int
    agreeing: float
    differing: float


def break_ties(relation: Relation, left: KeyColumns, right: KeyColumns) -> Relation:
    """Tell rows of one key apart by other columns.

    Parameters
    ----------
    relation : Relation
    left, right : KeyColumns
        The frames.

    Returns
    -------
    Relation
        The same one, unless rows could be distinguished. Their keys are then several keys.

    Notes
    -----
    Two presidents of one name, in two lists, are four pairs of rows, and two of them are wrong. Keys that stand
    in one row on either side show which pairs of columns agree (by 10 bits more than if rows were paired at random):
    cells of equal value, or of which one holds all numbers of the other. These
    columns are witnesses for keys of several rows, each with the logarithm of how much more often it agrees
    for partners than for others (Fellegi and Sunter 1969). A pair of rows is given up if it is worse than the best
    pair of both its rows by 2 bits, and the pairs that stay make each row a partner of the same rows as its
    fellows. At most 20 columns of a side, 500 keys to learn from, and 200 keys to decide; O(columns² × keys).
    """
    own_codes, their_codes = relation.left.index.codes, relation.right.index.codes
    own_set, their_set, n_sets = _sets_of_keys(relation)
    members = [
        np.append(keys, -1)[codes] for keys, codes in zip((own_set, their_set), (own_codes, their_codes), strict=True)
    ]
    counts = [np.bincount(rows[rows >= 0], minlength=n_sets) for rows in members]
    tied = np.flatnonzero((counts[0] > 1) & (counts[1] > 1))
    unique = np.flatnonzero((counts[0] == 1) & (counts[1] == 1))
    if not 0 < tied.size <= _MAX_TIED:
        return relation
    sides = left.candidates()[:_MAX_COLUMNS], right.candidates()[:_MAX_COLUMNS]
    firsts = [_first_rows(rows, n_sets)[unique[:_MAX_UNIQUE]] for rows in members]
    witnesses = _witnesses(sides, (firsts[0], firsts[1]))
    if not witnesses:
        return relation
    groups: list[tuple[list[int], list[int]]] = []
    for number in tied.tolist():
        own, theirs = (np.flatnonzero(rows == number).tolist() for rows in members)
        groups += _groups(sides, witnesses, own, theirs)
    return _with_groups(relation, groups) if groups else relation


def _sets_of_keys(relation: Relation) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Number the sets of keys that pairs connect; return the set of each left key, of each right key, and their number.

    Keys without a partner, and sets whose keys are not all partners of each other, have the number -1.
    """
    pairs = relation.pairs
    n_left, n_right = relation.left.index.n_keys, relation.right.index.n_keys
    numbers = np.arange(n_left)
    while True:
        least = np.full(n_right, n_left)
        np.minimum.at(least, pairs.right, numbers[pairs.left])
        now = numbers.copy()
        np.minimum.at(now, pairs.left, least[pairs.right])
        if (now == numbers).all():
            break
        numbers = now
    sizes = (
        np.bincount(numbers[distinct_numbers(pairs.left)], minlength=n_left),
        np.bincount(least[distinct_numbers(pairs.right)], minlength=n_left + 1)[:n_left],
        np.bincount(numbers[pairs.left], minlength=n_left),
    )
    is_whole = (sizes[2] > 0) & (sizes[0] * sizes[1] == sizes[2])
    position = np.append(np.where(is_whole, np.cumsum(is_whole) - 1, -1), -1)
    own = np.full(n_left, -1, np.int64)
    own[pairs.left] = position[numbers[pairs.left]]
    return own, position[least].astype(np.int64), int(is_whole.sum())


def _first_rows(codes: NDArray[np.int64], n_keys: int) -> NDArray[np.int64]:
    """Return the first row of each key."""
    rows = np.full(n_keys, -1, np.int64)
    present = np.flatnonzero(codes >= 0)[::-1]
    rows[codes[present]] = present
    return rows


def _text(column: QueryColumn, row: int) -> str | None:
    """Return a cell in canonical form."""
    code = int(column.values.codes[row])
    return column.values.value(code) if code >= 0 else None


def _agrees(some: str | None, other: str | None) -> bool | None:
    """Tell whether two cells agree; None where one is missing."""
    if some is None or other is None:
        return None
    if some == other:
        return True
    numbers = set(_NUMBER.findall(some)), set(_NUMBER.findall(other))
    return all(numbers) and (numbers[0] <= numbers[1] or numbers[1] <= numbers[0])


def _witnesses(
    sides: tuple[list[QueryColumn], list[QueryColumn]], rows: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> list[_Witness]:
    """Find the pairs of columns that agree for partners, and hardly for others."""
    texts = [
        [[_text(column, row) for row in chosen.tolist()] for column in columns]
        for columns, chosen in zip(sides, rows, strict=True)
    ]
    n = rows[0].size
    found = []
    for own, theirs in product(range(len(sides[0])), range(len(sides[1]))):
        mine, others = texts[0][own], texts[1][theirs]
        agreeing = [seen for a, b in zip(mine, others, strict=True) if (seen := _agrees(a, b)) is not None]
        if not agreeing or 2 * len(agreeing) < n:
            continue
        strange = [
            seen
            for shift in (1, 1 + n // 3)
            for a, b in zip(mine, [*others[shift:], *others[:shift]], strict=True)
            if (seen := _agrees(a, b)) is not None
        ]
        usual = (sum(strange) + 0.5) / (len(strange) + 1)
        share = (sum(agreeing) + 0.5) / (len(agreeing) + 1)
        if evidence_bits(sum(agreeing), len(agreeing), usual) >= MIN_BITS:
            found.append(_Witness(own, theirs, math.log2(share / usual), math.log2((1 - share) / (1 - usual))))
    return found


def _groups(
    sides: tuple[list[QueryColumn], list[QueryColumn]], witnesses: list[_Witness], own: list[int], theirs: list[int]
) -> list[tuple[list[int], list[int]]]:
    """Split the rows of one key into groups of partners; nothing if they cannot be distinguished."""
    if len(own) * len(theirs) > _MAX_CELLS:
        return []
    scores = np.zeros((len(own), len(theirs)))
    for witness in witnesses:
        columns = sides[0][witness.own], sides[1][witness.theirs]
        for (i, a), (j, b) in product(enumerate(own), enumerate(theirs)):
            seen = _agrees(_text(columns[0], a), _text(columns[1], b))
            scores[i, j] += 0.0 if seen is None else witness.agreeing if seen else witness.differing
    is_kept = scores >= np.maximum(scores.max(axis=1, keepdims=True), scores.max(axis=0, keepdims=True)) - _MARGIN
    if is_kept.all():
        return []
    shapes = {tuple(row) for row in is_kept.tolist()}
    if not all(map(any, shapes)) or any(sum(columns) != 1 for columns in np.array(sorted(shapes)).T.tolist()):
        return []  # some row would have partners that its fellows lack
    return [
        (
            [own[i] for i in range(len(own)) if tuple(is_kept[i].tolist()) == shape],
            np.array(theirs)[list(shape)].tolist(),
        )
        for shape in sorted(shapes)
    ]


def _with_groups(relation: Relation, groups: list[tuple[list[int], list[int]]]) -> Relation:
    """Give the rows of each group a key of their own, the partner of each other."""
    sides = []
    replaced: list[NDArray[np.int64]] = []
    for side, rows_of in zip((relation.left, relation.right), zip(*groups, strict=True), strict=True):
        codes, n_keys = side.index.codes.copy(), side.index.n_keys
        origin = [int(codes[rows[0]]) for rows in rows_of]
        replaced.append(np.unique(codes[np.concatenate([np.array(rows) for rows in rows_of])]))
        for number, rows in enumerate(rows_of):
            codes[rows] = n_keys + number
        kept = pa.array([*range(n_keys), *origin])
        columns = {name: array.take(kept) for name, array in side.columns.items()}
        sides.append((DistinctKeys(KeyIndex(codes, n_keys + len(groups)), columns), origin))
    (left, own), (right, _) = sides
    pairs = relation.pairs
    numbers = np.arange(len(groups))
    at = np.array([np.flatnonzero(pairs.left == key)[0] for key in own])
    is_old = ~np.isin(pairs.left, replaced[0]) & ~np.isin(pairs.right, replaced[1])
    return Relation(
        relation.left_columns,
        relation.right_columns,
        left,
        right,
        KeyPairs(
            np.concatenate([pairs.left[is_old], relation.left.index.n_keys + numbers]),
            np.concatenate([pairs.right[is_old], relation.right.index.n_keys + numbers]),
            np.concatenate([pairs.kinds[is_old], pairs.kinds[at]]),
            np.concatenate([pairs.distances[is_old], pairs.distances[at]]),
            np.concatenate([pairs.chances[is_old], pairs.chances[at]]),
        ),
        relation.programs,
        relation.fuzzy,
        relation.elements,
        relation.n_respelled,
    )
