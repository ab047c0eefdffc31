"""mode="fuzzy": columns with values that are spelled like those of the query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.segment import Segment
from dfjoin.index.vector_group import text_tokens, texts_of
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.pivot_grids import count_found
from dfjoin.search.distance.distance_join import NearPairs
from dfjoin.search.distance.distance_mode import DistanceMode, TextFound, no_hits
from dfjoin.search.distance.distance_search import DistanceSearch, MatchRecord, TextSegment
from dfjoin.search.embedding.near_plans import sealed_queries
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.fuzzy.similar_join import SimilarRelation
from dfjoin.search.fuzzy.similar_texts import SimilarTexts, SpellingRadius, spelling_radius
from dfjoin.search.hits import Hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.store.snapshot import Snapshot

__all__ = ["FuzzyMode", "SimilarFound"]


@dataclass(frozen=True, eq=False)
class _StoredTexts:
    """The texts of a segment's columns of text, prepared, and the token of each."""

    texts: SimilarTexts
    tokens: NDArray[np.uint32]


_PREPARED: WeakValueDictionary[tuple[Path, bool], _StoredTexts] = WeakValueDictionary()
"""Directory of a segment, and whether n-grams are compared → its texts, which all that have it open share."""

_HELD: WeakKeyDictionary[Segment, dict[bool, _StoredTexts]] = WeakKeyDictionary()


@dataclass(frozen=True)
class SimilarFound(TextFound):
    """What a search by spelling found."""

    def relation_of(self, place: int) -> dict[str, Any] | None:
        """See `Found`."""
        if not (self.is_text(place) and self.query.profile.kind == "text"):
            return None
        return SimilarRelation(self.radius.radius, self.radius.unit, self.radius.metric).to_dict()

    def near_tokens(self, segment: Segment, held: NDArray[np.int64]) -> NearPairs:
        """See `TextFound`."""
        texts = SimilarTexts(texts_of(segment.tokens, held), self.radius.is_grams)
        found = texts.pairs(_texts_of_query(self.query, self.radius.is_grams), self.radius)
        return NearPairs(found.queries, held[found.texts], found.distances)


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
        radius = spelling_radius(params.radius, params.radius_unit, params.metric)
        search, texts = DistanceSearch(query, params, record), _texts_of_query(query, radius.is_grams)
        others = np.setdiff1d(np.arange(len(query.values)), texts.numbers)
        hits, stats = search.through_texts(snapshot, others, lambda part: _count_similar(search, part, texts, radius))
        stats.plan = "scan"
        matched, is_all = MatchedQuery(snapshot, query.values), params.count == "all"
        found = SimilarFound(query, no_hits(snapshot, hits), stats, matched, radius=radius, is_all=is_all)
        return replace(found, is_default=params.radius is None), hits


def _texts_of_query(query: QueryColumn, is_grams: bool) -> SimilarTexts:
    """Return the values of a query column as texts; none of a column that is not of text."""
    values = query.values
    if query.profile.kind != "text":
        return SimilarTexts((np.zeros(1, np.int64), np.zeros(8, np.uint8)), is_grams)
    return SimilarTexts((values.offsets, values.data), is_grams)


def _texts_of_segment(segment: Segment, is_grams: bool) -> _StoredTexts:
    """Return the texts of a segment, prepared when this process first asks for them.

    A segment never changes, so that lakes and versions of one index share them until the last of these is gone.
    """
    held = _HELD.setdefault(segment, {})
    if is_grams not in held:
        tokens = text_tokens(segment)  # compares the postings of each opened segment, which kernels rely on
        key = segment.directory.absolute(), is_grams
        known = _PREPARED.get(key)
        if known is None:
            texts = SimilarTexts(texts_of(segment.tokens, tokens), is_grams)
            known = _PREPARED[key] = _StoredTexts(texts, tokens.astype(np.uint32))
        held[is_grams] = known
    return held[is_grams]


def _count_similar(
    search: DistanceSearch, part: TextSegment, texts: SimilarTexts, radius: SpellingRadius
) -> SearchStats:
    """Count the columns of a segment with texts like those of a query; each text is compared once."""
    stored = _texts_of_segment(part.segment, radius.is_grams)
    stats, read = SearchStats(plan="scan"), np.zeros(2, np.int64)
    is_met = np.zeros(len(search.query.values), bool)
    lists = None
    if search.record is None and search.params.count == "hit":  # which columns have a partner, and no more
        group = part.postings.group.astype(np.int64)
        lists = group[stored.tokens], np.where(part.own >= 0, group[part.own], -1)
    for found in stored.texts.near(texts, radius, read, lists):
        order = np.argsort(found.queries, kind="stable")
        numbers, near = found.queries[order], stored.tokens[found.texts[order]]
        met, starts = np.unique(numbers, return_index=True)
        is_met[met] = True
        indptr = as_read_only(np.append(starts, numbers.size).astype(np.int64))
        steps = as_read_only(np.arange(near.size))
        queries = sealed_queries(search.queries(met, part.own))
        count_found(indptr, steps, as_read_only(near), queries, part.postings, part.tally)
        stats.near_pairs += near.size
    numbers = np.sort(texts.numbers)
    search.count_equal(part, numbers[~is_met[numbers]])
    stats.signatures_compared, stats.distances = map(int, read)
    return stats
