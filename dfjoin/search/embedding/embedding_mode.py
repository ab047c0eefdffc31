"""mode="embedding": columns with values near those of the query, by vectors of their texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError, InvalidParameterError
from dfjoin.index.catalog import KINDS
from dfjoin.search.embedding.axes_mode import AxesFound, axes_columns, axes_explanation, axes_pairs, find_axes
from dfjoin.search.embedding.axes_query import PointQuery, is_numeric, make_point_query
from dfjoin.search.embedding.axes_search import check_axes_of
from dfjoin.search.embedding.near_join import NearRelation
from dfjoin.search.embedding.near_pairs import NearPairs, near_pairs
from dfjoin.search.embedding.near_search import (
    NO_REACH,
    Reach,
    embedder_of,
    query_rows,
    reach_of,
    search_near,
    with_radius,
)
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.explanation import N_EXAMPLES, Explanation, explain_hit
from dfjoin.search.found import Candidate, Found, Pool
from dfjoin.search.hits import rank_hits
from dfjoin.search.modes import Mode
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.search.shared_values import list_pairs, value_of_token
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.frames import select_column

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
    """Search by vectors of texts, and by points of columns of numbers; see `Mode` for the methods."""

    nothing_found = "no column of the lake has a value within the radius"
    is_by_equality = False
    is_by_segment = True

    def check(self, snapshot: Snapshot) -> None:
        if snapshot.manifest.axes is None:
            _check_vectors(snapshot)  # else the query tells what is needed

    def make_query(
        self, df: pd.DataFrame, labels: Sequence[Any], snapshot: Snapshot, params: SearchParams
    ) -> QueryColumn | None:
        if len(labels) == 1 and not is_numeric(select_column(df, labels[0], "on")):
            return None
        check_axes_of(snapshot)
        return make_point_query(df, labels, snapshot.settings, params.radius_unit)

    def pool(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Pool:
        if isinstance(query, PointQuery):
            raise InvalidParameterError(
                '`rank` must be "matched" for columns of numbers, whose candidates have no score; search with '
                "discover_joinable, and join its result"
            )
        return super().pool(snapshot, query, params)

    def search(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Found:
        if isinstance(query, PointQuery):
            return find_axes(snapshot, query, params)
        _check_vectors(snapshot)
        params = with_radius(params, embedder_of(snapshot).identity)
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
            relation=NearRelation(params.radius or 0.0, params.radius_unit or "", params.metric or "", identity),
        )

    def columns(self, found: Found) -> dict[str, Any]:
        if isinstance(found, AxesFound):
            return axes_columns(found)
        assert isinstance(found, NearFound)
        n = len(found.hits)
        columns: dict[str, Any] = {"jaccard": np.full(n, np.nan), "relationship": [None] * n}
        if found.is_all:
            columns["matched_pairs"] = found.hits.hits.matched_rows
        return columns

    def explain(self, candidate: Candidate) -> Explanation:
        if isinstance(candidate.found, AxesFound):
            return axes_explanation(candidate)
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
        if isinstance(candidate.found, AxesFound):
            return axes_pairs(candidate)
        found = _pairs(candidate)
        values = [value_of_token(candidate.segment, token) for token in found.tokens.tolist()]
        frame = list_pairs(candidate.found.query, found.codes, values)
        frame["distance"] = found.distances
        return frame


def _check_vectors(snapshot: Snapshot) -> None:
    """Raise IncompatibleSettingsError unless each text of an index has a vector."""
    embedder_of(snapshot)
    missing = [segment for segment in snapshot.segments if segment.meta.group("vectors") is None]
    if missing:
        raise IncompatibleSettingsError(
            f"{len(missing)} of the {len(snapshot.segments)} segments of the index have no vectors, which "
            'mode="embedding" needs; add them with `lake.add_vectors()`'
        )


def _reach(candidate: Candidate) -> Reach:
    assert isinstance(candidate.found, NearFound)
    return candidate.found.reach


def _pairs(candidate: Candidate) -> NearPairs:
    assert isinstance(candidate.found, NearFound)
    return near_pairs(candidate, candidate.found.rows, candidate.found.reach)
