"""The join within a memory budget: left sets by partitions, each with the right sets that may hold one of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.containment import subset_pairs
from dfjoin.containment.set_collection import SetCollection
from dfjoin.containment.subset_pairs import ROOM, SetPairs, group_sets, new_buffer, run_kernel
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sets.set_lists import (
    InvertedLists,
    SetLists,
    copy_sets,
    count_elements,
    find_rarest,
    order_rows,
)
from dfjoin.kernels.sets.subset_candidates import ReadWork, fill_signed_lists, find_candidates, keep_candidates
from dfjoin.kernels.sets.subset_runs import MOST_HELD, LeftRuns

SMALLEST_BUDGET = 1 << 20
"""Bytes of memory that a join needs at least."""

_PAGE = 4096
_ROW_BYTES = 24  # of one number that passes through the tables, a chunk at a time
_PAIR_BYTES = 160  # of the buffers for one pair
_CANDIDATE_BYTES = 8
_MOST_CANDIDATES = 1 << 22  # of a batch; larger ones save no reads that count
_LEFT_BYTES, _LEFT_SET_BYTES = 4, 50  # of one element and of one set of a partition while it is joined
_LEFT_SHARE, _CANDIDATE_SHARE = 0.75, 0.2  # of the budget


@dataclass
class ReadCounts:
    """What a join within a budget has read, in pages of 4 KiB.

    Parameters
    ----------
    partitions : int
        Partitions of the left sets.
    batches : int
        Batches of candidates, for each of which the right sets are read in their order.
    left_pages, list_pages, right_pages : int
        Pages of the left sets and of the inverted lists, once for each partition; of the right sets, for each batch.
    right_runs : int
        Stretches of pages of the right sets that lie one after the other: each is one sequential read.
    """

    partitions: int = 0
    batches: int = 0
    left_pages: int = 0
    list_pages: int = 0
    right_pages: int = 0
    right_runs: int = 0


class _ScratchFiles:
    """Arrays in files of a temporary directory: the page cache holds what is used of them."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)
        self._n = 0

    def make(self, size: int, dtype: Any) -> NDArray[Any]:
        """Return an array of zeros."""
        self._n += 1
        if size == 0:
            return np.zeros(0, dtype)
        return np.asarray(np.memmap(self._directory / f"{self._n}.bin", dtype, "w+", shape=(size,)))


def external_pairs(
    left: SetCollection,
    right: SetCollection,
    budget: int,
    counts: ReadCounts,
    is_left: NDArray[np.bool_] | None = None,
) -> Iterator[SetPairs]:
    """Find the right sets that hold all of each left set that has elements, within a memory budget.

    Parameters
    ----------
    left, right : SetCollection
        Over the same elements; their arrays may be mapped from files.
    budget : int
        Bytes of memory, at least SMALLEST_BUDGET.
    counts : ReadCounts
        Added to.
    is_left : ndarray of bool, shape (len(left),), optional
        Left sets that are joined; all by default.

    Yields
    ------
    SetPairs
        Batches, in the order of the partitions.

    Notes
    -----
    Algorithm 5 of Yang et al., "Internal and external memory set containment join", VLDB Journal 2021. The left sets
    are ordered by their rarest element, and the inverted lists of these elements are written to a scratch file, each
    entry with the bitmap of its set. As many left sets as fit the budget are a partition; their lists are read once, in
    order, and the right sets whose bitmap has all bits of a left set's are candidates. As many of these as fit are
    sorted by their right set, and the sets are read in their order. Departures: the rarest element stands for the
    prefix of most frequent elements, as in `scan_lists`; and target sets are read only where the bitmap does not
    exclude them, so that a partition is as large as its left sets allow and needs no estimate of its target sets
    (section 6.2). Scratch: 12 bytes for each entry of a list, 20 for each left set, 24 for each element, and a bit.
    Scratch and mapped files are in the page cache, which the budget does not count.
    """
    with tempfile.TemporaryDirectory(prefix="dfjoin-containment-") as directory:
        job = _ExternalJob(left, right, budget, counts, _ScratchFiles(directory))
        job.prepare(is_left)
        yield from job.run()


class _ExternalJob:
    """The files and tables of one join."""

    def __init__(
        self, left: SetCollection, right: SetCollection, budget: int, counts: ReadCounts, scratch: _ScratchFiles
    ) -> None:
        self._left, self._right = left, right
        self._budget = budget
        self._counts = counts
        self._scratch = scratch
        self._chunk = max(1024, budget // (4 * _ROW_BYTES))
        self._room = int(min(ROOM, max(256, budget // (6 * _PAIR_BYTES))))
        self._lengths = scratch.make(left.n_elements, np.int64)  # of the lists
        self._list_starts = scratch.make(left.n_elements, np.int64)
        self._rarest = scratch.make(len(left), np.int64)

    def prepare(self, is_left: NDArray[np.bool_] | None) -> None:
        """Order the left sets by their rarest element, and invert the right ones for these elements."""
        left, right, make, rarest = self._left, self._right, self._scratch.make, self._rarest
        cursors = make(left.n_elements, np.int64)  # the number of left sets of each element first
        for own in self._chunks(right.elements.size):
            count_elements(as_read_only(np.asarray(right.elements[own])), self._lengths)
        lengths = as_read_only(self._lengths)
        for own in self._chunks(len(left)):
            part = rarest[own]
            indptr = as_read_only(np.asarray(left.indptr[own.start : own.stop + 1]))
            find_rarest(SetLists(indptr, left.lists.elements), lengths, part)
            if is_left is not None:
                part[~is_left[own]] = -1
            np.add.at(cursors, part[part >= 0], 1)
        for own in self._chunks(cursors.size):
            self._lengths[own][cursors[own] == 0] = 0
        self._order = make(self._cumulate(cursors, cursors), np.int32)
        order_rows(as_read_only(rarest), cursors, self._order)
        n_entries = self._cumulate(self._lengths, self._list_starts)
        for own in self._chunks(cursors.size):
            cursors[own] = np.where(self._lengths[own] > 0, self._list_starts[own], -1)
        self._rows, self._signatures = make(n_entries, np.int32), make(n_entries, np.uint64)
        fill_signed_lists(right.lists, cursors, self._rows, self._signatures)

    def _chunks(self, n: int) -> Iterator[slice]:
        """Yield stretches of an array that pass through memory at once."""
        for start in range(0, n, self._chunk):
            yield slice(start, min(start + self._chunk, n))

    def _cumulate(self, numbers: NDArray[np.int64], out: NDArray[np.int64]) -> int:
        """Write the sum of the numbers before each one; return the sum of all."""
        total = 0
        for own in self._chunks(numbers.size):
            part = numbers[own]
            sums = np.cumsum(part)
            sums += total
            total = int(sums[-1])
            np.subtract(sums, part, out=out[own])
        return total

    def run(self) -> Iterator[SetPairs]:
        """Join partition after partition."""
        marks = self._scratch.make(self._left.n_elements // 64 + 1, np.uint64)
        work = ReadWork(marks, np.empty(1, np.int32), np.zeros(3, np.int64))
        for rows in self._partitions():
            self._counts.partitions += 1
            yield from self._join(np.sort(rows).astype(np.int64), work)

    def _partitions(self) -> Iterator[NDArray[np.int32]]:
        """Cut the left sets, in the order of their rarest elements, into stretches that fit; at least one set each."""
        limit = _LEFT_SHARE * self._budget
        most, start = max(1, int(limit / _LEFT_SET_BYTES)), 0
        while start < self._order.size:
            rows = self._order[start : start + most]
            n_bytes = np.cumsum(_LEFT_SET_BYTES + _LEFT_BYTES * self._left.sizes_of(rows))
            n = max(1, int(np.searchsorted(n_bytes, limit, "right")))
            del n_bytes
            start += n
            yield rows[:n]

    def _join(self, positions: NDArray[np.int64], work: ReadWork) -> Iterator[SetPairs]:
        """Join some left sets."""
        counts = self._counts
        left = self._load(positions)
        runs, lists = self._group(left, self._rarest[positions])
        n_found = int(min(_MOST_CANDIDATES, max(MOST_HELD, _CANDIDATE_SHARE * self._budget / _CANDIDATE_BYTES)))
        found, held = np.empty(n_found, np.uint64), np.empty(MOST_HELD, np.int32)
        state, buffer = np.zeros(3, np.int64), new_buffer(self._room)
        while state[0] < lists.starts.size:
            n = find_candidates(runs, lists, as_read_only(self._signatures), held, state, found, subset_pairs.STEPS)
            if n == 0:
                continue
            found[:n].sort()
            work.pages[:] = 0, 0, -2
            arguments = runs, self._right.lists, as_read_only(found[:n]), work
            for pairs in run_kernel(keep_candidates, arguments, np.zeros(2, np.int64), n, buffer, left.sizes):
                yield SetPairs(positions[pairs.left], pairs.right, pairs.matched)
            counts.batches += 1
            counts.right_pages += int(work.pages[0])
            counts.right_runs += int(work.pages[1])

    def _load(self, positions: NDArray[np.int64]) -> SetCollection:
        """Load left sets."""
        starts, ends = self._left.indptr[positions], self._left.indptr[positions + 1]
        self._counts.left_pages += _count_pages(starts, ends, 4)
        n_elements = int((ends - starts).sum())
        del starts, ends
        loaded = SetLists(np.zeros(positions.size + 1, np.int64), np.empty(n_elements, np.uint32))
        copy_sets(self._left.lists, as_read_only(positions), loaded)
        return SetCollection(*loaded, self._left.n_elements)

    def _group(self, left: SetCollection, rarest: NDArray[np.int64]) -> tuple[LeftRuns, InvertedLists]:
        """Group left sets by their rarest elements; return the lists of these, too."""
        used = np.unique(rarest)
        starts = self._list_starts[used]
        ends = starts + self._lengths[used]
        self._counts.list_pages += _count_pages(starts, ends, 12)
        runs = group_sets(left, np.searchsorted(used, rarest), used.size)
        return runs, InvertedLists(*map(as_read_only, (starts, ends, self._rows)))


def _count_pages(starts: NDArray[np.int64], ends: NDArray[np.int64], size: int) -> int:
    """Count the pages of stretches of entries of some bytes, in ascending order."""
    first, last = starts * size // _PAGE, (ends * size - 1) // _PAGE
    known = np.append(-1, last[:-1])
    return int(np.maximum(0, last - np.maximum(first - 1, known)).sum())
