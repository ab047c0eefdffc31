"""The rows of a table that may hold the tuples of a key: which it shares, for each choice of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS, Catalog
from dfjoin.search.key_query import KeyQuery, joined_names
from dfjoin.search.row_keys import concat_values, number_rows
from dfjoin.search.usefulness.headers import headers_of
from dfjoin.store.table import LakeTable
from dfjoin.values.normalize import ValueSet

__all__ = ["KeyColumn", "KeyMatch", "KeyRows", "ReadColumn", "read_values"]

_N_ALONE = 5
"""Tuples of the table alone that are kept as examples."""

_PIECE = 1 << 12


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


class ReadColumn(NamedTuple):
    """A column of a table that was read: its name, its kind, and its values with the code of every row."""

    name: str
    kind: str
    values: ValueSet


class KeyRows:
    """The rows of a table, in some of its columns.

    Parameters
    ----------
    table : LakeTable
    query : KeyQuery
    columns : dict of int to ReadColumn
        Id → column, as `read_values` returns them.

    Notes
    -----
    Each column is looked up once for each column of the key that it may be.
    """

    def __init__(self, table: LakeTable, query: KeyQuery, columns: dict[int, ReadColumn]) -> None:
        self._table = table
        self._query = query
        self._columns = columns
        self._codes: dict[tuple[int, int], NDArray[np.int64]] = {}

    def keys(self, way: Sequence[KeyColumn]) -> tuple[NDArray[np.int64], int]:
        """Return the numbers of the tuples that the columns of a way share row by row, ascending, and in how many rows.

        O(rows).
        """
        if any(part.column not in self._columns for part in way):  # excluded when a frame in memory was kept
            return np.empty(0, np.int64), 0
        codes = self._shared_codes(way)
        shared = codes[codes >= 0]
        is_shared = np.zeros(self._query.n_keys, bool)
        is_shared[shared] = True
        return np.flatnonzero(is_shared), int(shared.size)

    def describe(self, way: tuple[KeyColumn, ...], keys: NDArray[np.int64], possible: int) -> KeyMatch:
        """Tell of the columns of a way what a result shows. O(rows log rows).

        Parameters
        ----------
        way : tuple of KeyColumn
        keys : ndarray of int64
            As `keys` returned them.
        possible : int
            Tuples each part of which its column holds.
        """
        columns = [self._columns[part.column] for part in way]
        parts = [column.values for column in columns]
        own, n_own, _ = number_rows([(part.codes, len(part)) for part in parts])
        alone = _first_rows(own, np.flatnonzero((self._shared_codes(way) < 0) & (own >= 0)), _N_ALONE)
        names = tuple(column.name for column in columns)
        return KeyMatch(
            self._table.name,
            names,
            way,
            keys,
            possible,
            n_own,
            self._table.n_rows,
            joined_names([column.kind for column in columns]),
            int(np.count_nonzero(own >= 0)) == n_own,
            [joined_names([part.value(int(part.codes[row])) for part in parts]) for row in alone],
            self._brought(names),
        )

    def _shared_codes(self, way: Sequence[KeyColumn]) -> NDArray[np.int64]:
        """Return the number of the query's tuple in each row, -1 for none."""
        index, places = self._query.index, [(place, part.column) for place, part in enumerate(way)]
        for place, column in places:
            if (place, column) not in self._codes:
                self._codes[place, column] = index.part_codes(place, self._columns[column].values)
        return index.combine([self._codes[one] for one in places])

    def _brought(self, columns: Sequence[str]) -> list[str]:
        """Name the columns of the table that are no part of the key, and that the frame does not have."""
        names = [name for name in self._table.column_names if name not in columns]
        if not names:
            return []
        query = self._query.columns
        known = headers_of([*query[0].companions, *(column.name for column in query)]).joined
        own = headers_of(names).joined
        is_new = ~np.isin(own, known) | (own == 0)
        return [name for name, new in zip(names, is_new.tolist(), strict=True) if new]


def read_values(table: LakeTable, catalog: Catalog, columns: Iterable[int], end: float) -> dict[int, ReadColumn]:
    """Read some columns of a table in canonical form.

    Parameters
    ----------
    table : LakeTable
    catalog : Catalog
        Of the table's segment.
    columns : iterable of int
        Their ids.
    end : float
        When to give up, by the monotonic clock.

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
        if monotonic() > end:
            raise TimeoutError
        for place, (column, name) in enumerate(names.items()):
            parts[column].append(table.normalize(name, batch.column(place)))
    kinds = catalog.numbers["kind"]
    return {
        column: ReadColumn(names[column], KINDS[kinds[column]], concat_values(own, table.settings))
        for column, own in parts.items()
        if own
    }


def _first_rows(codes: NDArray[np.int64], rows: NDArray[np.int64], n: int) -> list[int]:
    """Return the first row of each of the first `n` codes that some rows have. O(rows until these are found)."""
    seen: dict[int, int] = {}
    for start in range(0, rows.size, _PIECE):
        piece = rows[start : start + _PIECE]
        _, places = np.unique(codes[piece], return_index=True)
        for place in np.sort(places).tolist():
            seen.setdefault(int(codes[piece[place]]), int(piece[place]))
        if len(seen) >= n:
            break
    return list(seen.values())[:n]
