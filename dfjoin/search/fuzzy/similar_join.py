"""Keys that are joined by spelling: each value with its nearest partner, or all, as data that a plan keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin import _validation as check
from dfjoin.search.distance.distance_join import DistanceRelation, TextKeys
from dfjoin.search.exact.matcher import match_tokens, vocabulary_of
from dfjoin.search.fuzzy.similar_texts import SPELLING_METRICS, SimilarTexts, TextReach, text_reach
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.value_set import ValueSet

__all__ = ["SimilarKeys", "SimilarRelation"]


@dataclass(frozen=True)
class SimilarRelation(DistanceRelation):
    """How alike two keys have to be spelled.

    Parameters
    ----------
    radius : float
    radius_unit : {"fraction", "absolute"}
    metric : {"edit", "jaccard"}
    partners : {"nearest", "all"}
        Which keys within the radius are partners.
    """

    KIND = "similar"
    TITLE = "a relation by spelling"
    MEASURE = "spelling"

    radius: float
    radius_unit: str
    metric: str

    def check(self) -> None:
        """See `DistanceRelation`."""
        check.check_distance(self.radius, "radius")
        check.check_choice(self.metric, "metric", SPELLING_METRICS)
        self.reach()

    def reach(self) -> TextReach:
        """Return the radius of the relation."""
        return text_reach(self.radius, self.radius_unit, self.metric)

    def keys(self, parts: Sequence[ValueSet], snapshot: Snapshot) -> SimilarKeys:
        """See `DistanceRelation`."""
        (values,) = parts
        return SimilarKeys(values, self)

    def reach_text(self) -> str:
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
        self._reach = relation.reach()
        self._vocabulary = vocabulary_of(values)
        self._texts = SimilarTexts((values.offsets, values.data), self._reach.is_grams)

    def _pairs(self, values: ValueSet) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        equal = match_tokens(values, self._vocabulary)
        known = np.append(self._vocabulary.order, 0).astype(np.int64)  # the last one serves an empty vocabulary
        own = np.where(equal >= 0, known[equal], -1)
        texts = SimilarTexts((values.offsets, values.data), self._reach.is_grams)
        found = texts.pairs(self._texts, self._reach)
        is_new = own[found.texts] != found.queries
        is_equal = np.flatnonzero(own >= 0)
        return (
            np.append(own[is_equal], found.queries[is_new]),
            np.append(is_equal, found.texts[is_new]),
            np.append(np.full(is_equal.size, -1.0), found.distances[is_new]),  # equal values come first
        )
