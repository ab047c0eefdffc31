"""What the modes by distance have in common: the pool, result columns, explanations and pairs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.search.distance.match_record import MatchRecord
from dfjoin.search.explanation import N_EXAMPLES, Explanation, explain_hit
from dfjoin.search.found import Candidate, Found, Pool
from dfjoin.search.hits import Hits, RankedHits, rank_hits
from dfjoin.search.modes import Mode
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.search.shared_values import list_pairs, value_of_token
from dfjoin.store.snapshot import Snapshot

__all__ = ["DistanceFound", "DistanceMode", "MatchedPairs", "no_hits"]


class MatchedPairs(NamedTuple):
    """Pairs of a query value and a token, by query value, then by distance; and all tokens of the column."""

    codes: NDArray[np.int64]
    tokens: NDArray[np.int64]
    distances: NDArray[np.float64]
    column_tokens: NDArray[np.int64]


@dataclass(frozen=True)
class DistanceFound(Found):
    """What a search by distance found.

    Parameters
    ----------
    is_all : bool
        Pairs were counted.
    """

    is_all: bool = False


class DistanceMode(Mode):
    """Search by distances of texts; see `Mode` for the methods."""

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

    @abstractmethod
    def pairs_of(self, candidate: Candidate) -> MatchedPairs:
        """List the pairs of a candidate."""

    def pool(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Pool:
        record = MatchRecord(query)
        found, hits = self.find(snapshot, query, replace(params, k=None), record)
        return Pool(hits, found.matched, found.stats, record.evidence(hits), found, is_by_equality=False)

    def search(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Found:
        found, hits = self.find(snapshot, query, params)
        return replace(found, hits=rank_hits(snapshot.segments, hits, params.k, query.profile.has_range))

    def columns(self, found: Found) -> dict[str, Any]:
        assert isinstance(found, DistanceFound)
        n = len(found.hits)
        columns: dict[str, Any] = {"jaccard": np.full(n, np.nan), "relationship": [None] * n}
        if found.is_all:
            columns["matched_pairs"] = found.hits.hits.matched_rows
        return columns

    def explain(self, candidate: Candidate) -> Explanation:
        query, found = candidate.found.query, self.pairs_of(candidate)
        first = np.unique(found.codes, return_index=True)[1][:N_EXAMPLES]
        shared = [
            f"{query.spelling(int(found.codes[i]))} ~ {value_of_token(candidate.segment, int(found.tokens[i]))} "
            f"({found.distances[i]:.3g})"
            for i in first.tolist()
        ]
        alone = np.setdiff1d(np.arange(len(query.values)), found.codes)[:N_EXAMPLES]
        theirs = np.setdiff1d(found.column_tokens, found.tokens)
        return explain_hit(
            candidate,
            is_by_equality=False,
            shared=shared,
            only_query=[query.spelling(code) for code in alone.tolist()],
            only_candidate=[value_of_token(candidate.segment, token) for token in theirs[:N_EXAMPLES].tolist()],
            radius=str(candidate.found.reach),  # type: ignore[attr-defined]
            n_alone=theirs.size,
        )

    def pairs(self, candidate: Candidate) -> pd.DataFrame:
        found = self.pairs_of(candidate)
        values = [value_of_token(candidate.segment, token) for token in found.tokens.tolist()]
        frame = list_pairs(candidate.found.query, found.codes, values)
        frame["distance"] = found.distances
        return frame


def no_hits(snapshot: Snapshot, hits: Hits) -> RankedHits:
    """Return none of some hits, as ranked ones."""
    return rank_hits(snapshot.segments, hits.take(np.empty(0, np.int64)), None, has_range=False)
