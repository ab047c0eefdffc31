"""Keys that are joined by spelling: each value with its nearest partner, or all, as data that a plan keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dfjoin import _validation as check
from dfjoin.search.distance.distance_join import NO_PAIRS, DistanceKeys, DistanceRelation, NearPairs, TextKeys
from dfjoin.search.distance.partner_keys import decided_keys
from dfjoin.search.fuzzy.similar_texts import (
    SPELLING_METRICS,
    ChosenTexts,
    SimilarTexts,
    SpellingRadius,
    spelling_radius,
)
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.normalize import ValueSet

_NEARER = 3
"""How much larger each radius is than the one before it, where the nearest texts are looked for."""


@dataclass(frozen=True)
class SimilarRelation(DistanceRelation):
    """How alike two keys have to be spelled.

    Parameters
    ----------
    radius : float
    radius_unit : {"fraction", "absolute"}
    metric : {"edit", "jaccard", "tokens"}
    partners : {"nearest", "all"}
        Which keys within the radius are partners.
    """

    KIND = "similar"
    TITLE = "a relation by spelling"
    MEASURE = "spelling"

    metric: str

    def check(self) -> None:
        """See `DistanceRelation`."""
        check.check_distance(self.radius, "radius")
        check.check_choice(self.metric, "metric", SPELLING_METRICS)
        self.limit()

    def limit(self) -> SpellingRadius:
        """Return the radius of the relation."""
        return spelling_radius(self.radius, self.radius_unit, self.metric)

    def keys(self, parts: Sequence[ValueSet], snapshot: Snapshot | None) -> DistanceKeys:
        """See `DistanceRelation`."""
        (values,) = parts
        return decided_keys(SimilarKeys(values, self), parts, self, snapshot)

    def radius_text(self) -> str:
        """See `DistanceRelation`."""
        return f"{self.radius:g} ({self.radius_unit}), {self.metric}"


class SimilarKeys(TextKeys):
    """The keys of a frame, to be joined with the keys of a table that are spelled alike.

    Parameters
    ----------
    values : ValueSet
        The frame's keys.
    relation : SimilarRelation
    """

    def __init__(self, values: ValueSet, relation: SimilarRelation) -> None:
        super().__init__(values, relation.partners)
        self._limit, self._values = relation.limit(), values
        self._texts = SimilarTexts.of((values.offsets, values.data), self._limit.metric)

    def within(self, values: ValueSet) -> NearPairs:
        """See `TextKeys`."""
        found = SimilarTexts.of((values.offsets, values.data), self._limit.metric).pairs(self._texts, self._limit)
        return NearPairs(found.texts, found.queries, found.distances)

    def closest_within(self, values: ValueSet, wanted: NDArray[np.int64]) -> NearPairs:
        """See `TextKeys`: by growing radii, since few texts lie within a small one."""
        texts, found = SimilarTexts.of((values.offsets, values.data), self._limit.metric), [NO_PAIRS]
        one_change, most = self._limit.least_change(self._texts.usual_size()), self._limit.radius
        radii = {max(most / _NEARER**2, one_change), most / _NEARER}  # equal texts are wanted no more
        for radius in (*sorted(radii if one_change <= most / _NEARER else ()), most):
            own = ChosenTexts(self._values.data, self._values.offsets, wanted.astype(np.uint32))
            queries = SimilarTexts(own, self._limit.metric)
            pairs = texts.pairs(queries, replace(self._limit, radius=radius))
            found.append(NearPairs(pairs.texts, pairs.queries, pairs.distances))
            wanted = np.setdiff1d(wanted, pairs.queries)
        return NearPairs(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))

    def measured(self, values: ValueSet, left: NDArray[np.int64], right: NDArray[np.int64]) -> NearPairs:
        """See `TextKeys`."""
        texts = SimilarTexts.of((values.offsets, values.data), self._limit.metric)
        return NearPairs(left, right, texts.distances(self._texts, (left, right), self._limit))

    def is_within(self, pairs: NearPairs) -> NDArray[np.bool_]:
        """See `TextKeys`."""
        return np.isfinite(pairs.distances)
