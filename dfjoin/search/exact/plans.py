"""The plans of exact search, and the choice between them by estimated cost."""

from __future__ import annotations

from dfjoin.index.segment import Segment
from dfjoin.search.exact.costs import READ_COSTS
from dfjoin.search.exact.josie.josie_plans import probe_lists, run_josie
from dfjoin.search.exact.posting_lists import Query, Scratch, TopColumns, gather, merge_list

__all__ = ["run_plan"]

_SMALL_NS = 150_000.0  # a merge estimated below this is done before a cleverer plan has begun
_LONG_LISTS = 100  # postings per query value and answer, below which verifying costs more than merging
_COLD_POSTINGS = 8192  # with fewer, the pages are as soon read as prefetched


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
            scratch.postings.prefetch(found.lists, segment.tokens.list_indptr)
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
