"""Keys that are joined by distance: each value with its nearest partner, as data that a plan keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin import _validation as check
from dfjoin.errors import IncompatibleSettingsError
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_search import QueryVectors, VectorTable, distances_of_pairs, make_scratch
from dfjoin.search.distance.distance_join import NO_PAIRS, DistanceKeys, DistanceRelation, NearPairs, TextKeys
from dfjoin.search.distance.partner_keys import decided_keys
from dfjoin.search.embedding.near_plans import near_positions, sealed_queries
from dfjoin.search.embedding.near_search import VectorRadius, embedder_of, vector_radius
from dfjoin.search.params import SearchParams, search_params
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.normalize import ValueSet
from dfjoin.vectors.abbreviations import abbreviations_for, expanding
from dfjoin.vectors.axis_points import PAIRS_AT_ONCE
from dfjoin.vectors.embedders import Embedder, FastTextEmbedder, unit_rows
from dfjoin.vectors.metrics import PROJECTED, metric_of, row_distances
from dfjoin.vectors.near_cells import build_cells
from dfjoin.vectors.ngrams import NGRAMS_IDENTITY, ngram_model
from dfjoin.vectors.trees import features_of

_MOST_PRODUCTS = 1 << 29
"""Pairs up to which a product of matrices takes less time than the making of cells."""


@dataclass(frozen=True)
class NearRelation(DistanceRelation):
    """How near the vectors of two keys have to be.

    Parameters
    ----------
    radius : float
    radius_unit, metric : str
    embedder : str
        Identity of the embedder that the distances are measured with.
    partners : {"nearest", "all"}
        Which keys within the radius are partners.
    """

    KIND = "near"
    TITLE = "a relation by distance"

    metric: str
    embedder: str

    def check(self) -> None:
        """See `DistanceRelation`."""
        check.check_text(self.embedder, "embedder")
        self.params()

    def params(self) -> SearchParams:
        """Return the search that has this radius; raises for an illegal one."""
        return search_params(mode="embedding", radius=self.radius, radius_unit=self.radius_unit, metric=self.metric)

    def keys(self, parts: Sequence[ValueSet], snapshot: Snapshot | None) -> DistanceKeys:
        """See `DistanceRelation`."""
        (values,) = parts
        return decided_keys(NearKeys(snapshot, values, self), parts, self, snapshot)

    def radius_text(self) -> str:
        """See `DistanceRelation`."""
        return f"{self.radius:g} ({self.radius_unit}), {self.metric}, of {self.embedder}"


def ngrams_of_frames() -> Embedder:
    """Return what makes the vectors of two frames that are joined: n-grams, with abbreviations written out."""
    embedder = FastTextEmbedder(ngram_model(), NGRAMS_IDENTITY)
    return expanding(embedder, abbreviations_for(embedder, None))


class NearKeys(TextKeys):
    """The keys of a frame, to be joined with the nearest keys of a table.

    Parameters
    ----------
    snapshot : Snapshot or None
        Of the lake, whose embedder measures; None: the tables are frames, and n-grams do.
    values : ValueSet
        The frame's keys.
    relation : NearRelation

    Raises
    ------
    IncompatibleSettingsError
        If the lake has other vectors now than when the relation was found.
    """

    def __init__(self, snapshot: Snapshot | None, values: ValueSet, relation: NearRelation) -> None:
        super().__init__(values, relation.partners)
        self._embedder = ngrams_of_frames() if snapshot is None else embedder_of(snapshot)
        if snapshot is None and self._embedder.identity != relation.embedder:
            raise IncompatibleSettingsError(
                f"`plan` joins by distances of the embedder {relation.embedder!r}, and two frames have vectors of "
                f"{self._embedder.identity!r}; join them again without the plan"
            )
        if self._embedder.identity != relation.embedder:
            raise IncompatibleSettingsError(
                f"`plan` joins by distances of the embedder {relation.embedder!r}, and the index has vectors of "
                f"{self._embedder.identity!r} now; search again with discover_joinable"
            )
        self._radius = vector_radius(relation.params())
        self._rows = self._embed(values)
        self._shares = self._radius.shares((values.offsets, values.data))

    def _embed(self, values: ValueSet) -> NDArray[np.float32]:
        return unit_rows(self._embedder.embed((values.offsets, values.data)))

    def shown(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `DistanceKeys`."""
        return self._radius.shown(np.maximum(distances, 0.0))

    def within(self, values: ValueSet) -> NearPairs:
        """See `TextKeys`."""
        return self._within(values, np.arange(self.n_keys), is_closest=False)

    def closest_within(self, values: ValueSet, wanted: NDArray[np.int64]) -> NearPairs:
        """See `TextKeys`."""
        return self._within(values, wanted, is_closest=True)

    def _within(self, values: ValueSet, wanted: NDArray[np.int64], *, is_closest: bool) -> NearPairs:
        rows = self._embed(values)
        own, theirs = wanted[self._rows[wanted].any(axis=1)], np.flatnonzero(rows.any(axis=1))
        left, right, chords = pairs_within(
            *(self._rows[own], rows[theirs], self._radius, self._shares[own]), is_closest=is_closest
        )
        return NearPairs(theirs[right], own[left], chords)

    def measured(self, values: ValueSet, left: NDArray[np.int64], right: NDArray[np.int64]) -> NearPairs:
        """See `TextKeys`."""
        rows = self._embed(values)
        if self._radius.metric in PROJECTED:
            distances = _chords(self._rows, left, rows, right)
        else:
            distances = row_distances(metric_of(self._radius.metric), self._rows[left], rows[right])
        has_both = self._rows[left].any(axis=1) & rows[right].any(axis=1)
        return NearPairs(left, right, np.where(has_both, distances, np.inf))

    def is_within(self, pairs: NearPairs) -> NDArray[np.bool_]:
        """See `TextKeys`."""
        radius = self._radius
        if radius.metric not in PROJECTED:
            return pairs.distances <= radius.distance
        return np.asarray(pairs.distances <= radius.chord * self._shares[pairs.left])


def pairs_within(
    one: NDArray[np.float32],
    other: NDArray[np.float32],
    radius: VectorRadius,
    shares: NDArray[np.float64] | None = None,
    *,
    is_closest: bool = False,
) -> NearPairs:
    """List the pairs of unit vectors within a radius, as a search compares them.

    Parameters
    ----------
    one, other : ndarray of float32, shapes (n, d), (m, d)
    radius : VectorRadius
    shares : ndarray of float64, shape (n,), optional
        The part of the radius that each left vector has, of metrics that follow from Euclidean distance; default: all.
    is_closest : bool
        The nearest right vectors of each left one do; others may be listed, too.

    Returns
    -------
    NearPairs
        By left one; distances as `VectorRadius.shown` takes them.

    Notes
    -----
    Products in float32 propose, distances in float64 decide; where there are many, cells are made that exclude most of
    them. O(n m d).
    """
    if radius.metric not in PROJECTED:
        return _pairs_of_metric(one, other, radius)
    chords = np.full(one.shape[0], radius.chord) if shares is None else radius.chord * shares
    if one.shape[0] * other.shape[0] > _MOST_PRODUCTS:
        return _pairs_of_cells(one, other, chords, is_closest=is_closest)
    error = (one.shape[1] + 16) * 2.0**-23
    least = (1 - chords**2 / 2 - error)[:, None]
    step = max(1, PAIRS_AT_ONCE // max(1, other.shape[0]))
    rows, columns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    transposed = np.ascontiguousarray(other.T)
    for start in range(0, one.shape[0], step):
        products, lowest = one[start : start + step] @ transposed, least[start : start + step]
        if is_closest and other.shape[0]:  # either product errs, so that the nearest one may seem a little farther
            lowest = np.maximum(lowest, products.max(axis=1, keepdims=True) - 2 * error)
        i, j = np.nonzero(products >= lowest)
        rows.append(i + start)
        columns.append(j)
    left, right = np.concatenate(rows), np.concatenate(columns)
    distances = _chords(one, left, other, right)
    is_near = distances <= chords[left]
    return NearPairs(left[is_near], right[is_near], distances[is_near])


def _pairs_of_cells(
    one: NDArray[np.float32], other: NDArray[np.float32], chords: NDArray[np.float64], *, is_closest: bool
) -> NearPairs:
    """List the pairs as `pairs_within` does, some left vectors at a time, the right ones in cells."""
    cells, order = build_cells(other)
    table = VectorTable(as_read_only(other[order]), as_read_only(order.astype(np.uint32)))
    n, found = one.shape[0], [NO_PAIRS]
    numbers, none, weights = np.arange(n), np.full(n, -1), np.ones(n, np.int64)
    made = sealed_queries(QueryVectors(features_of(one, cells.projection), one, numbers, none, weights, chords))
    for (first, last), indptr, positions in near_positions(cells, table, made, np.zeros(4, np.int64)):
        left, right = np.repeat(numbers[first:last], np.diff(indptr)), order[positions]
        distances = _chords(one, left, other, right)
        if is_closest:
            least = np.full(last - first, np.inf)
            np.minimum.at(least, left - first, distances)
            is_kept = distances <= least[left - first]
            left, right, distances = left[is_kept], right[is_kept], distances[is_kept]
        found.append(NearPairs(left, right, distances))
    return NearPairs(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))


def _chords(
    one: NDArray[np.float32], left: NDArray[np.int64], other: NDArray[np.float32], right: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Measure pairs of unit vectors."""
    distances = np.empty(left.size, np.float64)
    arrays = (as_read_only(np.ascontiguousarray(a)) for a in (one, left, other, right))
    distances_of_pairs(*arrays, make_scratch(1).lanes, distances)
    return distances


def _pairs_of_metric(one: NDArray[np.float32], other: NDArray[np.float32], radius: VectorRadius) -> NearPairs:
    """List the pairs within a radius of a metric that was registered."""
    metric = metric_of(radius.metric)
    rows, columns, distances = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for i in range(one.shape[0] if other.size else 0):
        own = metric.distances(one[i], other)
        near = np.flatnonzero(own <= radius.distance)
        rows.append(np.full(near.size, i))
        columns.append(near)
        distances.append(own[near])
    return NearPairs(np.concatenate(rows), np.concatenate(columns), np.concatenate(distances))
