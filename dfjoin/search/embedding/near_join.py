"""Keys that are joined by distance: each value with its nearest partner, as data that a plan keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin import _validation as check
from dfjoin.errors import IncompatibleSettingsError
from dfjoin.search.distance.distance_join import DistanceRelation, TextKeys
from dfjoin.search.embedding.near_pairs import pairs_within
from dfjoin.search.embedding.near_search import Reach, embedder_of, reach_of
from dfjoin.search.exact.matcher import match_tokens, vocabulary_of
from dfjoin.search.params import SearchParams, search_params
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.value_set import ValueSet
from dfjoin.vectors.embedders import unit_rows

__all__ = ["NearKeys", "NearRelation"]


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

    radius: float
    radius_unit: str
    metric: str
    embedder: str

    def check(self) -> None:
        """See `DistanceRelation`."""
        check.check_text(self.embedder, "embedder")
        self.params()

    def params(self) -> SearchParams:
        """Return the search that has this radius; raises for an illegal one."""
        return search_params(mode="embedding", radius=self.radius, radius_unit=self.radius_unit, metric=self.metric)

    def keys(self, parts: Sequence[ValueSet], snapshot: Snapshot) -> NearKeys:
        """See `DistanceRelation`."""
        (values,) = parts
        return NearKeys(snapshot, values, self)

    def reach_text(self) -> str:
        """See `DistanceRelation`."""
        return f"{self.radius:g} ({self.radius_unit}), {self.metric}, of {self.embedder}"


class NearKeys(TextKeys):
    """The keys of a frame, to be joined with the nearest keys of a table.

    Parameters
    ----------
    snapshot : Snapshot
        Of the lake, whose embedder measures.
    values : ValueSet
        The frame's keys.
    relation : NearRelation

    Raises
    ------
    IncompatibleSettingsError
        If the lake has other vectors now than when the relation was found.
    """

    def __init__(self, snapshot: Snapshot, values: ValueSet, relation: NearRelation) -> None:
        super().__init__(values, relation.partners)
        self._embedder = embedder_of(snapshot)
        if self._embedder.identity != relation.embedder:
            raise IncompatibleSettingsError(
                f"`plan` joins by distances of the embedder {relation.embedder!r}, and the index has vectors of "
                f"{self._embedder.identity!r} now; search again with discover_joinable"
            )
        self._reach: Reach = reach_of(relation.params())
        self._rows = self._embed(values)
        self._vocabulary = vocabulary_of(values)

    def _embed(self, values: ValueSet) -> NDArray[np.float32]:
        return unit_rows(self._embedder.embed((values.offsets, values.data)))

    def _pairs(self, values: ValueSet) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        if len(values) == 0 or len(self._values) == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        equal = match_tokens(values, self._vocabulary)
        own = np.where(equal >= 0, self._vocabulary.order.astype(np.int64)[np.maximum(equal, 0)], -1)
        rows = self._embed(values)
        left, right = (np.flatnonzero(one.any(axis=1)) for one in (self._rows, rows))
        i, j, chords = pairs_within(self._rows[left], rows[right], self._reach)
        i, j = left[i], right[j]
        is_new = own[j] != i
        is_equal = np.flatnonzero(own >= 0)
        return (
            np.append(own[is_equal], i[is_new]),
            np.append(is_equal, j[is_new]),
            np.append(np.full(is_equal.size, -1.0), chords[is_new]),  # equal values come first
        )
