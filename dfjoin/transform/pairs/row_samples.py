"""Samples of the rows of two tables that hold a row and its partner together more often than chance would."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dfjoin.transform.evidence.prepared_columns import Column, order_rows
from dfjoin.values.value_set import ValueSet

__all__ = ["sample_rows"]

_TELLING = 0.5
"""Distinct values ÷ rows from which a column tells its rows apart."""
_BLOCK = 1 << 16
"""Bytes of text that are looked at together: their numbers stay in the processor's cache."""
_MIXERS = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))


def _byte_weights() -> NDArray[np.uint64]:
    """Return a number for each byte: 0 for signs and spaces, which programs drop and put in."""
    weights = np.random.default_rng(7).integers(1, 1 << 63, 256, dtype=np.uint64)
    weights[[byte for byte in range(128) if not chr(byte).isalnum()]] = 0
    return weights


_WEIGHTS = _byte_weights()


def sample_rows(columns: Sequence[Column], size: int) -> NDArray[np.int64]:
    """Choose rows by what they hold, so that equal, reordered and differently separated texts are chosen together.

    Parameters
    ----------
    columns : sequence of Column
        Those that tell rows apart.
    size : int
        Rows to choose; all, if there are no more.

    Returns
    -------
    ndarray of int64, shape (min(size, n_rows),)
        In the order of `order_rows`.

    Notes
    -----
    The number of a value is a hash of its letters and digits in any order, so that ``Last, First`` has that of
    ``First Last``; that of a row is the smallest of its columns of which at least half of the values are distinct. The
    rows of the smallest numbers are chosen (bottom-k sampling, Cohen and Kaplan, PODC 2007): of c such columns one in c
    rows is chosen by the key, and its partner with it. Where no column is like that, by a hash of the whole row.
    O(characters).
    """
    n_rows = len(columns[0]) if columns else 0
    telling = [column for column in columns if column.uniqueness >= _TELLING] if size < n_rows else []
    if not telling or size == 0:
        return order_rows(columns, size)
    smallest = np.full(n_rows, np.iinfo(np.uint64).max, np.uint64)
    for column in telling:
        numbers = np.append(_hash_letters(column.values), np.iinfo(np.uint64).max)  # the last one is that of nulls
        np.minimum(smallest, numbers[column.values.codes], out=smallest)
    chosen = np.flatnonzero(smallest <= np.partition(smallest, size - 1)[size - 1])
    return chosen[order_rows([column.take(chosen) for column in columns], size)]


def _hash_letters(values: ValueSet) -> NDArray[np.uint64]:
    """Hash the letters and digits of each value, whatever their order."""
    sums = np.zeros(len(values), np.uint64)
    start = 0
    while start < len(values):
        stop = int(np.searchsorted(values.offsets, values.offsets[start] + _BLOCK, side="right")) - 1
        stop = min(max(stop, start + 1), len(values))
        first, last = int(values.offsets[start]), int(values.offsets[stop])
        totals = np.zeros(last - first + 1, np.uint64)
        np.cumsum(_WEIGHTS[values.data[first:last]], out=totals[1:])
        bounds = values.offsets[start : stop + 1] - first
        sums[start:stop] = totals[bounds[1:]] - totals[bounds[:-1]]
        start = stop
    shift = np.uint64(33)
    for mixer in _MIXERS:  # sums that differ by what all texts have, must not stay in order
        sums = (sums ^ (sums >> shift)) * mixer
    return sums ^ (sums >> shift)
