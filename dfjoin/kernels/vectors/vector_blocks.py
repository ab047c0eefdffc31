"""Vectors in blocks of 64 neighbours, and the boxes of blocks: the layout that a search by distance scans."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.numba._compile import njit_inner, njit_lean

BLOCK = 64
"""Vectors of a block, and boxes of a group."""

FAR = np.float32(1e18)
"""Features of the places of the last block that no vector has: farther than any radius, and finite when squared."""


def box_levels(n_vectors: int) -> list[int]:
    """Return where the groups of boxes of each level begin, and their number; level 0 holds the boxes of the blocks.

    Parameters
    ----------
    n_vectors : int

    Returns
    -------
    list of int
        One entry a level, then the number of groups of all levels. The last level is one group.

    Examples
    --------
    >>> box_levels(100), box_levels(64 * 64 + 1)
    ([0, 1], [0, 2, 3])
    """
    starts = [0]
    n_boxes = max(1, -(-n_vectors // BLOCK))
    while True:
        n_groups = -(-n_boxes // BLOCK)
        starts.append(starts[-1] + n_groups)
        if n_groups == 1:
            return starts
        n_boxes = n_groups


@njit_inner
def _widest(features, order, first, last):
    """Return the axis along which the vectors of a stretch lie farthest apart, the lowest of several."""
    best, widest = 0, np.float32(-1)
    for axis in range(features.shape[1]):
        low = high = features[order[first], axis]
        for i in range(first + 1, last):
            value = features[order[i], axis]
            low = min(low, value)
            high = max(high, value)
        if high - low > widest:
            best, widest = axis, high - low
    return best


@njit_inner
def _select(keys, order, first, last, middle):
    """Move the smallest keys of a stretch before `middle`, the largest behind it (Hoare's selection)."""
    low, high = first, last - 1
    while low < high:
        pivot = keys[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while pivot < keys[j]:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit_lean
def order_blocks(features, order, keys, stack):
    """Order vectors so that each block holds neighbours: a balanced k-d tree whose leaves are the blocks.

    Parameters
    ----------
    features : ndarray of float32, shape (n, n_axes)
    order : ndarray of int64, shape (n,)
        0 … n - 1 when called; afterwards the vector of each place.
    keys : ndarray of float32, shape (n,)
        Scratch.
    stack : ndarray of int64, shape (128, 2)
        Scratch.

    Notes
    -----
    A stretch is cut at the median of the axis along which it is widest. Cuts fall on multiples of 64 blocks while a
    stretch is longer than that, and of 64² while it is longer than that, so that a group of boxes is a subtree.
    Source: Bentley, "Multidimensional binary search trees", CACM 1975. O(n log n).
    """
    n_blocks = (order.size + BLOCK - 1) // BLOCK
    stack[0, 0], stack[0, 1] = 0, n_blocks
    n_stack = 1
    while n_stack:
        n_stack -= 1
        begin, end = stack[n_stack, 0], stack[n_stack, 1]
        if end - begin < 2:
            continue
        unit = 1
        while unit * BLOCK < end - begin:
            unit *= BLOCK
        half = (end - begin + unit) // (2 * unit) * unit
        cut = begin + max(unit, half)
        first, last = begin * BLOCK, min(end * BLOCK, order.size)
        axis = _widest(features, order, first, last)
        for i in range(first, last):
            keys[i] = features[order[i], axis]
        _select(keys, order, first, last, cut * BLOCK)
        stack[n_stack, 0], stack[n_stack, 1] = begin, cut
        stack[n_stack + 1, 0], stack[n_stack + 1, 1] = cut, end
        n_stack += 2


@njit_lean
def fill_blocks(features, order, blocks):
    """Write the features of each block axis by axis, `FAR` where the last block has no vector.

    Parameters
    ----------
    features : ndarray of float32, shape (n, n_axes)
    order : ndarray of int64, shape (n,)
    blocks : ndarray of float32, shape (n_blocks, n_axes, 64)
        Output.
    """
    for block in range(blocks.shape[0]):
        for j in range(BLOCK):
            position = block * BLOCK + j
            for axis in range(blocks.shape[1]):
                blocks[block, axis, j] = features[order[position], axis] if position < order.size else FAR


@njit_lean
def fill_boxes(blocks, n_vectors, levels, boxes):
    """Compute the box of each block, and level by level the boxes of the groups.

    Parameters
    ----------
    blocks : ndarray of float32, shape (n_blocks, n_axes, 64)
    n_vectors : int
    levels : ndarray of int64, shape (n_levels + 1,)
        As `box_levels` returns them.
    boxes : ndarray of float32, shape (n_groups, 2 * n_axes, 64)
        Output: lower ends of the boxes of each group, then upper ends; `FAR` where there is no box.
    """
    n_axes = blocks.shape[1]
    n_children = blocks.shape[0]
    for level in range(levels.size - 1):
        for group in range(levels[level], levels[level + 1]):
            for j in range(BLOCK):
                child = (group - levels[level]) * BLOCK + j
                for axis in range(n_axes):
                    low = high = FAR
                    if child < n_children:
                        if level == 0:
                            low = high = blocks[child, axis, 0]
                            for i in range(1, min(BLOCK, n_vectors - child * BLOCK)):
                                low = min(low, blocks[child, axis, i])
                                high = max(high, blocks[child, axis, i])
                        else:
                            below = levels[level - 1] + child
                            low, high = boxes[below, axis, 0], boxes[below, n_axes + axis, 0]
                            for i in range(1, BLOCK):
                                if boxes[below, axis, i] < FAR:
                                    low = min(low, boxes[below, axis, i])
                                    high = max(high, boxes[below, n_axes + axis, i])
                    boxes[group, axis, j] = low
                    boxes[group, n_axes + axis, j] = high
        n_children = levels[level + 1] - levels[level]
