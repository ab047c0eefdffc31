"""Choosing the key columns of two frames when the user names none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.join.keys import KeyColumns
from dfjoin.join.relation.joint_key import SharedPair, constant_pairs, find_joint_key, pairs_of_one_value
from dfjoin.join.relation.key_evidence import (
    is_row_number,
    one_sided,
    reason_against,
    rows_agree,
    rows_contradict,
)
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.pair_score import score_pair
from dfjoin.search.usefulness.ranking import VERDICTS
from dfjoin.values.header_meaning import is_part_of_name, names_agree
from dfjoin.values.key_index import Vocabulary, number_rows
from dfjoin.values.shares import HALF, MOST

_MAX_NOTES = 50
_CHANCE = dict(VERDICTS)["weak"]
"""Integers of a lower score are no key by themselves."""


class EqualKeys(NamedTuple):
    """The columns that are keys by equal values, and those that are none.

    Parameters
    ----------
    keys : tuple of list or None
        Labels on the left and on the right.
    passed_over : list of (str, str)
        The best pairs that did not pass, and why.
    no_keys : list of tuple
        Labels of both sides of pairs whose shared values stand in many rows of both sides: they are no key by a
        program or by likeness either.
    """

    keys: tuple[list[Any], list[Any]] | None
    passed_over: list[tuple[str, str]]
    no_keys: list[tuple[Any, Any]]


def choose_equal_keys(left: KeyColumns, right: KeyColumns, threshold: float) -> EqualKeys:
    """Choose the pair of columns that share the most, or the columns that are a key together.

    A pair is passed over below the threshold; if its values stand in many rows on both sides, which is no key; and
    if chance may explain what is shared, as with row numbers (`key_evidence.reason_against`), unless other
    columns of the same rows agree (`key_evidence.rows_agree`). The others are ranked by containment, then shared
    values, then by whether their names agree, then by whether the right column is a key. Where the best one is no key
    of the right frame, there is none, or it holds parts of names, two or three columns may be
    (`joint_key.find_joint_key`).

    Parameters
    ----------
    left, right : KeyColumns
    threshold : float
        Smallest containment of the left column in the right one.

    Returns
    -------
    EqualKeys

    Raises
    ------
    InvalidParameterError
        If the two best pairs are equally good, and other rows meet by either.
    """
    shared = _shared_pairs(left, right)
    scored, passed, no_keys = _scored(left, right, shared, threshold)
    notes = [(columns, reason) for _, columns, reason in passed[:_MAX_NOTES]]
    single = (scored[0][1].label, scored[0][2].label) if scored else None
    shared += constant_pairs(left, right)
    if not scored or not scored[0][2].is_unique or is_part_of_name(scored[0][1].name, (own.name for own, *_ in shared)):
        joint = find_joint_key(left, right, shared, single, threshold)
        if joint.labels is not None:
            parts = {f"{own} = {theirs}" for own, theirs in zip(*joint.labels, strict=True)}
            return EqualKeys(joint.labels, [note for note in notes if note[0] not in parts], no_keys)
        if single is not None and joint.reason:
            notes.insert(0, (f"{single[0]} = {single[1]}", f"{joint.reason}; name it by `on` if that is meant"))
            return EqualKeys(None, notes, [*no_keys, single])
    _check_no_rival(scored)
    return EqualKeys(None if single is None else ([single[0]], [single[1]]), notes, no_keys)


def _check_no_rival(scored: Sequence[tuple[Any, ...]]) -> None:
    """Raise an error if the two best pairs are equally good, and other rows meet by either."""
    tied = [pair for rank, *pair in scored if rank == scored[0][0]]
    rival = next((pair for pair in tied[1:] if not _meet_alike(tied[0], pair)), None)
    if rival is not None:
        pairs = " and ".join(f"{own.label!r} = {theirs.label!r}" for own, theirs, _ in (tied[0], rival))
        raise InvalidParameterError(
            f"`on` must be given: {pairs} join equally well (containment {scored[0][0][0]:.3f}); "
            "pass `on` and `right_on`"
        )


def choose_key_of_one_value(left: KeyColumns, right: KeyColumns, threshold: float) -> EqualKeys:
    """Choose a column of one value as the key, as in a frame of one row: one row of its namesake has to have it.

    Where nothing else relates two frames. Parameters, result and errors are those of `choose_equal_keys`.
    """
    ones, notes = _ones_of_one_row(left, right)
    scored, passed, _ = _scored(left, right, ones, threshold)
    _check_no_rival(scored)
    notes = [*notes, *((columns, reason) for _, columns, reason in passed)][:_MAX_NOTES]
    return EqualKeys(([scored[0][1].label], [scored[0][2].label]) if scored else None, notes, [])


def _ones_of_one_row(left: KeyColumns, right: KeyColumns) -> tuple[list[SharedPair], list[tuple[str, str]]]:
    """Return the columns of one value that one row of the other frame has, and why other columns are no key."""
    found = []
    reasons = [
        (own, theirs, "the other frame has one value of it")
        for theirs, own, _ in pairs_of_one_value(right, left.candidates())
    ]
    names = [[column.name for column in (*side.candidates(), *side.constants())] for side in (left, right)]
    for own, theirs, numbers in pairs_of_one_value(left, (*right.candidates(), *right.constants())):
        n_rows = int(theirs.values.row_counts()[numbers[0]])
        if n_rows > 1:
            reasons.append((own, theirs, f"it has one value, which stands in {n_rows:,} rows of the other frame"))
        elif is_part_of_name(own.name, names[0]) and is_part_of_name(theirs.name, names[1]):
            reasons.append((own, theirs, "it is a part of a name, of which the rest differs"))
        else:
            found.append((own, theirs, numbers))
    ending = "name it by `on` if that is meant"
    return found, [(f"{own.name} = {theirs.name}", f"no key: {why}; {ending}") for own, theirs, why in reasons]


def _scored(
    left: KeyColumns, right: KeyColumns, shared: Sequence[SharedPair], threshold: float
) -> tuple[list[tuple[Any, ...]], list[tuple[float, str, str]], list[tuple[Any, Any]]]:
    """Return the pairs that may be a key, the best first, those that are none with the reason, and repeated ones."""
    scored: list[tuple[Any, ...]] = []
    passed = []
    no_keys = []
    for own, theirs, tokens in shared:
        matched = int(np.count_nonzero(tokens >= 0))
        containment = matched / len(own.values)
        share, repeated = _repeated(own, theirs, tokens)
        if repeated:
            no_keys.append((own.label, theirs.label))
        if containment < threshold:
            reason = (
                f"containment {containment:.3f} is below the threshold {threshold:g}; name it by `on` if it is meant"
            )
        elif repeated:
            reason = repeated
        else:
            reason = _reason_against(left, right, (own, theirs), tokens, share, len(shared))
        if reason:
            passed.append((containment, f"{own.name} = {theirs.name}", reason))
        else:
            has_equal_name = own.name.casefold() == theirs.name.casefold()
            scored.append(((containment, matched, has_equal_name, theirs.is_unique), own, theirs, tokens))
    passed.sort(key=lambda item: -item[0])
    scored.sort(key=lambda item: item[0], reverse=True)
    return scored, passed, no_keys


def _meet_alike(some: Sequence[Any], other: Sequence[Any]) -> bool:
    """Tell whether the same rows of both sides meet by one pair of columns and by another, as by codes and by names.

    Both share as many values.
    """
    codes = []
    for own, theirs, tokens in (some, other):
        is_met = np.zeros(len(theirs.values) + 1, bool)  # the last one serves code -1
        is_met[tokens[tokens >= 0]] = True
        rows = np.concatenate([np.append(tokens, -1)[own.values.codes], theirs.values.codes])
        codes.append(np.where(is_met[rows], rows, -1))
    if ((codes[0] >= 0) != (codes[1] >= 0)).any():
        return False
    sizes = [len(theirs.values) for _, theirs, _ in (some, other)]
    _, n_pairs, _ = number_rows(list(zip(codes, sizes, strict=True)))
    return n_pairs == np.count_nonzero(some[2] >= 0)


def _shared_pairs(left: KeyColumns, right: KeyColumns) -> list[SharedPair]:
    """List the pairs of columns that share a value, with the number of each own value on the other side or -1."""
    found = []
    own_columns = left.candidates()
    for theirs in right.candidates():
        vocabulary = Vocabulary(theirs.values)
        for own in own_columns:
            numbers = vocabulary.codes_of(own.values)
            if (numbers >= 0).any():
                found.append((own, theirs, numbers))
    return found


def _repeated(own: QueryColumn, theirs: QueryColumn, numbers: NDArray[np.int64]) -> tuple[float, str]:
    """Return how one-sided the rows of shared values are, and why these are no key, an empty text if they may be."""
    is_shared = numbers >= 0
    rows = own.values.row_counts()[is_shared], theirs.values.row_counts()[numbers[is_shared]]
    share = one_sided(*rows)
    # names differ, as of one row's person and another one's spouse: then nearly every key stands in one row of a side
    if share >= (HALF if names_agree(own.name, theirs.name) else MOST):
        return share, ""
    return share, (
        f"no key: a shared value stands in {rows[0].mean():.1f} rows on the left and {rows[1].mean():.1f} on the "
        "right; name it by `on` if that is meant"
    )


def _reason_against(
    left: KeyColumns,
    right: KeyColumns,
    columns: tuple[QueryColumn, QueryColumn],
    numbers: NDArray[np.int64],
    share: float,
    n_pairs: int,
) -> str:
    """Return why two columns that share enough values are not the key, an empty text if they may be."""
    own, theirs = columns
    is_shared = numbers >= 0
    matched = int(is_shared.sum())
    agree = names_agree(own.name, theirs.name)
    both = own.profile.has_range and theirs.profile.has_range
    score = score_pair(own, theirs, is_shared, right.frame.shape[1]) if both and not agree else 1.0
    if score < _CHANCE:
        reason = f"accidental, chance explains the shared values (score {score:.2f})"
    elif both and is_row_number(own) and is_row_number(theirs) and not agree:
        reason = "row numbers"
    else:
        reason = reason_against(own, theirs, matched, share, n_pairs)
    return _confirmed(reason, left, right, own, theirs)


def _confirmed(reason: str, left: KeyColumns, right: KeyColumns, own: QueryColumn, theirs: QueryColumn) -> str:
    """Return a reason against a key unless other columns of the same rows agree; or another one, if they contradict."""
    if reason and not rows_agree(left, right, own, theirs):
        return f"{reason}; no other columns of these rows agree"
    if rows_contradict(left, right, own, theirs):
        return "equal codes of different things: the names in these rows stand in other rows, too"
    return ""


def reason_against_padded(left: KeyColumns, right: KeyColumns, keys: tuple[list[Any], list[Any]]) -> str:
    """Return why integers, written with the zeros of codes, are no key, an empty text if they may be.

    They need the evidence that integers need as they are: row numbers with a zero in front are still row numbers.

    Parameters
    ----------
    left, right : KeyColumns
        With the width of the codes.
    keys : tuple of list
        One column each, that nobody named.
    """
    own, theirs = (side.query(side.position(labels[0])) for side, labels in zip((left, right), keys, strict=True))
    numbers = Vocabulary(theirs.values).codes_of(own.values)
    share, repeated = _repeated(own, theirs, numbers)
    if repeated:
        return repeated
    n_pairs = len(left.candidates()) * len(right.candidates())
    matched = int(np.count_nonzero(numbers >= 0))
    reason = reason_against(own, theirs, matched, share, n_pairs, are_integers=True)
    return _confirmed(reason, left, right, own, theirs)
