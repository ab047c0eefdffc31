"""Search by distance over the segments of a snapshot: query values → vectors within a radius → columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.manifest import EmbedderMeta
from dfjoin.index.reading import reading
from dfjoin.index.segment import Segment
from dfjoin.index.stored_model import open_embedder
from dfjoin.index.vector_group import text_columns
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vector_search import (
    NO_LOG,
    MatchTally,
    QueryVectors,
    TokenColumns,
    VectorTable,
    Within,
    count_equal,
)
from dfjoin.search.distance.match_record import MatchRecord
from dfjoin.search.embedding.near_plans import NearSegment, run_near_plan
from dfjoin.search.embedding.pexeso.pexeso_plan import PexesoSearch, pivot_index_of
from dfjoin.search.exact.allowed import allowed_columns
from dfjoin.search.exact.matcher import match_tokens
from dfjoin.search.exact.searcher import smallest_count
from dfjoin.search.hits import Hits, join_hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.store.snapshot import Snapshot
from dfjoin.vectors.embedders import Embedder, unit_rows
from dfjoin.vectors.metrics import PROJECTED, chord_of_arc, metric_of, radius_of
from dfjoin.vectors.trees import features_of

__all__ = [
    "NO_REACH",
    "Reach",
    "embedder_of",
    "hits_of",
    "make_tally",
    "postings_of",
    "query_rows",
    "reach_of",
    "search_near",
    "with_radius",
]


@dataclass(frozen=True)
class Reach:
    """A radius: as a distance of the metric, as a Euclidean distance where one decides, and what a unit is worth.

    Parameters
    ----------
    metric : str
    distance : float
        In the metric's own measure.
    chord : float
        The Euclidean distance between unit vectors that is compared, for metrics that follow from it.
    unit : float
        Distance in the metric's own measure that the user's unit stands for.
    """

    metric: str
    distance: float
    chord: float
    unit: float

    def __str__(self) -> str:
        """Say how near values have to lie."""
        part = f" ({self.distance / self.unit:g} of {self.unit:.3g})" if self.unit != 1 else ""
        return f"{self.metric} distance up to {self.distance:g}{part}"

    def shown(self, chords: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return distances in the unit of the user; chords, for metrics that follow from Euclidean distance."""
        own = 2 * np.arcsin(np.minimum(1.0, chords / 2)) if self.metric == "angular" else chords
        return own / self.unit


_RADII = {"fasttext-lake": 0.2}
"""Kind of embedder → default radius, a fraction, of an index that states none."""

_RADIUS = 0.06
"""Default radius of other embedders, that of the paper."""

_ALL = 4.0
"""No two unit vectors are farther apart."""

NO_REACH = Reach("euclidean", 0.0, 0.0, 1.0)
"""Nothing but equal vectors."""


def with_radius(params: SearchParams, embedder: EmbedderMeta | None = None) -> SearchParams:
    """Return a search among texts with the radius, unit and metric that it has if none are given.

    Parameters
    ----------
    params : SearchParams
    embedder : EmbedderMeta, optional
        One that is trained on a lake has a radius of its own.
    """
    default = _RADIUS
    if embedder is not None:
        default = embedder.radius or _RADII.get(embedder.identity.partition(":")[0], _RADIUS)
    radius = default if params.radius is None else params.radius
    unit, metric = params.radius_unit or "fraction", params.metric or "euclidean"
    return replace(params, radius=radius, radius_unit=unit, metric=metric)


def reach_of(params: SearchParams) -> Reach:
    """Return the radius of a search.

    Raises
    ------
    InvalidParameterError
        If the unit is not one of the metric.
    """
    params = with_radius(params)
    assert params.radius is not None and params.radius_unit is not None and params.metric is not None
    metric = metric_of(params.metric)
    distance = radius_of(metric, params.radius, params.radius_unit)
    chord = chord_of_arc(distance) if params.metric == "angular" else min(distance, _ALL)
    unit = metric.full if params.radius_unit == "fraction" else 1.0
    return Reach(params.metric, distance, chord, unit)


_EMBEDDERS: WeakKeyDictionary[Snapshot, Embedder] = WeakKeyDictionary()


def embedder_of(snapshot: Snapshot) -> Embedder:
    """Return the embedder of a snapshot, opened once.

    Raises
    ------
    IncompatibleSettingsError
        If the index has no vectors, or its embedder cannot be found.
    """
    if snapshot.manifest.embedder is None:
        raise IncompatibleSettingsError(
            'the index has no vectors, which mode="embedding" needs; add them with `lake.add_vectors()`, or use '
            'mode="exact"'
        )
    known = _EMBEDDERS.get(snapshot)
    if known is None:
        known = _EMBEDDERS.setdefault(snapshot, open_embedder(snapshot.path, snapshot.manifest))
    return known


def query_rows(snapshot: Snapshot, query: QueryColumn) -> NDArray[np.float32]:
    """Embed the values of a query column; zeros for those that have no vector.

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn

    Returns
    -------
    ndarray of float32, shape (n_values, d)
        All zeros for a column that is not of text: numbers are near each other as numbers, not as texts.
    """
    meta = snapshot.manifest.embedder
    assert meta is not None
    if query.profile.kind != "text" or len(query.values) == 0:
        return np.zeros((len(query.values), meta.dimension), np.float32)
    rows = unit_rows(embedder_of(snapshot).embed((query.values.offsets, query.values.data)))
    if rows.shape[1] != meta.dimension:
        raise IncompatibleSettingsError(
            f"the embedder {meta.identity!r} made vectors of {rows.shape[1]} numbers, and the index has vectors of "
            f"{meta.dimension}; make them anew with `lake.add_vectors(embedder)`"
        )
    return rows


def search_near(
    snapshot: Snapshot,
    query: QueryColumn,
    rows: NDArray[np.float32],
    params: SearchParams,
    record: MatchRecord | None = None,
) -> tuple[Hits, SearchStats]:
    """Find the columns with values near those of the query.

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn
    rows : ndarray of float32, shape (n_values, d)
        As `query_rows` returns them.
    params : SearchParams
    record : MatchRecord, optional
        Takes note of the matches.

    Returns
    -------
    hits : Hits
        Not ranked; all columns that reach the threshold.
    stats : SearchStats

    Notes
    -----
    A query value matches a column if the column holds an equal value, or if the column is of text and holds a value
    whose vector lies within the radius. Source: Dong et al., "Efficient joinable table discovery in data lakes: a
    high-dimensional similarity-based approach", ICDE 2021, section II. A value that many columns hold is compared
    once; posting lists spread the match.
    """
    search = _NearSearch(query, rows, params, record)
    parts = [search.segment(number, segment) for number, segment in enumerate(snapshot.segments) if segment.n_tokens]
    search.stats.n_values = len(query.values)
    return join_hits(parts), search.stats


class _NearSearch:
    """One query on its way through the segments of an index."""

    def __init__(
        self, query: QueryColumn, rows: NDArray[np.float32], params: SearchParams, record: MatchRecord | None
    ) -> None:
        values, self.record = query.values, record
        self.values, self.params = values, params
        self.reach = reach_of(params)
        self.is_all = params.count == "all"
        counts = values.row_counts().astype(np.int64)
        self.weights = counts if params.is_weighted else np.ones(len(values), np.int64)
        self.minimum = smallest_count(params.threshold, int(self.weights.sum()))
        has_vector = rows.any(axis=1) if len(values) else np.empty(0, bool)
        self.near, self.others = np.flatnonzero(has_vector), np.flatnonzero(~has_vector)
        self.rows = rows
        self.stats = SearchStats()

    def segment(self, number: int, segment: Segment) -> Hits:
        """Count the columns of a segment."""
        tokens = segment.tokens
        own = match_tokens(self.values, tokens)
        postings, tally = postings_of(segment), make_tally(segment, self.is_all, self.record)
        stats = SearchStats(n_found=int(np.count_nonzero(own >= 0)))
        with reading("vector_tokens", "names tokens or columns that the segment does not have", segment.meta.id):
            if self.others.size:
                count_equal(own[self.others], self.others, self.weights[self.others], postings, tally)
            if self.near.size:
                self._near(segment, own, postings, tally, stats)
        self.stats = stats if not self.stats.plan else _added(self.stats, stats)
        hits = hits_of(tally, segment, number, self.minimum, self.params)
        if self.record is not None:
            self.record.add(tally, segment.alive, hits.columns)
        return hits

    def _near(
        self,
        segment: Segment,
        own: NDArray[np.int64],
        postings: TokenColumns,
        tally: MatchTally,
        stats: SearchStats,
    ) -> None:
        """Count what lies near the query values that have a vector."""
        stored = segment.vectors
        if stored.rows.shape[1] != self.rows.shape[1]:
            raise segment.damaged("vector_rows", "its vectors have another length than the embedder's")
        if self.params.plan == "pexeso" or self.reach.metric not in PROJECTED:
            if stored.tokens.size:
                self._by_pivots(segment, own, postings, tally, stats)
            else:
                count_equal(own[self.near], self.near, self.weights[self.near], postings, tally)
            return
        rows = self.rows[self.near]
        features = features_of(rows, stored.cells.projection)
        queries = QueryVectors(features, rows, self.near, own[self.near], self.weights[self.near])
        within = Within(np.float32(0), self.reach.chord)
        table = VectorTable(stored.rows, stored.tokens)
        run_near_plan(NearSegment(stored.cells, table, postings), queries, within, tally, self.params.plan, stats)

    def _by_pivots(
        self,
        segment: Segment,
        own: NDArray[np.int64],
        postings: TokenColumns,
        tally: MatchTally,
        stats: SearchStats,
    ) -> None:
        """Count by PEXESO's plan, which needs nothing of a metric but the triangle inequality."""
        stored = segment.vectors
        near = self.near
        queries = QueryVectors(
            np.empty((near.size, 0), np.float32), self.rows[near], near, own[near], self.weights[near]
        )
        minimum = 0 if self.is_all or self.record is not None else self.minimum  # else columns are left half counted
        index = pivot_index_of(segment, metric_of(self.reach.metric))
        radius = self.reach.distance, self.reach.chord
        search = PexesoSearch(index, stored.rows, stored.tokens, postings, radius, minimum)
        search.run(queries, tally, stats)


def make_tally(segment: Segment, is_all: bool, record: MatchRecord | None = None) -> MatchTally:
    """Return the counts of a segment's columns, all zero.

    Parameters
    ----------
    segment : Segment
    is_all : bool
        Pairs are counted.
    record : MatchRecord, optional
        Takes note of the matches.
    """
    n, n_lists = segment.n_columns, segment.tokens.list_indptr.size - 1
    stamps = np.full(n, -1, np.int64), np.full(n_lists, -1, np.int64)
    return MatchTally(
        np.zeros(n, np.int64), np.zeros(n, np.int64), *stamps, is_all, NO_LOG if record is None else record.log()
    )


def postings_of(segment: Segment) -> TokenColumns:
    """Return the columns of a segment's tokens, compared whole; those of text may be matched by distance."""
    tokens = segment.sound_tokens("group", "list_indptr", "list_columns")
    is_near = as_read_only(text_columns(segment))
    return TokenColumns(tokens.group, tokens.list_indptr, tokens.list_columns, is_near)


def hits_of(tally: MatchTally, segment: Segment, number: int, minimum: int, params: SearchParams) -> Hits:
    """Return the columns that reach the threshold; of many, those that may be among the best.

    Parameters
    ----------
    tally : MatchTally
    segment : Segment
    number : int
        Of the segment.
    minimum : int
        Smallest score.
    params : SearchParams
    """
    scores = tally.scores
    allowed = allowed_columns(segment, params)
    if allowed.size:
        scores = np.where(allowed > 0, scores, 0)
    columns = np.flatnonzero(scores >= minimum)
    k = params.k
    if k is not None and columns.size > k:
        least = np.partition(scores[columns], columns.size - k)[columns.size - k]
        columns = columns[scores[columns] >= least]
    return Hits(
        np.full(columns.size, number, np.int64),
        columns,
        tally.hits[columns],
        scores[columns],
        segment.catalog.numbers["cardinality"][columns],
        np.full(columns.size, np.nan),
    )


def _added(one: SearchStats, other: SearchStats) -> SearchStats:
    one.add(other)
    return one
