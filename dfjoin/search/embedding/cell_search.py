"""Pairs of query vectors and vectors of a segment within a radius, found by the cells of the segment."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lanes import LANES
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vector_cells import NearPlaces, make_cell_queries, make_cell_scratch, scan_cells
from dfjoin.kernels.vector_search import QueryVectors, VectorTable
from dfjoin.vectors.near_cells import VectorCells, cell_reach
from dfjoin.vectors.rounded_features import query_pairs

__all__ = ["near_places"]

_CELLS = 1 << 13
"""Cells whose centers are compared at once: a product of small matrices waits for its threads."""

_STEP = 256
"""Cells between two chances to interrupt a search."""

_BATCH = 1024
_ROOM = 1 << 17
_MOST_PAIRS = 1 << 24
"""Pairs that are held at once; fewer query vectors are searched together where they have more."""

_Stretch = tuple[int, int]


def near_places(
    cells: VectorCells, table: VectorTable, queries: QueryVectors, radius: float, read: NDArray[np.int64]
) -> Iterator[tuple[_Stretch, NDArray[np.int64], NDArray[np.int64]]]:
    """Find the vectors within a radius of query vectors, some of these at a time.

    Parameters
    ----------
    cells : VectorCells
    table : VectorTable
    queries : QueryVectors
        Sealed.
    radius : float
        Euclidean.
    read : ndarray of int64, shape (4,)
        Added to: cells looked at, blocks of 16 scanned, distances computed, pairs found.

    Yields
    ------
    stretch : (int, int)
        The query vectors from the first number to the second.
    indptr : ndarray of int64
        Pairs of query vector first + i: ``places[indptr[i] : indptr[i + 1]]``.
    places : ndarray of int64
    """
    begin, step, n = 0, _BATCH, queries.numbers.size
    while begin < n:
        stop = min(n, begin + step)
        part = QueryVectors(*(as_read_only(np.ascontiguousarray(array[begin:stop])) for array in queries))
        found = _find(cells, table, part, radius, read)
        if found is None:
            step = max(1, (stop - begin) // 4)
            continue
        owners, places = found
        read[3] += owners.size
        counts = np.bincount(owners, minlength=stop - begin)
        order = np.argsort(owners.astype(np.uint16), kind="stable")  # a batch has no more; sorted by radix
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        yield (begin, stop), as_read_only(indptr), as_read_only(places[order].astype(np.int64))
        begin = stop


def _find(
    cells: VectorCells, table: VectorTable, queries: QueryVectors, radius: float, read: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
    """Find the pairs of a batch: query numbers and places; None where it has too many and can be cut."""
    n, d = queries.rows.shape
    reach, scratch = cell_reach(radius, d), make_cell_scratch(n, cells.blocks.indptr)
    made = make_cell_queries(*query_pairs(queries.features, radius), queries.rows)
    transposed = np.zeros((d, -(-n // LANES) * LANES), np.float32)
    transposed[:, :n] = queries.rows.T
    found = NearPlaces(np.empty(_ROOM, np.int32), np.empty(_ROOM, np.int32))
    state, own = np.zeros(3, np.int64), np.zeros(4, np.int64)
    for first in range(0, cells.centers.shape[0], _CELLS):
        products = cells.centers[first : first + _CELLS] @ transposed
        for start in range(0, products.shape[0], _STEP):
            state[:2] = first + start
            part = as_read_only(products[start : start + _STEP])
            while not scan_cells(cells.blocks, table, made, part, reach, found, scratch, state, own):
                room = 2 * found.places.size
                if room > _MOST_PAIRS and queries.numbers.size > 1:
                    return None
                found = NearPlaces(*(np.concatenate([array, np.empty_like(array)]) for array in found))
    read += own
    return found.queries[: state[2]], found.places[: state[2]]
