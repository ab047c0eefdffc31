"""Exact search over the segments of a snapshot: the best columns of each."""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.segment import Segment, reading
from dfjoin.kernels.lists.vocabulary import gather_groups
from dfjoin.kernels.records import as_read_only
from dfjoin.search.exact.costs import READ_COSTS
from dfjoin.search.exact.josie.josie_plans import probe_lists, run_josie
from dfjoin.search.exact.posting_lists import (
    Query,
    Scratch,
    TopColumns,
    allowed_columns,
    gather,
    match_tokens,
    merge_list,
)
from dfjoin.search.hits import Hits, join_hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import HeldValues
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.normalize import ValueSet

_NO_WEIGHTS = np.empty(0, np.int32)
_SMALL_NS = 150_000.0  # a merge estimated below this is done before a cleverer plan has begun
_LONG_LISTS = 100  # postings per query value and answer, below which verifying costs more than merging


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


class MatchedQuery:
    """The values of a query column in the segments of a snapshot, each segment matched when first asked for.

    Parameters
    ----------
    snapshot : Snapshot
    values : ValueSet
        The query column's values; their `codes` give the weights of a search by rows.
    held : HeldValues, optional
        How many columns of the lake hold each value, where the snapshot is a part of it.
    """

    def __init__(self, snapshot: Snapshot, values: ValueSet, held: HeldValues | None = None) -> None:
        self.values = values
        self.held = held
        self.snapshot = snapshot
        self._groups: dict[int, NDArray[np.int64]] = {}

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of the snapshot."""
        return self.snapshot.segments

    def groups(self, number: int) -> NDArray[np.int64]:
        """Return the posting group of each value in a segment, -1 for none."""
        groups = self._groups.get(number)
        if groups is None:
            groups = self._groups[number] = searcher_of(self.snapshot).groups_of(number, self.values)
        return groups


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

    def search(self, matched: MatchedQuery, params: SearchParams) -> tuple[Hits, SearchStats]:
        """Find the columns that share the most values with the query.

        Parameters
        ----------
        matched : MatchedQuery
        params : SearchParams

        Returns
        -------
        hits : Hits
            Not ranked. The best `k` of the lake are among them.
        stats : SearchStats

        Notes
        -----
        A column lives in one segment, so the best k of each segment, merged, are the best k of the lake;
        the k-th count so far is a lower bound for the segments that follow. O(values + postings).
        """
        values = matched.values
        if len(values) == 0:
            return join_hits([]), SearchStats()
        rows = values.row_counts() if params.is_weighted else None
        total = int(rows.sum()) if rows is not None else len(values)
        weights = _NO_WEIGHTS if rows is None else rows.astype(np.int32)
        minimum = smallest_count(params.threshold, total)
        parts: list[Hits] = []
        stats = SearchStats()
        for number, segment in enumerate(self.segments):
            if segment.n_tokens == 0:
                continue
            if parts and params.k is not None:
                minimum = max(minimum, _smallest_of_best(parts, params.k))
            groups = matched.groups(number)
            n_found = int(np.count_nonzero(groups >= 0))
            if n_found == 0:
                continue
            k = segment.n_columns if params.k is None else params.k
            query = Query(groups, weights, allowed_columns(segment, params), minimum, max(1, k))
            top = run_plan(segment, self.scratch_of(number), query, params.plan)
            top.stats.n_found = n_found
            if parts:
                stats.add(top.stats)
            else:
                stats = top.stats
            parts.append(self.make_hits(number, query, top, is_ranked=True))
        stats.n_values = len(values)
        return join_hits(parts), stats

    def make_hits(self, number: int, query: Query, top: TopColumns, is_ranked: bool = False) -> Hits:
        """Make hits of columns of a segment; `is_ranked` tells whether `top` are its best, in their order."""
        matched = top.counts
        if query.weights.size:  # ranked by rows; the distinct values of the winners are counted apart
            matched = self._count_values(number, query, top)
        n = top.columns.size
        return Hits(
            np.full(n, number, np.int64),
            top.columns.astype(np.int64),
            matched.astype(np.int64),
            top.counts.astype(np.int64),
            self.segments[number].catalog.numbers["cardinality"][top.columns],
            np.full(n, np.nan),
            is_ranked,
        )

    def groups_of(self, number: int, values: ValueSet) -> NDArray[np.int64]:
        """Match values to one segment: the posting group of each, -1 for none."""
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
        unweighted = Query(query.groups, _NO_WEIGHTS, as_read_only(chosen), 1, max(1, top.columns.size))
        with self.scratch_of(number).lend() as arrays:
            counted = merge_list(segment, arrays, unweighted, gather(segment, arrays, unweighted))
        by_column = np.argsort(counted.columns)
        return counted.counts[by_column][np.searchsorted(counted.columns[by_column], top.columns)]


def _smallest_of_best(parts: list[Hits], k: int) -> int:
    """Return what the k-th best hit so far is ranked by, 0 while there are fewer."""
    scores = np.concatenate([part.matched_rows for part in parts])
    return 0 if scores.size < k else int(np.partition(scores, scores.size - k)[scores.size - k])


def run_plan(segment: Segment, scratch: Scratch, query: Query, plan: str | None) -> TopColumns:
    """Find the best columns of a segment by the given plan, or by the one that seems cheapest.

    Parameters
    ----------
    segment : Segment
    scratch : Scratch
        Of that segment.
    query : Query
    plan : {None, "mergelist", "probeset", "josie"}

    Returns
    -------
    TopColumns
        The same for every plan.

    Notes
    -----
    The cost of MergeList is known once the query is matched. JOSIE's depends on the k-th count, which is
    not: it is tried where merging is expensive and the lists are long for the size of the query, and gives
    up for MergeList as soon as a twenty-fifth of that cost is spent without a k-th count that cuts the rest
    to about a half.
    """
    with scratch.lend() as arrays:
        found = gather(segment, arrays, query)
        if plan in (None, "mergelist"):
            scratch.read_ahead(found.lists, found.n_postings)
        if plan == "probeset":
            return probe_lists(segment, arrays, query, found)
        if plan == "josie":
            top = run_josie(segment, arrays, query, found, 0.0)
            assert top is not None  # without a budget it does not give up
            return top
        if plan is None:
            costs = READ_COSTS
            merging = costs.list_ns * found.lists.size + costs.posting_ns * found.n_postings
            is_long = found.n_postings > _LONG_LISTS * query.k * query.groups.size
            if merging > _SMALL_NS and is_long:
                top = run_josie(segment, arrays, query, found, merging)
                if top is not None:
                    return top
                found = gather(segment, arrays, query)
        return merge_list(segment, arrays, query, found)


_SEARCHERS: WeakKeyDictionary[Snapshot, Searcher] = WeakKeyDictionary()


def searcher_of(snapshot: Snapshot) -> Searcher:
    """Return the searcher of a snapshot: one for as long as the snapshot lives, since its work arrays are reused."""
    searcher = _SEARCHERS.get(snapshot)
    if searcher is None:
        searcher = _SEARCHERS.setdefault(snapshot, Searcher(snapshot.segments))
    return searcher
