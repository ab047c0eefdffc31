"""Search by distance: vectors within a radius of each query vector, and the columns that hold them, counted."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.vectors.vector_blocks import BLOCK

_EIGHT = 8
_LANES = 32


class BlockTree(NamedTuple):
    """Features of vectors in blocks, and the boxes above them; see `dfjoin.kernels.vectors.vector_blocks`."""

    blocks: NDArray[np.float32]
    boxes: NDArray[np.float32]
    levels: NDArray[np.int64]


class VectorTable(NamedTuple):
    """The vectors in the order of the blocks, as they are compared in the end, and the token of each."""

    rows: NDArray[np.floating]
    tokens: NDArray[np.uint32]


class TokenColumns(NamedTuple):
    """The columns of each token: group of the token, then the posting lists; see FORMAT.md.

    `is_near` is 1 for the columns that may be matched by distance; equal values match in all columns.
    """

    group: NDArray[np.uint32]
    list_indptr: NDArray[np.int64]
    list_columns: NDArray[np.int32]
    is_near: NDArray[np.uint8]


class QueryVectors(NamedTuple):
    """Query values: features, vectors, the number of each among the query's values, its token, weight and radius.

    `tokens` is the token of the same value, -1 for none; it is not matched again by its vector.
    """

    features: NDArray[np.float32]
    rows: NDArray[np.floating]
    numbers: NDArray[np.int64]
    tokens: NDArray[np.int64]
    weights: NDArray[np.int64]
    radii: NDArray[np.float64]


class Within(NamedTuple):
    """What is near enough in a tree: the squared bound on features, and the radius itself.

    The bound is looser than the radius by the error of features in float32.
    """

    bound: np.float32
    radius: float


class MatchLog(NamedTuple):
    """Which columns each query value matched, and how many values of the lake lie near it.

    Parameters
    ----------
    queries, columns : ndarray of int32
        Numbers of the query values and their columns, each pair once, as far as there is room.
    n_near : ndarray of int64, shape (n_values,)
    size : ndarray of int64, shape (1,)
        Pairs that were met.
    """

    queries: NDArray[np.int32]
    columns: NDArray[np.int32]
    n_near: NDArray[np.int64]
    size: NDArray[np.int64]


NO_LOG = MatchLog(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64), np.zeros(1, np.int64))
"""Nothing is noted."""


class MatchTally(NamedTuple):
    """The result of counting, and its scratch.

    `hits` are the query values that each column matches, `scores` their weights or, with `is_all`, the matched
    pairs. The stamps are the last query value that was counted there, -1 at first. `log` takes note of the matches.
    """

    hits: NDArray[np.int64]
    scores: NDArray[np.int64]
    column_stamps: NDArray[np.int64]
    list_stamps: NDArray[np.int64]
    is_all: bool
    log: MatchLog = NO_LOG


class SearchScratch(NamedTuple):
    """Scratch of a search: sums over a group of boxes and over a block, groups to visit, sums of a distance.

    The stack has 64 places for each level and 64 more.
    """

    box_sums: NDArray[np.float32]
    vector_sums: NDArray[np.float32]
    stack: NDArray[np.int64]
    lanes: NDArray[np.float64]


def make_scratch(n_levels: int) -> SearchScratch:
    """Return scratch for a search in a tree of so many levels.

    Parameters
    ----------
    n_levels : int
    """
    sums = np.empty((2, BLOCK), np.float32)
    return SearchScratch(sums[0], sums[1], np.empty((64 * (n_levels + 1), 2), np.int64), np.empty(_LANES))


@njit_inner
def _count_column(column, number, weight, is_equal, postings, tally):
    if column < 0 or column >= tally.hits.size:
        raise DamagedArraysError("a posting names a column that the segment does not have")
    if not is_equal and not postings.is_near[column]:
        return
    if tally.column_stamps[column] != number:
        tally.column_stamps[column] = number
        tally.hits[column] += 1
        log = tally.log
        if log.n_near.size:
            if log.size[0] < log.columns.size:
                log.queries[log.size[0]] = number
                log.columns[log.size[0]] = column
            log.size[0] += 1
        if not tally.is_all:
            tally.scores[column] += weight
    if tally.is_all:
        tally.scores[column] += 1


@njit_inner
def count_token(token, number, weight, is_equal, postings, tally):
    """Count the columns of a token for a query value, each once a query value.

    Parameters
    ----------
    token, number, weight : int
        The token; number and weight of the query value.
    is_equal : bool
        The token is the query value itself, which matches in every column.
    postings : TokenColumns
    tally : MatchTally
        Output, added to.

    Notes
    -----
    O(columns of the token).
    """
    if token < 0 or token >= postings.group.size:
        raise DamagedArraysError("a vector names a token that the segment does not have")
    group = np.int64(postings.group[token])
    if tally.log.n_near.size:
        tally.log.n_near[number] += 1
    n_columns = postings.is_near.size
    if group < n_columns:
        _count_column(group, number, weight, is_equal, postings, tally)
        return
    number_of_list = group - n_columns
    if number_of_list >= tally.list_stamps.size:
        raise DamagedArraysError("a token names a posting list that the segment does not have")
    if not tally.is_all:
        if tally.list_stamps[number_of_list] == number:
            return
        tally.list_stamps[number_of_list] = number
    for i in range(postings.list_indptr[number_of_list], postings.list_indptr[number_of_list + 1]):
        if i < 0 or i >= postings.list_columns.size:
            raise DamagedArraysError("a posting list lies outside the postings")
        _count_column(postings.list_columns[i], number, weight, is_equal, postings, tally)


@njit_inner
def square_distance(a, i, b, j, lanes):
    """Compute the squared distance of two rows in float64: 32 sums side by side, added up in a fixed order.

    Parameters
    ----------
    a, b : ndarray of float32 or float64, shapes (n, d), (m, d)
    i, j : int
        The rows.
    lanes : ndarray of float64, shape (32,)
        Scratch.

    Returns
    -------
    float

    Notes
    -----
    O(d).
    """
    left, right = a[i], b[j]
    n, k, step = np.uint64(left.size), np.uint64(0), np.uint64(_LANES)  # unsigned: no place counts from the end
    for lane in range(_LANES):
        lanes[lane] = 0.0
    while k + step <= n:
        for lane in range(step):
            t = np.float64(left[k + lane]) - np.float64(right[k + lane])
            lanes[lane] += t * t
        k += step
    for lane in range(n - k):
        t = np.float64(left[k + lane]) - np.float64(right[k + lane])
        lanes[lane] += t * t
    width = _LANES // 2
    while width:
        for lane in range(width):
            lanes[lane] += lanes[lane + width]
        width //= 2
    return lanes[0]


@njit_inner
def is_within(a, i, b, j, radius, lanes):
    """Tell whether two rows lie within a radius, in float64.

    Parameters
    ----------
    a, b : ndarray of float32 or float64, shapes (n, d), (m, d)
    i, j : int
        The rows.
    radius : float
    lanes : ndarray of float64, shape (32,)
        Scratch.

    Returns
    -------
    bool

    Notes
    -----
    O(d).
    """
    return math.sqrt(square_distance(a, i, b, j, lanes)) <= radius


@njit_inner
def _scan(block, features, q, bound, sums):
    """Bound the squared distances of a query to the 64 vectors of a block; return whether one is near enough."""
    n_axes = features.shape[1]
    start = 0
    for j in range(BLOCK):
        sums[j] = 0
    while start + _EIGHT <= n_axes:
        f0, f1, f2, f3 = features[q, start], features[q, start + 1], features[q, start + 2], features[q, start + 3]
        f4, f5, f6, f7 = features[q, start + 4], features[q, start + 5], features[q, start + 6], features[q, start + 7]
        a0, a1, a2, a3 = block[start], block[start + 1], block[start + 2], block[start + 3]
        a4, a5, a6, a7 = block[start + 4], block[start + 5], block[start + 6], block[start + 7]
        is_near = False
        for j in range(BLOCK):
            t0, t1, t2, t3 = f0 - a0[j], f1 - a1[j], f2 - a2[j], f3 - a3[j]
            t4, t5, t6, t7 = f4 - a4[j], f5 - a5[j], f6 - a6[j], f7 - a7[j]
            total = sums[j] + (t0 * t0 + t1 * t1 + t2 * t2 + t3 * t3) + (t4 * t4 + t5 * t5 + t6 * t6 + t7 * t7)
            sums[j] = total
            is_near |= total <= bound
        if not is_near:
            return False
        start += _EIGHT
    is_near = False
    f0 = features[q, start]
    a0 = block[start]
    for j in range(BLOCK):
        t0 = f0 - a0[j]
        total = sums[j] + t0 * t0
        sums[j] = total
        is_near |= total <= bound
    return is_near


@njit_inner
def _scan_boxes(group, features, q, bound, sums):
    """Bound the squared distances of a query to the 64 boxes of a group; return whether one is near enough."""
    n_axes = features.shape[1]
    for j in range(BLOCK):
        sums[j] = 0
    zero = np.float32(0)
    for axis in range(n_axes):
        f = features[q, axis]
        low, high = group[axis], group[n_axes + axis]
        is_near = False
        for j in range(BLOCK):
            t = max(max(low[j] - f, f - high[j]), zero)
            total = sums[j] + t * t
            sums[j] = total
            is_near |= total <= bound
        if not is_near:
            return False
    return True


@njit_lean
def count_within(tree, table, queries, within, postings, tally, scratch, stats):
    """Count for each column the query values that one of its values lies near.

    Parameters
    ----------
    tree : BlockTree
        Features have 8 i + 1 axes, the last of them the length of what the others leave out.
    table : VectorTable
    queries : QueryVectors
    within : Within
    postings : TokenColumns
    tally : MatchTally
        Output, added to.
    scratch : SearchScratch
    stats : ndarray of int64, shape (4,)
        Output, added to: groups of boxes and blocks scanned, distances computed, pairs matched.

    Raises
    ------
    DamagedArraysError
        If arrays of the segment name what it does not have.

    Notes
    -----
    A projection on orthogonal axes and the length of the rest bound a Euclidean distance from below:
    ||q1 - x1||² + (||q2|| - ||x2||)² ≤ ||q - x||². The box of a block bounds it for all its vectors. What no bound
    excludes is computed in float64 from the vectors themselves. O(boxes + blocks near the query).
    """
    n_levels = tree.levels.size - 1
    n_vectors = table.tokens.size
    stack, box_sums, vector_sums = scratch.stack, scratch.box_sums, scratch.vector_sums
    for q in range(queries.numbers.size):
        number, weight, own = queries.numbers[q], queries.weights[q], queries.tokens[q]
        if own >= 0:
            count_token(own, number, weight, True, postings, tally)
        stack[0, 0], stack[0, 1] = n_levels - 1, 0
        n_stack = 1
        while n_stack:
            n_stack -= 1
            level, group = stack[n_stack, 0], stack[n_stack, 1]
            stats[0] += 1
            if not _scan_boxes(tree.boxes[tree.levels[level] + group], queries.features, q, within.bound, box_sums):
                continue
            for i in range(BLOCK):
                if box_sums[i] > within.bound:
                    continue
                child = group * BLOCK + i
                if level:
                    stack[n_stack, 0], stack[n_stack, 1] = level - 1, child
                    n_stack += 1
                    continue
                if child >= tree.blocks.shape[0]:
                    continue
                stats[1] += 1
                if not _scan(tree.blocks[child], queries.features, q, within.bound, vector_sums):
                    continue
                for j in range(BLOCK):
                    position = child * BLOCK + j
                    if vector_sums[j] > within.bound or position >= n_vectors:
                        continue
                    stats[2] += 1
                    if is_within(queries.rows, q, table.rows, position, within.radius, scratch.lanes):
                        stats[3] += 1
                        if table.tokens[position] != own:
                            count_token(np.int64(table.tokens[position]), number, weight, False, postings, tally)


@njit_lean
def count_pairs(indptr, positions, table, queries, postings, tally, scratch, stats):
    """Count the columns of the vectors within the radius of each query value, among candidates found for it.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_queries + 1,)
        Candidates of query value q: ``positions[indptr[q] : indptr[q + 1]]``.
    positions : ndarray of int64
        Places of vectors in the table.
    table, queries, postings, tally, scratch, stats
        As in `count_within`.
    """
    for q in range(queries.numbers.size):
        number, weight, own = queries.numbers[q], queries.weights[q], queries.tokens[q]
        if own >= 0:
            count_token(own, number, weight, True, postings, tally)
        for i in range(indptr[q], indptr[q + 1]):
            position = positions[i]
            stats[2] += 1
            if is_within(queries.rows, q, table.rows, position, queries.radii[q], scratch.lanes):
                stats[3] += 1
                if table.tokens[position] != own:
                    count_token(np.int64(table.tokens[position]), number, weight, False, postings, tally)


@njit_lean
def count_equal(tokens, numbers, weights, postings, tally):
    """Count the columns of the tokens that equal query values without a vector.

    Parameters
    ----------
    tokens, numbers, weights : ndarray of int64, shape (n,)
        Token of each query value, -1 for none; its number and weight.
    postings, tally
        As in `count_within`.
    """
    for i in range(tokens.size):
        if tokens[i] >= 0:
            count_token(tokens[i], numbers[i], weights[i], True, postings, tally)


@njit_lean
def distances_of_pairs(a, rows_a, b, rows_b, lanes, out):
    """Compute the distances of pairs of rows as the search compares them.

    Parameters
    ----------
    a, b : ndarray of float32 or float64, shape (n, d)
    rows_a, rows_b : ndarray of int64, shape (n_pairs,)
    lanes : ndarray of float64, shape (32,)
        Scratch.
    out : ndarray of float64, shape (n_pairs,)
        Output.
    """
    for pair in range(rows_a.size):
        out[pair] = math.sqrt(square_distance(a, rows_a[pair], b, rows_b[pair], lanes))
