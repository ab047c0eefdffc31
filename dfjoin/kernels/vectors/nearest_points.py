"""The nearest of many points to each of others, under boxes of boxes of points."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.vectors.vector_blocks import BLOCK
from dfjoin.kernels.vectors.vector_search import square_distance

FAN = 8
"""Boxes below a box."""

_SLACK = 1 + 1e-9  # more than rounding moves a square


class PointBoxes(NamedTuple):
    """Points in blocks of 64, and the boxes around them: of the blocks first, then of eight boxes each, up to one.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
    numbers : ndarray of int64, shape (n,)
        What a point is called.
    lows, highs : ndarray of float64, shape (n_boxes, d)
    levels : ndarray of int64, shape (n_levels + 1,)
        Boxes of level l: from ``levels[l]`` to ``levels[l + 1]``.
    """

    points: NDArray[np.float64]
    numbers: NDArray[np.int64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    levels: NDArray[np.int64]


@njit_inner
def _box_square(boxes, box, point):
    """Squared distance of a point from a box."""
    total = 0.0
    for k in range(point.size):
        out = max(boxes.lows[box, k] - point[k], point[k] - boxes.highs[box, k], 0.0)
        total += out * out
    return total


@njit_inner
def _scan_block(boxes, block, queries, query, nearest, gap, lanes):
    """Return the nearest point of a block and its distance, if it is nearer than what is known."""
    point = queries[query]
    for i in range(block * BLOCK, min(boxes.numbers.size, (block + 1) * BLOCK)):
        rough = 0.0
        for k in range(point.size):
            t = boxes.points[i, k] - point[k]
            rough += t * t
        if rough <= gap * gap * _SLACK:
            own = math.sqrt(square_distance(queries, query, boxes.points, i, lanes))
            number = boxes.numbers[i]
            if own < gap or (own == gap and (nearest < 0 or number < nearest)):
                nearest, gap = number, own
    return nearest, gap


@njit_lean
def find_nearest(boxes, queries, radius, stack, squares, lanes, nearest, gaps):
    """Find the nearest point to each query point within a radius, of several the one of the smallest number.

    Parameters
    ----------
    boxes : PointBoxes
    queries : ndarray of float64, shape (n_queries, d)
    radius : float
        Euclidean.
    stack, squares : ndarray of int64 and float64, shape (8 * n_levels + 8,)
        Scratch.
    lanes : ndarray of float64, shape (32,)
        Scratch.
    nearest : ndarray of int64, shape (n_queries,)
        Output: number of the point, -1 for none.
    gaps : ndarray of float64, shape (n_queries,)
        Output: its distance.

    Notes
    -----
    Boxes are visited depth first, the nearest below each box first, and left out when they are farther away than the
    nearest point so far. Source: Friedman, Bentley, Finkel, "An algorithm for finding best matches in logarithmic
    expected time", ACM TOMS 1977. O(log n) boxes for each query where points are few dimensions.
    """
    n_levels = boxes.levels.size - 1
    for query in range(queries.shape[0]):
        point = queries[query]
        best, gap = np.int64(-1), radius
        stack[0], squares[0], size = boxes.levels[n_levels] - 1, 0.0, 1
        while size:
            size -= 1
            box = stack[size]
            if squares[size] > gap * gap * _SLACK:
                continue
            if box < boxes.levels[1]:
                best, gap = _scan_block(boxes, box, queries, query, best, gap, lanes)
                continue
            level = 1
            while box >= boxes.levels[level + 1]:
                level += 1
            first = boxes.levels[level - 1] + (box - boxes.levels[level]) * FAN
            bottom = size
            for below in range(first, min(first + FAN, boxes.levels[level])):
                square = _box_square(boxes, below, point)
                if square > gap * gap * _SLACK:
                    continue
                position = size
                # The nearest one comes last, and is taken first.
                while position > bottom and squares[position - 1] < square:
                    stack[position], squares[position] = stack[position - 1], squares[position - 1]
                    position -= 1
                stack[position], squares[position] = below, square
                size += 1
        nearest[query], gaps[query] = best, gap
