"""The join by rarest elements: each left set is compared with the right sets that hold its rarest element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.containment.left_runs import group_sets, sign
from dfjoin.containment.set_collection import MOST_SETS, SetCollection
from dfjoin.containment.subset_pairs import ROOM, SetPairs, new_buffer, run_kernel
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sets.set_lists import (
    InvertedLists,
    count_small_sets,
    fill_lists,
    find_rarest,
)
from dfjoin.kernels.sets.subset_marks import MarkWork, mark_supersets
from dfjoin.kernels.sets.subset_runs import MOST_HELD, LeftRuns
from dfjoin.kernels.sets.subset_scan import MOST_READ, N_SLICES, ScanWork, scan_lists

__all__ = ["scan_pairs"]

_LARGEST_LISTED = 64  # as many elements as a bitmap has bits, most of which are set then
_TEST_COST = 2  # of a left set that is tested against marks, beside that of an element that is written to slices


class _PreparedSides(NamedTuple):
    """Both sides of a join, prepared, and how many pairs a batch has."""

    left: SetCollection
    right: SetCollection
    runs: LeftRuns
    signatures: NDArray[np.uint64]
    room: int


def scan_pairs(left: SetCollection, right: SetCollection, room: int = ROOM) -> Iterator[SetPairs]:
    """Find the right sets that hold all of each left set that has elements.

    Parameters
    ----------
    left, right : SetCollection
        Over the same elements; the same object for a join of a collection with itself.
    room : int
        Pairs of a batch, at most.

    Yields
    ------
    SetPairs
        Batches: of large right sets in their order, then in the order of the rarest elements.

    Notes
    -----
    Right sets of up to 64 elements are read from inverted lists, see `scan_lists`; of larger ones the elements are
    marked once, see `mark_supersets`, unless so few elements are so frequent that slices of lists cost less, which the
    sizes tell. Memory beside the collections: the inverted lists of the elements that are the rarest of a left set, 28
    bytes for each left set, 8 for each right one, 28 for each element.
    """
    counts = right.count_elements()
    rarest = np.empty(len(left), np.int64)
    find_rarest(left.lists, as_read_only(counts), rarest)
    sides = _PreparedSides(left, right, group_sets(left, rarest, left.n_elements), sign(right), room)
    del rarest
    largest = _largest_listed(sides, counts)
    is_large = right.sizes > largest
    if is_large.any():
        yield from _marked(sides, np.flatnonzero(is_large).astype(np.int32))
    if not is_large.all():
        yield from _listed(sides, counts, largest)


def _largest_listed(sides: _PreparedSides, counts: NDArray[np.int64]) -> int:
    """Choose the size up to which right sets are read from lists; leave the counts of these alone in `counts`."""
    sizes = sides.right.sizes
    if int(sizes.max(initial=0)) <= _LARGEST_LISTED:
        return _LARGEST_LISTED
    small = np.zeros_like(counts)
    count_small_sets(sides.right.lists, _LARGEST_LISTED, small)
    n_tests = int(np.dot(counts - small, np.diff(sides.runs.first)))
    n_sliced = float(np.square(sizes[sizes > _LARGEST_LISTED], dtype=float).sum())
    if _TEST_COST * n_tests > n_sliced:
        return MOST_SETS
    counts[:] = small
    return _LARGEST_LISTED


def _marked(sides: _PreparedSides, rows: NDArray[np.int32]) -> Iterator[SetPairs]:
    """Find the pairs of some right sets by marking their elements."""
    work = MarkWork(
        np.zeros(sides.left.n_elements // 64 + 1, np.uint64), np.empty(MOST_HELD, np.int32), np.empty(1, np.int32)
    )
    arguments = sides.runs, (sides.right.lists, sides.signatures), as_read_only(rows), work
    state, buffer = np.zeros(6, np.int64), new_buffer(sides.room)
    yield from run_kernel(mark_supersets, arguments, state, rows.size, buffer, sides.left.sizes)


def _listed(sides: _PreparedSides, counts: NDArray[np.int64], largest: int) -> Iterator[SetPairs]:
    """Find the pairs of the right sets up to a size by inverted lists."""
    lengths = np.where(np.diff(sides.runs.first) > 0, counts, 0)
    ends = np.cumsum(lengths)
    rows = np.empty(int(ends[-1]) if ends.size else 0, np.int32)
    fill_lists(sides.right.lists, largest, np.where(lengths > 0, ends - lengths, -1), rows)
    lists = InvertedLists(*map(as_read_only, (ends - lengths, ends, rows)))
    longest = int(lengths.max(initial=0))
    del lengths
    work = ScanWork(
        np.empty(longest, np.uint64),
        np.empty((-(-longest // 64), N_SLICES), np.uint64),
        np.empty(MOST_READ, np.int64),
        np.empty(MOST_HELD, np.int32),
    )
    arguments = sides.runs, (sides.right.lists, sides.signatures, sides.left is sides.right), lists, work
    state, buffer = np.zeros(5, np.int64), new_buffer(sides.room)
    yield from run_kernel(scan_lists, arguments, state, sides.left.n_elements, buffer, sides.left.sizes)
