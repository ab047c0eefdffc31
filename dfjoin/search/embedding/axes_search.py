"""Search among points of numeric columns: query points → points within a radius → sets of columns."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError, InvalidParameterError
from dfjoin.index.axis_group import AxisShape, AxisSpace, axis_spaces
from dfjoin.index.reading import reading
from dfjoin.index.segment import Segment
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vector_search import (
    NO_LOG,
    MatchTally,
    QueryVectors,
    VectorTable,
    Within,
    count_pairs,
    make_scratch,
)
from dfjoin.search.distance.match_record import MatchRecord
from dfjoin.search.embedding.axes_query import PointQuery
from dfjoin.search.embedding.near_plans import NearSegment, chosen_queries, run_near_plan, sealed_queries
from dfjoin.search.embedding.pexeso.pexeso_plan import PexesoSearch
from dfjoin.search.embedding.pexeso.pivots import build_pivot_index
from dfjoin.search.exact.allowed import allowed_columns
from dfjoin.search.exact.searcher import smallest_count
from dfjoin.search.hits import Hits, join_hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.store.snapshot import Snapshot
from dfjoin.vectors.axis_points import chord_of_length, length_of_chord
from dfjoin.vectors.metrics import metric_of
from dfjoin.vectors.trees import bound_of, features_of

__all__ = ["AxesReach", "PlacedSet", "axes_reach", "check_axes_of", "scaled_points", "search_axes", "spaces_of"]

_METRES = {"m": 1.0, "km": 1000.0}
_FAR = 1e6
"""A radius of so many times the extent of the points takes nearly all of them: no tree is asked."""

_PAIRS = 1 << 22


@dataclass(frozen=True)
class AxesReach:
    """A radius among points.

    Parameters
    ----------
    radius : float
        In the user's unit.
    unit : {"m", "km", "absolute"}
    distance : float
        Euclidean distance of points as they are stored: of unit vectors for places.
    """

    radius: float
    unit: str
    distance: float

    def __str__(self) -> str:
        """Say how near points have to lie."""
        if self.unit in _METRES:
            return f"great-circle distance up to {self.radius:g} {self.unit}"
        return f"euclidean distance up to {self.radius:g}"

    def shown(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return distances of stored points in the user's unit."""
        return length_of_chord(distances) / _METRES[self.unit] if self.unit in _METRES else distances


def axes_reach(radius: float | None, unit: str | None) -> AxesReach:
    """Return the radius of a search among points.

    Raises
    ------
    InvalidParameterError
        If there is none.
    """
    assert unit is not None  # a query of points is made with one
    if radius is None:
        raise InvalidParameterError(
            "`radius` must be given for columns of numbers, whose unit says nothing of how near is near; for example "
            'radius=100, radius_unit="m" for places'
        )
    return AxesReach(radius, unit, chord_of_length(radius * _METRES[unit]) if unit in _METRES else radius)


_SPACES: WeakKeyDictionary[Segment, list[AxisSpace]] = WeakKeyDictionary()


def spaces_of(segment: Segment) -> list[AxisSpace]:
    """Return the spaces of points of a segment, opened once."""
    known = _SPACES.get(segment)
    if known is None:
        known = _SPACES.setdefault(segment, axis_spaces(segment))
    return known


def scaled_points(query: PointQuery, shape: AxisShape) -> NDArray[np.float64] | None:
    """Return the query's points as a space has its own; None if they cannot be compared."""
    n_columns = len(query.keys)
    if (shape.n_columns, shape.dimension, shape.is_place) != (n_columns, query.points.shape[1], query.is_place):
        return None
    return query.points if query.is_place else query.points * np.array(shape.scales)


def check_axes_of(snapshot: Snapshot) -> None:
    """Raise IncompatibleSettingsError if an index has no points."""
    if snapshot.manifest.axes is None:
        raise IncompatibleSettingsError(
            "the index has no places and axes, which a list `on` of columns of numbers needs; add them with "
            "`lake.add_axes()`"
        )


@dataclass(frozen=True)
class PlacedSet:
    """Where the set of a hit lies: its space among those of its segment, and its number there."""

    space: int
    number: int


def search_axes(
    snapshot: Snapshot,
    query: PointQuery,
    reach: AxesReach,
    params: SearchParams,
    record: MatchRecord | None = None,
) -> tuple[Hits, list[PlacedSet], SearchStats]:
    """Find the sets of columns with points near those of the query.

    Parameters
    ----------
    snapshot : Snapshot
    query : PointQuery
    reach : AxesReach
    params : SearchParams
    record : MatchRecord, optional
        Takes note of the matches.

    Returns
    -------
    hits : Hits
        Not ranked; the column of each is the first one of its set.
    sets : list of PlacedSet
        One for each hit.
    stats : SearchStats

    Notes
    -----
    A query point matches a set that holds a point within the radius. Source: Dong et al., "Efficient joinable table
    discovery in data lakes: a high-dimensional similarity-based approach", ICDE 2021, section II, with points in the
    place of embedded texts. Places are unit vectors of float64, whose straight distance grows with the great circle.
    """
    parts, sets, stats = [], [], SearchStats()
    for number, segment in enumerate(snapshot.segments):
        for place, space in enumerate(spaces_of(segment)):
            points = scaled_points(query, space.shape)
            if points is None:
                continue
            search = _SpaceSearch(segment, space, query, params)
            search.record = record
            with reading("axis_group", "names sets that the segment does not have", segment.meta.id):
                hits, found = search.run(points, reach.distance, number)
            parts.append(hits)
            sets += [PlacedSet(place, one) for one in found.tolist()]
            if stats.plan:
                stats.add(search.stats)
            else:
                stats = search.stats
    stats.n_values = len(query.values)
    return join_hits(parts), sets, stats


class _SpaceSearch:
    """One query in one space."""

    def __init__(self, segment: Segment, space: AxisSpace, query: PointQuery, params: SearchParams) -> None:
        self._segment, self._space, self._params = segment, space, params
        counts = query.values.row_counts().astype(np.int64)
        self._weights = counts if params.is_weighted else np.ones(len(query.values), np.int64)
        self._minimum = smallest_count(params.threshold, int(self._weights.sum()))
        self.stats = SearchStats(plan=params.plan or "tree")
        self.record: MatchRecord | None = None

    def run(self, points: NDArray[np.float64], radius: float, number: int) -> tuple[Hits, NDArray[np.int64]]:
        """Count the sets near the points; return those that reach the threshold, as hits of the segment's number."""
        space, n = self._space, self._space.n_sets
        zeros = np.zeros((2, n), np.int64)
        stamps = np.full(n, -1, np.int64), np.full(space.postings.list_indptr.size - 1, -1, np.int64)
        log = NO_LOG if self.record is None else self.record.log()
        tally = MatchTally(zeros[0], zeros[1], *stamps, self._params.count == "all", log)
        table = VectorTable(space.rows, as_read_only(np.arange(len(space.rows), dtype=np.uint32)))
        scaled = points / space.unit - space.tree.projection.center
        extent = 2 * np.sqrt(space.shape.dimension)
        norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        near = np.flatnonzero(norms <= (radius / space.unit + extent) * (1 + 1e-9))
        if near.size and self._params.plan == "pexeso":
            self._by_pivots(table, self._queries(points, near), tally, radius)
        elif near.size and radius / space.unit > _FAR:
            self._by_all_pairs(table, self._queries(points, near), tally, radius)
        elif near.size:
            features = features_of(points[near] / space.unit, space.tree.projection)
            order = np.argsort(features[:, 0], kind="stable")
            queries = self._queries(points, near[order], features[order])
            scale = max(space.tree.scale, float(np.abs(features).max()))
            within = Within(bound_of(radius / space.unit, scale), radius)
            run_near_plan(
                NearSegment(space.tree.tree, table, space.postings), queries, within, tally, "tree", self.stats
            )
        return self._hits(tally, number)

    def _queries(
        self, points: NDArray[np.float64], chosen: NDArray[np.int64], features: NDArray[np.float32] | None = None
    ) -> QueryVectors:
        features = np.empty((chosen.size, 0), np.float32) if features is None else features
        none = np.full(chosen.size, -1, np.int64)
        return QueryVectors(features, np.ascontiguousarray(points[chosen]), chosen, none, self._weights[chosen])

    def _by_pivots(self, table: VectorTable, queries: QueryVectors, tally: MatchTally, radius: float) -> None:
        """Count by PEXESO's plan; its index is built for the search."""
        rows = np.asarray(table.rows)
        index = build_pivot_index(rows, metric_of("euclidean"))
        minimum = 0 if tally.is_all or self.record is not None else self._minimum
        search = PexesoSearch(index, rows, table.tokens, self._space.postings, (radius, radius), minimum)
        search.run(queries, tally, self.stats)

    def _by_all_pairs(self, table: VectorTable, queries: QueryVectors, tally: MatchTally, radius: float) -> None:
        n, read = len(table.rows), np.zeros(4, np.int64)
        places, step = np.arange(n), max(1, _PAIRS // max(1, n))
        for start in range(0, queries.numbers.size, step):
            part = sealed_queries(chosen_queries(queries, slice(start, start + step)))
            m = part.numbers.size
            pairs = as_read_only(np.arange(m + 1) * n), as_read_only(np.tile(places, m))
            within = Within(np.float32(0), radius)
            count_pairs(*pairs, table, part, within, self._space.postings, tally, make_scratch(1), read)
        self.stats.distances += int(read[2])
        self.stats.near_pairs += int(read[3])

    def _hits(self, tally: MatchTally, number: int) -> tuple[Hits, NDArray[np.int64]]:
        scores, columns = tally.scores, self._space.columns
        allowed = allowed_columns(self._segment, self._params)
        if allowed.size:
            scores = np.where((allowed[columns] > 0).all(axis=1), scores, 0)
        sets = np.flatnonzero(scores >= self._minimum)
        if self.record is not None:
            alive = self._segment.alive
            self.record.add(tally, None if alive is None else alive[columns].min(axis=1), sets)
        counted = tally.hits[sets], scores[sets], np.asarray(self._space.sizes)[sets], np.full(sets.size, np.nan)
        return Hits(np.full(sets.size, number, np.int64), columns[sets, 0].astype(np.int64), *counted), sets
