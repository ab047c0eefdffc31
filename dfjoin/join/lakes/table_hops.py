"""The joins on the path from a frame to a table of the lake, and what is joined by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dfjoin.errors import InvalidParameterError
from dfjoin.join.output_names import stem_of
from dfjoin.join.plan import JoinStep
from dfjoin.join.rows.report import JoinAccount
from dfjoin.search.query import joined_names

FrameKeys = tuple[tuple[Any, ...], ...]
"""Keys of a frame, each of one column or of several."""


def path_keys(on: Any) -> FrameKeys | None:
    """Return the keys that `on` names.

    Parameters
    ----------
    on : column label, list of labels, list of lists, or None
        One column; several columns that are a key together; several keys.

    Raises
    ------
    InvalidParameterError
        If a list is empty.

    Examples
    --------
    >>> path_keys("zip"), path_keys(["county", "state"]), path_keys([["county", "state"], "zip"])
    ((('zip',),), (('county', 'state'),), (('county', 'state'), ('zip',)))
    """
    if on is None:
        return None
    if not isinstance(on, list):
        return ((on,),)
    keys = on if any(isinstance(key, list) for key in on) else [on]
    found = tuple(tuple(key) if isinstance(key, list) else (key,) for key in keys)
    if not all(found):
        raise InvalidParameterError("`on` must name at least one column, got an empty list; leave it out for all")
    return found


@dataclass(frozen=True)
class TableHop:
    """One join on the path to a table.

    Parameters
    ----------
    on : tuple of labels
        Key columns: of the frame, or of the table before.
    table, column : str
        The table that is joined, and its key column; of several the names, with a plus between.
    score, containment : float
        Of this join alone.
    relationship : str
        1:1, 1:m, m:1 or m:m, as measured on the rows of the frame; as the catalogue tells where nothing was joined.
    period : str or None
        Granularity at which dates and periods are joined; None: the keys are equal.
    """

    on: tuple[Any, ...]
    table: str
    column: str
    score: float
    containment: float
    relationship: str
    period: str | None = None

    @property
    def key_text(self) -> str:
        """The key columns in one text."""
        return joined_names(self.on)


@dataclass(frozen=True)
class PathTable:
    """A table that was joined to a frame, with all its columns.

    Parameters
    ----------
    hops : tuple of TableHop
        The path to it.
    steps : tuple of JoinStep
        What was joined on the path, this table last.
    account : JoinAccount
        The frame with the columns of all tables of the path.
    usefulness : float
        Of the last join times the score of those before.
    parent : PathTable or None
        The table before it.
    """

    hops: tuple[TableHop, ...]
    steps: tuple[JoinStep, ...]
    account: JoinAccount
    usefulness: float
    parent: PathTable | None = None

    @property
    def table(self) -> str:
        """Name of the table."""
        return self.hops[-1].table

    @property
    def step(self) -> JoinStep:
        """The join of the table itself."""
        return self.steps[-1]

    @property
    def frame(self) -> pd.DataFrame:
        """The frame with the columns of all tables of the path."""
        return self.account.left.frame

    @property
    def score(self) -> float:
        """Product of the scores along the path."""
        return product(hop.score for hop in self.hops)

    @property
    def containment(self) -> float:
        """Product of the containments along the path."""
        return product(hop.containment for hop in self.hops)

    @property
    def new_columns(self) -> dict[str, str]:
        """Column of the table → its name in `frame`."""
        return self.step.names

    @property
    def counted(self) -> str:
        """Name in `frame` of the column that counts the table's rows; empty where there is none."""
        own = set(self.frame.columns[-1:]) - set(self.new_columns.values())
        return str(next(iter(own))) if self.step.counted and own else ""

    @property
    def text(self) -> str:
        """The path in one line.

        ``country → geo/countries.csv.iso2 → codes/dialling.csv`` reads: the frame's column ``country`` is the key of
        the first table, and the column ``iso2`` of that one the key of the second.
        """
        return path_text(self.hops)


@dataclass(frozen=True)
class UnjoinedTable:
    """A candidate that was not joined.

    Parameters
    ----------
    hops : tuple of TableHop
    reason : str
    """

    hops: tuple[TableHop, ...]
    reason: str


@dataclass(frozen=True)
class WaitingTables:
    """The tables that are joined next, at one distance from the frame.

    Parameters
    ----------
    n_hops : int
    tables : tuple of str
    """

    n_hops: int
    tables: tuple[str, ...]


def path_text(hops: Sequence[TableHop]) -> str:
    """Write a path to a table in one line, see `PathTable.text`."""
    parts = [hops[0].key_text]
    for hop, after in zip(hops, [*hops[1:], None], strict=True):
        parts.append(hop.table if after is None else f"{hop.table}.{after.key_text}")
    return " → ".join(parts)


def path_stem(hops: Sequence[TableHop]) -> str:
    """Return the short names of the tables of a path, joined by two underscores."""
    return "__".join(stem_of(hop.table) for hop in hops)


def product(values: Iterable[float]) -> float:
    """Return the product of some numbers, 1 of none."""
    result = 1.0
    for value in values:
        result *= float(value)
    return result
