"""Keys of several columns of two frames, where no column is a key alone: entity and year, first and last name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.join.keys import KeyColumns
from dfjoin.join.relation.key_evidence import is_row_number, reason_against
from dfjoin.search.query import QueryColumn
from dfjoin.transform.evidence.chance import MIN_BITS, evidence_bits
from dfjoin.values.header_meaning import completes_name, is_year_name, names_agree
from dfjoin.values.key_index import Vocabulary
from dfjoin.values.shares import HALF, NEARLY_EVERY

_MOST_PARTS = 8
"""Pairs of columns that are combined."""
_MOST_COLUMNS = 3

SharedPair = tuple[QueryColumn, QueryColumn, NDArray[np.int64]]
"""Two columns that share a value, and the number of each own value on the other side, -1 for none."""


class JointKey(NamedTuple):
    """The columns that are a key together.

    Parameters
    ----------
    labels : tuple of list or None
        On the left and on the right; None if there is no such key.
    reason : str
        Why a single column is no key either, although it is one of its parts; empty if it may be.
    """

    labels: tuple[list[Any], list[Any]] | None
    reason: str = ""


class _KeyPart(NamedTuple):
    own: QueryColumn
    theirs: QueryColumn
    n_matched: int
    has_equal_name: bool
    agrees: bool

    @property
    def containment(self) -> float:
        return self.n_matched / len(self.own.values)

    def is_completed_by(self, other: _KeyPart) -> bool:
        """Tell whether what stands in this pair of columns is a name only together with another pair."""
        return completes_name(self.own.name, other.own.name) and completes_name(self.theirs.name, other.theirs.name)

    @property
    def tells_alone(self) -> bool:
        """Tell whether equal values of a row and its partner are no accident of few or of dense numbers."""
        return self.has_equal_name or self.own.profile.kind == "text"


class _JointRows(NamedTuple):
    """What parts are worth together: rows of the right for each key, keys, keys that match, and those expected."""

    parts: tuple[_KeyPart, ...]
    is_right_key: bool
    is_left_key: bool
    n_keys: int
    n_matched: int
    expected: float

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Order in which keys are taken, the best one last."""
        return self.is_right_key, sum(part.agrees for part in self.parts), self.n_matched

    @property
    def columns(self) -> tuple[set[Any], set[Any]]:
        """The labels of either side."""
        return {part.own.label for part in self.parts}, {part.theirs.label for part in self.parts}


def find_joint_key(
    left: KeyColumns,
    right: KeyColumns,
    shared: Sequence[SharedPair],
    single: tuple[Any, Any] | None,
    threshold: float,
) -> JointKey:
    """Find two or three columns that together are the key of two frames.

    Parameters
    ----------
    left, right : KeyColumns
    shared : sequence of SharedPair
        All pairs of columns that share a value, those of `constant_pairs`, too.
    single : tuple or None
        Labels of the pair that is the best key of one column; the joint key has to contain it.
    threshold : float
        Smallest containment of each column, and of the keys that they make together.

    Returns
    -------
    JointKey

    Notes
    -----
    A part is a pair of columns that reaches the threshold and whose values are equal by more than chance, or whose
    names agree; columns with a namesake on the other side meet that one alone. Where one column is a key of the right
    frame, it is the key, unless its values are a part of names of which the rest stands in another pair of columns
    (`header_meaning.completes_name`): then both are the key, or none is. Parts are a key together if a key that
    both frames have stands in one row of the right frame (or of the left one, where there is no key of one column).
    That their values stand together in rows is evidence, 10 bits and more beyond what independent columns give; where
    every combination occurs, as in a panel of countries and years, equal columns are all that can be known, and these
    must not meet in two orders. A column of one frame that has one value, as when the rows of one country were chosen,
    is a part with its namesake if that has the value, too: the rows of other countries are of other things.

    With a key of one column that the left frame has once, further columns need the same name or hold texts: a shop's
    year of opening is not the year of its sales. If texts of the same name stand on both sides and their combinations
    do not, a single column that is a key on neither side is none either. O(rows × combinations of 8 parts).
    """
    parts = _parts(shared, threshold)
    alone = next((part for part in parts if (part.own.label, part.theirs.label) == single), None)
    is_right_key = alone is not None and _joined(left, right, (alone,)).is_right_key
    if alone is not None and is_right_key:
        parts = [alone, *(part for part in _parts(shared, 0.0) if alone.is_completed_by(part))]
    is_left_key = single is not None and left.query(left.position(single[0])).is_unique
    n_tried, apart = 0, ""
    key: _JointRows | None = None
    for size in range(2, _MOST_COLUMNS + 1):
        found = []
        for chosen in _choices(parts, size, key):
            own, theirs = [part.own.label for part in chosen], [part.theirs.label for part in chosen]
            if len(set(own)) < size or len(set(theirs)) < size:
                continue
            if single is not None and single not in zip(own, theirs, strict=True):
                continue
            n_tried += 1
            joint = _joined(left, right, chosen)
            if not (joint.is_right_key or (joint.is_left_key and single is None)):
                continue
            rest = [part for part in chosen if (part.own.label, part.theirs.label) != single]
            if joint.n_matched >= threshold * joint.n_keys:
                if not is_left_key or all(part.tells_alone for part in rest):
                    found.append(joint)
            elif is_right_key or (
                single is not None and not is_left_key and all(p.has_equal_name and p.tells_alone for p in rest)
            ):
                names = " and ".join(map(str, sorted(own, key=left.position)))
                apart = f"too few pairs of {names} stand in one row of the other frame"
        # rows that a part of a name joins as well need no evidence of their own
        best = _best(found, 0.0 if is_right_key else MIN_BITS + math.log2(max(1, n_tried)))
        if key is None or (best is not None and best.is_right_key):
            key = best
        if key is not None and key.is_right_key:
            break  # else one more column may tell the rows of the right frame apart
    if key is None:
        return JointKey(None, apart)
    ordered = sorted(key.parts, key=lambda part: left.position(part.own.label))
    return JointKey(([part.own.label for part in ordered], [part.theirs.label for part in ordered]))


def _choices(parts: Sequence[_KeyPart], size: int, key: _JointRows | None) -> Iterable[tuple[_KeyPart, ...]]:
    """Return the parts that may be a key: some, or those of a smaller key and one more."""
    if key is None:
        return combinations(parts, size)
    return ((*key.parts, part) for part in parts if all(part is not own for own in key.parts))


def pairs_of_one_value(left: KeyColumns, others: Iterable[QueryColumn]) -> list[SharedPair]:
    """List the columns of one value and their namesakes among columns of the right frame that have it."""
    names = {theirs.name.casefold(): theirs for theirs in others}
    pairs = [(own, names[own.name.casefold()]) for own in left.constants() if own.name.casefold() in names]
    numbered = [(own, theirs, Vocabulary(theirs.values).codes_of(own.values)) for own, theirs in pairs]
    return [(own, theirs, numbers) for own, theirs, numbers in numbered if (numbers >= 0).all()]


def constant_pairs(left: KeyColumns, right: KeyColumns) -> list[SharedPair]:
    """List the columns of one value, on either side, with their namesakes on the other side that have it."""
    turned = [(own, theirs) for theirs, own, _ in pairs_of_one_value(right, left.candidates())]
    return [
        *pairs_of_one_value(left, right.candidates()),
        *((own, theirs, Vocabulary(theirs.values).codes_of(own.values)) for own, theirs in turned),
    ]


def _parts(shared: Sequence[SharedPair], threshold: float) -> list[_KeyPart]:
    """Return the pairs of columns that may be parts of a key, those whose names agree first."""
    found = []
    for own, theirs, numbers in shared:
        n_matched = int(np.count_nonzero(numbers >= 0))
        if n_matched < threshold * len(own.values) or (is_row_number(own) and is_row_number(theirs)):
            continue
        has_equal_name = own.name.casefold() == theirs.name.casefold()
        agrees = has_equal_name or names_agree(own.name, theirs.name)
        agrees = agrees or (is_year_name(own.name) and is_year_name(theirs.name))
        if agrees or not reason_against(own, theirs, n_matched, 1.0, len(shared)):
            found.append(_KeyPart(own, theirs, n_matched, has_equal_name, agrees))
    for is_named in (lambda part: part.has_equal_name, lambda part: part.agrees):
        mine = {part.own.label for part in found if is_named(part)}
        others = {part.theirs.label for part in found if is_named(part)}
        found = [p for p in found if is_named(p) or not (p.own.label in mine or p.theirs.label in others)]
    return sorted(found, key=lambda part: (not part.agrees, -part.containment))[:_MOST_PARTS]


def _joined(left: KeyColumns, right: KeyColumns, parts: tuple[_KeyPart, ...]) -> _JointRows:
    """Count the keys that parts make together, and those that would match if the columns were independent."""
    mine, theirs = left.index([part.own.label for part in parts]), right.index([part.theirs.label for part in parts])
    partners = theirs.match(mine.parts)
    counts = np.bincount(theirs.codes[theirs.codes >= 0], minlength=theirs.n_keys)
    own_counts = np.bincount(partners[partners >= 0], minlength=theirs.n_keys)
    n_matched = int(np.count_nonzero(own_counts))
    if n_matched:
        counts, own_counts = counts[own_counts > 0], own_counts[own_counts > 0]
    else:  # then the rows of the right frame alone tell whether it is a key there
        own_counts = np.ones_like(counts)
    n_pairs = int((counts * own_counts).sum())
    present = np.flatnonzero(theirs.codes >= 0)
    first_rows = present[np.unique(theirs.codes[present], return_index=True)[1]]
    expected = np.ones(theirs.n_keys)
    for number, (own, other) in enumerate(zip(mine.parts, theirs.parts, strict=True)):
        numbers, rows = theirs.value_codes(number, own), own.row_counts()
        held = np.bincount(numbers[numbers >= 0], rows[numbers >= 0], len(other))
        expected *= held[other.codes[first_rows]] / max(1, int(rows.sum()))
    return _JointRows(
        parts,
        bool(own_counts.sum() >= NEARLY_EVERY * n_pairs),
        bool(counts.sum() >= NEARLY_EVERY * n_pairs),
        mine.n_keys,
        n_matched,
        float(expected.sum()),
    )


def _best(found: Sequence[_JointRows], needed: float) -> _JointRows | None:
    """Return the best key of which chance does not explain that its values stand together, if there is one."""
    kept = [
        joint
        for joint in found
        if joint.expected > HALF or evidence_bits(joint.n_matched, joint.n_keys, joint.expected) >= needed
    ]
    if not kept:
        return None
    best = max(kept, key=lambda joint: joint.rank)
    is_open = any(j is not best and j.rank == best.rank and j.columns == best.columns for j in kept)
    return None if is_open else best
