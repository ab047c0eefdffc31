"""Search among vectors of texts: what the radius is, and the columns with values that lie within it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.manifest import EmbedderMeta
from dfjoin.index.segment import reading
from dfjoin.index.stored_model import open_embedder
from dfjoin.kernels.vectors.vector_search import VectorTable
from dfjoin.search.distance.distance_search import DistanceSearch, MatchRecord, TextSegment
from dfjoin.search.embedding.near_plans import NearSegment, run_near_plan
from dfjoin.search.embedding.pexeso.pexeso_plan import PexesoSearch, pivot_index_of
from dfjoin.search.hits import Hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.store.snapshot import Snapshot
from dfjoin.vectors.embedders import Embedder, unit_rows
from dfjoin.vectors.fasttext_model import Texts
from dfjoin.vectors.metrics import BY_LENGTH, PROJECTED, chord_of_arc, length_shares, metric_of, radius_of
from dfjoin.vectors.trees import features_of


@dataclass(frozen=True)
class VectorRadius:
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
    is_by_length : bool
        It is smaller for a long text.
    """

    metric: str
    distance: float
    chord: float
    unit: float
    is_by_length: bool = False

    def __str__(self) -> str:
        """Say how near values have to lie."""
        part = f" ({self.distance / self.unit:g} of {self.unit:.3g})" if self.unit != 1 else ""
        less = ", less for texts of more than 20 characters" if self.is_by_length else ""
        return f"{self.metric} distance up to {self.distance:g}{part}{less}"

    def shares(self, texts: Texts) -> NDArray[np.float64]:
        """Return the part of the radius that each text has, of those whose partners are looked for."""
        return length_shares(*texts) if self.is_by_length else np.ones(texts[0].size - 1)

    def shown(self, chords: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return distances in the unit of the user; chords, for metrics that follow from Euclidean distance."""
        own = 2 * np.arcsin(np.minimum(1.0, chords / 2)) if self.metric == "angular" else chords
        return own / self.unit


class DefaultRadius(NamedTuple):
    """The radius of searches that give none: a fraction of the largest Euclidean distance, and its unit."""

    fraction: float
    unit: str = "fraction"


NGRAM_RADIUS = DefaultRadius(0.3)
"""Of n-grams, where no lake has chosen one: two frames have fewer strangers than a lake."""

_RADII = {"fasttext-lake": DefaultRadius(0.2), "ngrams": NGRAM_RADIUS}
"""Kind of embedder → radius of an index that states none: an earlier or a small one."""

_RADIUS = DefaultRadius(0.06)
"""Of other embedders, that of the paper."""

_ALL = 4.0
"""No two unit vectors are farther apart."""


def default_of(embedder: EmbedderMeta | None) -> DefaultRadius:
    """Return the default radius of an index, as with_radius takes it: its own, unless it has too few values."""
    if embedder is None:
        return _RADIUS
    if embedder.radius:
        return DefaultRadius(embedder.radius, embedder.radius_unit)
    return _RADII.get(embedder.identity.partition(":")[0], _RADIUS)


def with_radius(params: SearchParams, default: DefaultRadius = _RADIUS) -> SearchParams:
    """Return a search among texts with the radius, unit and metric that it has if none are given.

    Parameters
    ----------
    params : SearchParams
    default : DefaultRadius
        Radius if none is given; an angle spans the same chord.
    """
    unit, metric = params.radius_unit or "fraction", "euclidean" if params.metric is None else params.metric
    radius = params.radius
    if radius is None:
        radius = default.fraction
        if metric in PROJECTED:
            unit = params.radius_unit or default.unit
            length = 2 * radius if metric == "euclidean" else 2 * math.asin(min(1.0, radius))
            radius = length / (1.0 if unit == "absolute" else metric_of(metric).full)
    return replace(params, radius=radius, radius_unit=unit, metric=metric)


def vector_radius(params: SearchParams) -> VectorRadius:
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
    unit = 1.0 if params.radius_unit == "absolute" else metric.full
    return VectorRadius(params.metric, distance, chord, unit, params.radius_unit == BY_LENGTH)


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
    search, radius = DistanceSearch(query, params, record), vector_radius(params)
    has_vector = rows.any(axis=1) if len(query.values) else np.empty(0, bool)
    near, others = np.flatnonzero(has_vector), np.flatnonzero(~has_vector)
    shares = radius.shares((query.values.offsets, query.values.data))[near]

    def count(part: TextSegment) -> SearchStats:
        stats = SearchStats()
        with reading("vector_tokens", "names tokens or columns that the segment does not have", part.segment.meta.id):
            if near.size:
                _count_near(search, part, (near, rows[near], shares), radius, stats)
        return stats

    return search.through_texts(snapshot, others, count)


def _count_near(
    search: DistanceSearch,
    part: TextSegment,
    vectors: tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float64]],
    radius: VectorRadius,
    stats: SearchStats,
) -> None:
    """Count what lies near the query values that have a vector: their numbers, vectors and parts of the radius."""
    segment, own, postings, tally = part
    (near, rows, shares), stored, plan = vectors, segment.vectors, search.params.plan
    if stored.rows.shape[1] != rows.shape[1]:
        raise segment.damaged("vector_rows", "its vectors have another length than the embedder's")
    if plan == "pexeso" or radius.metric not in PROJECTED:
        if not stored.tokens.size:
            search.count_equal(part, near)
            return
        is_chord = radius.metric in PROJECTED  # an angle near π is too steep in its chord for a bound by angles
        index = pivot_index_of(segment, metric_of("euclidean" if is_chord else radius.metric))
        rest = int(search.weights[near].sum())
        for share in np.unique(shares).tolist():
            chosen = shares == share
            rest -= int(search.weights[near[chosen]].sum())
            chord, needed = radius.chord * share, max(0, search.needed - rest)
            both = (chord if is_chord else radius.distance), chord
            pexeso = PexesoSearch(index, stored.rows, stored.tokens, postings, both, needed)
            pexeso.run(search.queries(near[chosen], own, rows[chosen]), tally, stats)
        return
    features, radii = features_of(rows, stored.cells.projection), radius.chord * shares
    table = VectorTable(stored.rows, stored.tokens)
    queries = search.queries(near, own, rows, features, radii)
    run_near_plan(NearSegment(stored.cells, table, postings), queries, None, tally, plan, stats)
