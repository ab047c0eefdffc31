"""Records of the search with a key of several columns: what a table shares with the key, and all that was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.search.key_query import KeyQuery
from dfjoin.search.params import SearchStats

__all__ = ["KeyColumn", "KeyHit", "KeyMatch", "KeySearch"]


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
