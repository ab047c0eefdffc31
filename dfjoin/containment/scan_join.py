"""The join by rarest elements: each left set is compared with the right sets that hold its rarest element."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dfjoin.containment.set_collection import SetCollection
from dfjoin.containment.subset_pairs import ROOM, STEPS, SetPairs, new_buffer, taken
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.set_lists import InvertedLists, fill_lists, find_rarest, hash_sets, order_rows, sign_sets, sort_runs
from dfjoin.kernels.subset_scan import MOST_READ, N_SLICES, ScanSides, ScanWork, scan_subsets

__all__ = ["scan_lists", "scan_pairs"]


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
        Batches, in the order of the rarest elements.

    Notes
    -----
    See `scan_subsets`. Memory beside the collections: the inverted lists of the elements that are the rarest of a left
    set, 28 bytes for each left set, 8 for each right one, 24 for each element.
    """
    counts = right.count_elements()
    rarest = np.empty(len(left), np.int64)
    find_rarest(left.lists, as_read_only(counts), rarest)
    n_of = np.zeros(left.n_elements, np.int64)
    np.add.at(n_of, rarest[rarest >= 0], 1)
    lists = _lists_of(right, n_of > 0, counts)
    del counts
    yield from scan_lists(left, right, rarest, n_of, lists, room)


def scan_lists(
    left: SetCollection,
    right: SetCollection,
    rarest: NDArray[np.int64],
    n_of: NDArray[np.int64],
    lists: InvertedLists,
    room: int,
) -> Iterator[SetPairs]:
    """Find the right sets that hold all of each left set, by the lists of its rarest element.

    Parameters
    ----------
    left, right : SetCollection
    rarest : ndarray of int64, shape (len(left),)
        Number of a list for each left set; negative where it is not joined.
    n_of : ndarray of int64, shape (n_lists,)
        Left sets of each list.
    lists : InvertedLists
    room : int
        Pairs of a batch, at most.

    Yields
    ------
    SetPairs
    """
    is_same = left is right
    ends = np.cumsum(n_of)
    starts = ends - n_of
    order = np.empty(int(ends[-1]) if ends.size else 0, np.int32)
    order_rows(as_read_only(rarest), starts.copy(), order)
    hashes = np.empty(len(left), np.uint64)
    hash_sets(left.lists, hashes)
    sort_runs(order, starts, ends, hashes, np.empty_like(order))
    del starts, ends
    signatures = [np.empty(len(side), np.uint64) for side in ((left,) if is_same else (left, right))]
    for side, own in zip((left, right), signatures, strict=False):
        sign_sets(side.lists, own)
    longest = int((lists.ends - lists.starts).max(initial=0))
    work = ScanWork(
        np.empty(longest, np.uint64),
        np.empty((-(-longest // 64), N_SLICES), np.uint64),
        np.empty(MOST_READ, np.int64),
    )
    sides = ScanSides(
        left.lists,
        right.lists,
        as_read_only(signatures[0]),
        as_read_only(signatures[-1]),
        as_read_only(hashes),
        as_read_only(order),
        as_read_only(rarest),
        left.n_elements,
        is_same,
    )
    state, buffer = np.zeros(2, np.int64), new_buffer(room)
    while state[0] < order.size:
        n = scan_subsets(sides, lists, work, state, buffer, STEPS)
        if n:
            yield taken(buffer, n, left.sizes)


def _lists_of(right: SetCollection, is_needed: np.ndarray, counts: np.ndarray) -> InvertedLists:
    """Invert a collection for some elements."""
    lengths = np.where(is_needed, counts, 0)
    ends = np.cumsum(lengths)
    rows = np.empty(int(ends[-1]) if ends.size else 0, np.int32)
    fill_lists(right.lists, np.where(is_needed, ends - lengths, -1), rows)
    return InvertedLists(as_read_only(ends - lengths), as_read_only(ends), as_read_only(rows))
