"""Tables that hold candidates for every column of a key: how many tuples each can share, and how many it does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product
from math import log10, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.catalog import NOT_IN_FILE
from dfjoin.index.segment import Segment
from dfjoin.search.exact.matcher import match_tokens
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.key_query import KeyQuery
from dfjoin.search.key_rows import KeyColumn, KeyRows, KeyTable, read_values, stored_values
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.shared_values import shared_mask
from dfjoin.search.usefulness.features import features_of, query_facts
from dfjoin.search.usefulness.lake_facts import facts_of
from dfjoin.search.usefulness.model import model
from dfjoin.search.usefulness.shared_evidence import count_evidence
from dfjoin.store.snapshot import Snapshot
from dfjoin.store.table import LakeTable

__all__ = ["KeyTables", "KeyWay"]

_MOST_WAYS = 64
"""Choices of columns of one table that are tried, the best by shared values."""

_SHIFT = 32
_DECIMALS = 6


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


class KeyWay(NamedTuple):
    """A choice of columns of a table for the columns of a key.

    Parameters
    ----------
    parts : tuple of KeyColumn
    possible : int
        Tuples each part of which its column holds.
    most : int
        Tuples that the rows of the columns can share at most.
    score : float
        Geometric mean of the scores of the columns.
    gain : float
        The most that one of them brings.
    n_keys : int
        Tuples of the key.
    """

    parts: tuple[KeyColumn, ...]
    possible: int
    most: int
    score: float
    gain: float
    n_keys: int

    @property
    def useful(self) -> float:
        """The most that the usefulness can be, without the last rounding."""
        return self.score * self.gain * self.most / max(1, self.possible) * self.most / max(1, self.n_keys)

    @property
    def may_be_copy(self) -> bool:
        """The table may have no other columns than the frame."""
        return all(part.has_all for part in self.parts)

    def score_of(self, matched: int) -> float:
        """Return the score of the way where so many tuples are shared, rounded as those of single columns are."""
        return round(self.score * matched / max(1, self.possible), _DECIMALS)

    def usefulness_of(self, matched: int, n_rows: int) -> float:
        """Return the usefulness of the way where so many tuples are shared by so many rows of the table."""
        n_each = n_rows / max(1, matched)
        share = matched / max(1, self.n_keys)
        return round(self.score_of(matched) * self.gain * share / (1.0 + log10(max(1.0, n_each))), _DECIMALS)


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
        Tuples that each can share at most, by the counts of its columns and of their rows.
    score, gain : ndarray of float64, shape (n,)
        The most that the score and the gain of its columns can be.
    stats : SearchStats
        What was read of the index.
    n_opened : int
        Tables whose files were read.

    Notes
    -----
    O(values + postings) for each column.
    """

    def __init__(self, snapshot: Snapshot, query: KeyQuery, params: SearchParams) -> None:
        self._snapshot = snapshot
        self._query = query
        self._found: dict[int, tuple[NDArray[np.int64], ...]] = {}
        self.n_opened = 0
        self._groups = [MatchedQuery(snapshot, column.values) for column in query.columns]
        self.stats = SearchStats()
        self._candidates = [self._find(number, matched, params) for number, matched in enumerate(self._groups)]
        common = self._candidates[0].tables
        for found in self._candidates[1:]:
            common = common[np.isin(common, found.tables)]
        self.tables = common
        bounds, scores, gains = [], [], []
        for found in self._candidates:
            places = np.searchsorted(found.tables, common)
            bounds.append(found.most("tuples")[places].astype(np.int64))
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

    def _find(self, part: int, matched: MatchedQuery, params: SearchParams) -> _ByTable:
        """Find the candidates of one column of the key, in the order of their tables."""
        column = self._query.columns[part]
        evidence, stats = count_evidence(self._snapshot, matched, params)
        self.stats.add(stats)
        features, weights = features_of(self._snapshot, query_facts(column), evidence), model()
        hits = evidence.hits
        tables, n_filled = np.empty(len(hits), np.int64), np.empty(len(hits), np.int64)
        for number in np.unique(hits.segments).tolist():
            own = hits.segments == number
            numbers, columns = self._snapshot.segments[number].catalog.numbers, hits.columns[own]
            tables[own] = (number << _SHIFT) + numbers["table"][columns].astype(np.int64)
            n_filled[own] = numbers["n_rows"][columns].astype(np.int64) - numbers["n_null"][columns]
        # the most tuples that m values can be part of: those of the m most frequent ones
        n_tuples = np.sort(np.bincount(self._query.parts[:, part], minlength=1))[::-1]
        most = np.append(0, np.cumsum(n_tuples))[np.minimum(hits.matched, n_tuples.size)]
        rows = n_filled - np.maximum(0, hits.cardinality - hits.matched)
        order = np.argsort(tables, kind="stable")
        distinct, starts = np.unique(tables[order], return_index=True)
        values = {
            "column": hits.columns,
            "matched": hits.matched,
            "rows": rows,
            "tuples": np.minimum(most, rows),
            "score": weights.score.probabilities(features),
            "gain": weights.gains(features),
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

    def ways(self, place: int) -> tuple[list[KeyWay], bool]:
        """Choose the columns of a table that may be the key.

        Returns
        -------
        ways : list of KeyWay
            Different columns for the columns of the key.
        is_complete : bool
            There are no other ways.
        """
        number, _ = self._place(place)
        segment = self._snapshot.segments[number]
        every = [
            sorted(found.of(int(self.tables[place])), key=lambda c: (-c.matched, -c.score, c.column))
            for found in self._candidates
        ]
        chosen = [way for way in islice(product(*every), 8 * _MOST_WAYS) if len({c.column for c in way}) == len(way)]
        chosen.sort(key=lambda way: -prod(c.matched for c in way))
        is_complete = prod(map(len, every)) <= 8 * _MOST_WAYS and len(chosen) <= _MOST_WAYS
        held: dict[tuple[int, int], NDArray[np.bool_]] = {}
        ways = []
        for way in chosen[:_MOST_WAYS]:
            for part, one in enumerate(way):
                if (part, one.column) not in held:
                    mask = shared_mask(segment, one.column, self._groups[part].groups(number))
                    held[part, one.column] = mask[self._query.parts[:, part]]
            has_all = np.logical_and.reduce([held[part, one.column] for part, one in enumerate(way)])
            possible = int(np.count_nonzero(has_all))
            score, gain = prod(one.score for one in way) ** (1.0 / len(way)), max(one.gain for one in way)
            most = min(possible, *(one.rows for one in way))
            ways.append(KeyWay(way, possible, most, score, gain, self._query.n_keys))
        return ways, is_complete

    def rows(self, place: int, ways: Sequence[KeyWay], end: float) -> KeyRows:
        """Look up the rows of a table in the columns of some ways: in the index where it keeps them, else in its file.

        Raises
        ------
        TimeoutError
            If the monotonic clock is behind `end` before it is read.
        TableChangedError, TableReadError, InvalidParameterError
            If its file is not the one that was indexed, or cannot be read.
        """
        number, table = self._place(place)
        segment = self._snapshot.segments[number]
        columns = {one.column for way in ways for one in way.parts}
        if segment.rows is not None:
            stored = stored_values(segment, columns, self._tokens(number))
            if stored is not None:
                return KeyRows(_catalogued(segment, table), self._query, stored)
        opened = LakeTable(self._snapshot, self.name(place))
        self.n_opened += 1
        read = read_values(opened, segment.catalog, columns, end)
        return KeyRows(KeyTable(opened.name, opened.n_rows, opened.column_names), self._query, read)

    def _tokens(self, number: int) -> tuple[NDArray[np.int64], ...]:
        """Return for each column of the key the tokens of its values in a segment, -1 for none."""
        if number not in self._found:
            tokens = self._snapshot.segments[number].tokens
            self._found[number] = tuple(match_tokens(column.values, tokens) for column in self._query.columns)
        return self._found[number]


def _catalogued(segment: Segment, number: int) -> KeyTable:
    """Describe a table from the catalogue, as `LakeTable` does."""
    catalog = segment.catalog
    record = catalog.table_record(number)
    first, n_columns = record["first_column"], record["n_columns"]
    positions = catalog.numbers["position"][first : first + n_columns]
    places = np.argsort(positions, kind="stable")
    names = [catalog.column_name(first + place) for place in places[positions[places] != NOT_IN_FILE].tolist()]
    return KeyTable(record["name"], record["n_rows"], names)
