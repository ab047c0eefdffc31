"""Records of a search in groups of segments: what is counted in all of them first, and what is found in one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.hits import Hits
from dfjoin.search.query import HeldValues, QueryColumn
from dfjoin.search.usefulness.features import ValueWeights
from dfjoin.store.snapshot import Snapshot


@dataclass(frozen=True)
class HeldCounts:
    """In how many columns stands what a query looks up, its values or pieces of them; what is not named is in none.

    Parameters
    ----------
    hashes : ndarray of uint64, shape (n,), sorted
    counts : ndarray of int64, shape (n,)
    total : int
        Columns that hold anything; where pieces are looked up, the pieces of all columns.
    near : ndarray of int64, shape (n,), optional
        Where values match by distance: how many values of the lake lie within the radius.
    n_full : int
        Parts of the lake with more matches by distance than are noted.
    """

    hashes: NDArray[np.uint64]
    counts: NDArray[np.int64]
    total: int
    near: NDArray[np.int64] | None = None
    n_full: int = 0

    def of(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the counts of some hashes."""
        return self._looked_up(hashes, self.counts)

    def near_of(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return how many values lie near some hashes."""
        return np.zeros(hashes.size, np.int64) if self.near is None else self._looked_up(hashes, self.near)

    def _looked_up(self, hashes: NDArray[np.uint64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        if not self.hashes.size:
            return np.zeros(hashes.size, np.int64)
        positions = np.minimum(np.searchsorted(self.hashes, hashes), self.hashes.size - 1)
        return np.where(self.hashes[positions] == hashes, counts[positions], 0)

    def of_values(self, query: QueryColumn) -> HeldValues:
        """Return the counts of the values of a query."""
        return HeldValues(self.of(query.values.hashes), self.total)


@dataclass(frozen=True)
class GroupHits:
    """What the search of a group of segments found.

    Parameters
    ----------
    hits : Hits
        Columns of the group; numbers of segments are those of the whole lake.
    kept : ndarray of int64, shape (n, n_kept)
        What the mode keeps of each to merge them: sums of what the shared values tell (see `SharedEvidence`), the
        threshold at which it was found, or its score.
    total_weight : float
        The weight of all values of the query, where they were summed.
    """

    hits: Hits
    kept: NDArray[np.int64]
    total_weight: float = 0.0

    @classmethod
    def of(cls, hits: Hits) -> GroupHits:
        """Return hits of which nothing more is kept."""
        return cls(hits, np.empty((len(hits), 0), np.int64))


def count_holding(group: Snapshot, query: QueryColumn) -> HeldCounts:
    """Count the columns of a group of segments that hold each value of a query. O(values) for each segment."""
    weights = ValueWeights(group, MatchedQuery(group, query.values))
    held = np.flatnonzero(weights.n_holding)
    hashes = query.values.hashes[held]
    order = np.argsort(hashes)
    return HeldCounts(hashes[order], weights.n_holding[held][order], weights.n_columns)
