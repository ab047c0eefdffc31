"""plan="pexeso": block and verify over pivot grids (Dong et al., ICDE 2021), for every metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.segment import Segment
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.pivot_grids import CellPairs, PivotLimits, block, count_found, sift_cells
from dfjoin.kernels.vectors.vector_search import (
    MatchTally,
    QueryVectors,
    TokenColumns,
    distances_of_pairs,
    make_scratch,
)
from dfjoin.search.embedding.near_plans import chosen_queries, sealed_queries
from dfjoin.search.embedding.pexeso.pivots import PivotIndex, build_pivot_index, make_grid, map_rows
from dfjoin.search.params import SearchStats
from dfjoin.vectors.metrics import PROJECTED, Metric

_BATCH = 64
"""Query values that are blocked and verified together; between two batches columns are closed (Lemma 7)."""

_ROOM = 1 << 16
_ROUNDING = 1e-7
"""Error of a distance between float32 vectors, of the largest distance; the lemmas leave that much room."""

_INDEXES: WeakKeyDictionary[Segment, dict[str, PivotIndex]] = WeakKeyDictionary()


def pivot_index_of(segment: Segment, metric: Metric) -> PivotIndex:
    """Return PEXESO's index of a segment's vectors, built when it is first asked for and kept in memory."""
    known = _INDEXES.setdefault(segment, {})
    index = known.get(metric.name)
    if index is None or index.metric is not metric:
        index = known[metric.name] = build_pivot_index(np.asarray(segment.vectors.rows), metric)
    return index


class PexesoSearch:
    """One query against one segment.

    Parameters
    ----------
    index : PivotIndex
    rows : ndarray of float32, shape (n, d)
        Vectors of the segment.
    tokens : ndarray of uint32, shape (n,)
        Token of each.
    postings : TokenColumns
    radius : tuple of float
        In the measure of the metric; for Euclidean distance and angles also as a chord, which decides.
    minimum : int
        Score that a column has to reach, of the whole query; 0 where pairs are counted.

    Notes
    -----
    Source: Dong et al., ICDE 2021, section III, Algorithms 1 and 2. What else the papers have was measured and is left
    out, see ``tests/benchmarks/NOTES.md``. Partitions of columns by their distributions (section IV): ten of them take
    a query 1.8 to 2.9 times as long as one piece in cells, which are read as they are needed. Of the paper of 2020 on
    numeric columns: the lower bound (Theorem 1) accepts none of 300 columns, and a count that is reported has to be
    complete; the reverse filter (Theorem 2) beside Lemma 7 saves up to 71 % of the distances, and no time; dominating
    groups and the next set (section IV) save comparisons with groups, and no distance.
    """

    def __init__(
        self,
        index: PivotIndex,
        rows: NDArray[np.float32],
        tokens: NDArray[np.uint32],
        postings: TokenColumns,
        radius: tuple[float, float],
        minimum: int,
    ) -> None:
        self._index = index
        self._rows, self._tokens = rows, as_read_only(tokens[index.order])
        self._postings = postings
        self._chord = radius[1]
        self._limits = PivotLimits(radius[0], _ROUNDING * max(1.0, index.grid.side))
        self._minimum = minimum
        self._block_stats, self._sift_stats = np.zeros(2, np.int64), np.zeros(3, np.int64)

    def run(self, queries: QueryVectors, tally: MatchTally, stats: SearchStats) -> None:
        """Count the columns near query values; `tally` may hold counts of others already.

        Parameters
        ----------
        queries : QueryVectors
        tally : MatchTally
            Counted into. Columns that cannot reach the minimum any more are left as they are then.
        stats : SearchStats
            Counted into.
        """
        index = self._index
        mapped = map_rows(queries.rows, index.pivots, index.metric) if queries.numbers.size else np.empty((0, 0))
        rest = int(queries.weights.sum())
        for start in range(0, queries.numbers.size, _BATCH):
            part = chosen_queries(queries, slice(start, start + _BATCH))
            closed = np.zeros(tally.scores.size, bool)
            if self._minimum:
                closed = tally.scores + rest < self._minimum
            self._batch(part, mapped[start : start + _BATCH], closed, tally, stats)
            rest -= int(part.weights.sum())
        stats.plan = "pexeso"
        stats.candidates_pruned += int(self._sift_stats[0] + self._sift_stats[2])

    def _batch(
        self,
        queries: QueryVectors,
        mapped: NDArray[np.float64],
        closed: NDArray[np.bool_],
        tally: MatchTally,
        stats: SearchStats,
    ) -> None:
        index = self._index
        grid, order = make_grid(mapped, index.grid.side, index.n_levels)
        ordered = sealed_queries(chosen_queries(queries, order))
        pairs = _with_room(
            lambda found, room: block(
                grid, index.grid, self._limits, np.empty((room, 3), np.int64), found, self._block_stats
            )
        )
        sealed = CellPairs(as_read_only(pairs.queries), as_read_only(pairs.cells), as_read_only(pairs.is_match))
        found = _with_room(
            lambda found, _: sift_cells(
                grid.mapped,
                index.grid,
                sealed,
                self._limits,
                self._tokens,
                as_read_only(closed),
                self._postings,
                found,
                self._sift_stats,
            )
        )
        by_query = np.argsort(found.queries, kind="stable")
        owners, vectors = found.queries[by_query], found.cells[by_query]
        is_near = found.is_match[by_query].astype(bool)
        unknown = np.flatnonzero(~is_near)
        is_near[unknown] = self._is_within(ordered.rows, owners[unknown], vectors[unknown])
        stats.distances += unknown.size
        stats.near_pairs += int(is_near.sum())
        owners, vectors = owners[is_near], vectors[is_near]
        indptr = np.searchsorted(owners, np.arange(ordered.numbers.size + 1)).astype(np.int64)
        count_found(as_read_only(indptr), as_read_only(vectors), self._tokens, ordered, self._postings, tally)

    def _is_within(
        self, rows: NDArray[np.float32], owners: NDArray[np.int64], vectors: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Compute the distances of pairs of a query vector and a vector of the segment, by query vector."""
        index = self._index
        others = self._rows[index.order[vectors]]
        if index.metric.name in PROJECTED:
            distances = np.empty(owners.size)
            arrays = (as_read_only(np.ascontiguousarray(a)) for a in (rows, owners, others, np.arange(owners.size)))
            distances_of_pairs(*arrays, make_scratch(1).lanes, distances)
            return distances <= self._chord
        is_near = np.zeros(owners.size, bool)
        ends = np.searchsorted(owners, np.arange(rows.shape[0] + 1))
        for q, (first, last) in enumerate(zip(ends, ends[1:], strict=False)):
            if last > first:
                is_near[first:last] = index.metric.distances(rows[q], others[first:last]) <= self._limits.radius
        return is_near


def _with_room(run: Callable[[CellPairs, int], Any]) -> CellPairs:
    """Run a kernel that lists pairs with more and more room, until there is enough."""
    room = _ROOM
    while True:
        pairs = CellPairs(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.uint8))
        n = run(pairs, room)
        if n >= 0:
            return CellPairs(pairs.queries[:n], pairs.cells[:n], pairs.is_match[:n])
        room *= 4
