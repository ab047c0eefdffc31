"""Subsets by one traversal of a prefix tree of the left sets, each node with the inverted lists of its elements."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.sets.set_lists import gallop
from dfjoin.kernels.sorting import is_stretch_before, merge_sort_by

NO_SET = 2**31 - 1
"""The candidate of a node that has none left: larger than the number of any set."""


class PrefixTree(NamedTuple):
    """A compacted prefix tree: a node for each distinct set, and one where the paths of several part.

    The elements of node n are ``elements[label_start[n] : label_end[n]]``, of a set below it. The sets that end there
    are ``order[first[n] : last[n]]``, all equal; its children are ``children[child_start[n] : child_start[n + 1]]``.
    Node 0 is the root, without elements.
    """

    label_start: NDArray[np.int64]
    label_end: NDArray[np.int64]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    child_start: NDArray[np.int32]
    children: NDArray[np.int32]


class TreeNodes(NamedTuple):
    """The nodes of a prefix tree while it is built: where each ends, a set below it, the sets that end there."""

    depth: NDArray[np.int64]
    row: NDArray[np.int32]
    first: NDArray[np.int32]
    last: NDArray[np.int32]
    parent: NDArray[np.int64]


class TreeWork(NamedTuple):
    """The state of a traversal: the candidate (MaxSid) of each node, and that of the sets that end there.

    `heap` has the children of each node, the smallest candidate first, `cursors` an entry for each element of the left
    sets, `stack`, `bounds` and `is_entered` one for each level of the tree and two more, `positions` 256 for a level.
    """

    candidate: NDArray[np.int32]
    own: NDArray[np.int32]
    heap: NDArray[np.int32]
    cursors: NDArray[np.int64]
    stack: NDArray[np.int64]
    bounds: NDArray[np.int64]
    is_entered: NDArray[np.uint8]
    positions: NDArray[np.int64]


@njit_inner
def _is_set_before(sets, a, b):
    """Tell whether set `a` comes before set `b` in lexicographic order."""
    indptr, elements = sets
    return is_stretch_before(elements, indptr[a], indptr[a + 1], indptr[b], indptr[b + 1])


_sort_sets = merge_sort_by(_is_set_before)


@njit_lean
def order_sets(order, sets, scratch):
    """Sort sets lexicographically, equal sets by number.

    Parameters
    ----------
    order : ndarray of int32, shape (n,)
        Numbers of sets, ascending; changed.
    sets : SetLists
    scratch : ndarray of int32, shape (n,)

    Notes
    -----
    O(n log n) comparisons.
    """
    _sort_sets(order, 0, order.shape[0], scratch, (sets.indptr, sets.elements))


@njit_lean
def build_tree(order, sets, nodes, stack):
    """Find the nodes of a compacted prefix tree.

    Parameters
    ----------
    order : ndarray of int32, shape (n,)
        Sets that are not empty, in lexicographic order.
    sets : SetLists
    nodes : TreeNodes
        Receives at most 2 n + 1 nodes; the first is the root.
    stack : ndarray of int64, shape (largest set + 2,)
        Scratch.

    Returns
    -------
    int
        The number of nodes.

    Notes
    -----
    The prefix tree of section 4.1 of Yang et al. (VLDB Journal 2021), with nodes of one child merged (Patricia tree).
    O(elements).
    """
    indptr, elements = sets.indptr, sets.elements
    depth = nodes.depth
    depth[0] = 0
    nodes.row[0] = 0
    nodes.first[0] = 0
    nodes.last[0] = 0
    nodes.parent[0] = -1
    n_nodes = np.int64(1)
    stack[0] = 0
    top = np.int64(0)
    for i in range(order.shape[0]):
        row = order[i]
        start, size = indptr[row], indptr[row + 1] - indptr[row]
        common = np.int64(0)
        if i > 0:
            begin, size_before = indptr[order[i - 1]], indptr[order[i - 1] + 1] - indptr[order[i - 1]]
            shorter = min(size, size_before)
            while common < shorter and elements[start + common] == elements[begin + common]:
                common += 1
            if common == size and common == size_before:
                nodes.last[stack[top]] = i + 1
                continue
        below = np.int64(-1)
        while depth[stack[top]] > common:
            below = stack[top]
            top -= 1
        if depth[stack[top]] < common:  # two paths part inside a label
            depth[n_nodes] = common
            nodes.row[n_nodes] = row
            nodes.first[n_nodes] = 0
            nodes.last[n_nodes] = 0
            nodes.parent[n_nodes] = stack[top]
            nodes.parent[below] = n_nodes
            top += 1
            stack[top] = n_nodes
            n_nodes += 1
        depth[n_nodes] = size
        nodes.row[n_nodes] = row
        nodes.first[n_nodes] = i
        nodes.last[n_nodes] = i + 1
        nodes.parent[n_nodes] = stack[top]
        top += 1
        stack[top] = n_nodes
        n_nodes += 1
    return n_nodes


@njit_lean
def start_tree(first, last, tree, lists, work, elements):
    """Set the candidates of some nodes back before the first set, and the cursors to the beginning of their lists.

    Parameters
    ----------
    first, last : int
        The nodes.
    tree : PrefixTree
    lists : InvertedLists
    work : TreeWork
    elements : ndarray of uint32
        Of the left sets.

    Notes
    -----
    O(nodes + their elements).
    """
    for node in range(first, last):
        work.candidate[node] = -1
        work.own[node] = -1
        for p in range(tree.label_start[node], tree.label_end[node]):
            work.cursors[p] = lists.starts[elements[p]]
        for i in range(tree.child_start[node], tree.child_start[node + 1]):
            work.heap[i] = tree.children[i]


@njit_inner
def _lower(node, bound, tree, lists, work, elements):
    """Find the first set from `bound` on that is in the lists of all elements of a node, NO_SET if there is none."""
    start, end = tree.label_start[node], tree.label_end[node]
    n_agreeing = np.int64(0)
    p = start
    while n_agreeing < end - start:
        element = elements[p]
        stop = lists.ends[element]
        at = gallop(lists.rows, work.cursors[p], stop, bound)
        work.cursors[p] = at
        if at == stop:
            return np.int64(NO_SET)
        found = np.int64(lists.rows[at])
        if found == bound:
            n_agreeing += 1
        else:
            bound = found
            n_agreeing = np.int64(1)  # this list holds the new bound; the others are asked anew
        p = p + 1 if p + 1 < end else start
    return bound


@njit_inner
def _sift(heap, start, end, candidate):
    """Move the first child of a heap down to where its candidate belongs."""
    at = start
    moving = heap[at]
    value = candidate[moving]
    while True:
        child = 2 * (at - start) + 1 + start
        if child >= end:
            break
        if child + 1 < end and candidate[heap[child + 1]] < candidate[heap[child]]:
            child += 1
        if candidate[heap[child]] >= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moving


@njit_inner
def _advance(root, bound, tree, lists, work, elements):
    """Move the candidate of a node to the first set from `bound` on that is one of a set below it.

    Returns the number of steps.
    """
    stack, bounds, candidate = work.stack, work.bounds, work.candidate
    top = np.int64(0)
    stack[0] = root
    bounds[0] = bound
    work.is_entered[0] = 0
    n_steps = np.int64(0)
    while top >= 0:
        node = stack[top]
        n_steps += 1
        if work.is_entered[top] == 0:
            bounds[top] = _lower(node, bounds[top], tree, lists, work, elements)
            work.is_entered[top] = 1
        limit = bounds[top]
        if limit == NO_SET:
            candidate[node] = NO_SET
            work.own[node] = NO_SET
        else:
            if tree.last[node] > tree.first[node]:
                work.own[node] = max(work.own[node], np.int32(limit))
            else:
                work.own[node] = NO_SET
            start, end = np.int64(tree.child_start[node]), np.int64(tree.child_start[node + 1])
            if end > start and candidate[work.heap[start]] < limit:
                top += 1
                stack[top] = work.heap[start]
                bounds[top] = limit
                work.is_entered[top] = 0
                continue
            smallest = np.int64(work.own[node])
            if end > start:
                smallest = min(smallest, np.int64(candidate[work.heap[start]]))
            if smallest != limit and smallest != NO_SET:
                bounds[top] = smallest
                work.is_entered[top] = 0  # early termination: only a set that this node holds goes up
                continue
            candidate[node] = smallest
        top -= 1
        if top >= 0:
            above = stack[top]
            _sift(work.heap, np.int64(tree.child_start[above]), np.int64(tree.child_start[above + 1]), candidate)
    return n_steps


@njit_inner
def _emit(root, tree, work, order, pairs, n_pairs):
    """Write the pairs of the candidate of a node; return the number of pairs, -1 if there is no room."""
    found = work.candidate[root]
    positions, heap = work.positions, work.heap
    top = np.int64(0)
    positions[0] = root
    is_node = True
    room = pairs.left.shape[0]
    while top >= 0:
        node = positions[top]
        top -= 1
        is_node = node >= 0
        if not is_node:  # a place in the heap of a node, and the end of that heap above it
            at = -node - 1
            start, end = positions[top], positions[top - 1]
            top -= 2
            if work.candidate[heap[at]] != found:
                continue
            for child in (2 * (at - start) + 1 + start, 2 * (at - start) + 2 + start):
                if child < end:
                    positions[top + 1] = end
                    positions[top + 2] = start
                    positions[top + 3] = -child - 1
                    top += 3
            node = np.int64(heap[at])
        if work.own[node] == found:
            if n_pairs + tree.last[node] - tree.first[node] > room:
                return np.int64(-1)
            for i in range(tree.first[node], tree.last[node]):
                pairs.left[n_pairs] = order[i]
                pairs.right[n_pairs] = found
                n_pairs += 1
        start, end = np.int64(tree.child_start[node]), np.int64(tree.child_start[node + 1])
        if end > start:
            positions[top + 1] = end
            positions[top + 2] = start
            positions[top + 3] = -start - 1
            top += 3
    return n_pairs


@njit_lean
def join_tree(roots, tree, lists, work, sides, state, pairs, most):
    """Find the right sets that hold all elements of the left sets below some nodes.

    Parameters
    ----------
    roots : ndarray of int32, shape (n,)
        Nodes of which none is below another.
    tree : PrefixTree
    lists : InvertedLists
    work : TreeWork
        As `start_tree` leaves it, or an earlier call with the same `state`.
    sides : tuple of (ndarray of uint32, ndarray of int32)
        Elements of the left sets, and the sets in the order of the tree.
    state : ndarray of int64, shape (2,)
        Where to begin: place in `roots`, and the right set from which on; afterwards, where to go on.
    pairs : Pairs
        Receives the pairs: of each root in the order of the right sets. There is room for at least as many pairs as
        there are left sets.
    most : int
        Steps before the kernel returns, so that a join can be interrupted.

    Returns
    -------
    int
        The number of pairs.

    Notes
    -----
    Algorithms 2 to 4 of Yang et al., "Internal and external memory set containment join", VLDB Journal 2021. A node
    holds the smallest candidate of the sets below it; only a candidate that its own lists hold goes up (early
    termination, section 4.3); pairs are written from the root down, along the nodes that have the candidate (section
    4.4), instead of passing lists of sets up. Departures: the children of a node are a heap, so that finding the
    smallest candidate of many does not look at all; a child is visited again if its candidate is below the bound, not
    also if both are equal (Algorithm 3, line 3, would lose such a candidate); a node of several elements intersects its
    lists as Algorithm 1 does.
    """
    elements, order = sides
    n_pairs = np.int64(0)
    n_steps = np.int64(0)
    at = state[0]
    bound = state[1]
    while at < roots.shape[0] and n_steps <= most:
        root = np.int64(roots[at])
        n_steps += _advance(root, bound, tree, lists, work, elements)
        found = np.int64(work.candidate[root])
        if found == NO_SET:
            at += 1
            bound = np.int64(0)
            continue
        n_after = _emit(root, tree, work, order, pairs, n_pairs)
        if n_after < 0:
            bound = found  # looked for again, as nothing has moved
            break
        n_pairs = n_after
        bound = found + 1
    state[0] = at
    state[1] = bound
    return n_pairs


@njit_lean
def build_local_lists(rows, right, smallest, cursors, lists):
    """Build the inverted lists of some right sets alone, the sets numbered anew from 0 on.

    Parameters
    ----------
    rows : ndarray of int32, shape (n,)
        The right sets.
    right : SetLists
    smallest : int
        Elements below it are left out.
    cursors : ndarray of int64, shape (n_elements,)
        Zeros; zeros again after `forget_local_lists`.
    lists : InvertedLists
        Receives the lists; `starts` and `ends` have an entry for each element, which counts only for those met.

    Returns
    -------
    int
        Entries of all lists.

    Notes
    -----
    The local inverted index of section 5.1. O(elements of the sets); the lists lie in the order in which their elements
    are met first.
    """
    n_all = np.int64(0)
    for i in range(rows.shape[0]):
        for p in range(right.indptr[rows[i]], right.indptr[rows[i] + 1]):
            if right.elements[p] >= smallest:
                cursors[right.elements[p]] += 1
    for i in range(rows.shape[0]):
        for p in range(right.indptr[rows[i]], right.indptr[rows[i] + 1]):
            element = right.elements[p]
            if element >= smallest:
                if cursors[element] > 0:
                    lists.starts[element] = n_all
                    lists.ends[element] = n_all
                    n_all += cursors[element]
                    cursors[element] = -1
                lists.rows[lists.ends[element]] = i
                lists.ends[element] += 1
    return n_all


@njit_lean
def forget_local_lists(rows, right, smallest, cursors, lists):
    """Make the lists of some sets empty again, so that the next ones may be built; see `build_local_lists`.

    Parameters
    ----------
    rows, right, smallest, cursors, lists
        As given to `build_local_lists`.

    Notes
    -----
    O(elements of the sets).
    """
    for i in range(rows.shape[0]):
        for p in range(right.indptr[rows[i]], right.indptr[rows[i] + 1]):
            if right.elements[p] >= smallest:
                cursors[right.elements[p]] = 0
                lists.starts[right.elements[p]] = 0
                lists.ends[right.elements[p]] = 0
