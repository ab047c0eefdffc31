"""Results of the search of each query column, kept so that a frame explains its rows without a new search."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.index.segment import Segment
from dfjoin.kernels.lists.evidence import list_new_columns
from dfjoin.kernels.lists.usefulness import QueryFacts
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.hits import Hits, RankedHits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.features import SharedEvidence
from dfjoin.search.usefulness.lake_facts import facts_of
from dfjoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    from dfjoin.search.hits import KeyHit, KeySearch
    from dfjoin.transform.evidence.transform_join import TransformJoin


RowName = tuple[str, str, str]
"""Query column, table and column of a row of a result."""


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
    def positions(self) -> list[int]:
        """The place of each hit among the candidates that were ranked."""
        return self.members[self.indptr[:-1]].tolist()

    @property
    def n_similar(self) -> NDArray[np.int64]:
        """Other columns of the family of each hit."""
        return np.diff(self.indptr) - 1

    def family(self, segments: Sequence[Segment], position: int) -> pd.DataFrame:
        """Return the members of the family of a hit, see `JoinCandidates.similar`."""
        members = self.members[self.indptr[position] : self.indptr[position + 1]]
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
        known = own[0] if companions.size else np.uint64(0), companions
        found: list[tuple[list[str], int]] = [([], 0)] * len(hits)
        every = range(len(hits))
        for number, own_hits in hits.by_segment():
            named = _new_columns(segments[number], hits.columns[own_hits], known, limit)
            for position, one in zip(every if isinstance(own_hits, slice) else own_hits.tolist(), named, strict=True):
                found[position] = one
        return found


def _new_columns(
    segment: Segment, columns: NDArray[np.int64], known: tuple[np.uint64, NDArray[np.uint64]], limit: int
) -> list[tuple[list[str], int]]:
    """Name the columns of the tables of some columns whose headers are not among the known ones, and count them."""
    chosen, counts = np.empty((columns.size, limit), np.int64), np.empty(columns.size, np.int64)
    list_new_columns(columns, facts_of(segment).listed, *known, chosen, counts)
    names = segment.catalog.column_names(chosen[np.arange(limit) < counts[:, None]])
    found, start = [], 0
    for count in counts.tolist():
        end = start + min(count, limit)
        found.append((names[start:end], count))
        start = end
    return found


@dataclass(frozen=True)
class Found:
    """What the search of one query column found.

    Parameters
    ----------
    query : QueryColumn
    hits : RankedHits
    stats : SearchStats
        What was read.
    matched : MatchedQuery
        The query's values in the segments.
    joins : sequence of TransformJoin
        The programs by which each hit joins; empty where all join by equality.
    useful : Usefulness or None
        What is told of the usefulness of the hits, where they are ranked by it.
    evidence : SharedEvidence or None
        What the shared values of each hit tell, where it was summed in parts of the query.
    """

    query: QueryColumn
    hits: RankedHits
    stats: SearchStats
    matched: MatchedQuery
    joins: Sequence[TransformJoin] = ()
    useful: Usefulness | None = None
    evidence: SharedEvidence | None = field(default=None, kw_only=True)

    def ranked(self, hits: RankedHits, useful: Usefulness) -> Found:
        """Return the same search with its hits ranked by usefulness."""
        joins = [self.joins[position] for position in useful.positions] if self.joins else ()
        return replace(self, hits=hits, useful=useful, joins=joins)

    def notes(self) -> dict[str, Any]:
        """Return what ``attrs["dfjoin"]`` says of this search beside what was read."""
        return {}

    def keys_of(self, position: int) -> list[str]:
        """Return the columns of a hit that make its key."""
        return [self.hits.names[position]]

    def relation_of(self, position: int) -> dict[str, Any] | None:
        """Return how the keys of a hit are related, as plain JSON values; None where they are equal."""
        if not self.joins:
            return None
        return self.joins[position].to_saved()


@dataclass(frozen=True)
class Pool:
    """The candidates of a mode before they are ranked by usefulness.

    Parameters
    ----------
    hits : Hits
    matched : MatchedQuery
    stats : SearchStats
    evidence : SharedEvidence or None
        What their shared values tell; None: still to be summed.
    found : Found or None
        The search that found them, where it knows more of its hits.
    is_by_equality : bool
        The candidates share values as they are, not after a program.
    """

    hits: Hits
    matched: MatchedQuery
    stats: SearchStats
    evidence: SharedEvidence | None = None
    found: Found | None = None
    is_by_equality: bool = True


@dataclass(frozen=True)
class SearchContext:
    """What a result needs beyond its rows, to explain them and to be joined.

    Parameters
    ----------
    snapshot : Snapshot
    params : SearchParams
        What was asked for.
    found : dict
        Name in ``query_column`` → what its search found.
    key : KeySearch or None
        What the search with a key of several columns found, in place of `found`.
    spelled : dict
        Query column, table and column of each row with `pad` or `period` → the search of the other spelling of the
        query that found it.
    """

    snapshot: Snapshot
    params: SearchParams
    found: dict[str, Found]
    key: KeySearch | None = None
    spelled: dict[RowName, SearchContext] = field(default_factory=dict)

    def of(self, row: Any) -> SearchContext:
        """Return the search that found a row: this one, or one of another spelling of the query."""
        other = self.spelled.get(name_of_row(row))
        return self if other is None else other.of(row)

    def key_hit(self, row: Any) -> KeyHit | None:
        """Return the hit of a key of several columns that a row shows; None where the key is one column."""
        key = self.of(row).key
        return None if key is None else key.hit_of(str(row.table), str(row.column))

    def key_of(self, row: Any) -> tuple[list[Any], list[str], QueryColumn]:
        """Return the labels of the key that found a row, the columns of the table, and the first one's query."""
        key, hit = self.of(row).key, self.key_hit(row)
        if key is not None and hit is not None:
            columns = key.query.columns
            return [column.label for column in columns], list(hit.match.columns), columns[0]
        found = self.found_of(row)
        assert found is not None  # the row is of this result
        position = _position_of(found, row)
        return found.query.labels, [row.column] if position is None else found.keys_of(position), found.query

    def period_of(self, row: Any) -> tuple[int, str] | None:
        """Return which column of the key that found a row was searched by periods, and their granularity."""
        key, found = self.of(row).key, self.found_of(row)
        columns = key.query.columns if key is not None else () if found is None else (found.query,)
        return next(((position, one.period) for position, one in enumerate(columns) if one.period), None)

    def found_of(self, row: Any) -> Found | None:
        """Return the search that found a row of the result."""
        return self.of(row).found.get(row.query_column)

    @property
    def queries(self) -> dict[str, QueryColumn]:
        """Name in ``query_column`` → the query column."""
        return {name: found.query for name, found in self.found.items()}

    @property
    def stats(self) -> dict[str, SearchStats]:
        """Name in ``query_column`` → what its search read."""
        return {name: found.stats for name, found in self.found.items()}

    @cached_property
    def joins(self) -> dict[tuple[str, str, str], TransformJoin]:
        """Query column, table and column of each row that joins by programs → these.

        Programs that run from right to left read the candidate's values in canonical form.
        """
        return {
            (name, table, column): join
            for name, found in self.found.items()
            if found.joins
            for table, column, join in zip(found.hits.tables, found.hits.names, found.joins, strict=True)
        }

    def relation_of(self, row: Any) -> dict[str, Any] | None:
        """Return how the keys of a row are related, see `Found.relation_of`."""
        found = self.found_of(row)
        position = None if found is None else _position_of(found, row)
        return None if found is None or position is None else found.relation_of(position)


def name_of_row(row: Any) -> RowName:
    """Return what names a row of a result."""
    return row.query_column, row.table, row.column


def rows_of(hits: pd.DataFrame) -> list[Any]:
    """Return the rows of a result as named tuples, as `itertuples` does, which asks pandas for each column anew."""
    plain = pd.DataFrame(hits)
    plain.attrs = {}  # pandas copies them for each column
    columns = [column.tolist() for _, column in plain.items()]
    return list(map(_row_type(tuple(map(str, plain.columns)))._make, zip(*columns, strict=True)))


@lru_cache(maxsize=64)
def _row_type(names: tuple[str, ...]) -> Any:
    """Make the class of rows with such columns, which takes longer than the rows."""
    return namedtuple("Row", names, rename=True)


def _position_of(found: Found, row: Any) -> int | None:
    """Return the place of the hit that a row shows."""
    names = zip(found.hits.tables, found.hits.names, strict=True)
    return next((position for position, name in enumerate(names) if name == (row.table, row.column)), None)


@dataclass(frozen=True)
class Candidate:
    """One row of a result, and its hit among those that the search found.

    Parameters
    ----------
    row : Series
        The row.
    found : Found
    position : int
        Of the hit.
    snapshot : Snapshot
    """

    row: pd.Series
    found: Found
    position: int
    snapshot: Snapshot

    @property
    def number(self) -> int:
        """Number of the segment that holds the column."""
        return int(self.found.hits.hits.segments[self.position])

    @property
    def segment(self) -> Segment:
        """The segment that holds the column."""
        return self.snapshot.segments[self.number]

    @property
    def column(self) -> int:
        """Id of the column in its segment."""
        return int(self.found.hits.hits.columns[self.position])
