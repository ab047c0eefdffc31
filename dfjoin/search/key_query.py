"""A key of several columns of the user's frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lists.key_tuples import TupleTable, table_of
from dfjoin.search.query import QueryColumn
from dfjoin.values.key_index import KeyIndex

__all__ = ["KeyQuery", "joined_names", "make_key_query"]


def joined_names(names: Sequence[object]) -> str:
    """Write the names of the columns of a key as one.

    Examples
    --------
    >>> joined_names(["county", "state"])
    'county + state'
    """
    return " + ".join(map(str, names))


@dataclass(frozen=True)
class KeyQuery:
    """The columns of a key, and its distinct tuples of values.

    Parameters
    ----------
    columns : tuple of QueryColumn
        At least two.
    index : KeyIndex
        The number of the tuple of each row, -1 where a part is null.
    parts : ndarray of int64, shape (n_keys, n_columns)
        The number of the value of each part of each tuple.
    first_rows : ndarray of int64, shape (n_keys,)
        The first row of each tuple.
    """

    columns: tuple[QueryColumn, ...]
    index: KeyIndex
    parts: NDArray[np.int64]
    first_rows: NDArray[np.int64]

    @cached_property
    def table(self) -> TupleTable:
        """The tuples, to be found by the numbers of their parts."""
        return table_of(np.ascontiguousarray(self.parts.T, np.int32), [len(column.values) for column in self.columns])

    @property
    def name(self) -> str:
        """As shown in results."""
        return joined_names([column.name for column in self.columns])

    @property
    def period(self) -> str | None:
        """Granularity of the part that holds periods, None where no part does."""
        return next((column.period for column in self.columns if column.period), None)

    @property
    def n_keys(self) -> int:
        """Distinct tuples without a null."""
        return self.index.n_keys

    @property
    def is_unique(self) -> bool:
        """No tuple occurs twice."""
        return int(np.count_nonzero(self.index.codes >= 0)) == self.n_keys

    def spelling(self, key: int) -> str:
        """Return a tuple as the user's columns spell its parts first."""
        parts = zip(self.columns, self.parts[key].tolist(), strict=True)
        return joined_names([column.spelling(part) for column, part in parts])

    def canonical(self, key: int) -> str:
        """Return a tuple with its parts in canonical form."""
        parts = zip(self.columns, self.parts[key].tolist(), strict=True)
        return joined_names([column.values.value(part) for column, part in parts])


def make_key_query(columns: Sequence[QueryColumn]) -> KeyQuery:
    """Number the tuples that some columns of one frame make together. O(rows log rows) for each column."""
    index = KeyIndex.of([column.values for column in columns])
    rows = np.flatnonzero(index.codes >= 0)
    first = np.empty(index.n_keys, np.int64)
    first[index.codes[rows[::-1]]] = rows[::-1]
    parts = np.stack([column.values.codes[first].astype(np.int64) for column in columns], axis=1)
    return KeyQuery(tuple(columns), index, parts, first)
