"""Search among points of columns of numbers: sets of columns with points within a radius of those of the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError, InvalidParameterError, warn
from dfjoin.index.axis_group import AxisShape, AxisSpace, axis_spaces
from dfjoin.index.segment import Segment, reading
from dfjoin.kernels.lists.evidence import N_SUMS
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_search import (
    MatchTally,
    QueryVectors,
    TokenColumns,
    VectorTable,
    Within,
    count_pairs,
    make_scratch,
)
from dfjoin.search.distance.distance_mode import DistanceFound, MatchedPairs, no_hits
from dfjoin.search.distance.distance_search import CountedSets, DistanceSearch, MatchRecord, has_room
from dfjoin.search.embedding.axes_join import AxesRelation, PointRadius, point_radius
from dfjoin.search.embedding.axes_query import PointQuery, point_text
from dfjoin.search.embedding.near_plans import NearSegment, chosen_queries, run_near_plan, sealed_queries
from dfjoin.search.embedding.pexeso.pexeso_plan import PexesoSearch
from dfjoin.search.embedding.pexeso.pivots import build_pivot_index
from dfjoin.search.exact.searcher import MatchedQuery, smallest_count
from dfjoin.search.found import Candidate, Found, Pool, Usefulness
from dfjoin.search.hits import Hits, RankedHits, join_hits, rank_hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.usefulness.features import SharedEvidence
from dfjoin.search.usefulness.ranking import MOST_RANKED, rank_pool
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import headers_of
from dfjoin.values.normalize import keep_values, read_only
from dfjoin.vectors.axis_points import PAIRS_AT_ONCE, near_points, place_degrees
from dfjoin.vectors.metrics import metric_of
from dfjoin.vectors.trees import bound_of, features_of

_PLANS = (None, "tree", "pexeso")
_FAR = 1e6
"""A radius of so many times the extent of the points takes nearly all of them: no tree is asked."""


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
class SpaceSet:
    """Where the set of a hit lies: its space among those of its segment, and its number there."""

    space: int
    number: int


def _search_points(
    snapshot: Snapshot,
    query: PointQuery,
    radius: PointRadius,
    params: SearchParams,
    record: MatchRecord | None = None,
) -> tuple[Hits, list[SpaceSet], SearchStats]:
    """Find the sets of columns with points near those of the query.

    Parameters
    ----------
    snapshot : Snapshot
    query : PointQuery
    radius : PointRadius
    params : SearchParams
    record : MatchRecord, optional
        Takes note of the matches.

    Returns
    -------
    hits : Hits
        Not ranked; the column of each is the first one of its set.
    sets : list of SpaceSet
        One for each hit.
    stats : SearchStats

    Notes
    -----
    A query point matches a set that holds a point within the radius. Source: Dong et al., "Efficient joinable table
    discovery in data lakes: a high-dimensional similarity-based approach", ICDE 2021, section II, with points in the
    place of embedded texts. Places are unit vectors of float64, whose straight distance grows with the great circle.
    """
    search, parts, sets, stats = DistanceSearch(query, params, record), [], [], SearchStats()
    for number, segment in enumerate(snapshot.segments):
        for position, space in enumerate(spaces_of(segment)):
            points = scaled_points(query, space.shape)
            if points is None:
                continue
            read = SearchStats(plan=params.plan or "tree")
            with reading("axis_group", "names sets that the segment does not have", segment.meta.id):
                tally = search.tally(space.n_sets, space.postings.list_indptr.size - 1)
                _count_near(search, space, points, (radius.distance, tally), read)
                counted = CountedSets(segment, number, space.columns, space.sizes)
                hits, found = search.hits(tally, counted)
            parts.append(hits)
            sets += [SpaceSet(position, one) for one in found.tolist()]
            stats.add(read)
    stats.n_values = len(query.values)
    return join_hits(parts), sets, stats


def _count_near(
    search: DistanceSearch,
    space: AxisSpace,
    points: NDArray[np.float64],
    counted: tuple[float, MatchTally],
    stats: SearchStats,
) -> None:
    """Count the sets of a space near the points: within a radius, into a tally."""
    radius, tally = counted
    table = VectorTable(space.rows, as_read_only(np.arange(len(space.rows), dtype=np.uint32)))
    scaled = points / space.unit - space.tree.projection.center
    extent = 2 * np.sqrt(space.shape.dimension)
    norms = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    near = np.flatnonzero(norms <= (radius / space.unit + extent) * (1 + 1e-9))
    if not near.size:
        return
    if search.params.plan == "pexeso":  # its index is built for the search
        index = build_pivot_index(np.asarray(table.rows), metric_of("euclidean"))
        both = radius, radius
        pexeso = PexesoSearch(index, np.asarray(table.rows), table.tokens, space.postings, both, search.needed)
        pexeso.run(search.queries(near, rows=points[near]), tally, stats)
        return
    if radius / space.unit > _FAR:
        _count_all_pairs(table, search.queries(near, rows=points[near], radii=radius), space.postings, tally, stats)
        return
    features = features_of(points[near] / space.unit, space.tree.projection)
    order = np.argsort(features[:, 0], kind="stable")
    queries = search.queries(near[order], rows=points[near[order]], features=features[order])
    within = Within(bound_of(radius / space.unit, max(space.tree.scale, float(np.abs(features).max()))), radius)
    run_near_plan(NearSegment(space.tree.tree, table, space.postings), queries, within, tally, "tree", stats)


def _count_all_pairs(
    table: VectorTable,
    queries: QueryVectors,
    postings: TokenColumns,
    tally: MatchTally,
    stats: SearchStats,
) -> None:
    """Count by comparing every point of the query with every one of a space."""
    n, read = len(table.rows), np.zeros(4, np.int64)
    numbers, step = np.arange(n), max(1, PAIRS_AT_ONCE // max(1, n))
    for start in range(0, queries.numbers.size, step):
        part = sealed_queries(chosen_queries(queries, slice(start, start + step)))
        m = part.numbers.size
        pairs = as_read_only(np.arange(m + 1) * n), as_read_only(np.tile(numbers, m))
        count_pairs(*pairs, table, part, postings, tally, make_scratch(1), read)
    stats.distances += int(read[2])
    stats.near_pairs += int(read[3])


@dataclass(frozen=True)
class PointsFound(DistanceFound):
    """What a search among points found: partners are places of points in a space.

    Parameters
    ----------
    sets : tuple of SpaceSet
        Of each hit; before hits are ranked, of all.
    keys : tuple of list of str
        Columns of each hit, in the order of the axes.
    """

    sets: tuple[SpaceSet, ...] = field(kw_only=True)
    keys: tuple[list[str], ...] = field(default=(), kw_only=True)

    @property
    def kind(self) -> str:
        """See `DistanceFound`."""
        return "place" if isinstance(self.query, PointQuery) and self.query.is_place else "vector"

    @property
    def unit(self) -> str:
        """See `DistanceFound`."""
        return "" if self.radius.unit == "absolute" else f" {self.radius.unit}"

    def _taken(self, hits: RankedHits, positions: Sequence[int]) -> Self:
        """Return some of the hits, each named by all its columns."""
        sets = tuple(self.sets[position] for position in positions)
        numbers = hits.hits.segments.tolist()
        keys = tuple(self._names(number, one) for number, one in zip(numbers, sets, strict=True))
        return replace(self, hits=replace(hits, names=[", ".join(names) for names in keys]), sets=sets, keys=keys)

    def _names(self, number: int, one: SpaceSet) -> list[str]:
        segment = self.matched.segments[number]
        return segment.catalog.column_names(spaces_of(segment)[one.space].columns[one.number])

    def with_hits(self, ranked: RankedHits) -> Self:
        """See `DistanceFound`."""
        return self._taken(ranked, ranked.order.tolist())

    def pooled(self, hits: Hits, evidence: SharedEvidence | None) -> tuple[Self, Hits, SharedEvidence | None]:
        """See `DistanceFound`; as many as are ranked at all, since their sets go along."""
        if len(hits) <= MOST_RANKED:
            return self, hits, evidence
        best = np.sort(np.argsort(-hits.matched_rows, kind="stable")[:MOST_RANKED])
        found = replace(self, sets=tuple(self.sets[position] for position in best.tolist()))
        return found, hits.take(best), None if evidence is None else evidence.take(best)

    def ranked(self, hits: RankedHits, useful: Usefulness) -> Self:
        """See `Found`."""
        found = self._taken(hits, useful.positions)
        keys = headers_of([name for names in found.keys for name in names]).joined  # no key is something new
        facts = useful.facts._replace(companions=read_only(np.union1d(useful.facts.companions, keys[keys != 0])))
        return replace(found, useful=replace(useful, facts=facts))

    def keys_of(self, position: int) -> list[str]:
        """See `Found`."""
        return self.keys[position]

    def relation_of(self, position: int) -> dict[str, Any] | None:
        """See `Found`."""
        space = self._space_of(int(self.hits.hits.segments[position]), position)
        return AxesRelation(self.radius.radius, self.radius.unit, list(space.shape.scales)).to_dict()

    def explained(self) -> dict[str, Any]:
        """See `DistanceFound`; without a rank by usefulness points have no score."""
        none: dict[str, Any] = {
            "score": None,
            "usefulness": None,
            "verdict": "",
            "evidence_for": [],
            "evidence_against": [],
        }
        return {"code": "", **(none if self.useful is None else {})}

    def _space_of(self, number: int, position: int) -> AxisSpace:
        """Return the space of the set of a hit."""
        return spaces_of(self.matched.segments[number])[self.sets[position].space]

    def pairs_of(self, candidate: Candidate) -> MatchedPairs:
        """See `DistanceFound`."""
        assert isinstance(self.query, PointQuery)
        space = self._space_of(candidate.number, candidate.position)
        own = space.points_of(self.sets[candidate.position].number)
        points = scaled_points(self.query, space.shape)
        assert points is not None
        codes, others, distances = near_points(points, np.asarray(space.rows)[own], self.radius.distance)
        order = np.lexsort((others, distances, codes))
        return MatchedPairs(codes[order], own[others[order]], self.radius.shown(distances[order]), own)

    def texts_of(self, candidate: Candidate, partners: NDArray[np.int64]) -> list[str]:
        """See `DistanceFound`."""
        space = self._space_of(candidate.number, candidate.position)
        rows = np.asarray(space.rows)[partners]
        numbers = place_degrees(rows) if space.shape.is_place else rows / np.array(space.shape.scales)
        return [point_text(row, position) for row, position in zip(numbers, partners.tolist(), strict=True)]


def _warn_of_lengths(snapshot: Snapshot, query: PointQuery) -> None:
    """Warn of vectors that the lake has of other lengths alone: they match nothing."""
    shapes = [space.shape for segment in snapshot.segments for space in spaces_of(segment)]
    own, known = (
        query.points.shape[1],
        sorted({shape.dimension for shape in shapes if shape.n_columns == 1 < shape.dimension}),
    )
    if len(query.keys) == 1 and len(query.points) and own > 1 and own not in known:
        others = f"those of the lake {', '.join(map(str, known))}; make them in the same way" if known else ""
        warn(
            f"vectors of on={query.name!r} have {own} numbers, and match nothing: "
            + (others or "the lake has no columns of vectors; name them in `lake.add_axes`")
        )


def _radius_of(params: SearchParams) -> PointRadius:
    """Return the radius of a search; raise InvalidParameterError if an argument belongs to texts."""
    if params.plan not in _PLANS:
        raise InvalidParameterError(f'`plan` for columns of numbers must be "tree" or "pexeso", got {params.plan!r}')
    return point_radius(params.radius, params.radius_unit, params.metric)


def find_points(
    snapshot: Snapshot, query: PointQuery, params: SearchParams, record: MatchRecord | None = None
) -> tuple[PointsFound, Hits]:
    """Search for a query of points, see `DistanceMode.find`.

    Raises
    ------
    InvalidParameterError
        If an argument belongs to texts.
    """
    radius = _radius_of(params)
    _warn_of_lengths(snapshot, query)
    hits, sets, stats = _search_points(snapshot, query, radius, params, record)
    matched, is_all = MatchedQuery(snapshot, query.values), params.count == "all"
    none = no_hits(snapshot, hits)
    return PointsFound(query, none, stats, matched, radius=radius, is_all=is_all, sets=tuple(sets)), hits


# A search in parts: some points of the query are compared with those of the whole lake, and what they count is added.


class PointsPart(NamedTuple):
    """What was found for some points of a query.

    Parameters
    ----------
    hits : Hits
        All sets of columns with a point near one of these.
    sets : ndarray of int64, shape (n, 2)
        The space of each in its segment, and its number there.
    sums : ndarray of int64, shape (n, N_SUMS)
        What the matches tell of each, see `SharedEvidence`; empty if it was not asked for or there was no room.
    total_weight : float
    n_noted : ndarray of int64
        Matches in each space of the lake.
    stats : SearchStats
    """

    hits: Hits
    sets: NDArray[np.int64]
    sums: NDArray[np.int64]
    total_weight: float
    n_noted: NDArray[np.int64]
    stats: SearchStats


def deal_points(snapshot: Snapshot, query: PointQuery, n: int, params: SearchParams) -> list[PointQuery]:
    """Deal the points of a query out to `n` searches or fewer; raise and warn as `find_points` does."""
    _radius_of(params)
    _warn_of_lengths(snapshot, query)
    numbers, column = np.arange(len(query.values)), query.column[:0]
    held = [numbers % n == part for part in range(max(1, min(n, numbers.size)))]
    return [
        replace(query, column=column, values=keep_values(query.values, one), points=query.points[one]) for one in held
    ]


def search_part(snapshot: Snapshot, query: PointQuery, params: SearchParams) -> PointsPart:
    """Search for some points of a query."""
    record = MatchRecord(query) if params.is_by_usefulness else None
    every = replace(params, threshold=None, k=None)
    hits, sets, stats = _search_points(snapshot, query, _radius_of(params), every, record)
    evidence = None if record is None else record.evidence(hits)
    numbers = np.array([(one.space, one.number) for one in sets], np.int64).reshape(-1, 2)
    n_noted = np.empty(0, np.int64) if record is None else record.n_noted
    if evidence is None:
        return PointsPart(hits, numbers, np.zeros((len(hits), N_SUMS), np.int64), 0.0, n_noted, stats)
    return PointsPart(hits, numbers, evidence.sums, evidence.total_weight, n_noted, stats)


def merge_points(snapshot: Snapshot, query: PointQuery, parts: Sequence[PointsPart], params: SearchParams) -> Found:
    """Add what was found for all points of a query, and rank it as one search does."""
    hits, stats = join_hits([part.hits for part in parts]), SearchStats()
    for part in parts:
        stats.add(part.stats)
    stats.plan, stats.n_values = parts[0].stats.plan, len(query.values)
    positions = np.column_stack([hits.segments, np.concatenate([part.sets for part in parts])])
    distinct, first, numbers = np.unique(positions, axis=0, return_index=True, return_inverse=True)
    counts = np.column_stack([hits.matched, hits.matched_rows, np.concatenate([part.sums for part in parts])])
    added = np.zeros((len(distinct), counts.shape[1]), np.int64)
    np.add.at(added, numbers.ravel(), counts)
    weights = query.values.row_counts() if params.is_weighted else np.ones(len(query.values), np.int64)
    kept = np.flatnonzero(added[:, 1] >= smallest_count(params.threshold, int(weights.sum())))
    hits = replace(hits.take(first[kept]), matched=added[kept, 0], matched_rows=added[kept, 1])
    sets = tuple(SpaceSet(*one) for one in distinct[kept, 1:].tolist())
    matched, is_all = MatchedQuery(snapshot, query.values), params.count == "all"
    none = no_hits(snapshot, hits)
    found = PointsFound(query, none, stats, matched, radius=_radius_of(params), is_all=is_all, sets=sets)
    if not params.is_by_usefulness:
        return found.with_hits(rank_hits(snapshot.segments, hits, params.k, query.profile.has_range))
    evidence = None
    if has_room(np.sum([part.n_noted for part in parts], axis=0)):
        weight = sum(part.total_weight for part in parts)
        evidence = SharedEvidence(hits, added[kept, 2:], weight, hits.cardinality)
    found, hits, evidence = found.pooled(hits, evidence)
    pool = Pool(hits, matched, stats, evidence, found, is_by_equality=False)
    return rank_pool(snapshot, query, pool, params)
