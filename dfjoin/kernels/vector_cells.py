"""Unit vectors in cells around centers, each cell by falling cosine: the search of what lies within an angle."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels._compile import njit_inner, njit_lean
from dfjoin.kernels.vector_blocks import BLOCK
from dfjoin.kernels.vector_search import is_within

__all__ = ["LANES", "CellBlocks", "CellReach", "CellScratch", "NearPlaces", "make_cell_scratch", "scan_cells"]

LANES = 16
"""Vectors that are scanned together, a quarter of a block."""

_EIGHT = 8
_PARTS = BLOCK // LANES
_AXIS, _ALL_LANES = np.uint64(BLOCK), np.uint64(LANES)
_TWO, _THREE, _FOUR, _FIVE, _SIX, _SEVEN, _EIGHT_AXES = (np.uint64(n) for n in range(2, 9))


class CellBlocks(NamedTuple):
    """Vectors in the order of their cells, and in a cell by falling cosine to its center.

    Parameters
    ----------
    lanes : ndarray of float32, shape (n_blocks * n_axes * 64,)
        Features, block by block, axis by axis: of 8 i + 1 axes the last is the length of what the others leave out.
    indptr : ndarray of int64, shape (n_cells + 1,)
        Vectors of cell c: ``indptr[c] : indptr[c + 1]``.
    cosines : ndarray of float32, shape (n,)
    """

    lanes: NDArray[np.float32]
    indptr: NDArray[np.int64]
    cosines: NDArray[np.float32]


class CellReach(NamedTuple):
    """What is near enough.

    Parameters
    ----------
    cosine, sine : float32
        Of the angle that the radius spans.
    error : float32
        Error of a cosine in float32.
    bound : float32
        Squared distance of features up to which two vectors may lie within the radius.
    radius : float
    """

    cosine: np.float32
    sine: np.float32
    error: np.float32
    bound: np.float32
    radius: float


class NearPlaces(NamedTuple):
    """Pairs that were found: number of the query vector in its batch, and place of the vector."""

    queries: NDArray[np.int32]
    places: NDArray[np.int32]


class CellScratch(NamedTuple):
    """Scratch of a scan: for each query vector two cosines and three numbers, and sums."""

    low: NDArray[np.float32]
    high: NDArray[np.float32]
    firsts: NDArray[np.int32]
    lasts: NDArray[np.int32]
    chosen: NDArray[np.int32]
    sums: NDArray[np.float32]
    wide_sums: NDArray[np.float64]


def make_cell_scratch(n_queries: int) -> CellScratch:
    """Return scratch for so many query vectors.

    Parameters
    ----------
    n_queries : int
    """
    cosines, numbers = np.empty((2, n_queries), np.float32), np.empty((3, n_queries + 1), np.int32)
    return CellScratch(*cosines, *numbers, np.empty(LANES, np.float32), np.empty(32))


@njit_inner
def _scan_lanes(lanes, part, features, q, bound, sums):
    """Bound the squared distances of a query to 16 vectors; return whether one is near enough.

    Places are unsigned, so that none is taken to count from the end: six times as fast.
    """
    n_axes = features.shape[1]
    own = features[q]
    base = np.uint64(part // _PARTS * n_axes * _PARTS * LANES + part % _PARTS * LANES)
    for j in range(LANES):
        sums[j] = 0
    i = 0
    while i + _EIGHT <= n_axes:
        f0, f1, f2, f3, f4, f5, f6, f7 = (
            own[i],
            own[i + 1],
            own[i + 2],
            own[i + 3],
            own[i + 4],
            own[i + 5],
            own[i + 6],
            own[i + 7],
        )
        for j in range(_ALL_LANES):
            k = base + j
            t0, t1 = f0 - lanes[k], f1 - lanes[k + _AXIS]
            t2, t3 = f2 - lanes[k + _AXIS * _TWO], f3 - lanes[k + _AXIS * _THREE]
            t4, t5 = f4 - lanes[k + _AXIS * _FOUR], f5 - lanes[k + _AXIS * _FIVE]
            t6, t7 = f6 - lanes[k + _AXIS * _SIX], f7 - lanes[k + _AXIS * _SEVEN]
            sums[j] += (t0 * t0 + t1 * t1 + t2 * t2 + t3 * t3) + (t4 * t4 + t5 * t5 + t6 * t6 + t7 * t7)
        base += _AXIS * _EIGHT_AXES
        i += _EIGHT
    is_near = False
    rest = own[i]
    for j in range(_ALL_LANES):
        t0 = rest - lanes[base + j]
        total = sums[j] + t0 * t0
        sums[j] = total
        is_near |= total <= bound
    return is_near


@njit_inner
def _find_stretches(cells, cell, products, reach, scratch):
    """Find which sixteenths of a cell may hold a vector near each query: numbers from and to, from its first one.

    Returns how many queries have some; `scratch.chosen` lists them.

    If q and x are an angle t apart at most, the angles of both to the center differ by t at most.
    """
    begin, end = cells.indptr[cell], cells.indptr[cell + 1]
    low, high, firsts, lasts = scratch.low, scratch.high, scratch.firsts, scratch.lasts
    one, zero, error = np.float32(1), np.float32(0), reach.error
    for q in range(products.size):
        d = products[q]
        size = max(abs(d) - error, zero)
        spread = math.sqrt(max(one - size * size, zero)) * reach.sine + error + error
        middle = d * reach.cosine
        low[q] = np.float32(-2) if d - error <= -reach.cosine else middle - spread
        high[q] = np.float32(2) if d + error >= reach.cosine else middle + spread
        firsts[q] = 0
        lasts[q] = 0
    for part in range(begin // LANES, (end + LANES - 1) // LANES):
        top = cells.cosines[max(begin, part * LANES)]
        bottom = cells.cosines[min(end, part * LANES + LANES) - 1]
        for q in range(products.size):
            firsts[q] += np.int32(bottom > high[q])
            lasts[q] += np.int32(top >= low[q])
    n = 0
    for q in range(products.size):
        scratch.chosen[n] = q
        n += np.int64(firsts[q] < lasts[q])
    return n


@njit_lean
def scan_cells(cells, table, queries, products, reach, found, scratch, state, stats):
    """Find the vectors within the radius of query vectors, cell by cell.

    Parameters
    ----------
    cells : CellBlocks
    table : VectorTable
        The vectors in the order of the cells.
    queries : QueryVectors
    products : ndarray of float32, shape (n_cells_here, n_queries)
        Cosines of the centers of the next cells and the query vectors.
    reach : CellReach
    found : NearPlaces
        Output: pairs, by cell, then by query.
    scratch : CellScratch
    state : ndarray of int64, shape (4,)
        First cell of `products`, the cell and the place in its list of queries to go on with, pairs found; changed.
    stats : ndarray of int64, shape (4,)
        Output, added to: cells looked at, sixteenths scanned, distances computed; the last one stays.

    Returns
    -------
    bool
        False where `found` may have no room for the next query; with more room it is called again.

    Notes
    -----
    Source: Jagadish et al., "iDistance: an adaptive B+-tree based indexing method for nearest neighbor search", TODS
    2005: cells around centers, in each of which what lies near the query's own distance to the center is scanned.
    Deviation: distances are angles between unit vectors, for which the triangle inequality is sharper than for the
    chords, and what is scanned is bounded by projections before a distance is computed, see `count_within`. Cells are
    the outer loop, so that a cell is read once for all query vectors. O(cells n_queries + sixteenths scanned).
    """
    n_found = state[3]
    for cell in range(state[1], state[0] + products.shape[0]):
        begin, end = cells.indptr[cell], cells.indptr[cell + 1]
        if begin == end:
            continue
        stats[0] += 1
        n_chosen = _find_stretches(cells, cell, products[cell - state[0]], reach, scratch)
        for i in range(state[2], n_chosen):
            q = scratch.chosen[i]
            first, last = scratch.firsts[q], scratch.lasts[q]
            if found.places.size - n_found < (last - first) * LANES:
                state[1], state[2], state[3] = cell, i, n_found
                return False
            stats[1] += last - first
            for part in range(begin // LANES + first, begin // LANES + last):
                if not _scan_lanes(cells.lanes, part, queries.features, q, reach.bound, scratch.sums):
                    continue
                for j in range(LANES):
                    place = part * LANES + j
                    if scratch.sums[j] > reach.bound or place < begin or place >= end:
                        continue
                    stats[2] += 1
                    if is_within(queries.rows, q, table.rows, place, reach.radius, scratch.wide_sums):
                        found.queries[n_found] = q
                        found.places[n_found] = place
                        n_found += 1
        state[2] = 0
    state[1], state[3] = state[0] + products.shape[0], n_found
    return True
