"""Columns that programs are learned from: their rows, their distinct canonical values, their uniqueness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.kernels.ragged import expand_stretches
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import PackedTexts, ValueSet, normalize_column

SETTINGS = IndexSettings(null_evidence=False)
"""Settings of the canonical form of both sides; see `dfjoin.values.normalize`."""


_MIXER = np.uint64(0x9E3779B97F4A7C15)
_MAX_TIES = 1_000
"""Rows of the same values above which their spellings are not compared."""


@dataclass(frozen=True)
class Column:
    """A named column of strings.

    Parameters
    ----------
    name : str
    array : pyarrow.Array of string
    known : callable, optional
        Returns its distinct canonical values, where the caller keeps them.
    is_measure : bool
        Whether it holds fractions: these are related as numbers, and as texts only where the column is named.
    """

    name: str
    array: pa.Array
    known: Callable[[], ValueSet] | None = None
    is_measure: bool = False

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
        """Return some rows, as a column of the same name, its values numbered in the order of their hashes."""
        return Column(self.name, self.array.take(pa.array(rows)), lambda: _by_hash(self.values, rows), self.is_measure)


def _by_hash(values: ValueSet, rows: NDArray[np.int64]) -> ValueSet:
    """Return the values of some rows, numbered in the order of their hashes."""
    codes = values.codes[rows]
    held = np.zeros(len(values), bool)
    held[codes[codes >= 0]] = True
    kept = np.flatnonzero(held)
    kept = kept[np.argsort(values.hashes[kept], kind="stable")]
    lengths = (values.offsets[1:] - values.offsets[:-1])[kept]
    offsets = np.zeros(kept.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    data = np.zeros(int(offsets[-1]) + 8, np.uint8)  # kernels load eight bytes at a time
    data[: int(offsets[-1])] = values.data[expand_stretches(values.offsets[:-1][kept], lengths)]
    numbers = np.full(len(values) + 1, -1, np.int32)  # the last one serves code -1, the null
    numbers[kept] = np.arange(kept.size)
    texts = PackedTexts(values.hashes[kept], data, offsets)
    return ValueSet(texts, values.classes[kept], numbers[codes], values.date_order)


def order_rows(columns: Sequence[Column], size: int) -> NDArray[np.int64]:
    """Choose rows by a hash of what they hold, in the order of the hash: the choice does not depend on their order.

    Parameters
    ----------
    columns : sequence of Column
        Those that tell rows apart.
    size : int
        Rows to choose; all, if there are no more.

    Returns
    -------
    ndarray of int64, shape (min(size, n_rows),)

    Notes
    -----
    Rows of one hash, which hold the same canonical values, follow each other by their spelling. O(rows × columns).
    """
    n_rows = len(columns[0]) if columns else 0
    mixed = np.zeros(n_rows, np.uint64)
    for column in columns:
        hashes = np.append(column.values.hashes, np.uint64(0))[column.values.codes]
        mixed = (mixed ^ hashes) * _MIXER
        mixed ^= mixed >> np.uint64(29)
    if size < n_rows:
        chosen = np.flatnonzero(mixed <= np.partition(mixed, size - 1)[size - 1]) if size else np.arange(0)
    else:
        chosen = np.arange(n_rows)
    chosen = chosen[np.argsort(mixed[chosen], kind="stable")]
    if chosen.size == 0:
        return chosen
    ordered = mixed[chosen]
    bounds = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]))
    is_tied = np.diff(bounds) > 1
    for start, end in zip(bounds[:-1][is_tied].tolist(), bounds[1:][is_tied].tolist(), strict=True):
        if end - start <= _MAX_TIES:
            rows = chosen[start:end]
            texts = [column.array.take(pa.array(rows)).to_pylist() for column in columns]
            spelled = list(zip(*texts, strict=True))
            chosen[start:end] = rows[sorted(range(end - start), key=lambda i: [text or "" for text in spelled[i]])]
    return chosen[:size].astype(np.int64)


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
