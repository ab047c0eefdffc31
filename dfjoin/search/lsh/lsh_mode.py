"""mode="lsh": columns above a threshold by their MinHash signatures, counted or estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.explanation import Explanation, explain_hit
from dfjoin.search.found import Candidate, Found, Pool
from dfjoin.search.group_hits import GroupHits, HeldCounts
from dfjoin.search.hits import rank_hits
from dfjoin.search.lsh.ensemble import SteppedHits, search_signatures
from dfjoin.search.modes import Mode
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.search.shared_values import explain_shared_values, list_shared_pairs
from dfjoin.store.snapshot import Snapshot


class LshMode(Mode):
    """Search by signatures; see `Mode` for the methods."""

    def is_by_segment(self, params: SearchParams) -> bool:
        return True

    def search_group(self, group: Snapshot, query: QueryColumn, counts: HeldCounts, params: SearchParams) -> GroupHits:
        # What other segments have decides how far the threshold falls for k columns: no further than here.
        found, _ = search_signatures(group, MatchedQuery(group, query.values), _wanted(params))
        return GroupHits(found.hits, np.stack([found.steps, found.is_exact], axis=1))

    def merge_groups(
        self, snapshot: Snapshot, query: QueryColumn, parts: GroupHits, counts: HeldCounts, params: SearchParams
    ) -> Found | Pool:
        stats = SearchStats(plan="groups", n_values=len(query.values))
        steps, is_exact = parts.kept.reshape(-1, 2).T
        hits = SteppedHits(parts.hits, steps, is_exact > 0).answer(snapshot, _wanted(params).k)
        if params.is_by_usefulness:
            return Pool(hits, MatchedQuery(snapshot, query.values, counts.of_values(query)), stats)
        ranked = rank_hits(snapshot.segments, hits, params.k, query.profile.has_range)
        return Found(query, ranked, stats, MatchedQuery(snapshot, query.values))

    def check(self, snapshot: Snapshot) -> None:
        if not snapshot.settings.permutations:
            raise IncompatibleSettingsError(
                'the index has no signatures, which mode="lsh" needs; add them with `lake.add_signatures()`, or use '
                'mode="exact"'
            )

    def search(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Found:
        matched = MatchedQuery(snapshot, query.values)
        found, stats = search_signatures(snapshot, matched, params)
        hits = found.answer(snapshot, params.k)
        ranked = rank_hits(snapshot.segments, hits, params.k, query.profile.has_range)
        return Found(query, ranked, stats, matched)

    def pool(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Pool:
        matched = MatchedQuery(snapshot, query.values)
        wanted = _wanted(params)
        found, stats = search_signatures(snapshot, matched, wanted)
        return Pool(found.answer(snapshot, wanted.k), matched, stats)

    def stages(self, snapshot: Snapshot, params: SearchParams) -> Sequence[SearchParams]:
        """Return the estimates first, then exact search, or the best that an index without sets can give.

        Source: Zhu, thesis, section 5.3.1.
        """
        best = replace(params, mode="exact") if snapshot.settings.keep_sets else params
        return replace(params, verify=False), best

    def columns(self, found: Found) -> dict[str, Any]:
        return {"containment_error": np.nan_to_num(found.hits.hits.errors)}

    def explain(self, candidate: Candidate) -> Explanation:
        if _has_set(candidate):
            return explain_shared_values(candidate)
        error = float(candidate.row["containment_error"])
        return explain_hit(candidate, shared=[], only_query=[], only_candidate=[], error=error)

    def pairs(self, candidate: Candidate) -> pd.DataFrame:
        if not _has_set(candidate):
            raise IncompatibleSettingsError(
                f"the index keeps no token set of `{candidate.row['table']}` column {candidate.row['column']!r} "
                "(keep_sets=False), so that its pairs cannot be listed; read the table with `lake.table(name)`"
            )
        return list_shared_pairs(candidate)


def _wanted(params: SearchParams) -> SearchParams:
    """Return what is searched for: all above a threshold, or as many as are ranked."""
    if not params.is_by_usefulness or (params.threshold is not None and params.k is None):
        return params
    return replace(params, k=params.n_pooled)


def _has_set(candidate: Candidate) -> bool:
    """Tell whether the index keeps the token set of a candidate."""
    settings = candidate.snapshot.settings
    return settings.keep_sets or candidate.row["cardinality"] < settings.smallest_signed
