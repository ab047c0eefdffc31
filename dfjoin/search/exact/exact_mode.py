"""mode="exact": every column that shares a value, counted from posting lists."""

from __future__ import annotations

import pandas as pd

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.kernels.lists.evidence import N_SUMS
from dfjoin.search.exact.searcher import MatchedQuery, searcher_of
from dfjoin.search.explanation import Explanation
from dfjoin.search.found import Candidate, Found, Pool
from dfjoin.search.group_hits import GroupHits, HeldCounts
from dfjoin.search.hits import best_positions, rank_hits
from dfjoin.search.modes import Mode
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.search.shared_values import explain_shared_values, list_shared_pairs
from dfjoin.search.usefulness.features import SharedEvidence, count_evidence
from dfjoin.search.usefulness.ranking import MOST_RANKED
from dfjoin.store.snapshot import Snapshot


class ExactMode(Mode):
    """Search by posting lists; see `Mode` for the methods."""

    has_composite_keys = True
    is_by_value = True

    def is_by_segment(self, params: SearchParams) -> bool:
        return True

    def search_group(self, group: Snapshot, query: QueryColumn, counts: HeldCounts, params: SearchParams) -> GroupHits:
        if not params.is_by_usefulness:
            return super().search_group(group, query, counts, params)
        matched = MatchedQuery(group, query.values, counts.of_values(query))
        evidence, _ = count_evidence(group, matched, params)
        evidence = evidence.take(best_positions(evidence.hits, MOST_RANKED + 1))
        return GroupHits(evidence.hits, evidence.sums, evidence.total_weight)

    def merge_groups(
        self, snapshot: Snapshot, query: QueryColumn, parts: GroupHits, counts: HeldCounts, params: SearchParams
    ) -> Found | Pool:
        stats = SearchStats(plan="groups", n_values=len(query.values))
        if not params.is_by_usefulness:
            ranked = rank_hits(snapshot.segments, parts.hits, params.k, query.profile.has_range)
            return Found(query, ranked, stats, MatchedQuery(snapshot, query.values))
        matched = MatchedQuery(snapshot, query.values, counts.of_values(query))
        evidence = SharedEvidence(parts.hits, parts.kept.reshape(-1, N_SUMS), parts.total_weight)
        return Pool(parts.hits, matched, stats, evidence)

    def check(self, snapshot: Snapshot) -> None:
        if not snapshot.settings.keep_sets:
            raise IncompatibleSettingsError(
                'the index keeps no token sets of its large columns (keep_sets=False), which mode="exact" needs; use '
                'mode="lsh", or build it anew with keep_sets=True'
            )

    def search(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Found:
        matched = MatchedQuery(snapshot, query.values)
        hits, stats = searcher_of(snapshot).search(matched, params)
        ranked = rank_hits(snapshot.segments, hits, params.k, query.profile.has_range)
        return Found(query, ranked, stats, matched)

    def pool(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Pool:
        matched = MatchedQuery(snapshot, query.values)
        evidence, stats = count_evidence(snapshot, matched, params)
        return Pool(evidence.hits, matched, stats, evidence)

    def explain(self, candidate: Candidate) -> Explanation:
        return explain_shared_values(candidate)

    def pairs(self, candidate: Candidate) -> pd.DataFrame:
        return list_shared_pairs(candidate)
