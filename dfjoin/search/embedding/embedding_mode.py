"""mode="embedding": columns with values near those of the query, by vectors of their texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.catalog import KINDS
from dfjoin.search.distance.distance_mode import DistanceFound, DistanceMode, MatchedPairs, no_hits
from dfjoin.search.distance.match_record import MatchRecord
from dfjoin.search.embedding.axes_mode import (
    AxesFound,
    axes_columns,
    axes_explanation,
    axes_pairs,
    find_axes,
    pool_axes,
)
from dfjoin.search.embedding.axes_query import PointQuery, is_numeric, make_point_query
from dfjoin.search.embedding.axes_search import check_axes_of
from dfjoin.search.embedding.near_join import NearRelation
from dfjoin.search.embedding.near_pairs import near_pairs
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
from dfjoin.search.explanation import Explanation
from dfjoin.search.found import Candidate, Found, Pool
from dfjoin.search.hits import Hits
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.frames import select_column

__all__ = ["EmbeddingMode", "NearFound"]


@dataclass(frozen=True)
class NearFound(DistanceFound):
    """What a search by distance found, with the vectors of the query and the radius.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_values, d)
        Vectors of the query's values; zeros for a value without one.
    reach : Reach
    relation : NearRelation, optional
        The radius as a plan keeps it.
    """

    rows: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32))
    reach: Reach = NO_REACH
    relation: NearRelation | None = None

    def relation_of(self, place: int) -> dict[str, Any] | None:
        """See `Found`; in columns that are not of text equal values alone match."""
        is_text = KINDS[int(self.hits.profile["kind"][place])] == "text"
        return self.relation.to_dict() if self.relation is not None and is_text and self.rows.any() else None


class EmbeddingMode(DistanceMode):
    """Search by vectors of texts, and by points of columns of numbers; see `Mode` for the methods."""

    nothing_found = "no column of the lake has a value within the radius"

    def is_by_segment(self, params: SearchParams) -> bool:
        return True

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
            return pool_axes(snapshot, query, replace(params, k=None))
        return super().pool(snapshot, query, params)

    def search(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> Found:
        if isinstance(query, PointQuery):
            return find_axes(snapshot, query, params)
        return super().search(snapshot, query, params)

    def find(
        self, snapshot: Snapshot, query: QueryColumn, params: SearchParams, record: MatchRecord | None = None
    ) -> tuple[NearFound, Hits]:
        _check_vectors(snapshot)
        identity = embedder_of(snapshot).identity
        params = with_radius(params, snapshot.manifest.embedder)
        rows = query_rows(snapshot, query)
        hits, stats = search_near(snapshot, query, rows, params, record)
        found = NearFound(
            query,
            no_hits(snapshot, hits),
            stats,
            MatchedQuery(snapshot, query.values),
            rows=rows,
            reach=reach_of(params),
            is_all=params.count == "all",
            relation=NearRelation(params.radius or 0.0, params.radius_unit or "", params.metric or "", identity),
        )
        return found, hits

    def columns(self, found: Found) -> dict[str, Any]:
        return axes_columns(found) if isinstance(found, AxesFound) else super().columns(found)

    def explain(self, candidate: Candidate) -> Explanation:
        is_axes = isinstance(candidate.found, AxesFound)
        return axes_explanation(candidate) if is_axes else super().explain(candidate)

    def pairs(self, candidate: Candidate) -> pd.DataFrame:
        return axes_pairs(candidate) if isinstance(candidate.found, AxesFound) else super().pairs(candidate)

    def pairs_of(self, candidate: Candidate) -> MatchedPairs:
        assert isinstance(candidate.found, NearFound)
        return near_pairs(candidate, candidate.found.rows, candidate.found.reach)


def _check_vectors(snapshot: Snapshot) -> None:
    """Raise IncompatibleSettingsError unless each text of an index has a vector."""
    embedder_of(snapshot)
    missing = [segment for segment in snapshot.segments if segment.meta.group("vectors") is None]
    if missing:
        raise IncompatibleSettingsError(
            f"{len(missing)} of the {len(snapshot.segments)} segments of the index have no vectors, which "
            'mode="embedding" needs; add them with `lake.add_vectors()`'
        )
