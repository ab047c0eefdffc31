"""The two tables of a search: their columns, whole and sampled, and which of them may be keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dfjoin.programs.program import Program
from dfjoin.transform.composite import composite_keys, join_columns
from dfjoin.transform.prepared_columns import Column
from dfjoin.transform.sampling import sample_rows, sample_sizes
from dfjoin.transform.value_pairs import SuffixArray

__all__ = ["DIRECTIONS", "KEY", "Direction", "Side", "sample_sides"]

KEY = 0.8
"""Distinct values ÷ rows from which a column may be a key."""
_SMALL = 5_000
"""Tables up to this size are not sampled."""

Direction = Literal["left_to_right", "right_to_left"]
DIRECTIONS: tuple[Direction, Direction] = ("left_to_right", "right_to_left")


@dataclass
class Side:
    """One table, whole and sampled; `rows` are those of the sample."""

    columns: list[Column]
    sample: list[Column]
    given: tuple[str, ...]
    rows: NDArray[np.int64]
    arrays: dict[str, SuffixArray] = field(default_factory=dict)

    def candidates(self) -> list[Column]:
        """Return the columns that may take part: those given, else all that hold two values."""
        if self.given:
            return [column for column in self.sample if column.name in self.given]
        return [column for column in self.sample if len(column.values) >= 2]

    def keys(self) -> list[tuple[Program, Column]]:
        """Return what may be joined: the columns given or the only one, else those nearly keys, else composite keys."""
        if len(self.given) > 1:
            return [join_columns(self.candidates())]
        candidates = self.candidates()
        columns = [column for column in candidates if self.is_settled or column.uniqueness >= KEY]
        return [(Program.identity(column.name), column) for column in columns] or composite_keys(candidates)

    @property
    def is_settled(self) -> bool:
        """Whether there is no choice of a key: columns are given, or there is one only."""
        return bool(self.given) or len(self.columns) == 1

    def whole(self, name: str) -> Column:
        """Return the column of a name with all its rows."""
        return next(column for column in self.columns if column.name == name)

    def place(self, name: str) -> int:
        """Return the number of a column, from 0."""
        return [column.name for column in self.columns].index(name)

    def suffixes(self, column: Column) -> SuffixArray:
        """Return the suffix array of a sampled column, made once."""
        if column.name not in self.arrays:
            self.arrays[column.name] = SuffixArray(column.values)
        return self.arrays[column.name]


def sample_sides(
    wholes: tuple[list[Column], list[Column]], given: tuple, rng: np.random.Generator
) -> tuple[Side, Side]:
    """Sample the rows of both tables where they are large."""
    n_rows = [len(columns[0]) if columns else 0 for columns in wholes]
    sizes = n_rows
    if max(n_rows) > _SMALL:  # enough for either direction
        forward, backward = sample_sizes(*n_rows), sample_sizes(*n_rows[::-1])
        sizes = [max(forward[0], backward[1]), max(forward[1], backward[0])]
    sides = []
    for columns, n, size, names in zip(wholes, n_rows, sizes, given, strict=True):
        rows = sample_rows(n, size, rng)
        sample = columns if size >= n else [column.take(rows) for column in columns]
        sides.append(Side(columns, sample, names, rows))
    return sides[0], sides[1]
