"""The distinct canonical values of a column as arrays, and which row holds which."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.texts.integers import HeldIntegers

__all__ = ["PADDING", "ValueSet", "keep_values", "pack_strings", "read_only", "table_size"]

PADDING = 8
"""Bytes behind the last value: kernels load eight bytes at a time."""


@dataclass(frozen=True, slots=True)
class ValueSet:
    """The distinct non-null canonical values of a column, and which row holds which.

    Parameters
    ----------
    hashes : ndarray of uint64, shape (n_values,)
        Hash of each value, in the order of their first row.
    data : ndarray of uint8
        Their UTF-8 bytes one after the other, then at least 8 bytes that mean nothing.
    offsets : ndarray of int64, shape (n_values + 1,)
        Where each lies in `data`.
    classes : ndarray of int8, shape (n_values,)
        Class of each, see `dfjoin.kernels.texts.numbers`.
    codes : ndarray of int32, shape (n_rows,)
        Number of each row's value; -1 for a null.
    date_order : {"", "dmy", "mdy"}
        The reading of all-digit dates that was applied, if any.
    nulls : tuple of str
        Texts that the other values made nulls.
    integers : HeldIntegers or None
        The values as numbers, where all are whole numbers that a column held as such.

    Notes
    -----
    The arrays of the values are made read-only: a kernel is compiled apart for arrays that may be written.
    """

    hashes: NDArray[np.uint64]
    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    classes: NDArray[np.int8]
    codes: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    date_order: str = ""
    nulls: tuple[str, ...] = ()
    integers: HeldIntegers | None = None

    def __post_init__(self) -> None:
        for array in (self.hashes, self.data, self.offsets, self.classes):
            array.setflags(write=False)

    def __len__(self) -> int:
        return int(self.hashes.shape[0])

    @property
    def n_rows(self) -> int:
        """Rows of the column, nulls included."""
        return int(self.codes.shape[0])

    def value(self, code: int) -> str:
        """Return one canonical value as text."""
        return self.data[self.offsets[code] : self.offsets[code + 1]].tobytes().decode("utf-8", "replace")

    def values(self) -> list[str]:
        """Return all canonical values as text, in the order of their first row."""
        return [self.value(code) for code in range(len(self))]

    def row_counts(self) -> NDArray[np.int64]:
        """Count the rows of each value; int64, shape (n_values,)."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self)).astype(np.int64)

    def first_rows(self) -> NDArray[np.int64]:
        """Return the first row of each value; int64, shape (n_values,)."""
        rows = np.full(len(self), -1, np.int64)
        present = np.flatnonzero(self.codes >= 0)[::-1]
        rows[self.codes[present]] = present
        return rows


def keep_values(values: ValueSet, is_held: NDArray[np.bool_]) -> ValueSet:
    """Keep some of the values; the rows of the others become null, the order stays.

    Parameters
    ----------
    values : ValueSet
    is_held : ndarray of bool, shape (n_values,)
    """
    held = np.flatnonzero(is_held)
    lengths = np.diff(values.offsets)
    offsets = np.zeros(held.size + 1, np.int64)
    np.cumsum(lengths[held], out=offsets[1:])
    data = np.zeros(int(offsets[-1]) + PADDING, np.uint8)
    data[: int(offsets[-1])] = values.data[: int(values.offsets[-1])][np.repeat(is_held, lengths)]
    numbers = np.append(np.where(is_held, np.cumsum(is_held) - 1, -1), -1).astype(np.int32)
    packed = ValueSet(values.hashes[held], data, offsets, values.classes[held], numbers[values.codes])
    return replace(packed, date_order=values.date_order, nulls=values.nulls)


def pack_strings(values: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pack texts as read-only bytes (8 of padding behind) and int64 offsets, shape (n + 1,)."""
    encoded = [value.encode("utf-8", "surrogatepass") for value in values]
    offsets = np.array([0, *accumulate(map(len, encoded))], np.int64)
    data = np.frombuffer(b"".join(encoded) + bytes(PADDING), np.uint8)
    offsets.flags.writeable = False
    return data, offsets


def read_only(array: NDArray) -> NDArray:
    """Forbid writing to an array, and return it: a kernel is compiled apart for arrays that may be written."""
    array.setflags(write=False)
    return array


def table_size(n: int) -> int:
    """Return the size of a hash table for n values: a power of two above 1.5 n."""
    return 1 << max(4, int(1.5 * n).bit_length())
