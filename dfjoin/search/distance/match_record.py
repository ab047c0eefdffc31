"""What the values that lie near those of a query tell of each candidate: rarity and chance within the radius."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.evidence import BITS, N_SUMS, SCALE, WEIGHT, add_matches, weigh_values
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vector_search import MatchLog, MatchTally
from dfjoin.search.hits import Hits
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.shared_evidence import SharedEvidence

__all__ = ["MatchRecord"]

_ROOM = 1 << 23
"""Pairs of a value and a column that are noted in a segment at most; 64 MB."""


@dataclass
class MatchRecord:
    """The matches of a search by distance, part by part: a segment, or a space of points of one.

    Parameters
    ----------
    query : QueryColumn
    is_of_points : bool
        Candidates are sets of points.
    """

    query: QueryColumn
    is_of_points: bool = False
    _parts: list[tuple[MatchLog, int, NDArray[np.int64]]] = field(default_factory=list)
    _n_columns: int = 0

    def log(self) -> MatchLog:
        """Return an empty log for the next part; memory is taken as it fills."""
        queries, columns = np.empty((2, _ROOM), np.int32)
        return MatchLog(queries, columns, np.zeros(len(self.query.values), np.int64), np.zeros(1, np.int64))

    def add(self, tally: MatchTally, alive: NDArray[np.uint8] | None, chosen: NDArray[np.int64]) -> None:
        """Keep what was noted in a part.

        Parameters
        ----------
        tally : MatchTally
            With a log.
        alive : ndarray of uint8 or None
            1 for each column that counts; None: all.
        chosen : ndarray of int64
            The columns that are hits, in the order of the hits.
        """
        log, n = tally.log, min(int(tally.log.size[0]), tally.log.columns.size)
        queries, columns = log.queries[:n], log.columns[:n]
        if alive is not None:
            is_alive = alive[columns] > 0
            queries, columns = queries[is_alive], columns[is_alive]
        self._parts.append((log._replace(queries=queries, columns=columns), tally.hits.size, chosen))
        self._n_columns += tally.hits.size if alive is None else int(np.count_nonzero(alive))

    def evidence(self, hits: Hits) -> SharedEvidence | None:
        """Sum what the matches tell; None where a log had no room for all.

        Parameters
        ----------
        hits : Hits
            Of all parts, in their order.

        Notes
        -----
        As `weigh_values`, with two differences: a value is as rare as the columns are that match it within the radius,
        and its information is less by the logarithm of the values that lie so near, since any of them would have
        matched. O(matches).
        """
        values = self.query.values
        n_holding, n_near = np.zeros((2, len(values)), np.int64)
        for log, _, _ in self._parts:
            if log.size[0] > _ROOM:
                return None
            n_holding += np.bincount(log.queries, minlength=len(values))
            n_near += log.n_near
        weights = np.empty((len(values), N_SUMS), np.int64)
        packed = as_read_only(values.data), as_read_only(values.offsets)
        weigh_values(*packed, n_holding, self._n_columns, values.row_counts().astype(np.int64), weights)
        chance = np.log2(np.maximum(1, n_near)) * SCALE
        weights[:, BITS] = np.maximum(0, weights[:, BITS] - np.rint(chance).astype(np.int64))
        sums = [np.empty((0, N_SUMS), np.int64)]
        for log, n_columns, chosen in self._parts:
            own = np.zeros((n_columns, N_SUMS), np.int64)
            add_matches(log.queries, log.columns, weights, own)
            sums.append(own[chosen])
        sizes = hits.cardinality if self.is_of_points else None
        return SharedEvidence(hits, np.concatenate(sums), float(weights[:, WEIGHT].sum()) / SCALE, sizes)
