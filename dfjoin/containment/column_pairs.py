"""The containment join of the columns of a lake: inclusion dependencies, whole or in part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.containment.external_join import external_pairs
from dfjoin.containment.partial_join import needed_counts, overlap_pairs
from dfjoin.containment.result_stream import ContainedPairs
from dfjoin.containment.set_collection import SetCollection
from dfjoin.containment.subset_join import METHODS, ContainmentOptions
from dfjoin.containment.subset_pairs import SetPairs
from dfjoin.errors import warn
from dfjoin.index.catalog import Catalog
from dfjoin.index.segment import Segment, reading
from dfjoin.kernels.lists.vocabulary import find_tokens
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.store.snapshot import Snapshot

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
    dictionary = theirs.dictionary
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


_NAMES = ("left_table", "left_column", "right_table", "right_column")
_SCHEMA = pa.schema(
    [(name, pa.string()) for name in _NAMES]
    + [(name, pa.int64()) for name in ("left_cardinality", "right_cardinality", "matched")]
    + [("containment", pa.float64())]
)


@dataclass(frozen=True)
class ColumnPairs:
    """Pairs of columns of one segment with columns of one segment, the left ones contained in the right ones.

    Parameters
    ----------
    segments : tuple of int
        Number of the left and of the right segment.
    left, right : ndarray of int64, shape (n,)
        Columns.
    matched : ndarray of int64, shape (n,)
        Values of the left column that the right one holds.
    """

    segments: tuple[int, int]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    matched: NDArray[np.int64]


def join_columns(
    snapshot: Snapshot, min_cardinality: int, options: ContainmentOptions, part: tuple[int, int] = (0, 1)
) -> ContainedPairs:
    """Join the columns of a lake, or one of several parts of its left columns, see `dfjoin.Lake.containment_join`."""
    if snapshot.settings.keep_sets is False:
        warn("the index keeps no sets of columns with signatures (keep_sets=False): these are in no pair")

    def batches() -> Iterator[pa.RecordBatch]:
        for pairs in find_column_pairs(snapshot, min_cardinality, options, part=part):
            catalogs = [snapshot.segments[number].catalog for number in pairs.segments]
            names = [*_names(catalogs[0], pairs.left), *_names(catalogs[1], pairs.right)]
            sizes = [
                catalog.numbers["cardinality"][columns]
                for catalog, columns in zip(catalogs, (pairs.left, pairs.right), strict=True)
            ]
            share = pairs.matched / np.maximum(1, sizes[0])
            numbers = [pa.array(part) for part in (*sizes, pairs.matched, share)]
            yield pa.record_batch([*names, *numbers], schema=_SCHEMA)

    return ContainedPairs(_SCHEMA, batches, list(_NAMES), f"of the columns of {snapshot.path.name}", options.stats)


def _names(catalog: Catalog, columns: NDArray[np.int64]) -> tuple[pa.Array, pa.Array]:
    """Return the names of the tables of some columns, and of the columns, without a Python text for each."""
    tables = catalog.tables().field("name").take(pa.array(catalog.numbers["table"][columns]))
    return tables, catalog.columns().field("name").take(pa.array(columns))


def find_column_pairs(
    snapshot: Snapshot,
    min_cardinality: int,
    options: ContainmentOptions,
    has_own_tables: bool = False,
    part: tuple[int, int] = (0, 1),
) -> Iterator[ColumnPairs]:
    """Find the pairs of columns of different tables of which the right one holds at least a share of the left one.

    Parameters
    ----------
    snapshot : Snapshot
    min_cardinality : int
        Distinct values of either column, at least.
    options : ContainmentOptions
    has_own_tables : bool
        Pairs of columns of one table, and each column with itself, are among them.
    part : tuple of int
        Number of a part of the left columns, from 0 on, and into how many parts they are cut.

    Yields
    ------
    ColumnPairs
        In no order.

    Notes
    -----
    Each segment is joined with each. O(entries of the sets + Σ of the lists read), see `scan_pairs`, `overlap_pairs`.
    """
    chosen = [columns_to_join(segment, min_cardinality) for segment in snapshot.segments]
    number, n_parts = part
    for i, left in enumerate(snapshot.segments):
        own = chosen[i] if n_parts == 1 else chosen[i][number::n_parts]
        for j, right in enumerate(snapshot.segments):
            if own.size == 0 or chosen[j].size == 0:
                continue
            if i == j and options.memory_budget is not None:
                yield from _within_budget(left, i, (own, chosen[j]), options)
                continue
            sides = sides_of(left, right, own, chosen[j])
            sizes = left.catalog.numbers["cardinality"][own]
            needed = needed_counts(sizes, options.threshold)
            is_open = sides.held >= needed
            lefts = _only(sides.left, is_open) if not is_open.all() else sides.left
            if lefts.elements.size == 0:
                continue
            for pairs in _pairs(lefts, sides.right, needed, sides.weights, options):
                matched = sides.held[pairs.left] if options.threshold == 1 else pairs.matched
                a, b = own[pairs.left], chosen[j][pairs.right]
                if i == j and not has_own_tables:
                    tables = left.catalog.numbers["table"]
                    is_other = tables[a] != tables[b]
                    a, b, matched = a[is_other], b[is_other], matched[is_other]
                if a.size:
                    yield ColumnPairs((i, j), a, b, matched)


def _within_budget(
    segment: Segment, number: int, columns: tuple[NDArray[np.int64], NDArray[np.int64]], options: ContainmentOptions
) -> Iterator[ColumnPairs]:
    """Join the columns of one segment over its mapped sets, within a memory budget."""
    tokens, tables = segment.tokens, segment.catalog.numbers["table"]
    is_left, is_chosen = np.zeros(segment.n_columns, bool), np.zeros(segment.n_columns, bool)
    is_left[columns[0]] = True
    is_chosen[columns[1]] = True
    is_left &= np.diff(tokens.group_indptr[: segment.n_columns + 1]) == 0
    sets = SetCollection(tokens.set_indptr, tokens.set_lists, tokens.list_indptr.size - 1)
    for pairs in external_pairs(sets, sets, options.memory_budget or 0, options.reads, is_left):
        is_other = is_chosen[pairs.right] & (tables[pairs.left] != tables[pairs.right])
        left, right = pairs.left[is_other], pairs.right[is_other]
        if left.size:
            yield ColumnPairs((number, number), left, right, segment.catalog.numbers["cardinality"][left])


def _pairs(
    left: SetCollection,
    right: SetCollection,
    needed: NDArray[np.int64],
    weights: NDArray[np.int64],
    options: ContainmentOptions,
) -> Iterator[SetPairs]:
    """Find the pairs of sets: of those left sets whose elements are all needed by the methods of whole containment."""
    if options.threshold < 1:
        return overlap_pairs(left, right, needed, weights)
    return METHODS[options.method or "scan"](left, right)


def _only(sets: SetCollection, is_kept: NDArray[np.bool_]) -> SetCollection:
    """Empty the sets that are not kept."""
    lengths = np.where(is_kept, sets.sizes, 0)
    elements = sets.elements[np.repeat(is_kept, sets.sizes)]
    return SetCollection(np.append(0, np.cumsum(lengths)), elements, sets.n_elements)
