"""Keys and foreign keys that a database declares of a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class ForeignKey(NamedTuple):
    """Columns of a table that refer to columns of another one, which is named by its path below the same root."""

    columns: tuple[str, ...]
    path: str
    key_columns: tuple[str, ...]


class DeclaredKeys(NamedTuple):
    """Groups of columns no two rows of a table share, and what the table refers to."""

    keys: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()

    def renamed(self, names: dict[str, str]) -> DeclaredKeys:
        """Return those of columns that the lake reads, with the names that these have there."""
        keys = tuple(tuple(names[column] for column in key) for key in self.keys if names.keys() >= set(key))
        foreign = tuple(
            one._replace(columns=tuple(names[column] for column in one.columns))
            for one in self.foreign_keys
            if names.keys() >= set(one.columns)
        )
        return DeclaredKeys(keys, foreign)


def group_constraints(rows: Iterable[tuple[str, str, str, str]]) -> DeclaredKeys:
    """Put the columns of constraints together.

    Parameters
    ----------
    rows : iterable of (str, str, str, str)
        Name of the constraint, column, path of the table that it refers to, and the column there; the last two are
        empty for a key. The columns of a constraint are in order.

    Examples
    --------
    >>> group_constraints([("pk", "id", "", ""), ("fk", "city", "main/cities", "id")]).keys
    (('id',),)
    """
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name, column, path, key_column in rows:
        groups.setdefault((name, path), []).append((column, key_column))
    keys = {tuple(own for own, _ in group): None for (_, path), group in groups.items() if not path}
    foreign = [
        ForeignKey(tuple(own for own, _ in group), path, tuple(other for _, other in group))
        for (_, path), group in groups.items()
        if path
    ]
    return DeclaredKeys(tuple(keys), tuple(foreign))
