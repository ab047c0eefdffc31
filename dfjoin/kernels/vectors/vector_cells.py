"""Unit vectors in cells around centers, each cell by falling cosine: the search of what lies within an angle."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lanes import (
    LANES,
    add_pairs,
    add_product,
    lanes_from,
    lanes_of,
    lanes_up_to,
    no_lanes,
    sum_of_lanes,
)
from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.edit_distance import count_bits
from dfjoin.kernels.vectors.vector_blocks import BLOCK
from dfjoin.kernels.vectors.vector_search import is_within

_SIXTEEN = np.uint64(16)
_PARTS = BLOCK // LANES
_ONE, _WORD, _THIRTY_TWO = np.uint64(1), np.uint64(BLOCK), np.uint64(32)
_FOUR = 4
_NO_COSINE = np.float32(-3)
"""Less than any bound of a cosine."""


class CellBlocks(NamedTuple):
    """Vectors in the order of their cells, and in a cell by falling cosine to its center.

    Parameters
    ----------
    words : ndarray of int32, shape (n_blocks * n_words * 64,)
        Rounded features, block by block, word by word; see `dfjoin.vectors.rounded_features.words_of`.
    indptr : ndarray of int64, shape (n_cells + 1,)
        Vectors of cell c: ``indptr[c] : indptr[c + 1]``.
    cosines : ndarray of float32, shape (n,)
    """

    words: NDArray[np.int32]
    indptr: NDArray[np.int64]
    cosines: NDArray[np.float32]


class Cap(NamedTuple):
    """The spherical cap around a query vector: what lies within its radius.

    Parameters
    ----------
    cosine, sine : float32
        Of the angle that the radius spans; a product of less is of no pair within the radius.
    sure : float32
        Product above which a pair lies within the radius, whatever the error.
    error : float32
        Error of a product in float32.
    radius : float
    """

    cosine: np.float32
    sine: np.float32
    sure: np.float32
    error: np.float32
    radius: float


class Caps(NamedTuple):
    """The caps around the query vectors of a batch.

    Parameters
    ----------
    cosines, sines, sure : ndarray of float32, shape (n,)
        As of `Cap`.
    radii : ndarray of float64, shape (n,)
    error : float32
    widest : Cap
        Of the largest radius.
    """

    cosines: NDArray[np.float32]
    sines: NDArray[np.float32]
    sure: NDArray[np.float32]
    radii: NDArray[np.float64]
    error: np.float32
    widest: Cap


class CellQueries(NamedTuple):
    """Query vectors of a batch.

    Parameters
    ----------
    pairs : ndarray of int32, shape (n, n_words - 1)
        Rounded features, two in each word.
    least : ndarray of int32, shape (n,)
        Bound of their products, see `dfjoin.vectors.rounded_features.query_pairs`.
    rows : ndarray of float32, shape (n, d)
    tails : ndarray of float32, shape (n, 16)
        The last 16 numbers of each row, zero where a whole sixteen holds them already; empty rows without need.
    """

    pairs: NDArray[np.int32]
    least: NDArray[np.int32]
    rows: NDArray[np.float32]
    tails: NDArray[np.float32]


class NearPositions(NamedTuple):
    """Pairs that were found: number of the query vector in its batch, and place of the vector."""

    queries: NDArray[np.int32]
    positions: NDArray[np.int32]


class CellScratch(NamedTuple):
    """Scratch of a scan.

    Parameters
    ----------
    chosen, active : ndarray of int32, shape (n_queries + 4,)
        Queries that may have a vector of the cell near them; those whose sixteens hold the present one.
    lasts, following : ndarray of int32, shape (n_queries + 4,)
        Behind the last sixteen of each query; the next query with the same first one, -1 for none.
    heads : ndarray of int32
        For each sixteen of a cell the first query whose sixteens begin there, -1 for none.
    tops, bottoms : ndarray of float32
        The largest and the smallest cosine of each sixteen of a cell.
    wide_sums : ndarray of float64, shape (32,)
    """

    chosen: NDArray[np.int32]
    active: NDArray[np.int32]
    lasts: NDArray[np.int32]
    following: NDArray[np.int32]
    heads: NDArray[np.int32]
    tops: NDArray[np.float32]
    bottoms: NDArray[np.float32]
    wide_sums: NDArray[np.float64]


def make_cell_queries(pairs: NDArray[np.int32], least: NDArray[np.int32], rows: NDArray[np.float32]) -> CellQueries:
    """Return query vectors as a scan takes them.

    Parameters
    ----------
    pairs : ndarray of int32, shape (n, n_words - 1)
    least : ndarray of int32, shape (n,)
    rows : ndarray of float32, shape (n, d)
    """
    n, d = rows.shape
    tails = np.zeros((n, LANES), np.float32)
    left = d % LANES if d > LANES else 0
    if left:
        tails[:, -left:] = rows[:, -left:]
    return CellQueries(*(as_read_only(np.ascontiguousarray(array)) for array in (pairs, least, rows, tails)))


def make_cell_scratch(n_queries: int, indptr: NDArray[np.int64]) -> CellScratch:
    """Return scratch for so many query vectors.

    Parameters
    ----------
    n_queries : int
    indptr : ndarray of int64, shape (n_cells + 1,)
        Ends of the cells.
    """
    most = int(np.diff(indptr).max(initial=0))
    n_parts = -(-(most // LANES + 2) // LANES) * LANES
    numbers, cosines = np.empty((4, n_queries + _FOUR), np.int32), np.empty((2, n_parts), np.float32)
    return CellScratch(*numbers, np.empty(n_parts, np.int32), *cosines, np.empty(32))


@njit_inner
def _near_lanes(words, position, queries, active, first):
    """Tell which of 16 vectors may lie near each of four queries, by rounded features: 16 bits for each query.

    Each word is read once for the four. Places are unsigned, so that none is taken to count from the end.
    """
    q0, q1, q2, q3 = (
        np.uint64(active[first]),
        np.uint64(active[first + 1]),
        np.uint64(active[first + 2]),
        np.uint64(active[first + 3]),
    )
    end, word = np.uint64(queries.pairs.shape[1]), np.uint64(0)
    s0 = s1 = s2 = s3 = lanes_of(words, position)
    while word < end:
        position += _WORD
        own = lanes_of(words, position)
        s0 = add_pairs(s0, own, queries.pairs[q0, word])
        s1 = add_pairs(s1, own, queries.pairs[q1, word])
        s2 = add_pairs(s2, own, queries.pairs[q2, word])
        s3 = add_pairs(s3, own, queries.pairs[q3, word])
        word += _ONE
    bits = lanes_from(s0, queries.least[q0]) | (lanes_from(s1, queries.least[q1]) << _SIXTEEN)
    others = lanes_from(s2, queries.least[q2]) | (lanes_from(s3, queries.least[q3]) << _SIXTEEN)
    return bits | (others << _THIRTY_TWO)


@njit_inner
def _is_near(queries, q, rows, position, cap, wide_sums):
    """Tell whether a query and a vector lie within the radius: by their product, close to the radius in float64."""
    d = rows.shape[1]
    if d < LANES:
        return is_within(queries.rows, q, rows, position, cap.radius, wide_sums)
    own, other, end = np.uint64(q * d), np.uint64(position * d), np.uint64(d)
    sums, step = no_lanes(), np.uint64(LANES)
    k = np.uint64(0)
    while k + step <= end:
        sums = add_product(sums, lanes_of(queries.rows, own + k), lanes_of(rows, other + k))
        k += step
    if k < end:
        sums = add_product(sums, lanes_of(queries.tails, np.uint64(q * LANES)), lanes_of(rows, other + end - step))
    product = sum_of_lanes(sums)
    if product > cap.sure:
        return True
    return product >= cap.cosine and is_within(queries.rows, q, rows, position, cap.radius, wide_sums)


@njit_inner
def _cap_of(caps, q):
    """Return the cap around one query vector."""
    return Cap(caps.cosines[q], caps.sines[q], caps.sure[q], caps.error, caps.radii[q])


@njit_inner
def _farther(cosine, cap):
    """Bound from below the cosine of an angle that is larger by the radius; half a turn is the largest angle."""
    if cosine - cap.error <= -cap.cosine:
        return np.float32(-2)
    return cosine * cap.cosine - _spread(cosine, cap)


@njit_inner
def _nearer(cosine, cap):
    """Bound from above the cosine of an angle that is smaller by the radius; none is less than zero."""
    if cosine + cap.error >= cap.cosine:
        return np.float32(2)
    return cosine * cap.cosine + _spread(cosine, cap)


@njit_inner
def _spread(cosine, cap):
    """Multiply the sines of an angle and of the radius, with room for the errors of cosines that are compared."""
    size = max(abs(cosine) - cap.error, np.float32(0))
    sine = np.float32(math.sqrt(max(np.float32(1) - size * size, np.float32(0))))
    return sine * cap.sine + np.float32(3) * cap.error


@njit_inner
def _choose_queries(products, n, low, high, chosen):
    """List the queries with a cosine above `low` and up to `high`; return how many these are."""
    n_chosen = 0
    for first in range(0, n, LANES):
        cosines = lanes_of(products, np.uint64(first))
        bits = lanes_up_to(cosines, high) & ~lanes_up_to(cosines, low)
        while bits:
            q = first + count_bits(~bits & (bits - _ONE))
            bits &= bits - _ONE
            if q < n:  # the last lanes are no queries
                chosen[n_chosen] = q
                n_chosen += 1
    return n_chosen


@njit_inner
def _fill_parts(cells, begin, end, scratch):
    """Write the largest and the smallest cosine of each sixteen of a cell; return how many there are."""
    first = begin // LANES
    n_parts = (end + LANES - 1) // LANES - first
    for part in range(n_parts):
        scratch.tops[part] = cells.cosines[max(begin, (first + part) * LANES)]
        scratch.bottoms[part] = cells.cosines[min(end, (first + part + 1) * LANES) - 1]
    for part in range(n_parts, (n_parts + LANES - 1) // LANES * LANES):
        # Whole vectors of lanes are compared: what fills up the last one is above no bound.
        scratch.tops[part] = scratch.bottoms[part] = _NO_COSINE
    return n_parts


@njit_inner
def _count_above(cosines, n, cosine):
    """Count the cosines above one; what fills up the last sixteen is less than any."""
    n_above = 0
    for first in range(0, n, LANES):
        n_above += LANES - count_bits(lanes_up_to(lanes_of(cosines, np.uint64(first)), cosine))
    return n_above


@njit_inner
def _list_queries(cosines, n_chosen, n_parts, caps, scratch):
    """List the chosen queries by the first sixteen of a cell that may hold a vector near them."""
    for part in range(n_parts):
        scratch.heads[part] = -1
    for i in range(n_chosen):
        q = scratch.chosen[i]
        own = _cap_of(caps, q)
        # Cosines fall in a cell: the sixteens that may hold a vector near the query are one stretch.
        first = _count_above(scratch.bottoms, n_parts, _nearer(cosines[q], own))
        last = _count_above(scratch.tops, n_parts, _farther(cosines[q], own))
        if first < last:
            scratch.lasts[q] = last
            scratch.following[q] = scratch.heads[first]
            scratch.heads[first] = q


@njit_inner
def _scan_part(part, bounds, n_active, cells, table, queries, caps, found, n_found, scratch, stats):
    """Find the pairs of the active queries and 16 vectors; return how many pairs are found so far."""
    begin, end, _ = bounds
    position = np.uint64(part // _PARTS * (queries.pairs.shape[1] + 1) * BLOCK + part % _PARTS * LANES)
    for i in range(n_active, n_active + _FOUR - 1):
        scratch.active[i] = scratch.active[0]  # four queries are compared at once; these are left out below
    for first in range(0, n_active, _FOUR):
        bits = _near_lanes(cells.words, position, queries, scratch.active, first)
        while bits:
            lane = count_bits(~bits & (bits - _ONE))
            bits &= bits - _ONE
            i, vector = first + lane // LANES, part * LANES + lane % LANES
            if i >= n_active or vector < begin or vector >= end:
                continue
            stats[2] += 1
            q = scratch.active[i]
            if _is_near(queries, q, table.rows, vector, _cap_of(caps, q), scratch.wide_sums):
                found.queries[n_found] = scratch.active[i]
                found.positions[n_found] = vector
                n_found += 1
    return n_found


@njit_inner
def _scan_cell(bounds, cells, table, queries, caps, found, n_found, scratch, stats):
    """Find the pairs of a cell whose queries are listed; return how many are found so far, -1 without room.

    Sixteens are the outer loop, so that one is read into the nearest cache once for all its queries.
    """
    begin, _, n_parts = bounds
    n_active = 0
    for step in range(n_parts):
        q = scratch.heads[step]
        while q >= 0:
            scratch.active[n_active] = q
            n_active += 1
            q = scratch.following[q]
        # The most that a sixteen gives, asked once: no pair has to look for room.
        if found.positions.size - n_found < n_active * LANES:
            return -1
        stats[1] += n_active
        part = begin // LANES + step
        n_found = _scan_part(part, bounds, n_active, cells, table, queries, caps, found, n_found, scratch, stats)
        n_kept = 0
        for i in range(n_active):
            q = scratch.active[i]
            scratch.active[n_kept] = q
            n_kept += np.int64(scratch.lasts[q] > step + 1)
        n_active = n_kept
    return n_found


@njit_lean
def scan_cells(cells, table, queries, products, caps, found, scratch, state, stats):
    """Find the vectors within the radius of query vectors, cell by cell.

    Parameters
    ----------
    cells : CellBlocks
    table : VectorTable
        The vectors in the order of the cells.
    queries : CellQueries
    products : ndarray of float32, shape (n_cells_here, n)
        Cosines of the centers of the next cells and the query vectors; n is a multiple of 16, the last ones are not
        looked at.
    caps : Caps
    found : NearPositions
        Output: pairs, by cell; those of a query by place.
    scratch : CellScratch
    state : ndarray of int64, shape (3,)
        First cell of `products`, the cell to go on with, pairs found; changed.
    stats : ndarray of int64, shape (4,)
        Output, added to: cells looked at, sixteens scanned, vectors compared; the last one stays.

    Returns
    -------
    bool
        False where `found` may have no room for the pairs of the next cell; with more room it is called again.

    Notes
    -----
    Source: Jagadish et al., "iDistance: an adaptive B+-tree based indexing method for nearest neighbor search", TODS
    2005: cells around centers, in each of which what lies near the query's own distance to the center is scanned.
    Deviation: distances are angles between unit vectors, for which the triangle inequality is sharper than for the
    chords: if q and x are an angle t apart at most, the angles of both to the center differ by t at most. What is
    scanned is bounded by rounded projections, then compared by its product in float32, and in float64 where the error
    of the product leaves it open. Cells are the outer loop, so that a cell is read once for all query
    vectors. O(cells n_queries + sixteens scanned).
    """
    n = queries.rows.shape[0]
    for cell in range(state[1], state[0] + products.shape[0]):
        state[1] = cell
        begin, end = cells.indptr[cell], cells.indptr[cell + 1]
        if begin == end:
            continue
        cosines, read, compared = products[cell - state[0]], stats[1], stats[2]
        low, high = _farther(cells.cosines[end - 1], caps.widest), _nearer(cells.cosines[begin], caps.widest)
        n_chosen = _choose_queries(cosines, n, low, high, scratch.chosen)
        if n_chosen:
            n_parts = _fill_parts(cells, begin, end, scratch)
            _list_queries(cosines, n_chosen, n_parts, caps, scratch)
            bounds = begin, end, n_parts
            n_found = _scan_cell(bounds, cells, table, queries, caps, found, state[2], scratch, stats)
            if n_found < 0:
                stats[1], stats[2] = read, compared  # the cell is read again, with more room, and counts once
                return False
            state[2] = n_found
        stats[0] += 1
    state[1] = state[0] + products.shape[0]
    return True
