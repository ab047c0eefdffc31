"""The plans of exact search, and the choice between them by estimated cost."""

from __future__ import annotations

import numpy as np

from dfjoin.index.segment import Segment
from dfjoin.kernels.josie import josie, probe_set
from dfjoin.kernels.mergelist import clear_counts, select_top
from dfjoin.search.exact.costs import READ_COSTS
from dfjoin.search.exact.posting_lists import (
    Gathered,
    Query,
    Scratch,
    TopColumns,
    WorkArrays,
    damaged_postings,
    gather,
    merge_list,
)
from dfjoin.search.params import SearchStats

__all__ = ["run_plan"]

_SMALL_NS = 150_000.0  # a merge estimated below this is done before a cleverer plan has begun
_LONG_LISTS = 100  # postings per query value and answer, below which verifying costs more than merging
_COLD_POSTINGS = 8192  # with fewer, the pages are as soon read as asked for
_BATCH = 16
_POSTING_BYTES = 12  # column, position, cardinality
_ENTRY_BYTES = 4
_WHOLE = 2  # mark of a column whose count is whole


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
        if found.n_postings > _COLD_POSTINGS and plan in (None, "mergelist"):
            scratch.postings.ask(found.lists, found.n_lists, segment.tokens.list_indptr)
        if plan == "probeset":
            return _probe(segment, arrays, query, found)
        if plan == "josie":
            top = _josie(segment, arrays, query, found, 0.0)
            assert top is not None  # without a budget it does not give up
            return top
        if plan is None:
            costs = READ_COSTS
            merging = costs.list_ns * found.n_lists + costs.posting_ns * found.n_postings
            is_long = found.n_postings > _LONG_LISTS * query.k * query.groups.size
            if merging > _SMALL_NS and is_long:
                top = _josie(segment, arrays, query, found, merging)
                if top is not None:
                    return top
                found = gather(segment, arrays, query)
        return merge_list(segment, arrays, query, found)


def _probe(segment: Segment, arrays: WorkArrays, query: Query, found: Gathered) -> TopColumns:
    """Run ProbeSet."""
    tokens = segment.tokens
    lists = np.sort(found.lists[: found.n_lists])
    state = np.zeros(6, np.int64)
    n_met = probe_set(
        lists, found.n_lists, arrays.hits, tokens.list_indptr, tokens.list_columns, tokens.list_positions,
        tokens.group_indptr, tokens.set_indptr, tokens.set_lists, segment.catalog.numbers["cardinality"],
        arrays.counts, arrays.columns, found.n_private, query.is_allowed, query.minimum, query.k,
        query.weights.size == 0, arrays.marks, state,
    )  # fmt: skip
    return _finish(segment, arrays, query, lists, n_met, "probeset", state)


def _josie(segment: Segment, arrays: WorkArrays, query: Query, found: Gathered, budget: float) -> TopColumns | None:
    """Run JOSIE; None when it gave up, with the arrays clean."""
    tokens = segment.tokens
    lists = np.sort(found.lists[: found.n_lists])
    state = np.zeros(6, np.int64)
    n_met, is_done = josie(
        lists, found.n_lists, arrays.hits, tokens.list_indptr, tokens.list_columns, tokens.list_positions,
        tokens.group_indptr, tokens.set_indptr, tokens.set_lists, segment.catalog.numbers["cardinality"],
        arrays.counts, arrays.columns, found.n_private, query.is_allowed, query.minimum, query.k,
        query.weights.size == 0, READ_COSTS.as_array(), _BATCH, budget, arrays.marks, *arrays.places, state,
    )  # fmt: skip
    if not is_done:
        _clean(arrays, lists, n_met)
        return None
    return _finish(segment, arrays, query, lists, n_met, "josie", state)


def _finish(segment: Segment, arrays: WorkArrays, query: Query, lists, n_met: int, plan: str, state) -> TopColumns:
    """Rank the columns whose counts are whole, clean the arrays, note what was read."""
    n_read, n_postings, n_sets, n_entries, n_pruned, is_damaged = state.tolist()
    if is_damaged:
        raise damaged_postings(segment)
    met = arrays.columns[:n_met]
    whole = met[arrays.marks[met] == _WHOLE]
    cardinality = segment.catalog.numbers["cardinality"]
    best = select_top(arrays.counts, whole, whole.size, query.is_allowed, cardinality, query.minimum, query.k)
    result = arrays.counts[best]
    _clean(arrays, lists, n_met)
    stats = SearchStats(
        plan=plan,
        lists_read=n_read,
        postings_read=n_postings,
        sets_read=n_sets,
        set_entries_read=n_entries,
        bytes_read=n_postings * _POSTING_BYTES + n_entries * _ENTRY_BYTES,
        candidates_pruned=n_pruned,
    )
    return TopColumns(best, result, stats)


def _clean(arrays: WorkArrays, lists, n_met: int) -> None:
    """Set the arrays back to zero where a plan has written."""
    met = arrays.columns[:n_met]
    arrays.marks[met] = 0
    clear_counts(arrays.counts, arrays.columns, n_met)
    arrays.hits[lists] = 0
