"""PEXESO's blocking and verifying: hierarchical grids over distances to pivots, joined cell by cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.vectors.vector_search import count_token


class Grid(NamedTuple):
    """A hierarchical grid over mapped vectors, which are in the order of its leaf cells.

    Parameters
    ----------
    mapped : ndarray of float64, shape (n, n_pivots)
        Distances to the pivots.
    coordinates : ndarray of int32, shape (n_cells, n_pivots)
        Of the cells that hold a vector, level by level; the first is the root.
    starts : ndarray of int64, shape (n_levels + 2,)
        First cell of each level, the root's being level 0.
    children : ndarray of int64, shape (n_cells, 2)
        First child of each cell and the end of its children; of a leaf, vectors.
    largest : ndarray of float64, shape (n_cells, n_pivots)
        Largest distance to each pivot of a cell's vectors.
    side : float
        Edge of a cell of level 0; halved on each level.
    """

    mapped: NDArray[np.float64]
    coordinates: NDArray[np.int32]
    starts: NDArray[np.int64]
    children: NDArray[np.int64]
    largest: NDArray[np.float64]
    side: float


class PivotLimits(NamedTuple):
    """A radius and the error that mapped distances may have: what is beyond both is beyond the radius for sure."""

    radius: float
    error: float


class CellPairs(NamedTuple):
    """CellPairs of a query vector and a leaf cell, and whether all vectors of the cell match."""

    queries: NDArray[np.int64]
    cells: NDArray[np.int64]
    is_match: NDArray[np.uint8]


@njit_lean
def cell_keys(mapped, side, n_levels, keys):
    """Number the leaf cell of each vector, so that the cells of each level are stretches of the ascending numbers.

    Parameters
    ----------
    mapped : ndarray of float64, shape (n, n_pivots)
    side : float
        Edge of the whole space; what lies beyond it belongs to the last cells.
    n_levels : int
        n_levels * n_pivots is at most 62.
    keys : ndarray of int64, shape (n,)
        Output: for each level, from the coarsest, a bit for each pivot.
    """
    n_pivots = mapped.shape[1]
    last = (1 << n_levels) - 1
    for i in range(mapped.shape[0]):
        key = np.int64(0)
        for level in range(n_levels):
            for p in range(n_pivots):
                position = min(np.int64(mapped[i, p] / side * (last + 1)), last)
                key = (key << 1) | ((position >> (n_levels - 1 - level)) & 1)
        keys[i] = key


@njit_inner
def _edges(grid, cell, level, p):
    """Lower and upper edge of a cell; the last cell of an axis has no end."""
    width = grid.side / (1 << level)
    coordinate = grid.coordinates[cell, p]
    upper = np.inf if coordinate == (1 << level) - 1 else (coordinate + 1) * width
    return coordinate * width, upper


@njit_inner
def _cells_apart(queries, query_cell, target, cell, level, limits):
    """Lemma 4: tell whether no vector of one cell can match one of the other."""
    for p in range(target.coordinates.shape[1]):
        low_q, high_q = _edges(queries, query_cell, level, p)
        low, high = _edges(target, cell, level, p)
        if low > high_q + limits.radius + limits.error or high < low_q - limits.radius - limits.error:
            return True
    return False


@njit_inner
def _cells_match(queries, query_cell, target, cell, level, limits):
    """Lemma 6: tell whether every vector of one cell matches every one of the other for sure."""
    for p in range(target.coordinates.shape[1]):
        if _edges(target, cell, level, p)[1] + queries.largest[query_cell, p] <= limits.radius - limits.error:
            return True
    return False


@njit_inner
def _vector_apart(mapped, q, target, cell, level, limits):
    """Lemma 3: tell whether no vector of a cell can match a query vector."""
    for p in range(mapped.shape[1]):
        low, high = _edges(target, cell, level, p)
        if low > mapped[q, p] + limits.radius + limits.error or high < mapped[q, p] - limits.radius - limits.error:
            return True
    return False


@njit_inner
def _vector_matches(mapped, q, target, cell, level, limits):
    """Lemma 5: tell whether every vector of a cell matches a query vector for sure."""
    for p in range(mapped.shape[1]):
        if _edges(target, cell, level, p)[1] + mapped[q, p] <= limits.radius - limits.error:
            return True
    return False


@njit_inner
def _is_same(queries, query_cell, target, cell):
    for p in range(target.coordinates.shape[1]):
        if queries.coordinates[query_cell, p] != target.coordinates[cell, p]:
            return False
    return True


@njit_inner
def _leaves(grid, cell, level, n_levels):
    """Return the first leaf cell below a cell, and the end of them."""
    first, last = cell, cell
    while level < n_levels:
        first, last = grid.children[first, 0], grid.children[last, 1] - 1
        level += 1
    return first, last + 1


@njit_lean
def block(queries, target, limits, stack, pairs, stats):
    """Join two grids of the same levels: find the pairs of a query vector and a leaf cell that may match, or do.

    Parameters
    ----------
    queries, target : Grid
    limits : PivotLimits
    stack : ndarray of int64, shape (n, 3)
        Scratch.
    pairs : CellPairs
        Output.
    stats : ndarray of int64, shape (2,)
        Output, added to: pairs of cells compared, pairs of a vector and a cell compared.

    Returns
    -------
    int
        CellPairs found; -1 where `pairs` or `stack` have not room enough.

    Notes
    -----
    Source: Dong et al., ICDE 2021, Algorithm 1, with Lemmas 3 to 6. Quick browsing is part of it: leaf cells of the
    same region are candidates without a comparison.
    """
    n_levels = target.starts.size - 2
    n_found = 0
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, 0
    n_stack = 1
    while n_stack:
        n_stack -= 1
        query_cell, cell, level = stack[n_stack, 0], stack[n_stack, 1], stack[n_stack, 2]
        if level < n_levels:
            stats[0] += 1
            if _cells_match(queries, query_cell, target, cell, level, limits):
                first_cell, end_cell = _leaves(target, cell, level, n_levels)
                first_own, end_own = _leaves(queries, query_cell, level, n_levels)
                for q in range(queries.children[first_own, 0], queries.children[end_own - 1, 1]):
                    for leaf in range(first_cell, end_cell):
                        if n_found == pairs.queries.size:
                            return -1
                        pairs.queries[n_found], pairs.cells[n_found], pairs.is_match[n_found] = q, leaf, 1
                        n_found += 1
                continue
            if level and _cells_apart(queries, query_cell, target, cell, level, limits):
                continue
            for i in range(queries.children[query_cell, 0], queries.children[query_cell, 1]):
                for j in range(target.children[cell, 0], target.children[cell, 1]):
                    if n_stack == stack.shape[0]:
                        return -1
                    stack[n_stack, 0], stack[n_stack, 1], stack[n_stack, 2] = i, j, level + 1
                    n_stack += 1
            continue
        is_same = _is_same(queries, query_cell, target, cell)
        for q in range(queries.children[query_cell, 0], queries.children[query_cell, 1]):
            stats[1] += 1
            is_match = _vector_matches(queries.mapped, q, target, cell, level, limits)
            if not is_match and not is_same and _vector_apart(queries.mapped, q, target, cell, level, limits):
                continue
            if n_found == pairs.queries.size:
                return -1
            pairs.queries[n_found], pairs.cells[n_found], pairs.is_match[n_found] = q, cell, np.uint8(is_match)
            n_found += 1
    return n_found


@njit_inner
def _is_open(token, is_closed, postings):
    """Tell whether a column of a token may still limits the threshold."""
    group = np.int64(postings.group[token])
    n_columns = postings.is_near.size
    if group < n_columns:
        return not is_closed[group]
    for i in range(postings.list_indptr[group - n_columns], postings.list_indptr[group - n_columns + 1]):
        if not is_closed[postings.list_columns[i]]:
            return True
    return False


@njit_lean
def sift_cells(mapped, target, pairs, limits, tokens, is_closed, postings, found, stats):
    """List the vectors of the cells of pairs that match for sure, and those whose distance has to be computed.

    Parameters
    ----------
    mapped : ndarray of float64, shape (n_queries, n_pivots)
    target : Grid
    pairs : CellPairs
    limits : PivotLimits
    tokens : ndarray of uint32, shape (n,)
        Token of each vector, in the order of the grid.
    is_closed : ndarray of bool, shape (n_columns,)
        Columns that cannot limits the threshold any more (Lemma 7).
    postings : TokenColumns
    found : CellPairs
        Output: query vector, place of the vector, and whether it matches for sure (Lemma 2).
    stats : ndarray of int64, shape (3,)
        Output, added to: vectors left out by Lemma 1, matched by Lemma 2 or by their cell, left out by Lemma 7.

    Returns
    -------
    int
        CellPairs found; -1 where `found` has not room enough.

    Notes
    -----
    Source: Dong et al., ICDE 2021, Algorithm 2, with Lemmas 1, 2 and 7. Deviation: a vector belongs to a distinct
    value, so that it is left out where all columns that hold the value are closed; no column is accepted early, since
    its count is reported.
    """
    n = 0
    for i in range(pairs.queries.size):
        q, cell = pairs.queries[i], pairs.cells[i]
        for position in range(target.children[cell, 0], target.children[cell, 1]):
            if not _is_open(tokens[position], is_closed, postings):
                stats[2] += 1
                continue
            is_sure, is_apart = pairs.is_match[i] == 1, False
            if not is_sure:
                for p in range(mapped.shape[1]):
                    one, other = mapped[q, p], target.mapped[position, p]
                    if abs(one - other) > limits.radius + limits.error:
                        is_apart = True
                        break
                    if one + other <= limits.radius - limits.error:
                        is_sure = True
            if is_apart:
                stats[0] += 1
                continue
            stats[1] += is_sure
            if n == found.queries.size:
                return -1
            found.queries[n], found.cells[n], found.is_match[n] = q, position, np.uint8(is_sure)
            n += 1
    return n


@njit_lean
def count_found(indptr, positions, tokens, queries, postings, tally):
    """Count the columns of the vectors that match each query value.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_queries + 1,)
    positions : ndarray of int64
        Vectors that match query value q: ``positions[indptr[q] : indptr[q + 1]]``.
    tokens : ndarray of uint32, shape (n,)
    queries : QueryVectors
    postings : TokenColumns
    tally : MatchTally
        Output, added to.
    """
    for q in range(queries.numbers.size):
        number, weight, own = queries.numbers[q], queries.weights[q], queries.tokens[q]
        if own >= 0:
            count_token(own, number, weight, True, postings, tally)
        for i in range(indptr[q], indptr[q + 1]):
            token = np.int64(tokens[positions[i]])
            if token != own:
                count_token(token, number, weight, False, postings, tally)
