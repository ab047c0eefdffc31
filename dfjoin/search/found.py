"""Results of the search of each query column, kept so that a frame explains its rows without a new search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from dfjoin.index.segment import Segment
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.hits import Hits, RankedHits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.features import SharedEvidence
from dfjoin.search.usefulness.useful_hits import Usefulness
from dfjoin.store.snapshot import Snapshot

if TYPE_CHECKING:
    from dfjoin.search.hits import KeyHit, KeySearch
    from dfjoin.transform.evidence.transform_join import TransformJoin


RowName = tuple[str, str, str]
"""Query column, table and column of a row of a result."""


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
        joins = [self.joins[position] for position in useful.places] if self.joins else ()
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
        return {key: value for key, value in self.joins[position].to_dict().items() if key != "tried"}


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
