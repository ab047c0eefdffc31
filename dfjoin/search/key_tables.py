"""Tables that hold candidates for every column of a key: how many tuples each can share, and how many it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import log10, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.catalog import NOT_IN_FILE
from dfjoin.index.segment import Segment
from dfjoin.kernels.lists.key_tuples import count_possible, mark_held
from dfjoin.kernels.lists.usefulness import GAIN, NOTHING_NEW, SCORE
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.search.exact.posting_lists import match_tokens
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.hits import KeyColumn
from dfjoin.search.key_rows import KeyRows, KeyTable, read_values, stored_values
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import KeyQuery
from dfjoin.search.usefulness.features import SharedEvidence, count_evidence, query_facts, scores_of
from dfjoin.search.usefulness.lake_facts import facts_of
from dfjoin.search.usefulness.model import model
from dfjoin.store.snapshot import Snapshot
from dfjoin.store.table import LakeTable, is_mostly_null

_MOST_CHOICES = 1 << 12
"""Choices of columns of one table that are tried, those of the columns that share most values."""

_SHIFT = 32
SCORE_DECIMALS = 6
"""Scores are rounded, as those of single columns are."""


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

    def keep(self, tables: NDArray[np.int64]) -> _ByTable:
        """Keep the candidates of some tables, given in ascending order."""
        positions = np.searchsorted(self.tables, tables)
        starts, lengths = self.starts[positions], np.diff(self.starts)[positions]
        flat = expand_stretches(starts, lengths)
        kept = {name: values[flat] for name, values in self.values.items()}
        return _ByTable(tables, np.append(0, np.cumsum(lengths)), kept)

    def of(self, position: int) -> list[KeyColumn]:
        """Return the candidates of a table, by its place among these."""
        own = slice(int(self.starts[position]), int(self.starts[position + 1]))
        columns = zip(*(self.values[name][own].tolist() for name in KeyColumn.__dataclass_fields__), strict=True)
        return [KeyColumn(*one) for one in columns]


class KeyChoice(NamedTuple):
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
    def may_be_copy(self) -> bool:
        """The table may have no other columns than the frame."""
        return all(part.has_all for part in self.parts)

    def score_of(self, matched: int) -> float:
        """Return the score of the choice where so many tuples are shared, rounded as those of single columns are."""
        return round(self.score * matched / max(1, self.possible), SCORE_DECIMALS)

    def usefulness_of(self, matched: int, n_rows: int) -> float:
        """Return the usefulness of the choice where so many tuples are shared by so many rows of the table."""
        n_each = n_rows / max(1, matched)
        share = matched / max(1, self.n_keys)
        return round(self.score_of(matched) * self.gain * share / (1.0 + log10(max(1.0, n_each))), SCORE_DECIMALS)


class TableChoices:
    """The choices of columns of a table for the columns of a key.

    Parameters
    ----------
    entries : list of KeyColumn
        Candidates for the columns of the key.
    choices : ndarray of int32, shape (n_choices, n_parts)
        Which of them each choice has.
    possible : ndarray of int64, shape (n_choices,)
        See `KeyChoice`, as for the other arrays.
    n_keys : int

    Attributes
    ----------
    most : ndarray of int64, shape (n_choices,)
    score, gain, useful : ndarray of float64, shape (n_choices,)
    """

    def __init__(
        self, entries: list[KeyColumn], choices: NDArray[np.int32], possible: NDArray[np.int64], n_keys: int
    ) -> None:
        self._entries, self._choices, self._possible, self._n_keys = entries, choices, possible, n_keys
        rows = np.array([one.rows for one in entries], np.int64)[choices]
        scores = np.array([one.score for one in entries])[choices]
        self.most = np.minimum(possible, rows.min(axis=1))
        self.score = scores.prod(axis=1) ** (1.0 / choices.shape[1])
        self.gain = np.array([one.gain for one in entries])[choices].max(axis=1)
        shares = self.most / np.maximum(1, possible) * self.most / max(1, n_keys)
        self.useful = self.score * self.gain * shares

    def __len__(self) -> int:
        return len(self._choices)

    def __getitem__(self, i: int) -> KeyChoice:
        parts = tuple(self._entries[entry] for entry in self._choices[i].tolist())
        score, gain = float(self.score[i]), float(self.gain[i])
        return KeyChoice(parts, int(self._possible[i]), int(self.most[i]), score, gain, self._n_keys)

    def keep(self, is_kept: NDArray[np.bool_]) -> TableChoices:
        """Keep some of the choices."""
        return TableChoices(self._entries, self._choices[is_kept], self._possible[is_kept], self._n_keys)

    @property
    def columns(self) -> list[int]:
        """Ids of the columns that some choice has."""
        chosen = np.unique(self._choices)
        return list(dict.fromkeys(self._entries[entry].column for entry in chosen.tolist()))


class CandidateTables(NamedTuple):
    """The tables of a lake that hold candidates for every column of a key.

    Parameters
    ----------
    tables : ndarray of int64, shape (n,)
        Number of each table in the lake.
    matched : ndarray of int64, shape (n,)
        Tuples that each can share at most, by the counts of its columns and of their rows.
    score, gain : ndarray of float64, shape (n,)
        The most that the score and the gain of its columns can be.
    of_parts : tuple of _ByTable
        The candidates of each column of the key, of these tables.
    """

    tables: NDArray[np.int64]
    matched: NDArray[np.int64]
    score: NDArray[np.float64]
    gain: NDArray[np.float64]
    of_parts: tuple[_ByTable, ...]

    def take(self, positions: NDArray[np.int64]) -> CandidateTables:
        """Return some of the tables, given in ascending order."""
        kept = tuple(part.keep(self.tables[positions]) for part in self.of_parts)
        numbers = self.tables[positions], self.matched[positions], self.score[positions], self.gain[positions]
        return CandidateTables(*numbers, kept)


def find_candidates(snapshot: Snapshot, query: KeyQuery, params: SearchParams) -> KeyTables:
    """Find the tables that hold candidates for every column of a key. O(values + postings) for each column.

    Parameters
    ----------
    snapshot : Snapshot
    query : KeyQuery
    params : SearchParams
        Which tables and kinds may be returned.

    Returns
    -------
    KeyTables
    """
    values, stats, found = [MatchedQuery(snapshot, column.values) for column in query.columns], SearchStats(), []
    for part, matched in enumerate(values):
        evidence, read = count_evidence(snapshot, matched, params)
        stats.add(read)
        found.append(_by_table(snapshot, query, part, evidence))
    common = reduce(np.intersect1d, [one.tables for one in found])
    of_parts = tuple(one.keep(common) for one in found)
    n_rows = np.empty(common.size, np.int64)
    for number in np.unique(common >> _SHIFT).tolist():
        own = common >> _SHIFT == number
        of_segment = snapshot.segments[number].catalog.tables().field("n_rows").to_numpy()
        n_rows[own] = of_segment[common[own] & ((1 << _SHIFT) - 1)]
    tuples = np.minimum.reduce([one.most("tuples") for one in of_parts]).astype(np.int64)
    score = np.multiply.reduce([one.most("score") for one in of_parts]) ** (1.0 / len(of_parts))
    gain = np.maximum.reduce([one.most("gain") for one in of_parts])
    candidates = CandidateTables(common, np.minimum(tuples, n_rows), score, gain, of_parts)
    return KeyTables(snapshot, query, candidates, values, stats)


def _by_table(snapshot: Snapshot, query: KeyQuery, part: int, evidence: SharedEvidence) -> _ByTable:
    """Put the candidates of one column of a key in the order of their tables."""
    scores = scores_of(snapshot, query_facts(query.columns[part]), evidence, model().numbers)
    hits = evidence.hits
    tables, n_filled = np.empty(len(hits), np.int64), np.empty(len(hits), np.int64)
    for number in np.unique(hits.segments).tolist():
        own = hits.segments == number
        numbers, columns = snapshot.segments[number].catalog.numbers, hits.columns[own]
        tables[own] = (number << _SHIFT) + numbers["table"][columns].astype(np.int64)
        n_filled[own] = numbers["n_rows"][columns].astype(np.int64) - numbers["n_null"][columns]
    # the most tuples that m values can be part of: those of the m most frequent ones
    n_tuples = np.sort(np.bincount(query.parts[:, part], minlength=1))[::-1]
    most = np.append(0, np.cumsum(n_tuples))[np.minimum(hits.matched, n_tuples.size)]
    rows = n_filled - np.maximum(0, hits.cardinality - hits.matched)
    order = np.argsort(tables, kind="stable")
    distinct, starts = np.unique(tables[order], return_index=True)
    values = {
        "column": hits.columns,
        "matched": hits.matched,
        "rows": rows,
        "tuples": np.minimum(most, rows),
        "score": scores[SCORE],
        "gain": scores[GAIN],
        "has_all": scores[NOTHING_NEW] > 0,
    }
    return _ByTable(distinct, np.append(starts, order.size), {n: v[order] for n, v in values.items()})


class KeyTables:
    """Tables that hold candidates for every column of a key, and their rows.

    Parameters
    ----------
    snapshot : Snapshot
    query : KeyQuery
    candidates : CandidateTables
    values : sequence of MatchedQuery, optional
        The values of each column of the key.
    stats : SearchStats, optional
        What was read of the index to find the candidates.

    Attributes
    ----------
    n_opened : int
        Tables whose files were read.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        query: KeyQuery,
        candidates: CandidateTables,
        values: Sequence[MatchedQuery] | None = None,
        stats: SearchStats | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._query = query
        self.candidates = candidates
        self.stats = stats or SearchStats()
        self._values = values or [MatchedQuery(snapshot, column.values) for column in query.columns]
        self._found: dict[int, tuple[NDArray[np.int64], ...]] = {}
        self.n_opened = 0

    def _segment_and_table(self, position: int) -> tuple[int, int]:
        """Return the number of the segment of a table, and that of the table there."""
        table = int(self.candidates.tables[position])
        return table >> _SHIFT, table & ((1 << _SHIFT) - 1)

    def name(self, position: int) -> str:
        """Return the name of a table."""
        number, table = self._segment_and_table(position)
        return str(self._snapshot.segments[number].catalog.table_record(table)["name"])

    def family(self, position: int) -> int:
        """Return what tables of one family share, see `LakeFacts.family`."""
        number, table = self._segment_and_table(position)
        return int(facts_of(self._snapshot.segments[number]).family[table])

    def choices(self, position: int) -> tuple[TableChoices, bool]:
        """Choose the columns of a table that may be the key.

        Returns
        -------
        choices : TableChoices
            Different columns for the columns of the key.
        is_complete : bool
            There are no other choices.

        Notes
        -----
        O(columns × tuples × log lists + choices × tuples).
        """
        number, _ = self._segment_and_table(position)
        of_parts = [
            sorted(found.of(position), key=lambda c: (-c.matched, -c.score, c.column))
            for found in self.candidates.of_parts
        ]
        n_each = _sizes_within([len(columns) for columns in of_parts], _MOST_CHOICES)
        is_complete = all(n == len(columns) for n, columns in zip(n_each, of_parts, strict=True))
        entries = [(part, one) for part, n in enumerate(n_each) for one in of_parts[part][:n]]
        bases = np.cumsum([0, *n_each[:-1]])
        choices = np.indices(n_each).reshape(len(n_each), -1).T + bases
        columns = np.array([one.column for _, one in entries])[choices]
        is_distinct = np.logical_and.reduce(
            [columns[:, i] != columns[:, j] for i in range(len(n_each)) for j in range(i)]
        )
        choices = choices[is_distinct].astype(np.int32)
        possible = np.empty(len(choices), np.int64)
        count_possible(self._held(number, entries), choices, possible)
        return TableChoices([one for _, one in entries], choices, possible, self._query.n_keys), is_complete

    def _held(self, number: int, entries: Sequence[tuple[int, KeyColumn]]) -> NDArray[np.uint8]:
        """Tell which tuples have a part that a column of a segment holds; shape (n_entries, n_keys)."""
        segment = self._snapshot.segments[number]
        tokens, parts = segment.tokens, self._query.table.parts
        held = np.empty((len(entries), self._query.n_keys), np.uint8)
        for row, (part, one) in enumerate(entries):
            start, end = tokens.set_indptr[one.column : one.column + 2].tolist()
            lists = tokens.set_lists[start:end].astype(np.int64) + segment.n_columns
            mark_held(self._values[part].groups(number), parts[part], one.column, lists, held[row])
        return held

    def rows(self, position: int, choices: TableChoices, is_over: Callable[[], bool]) -> KeyRows:
        """Look up the rows of a table in the columns of some choices: in the index if it keeps them, else in the file.

        Raises
        ------
        TimeoutError
            If `is_over` says so before it is read.
        TableChangedError, TableReadError, InvalidParameterError
            If its file is not the one that was indexed, or cannot be read.
        """
        number, table = self._segment_and_table(position)
        segment = self._snapshot.segments[number]
        columns = choices.columns
        if segment.rows is not None:
            stored = stored_values(segment, columns, self._tokens(number))
            if stored is not None:
                return KeyRows(_catalogued(segment, table), self._query, stored)
        opened = LakeTable(self._snapshot, self.name(position))
        self.n_opened += 1
        read = read_values(opened, segment.catalog, columns, is_over)
        return KeyRows(KeyTable(opened.name, opened.n_rows, opened.filled_first()), self._query, read)

    def _tokens(self, number: int) -> tuple[NDArray[np.int64], ...]:
        """Return for each column of the key the tokens of its values in a segment, -1 for none."""
        if number not in self._found:
            tokens = self._snapshot.segments[number].tokens
            self._found[number] = tuple(match_tokens(column.values, tokens) for column in self._query.columns)
        return self._found[number]


def _sizes_within(sizes: list[int], most: int) -> list[int]:
    """Make the largest of some sizes smaller until their product is not above a limit."""
    sizes = list(sizes)
    while prod(sizes) > most:
        sizes[sizes.index(max(sizes))] -= 1
    return sizes


def _catalogued(segment: Segment, number: int) -> KeyTable:
    """Describe a table from the catalogue, as `LakeTable` does."""
    catalog = segment.catalog
    record = catalog.table_record(number)
    first, n_columns = record["first_column"], record["n_columns"]
    own = {name: catalog.numbers[name][first : first + n_columns] for name in ("position", "n_null", "n_rows")}
    positions = own["position"]
    order = np.lexsort((positions, is_mostly_null(own)))
    names = [catalog.column_name(first + number) for number in order[positions[order] != NOT_IN_FILE].tolist()]
    return KeyTable(record["name"], record["n_rows"], names)
