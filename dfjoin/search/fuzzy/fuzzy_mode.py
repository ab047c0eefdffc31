"""mode="fuzzy": columns with values that are spelled like those of the query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.catalog import KINDS
from dfjoin.search.distance.distance_mode import DistanceFound, DistanceMode, MatchedPairs, no_hits
from dfjoin.search.distance.match_record import MatchRecord
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.found import Candidate
from dfjoin.search.fuzzy.similar_join import SimilarRelation
from dfjoin.search.fuzzy.similar_pairs import similar_pairs
from dfjoin.search.fuzzy.similar_search import search_similar
from dfjoin.search.fuzzy.similar_texts import EQUAL, TextReach, text_reach
from dfjoin.search.hits import Hits
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.store.snapshot import Snapshot

__all__ = ["FuzzyMode", "SimilarFound"]


@dataclass(frozen=True)
class SimilarFound(DistanceFound):
    """What a search by spelling found, with its radius.

    Parameters
    ----------
    reach : TextReach
    """

    reach: TextReach = EQUAL

    def relation_of(self, place: int) -> dict[str, Any] | None:
        """See `Found`; in columns that are not of text equal values alone match."""
        is_text = KINDS[int(self.hits.profile["kind"][place])] == "text" and self.query.profile.kind == "text"
        reach = self.reach
        return SimilarRelation(reach.radius, reach.unit, reach.metric).to_dict() if is_text else None


class FuzzyMode(DistanceMode):
    """Search by edit distance or by 3-grams; see `Mode` for the methods."""

    nothing_found = "no column of the lake has a value that is spelled alike"

    def check(self, snapshot: Snapshot) -> None:
        if not snapshot.settings.keep_sets:
            raise IncompatibleSettingsError(
                'the index keeps no values of its large columns (keep_sets=False), which mode="fuzzy" compares; build '
                "it anew with keep_sets=True"
            )

    def find(
        self, snapshot: Snapshot, query: QueryColumn, params: SearchParams, record: MatchRecord | None = None
    ) -> tuple[SimilarFound, Hits]:
        reach = text_reach(params.radius, params.radius_unit, params.metric)
        hits, stats = search_similar(snapshot, query, reach, params, record)
        matched, is_all = MatchedQuery(snapshot, query.values), params.count == "all"
        return SimilarFound(query, no_hits(snapshot, hits), stats, matched, reach=reach, is_all=is_all), hits

    def pairs_of(self, candidate: Candidate) -> MatchedPairs:
        assert isinstance(candidate.found, SimilarFound)
        return similar_pairs(candidate, candidate.found.reach)
