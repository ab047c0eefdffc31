"""mode="embedding": columns with values near those of the query, by vectors of their texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.segment import Segment
from dfjoin.search.distance.distance_join import NearPairs
from dfjoin.search.distance.distance_mode import DistanceFound, DistanceMode, TextFound, no_hits
from dfjoin.search.distance.distance_search import MatchRecord
from dfjoin.search.embedding.axes_query import PointQuery, is_numeric, make_point_query
from dfjoin.search.embedding.axes_search import check_axes_of, find_points
from dfjoin.search.embedding.near_join import NearRelation, pairs_within
from dfjoin.search.embedding.near_search import (
    default_of,
    embedder_of,
    query_rows,
    search_near,
    vector_radius,
    with_radius,
)
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.hits import Hits
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.frames import select_column


@dataclass(frozen=True)
class NearFound(TextFound):
    """What a search by vectors of texts found.

    Parameters
    ----------
    rows : ndarray of float32, shape (n_values, d)
        Vectors of the query's values; zeros for a value without one.
    relation : NearRelation
        The radius as a plan keeps it.
    expected : dict
        What the lake's own values told of its default radius, if that is used; see `ChosenRadius`.
    """

    rows: NDArray[np.float32] = field(kw_only=True)
    relation: NearRelation = field(kw_only=True)
    expected: dict[str, float] = field(kw_only=True, default_factory=dict)

    def notes(self) -> dict[str, Any]:
        """See `Found`; of the default radius also what the lake's own values told of it."""
        return super().notes() | ({"expected": dict(self.expected)} if self.expected else {})

    def relation_of(self, position: int) -> dict[str, Any] | None:
        """See `Found`."""
        return self.relation.to_dict() if self.is_text(position) and self.rows.any() else None

    def near_tokens(self, segment: Segment, held: NDArray[np.int64]) -> NearPairs:
        """See `TextFound`."""
        stored = segment.vectors
        rows = np.flatnonzero(np.isin(stored.tokens, held))
        with_vector = np.flatnonzero(self.rows.any(axis=1))
        shares = self.radius.shares((self.query.values.offsets, self.query.values.data))[with_vector]
        left, right, chords = pairs_within(self.rows[with_vector], stored.rows[rows], self.radius, shares)
        return NearPairs(with_vector[left], stored.tokens[rows[right]].astype(np.int64), self.radius.shown(chords))


class EmbeddingMode(DistanceMode):
    """Search by vectors of texts, and by points of columns of numbers; see `Mode` for the methods."""

    nothing_found = "no column of the lake has a value within the radius"

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

    def find(
        self, snapshot: Snapshot, query: QueryColumn, params: SearchParams, record: MatchRecord | None = None
    ) -> tuple[DistanceFound, Hits]:
        if isinstance(query, PointQuery):
            return find_points(snapshot, query, params, record)
        _check_vectors(snapshot)
        identity = embedder_of(snapshot).identity
        meta, is_default = snapshot.manifest.embedder, params.radius is None
        params = with_radius(params, default_of(meta))
        is_euclidean = params.metric == "euclidean"
        rows = query_rows(snapshot, query)
        hits, stats = search_near(snapshot, query, rows, params, record)
        found = NearFound(
            query,
            no_hits(snapshot, hits),
            stats,
            MatchedQuery(snapshot, query.values),
            rows=rows,
            radius=vector_radius(params),
            is_all=params.count == "all",
            is_default=is_default,
            expected=meta.evidence if meta is not None and is_default and is_euclidean else {},
            relation=NearRelation(params.radius or 0.0, params.radius_unit or "", params.metric or "", identity),
        )
        return found, hits


def _check_vectors(snapshot: Snapshot) -> None:
    """Raise IncompatibleSettingsError unless each text of an index has a vector."""
    embedder_of(snapshot)
    missing = [segment for segment in snapshot.segments if segment.meta.group("vectors") is None]
    if missing:
        raise IncompatibleSettingsError(
            f"{len(missing)} of the {len(snapshot.segments)} segments of the index have no vectors, which "
            'mode="embedding" needs; add them with `lake.add_vectors()`'
        )
