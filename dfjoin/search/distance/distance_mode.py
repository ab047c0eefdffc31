"""What the modes by distance have in common: the pool, result columns, explanations and pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS
from dfjoin.index.column_values import tokens_of_column, value_of_token
from dfjoin.index.segment import Segment
from dfjoin.index.vector_group import text_columns
from dfjoin.kernels.lists.evidence import N_SUMS
from dfjoin.search.distance.distance_join import NO_PAIRS, NearPairs, with_equal
from dfjoin.search.distance.distance_search import MatchRecord
from dfjoin.search.exact.posting_lists import match_tokens
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.explanation import N_EXAMPLES, Explanation, explain_hit
from dfjoin.search.found import Candidate, Found, Pool
from dfjoin.search.group_hits import GroupHits, HeldCounts
from dfjoin.search.hits import Hits, RankedHits, rank_hits
from dfjoin.search.modes import Mode
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn, make_query
from dfjoin.search.shared_values import list_pairs
from dfjoin.search.usefulness.features import SharedEvidence
from dfjoin.store.snapshot import Snapshot


class MatchedPairs(NamedTuple):
    """Pairs of a query value and a partner, by query value, then by distance; and all partners that there may be.

    Partners are numbers of tokens or of points. Distances are in the unit of the radius.
    """

    codes: NDArray[np.int64]
    partners: NDArray[np.int64]
    distances: NDArray[np.float64]
    every: NDArray[np.int64]


@dataclass(frozen=True)
class DistanceFound(Found, ABC):
    """What a search by distance found.

    Parameters
    ----------
    radius : object
        How near values have to lie; as a text it says so.
    is_all : bool
        Pairs were counted.
    is_default : bool
        Nobody gave the radius. It is chosen for the nearest partners, so that these alone are listed as pairs.
    """

    radius: Any = field(kw_only=True)
    is_all: bool = field(default=False, kw_only=True)
    is_default: bool = field(default=False, kw_only=True)

    @property
    def kind(self) -> str | None:
        """What the result calls the kind of each candidate; None: that of its column."""
        return None

    @property
    def unit(self) -> str:
        """Of the distances that are shown, with a space before it; empty for none."""
        return ""

    @abstractmethod
    def pairs_of(self, candidate: Candidate) -> MatchedPairs:
        """List the pairs of a candidate."""

    @abstractmethod
    def texts_of(self, candidate: Candidate, partners: NDArray[np.int64]) -> list[str]:
        """Return partners as texts."""

    def notes(self) -> dict[str, Any]:
        """See `Found`: how near values had to lie."""
        return {"radius": str(self.radius)}

    def with_hits(self, ranked: RankedHits) -> Self:
        """Return the search with some of its hits, ranked by matched values."""
        return replace(self, hits=ranked)

    def pooled(self, hits: Hits, evidence: SharedEvidence | None) -> tuple[Self, Hits, SharedEvidence | None]:
        """Return the hits that are ranked by usefulness, and what their values tell."""
        return self, hits, evidence

    def explained(self) -> dict[str, Any]:
        """Return fields of an `Explanation` that differ from those of other searches."""
        return {}


@dataclass(frozen=True)
class TextFound(DistanceFound):
    """What a search by distance among texts found: partners are tokens, those of equal values among them."""

    @abstractmethod
    def near_tokens(self, segment: Segment, held: NDArray[np.int64]) -> NearPairs:
        """List the pairs of values of the query and some tokens within the radius."""

    def is_text(self, position: int) -> bool:
        """Tell whether a hit is a column of text; in others equal values alone match."""
        return KINDS[int(self.hits.profile["kind"][position])] == "text"

    def pairs_of(self, candidate: Candidate) -> MatchedPairs:
        """See `DistanceFound`; pairs of one distance are in the order of tokens."""
        segment = candidate.segment
        held = np.sort(tokens_of_column(segment, candidate.column)).astype(np.int64)
        own = match_tokens(self.query.values, segment.tokens)
        near = self.near_tokens(segment, held) if text_columns(segment)[candidate.column] else NO_PAIRS
        codes, tokens, distances = with_equal(near, np.where(np.isin(own, held), own, -1), 0.0)
        order = np.lexsort((tokens, distances, codes))
        return MatchedPairs(codes[order], tokens[order], distances[order], held)

    def texts_of(self, candidate: Candidate, partners: NDArray[np.int64]) -> list[str]:
        """See `DistanceFound`."""
        return [value_of_token(candidate.segment, token) for token in partners.tolist()]


class DistanceMode(Mode):
    """Search by distances; see `Mode` for the methods."""

    is_by_equality = False

    @abstractmethod
    def find(
        self, snapshot: Snapshot, query: QueryColumn, params: SearchParams, record: MatchRecord | None = None
    ) -> tuple[DistanceFound, Hits]:
        """Search; return the search without hits, and its hits, not ranked.

        Parameters
        ----------
        snapshot : Snapshot
        query : QueryColumn
        params : SearchParams
        record : MatchRecord, optional
            Takes note of the matches.
        """

    def is_by_segment(self, params: SearchParams) -> bool:
        return True

    def count_group(self, group: Snapshot, query: QueryColumn, params: SearchParams) -> HeldCounts:
        record = MatchRecord(query)
        self.find(group, query, replace(params, k=None), record)
        return record.held()

    def search_group(self, group: Snapshot, query: QueryColumn, counts: HeldCounts, params: SearchParams) -> GroupHits:
        if not params.is_by_usefulness:
            return super().search_group(group, query, counts, params)
        record = MatchRecord(query)
        _, hits = self.find(group, query, replace(params, k=None), record)
        evidence = record.evidence(hits, counts)
        return GroupHits.of(hits) if evidence is None else GroupHits(hits, evidence.sums, evidence.total_weight)

    def merge_groups(
        self, snapshot: Snapshot, query: QueryColumn, parts: GroupHits, counts: HeldCounts, params: SearchParams
    ) -> Found | Pool:
        # A search of nothing gives the record that the mode makes its columns of.
        empty = make_query(pd.Series([], dtype=object), snapshot.settings, name=query.name)
        found = self.search(snapshot.at(replace(snapshot.manifest, segments=())), empty, params)
        found = replace(found, query=query, matched=MatchedQuery(snapshot, query.values))
        if params.is_by_usefulness:
            sums = parts.kept.reshape(-1, N_SUMS)
            evidence = None if counts.n_full else SharedEvidence(parts.hits, sums, parts.total_weight)
            return Pool(parts.hits, found.matched, found.stats, evidence, found, is_by_equality=False)
        return replace(found, hits=rank_hits(snapshot.segments, parts.hits, params.k, query.profile.has_range))

    def pool(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Pool:
        record = MatchRecord(query)
        every, hits = self.find(snapshot, query, replace(params, k=None), record)
        found, hits, evidence = every.pooled(hits, record.evidence(hits))
        return Pool(hits, found.matched, found.stats, evidence, found, is_by_equality=False)

    def search(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Found:
        found, hits = self.find(snapshot, query, params)
        return found.with_hits(rank_hits(snapshot.segments, hits, params.k, query.profile.has_range))

    def columns(self, found: Found) -> dict[str, Any]:
        assert isinstance(found, DistanceFound)
        n = len(found.hits)
        columns: dict[str, Any] = {"jaccard": np.full(n, np.nan), "relationship": [None] * n}
        if found.kind:
            columns["kind"] = [found.kind] * n
        if found.is_all:
            columns["matched_pairs"] = found.hits.hits.matched_rows
        return columns

    def explain(self, candidate: Candidate) -> Explanation:
        query, found = candidate.found.query, candidate.found
        assert isinstance(found, DistanceFound)
        pairs = found.pairs_of(candidate)
        first = np.unique(pairs.codes, return_index=True)[1][:N_EXAMPLES]
        partners = found.texts_of(candidate, pairs.partners[first])
        alone = np.setdiff1d(np.arange(len(query.values)), pairs.codes)[:N_EXAMPLES]
        theirs = np.setdiff1d(pairs.every, pairs.partners)
        evidence = {
            "shared": [
                f"{query.spelling(int(pairs.codes[i]))} ~ {partner} ({pairs.distances[i]:.3g}{found.unit})"
                for i, partner in zip(first.tolist(), partners, strict=True)
            ],
            "only_query": [query.spelling(code) for code in alone.tolist()],
            "only_candidate": found.texts_of(candidate, theirs[:N_EXAMPLES]),
            "radius": str(found.radius),
            "n_alone": theirs.size,
        }
        return explain_hit(candidate, is_by_equality=False, **evidence | found.explained())

    def pairs(self, candidate: Candidate) -> pd.DataFrame:
        found = candidate.found
        assert isinstance(found, DistanceFound)
        pairs = found.pairs_of(candidate)
        if found.is_default and not found.is_all:
            pairs = _nearest(pairs)
        frame = list_pairs(found.query, pairs.codes, found.texts_of(candidate, pairs.partners))
        frame["distance"] = pairs.distances
        return frame


def _nearest(pairs: MatchedPairs) -> MatchedPairs:
    """Keep the nearest partners of each query value; several that are equally near."""
    _, first, numbers = np.unique(pairs.codes, return_index=True, return_inverse=True)
    kept = pairs.distances == pairs.distances[first][numbers]
    return MatchedPairs(pairs.codes[kept], pairs.partners[kept], pairs.distances[kept], pairs.every)


def no_hits(snapshot: Snapshot, hits: Hits) -> RankedHits:
    """Return none of some hits, as ranked ones."""
    return rank_hits(snapshot.segments, hits.take(np.empty(0, np.int64)), None, has_range=False)
