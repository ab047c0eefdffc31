"""Exact search over the segments of a snapshot: per segment the best columns, merged by the full order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.reading import reading
from dfjoin.index.segment import Segment
from dfjoin.kernels.mergelist import gather_groups
from dfjoin.search.exact.allowed import allowed_columns
from dfjoin.search.exact.matcher import match_tokens
from dfjoin.search.exact.plans import PLANS, run_plan
from dfjoin.search.exact.posting_lists import Query, Scratch, TopColumns, gather, merge_list
from dfjoin.store.snapshot import Snapshot
from dfjoin.types import SearchParams, SearchStats
from dfjoin.values.normalize import ValueSet

__all__ = ["PLANS", "Hit", "Searcher", "rank_key", "searcher_of", "smallest_count"]

_NO_WEIGHTS = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Hit:
    """One candidate column: its segment, its id there, and its counts.

    `error` is the standard error of its containment where the counts are estimates, None where they are exact.
    """

    segment: int
    column: int
    matched: int
    matched_rows: int
    cardinality: int
    table: str
    name: str
    error: float | None = None


def smallest_count(threshold: float | None, total: int) -> int:
    """Return the smallest count with ``count / total >= threshold`` in float64, at least 1.

    Examples
    --------
    >>> smallest_count(0.7, 10), smallest_count(None, 10), smallest_count(0.3, 10)
    (7, 1, 3)
    """
    if threshold is None or total == 0:
        return 1
    count = max(1, math.ceil(threshold * total) - 1)
    while count / total < threshold:
        count += 1
    return count


class Searcher:
    """Searches the segments of one snapshot; safe to share between threads.

    Parameters
    ----------
    segments : tuple of Segment
        The segments of the snapshot.
    """

    def __init__(self, segments: tuple[Segment, ...]) -> None:
        self.segments = segments
        self._scratch: dict[int, Scratch] = {}

    def search(self, values: ValueSet, params: SearchParams) -> tuple[list[Hit], SearchStats]:
        """Find the columns that share the most values with the query.

        Parameters
        ----------
        values : ValueSet
            The query column's values; with `params.is_weighted` its `codes` give the weights.
        params : SearchParams

        Returns
        -------
        hits : list of Hit
            Ordered by (matched, or matched rows) descending, cardinality ascending, table and column by
            code point.
        stats : SearchStats

        Notes
        -----
        A column lives in one segment, so the best k of each segment, merged, are the best k of the lake;
        the k-th count so far is a lower bound for the segments that follow. O(values + postings).
        """
        stats = SearchStats(n_values=len(values))
        hits: list[Hit] = []
        if len(values) == 0:
            return hits, stats
        rows = values.row_counts() if params.is_weighted else None
        total = int(rows.sum()) if rows is not None else len(values)
        weights = _NO_WEIGHTS if rows is None else rows.astype(np.int32)
        minimum = smallest_count(params.threshold, total)
        for number in range(len(self.segments)):
            if params.k is not None and len(hits) >= params.k:
                minimum = max(minimum, _score(hits[params.k - 1]))
            found = self._search_segment(number, values, weights, params, minimum, stats)
            hits = _merge(hits, found, params.k)
        return hits, stats

    def _search_segment(
        self,
        number: int,
        values: ValueSet,
        weights: NDArray[np.int32],
        params: SearchParams,
        minimum: int,
        stats: SearchStats,
    ) -> list[Hit]:
        """Search one segment; add to `stats` what it read."""
        segment = self.segments[number]
        if segment.n_tokens == 0:
            return []
        groups = self.groups_of(number, values)
        n_found = int(np.count_nonzero(groups >= 0))
        if n_found == 0:
            return []
        k = segment.n_columns if params.k is None else params.k
        query = Query(groups, weights, allowed_columns(segment, params), minimum, max(1, k))
        top = run_plan(segment, self.scratch_of(number), query, params.plan)
        top.stats.n_found = n_found
        stats.add(top.stats)
        return self.make_hits(number, query, top)

    def make_hits(self, number: int, query: Query, top: TopColumns) -> list[Hit]:
        """Make hits of columns of a segment that share a value with the query."""
        matched = top.counts
        if query.weights.size:  # ranked by rows; the distinct values of the winners are counted apart
            matched = self._count_values(number, query, top)
        catalog = self.segments[number].catalog
        cardinality = catalog.numbers["cardinality"]
        return [
            Hit(number, c, m, r, n, catalog.table_name(c), catalog.column_name(c))
            for c, m, r, n in zip(
                top.columns.tolist(),
                matched.tolist(),
                top.counts.tolist(),
                cardinality[top.columns].tolist(),
                strict=True,
            )
        ]

    def groups_of(self, number: int, values: ValueSet) -> NDArray[np.int64]:
        """Match the query to one segment: the posting group of each value, -1 for none."""
        segment = self.segments[number]
        tokens = segment.tokens
        self.scratch_of(number).vocabulary.prefetch(values.hashes)
        groups = match_tokens(values, tokens)
        what = "names posting lists that the segment does not have"
        with reading("group", what, segment.meta.id):
            gather_groups(groups, tokens.group, tokens.group_indptr.size - 1)
        return groups

    def scratch_of(self, number: int) -> Scratch:
        """Return the work arrays of a segment, to be lent."""
        scratch = self._scratch.get(number)
        if scratch is None:
            scratch = self._scratch.setdefault(number, Scratch(self.segments[number]))
        return scratch

    def _count_values(self, number: int, query: Query, top: TopColumns) -> NDArray[np.int32]:
        """Count the distinct query values that each of the chosen columns holds."""
        segment = self.segments[number]
        chosen = np.zeros(segment.n_columns, np.uint8)
        chosen[top.columns] = 1
        unweighted = Query(query.groups, _NO_WEIGHTS, chosen, 1, max(1, top.columns.size))
        with self.scratch_of(number).lend() as arrays:
            counted = merge_list(segment, arrays, unweighted, gather(segment, arrays, unweighted))
        by_column = dict(zip(counted.columns.tolist(), counted.counts.tolist(), strict=True))
        return np.array([by_column[c] for c in top.columns.tolist()], np.int32)


_SEARCHERS: WeakKeyDictionary[Snapshot, Searcher] = WeakKeyDictionary()


def searcher_of(snapshot: Snapshot) -> Searcher:
    """Return the searcher of a snapshot: one for as long as the snapshot lives, since its work arrays are reused."""
    searcher = _SEARCHERS.get(snapshot)
    if searcher is None:
        searcher = _SEARCHERS.setdefault(snapshot, Searcher(snapshot.segments))
    return searcher


def _score(hit: Hit) -> int:
    return hit.matched_rows


def _merge(hits: list[Hit], found: list[Hit], k: int | None) -> list[Hit]:
    """Merge two ranked lists by the full order of results."""
    if not hits:
        return found
    return sorted(hits + found, key=rank_key)[:k]


def rank_key(hit: Hit) -> tuple[int, int, bytes, bytes]:
    """Return what results are sorted by: matched rows descending, cardinality, table, column by code point."""
    table, name = hit.table.encode("utf-8", "surrogatepass"), hit.name.encode("utf-8", "surrogatepass")
    return -hit.matched_rows, hit.cardinality, table, name
