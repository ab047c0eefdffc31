"""mode="fuzzy": columns with values that are spelled like those of the query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.segment import Segment, reading
from dfjoin.index.vector_group import text_tokens
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.pivot_grids import count_found
from dfjoin.search.distance.distance_join import NearPairs
from dfjoin.search.distance.distance_mode import DistanceMode, TextFound, no_hits
from dfjoin.search.distance.distance_search import DistanceSearch, MatchRecord, TextSegment
from dfjoin.search.embedding.near_plans import sealed_queries
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.fuzzy.similar_join import SimilarRelation
from dfjoin.search.fuzzy.similar_texts import ChosenTexts, SimilarTexts, SpellingRadius, TextLists, spelling_radius
from dfjoin.search.hits import Hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.store.snapshot import Snapshot

_MOST_NEAR = 1024
"""Values near a query value that are counted: what has more says little more of it, and there may be thousands of texts
that differ in a few digits."""

_PREPARED: WeakValueDictionary[tuple[Path, str], SimilarTexts] = WeakValueDictionary()
"""Directory of a segment, and metric → the texts of its columns of text, which all that have it open share."""

_HELD: WeakKeyDictionary[Segment, dict[str, SimilarTexts]] = WeakKeyDictionary()


@dataclass(frozen=True)
class SimilarFound(TextFound):
    """What a search by spelling found."""

    def relation_of(self, position: int) -> dict[str, Any] | None:
        """See `Found`."""
        if not (self.is_text(position) and self.query.profile.kind == "text"):
            return None
        return SimilarRelation(self.radius.radius, self.radius.unit, self.radius.metric).to_dict()

    def near_tokens(self, segment: Segment, held: NDArray[np.int64]) -> NearPairs:
        """See `TextFound`."""
        texts = _prepared(segment, held, self.radius.metric)
        found = texts.pairs(_texts_of_query(self.query, self.radius.metric), self.radius)
        return NearPairs(found.queries, found.texts.astype(np.int64), found.distances)


class FuzzyMode(DistanceMode):
    """Search by edit distance, of words in order too, or by 3-grams; see `Mode` for the methods."""

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
        search, texts = DistanceSearch(query, params, record), _texts_of_query(query, radius.metric)
        if record is not None and params.count == "hit":
            record.most_near = _MOST_NEAR
        others = np.setdiff1d(np.arange(len(query.values)), texts.numbers)
        hits, stats = search.through_texts(snapshot, others, lambda part: _count_similar(search, part, texts, radius))
        stats.plan = "scan"
        matched, is_all = MatchedQuery(snapshot, query.values), params.count == "all"
        found = SimilarFound(query, no_hits(snapshot, hits), stats, matched, radius=radius, is_all=is_all)
        return replace(found, is_default=params.radius is None), hits


def _texts_of_query(query: QueryColumn, metric: str) -> SimilarTexts:
    """Return the values of a query column as texts; none of a column that is not of text."""
    values = query.values
    if query.profile.kind != "text":
        return SimilarTexts.of((np.zeros(1, np.int64), np.zeros(8, np.uint8)), metric)
    return SimilarTexts.of((values.offsets, values.data), metric)


def _prepared(segment: Segment, tokens: NDArray[np.integer], metric: str) -> SimilarTexts:
    """Prepare the values of some tokens where they lie."""
    stored = segment.tokens
    with reading("value_offsets", "points outside `value_bytes`", segment.meta.id):
        return SimilarTexts(ChosenTexts(stored.value_bytes, stored.value_offsets, tokens.astype(np.uint32)), metric)


def _texts_of_segment(segment: Segment, metric: str) -> SimilarTexts:
    """Return the texts of a segment, prepared when this process first asks for them.

    A segment never changes, so that lakes and versions of one index share them until the last of these is gone.
    """
    held = _HELD.setdefault(segment, {})
    if metric not in held:
        tokens = text_tokens(segment)  # compares the postings of each opened segment, which kernels rely on
        key = segment.directory.absolute(), metric
        known = _PREPARED.get(key)
        if known is None:
            known = _PREPARED[key] = _prepared(segment, tokens, metric)
        held[metric] = known
    return held[metric]


def _count_similar(
    search: DistanceSearch, part: TextSegment, texts: SimilarTexts, radius: SpellingRadius
) -> SearchStats:
    """Count the columns of a segment with texts like those of a query; each text is compared once."""
    stored = _texts_of_segment(part.segment, radius.metric)
    stats, read = SearchStats(plan="scan"), np.zeros(2, np.int64)
    is_met = np.zeros(len(search.query.values), bool)
    lists = None
    if search.params.count == "hit":  # which columns have a partner, and no more
        group, least = part.postings.group, 0 if search.record is None else search.record.most_near
        lists = TextLists(group, np.where(part.own >= 0, group[part.own].astype(np.int64), -1), least)
    for found in stored.near(texts, radius, read, lists):
        order = np.argsort(found.queries, kind="stable")
        numbers, near = found.queries[order], found.texts[order].astype(np.uint32)
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
