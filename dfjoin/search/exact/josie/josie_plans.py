"""The plans JOSIE and ProbeSet: read posting lists in the global order, and sets where that is cheaper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.segment import Segment
from dfjoin.kernels.lists.josie import josie, probe_set
from dfjoin.kernels.lists.josie_costs import WHOLE
from dfjoin.kernels.lists.mergelist import select_top
from dfjoin.kernels.records import QueryLists, SegmentIndex
from dfjoin.search.exact.costs import ENTRY_BYTES, KEPT_POSTING_BYTES, READ_COSTS, ReadCosts
from dfjoin.search.exact.posting_lists import (
    Gathered,
    Query,
    TopColumns,
    WorkArrays,
    reading_postings,
    wanted_of,
)
from dfjoin.search.params import SearchStats

_BATCH = 16
_NO_COSTS = np.empty(0, np.float64)
_N_COUNTERS = 5


def _segment_index(segment: Segment) -> SegmentIndex:
    """Return the arrays of a segment that hold its posting lists and its sets."""
    t = segment.tokens
    cardinality = segment.catalog.numbers["cardinality"]
    lists = t.list_indptr, t.list_columns, t.list_positions
    return SegmentIndex(*lists, t.set_indptr, t.set_lists, t.group_indptr, cardinality)


def _query_lists(segment: Segment, arrays: WorkArrays, found: Gathered, costs: ReadCosts | None = None) -> QueryLists:
    """Return the query's lists in the global order, their weights, and with `costs` what reading them takes."""
    numbers = np.sort(found.lists)
    weights = arrays.tally.list_weights
    rest = np.zeros(numbers.size + 1, np.int64)
    np.cumsum(weights[numbers[::-1]], out=rest[-2::-1])
    if costs is None:
        return QueryLists(numbers, weights, rest, _NO_COSTS)
    indptr = segment.tokens.list_indptr
    list_ns, posting_ns, _, _ = costs.as_array().tolist()
    before = np.zeros(numbers.size + 1, np.float64)
    n_postings = indptr[numbers.astype(np.int64) + 1] - indptr[numbers]
    np.cumsum(list_ns + posting_ns * n_postings, out=before[1:])
    return QueryLists(numbers, weights, rest, before)


def probe_lists(segment: Segment, arrays: WorkArrays, query: Query, found: Gathered) -> TopColumns:
    """Run ProbeSet."""
    lists = _query_lists(segment, arrays, found)
    counters = np.zeros(_N_COUNTERS, np.int64)
    wanted, counts_values = wanted_of(segment, query), query.weights.size == 0
    with reading_postings(segment):
        n_met = probe_set(
            lists, _segment_index(segment), arrays.candidates(query.k), found.n_private, wanted, counts_values, counters
        )
    return _finish(segment, arrays, query, found, n_met, ("probeset", counters))


def run_josie(segment: Segment, arrays: WorkArrays, query: Query, found: Gathered, budget: float) -> TopColumns | None:
    """Run JOSIE; None when it gave up, with the arrays clean."""
    lists = _query_lists(segment, arrays, found, READ_COSTS)
    counters = np.zeros(_N_COUNTERS, np.int64)
    wanted, counts_values = wanted_of(segment, query), query.weights.size == 0
    with reading_postings(segment):
        n_met, is_done = josie(
            lists,
            _segment_index(segment),
            arrays.candidates(query.k),
            found.n_private,
            wanted,
            counts_values,
            READ_COSTS.as_array(),
            _BATCH,
            float(budget),
            counters,
        )
    if not is_done:
        _clean(arrays, found, n_met)
        return None
    return _finish(segment, arrays, query, found, n_met, ("josie", counters))


def _finish(
    segment: Segment,
    arrays: WorkArrays,
    query: Query,
    found: Gathered,
    n_met: int,
    plan: tuple[str, NDArray[np.int64]],
) -> TopColumns:
    """Rank the columns whose counts are whole, clean the arrays, note what was read; `plan` is its name and counts."""
    name, counters = plan
    n_read, n_postings, n_sets, n_entries, n_pruned = counters.tolist()
    counts = arrays.tally.counts
    met = arrays.tally.columns[:n_met]
    whole = met[arrays.marks[met] == WHOLE]
    best = np.empty(min(query.k, whole.size), np.int32)
    best = best[: select_top(counts, whole, wanted_of(segment, query), best)]
    result = counts[best]
    _clean(arrays, found, n_met)
    stats = SearchStats(
        plan=name,
        lists_read=n_read,
        postings_read=n_postings,
        sets_read=n_sets,
        set_entries_read=n_entries,
        bytes_read=n_postings * KEPT_POSTING_BYTES + n_entries * ENTRY_BYTES,
        candidates_pruned=n_pruned,
    )
    return TopColumns(best, result, stats)


def _clean(arrays: WorkArrays, found: Gathered, n_met: int) -> None:
    """Set the arrays back to zero where a plan has written."""
    arrays.marks[arrays.tally.columns[:n_met]] = 0
    arrays.clear(found.lists, n_met)
