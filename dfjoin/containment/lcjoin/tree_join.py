"""The methods of the paper: cross-cutting intersection, the prefix tree, and the prefix tree by partitions."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dfjoin.containment.set_collection import SetCollection, inverted_lists
from dfjoin.containment.subset_pairs import ROOM, SetPairs, new_buffer, run_kernel
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sets.set_lists import InvertedLists, SetLists, order_rows
from dfjoin.kernels.sets.subset_cross import cross_cut
from dfjoin.kernels.sets.subset_tree import (
    PrefixTree,
    TreeNodes,
    TreeWork,
    build_local_lists,
    build_tree,
    forget_local_lists,
    join_tree,
    order_sets,
    start_tree,
)

_SAMPLES = 40
_IN_A_ROW = 3  # as the paper has it
_LEVEL_ROOM = 256


def cross_pairs(left: SetCollection, right: SetCollection) -> Iterator[SetPairs]:
    """Find the right sets that hold all of each left set by intersecting all its inverted lists at once.

    Parameters
    ----------
    left, right : SetCollection

    Yields
    ------
    SetPairs
        Batches, in the order of the left sets.

    Notes
    -----
    Algorithm 1 with early termination, see `cross_cut`.
    """
    ordered = _Ordered(left, right, is_rarest_first=True)
    cursors = np.empty(int(left.sizes.max(initial=0)), np.int64)
    arguments = ordered.left, ordered.lists, cursors
    yield from run_kernel(cross_cut, arguments, np.zeros(2, np.int64), len(left), new_buffer(), left.sizes)


def tree_pairs(left: SetCollection, right: SetCollection) -> Iterator[SetPairs]:
    """Find the right sets that hold all of each left set by one traversal of a prefix tree of the left sets.

    Parameters
    ----------
    left, right : SetCollection

    Yields
    ------
    SetPairs
        Batches, in the order of the right sets.

    Notes
    -----
    Algorithms 2 to 4, see `join_tree`; equal left sets are one leaf.
    """
    ordered = _Ordered(left, right)
    tree = _LeftTree(ordered)
    tree.start(ordered.lists)
    yield from tree.join(np.zeros(1, np.int32), ordered.lists, left.sizes)


def partition_pairs(left: SetCollection, right: SetCollection) -> Iterator[SetPairs]:
    """Find the right sets that hold all of each left set, for each most frequent element of left sets by itself.

    Parameters
    ----------
    left, right : SetCollection

    Yields
    ------
    SetPairs
        Batches, in the order of the partitions.

    Notes
    -----
    Section 5 of the paper. The left sets whose most frequent element is e form a partition, which is a subtree of the
    prefix tree. A large partition is joined over inverted lists of the right sets that hold e alone, a small one over
    those of all. What is large is found by timing both on a sample of partitions in ascending order of size, until the
    local lists win three times in a row.
    """
    ordered = _Ordered(left, right)
    tree = _LeftTree(ordered)
    tree.start(ordered.lists)
    partitions = _Partitions(tree, ordered)
    yield from partitions.join(left.sizes)


class _Ordered:
    """Two collections whose elements are numbered by their frequency on the right side, and the lists of the right one.

    Left sets with an element that no right set has are empty here; so are those without elements.
    """

    def __init__(self, left: SetCollection, right: SetCollection, is_rarest_first: bool = False) -> None:
        counts = right.count_elements()
        by_count = np.argsort(counts if is_rarest_first else -counts, kind="stable")
        rank = np.empty(by_count.size, np.uint32)
        rank[by_count] = np.arange(by_count.size, dtype=np.uint32)
        counts = counts[by_count]
        self.right = _renumbered(right, rank)
        if left is right:
            self.left = self.right
        else:
            known = _renumbered(left, rank)
            is_lost = np.zeros(len(left), bool)
            owner = np.repeat(np.arange(len(left)), left.sizes)
            is_lost[owner[counts[known.elements] == 0]] = True
            self.left = _without(known, is_lost) if is_lost.any() else known
        self.lists = inverted_lists(self.right, counts)


def _renumbered(sets: SetCollection, rank: NDArray[np.uint32]) -> SetLists:
    """Write other numbers for the elements of sets, and sort each set."""
    owner = np.repeat(np.arange(len(sets), dtype=np.uint64), sets.sizes)
    keys = (owner << np.uint64(32)) | rank[sets.elements]
    keys.sort()
    elements = (keys & np.uint64(2**32 - 1)).astype(np.uint32)
    return SetLists(as_read_only(sets.indptr), as_read_only(elements))


def _without(sets: SetLists, is_lost: NDArray[np.bool_]) -> SetLists:
    """Empty some sets."""
    sizes = np.diff(sets.indptr)
    elements = sets.elements[~np.repeat(is_lost, sizes)]
    indptr = np.append(0, np.cumsum(np.where(is_lost, 0, sizes)))
    return SetLists(as_read_only(indptr), as_read_only(elements))


class _LeftTree:
    """The prefix tree of the left sets, and the state of its traversal."""

    def __init__(self, ordered: _Ordered) -> None:
        sets = ordered.left
        sizes = np.diff(sets.indptr)
        self.order = np.flatnonzero(sizes > 0).astype(np.int32)
        order_sets(self.order, sets, np.empty_like(self.order))
        self.elements = sets.elements
        n_most, n_levels = 2 * self.order.size + 1, int(sizes.max(initial=0)) + 2
        rows, first, last = (np.empty(n_most, np.int32) for _ in range(3))
        nodes = TreeNodes(np.empty(n_most, np.int64), rows, first, last, np.empty(n_most, np.int64))
        n = build_tree(as_read_only(self.order), sets, nodes, np.empty(n_levels, np.int64))
        depth, row, parent = nodes.depth[:n], nodes.row[:n], nodes.parent[:n]
        child_end = np.cumsum(np.bincount(parent[1:], minlength=n)) if n > 1 else np.zeros(n, np.int64)
        child_start = np.append(0, child_end)
        children = np.empty(n - 1, np.int32)
        order_rows(as_read_only(parent), child_start[:-1].copy(), children)
        above = np.where(parent >= 0, depth[np.maximum(parent, 0)], 0)
        begin = sets.indptr[row]
        parts = [
            np.where(depth > 0, begin + above, 0),
            np.where(depth > 0, begin + depth, 0),
            first[:n].copy(),
            last[:n].copy(),
            child_start.astype(np.int32),
            children,
        ]
        self.row, self.parent = row, parent
        self.tree = PrefixTree(*map(as_read_only, parts))
        self.work = TreeWork(
            np.empty(n, np.int32),
            np.empty(n, np.int32),
            np.empty(n - 1, np.int32),
            np.empty(self.elements.size, np.int64),
            np.empty(n_levels, np.int64),
            np.empty(n_levels, np.int64),
            np.empty(n_levels, np.uint8),
            np.empty(n_levels * _LEVEL_ROOM, np.int64),
        )
        self.buffer = new_buffer(max(ROOM, len(sizes)))

    def start(self, lists: InvertedLists, first: int = 0, last: int | None = None) -> None:
        """Set the traversal of some nodes, or of all, back to its beginning."""
        last = self.work.candidate.size if last is None else last
        start_tree(first, last, self.tree, lists, self.work, self.elements)

    def join(self, roots: NDArray[np.int32], lists: InvertedLists, sizes: NDArray[np.int64]) -> Iterator[SetPairs]:
        """Find the pairs of the left sets below some nodes."""
        arguments = roots, self.tree, lists, self.work, (self.elements, as_read_only(self.order))
        yield from run_kernel(join_tree, arguments, np.zeros(2, np.int64), roots.size, self.buffer, sizes)


class _Partitions:
    """The subtrees below the root, and whether each is joined over the lists of all right sets or over its own."""

    def __init__(self, tree: _LeftTree, ordered: _Ordered) -> None:
        self._tree = tree
        self._ordered = ordered
        # All nodes of a partition are numbered one after the other, as they are made in the order of the sets.
        elements = ordered.left.elements[ordered.left.indptr[tree.row[1:]]].astype(np.int64)
        self._first = np.flatnonzero(np.append(True, elements[1:] != elements[:-1])[: elements.size]) + 1
        self._last = np.append(self._first[1:], elements.size + 1)[: self._first.size]
        below_root = tree.parent[1:] == 0
        self._roots = (np.flatnonzero(below_root) + 1).astype(np.int32)
        self._sizes = np.add.reduceat((tree.tree.last - tree.tree.first).astype(np.int64), self._first)
        n_elements = ordered.lists.starts.size
        self._starts, self._ends = np.zeros(n_elements, np.int64), np.zeros(n_elements, np.int64)
        self._cursors = np.zeros(n_elements, np.int64)

    def join(self, sizes: NDArray[np.int64]) -> Iterator[SetPairs]:
        """Find the pairs of all partitions."""
        by_size = np.argsort(self._sizes, kind="stable")
        boundary, is_done, found = self._sampled(by_size, sizes)
        yield from found
        is_small = (self._sizes < boundary) & ~is_done
        yield from self._tree.join(self._roots[is_small], self._ordered.lists, sizes)
        for position in np.flatnonzero(~is_small & ~is_done).tolist():
            yield from self._local(position, sizes)

    def _sampled(
        self, by_size: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> tuple[int, NDArray[np.bool_], list[SetPairs]]:
        """Time both methods on a sample in ascending order of size; return from which size on lists are built anew."""
        is_done = np.zeros(by_size.size, bool)
        found: list[SetPairs] = []
        large = by_size[self._sizes[by_size] > 1]
        n_won, boundary = 0, int(self._sizes.max(initial=0)) + 1
        for position in large[:: max(1, large.size // _SAMPLES)].tolist():
            start = time.perf_counter()
            pairs = list(self._local(position, sizes))
            middle = time.perf_counter()
            self._tree.start(self._ordered.lists, int(self._first[position]), int(self._last[position]))
            for _ in self._tree.join(self._roots[position : position + 1], self._ordered.lists, sizes):
                pass
            is_won = middle - start < time.perf_counter() - middle
            found += pairs
            is_done[position] = True
            if is_won and n_won == 0:
                boundary = int(self._sizes[position])
            n_won = n_won + 1 if is_won else 0
            if n_won == _IN_A_ROW:
                return boundary, is_done, found
        return (boundary if n_won else int(self._sizes.max(initial=0)) + 1), is_done, found

    def _local(self, position: int, sizes: NDArray[np.int64]) -> Iterator[SetPairs]:
        """Join one partition over the right sets that hold its element alone."""
        ordered, tree, root = self._ordered, self._tree, self._roots[position : position + 1]
        element = int(tree.elements[tree.tree.label_start[root[0]]])
        rows = ordered.lists.rows[ordered.lists.starts[element] : ordered.lists.ends[element]]
        room = int((ordered.right.indptr[rows + 1] - ordered.right.indptr[rows]).sum())
        lists = InvertedLists(self._starts, self._ends, np.empty(room, np.int32))
        build_local_lists(rows, ordered.right, element, self._cursors, lists)
        local = InvertedLists(*(as_read_only(array) for array in lists))
        tree.start(local, int(self._first[position]), int(self._last[position]))
        for pairs in tree.join(root, local, sizes):
            yield SetPairs(pairs.left, rows[pairs.right].astype(np.int64), pairs.matched)
        forget_local_lists(rows, ordered.right, element, self._cursors, lists)
