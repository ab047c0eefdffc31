"""Columns that programs are learned from: their rows, their distinct canonical values, their uniqueness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.kernels.sorting import argsort_u64
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import ValueSet, normalize_column

__all__ = ["SETTINGS", "Column", "as_columns", "count_distinct", "match_rows"]

SETTINGS = IndexSettings(dayfirst=None)
"""Settings of the canonical form of both sides; see `dfjoin.values.normalize`."""


@dataclass(frozen=True)
class Column:
    """A named column of strings.

    Parameters
    ----------
    name : str
    array : pyarrow.Array of string
    known : callable, optional
        Returns its distinct canonical values, where the caller keeps them.
    """

    name: str
    array: pa.Array
    known: Callable[[], ValueSet] | None = None

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def values(self) -> ValueSet:
        """The distinct canonical values."""
        return normalize_column(self.array, SETTINGS) if self.known is None else self.known()

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """First row of each distinct value."""
        return self.values.first_rows()

    @cached_property
    def n_present(self) -> int:
        """Rows that are not null."""
        return int((self.values.codes >= 0).sum())

    @property
    def uniqueness(self) -> float:
        """Distinct values ÷ rows that are not null; 0 for an empty column."""
        return len(self.values) / self.n_present if self.n_present else 0.0

    def take(self, rows: NDArray[np.int64]) -> Column:
        """Return some rows, as a column of the same name."""
        return Column(self.name, self.array.take(pa.array(rows)))


def as_columns(table: Mapping[str, pa.Array | Column] | Sequence[tuple[str, pa.Array | Column]]) -> list[Column]:
    """Bring named columns to Columns of one chunk of strings; those that are Columns already stay."""
    items = table.items() if isinstance(table, Mapping) else table
    return [array if isinstance(array, Column) else Column(name, _as_text(array)) for name, array in items]


def _as_text(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in array.chunks])
    is_text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    return array if is_text else array.cast(pa.string())


def count_distinct(codes: NDArray[np.integer], n: int) -> int:
    """Count the distinct numbers among codes from 0 to n - 1; negative ones do not count."""
    is_present = np.zeros(n, bool)
    is_present[codes[codes >= 0]] = True
    return int(is_present.sum())


def match_rows(output: ValueSet, target: ValueSet) -> NDArray[np.int64]:
    """Return for each distinct output the number of the equal target value, -1 for none.

    Notes
    -----
    Values are equal if their 64-bit hashes and their lengths are: of a million values against a million
    others, one in 18 million such calls would confuse two. O(n log n).
    """
    if len(target) == 0 or len(output) == 0:
        return np.full(len(output), -1, np.int64)
    order, asked = argsort_u64(target.hashes), argsort_u64(output.hashes)
    at = np.empty(len(output), np.int64)  # sorted questions are answered in the order of memory
    at[asked] = np.searchsorted(target.hashes[order], output.hashes[asked])
    found = order[np.minimum(at, len(target) - 1)].astype(np.int64)
    is_same = target.hashes[found] == output.hashes
    lengths = output.offsets[1:] - output.offsets[:-1]
    is_same &= lengths == (target.offsets[1:] - target.offsets[:-1])[found]
    return np.where(is_same, found, -1)
