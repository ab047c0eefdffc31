"""mode="embedding": columns with values near those of the query, by vectors of their texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.catalog import KINDS
from dfjoin.search.embedding.near_join import NearRelation
from dfjoin.search.embedding.near_pairs import NearPairs, near_pairs
from dfjoin.search.embedding.near_search import NO_REACH, Reach, embedder_of, query_rows, reach_of, search_near
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.explanation import N_EXAMPLES, Explanation, explain_hit
from dfjoin.search.found import Candidate, Found
from dfjoin.search.hits import rank_hits
from dfjoin.search.modes import Mode
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.search.shared_values import list_pairs, value_of_token
from dfjoin.store.snapshot import Snapshot

__all__ = ["EmbeddingMode", "NearFound"]


@dataclass(frozen=True)
class NearFound(Found):
    """What a search by distance found, with the vectors of the query and the radius.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_values, d)
        Vectors of the query's values; zeros for a value without one.
    reach : Reach
    is_all : bool
        Pairs were counted.
    relation : NearRelation, optional
        The radius as a plan keeps it.
    """

    rows: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32))
    reach: Reach = NO_REACH
    is_all: bool = False
    relation: NearRelation | None = None

    def relation_of(self, place: int) -> dict[str, Any] | None:
        """See `Found`; in columns that are not of text equal values alone match."""
        is_text = KINDS[int(self.hits.profile["kind"][place])] == "text"
        return self.relation.to_dict() if self.relation is not None and is_text and self.rows.any() else None


class EmbeddingMode(Mode):
    """Search by vectors of texts; see `Mode` for the methods."""

    nothing_found = "no column of the lake has a value within the radius"
    is_by_equality = False

    def check(self, snapshot: Snapshot) -> None:
        embedder_of(snapshot)
        missing = [segment for segment in snapshot.segments if segment.meta.group("vectors") is None]
        if missing:
            raise IncompatibleSettingsError(
                f"{len(missing)} of the {len(snapshot.segments)} segments of the index have no vectors, which "
                'mode="embedding" needs; add them with `lake.add_vectors()`'
            )

    def search(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> NearFound:
        reach = reach_of(params)
        rows = query_rows(snapshot, query)
        hits, stats = search_near(snapshot, query, rows, params)
        ranked = rank_hits(snapshot.segments, hits, params.k, query.profile.has_range)
        matched = MatchedQuery(snapshot, query.values)
        identity = embedder_of(snapshot).identity
        return NearFound(
            query,
            ranked,
            stats,
            matched,
            rows=rows,
            reach=reach,
            is_all=params.count == "all",
            relation=NearRelation(params.radius, params.radius_unit, params.metric, identity),
        )

    def columns(self, found: Found) -> dict[str, Any]:
        assert isinstance(found, NearFound)
        n = len(found.hits)
        columns: dict[str, Any] = {"jaccard": np.full(n, np.nan), "relationship": [None] * n}
        if found.is_all:
            columns["matched_pairs"] = found.hits.hits.matched_rows
        return columns

    def explain(self, candidate: Candidate) -> Explanation:
        query, found = candidate.found.query, _pairs(candidate)
        first = np.unique(found.codes, return_index=True)[1][:N_EXAMPLES]
        shared = [
            f"{query.spelling(int(found.codes[i]))} ~ {value_of_token(candidate.segment, int(found.tokens[i]))} "
            f"({found.distances[i]:.3g})"
            for i in first.tolist()
        ]
        alone = np.setdiff1d(np.arange(len(query.values)), found.codes)[:N_EXAMPLES]
        theirs = np.setdiff1d(found.column_tokens, found.tokens)[:N_EXAMPLES]
        return explain_hit(
            candidate,
            shared=shared,
            only_query=[query.spelling(code) for code in alone.tolist()],
            only_candidate=[value_of_token(candidate.segment, token) for token in theirs.tolist()],
            radius=str(_reach(candidate)),
            n_alone=found.column_tokens.size - np.unique(found.tokens).size,
        )

    def pairs(self, candidate: Candidate) -> pd.DataFrame:
        found = _pairs(candidate)
        values = [value_of_token(candidate.segment, token) for token in found.tokens.tolist()]
        frame = list_pairs(candidate.found.query, found.codes, values)
        frame["distance"] = found.distances
        return frame


def _reach(candidate: Candidate) -> Reach:
    assert isinstance(candidate.found, NearFound)
    return candidate.found.reach


def _pairs(candidate: Candidate) -> NearPairs:
    assert isinstance(candidate.found, NearFound)
    return near_pairs(candidate, candidate.found.rows, candidate.found.reach)
