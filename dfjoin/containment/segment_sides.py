"""The columns of two segments as sets over the same elements: groups of values that the same columns hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.containment.set_collection import SetCollection
from dfjoin.index.reading import reading
from dfjoin.index.segment import Segment
from dfjoin.kernels.lists.vocabulary import find_tokens
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.kernels.records import Dictionary

__all__ = ["SegmentSides", "columns_to_join", "sides_of"]

_TOKENS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class SegmentSides:
    """Columns of two segments as collections.

    Parameters
    ----------
    left, right : SetCollection
        The same object where both are the same columns of one segment.
    left_columns, right_columns : ndarray of int64
        Column id of each set.
    weights : ndarray of int64, shape (n_elements,)
        Values that each element stands for.
    held : ndarray of int64, shape (len(left),)
        Values of each left column that the right segment has in a list or a column of its own.
    """

    left: SetCollection
    right: SetCollection
    left_columns: NDArray[np.int64]
    right_columns: NDArray[np.int64]
    weights: NDArray[np.int64]
    held: NDArray[np.int64]


def columns_to_join(segment: Segment, min_cardinality: int) -> NDArray[np.int64]:
    """Return the columns of a segment that are indexed, not deleted, and have enough distinct values."""
    numbers = segment.catalog.numbers
    is_wanted = (numbers["is_indexed"] > 0) & (numbers["cardinality"] >= min_cardinality)
    if segment.alive is not None:
        is_wanted &= segment.alive > 0
    return np.flatnonzero(is_wanted)


def sides_of(
    left: Segment, right: Segment, left_columns: NDArray[np.int64], right_columns: NDArray[np.int64]
) -> SegmentSides:
    """Write columns of two segments as sets over the same elements.

    Parameters
    ----------
    left, right : Segment
        May be the same.
    left_columns, right_columns : ndarray of int64

    Returns
    -------
    SegmentSides

    Notes
    -----
    Values that the same columns of the left segment hold, and the same columns of the right one, are one element: of
    one segment these are its distinct posting lists, so that a column of a million values is often a set of a few.
    O(entries of the sets), and O(values) for two segments.
    """
    if left is right:
        return _within(left, left_columns, right_columns)
    left_groups, right_groups, weights = _shared_groups(left, right)
    by_right = np.argsort(right_groups, kind="stable")
    n_elements = weights.size
    own = _expanded(left, left_columns, left_groups, np.arange(n_elements))
    theirs = _expanded(right, right_columns, right_groups[by_right], by_right)
    lefts = SetCollection(*own, n_elements)
    held = _held(lefts, weights)
    return SegmentSides(lefts, SetCollection(*theirs, n_elements), left_columns, right_columns, weights, held)


def _within(segment: Segment, left: NDArray[np.int64], right: NDArray[np.int64]) -> SegmentSides:
    """Return columns of one segment as sets of its posting lists."""
    tokens = segment.sound_tokens("group_indptr")
    n_lists = tokens.list_indptr.size - 1
    weights = np.diff(tokens.group_indptr[segment.n_columns :])
    made = [_chosen_sets(segment, columns, n_lists) for columns in ((left,) if left is right else (left, right))]
    return SegmentSides(made[0], made[-1], left, right, weights, _held(made[0], weights))


def _held(sets: SetCollection, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add up the weights of each set."""
    before = np.append(0, np.cumsum(weights[sets.elements]))
    return before[sets.indptr[1:]] - before[sets.indptr[:-1]]


def _chosen_sets(segment: Segment, columns: NDArray[np.int64], n_lists: int) -> SetCollection:
    """Return the posting lists of some columns."""
    tokens = segment.sound_tokens("set_indptr", "set_lists")
    starts = tokens.set_indptr[columns]
    lengths = tokens.set_indptr[columns + 1] - starts
    return SetCollection(np.append(0, np.cumsum(lengths)), tokens.set_lists[expand_stretches(starts, lengths)], n_lists)


def _shared_groups(left: Segment, right: Segment) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Find the values that two segments share: their groups on both sides, and how many values each pair of groups has.

    Ordered by the group on the left side.
    """
    ours, theirs = left.sound_tokens("value_offsets"), right.tokens
    dictionary = Dictionary(theirs.directory, theirs.hash, theirs.value_offsets, theirs.value_bytes)
    keys: list[NDArray[np.uint64]] = [np.empty(0, np.uint64)]
    counts: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    for start in range(0, ours.hash.size, _TOKENS_AT_ONCE):
        stop = min(start + _TOKENS_AT_ONCE, ours.hash.size)
        tokens = np.empty(stop - start, np.int64)
        with reading("value_offsets", "does not fit the values of the segment", right.meta.id):
            find_tokens(
                ours.hash[start:stop], ours.value_offsets[start : stop + 1], ours.value_bytes, dictionary, tokens
            )
        is_found = tokens >= 0
        pairs = (ours.group[start:stop][is_found].astype(np.uint64) << np.uint64(32)) | theirs.group[tokens[is_found]]
        part, n = np.unique(pairs, return_counts=True)
        keys.append(part)
        counts.append(n)
    found, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    weights = np.bincount(inverse, np.concatenate(counts), found.size).astype(np.int64)
    low = np.uint64(2**32 - 1)
    return (found >> np.uint64(32)).astype(np.int64), (found & low).astype(np.int64), weights


def _expanded(
    segment: Segment, columns: NDArray[np.int64], groups: NDArray[np.int64], elements: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the elements of some columns: those of their own group, and those of their posting lists.

    `groups`, ascending, are those of `elements`.
    """
    n_lists = segment.tokens.list_indptr.size - 1
    sets = _chosen_sets(segment, columns, n_lists)
    starts = np.searchsorted(groups, np.arange(segment.n_columns + n_lists + 1))
    owned = np.insert(sets.elements.astype(np.int64) + segment.n_columns, sets.indptr[:-1], columns)
    owner = np.repeat(np.arange(columns.size), sets.sizes + 1)
    lengths = starts[owned + 1] - starts[owned]
    found = elements[expand_stretches(starts[owned], lengths)].astype(np.uint64)
    keys = (np.repeat(owner, lengths).astype(np.uint64) << np.uint64(32)) | found
    keys.sort()
    indptr = np.append(0, np.cumsum(np.bincount(owner, lengths, columns.size).astype(np.int64)))
    return indptr, (keys & np.uint64(2**32 - 1)).astype(np.uint32)
