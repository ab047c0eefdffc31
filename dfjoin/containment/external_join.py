"""The join within a memory budget: left sets by partitions, each with the right sets that may hold one of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.containment.scan_join import scan_lists
from dfjoin.containment.set_collection import SetCollection
from dfjoin.containment.subset_pairs import ROOM, SetPairs
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.set_lists import (
    InvertedLists,
    SetLists,
    copy_sets,
    count_elements,
    fill_lists,
    find_rarest,
    mark_elements,
    order_rows,
)

__all__ = ["SMALLEST_BUDGET", "ReadCounts", "external_pairs"]

SMALLEST_BUDGET = 1 << 20
"""Bytes of memory that a join needs at least."""

_PAGE = 4096
_ELEMENTS_AT_ONCE = 1024
_PAIR_BYTES = 160  # of the buffers for one pair
_ROW_BYTES = 24  # of one number that passes through the tables, a chunk at a time
_LEFT_BYTES, _LEFT_SET_BYTES = 6, 130  # of one element and of one set of a partition while it is joined
_RIGHT_SET_BYTES, _HELD_BYTES = 60, 4  # of one right set, and of one element of it that the partition has


@dataclass
class ReadCounts:
    """What a join within a budget has read, in pages of 4 KiB.

    Parameters
    ----------
    partitions : int
        Partitions of the left sets.
    batches : int
        Batches of right sets that were joined with a partition.
    left_pages, list_pages, right_pages : int
        Pages of the left sets, of the inverted lists and of the right sets; a page counts once for each partition.
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
    are ordered by their rarest element, and the inverted lists of these elements are written to a scratch file.
    Elements are added to a partition as long as its left sets and the estimate of its target sets, the sum of the
    lengths of the lists (the upper bound of section 6.2), fit the budget. The target sets are read in ascending order
    of their place, and only their elements that the partition has are kept. Departures: the rarest element stands for
    the prefix of most frequent elements, as in `scan_subsets`; and target sets that do not fit, since one list alone
    is longer, are read in batches, so that the budget holds in any case. Scratch: 4 bytes for each right set and each
    entry of a list, 12 for each left set, 33 for each element. Scratch and mapped files are in the page cache, which
    the budget does not count.
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
        n = left.n_elements
        self._lengths = scratch.make(n, np.int64)  # of the lists
        self._n_left = scratch.make(n, np.int64)  # left sets by rarest element
        self._left_ends = scratch.make(n, np.int64)
        self._list_ends = scratch.make(n, np.int64)
        self._marks = scratch.make(n, np.uint8)  # of the elements of a partition
        self._places = scratch.make(len(right), np.int32)  # of the right sets of a batch among these
        self._held_room = min(right.elements.size, max(64, budget // (6 * _HELD_BYTES)))

    def prepare(self, is_left: NDArray[np.bool_] | None) -> None:
        """Order the left sets by their rarest element, and invert the right ones for these elements."""
        left, right, make = self._left, self._right, self._scratch.make
        for start in range(0, right.elements.size, self._chunk):
            count_elements(as_read_only(np.asarray(right.elements[start : start + self._chunk])), self._lengths)
        rarest = make(len(left), np.int64)
        lengths = as_read_only(self._lengths)
        for start in range(0, len(left), self._chunk):
            stop = min(start + self._chunk, len(left))
            part = rarest[start:stop]
            indptr = as_read_only(np.asarray(left.indptr[start : stop + 1]))
            find_rarest(SetLists(indptr, left.lists.elements), lengths, part)
            if is_left is not None:
                part[~is_left[start:stop]] = -1
            np.add.at(self._n_left, part[part >= 0], 1)
        n_kept = self._cumulate(self._n_left, self._left_ends)
        self._order = make(n_kept, np.int32)
        cursors = make(left.n_elements, np.int64)
        for start in range(0, cursors.size, self._chunk):
            own = slice(start, start + self._chunk)
            cursors[own] = self._left_ends[own] - self._n_left[own]
        order_rows(as_read_only(rarest), cursors, self._order)
        for start in range(0, cursors.size, self._chunk):
            own = slice(start, start + self._chunk)
            self._lengths[own][self._n_left[own] == 0] = 0
        n_entries = self._cumulate(self._lengths, self._list_ends)
        self._rows = make(n_entries, np.int32)
        for start in range(0, cursors.size, self._chunk):
            own = slice(start, start + self._chunk)
            cursors[own] = np.where(self._n_left[own] > 0, self._list_ends[own] - self._lengths[own], -1)
        fill_lists(right.lists, cursors, self._rows)

    def _cumulate(self, numbers: NDArray[np.int64], out: NDArray[np.int64]) -> int:
        """Write the running sum; return the sum."""
        total = 0
        for start in range(0, numbers.size, self._chunk):
            part = out[start : start + self._chunk]
            np.cumsum(numbers[start : start + self._chunk], out=part)
            part += total
            total = int(part[-1])
        return total

    def run(self) -> Iterator[SetPairs]:
        """Join partition after partition."""
        average = self._left.elements.size / max(1, len(self._left))
        left_bytes = _LEFT_BYTES * average + _LEFT_SET_BYTES
        share = self._budget / 2.4
        most_left, most_right = max(1, int(share / left_bytes)), max(1, int(share / _RIGHT_SET_BYTES))
        for first, last in self._partitions(most_left, most_right):
            used = np.flatnonzero(self._n_left[first : last + 1]) + first
            begin, end = int(self._left_ends[first] - self._n_left[first]), int(self._left_ends[last])
            for start in range(begin, end, most_left):
                rows = self._order[start : min(start + most_left, end)]
                # The left sets of each element lie one after the other, so that their lists are numbered by counting.
                stops = np.clip(self._left_ends[used] - start, 0, rows.size)
                n_of = np.diff(stops, prepend=0)
                yield from self._join(rows, used[n_of > 0], n_of[n_of > 0], most_right)

    def _partitions(self, most_left: int, most_right: int) -> Iterator[tuple[int, int]]:
        """Cut the elements into stretches whose left sets and lists fit; at least one element with left sets each."""
        first, n_left, n_right = -1, 0, 0
        last = -1
        for start in range(0, self._n_left.size, _ELEMENTS_AT_ONCE):
            used = np.flatnonzero(self._n_left[start : start + _ELEMENTS_AT_ONCE]) + start
            for element, n, length in zip(
                used.tolist(), self._n_left[used].tolist(), self._lengths[used].tolist(), strict=True
            ):
                if first >= 0 and (n_left + n > most_left or n_right + length > most_right):
                    yield first, last
                    first, n_left, n_right = -1, 0, 0
                first = element if first < 0 else first
                last = element
                n_left += n
                n_right += length
        if first >= 0:
            yield first, last

    def _join(
        self, rows: NDArray[np.int32], used: NDArray[np.int64], n_of: NDArray[np.int64], most_right: int
    ) -> Iterator[SetPairs]:
        """Join left sets, in the order of their rarest elements, with the right sets that hold one of these."""
        counts = self._counts
        counts.partitions += 1
        by_place = np.argsort(rows, kind="stable")
        rows = rows[by_place]
        rarest = np.repeat(np.arange(used.size), n_of)[by_place]
        del by_place
        places = rows.astype(np.int64)
        counts.left_pages += _pages(self._left, places)[0]
        room = int((self._left.indptr[places + 1] - self._left.indptr[places]).sum())
        local = SetLists(np.zeros(rows.size + 1, np.int64), np.empty(room, np.uint32))
        copy_sets(self._left.lists, as_read_only(places), self._marks[:0], local)
        mark_elements(as_read_only(local.elements), 1, self._marks)
        left = SetCollection(*local, self._left.n_elements)
        starts = self._list_ends[used] - self._lengths[used]
        first, stop = int(starts[0]), int(self._list_ends[used[-1]])
        for begin in range(first, stop, 4 * most_right):
            end = min(begin + 4 * most_right, stop)
            counts.list_pages += (end * 4 - 1) // _PAGE - begin * 4 // _PAGE + 1
            ranges = np.clip(starts, begin, end) - begin, np.clip(self._list_ends[used], begin, end) - begin
            for lists, batch, held in self._batches(self._rows[begin:end], ranges, most_right):
                for pairs in scan_lists(left, held, rarest, n_of, lists, self._room):
                    yield SetPairs(places[pairs.left], batch[pairs.right], pairs.matched)
                del lists, held
        mark_elements(as_read_only(local.elements), 0, self._marks)

    def _batches(
        self, entries: NDArray[np.int32], ranges: tuple[NDArray[np.int64], NDArray[np.int64]], most_right: int
    ) -> Iterator[tuple[InvertedLists, NDArray[np.int64], SetCollection]]:
        """Load the right sets of some entries of lists, as many at a time as fit, with the lists of these alone."""
        targets = np.sort(entries)
        targets = targets[np.append(True, targets[1:] != targets[:-1])]
        begin = 0
        while begin < targets.size:
            batch, held = self._load_held(targets[begin : begin + most_right].astype(np.int64))
            if batch.size == targets.size:
                self._places[targets] = np.arange(targets.size, dtype=np.int32)
                rows = self._places[entries]
                starts, ends = ranges
            else:
                is_here = (entries >= batch[0]) & (entries <= batch[-1])
                before = np.append(0, np.cumsum(is_here))
                starts, ends = before[ranges[0]], before[ranges[1]]
                self._places[batch] = np.arange(batch.size, dtype=np.int32)
                rows = self._places[entries[is_here]]
            begin += batch.size
            yield InvertedLists(as_read_only(starts), as_read_only(ends), as_read_only(rows)), batch, held

    def _load_held(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], SetCollection]:
        """Load right sets with those of their elements that are marked; return which fit, and the sets."""
        indptr = np.zeros(rows.size + 1, np.int64)
        largest = int(self._right.indptr[rows[0] + 1] - self._right.indptr[rows[0]])
        elements = np.empty(max(self._held_room, largest), np.uint32)
        n = copy_sets(self._right.lists, as_read_only(rows), self._marks, SetLists(indptr, elements))
        n_pages, n_runs = _pages(self._right, rows[:n])
        self._counts.batches += 1
        self._counts.right_pages += n_pages
        self._counts.right_runs += n_runs
        return rows[:n], SetCollection(indptr[: n + 1], elements[: indptr[n]], self._right.n_elements)


def _pages(sets: SetCollection, rows: NDArray[np.int64]) -> tuple[int, int]:
    """Count the pages that hold the elements of some sets, in ascending order, and the stretches of these."""
    size = np.dtype(np.uint32).itemsize
    indptr = np.asarray(sets.indptr)
    first, last = indptr[rows] * size // _PAGE, (indptr[rows + 1] * size - 1) // _PAGE
    known = np.maximum.accumulate(np.append(-2, last))[:-1]
    n_pages = int(np.maximum(0, last - np.maximum(first - 1, known)).sum())
    return n_pages, int(np.count_nonzero(first > known + 1)) if rows.size else 0
