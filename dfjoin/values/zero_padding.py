"""Zeros in front of numbers that one side of a join has and the other has lost."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.ragged import expand_stretches
from dfjoin.kernels.texts import numbers as spellings
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import PADDING, ValueSet, respell


def pad_integers(values: ValueSet, width: int, settings: IndexSettings) -> ValueSet:
    """Write the integers among the values with zeros in front, up to `width` digits; as text, thus.

    Parameters
    ----------
    values : ValueSet
    width : int
        Digits; longer and negative integers stay as they are.
    settings : IndexSettings
        Those that made the values.

    Returns
    -------
    ValueSet
        With the same number of rows. ``7`` and ``07`` at width 2 become one value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dfjoin.values.normalize import normalize_column
    >>> settings = IndexSettings()
    >>> pad_integers(normalize_column(pa.array([7, 1234, -3]), settings), 3, settings).values()
    ['007', '1234', '-3']
    """
    is_short = (values.classes == spellings.INTEGER) & (np.diff(values.offsets) < width)
    is_short &= values.data[values.offsets[:-1]] != ord("-")
    if not is_short.any():
        return values
    lengths = np.diff(values.offsets)
    wide = np.where(is_short, width, lengths)
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(wide, out=offsets[1:])
    out = np.full(int(offsets[-1]) + PADDING, ord("0"), np.uint8)
    # Each value keeps its own bytes, at the end of the room it now has.
    starts = np.repeat(offsets[1:] - lengths - values.offsets[:-1], lengths)
    total = int(values.offsets[-1])
    out[starts + np.arange(total)] = values.data[:total]
    return respell(values, out, offsets, settings)


def strip_zeros(values: ValueSet, width: int, settings: IndexSettings) -> ValueSet:
    """Read the digit texts of one width as integers: without the zeros in front of them.

    Parameters
    ----------
    values : ValueSet
    width : int
        Digits; texts of another length stay as they are.
    settings : IndexSettings
        Those that made the values.

    Returns
    -------
    ValueSet
        With the same number of rows. ``07`` and ``7`` at width 2 become one value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dfjoin.values.normalize import normalize_column
    >>> settings = IndexSettings()
    >>> strip_zeros(normalize_column(pa.array(["00501", "0501", "10001", "a"]), settings), 5, settings).values()
    ['501', '0501', '10001', 'a']
    """
    lengths = np.diff(values.offsets)
    positions = np.flatnonzero((lengths == width) & (values.data[values.offsets[:-1]] == ord("0")))
    digits = values.data[values.offsets[positions][:, None] + np.arange(width)]
    is_code = ((digits >= ord("0")) & (digits <= ord("9"))).all(axis=1) if positions.size else np.zeros(0, bool)
    positions, digits = positions[is_code], digits[is_code]
    if not positions.size:
        return values
    n_zeros = np.minimum(np.argmax(np.c_[digits != ord("0"), np.ones(positions.size, bool)], axis=1), width - 1)
    starts, kept = values.offsets[:-1].copy(), lengths.copy()
    starts[positions] += n_zeros
    kept[positions] -= n_zeros
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(kept, out=offsets[1:])
    out = np.zeros(int(offsets[-1]) + PADDING, np.uint8)
    out[: int(offsets[-1])] = values.data[expand_stretches(starts, kept)]
    return respell(values, out, offsets, settings)


def respell_zeros(values: ValueSet, pad: int, settings: IndexSettings) -> ValueSet:
    """Write zeros in front of integers up to `pad` digits, or read texts of −`pad` digits without theirs."""
    return pad_integers(values, pad, settings) if pad > 0 else strip_zeros(values, -pad, settings)
