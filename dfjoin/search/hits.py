"""Candidate columns as arrays: ranked by the full order of results, named once the best are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.segment import Segment
from dfjoin.search.params import SearchStats
from dfjoin.search.query import KeyQuery

_PROFILE_FIELDS = ("kind", "n_rows", "n_null")
_RANGE_FIELDS = ("has_range", "min_integer", "max_integer")


@dataclass(frozen=True, slots=True)
class Hits:
    """Columns that share a value with a query, one entry of each array for a column.

    Parameters
    ----------
    segments, columns : ndarray of int64, shape (n,)
        Number of the segment, and id of the column there.
    matched, matched_rows : ndarray of int64, shape (n,)
        Distinct values of the query that it holds; what it is ranked by: the same, or rows of the query.
    cardinality : ndarray of int64, shape (n,)
        Its distinct values.
    errors : ndarray of float64, shape (n,)
        Standard error of its containment where the counts are estimates, NaN where they are exact.
    is_ranked : bool
        They are the best of one segment, in the order of results already.
    """

    segments: NDArray[np.int64]
    columns: NDArray[np.int64]
    matched: NDArray[np.int64]
    matched_rows: NDArray[np.int64]
    cardinality: NDArray[np.int64]
    errors: NDArray[np.float64]
    is_ranked: bool = False

    def __len__(self) -> int:
        return self.columns.size

    def take(self, positions: NDArray[np.int64], is_ranked: bool = False) -> Hits:
        """Return some of the hits, in the order of `positions`, which may be that of results."""
        counts = self.matched[positions], self.matched_rows[positions], self.cardinality[positions]
        return Hits(self.segments[positions], self.columns[positions], *counts, self.errors[positions], is_ranked)

    def by_segment(self) -> Iterator[tuple[int, NDArray[np.int64] | slice]]:
        """Yield the number of each segment, and the places of its columns. O(n) for each segment."""
        if not len(self):
            return
        first, last = int(self.segments.min()), int(self.segments.max())
        if first == last:
            yield first, slice(None)
            return
        for number in np.flatnonzero(np.bincount(self.segments)).tolist():
            yield number, np.flatnonzero(self.segments == number)


_HIT_FIELDS = tuple(field.name for field in fields(Hits) if field.name != "is_ranked")


def join_hits(parts: Sequence[Hits]) -> Hits:
    """Put hits behind one another."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        none = np.empty(0, np.int64)
        return Hits(none, none, none, none, none, np.empty(0, np.float64))
    joined: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _HIT_FIELDS}
    return Hits(**joined)


def best_positions(hits: Hits, most: int) -> NDArray[np.int64]:
    """Return the places of the best hits, ascending, among equal ones the first columns; all if there are fewer.

    Only hits that share as much as the last of the best are ordered. O(n).
    """
    positions, counts = np.arange(len(hits)), hits.matched_rows
    if positions.size > most:
        least = np.partition(counts, positions.size - most)[positions.size - most]
        positions = np.flatnonzero(counts >= least)
        keys = (hits.columns[positions], hits.segments[positions], hits.cardinality[positions], -counts[positions])
        positions = np.sort(positions[np.lexsort(keys)[:most]])
    return positions


@dataclass(frozen=True, slots=True)
class RankedHits:
    """Hits, best first, with what the catalogue says of them.

    Parameters
    ----------
    hits : Hits
    tables, names : list of str
        Name of the table and of the column of each.
    profile : dict of str
        Numeric fields of their catalogue records, arrays of shape (n,); ranges where they were asked for.
    order : ndarray of int64, shape (n,)
        Place that each had among the hits that were ranked.
    """

    hits: Hits
    tables: list[str]
    names: list[str]
    profile: dict[str, NDArray[Any]]
    order: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.hits)


def rank_hits(segments: Sequence[Segment], hits: Hits, k: int | None, has_range: bool) -> RankedHits:
    """Rank hits by the full order of results and read the catalogue for the best.

    Parameters
    ----------
    segments : sequence of Segment
        Of the snapshot.
    hits : Hits
        In any order.
    k : int or None
        How many to keep; None: all.
    has_range : bool
        Read the ranges of columns of integers as well.

    Returns
    -------
    RankedHits
        Matched values (or rows) descending, cardinality ascending, table and column by code point.
    """
    fields = _PROFILE_FIELDS + _RANGE_FIELDS if has_range else _PROFILE_FIELDS
    if hits.is_ranked:
        return RankedHits(hits, *_read_catalog(segments, hits, fields), np.arange(len(hits)))
    order = rank_columns(segments, (hits.segments, hits.columns), (-hits.matched_rows, hits.cardinality), k)
    best = hits.take(order)
    return RankedHits(best, *_read_catalog(segments, best, fields), order)


def rank_columns(
    segments: Sequence[Segment],
    columns: tuple[NDArray[np.int64], NDArray[np.int64]],
    keys: tuple[NDArray[Any], NDArray[Any]],
    k: int | None = None,
) -> NDArray[np.int64]:
    """Order columns by two keys, and among equals by the names of table and column.

    Parameters
    ----------
    segments : sequence of Segment
    columns : pair of ndarray, shape (n,)
        Number of the segment, and id of the column there. Ids are in order of (table, column).
    keys : pair of ndarray, shape (n,)
        What is compared first and second, ascending.
    k : int or None
        How many are wanted; None: all.

    Returns
    -------
    ndarray of int64, shape (n,) or (k,)
        Places of the columns, best first.

    Notes
    -----
    Names are read only of columns of several segments whose keys are equal. O(n log n).
    """
    numbers, ids = columns
    order = np.lexsort((ids, numbers, keys[1], keys[0]))
    if order.size == 0 or bool((numbers == numbers[0]).all()):
        return order[:k]
    first, second = keys[0][order], keys[1][order]
    is_new = np.append(True, (first[1:] != first[:-1]) | (second[1:] != second[:-1]))
    starts = np.append(np.flatnonzero(is_new), order.size).tolist()
    for start, end in zip(starts, starts[1:], strict=False):
        if k is not None and start >= k:
            break
        tied = order[start:end]
        if numbers[tied[0]] != numbers[tied[-1]]:
            order[start:end] = sorted(tied.tolist(), key=_name_key(segments, numbers, ids))
    return order[:k]


def _name_key(
    segments: Sequence[Segment], numbers: NDArray[np.int64], ids: NDArray[np.int64]
) -> Callable[[int], tuple[str, str]]:
    """Return the sort key of columns by table and name; Python compares texts by code point."""

    def key(position: int) -> tuple[str, str]:
        catalog, column = segments[numbers[position]].catalog, int(ids[position])
        return catalog.table_name(column), catalog.column_name(column)

    return key


def _read_catalog(
    segments: Sequence[Segment], hits: Hits, fields: tuple[str, ...]
) -> tuple[list[str], list[str], dict[str, NDArray[Any]]]:
    """Read the names of tables and columns of hits, and some numeric fields of their catalogue records."""
    n = len(hits)
    numbers = hits.segments.tolist()
    if n and numbers[0] == numbers[-1] and len(set(numbers)) == 1:
        catalog = segments[numbers[0]].catalog
        tables, names = catalog.names_of(hits.columns)
        return tables, names, {name: catalog.numbers[name][hits.columns] for name in fields}
    tables, names = [""] * n, [""] * n
    profile = {name: np.empty(n, np.int64) for name in fields}
    for number in sorted(set(numbers)):
        catalog = segments[number].catalog
        positions = np.flatnonzero(hits.segments == number)
        columns = hits.columns[positions]
        for position, table, name in zip(positions.tolist(), *catalog.names_of(columns), strict=True):
            tables[position], names[position] = table, name
        for name in fields:
            profile[name][positions] = catalog.numbers[name][columns]
    return tables, names, profile


# Records of the search with a key of several columns: what a table shares with the key, and all that was
# found.


@dataclass(frozen=True)
class KeyColumn:
    """A column of the lake that shares values with one column of a key.

    Parameters
    ----------
    column : int
        Id in its segment.
    matched : int
        Shared values.
    rows : int
        Rows that may hold a shared value: those that are no null, less one for each value of the column alone.
    score, gain : float
        Probability that both mean the same, and what a join would bring, as for a key of this column alone.
    has_all : bool
        The frame has the headers of all other columns of the table.
    """

    column: int
    matched: int
    rows: int
    score: float
    gain: float
    has_all: bool


@dataclass(frozen=True)
class KeyMatch:
    """A table, the columns of it that are the key, and the tuples that its rows share with the query.

    Parameters
    ----------
    table : str
    columns : tuple of str
        In the order of the key.
    parts : tuple of KeyColumn
    keys : ndarray of int64
        Numbers of the shared tuples, ascending.
    possible : int
        Tuples each part of which its column holds.
    cardinality : int
        Distinct tuples of the table.
    n_rows : int
        Of the table.
    kind : str
        Kinds of the columns.
    is_unique : bool
        No tuple occurs twice in the table.
    alone : list of str
        Some tuples of the table alone.
    brings : list of str
        Names of the columns that the frame does not have.
    """

    table: str
    columns: tuple[str, ...]
    parts: tuple[KeyColumn, ...]
    keys: NDArray[np.int64]
    possible: int
    cardinality: int
    n_rows: int
    kind: str
    is_unique: bool
    alone: list[str]
    brings: list[str]

    @property
    def matched(self) -> int:
        """Shared tuples."""
        return int(self.keys.size)


@dataclass(frozen=True)
class KeyHit:
    """A table that shares tuples with a key.

    Parameters
    ----------
    match : KeyMatch
    score, usefulness : float
        See `search_key`.
    is_copy : bool
        The table is a copy of the frame.
    n_similar : int
        Other tables of its family that hold candidates for every column; they were not read.
    """

    match: KeyMatch
    score: float
    usefulness: float
    is_copy: bool
    n_similar: int = 0


@dataclass
class KeySearch:
    """What the search with a key of several columns found.

    Parameters
    ----------
    query : KeyQuery
    hits : list of KeyHit
        Best first.
    stats : SearchStats
        What was read of the index; its candidates are the tables whose rows were compared.
    notes : dict
        ``n_candidates``, tables with a candidate for every column; ``n_read``, tables whose files were read, since the
        index keeps no row signatures of them; ``unread``, tables whose files have changed or cannot be read, and why,
        of at most 20.
    """

    query: KeyQuery
    hits: list[KeyHit] = field(default_factory=list)
    stats: SearchStats = field(default_factory=SearchStats)
    notes: dict[str, Any] = field(default_factory=dict)

    def hit_of(self, table: str, column: str) -> KeyHit | None:
        """Return the hit that a row of the result shows."""
        found = (hit for hit in self.hits if hit.match.table == table)
        return next((hit for hit in found if " + ".join(hit.match.columns) == column), None)
