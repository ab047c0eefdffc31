"""Tables that hold candidates for every column of a key: how many tuples each can share, and how many it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.key_query import KeyQuery
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.search.row_keys import concat_values, number_rows
from dfjoin.search.shared_values import shared_mask
from dfjoin.search.usefulness.features import features_of, query_facts
from dfjoin.search.usefulness.headers import headers_of
from dfjoin.search.usefulness.lake_facts import facts_of
from dfjoin.search.usefulness.model import model
from dfjoin.search.usefulness.shared_evidence import count_evidence
from dfjoin.store.snapshot import Snapshot
from dfjoin.store.table import LakeTable
from dfjoin.values.normalize import ValueSet

__all__ = ["KeyColumn", "KeyMatch", "KeyTables"]

_MOST_WAYS = 64
"""Choices of columns of one table that are tried, the best by shared values."""

_SHIFT = 32
_N_ALONE = 5
"""Tuples of the table alone that are kept as examples."""


@dataclass(frozen=True)
class KeyColumn:
    """A column of the lake that shares values with one column of a key.

    Parameters
    ----------
    column : int
        Id in its segment.
    matched : int
        Shared values.
    score, gain : float
        Probability that both mean the same, and what a join would bring, as for a key of this column alone.
    has_all : bool
        The frame has the headers of all other columns of the table.
    """

    column: int
    matched: int
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


class _ByTable(NamedTuple):
    """The candidates of one column of a key, in the order of their tables.

    Parameters
    ----------
    tables : ndarray of int64, shape (n_tables,)
        Distinct, ascending.
    starts : ndarray of int64, shape (n_tables + 1,)
        Where the candidates of each begin.
    values : dict of str
        The fields of `KeyColumn`, an array of each.
    """

    tables: NDArray[np.int64]
    starts: NDArray[np.int64]
    values: dict[str, NDArray[Any]]

    def most(self, name: str) -> NDArray[np.float64]:
        """Return the largest value of a field for each table."""
        if self.tables.size == 0:
            return np.empty(0)
        return np.maximum.reduceat(self.values[name].astype(np.float64), self.starts[:-1])

    def of(self, table: int) -> list[KeyColumn]:
        """Return the candidates of a table."""
        place = int(np.searchsorted(self.tables, table))
        own = slice(int(self.starts[place]), int(self.starts[place + 1]))
        columns = zip(*(self.values[name][own].tolist() for name in KeyColumn.__dataclass_fields__), strict=True)
        return [KeyColumn(*one) for one in columns]


class KeyTables:
    """The tables of a lake that hold candidates for every column of a key.

    Parameters
    ----------
    snapshot : Snapshot
    query : KeyQuery
    params : SearchParams
        Which tables and kinds may be returned.

    Attributes
    ----------
    tables : ndarray of int64, shape (n,)
        Number of each table in the lake.
    n_rows : ndarray of int64, shape (n,)
        Of each table.
    matched : ndarray of int64, shape (n,)
        Tuples that each can share at most, by the counts of its columns and its rows.
    score, gain : ndarray of float64, shape (n,)
        The most that the score and the gain of its columns can be.
    stats : SearchStats
        What was read of the index.

    Notes
    -----
    O(values + postings) for each column.
    """

    def __init__(self, snapshot: Snapshot, query: KeyQuery, params: SearchParams) -> None:
        self._snapshot = snapshot
        self._query = query
        self._groups = [MatchedQuery(snapshot, column.values) for column in query.columns]
        self.stats = SearchStats()
        self._candidates = [
            self._find(column, matched, params) for column, matched in zip(query.columns, self._groups, strict=True)
        ]
        common = self._candidates[0].tables
        for found in self._candidates[1:]:
            common = common[np.isin(common, found.tables)]
        self.tables = common
        bounds, scores, gains = [], [], []
        for number, found in enumerate(self._candidates):
            places = np.searchsorted(found.tables, common)
            # the most tuples that m values can be part of: those of the m most frequent ones
            n_tuples = np.sort(np.bincount(query.parts[:, number], minlength=1))[::-1]
            most = np.minimum(found.most("matched")[places].astype(np.int64), n_tuples.size)
            bounds.append(np.append(0, np.cumsum(n_tuples))[most])
            scores.append(found.most("score")[places])
            gains.append(found.most("gain")[places])
        self.n_rows = np.empty(common.size, np.int64)
        for number in np.unique(common >> _SHIFT).tolist():
            own = common >> _SHIFT == number
            n_rows = snapshot.segments[number].catalog.tables().field("n_rows").to_numpy()
            self.n_rows[own] = n_rows[common[own] & ((1 << _SHIFT) - 1)]
        self.matched: NDArray[np.int64] = np.minimum(np.minimum.reduce(bounds), self.n_rows)
        self.score: NDArray[np.float64] = np.multiply.reduce(scores) ** (1.0 / len(scores))
        self.gain: NDArray[np.float64] = np.maximum.reduce(gains)

    def _find(self, column: QueryColumn, matched: MatchedQuery, params: SearchParams) -> _ByTable:
        """Find the candidates of one column of the key, in the order of their tables."""
        evidence, stats = count_evidence(self._snapshot, matched, params)
        self.stats.add(stats)
        features, weights = features_of(self._snapshot, query_facts(column), evidence), model()
        hits = evidence.hits
        tables = np.empty(len(hits), np.int64)
        for number in np.unique(hits.segments).tolist():
            own = hits.segments == number
            of_column = self._snapshot.segments[number].catalog.numbers["table"]
            tables[own] = (number << _SHIFT) + of_column[hits.columns[own]].astype(np.int64)
        order = np.argsort(tables, kind="stable")
        distinct, starts = np.unique(tables[order], return_index=True)
        values = {
            "column": hits.columns,
            "matched": hits.matched,
            "score": weights.score.probabilities(features),
            "gain": weights.usefulness(features, np.ones(len(hits))),
            "has_all": features.column("nothing_new") > 0,
        }
        return _ByTable(distinct, np.append(starts, order.size), {n: v[order] for n, v in values.items()})

    def _place(self, place: int) -> tuple[int, int]:
        """Return the number of the segment of a table, and that of the table there."""
        table = int(self.tables[place])
        return table >> _SHIFT, table & ((1 << _SHIFT) - 1)

    def name(self, place: int) -> str:
        """Return the name of a table."""
        number, table = self._place(place)
        return str(self._snapshot.segments[number].catalog.table_record(table)["name"])

    def family(self, place: int) -> int:
        """Return what tables of one family share, see `LakeFacts.family`."""
        number, table = self._place(place)
        return int(facts_of(self._snapshot.segments[number]).family[table])

    def ways(self, place: int) -> tuple[list[tuple[KeyColumn, ...]], list[int], bool]:
        """Choose the columns of a table that may be the key.

        Returns
        -------
        ways : list of tuple of KeyColumn
            Different columns for the columns of the key.
        possible : list of int
            The tuples each part of which its column holds, for each way: as many as the way can share at most.
        is_complete : bool
            There are no other ways.
        """
        number, _ = self._place(place)
        segment = self._snapshot.segments[number]
        every = [
            sorted(found.of(int(self.tables[place])), key=lambda c: (-c.matched, -c.score, c.column))
            for found in self._candidates
        ]
        ways = [way for way in islice(product(*every), 8 * _MOST_WAYS) if len({c.column for c in way}) == len(way)]
        ways.sort(key=lambda way: -prod(c.matched for c in way))
        is_complete = prod(map(len, every)) <= 8 * _MOST_WAYS and len(ways) <= _MOST_WAYS
        ways = ways[:_MOST_WAYS]
        held: dict[tuple[int, int], NDArray[np.bool_]] = {}
        for way in ways:
            for part, one in enumerate(way):
                if (part, one.column) not in held:
                    mask = shared_mask(segment, one.column, self._groups[part].groups(number))
                    held[part, one.column] = mask[self._query.parts[:, part]]
        possible = [
            int(np.logical_and.reduce([held[part, one.column] for part, one in enumerate(way)]).sum()) for way in ways
        ]
        return ways, possible, is_complete

    def match(self, place: int, ways: Sequence[tuple[KeyColumn, ...]], possible: Sequence[int]) -> list[KeyMatch]:
        """Read a table, and find out which tuples each of some ways shares row by row.

        Raises
        ------
        TableChangedError, TableReadError, InvalidParameterError
            If its file is not the one that was indexed, or cannot be read.

        Notes
        -----
        One pass over the columns of the ways. O(rows log rows) for each way.
        """
        number, _ = self._place(place)
        catalog = self._snapshot.segments[number].catalog
        table = LakeTable(self._snapshot, self.name(place))
        names = {c.column: catalog.column_name(c.column) for way in ways for c in way}
        readable = set(table.column_names)
        values = _read_values(table, [name for name in names.values() if name in readable])
        kinds = catalog.numbers["kind"]
        found = []
        for way, n_possible in zip(ways, possible, strict=True):
            columns = tuple(names[c.column] for c in way)
            if not readable.issuperset(columns):
                continue
            parts = [values[name] for name in columns]
            codes = self._query.index.match(parts)
            own, n_own, _ = number_rows([(part.codes, len(part)) for part in parts])
            alone = np.flatnonzero((codes < 0) & (own >= 0))
            rows = np.sort(alone[np.unique(own[alone], return_index=True)[1]])[:_N_ALONE]
            found.append(
                KeyMatch(
                    table.name,
                    columns,
                    way,
                    np.unique(codes[codes >= 0]),
                    n_possible,
                    n_own,
                    table.n_rows,
                    " + ".join(KINDS[kinds[c.column]] for c in way),
                    int(np.count_nonzero(own >= 0)) == n_own,
                    [" + ".join(part.value(int(part.codes[row])) for part in parts) for row in rows.tolist()],
                    self._brought(table, columns),
                )
            )
        return found

    def _brought(self, table: LakeTable, columns: Sequence[str]) -> list[str]:
        """Name the columns of a table that are no part of the key, and that the frame does not have."""
        names = [name for name in table.column_names if name not in columns]
        if not names:
            return []
        query = self._query.columns
        known = headers_of([*query[0].companions, *(column.name for column in query)]).joined
        own = headers_of(names).joined
        is_new = ~np.isin(own, known) | (own == 0)
        return [name for name, new in zip(names, is_new.tolist(), strict=True) if new]


def _read_values(table: LakeTable, names: Sequence[str]) -> dict[str, ValueSet]:
    """Read some columns of a table in canonical form."""
    parts: dict[str, list[ValueSet]] = {name: [] for name in names}
    for batch in table.batches(names):
        for i, name in enumerate(names):
            parts[name].append(table.normalize(name, batch.column(i)))
    return {name: concat_values(own, table.settings) for name, own in parts.items() if own}
