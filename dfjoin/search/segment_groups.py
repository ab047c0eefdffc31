"""A search in parts: groups of segments are searched one by one, wherever that is, and merged to the same result.

A column lives in one segment, so that the best columns of each group, merged, are the best of the lake. What a mode has
to know of the whole lake, as the number of columns that hold a value, is counted over all groups first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dfjoin.search.found import Found
from dfjoin.search.group_hits import GroupHits, HeldCounts
from dfjoin.search.hits import join_hits
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.ranking import rank_pool
from dfjoin.store.snapshot import Snapshot

__all__ = ["group_segments", "merge_groups", "search_group"]


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


def search_group(
    group: Snapshot, numbers: Sequence[int], query: QueryColumn, counts: HeldCounts, params: SearchParams
) -> GroupHits:
    """Search a group of segments for one query column.

    Parameters
    ----------
    group : Snapshot
        Of these segments alone.
    numbers : sequence of int
        Their numbers in the whole lake.
    query : QueryColumn
    counts : HeldCounts
        Of the whole lake, where the mode asks for them.
    params : SearchParams

    Returns
    -------
    GroupHits
        All that the ranking of the whole lake needs; of more columns than it ranks by usefulness the best by matched
        values.
    """
    found = mode_of(params.mode).search_group(group, query, counts, params)
    hits = found.hits
    segments = np.array(numbers, np.int64)[hits.segments] if len(hits) else hits.segments
    return replace(found, hits=replace(hits, segments=segments, is_ranked=False))


def merge_groups(
    snapshot: Snapshot, query: QueryColumn, parts: Sequence[GroupHits], counts: HeldCounts, params: SearchParams
) -> Found:
    """Merge what the searches of all groups found.

    Parameters
    ----------
    snapshot : Snapshot
        The whole lake.
    query : QueryColumn
    parts : sequence of GroupHits
        Of each group.
    counts : HeldCounts
        As the groups were searched with.
    params : SearchParams

    Returns
    -------
    Found
        As a search of the whole lake has it, but for the statistics of what was read.
    """
    hits = join_hits([part.hits for part in parts])
    order = np.lexsort((hits.columns, hits.segments))
    kept = [part.kept for part in parts if len(part.hits)]
    merged = GroupHits(
        hits.take(order),
        np.concatenate(kept)[order] if kept else np.empty((0, 0), np.int64),
        max((part.total_weight for part in parts), default=0.0),
    )
    found = mode_of(params.mode).merge_groups(snapshot, query, merged, counts, params)
    return found if isinstance(found, Found) else rank_pool(snapshot, query, found, params)
