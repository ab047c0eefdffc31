"""Search with a key of several columns: tables that hold a candidate for each, verified row by row, best first."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import numpy as np

from dfjoin.errors import InvalidParameterError, TableChangedError, TableReadError, warn
from dfjoin.search.exact.searcher import smallest_count
from dfjoin.search.key_query import KeyQuery
from dfjoin.search.key_tables import KeyColumn, KeyMatch, KeyTables
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.store.snapshot import Snapshot

__all__ = ["KeyHit", "KeySearch", "search_key"]

_SECONDS = 10.0
"""How long tables are read."""

_DECIMALS = 6
"""Scores are rounded, as those of single columns are."""


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
        What was read of the index; its candidates are the tables that were read.
    notes : dict
        ``n_candidates``, tables with a candidate for every column; ``unread``, tables whose files have changed or
        cannot be read, and why, of at most 20.
    """

    query: KeyQuery
    hits: list[KeyHit] = field(default_factory=list)
    stats: SearchStats = field(default_factory=SearchStats)
    notes: dict[str, Any] = field(default_factory=dict)

    def hit_of(self, table: str, column: str) -> KeyHit | None:
        """Return the hit that a row of the result shows."""
        found = (hit for hit in self.hits if hit.match.table == table)
        return next((hit for hit in found if " + ".join(hit.match.columns) == column), None)


def search_key(snapshot: Snapshot, query: KeyQuery, params: SearchParams) -> KeySearch:
    """Find the tables of a lake that share the most tuples with a key, or join with it most usefully.

    Parameters
    ----------
    snapshot : Snapshot
    query : KeyQuery
    params : SearchParams
        `k`, `threshold`, `rank`, `min_score`, `families`, and which tables and kinds may be returned.

    Returns
    -------
    KeySearch
        One hit for each table: the columns of it that rank first. By matched tuples: these descending, distinct tuples
        of the table ascending, table and columns by code point; by usefulness: that before them.

    Notes
    -----
    A tuple is shared if a row of the table holds it. The score is the geometric mean of the scores of the columns,
    times the share of the tuples with all parts in the table that also stand in one row of it; the usefulness is the
    score times the most that a column's join brings.

    Tables wait in a queue by the most that they can reach: first by the counts of their columns and rows, then by the
    tuples whose parts the sets of their columns hold, and then by what their rows hold, which are read only if the
    table comes first until then. The result is that of reading every table, unless the time (10 seconds) is over or a
    table has more than 64 choices of columns: `SearchStats.is_complete` says so. Source of the filter by single
    columns, and of verifying rows: Esmailoghli, Quiané-Ruiz, Abedjan: "MATE: Multi-Attribute Table Extraction", PVLDB
    2022, section 3. Deviation: bounds come from the sets of the index, not from row signatures (super keys).
    """
    inner = SearchParams(k=None, tables=params.tables, exclude=params.exclude, kinds=params.kinds, min_score=0.0)
    tables = KeyTables(snapshot, query, inner)
    return _Queue(tables, query, params).run()


class _Queue:
    """The queue of tables by the most that each can reach."""

    def __init__(self, tables: KeyTables, query: KeyQuery, params: SearchParams) -> None:
        self._tables = tables
        self._query = query
        self._params = params
        self._least = smallest_count(params.threshold, query.n_keys)
        self._least_score = params.smallest_score if params.is_by_usefulness else 0.0
        self._is_complete = True
        self._unread: dict[str, str] = {}
        self._n_read = 0
        self._heap: list[tuple[Any, ...]] = []
        self._ways: dict[int, tuple[list[tuple[KeyColumn, ...]], list[int]]] = {}
        for place in np.flatnonzero((tables.matched >= self._least) & (tables.score >= self._least_score)).tolist():
            most = float(tables.score[place] * tables.gain[place])
            self._push(most, int(tables.matched[place]), place)

    def _push(self, useful: float, matched: int, place: int, hit: KeyHit | None = None) -> None:
        """Put a table into the queue; one that may still reach as much as a hit comes before it."""
        key: tuple[Any, ...] = (-matched,)
        if self._params.is_by_usefulness:
            key = (-round(useful, _DECIMALS), -matched)
        last = (0, 0, "", (), place)
        if hit is not None:
            last = (1, hit.match.cardinality, hit.match.table, hit.match.columns, place)  # type: ignore[assignment]
        heapq.heappush(self._heap, (*key, *last, hit))

    def run(self) -> KeySearch:
        """Take tables out of the queue until enough are found."""
        tables, families = self._tables, self._params.families and self._params.is_by_usefulness
        end = monotonic() + _SECONDS
        hits: list[KeyHit] = []
        shown: dict[int, int] = {}
        similar: dict[int, int] = {}
        limit = self._params.k
        while self._heap and (limit is None or len(hits) < limit):
            *_, place, hit = heapq.heappop(self._heap)
            family = tables.family(place) if families else -1 - place
            if family in shown:
                similar[family] += 1
            elif hit is not None:
                shown[family], similar[family] = len(hits), 0
                hits.append(hit)
            elif monotonic() > end:
                self._is_complete = False
            else:
                self._refine(place)
        for *_, place, _hit in self._heap if families else ():
            family = tables.family(place)
            if family in similar:
                similar[family] += 1
        hits = [
            KeyHit(hit.match, hit.score, hit.usefulness, hit.is_copy, similar[family])
            for hit, family in zip(hits, shown, strict=True)
        ]
        stats = tables.stats
        stats.candidates, stats.is_complete = self._n_read, self._is_complete
        notes: dict[str, Any] = {"ranked_by": self._params.rank, "n_candidates": int(tables.tables.size)}
        if self._unread:
            notes["unread"] = dict(list(self._unread.items())[:20])
            warn(
                f"{len(self._unread):,} tables that may share keys could not be read, the first: "
                f"{next(iter(self._unread.values()))}"
            )
        return KeySearch(self._query, hits, stats, notes)

    def _refine(self, place: int) -> None:
        """Find out more of a table: what its columns hold, then what its rows hold."""
        tables = self._tables
        if place not in self._ways:
            ways, possible, is_complete = tables.ways(place)
            self._is_complete &= is_complete
            kept = [i for i, n in enumerate(possible) if n >= self._least and _score(ways[i]) >= self._least_score]
            if kept:
                self._ways[place] = [ways[i] for i in kept], [possible[i] for i in kept]
                n_rows = int(tables.n_rows[place])
                shares = {i: min(1.0, n_rows / possible[i]) if possible[i] else 0.0 for i in kept}
                most = max(_score(ways[i]) * _gain(ways[i]) * shares[i] for i in kept)
                self._push(most, min(n_rows, max(possible[i] for i in kept)), place)
            return
        ways, possible = self._ways.pop(place)
        self._n_read += 1
        try:
            found = tables.match(place, ways, possible)
        except (TableChangedError, TableReadError, InvalidParameterError) as error:
            self._unread[tables.name(place)] = str(error)
            return
        hits = [self._judge(match) for match in found if match.matched >= self._least]
        hits = [hit for hit in hits if hit.score >= self._least_score]
        if hits:
            best = min(hits, key=self._order)
            self._push(best.usefulness, best.match.matched, place, best)

    def _order(self, hit: KeyHit) -> tuple[Any, ...]:
        match = hit.match
        first = (-hit.usefulness,) if self._params.is_by_usefulness else ()
        return (*first, -match.matched, match.cardinality, match.columns)

    def _judge(self, match: KeyMatch) -> KeyHit:
        """Compute score and usefulness of a table from its columns and rows."""
        score = round(_score(match.parts) * match.matched / max(1, match.possible), _DECIMALS)
        is_copy = all(part.has_all for part in match.parts) and not match.brings
        is_copy &= match.matched == self._query.n_keys == match.cardinality
        useful = 0.0 if is_copy else round(score * _gain(match.parts), _DECIMALS)
        return KeyHit(match, score, useful, is_copy)


def _score(parts: Sequence[KeyColumn]) -> float:
    """Return the geometric mean of the scores of some columns."""
    return float(np.prod([part.score for part in parts]) ** (1.0 / len(parts)))


def _gain(parts: Sequence[KeyColumn]) -> float:
    return max(part.gain for part in parts)
