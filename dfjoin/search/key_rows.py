"""The rows of a table that may hold the tuples of a key: which it shares, for each choice of its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS, Catalog
from dfjoin.index.column_values import tokens_of_column, value_of_token
from dfjoin.index.row_group import row_codes
from dfjoin.index.segment import Segment
from dfjoin.kernels.lists.key_tuples import Choices, Counts, count_tuples, find_tuples, new_slots, number_tuples
from dfjoin.search.hits import KeyColumn, KeyMatch
from dfjoin.search.query import KeyQuery, joined_names
from dfjoin.store.table import LakeTable
from dfjoin.values.header_meaning import headers_of
from dfjoin.values.key_index import concat_values
from dfjoin.values.normalize import ValueSet

_N_ALONE = 5
"""Tuples of the table alone that are kept as examples."""

_PIECE = 64
"""Rows that are looked at first for these; then as many as before."""


@dataclass(frozen=True)
class ReadColumn:
    """A column of a table that was read: its name, its kind, and its values with the code of every row."""

    name: str
    kind: str
    values: ValueSet

    @property
    def codes(self) -> NDArray[np.int32]:
        """The number of the value of each row, -1 for a null."""
        return self.values.codes

    @property
    def n_values(self) -> int:
        """Distinct values."""
        return len(self.values)

    def value(self, code: int) -> str:
        """Return a value in canonical form."""
        return self.values.value(code)

    def numbers(self, query: KeyQuery, part: int) -> NDArray[np.int64]:
        """Return the number of each value in a column of the key, -1 for none."""
        return query.index.value_codes(part, self.values)


@dataclass(frozen=True)
class StoredColumn:
    """A column whose rows the index keeps.

    Parameters
    ----------
    name, kind : str
    segment : Segment
    codes : ndarray of int32, shape (n_rows,)
        Ranks among `tokens`, -1 for a null.
    tokens : ndarray of int64, shape (n_values,)
        The values of the column, ascending.
    found : tuple of ndarray of int64
        For each column of the key the tokens of its values, -1 for those that the segment lacks.
    """

    name: str
    kind: str
    segment: Segment
    codes: NDArray[np.int32]
    tokens: NDArray[np.int64]
    found: tuple[NDArray[np.int64], ...]

    @property
    def n_values(self) -> int:
        """Distinct values."""
        return self.tokens.size

    def value(self, code: int) -> str:
        """Return a value in canonical form."""
        return value_of_token(self.segment, int(self.tokens[code]))

    def numbers(self, query: KeyQuery, part: int) -> NDArray[np.int64]:
        """Return the number of each value in a column of the key, -1 for none."""
        found = self.found[part]
        positions = np.searchsorted(self.tokens, found)
        is_held = positions < self.tokens.size
        is_held[is_held] = self.tokens[positions[is_held]] == found[is_held]
        numbers = np.full(self.tokens.size, -1, np.int64)
        numbers[positions[is_held]] = np.flatnonzero(is_held)
        return numbers


class KeyTable(NamedTuple):
    """What results tell of a table: its name, its rows, and the columns that a join can bring."""

    name: str
    n_rows: int
    column_names: Sequence[str]


class KeyRows:
    """The rows of a table, in some of its columns.

    Parameters
    ----------
    table : KeyTable
    query : KeyQuery
    columns : dict of int to ReadColumn or StoredColumn
        Id → column, as `read_values` and `stored_values` return them.

    Notes
    -----
    Each column is looked up once for each column of the key that it may be.
    """

    def __init__(
        self,
        table: KeyTable,
        query: KeyQuery,
        columns: Mapping[int, ReadColumn | StoredColumn],
    ) -> None:
        self._table = table
        self._query = query
        self._columns = columns
        self._positions = {column: position for position, column in enumerate(columns)}
        n_rows = next((column.codes.size for column in columns.values()), 0)
        self._codes = np.empty((len(columns), n_rows), np.int32)
        for position, column in enumerate(columns.values()):
            self._codes[position] = column.codes
        self._numbers: list[NDArray[np.int32]] = []
        self._starts: dict[tuple[int, int], int] = {}
        self._end = 0

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self._codes.shape[1]

    def count(self, choices: Sequence[tuple[KeyColumn, ...]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the tuples that rows share with the key, and these rows, for some choices of columns.

        Returns
        -------
        matched, rows : ndarray of int64, shape (n_choices,)

        Notes
        -----
        O(choices × rows).
        """
        counts = Counts(
            np.zeros(len(choices), np.int64),
            np.zeros(len(choices), np.int64),
            np.full(self._query.n_keys, -1, np.int32),
        )
        # others were excluded when a frame in memory was kept
        readable = [i for i, choice in enumerate(choices) if all(part.column in self._columns for part in choice)]
        if readable:
            chosen = self._chosen([choices[i] for i in readable])
            count_tuples(self._codes, chosen, self._flat_numbers(), self._query.table, counts)
        if len(readable) < len(choices):
            for found in counts[:2]:
                found[readable] = found[: len(readable)].copy()
                found[np.setdiff1d(np.arange(len(choices)), readable)] = 0
        return counts.matched, counts.rows

    def _chosen(self, choices: Sequence[tuple[KeyColumn, ...]]) -> Choices:
        """Return the columns of choices, and where their numbers begin."""
        columns = [[self._positions[part.column] for part in choice] for choice in choices]
        starts = [[self._start_of(position, part.column) for position, part in enumerate(choice)] for choice in choices]
        return Choices(np.array(columns, np.int64), np.array(starts, np.int64))

    def _start_of(self, position: int, column: int) -> int:
        """Return where it stands what the codes of a column are in a column of the key."""
        known = self._starts.get((position, column))
        if known is None:
            known = self._starts[position, column] = self._end
            found = self._columns[column].numbers(self._query, position)
            self._numbers.append(np.append(-1, found).astype(np.int32))  # the first one is the null's
            self._end += found.size + 1
        return known

    def _flat_numbers(self) -> NDArray[np.int32]:
        if len(self._numbers) > 1:
            self._numbers = [np.concatenate(self._numbers)]
        return self._numbers[0]

    def describe(self, choice: tuple[KeyColumn, ...], possible: int) -> KeyMatch:
        """Tell of the columns of a choice what a result shows. O(rows).

        Parameters
        ----------
        choice : tuple of KeyColumn
        possible : int
            Tuples each part of which its column holds.
        """
        chosen = self._chosen([choice])
        found = np.empty(self._codes.shape[1], np.int32)
        find_tuples(self._codes, chosen, self._flat_numbers(), self._query.table, found)
        columns = [self._columns[part.column] for part in choice]
        own = np.empty_like(found)
        n_own = int(number_tuples(self._codes, chosen.columns[0], new_slots(own.size), own))
        alone = _first_rows(own, np.flatnonzero((found < 0) & (own >= 0)), _N_ALONE)
        names = tuple(column.name for column in columns)
        return KeyMatch(
            self._table.name,
            names,
            choice,
            np.unique(found[found >= 0]).astype(np.int64),
            possible,
            n_own,
            self._table.n_rows,
            joined_names([column.kind for column in columns]),
            int(np.count_nonzero(own >= 0)) == n_own,
            [joined_names([column.value(int(column.codes[row])) for column in columns]) for row in alone],
            self._new_columns(names),
        )

    def _new_columns(self, columns: Sequence[str]) -> list[str]:
        """Name the columns of the table that are no part of the key, and that the frame does not have."""
        names = [name for name in self._table.column_names if name not in columns]
        if not names:
            return []
        query = self._query.columns
        known = headers_of([*query[0].companions, *(column.name for column in query)]).joined
        own = headers_of(names).joined
        is_new = ~np.isin(own, known) | (own == 0)
        return [name for name, new in zip(names, is_new.tolist(), strict=True) if new]


def read_values(
    table: LakeTable, catalog: Catalog, columns: Iterable[int], is_over: Callable[[], bool]
) -> dict[int, ReadColumn]:
    """Read some columns of a table in canonical form.

    Parameters
    ----------
    table : LakeTable
    catalog : Catalog
        Of the table's segment.
    columns : iterable of int
        Their ids.
    is_over : callable
        Whether to give up; asked before each batch, since kernels may be compiled between two, which does not count.

    Returns
    -------
    dict of int to ReadColumn
        Without columns that cannot be read, as those that were excluded when a frame in memory was kept.

    Raises
    ------
    TableReadError
        If its file cannot be read.
    TimeoutError
        If there is no time left.
    """
    readable = set(table.column_names)
    names = {column: name for column in columns if (name := catalog.column_name(column)) in readable}
    parts: dict[int, list[ValueSet]] = {column: [] for column in names}
    for batch in table.batches(list(names.values())):
        if is_over():
            raise TimeoutError
        for position, (column, name) in enumerate(names.items()):
            parts[column].append(table.normalize(name, batch.column(position)))
    kinds = catalog.numbers["kind"]
    return {
        column: ReadColumn(names[column], KINDS[kinds[column]], concat_values(own, table.settings))
        for column, own in parts.items()
        if own
    }


def stored_values(
    segment: Segment, columns: Iterable[int], found: tuple[NDArray[np.int64], ...]
) -> dict[int, StoredColumn] | None:
    """Look up some columns of a table among the rows that the index keeps.

    Parameters
    ----------
    segment : Segment
    columns : iterable of int
        Their ids.
    found : tuple of ndarray of int64
        See `StoredColumn`.

    Returns
    -------
    dict of int to StoredColumn, or None
        None where the rows of one of them are not kept, or two of its values have the same hash, by which
        rows tell values.

    Notes
    -----
    O(rows + values log values) for each column.
    """
    catalog = segment.catalog
    kinds = catalog.numbers["kind"]
    stored = {}
    for column in columns:
        codes = row_codes(segment, column)
        if codes is None:
            return None
        tokens = np.sort(tokens_of_column(segment, column))
        hashes = segment.tokens.hash[tokens]
        if tokens.size != catalog.numbers["cardinality"][column] or bool(np.any(hashes[1:] == hashes[:-1])):
            return None
        name = catalog.column_name(column)
        stored[column] = StoredColumn(name, KINDS[kinds[column]], segment, codes, tokens, found)
    return stored


def _first_rows(codes: NDArray[np.int32], rows: NDArray[np.int64], n: int) -> list[int]:
    """Return the first row of each of the first `n` codes that some rows have. O(rows until these are found)."""
    seen: dict[int, int] = {}
    start = 0
    while start < rows.size:
        piece = rows[start : max(_PIECE, 2 * start)]
        start += piece.size
        _, positions = np.unique(codes[piece], return_index=True)
        for position in np.sort(positions).tolist():
            seen.setdefault(int(codes[piece[position]]), int(piece[position]))
        if len(seen) >= n:
            break
    return list(seen.values())[:n]
