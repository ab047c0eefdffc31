"""Plans of a search by distance: cells or a block tree, or a product of matrices; all give the same counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lanes import LANES
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.pivot_grids import count_found
from dfjoin.kernels.vectors.vector_blocks import BLOCK
from dfjoin.kernels.vectors.vector_cells import NearPositions, make_cell_queries, make_cell_scratch, scan_cells
from dfjoin.kernels.vectors.vector_search import (
    BlockTree,
    MatchTally,
    QueryVectors,
    TokenColumns,
    VectorTable,
    Within,
    count_pairs,
    count_within,
    make_scratch,
)
from dfjoin.search.distance.distance_search import MOST_PAIRS, QUERIES_AT_ONCE
from dfjoin.search.params import SearchStats
from dfjoin.vectors.near_cells import VectorCells, caps_of
from dfjoin.vectors.rounded_features import query_pairs

_PILOT = 16
"""Query values that are searched first, to learn what the others will cost."""

_STEP = 256
"""Query values, or cells, between two chances to interrupt a search."""

_CELL_NS, _PART_NS = 1.5, 12.0
_DISTANCE_NS, _NUMBER_NS = 12.0, 0.1
_PRODUCT_NS = 0.02
"""Costs, measured: a look at a cell, a scan of 16, a distance and each number in it, a product in a GEMM."""

_CHUNK = 8192
_CELLS = 1 << 13
"""Cells whose centers are compared at once: a product of small matrices waits for its threads."""

_ROOM = 1 << 17
_Stretch = tuple[int, int]


class NearSegment(NamedTuple):
    """A segment as a search by distance reads it: unit vectors in cells, or other ones under a tree."""

    layout: VectorCells | BlockTree
    table: VectorTable
    postings: TokenColumns


def run_near_plan(
    segment: NearSegment,
    queries: QueryVectors,
    within: Within | None,
    tally: MatchTally,
    plan: str | None,
    stats: SearchStats,
) -> None:
    """Count the columns near query values, by the plan that is expected to be faster.

    Parameters
    ----------
    segment : NearSegment
    queries : QueryVectors
        For a tree in an order in which neighbours lie close together.
    within : Within or None
        In a tree; in cells the query values have radii.
    tally : MatchTally
        Counted into.
    plan : {None, "tree", "gemm"}
        None: some of the query values are searched in the cells; if the rest would cost more than a product of
        matrices, it is searched by that.
    stats : SearchStats
        Counted into.
    """
    n = queries.numbers.size
    read = np.zeros(4, np.int64)
    if plan == "gemm":
        _by_product(segment, queries, tally, read)
        names = ["gemm"]
    elif plan == "tree" or n <= 2 * _PILOT or not isinstance(segment.layout, VectorCells):
        _by_layout(segment, queries, within, tally, read)
        names = ["tree"]
    else:
        is_pilot = np.zeros(n, bool)
        is_pilot[np.linspace(0, n - 1, _PILOT).astype(np.int64)] = True
        _by_layout(segment, chosen_queries(queries, is_pilot), within, tally, read)
        rest = chosen_queries(queries, ~is_pilot)
        d = queries.rows.shape[1]
        distance_ns = _DISTANCE_NS + _NUMBER_NS * d
        n_cells = segment.layout.centers.shape[0]
        own_ns = (_CELL_NS + _PRODUCT_NS * d) * n_cells + (_PART_NS * read[1] + distance_ns * read[2]) / _PILOT
        product_ns = _PRODUCT_NS * d * segment.table.tokens.size + distance_ns * read[3] / _PILOT
        if own_ns <= product_ns:
            _by_layout(segment, rest, within, tally, read)
            names = ["tree"]
        else:
            _by_product(segment, rest, tally, read)
            names = ["tree", "gemm"]
    stats.plan = "+".join(names)
    is_cells = isinstance(segment.layout, VectorCells)
    width = queries.features.shape[1] * (LANES if is_cells else BLOCK) * 4
    stats.blocks_read += int(-(-read[1] * LANES // BLOCK) if is_cells else read[1])
    stats.distances += int(read[2])
    stats.near_pairs += int(read[3])
    stats.bytes_read += int(read[1]) * width + int(read[2]) * queries.rows.shape[1] * 4
    stats.bytes_read += 0 if is_cells else int(read[0]) * 2 * width


def chosen_queries(queries: QueryVectors, chosen: Any) -> QueryVectors:
    """Return some query values, in the order of `chosen`."""
    return QueryVectors(*(array[chosen] for array in queries))


def sealed_queries(queries: QueryVectors) -> QueryVectors:
    """Return query values as kernels take them: a kernel is compiled apart for arrays that may be written."""
    return QueryVectors(*(as_read_only(np.ascontiguousarray(array)) for array in queries))


def _by_layout(
    segment: NearSegment, queries: QueryVectors, within: Within | None, tally: MatchTally, read: NDArray[np.int64]
) -> None:
    layout, table, postings = segment
    if isinstance(layout, VectorCells):
        made = sealed_queries(queries)
        for (first, last), indptr, positions in near_positions(layout, table, made, read):
            part = sealed_queries(chosen_queries(made, slice(first, last)))
            count_found(indptr, positions, table.tokens, part, postings, tally)
        return
    assert within is not None
    scratch = make_scratch(layout.levels.size - 1)
    for start in range(0, queries.numbers.size, _STEP):
        part = sealed_queries(chosen_queries(queries, slice(start, start + _STEP)))
        count_within(layout, table, part, within, postings, tally, scratch, read)


def _by_product(segment: NearSegment, queries: QueryVectors, tally: MatchTally, read: NDArray[np.int64]) -> None:
    """Propose pairs by products in float32, and compare them in float64.

    ||q - x||² = ||q||² + ||x||² - 2 q x. Lengths are 1 within 2⁻²³, and a product of d numbers errs by d 2⁻²⁴ at most;
    twice both is taken.
    """
    rows = segment.table.rows
    d = rows.shape[1]
    scratch = make_scratch(1)
    n, start, batch = queries.numbers.size, 0, min(QUERIES_AT_ONCE, 64)
    while start < n:
        part = sealed_queries(chosen_queries(queries, slice(start, start + batch)))
        transposed = np.ascontiguousarray(part.rows.T)
        least = (1 - part.radii**2 / 2 - (d + 16) * 2.0**-23).astype(np.float32)
        positions, owners = [], []
        for first in range(0, rows.shape[0], _CHUNK):
            of_vector, of_query = np.nonzero(rows[first : first + _CHUNK] @ transposed >= least)
            positions.append(of_vector + first)
            owners.append(of_query)
        position, owner = (np.concatenate([*found, np.empty(0, np.int64)]) for found in (positions, owners))
        order = np.argsort(owner, kind="stable")
        indptr = np.searchsorted(owner[order], np.arange(part.numbers.size + 1))
        count_pairs(
            as_read_only(indptr.astype(np.int64)),
            as_read_only(position[order].astype(np.int64)),
            segment.table,
            part,
            segment.postings,
            tally,
            scratch,
            read,
        )
        start += batch
        share = max(1.0, position.size / part.numbers.size)
        batch = int(min(QUERIES_AT_ONCE, max(1, MOST_PAIRS // share)))


def near_positions(
    cells: VectorCells, table: VectorTable, queries: QueryVectors, read: NDArray[np.int64]
) -> Iterator[tuple[_Stretch, NDArray[np.int64], NDArray[np.int64]]]:
    """Find the vectors within the radii of query vectors, some of these at a time.

    Parameters
    ----------
    cells : VectorCells
    table : VectorTable
    queries : QueryVectors
        Sealed; Euclidean radii.
    read : ndarray of int64, shape (4,)
        Added to: cells looked at, blocks of 16 scanned, distances computed, pairs found.

    Yields
    ------
    stretch : (int, int)
        The query vectors from the first number to the second.
    indptr : ndarray of int64
        Pairs of query vector first + i: ``positions[indptr[i] : indptr[i + 1]]``.
    positions : ndarray of int64
    """
    begin, step, n = 0, QUERIES_AT_ONCE, queries.numbers.size
    while begin < n:
        stop = min(n, begin + step)
        part = QueryVectors(*(as_read_only(np.ascontiguousarray(array[begin:stop])) for array in queries))
        found = _find(cells, table, part, read)
        if found is None:
            step = max(1, (stop - begin) // 4)
            continue
        owners, positions = found
        read[3] += owners.size
        counts = np.bincount(owners, minlength=stop - begin)
        order = np.argsort(owners.astype(np.uint16), kind="stable")  # a batch has no more; sorted by radix
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        yield (begin, stop), as_read_only(indptr), as_read_only(positions[order].astype(np.int64))
        begin = stop


def _find(
    cells: VectorCells, table: VectorTable, queries: QueryVectors, read: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """Find the pairs of a batch: query numbers and places; None where it has too many and can be cut."""
    n, d = queries.rows.shape
    limits, scratch = caps_of(queries.radii, d), make_cell_scratch(n, cells.blocks.indptr)
    made = make_cell_queries(*query_pairs(queries.features, queries.radii), queries.rows)
    transposed = np.zeros((d, -(-n // LANES) * LANES), np.float32)
    transposed[:, :n] = queries.rows.T
    found = NearPositions(np.empty(_ROOM, np.int32), np.empty(_ROOM, np.int32))
    state, own = np.zeros(3, np.int64), np.zeros(4, np.int64)
    for first in range(0, cells.centers.shape[0], _CELLS):
        products = cells.centers[first : first + _CELLS] @ transposed
        for start in range(0, products.shape[0], _STEP):
            state[:2] = first + start
            part = as_read_only(products[start : start + _STEP])
            while not scan_cells(cells.blocks, table, made, part, limits, found, scratch, state, own):
                room = 2 * found.positions.size
                if room > MOST_PAIRS and queries.numbers.size > 1:
                    return None
                found = NearPositions(*(np.concatenate([array, np.empty_like(array)]) for array in found))
    read += own
    return found.queries[: state[2]], found.positions[: state[2]]
