"""A search in parts: groups of segments are searched one by one, wherever that is, and merged to the same result.

A column lives in one segment, so that the best columns of each group, merged, are the best of the lake. What the
ranking by usefulness knows of a value, the number of columns that hold it, is counted over all groups first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.kernels.lists.evidence import N_SUMS
from dfjoin.search.exact.searcher import MatchedQuery, searcher_of
from dfjoin.search.found import Found, Pool
from dfjoin.search.hits import Hits, join_hits, rank_hits
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import HeldValues, QueryColumn, make_query
from dfjoin.search.usefulness.ranking import MOST_RANKED, rank_useful
from dfjoin.search.usefulness.shared_evidence import SharedEvidence, ValueWeights
from dfjoin.store.snapshot import Snapshot

__all__ = [
    "GroupHits",
    "HeldCounts",
    "count_columns",
    "count_holding",
    "group_segments",
    "merge_groups",
    "search_group",
]


@dataclass(frozen=True)
class HeldCounts:
    """In how many columns the values of a query stand; a value that is not named stands in none.

    Parameters
    ----------
    hashes : ndarray of uint64, shape (n,), sorted
        Of the values.
    counts : ndarray of int64, shape (n,)
    """

    hashes: NDArray[np.uint64]
    counts: NDArray[np.int64]

    def of(self, hashes: NDArray[np.uint64], n_columns: int) -> HeldValues:
        """Return the counts of some values, given by their hashes, of a lake of so many columns."""
        if not self.hashes.size:
            return HeldValues(np.zeros(hashes.size, np.int64), n_columns)
        positions = np.minimum(np.searchsorted(self.hashes, hashes), self.hashes.size - 1)
        return HeldValues(np.where(self.hashes[positions] == hashes, self.counts[positions], 0), n_columns)


@dataclass(frozen=True)
class GroupHits:
    """What the search of a group of segments found.

    Parameters
    ----------
    hits : Hits
        The best columns of the group; numbers of segments are those of the whole lake.
    sums : ndarray of int64, shape (n, N_SUMS) or (0, N_SUMS)
        What the shared values tell of each, where they were summed; see `SharedEvidence`.
    total_weight : float
        The weight of all values of the query, where they were summed.
    """

    hits: Hits
    sums: NDArray[np.int64]
    total_weight: float = 0.0


def group_segments(snapshot: Snapshot, n_groups: int) -> list[tuple[int, ...]]:
    """Divide the segments of a lake into groups of about as many bytes.

    Parameters
    ----------
    snapshot : Snapshot
    n_groups : int
        The most groups.

    Returns
    -------
    list of tuple of int
        Numbers of segments, none of a group empty; the largest segments are dealt out first.
    """
    sizes = {number: segment.meta.size for number, segment in enumerate(snapshot.segments)}
    groups: list[list[int]] = [[] for _ in range(min(n_groups, len(sizes)))]
    filled = [0] * len(groups)
    for number in sorted(sizes, key=lambda one: -sizes[one]):
        least = filled.index(min(filled))
        groups[least].append(number)
        filled[least] += sizes[number]
    return [tuple(sorted(group)) for group in groups]


def count_columns(snapshot: Snapshot) -> int:
    """Count the columns of a lake that are not deleted and hold a value."""
    searcher = searcher_of(snapshot)
    return sum(searcher.scratch_of(n).n_alive for n, segment in enumerate(snapshot.segments) if segment.n_tokens)


def count_holding(group: Snapshot, query: QueryColumn) -> HeldCounts:
    """Count the columns of a group of segments that hold each value of a query. O(values) for each segment."""
    counts = ValueWeights(group, MatchedQuery(group, query.values), False).n_holding
    held = np.flatnonzero(counts)
    hashes = query.values.hashes[held]
    order = np.argsort(hashes)
    return HeldCounts(hashes[order], counts[held][order])


def search_group(group: Snapshot, numbers: Sequence[int], query: QueryColumn, params: SearchParams) -> GroupHits:
    """Search a group of segments for one query column.

    Parameters
    ----------
    group : Snapshot
        Of these segments alone.
    numbers : sequence of int
        Their numbers in the whole lake.
    query : QueryColumn
        With `held` known where candidates are ranked by usefulness.
    params : SearchParams

    Returns
    -------
    GroupHits
        All that the ranking of the whole lake needs; of more columns than it ranks by usefulness the best by matched
        values.
    """
    mode = mode_of(params.mode)
    if not params.is_by_usefulness:
        return GroupHits(_renumbered(mode.search(group, query, params).hits.hits, numbers), _NO_SUMS)
    pool = mode.pool(group, query, params)
    hits, evidence = pool.hits, pool.evidence
    if evidence is None:
        return GroupHits(_renumbered(hits, numbers), _NO_SUMS)
    if len(hits) > MOST_RANKED + 1:
        best = np.sort(
            np.lexsort((hits.columns, hits.segments, hits.cardinality, -hits.matched_rows))[: MOST_RANKED + 1]
        )
        hits, evidence = hits.take(best), evidence.take(best)
    return GroupHits(_renumbered(hits, numbers), evidence.sums, evidence.total_weight)


_NO_SUMS = np.empty((0, N_SUMS), np.int64)


def _renumbered(hits: Hits, numbers: Sequence[int]) -> Hits:
    segments = np.array(numbers, np.int64)[hits.segments] if len(hits) else hits.segments
    return replace(hits, segments=segments, is_ranked=False)


def merge_groups(snapshot: Snapshot, query: QueryColumn, parts: Sequence[GroupHits], params: SearchParams) -> Found:
    """Merge what the searches of all groups found.

    Parameters
    ----------
    snapshot : Snapshot
        The whole lake.
    query : QueryColumn
    parts : sequence of GroupHits
        Of each group.
    params : SearchParams

    Returns
    -------
    Found
        As a search of the whole lake has it, but for the statistics of what was read.
    """
    mode = mode_of(params.mode)
    hits = join_hits([part.hits for part in parts])
    order = np.lexsort((hits.columns, hits.segments))
    hits = hits.take(order)
    matched = MatchedQuery(snapshot, query.values, query.held)
    query = replace(query, held=None)  # another spelling of it has other values
    stats = SearchStats(plan="groups", n_values=len(query.values))
    if params.is_by_usefulness and any(part.sums.size for part in parts):
        sums = np.concatenate([part.sums for part in parts])[order]
        evidence = SharedEvidence(hits, sums, max(part.total_weight for part in parts))
        ranked, useful = rank_useful(snapshot, query, Pool(hits, matched, stats, evidence), params)
        return Found(query, ranked, stats, matched, useful=useful)
    ranked = rank_hits(snapshot.segments, hits, params.k, query.profile.has_range)
    # A search of nothing gives the record that the mode makes its columns of.
    empty = make_query(pd.Series([], dtype=object), snapshot.settings, name=query.name)
    bare = snapshot.at(replace(snapshot.manifest, segments=()))
    found = replace(mode.search(bare, empty, params), query=query, hits=ranked, stats=stats, matched=matched)
    if not params.is_by_usefulness:
        return found
    pool = Pool(ranked.hits, matched, stats, found=found, is_by_equality=mode.is_by_equality)
    return found.ranked(*rank_useful(snapshot, query, pool, params))
