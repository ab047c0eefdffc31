"""What is told of the usefulness of the hits of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.index.segment import Segment
from dfjoin.kernels.lists.evidence import list_new_columns
from dfjoin.kernels.lists.usefulness import QueryFacts
from dfjoin.kernels.records import as_read_only
from dfjoin.search.hits import Hits
from dfjoin.search.usefulness.features import SharedEvidence
from dfjoin.search.usefulness.lake_facts import facts_of


@dataclass(frozen=True)
class Usefulness:
    """What is told of the usefulness of ranked hits, one entry of each array for a hit.

    Parameters
    ----------
    score, usefulness : ndarray of float64, shape (n,)
    is_copy : ndarray of bool, shape (n,)
        The candidate's table is a copy of the frame.
    indptr, members : ndarray of int64
        The family of hit i, as places among all candidates that were ranked, is ``members[indptr[i] : indptr[i + 1]]``,
        the hit first.
    evidence : SharedEvidence
        Of all candidates that were ranked.
    every_score, every_usefulness : ndarray of float64
        Of all candidates that were ranked; of those that may not be shown any smaller score.
    facts : QueryFacts
        Of the query.
    notes : dict
        How many candidates were ranked, are not shown, and have a lower score than is shown.
    """

    score: NDArray[np.float64]
    usefulness: NDArray[np.float64]
    is_copy: NDArray[np.bool_]
    indptr: NDArray[np.int64]
    members: NDArray[np.int64]
    evidence: SharedEvidence
    every_score: NDArray[np.float64]
    every_usefulness: NDArray[np.float64]
    facts: QueryFacts
    notes: dict[str, Any]

    @property
    def places(self) -> list[int]:
        """The place of each hit among the candidates that were ranked."""
        return self.members[self.indptr[:-1]].tolist()

    @property
    def n_similar(self) -> NDArray[np.int64]:
        """Other columns of the family of each hit."""
        return np.diff(self.indptr) - 1

    def family(self, segments: Sequence[Segment], place: int) -> pd.DataFrame:
        """Return the members of the family of a hit, see `JoinCandidates.similar`."""
        members = self.members[self.indptr[place] : self.indptr[place + 1]]
        hits = self.evidence.hits.take(members)
        names = [
            segments[number].catalog.names_of(np.array([column]))
            for number, column in zip(hits.segments.tolist(), hits.columns.tolist(), strict=True)
        ]
        return pd.DataFrame(
            {
                "table": [tables[0] for tables, _ in names],
                "column": [columns[0] for _, columns in names],
                "score": self.every_score[members],
                "usefulness": self.every_usefulness[members],
                "matched": hits.matched,
                "cardinality": hits.cardinality,
            }
        )

    def brings(self, segments: Sequence[Segment], hits: Hits, limit: int) -> list[tuple[list[str], int]]:
        """Return the names of the columns that each hit's table has, and the frame has not, and how many these are.

        Parameters
        ----------
        segments : sequence of Segment
        hits : Hits
            Those that this record tells of.
        limit : int
            How many names are read at most, in the order of the file, columns that are mostly null last.

        Notes
        -----
        Names are compared as words: `countryName` and `Country Name` are one. O(columns of the tables).
        """
        own, companions = self.facts.header.joined, self.facts.companions
        known = as_read_only(np.sort(np.concatenate([companions, own])) if companions.size else companions)
        found: list[tuple[list[str], int]] = [([], 0)] * len(hits)
        every = range(len(hits))
        for number, own_hits in hits.by_segment():
            named = _new_columns(segments[number], hits.columns[own_hits], known, limit)
            for place, one in zip(every if isinstance(own_hits, slice) else own_hits.tolist(), named, strict=True):
                found[place] = one
        return found


def _new_columns(
    segment: Segment, columns: NDArray[np.int64], known: NDArray[np.uint64], limit: int
) -> list[tuple[list[str], int]]:
    """Name the columns of the tables of some columns whose headers are not among the known ones, and count them."""
    chosen, counts = np.empty((columns.size, limit), np.int64), np.empty(columns.size, np.int64)
    list_new_columns(columns, facts_of(segment).listed, known, chosen, counts)
    names = segment.catalog.column_names(chosen[np.arange(limit) < counts[:, None]])
    found, start = [], 0
    for count in counts.tolist():
        end = start + min(count, limit)
        found.append((names[start:end], count))
        start = end
    return found
