"""What the distinct values of text columns, which lie one after the other, tell of each column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.texts.numbers import INTEGER, NUMBER, integer_range, number_range, text_range
from dfjoin.kernels.texts.strings import DEFERRED

N_VALUES, N_NULL, CLASSES, OPEN, LOW, HIGH, HAS_RANGE, N_FACTS = range(8)
"""What `Facts.numbers` has of a column, see there."""

MAY_BE_NULLS, IS_DEFERRED = 1, 2
"""What a column leaves open: whether a value is a null, which all values decide; or values that Python normalises."""

_INTEGERS = 1 << INTEGER
_NUMBERS = _INTEGERS | 1 << NUMBER


class Facts(NamedTuple):
    """What is found of columns.

    Attributes
    ----------
    numbers : ndarray of int64, shape (n_columns, N_FACTS)
        `N_VALUES` distinct values and `N_NULL` rows without one. `CLASSES` has a bit for each class of a value.
        `OPEN` is 0, or what is left open; then nothing that follows holds. `LOW` and `HIGH` are the smallest and the
        largest integer where `HAS_RANGE` is 1; else the numbers of the first and the last value, by number in a column
        of numbers, -1 where the kernel cannot tell.
    offsets : ndarray of int64, shape (n_cells + n_columns,)
        Where the values of each column lie behind its first one, and where its last one ends; column by column.
    first_texts : ndarray of int64, shape (n_columns, n, 2)
        Where the first values of each column are written in the data, -1 behind the last of them.
    null_table : ndarray of uint64
        Hashes of what may be a null, as `find_hashes` takes them.
    """

    numbers: NDArray[np.int64]
    offsets: NDArray[np.int64]
    first_texts: NDArray[np.int64]
    null_table: NDArray[np.uint64]


@njit_lean
def look_at_columns(text, table, codes, n_looked_at, facts):
    """Find what the values of columns tell of each, after `add_text` added them.

    Parameters
    ----------
    text, table, codes
        As of `add_text`.
    n_looked_at : int
        Rows among which the first values of a column are looked for.
    facts : Facts
        Receives what is found.

    Notes
    -----
    O(rows + bytes of the distinct values).
    """
    n_columns = facts.numbers.shape[0]
    n_rows = codes.shape[0] // n_columns
    base = np.int64(0)
    for column in range(n_columns):
        begin, end, size = column * n_rows, (column + 1) * n_rows, table.size[column]
        own = facts.numbers[column]
        own[N_VALUES] = size - base
        for i in range(base, size + 1):
            facts.offsets[i + column] = table.offsets[i] - table.offsets[base]
        _look_at_rows(codes[begin:end], text.starts[begin : end + 1], n_looked_at, own, facts.first_texts[column])
        if own[OPEN] == 0:
            hashes, classes = table.hashes[base:size], table.classes[base:size]
            _look_at_values(table.data, table.offsets[base : size + 1], hashes, classes, facts.null_table, own)
        base = size


@njit_inner
def _look_at_rows(codes, starts, n_looked_at, own, first_texts):
    """Count the rows without a value, find those that Python has to normalise, and the first ones with a new value."""
    n_null = n_deferred = 0
    for i in range(codes.shape[0]):
        n_null += codes[i] < 0
        n_deferred += codes[i] == DEFERRED
    own[N_NULL] = n_null
    own[OPEN] = IS_DEFERRED if n_deferred > 0 else 0
    n_found = 0
    for i in range(min(n_looked_at, codes.shape[0])):
        if n_found == first_texts.shape[0]:
            break
        if codes[i] == n_found:
            first_texts[n_found, 0], first_texts[n_found, 1] = starts[i], starts[i + 1]
            n_found += 1
    for i in range(n_found, first_texts.shape[0]):
        first_texts[i, 0] = -1


@njit_inner
def _look_at_values(data, offsets, hashes, classes, null_table, own):
    """Note the classes of the values of a column, and its range; or that values may be nulls."""
    mask = np.uint64(null_table.shape[0] - 1)
    present = np.int64(0)
    for i in range(hashes.shape[0]):
        present |= np.int64(1) << np.int64(classes[i])
        slot = hashes[i] & mask
        while null_table[slot] != 0:
            if null_table[slot] == hashes[i]:
                own[OPEN] = MAY_BE_NULLS
                return
            slot = (slot + np.uint64(1)) & mask
    own[CLASSES], own[HAS_RANGE] = present, 0
    if present == _INTEGERS:
        own[LOW], own[HIGH], has_range = integer_range(data, offsets)
        own[HAS_RANGE] = has_range
        if has_range:
            return
    if present & ~_NUMBERS or present == _INTEGERS:
        own[LOW], own[HIGH] = text_range(data, offsets)
    else:
        own[LOW], own[HIGH] = number_range(data, offsets)
