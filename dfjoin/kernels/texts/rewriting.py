"""Copying many strings, and replacing their characters by tables, as casing does.

Spans as in `dfjoin.kernels.texts.spans`. Each kernel writes into a buffer that its caller has made large enough.
"""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.numba._compile import njit, njit_inner
from dfjoin.kernels.texts.spans import is_in_class, null_spans, read_utf8
from dfjoin.kernels.texts.strings import write_utf8


@njit_inner
def _copy(data, begin, end, out, o):
    """Copy bytes to place `o`; return the place behind them."""
    for i in range(begin, end):
        out[o] = data[i]
        o += 1
    return o


@njit
def copy_spans(spans, out, offsets):
    """Copy spans one behind the other, as Arrow lays out strings; nulls take no bytes.

    Parameters
    ----------
    spans : Spans
    out : ndarray of uint8
        As long as all spans together.
    offsets : ndarray of int32 or int64, shape (n + 1,)
        Written: where each begins in `out`.
    """
    data, starts, ends = spans
    o = 0
    offsets[0] = 0
    for row in range(starts.shape[0]):
        if starts[row] >= 0:
            o = _copy(data, starts[row], ends[row], out, o)
        offsets[row + 1] = o


@njit_inner
def _mapped(table, code_point):
    """Look a code point up; those behind the end of the table stay."""
    return np.int64(table[code_point]) if code_point < table.shape[0] else code_point


@njit
def map_runs(spans, classes, mask, first_table, rest_table, out):
    """Replace characters in runs of a class: the first of each run by one table, the others by a second.

    Parameters
    ----------
    spans : Spans
    classes : ndarray of uint8
        Code point → bits of the classes that it is in.
    mask : int
        The bits that belong to a run; characters outside runs stay. -1: each value is a run as a whole.
    first_table, rest_table : ndarray of uint32
        Code point → code point, of the same or a smaller width in UTF-8.
    out : ndarray of uint8
        As long as all spans together.

    Returns
    -------
    tuple of ndarray of int64, shape (n,)
        Starts and ends in `out`.
    """
    data, starts, ends = spans
    out_starts, out_ends = null_spans(starts.shape[0])
    o = np.int64(0)
    for row in range(starts.shape[0]):
        if starts[row] < 0:
            continue
        out_starts[row] = o
        inside = False
        i = starts[row]
        while i < ends[row]:
            code_point, width = read_utf8(data, i)
            now = mask < 0 or is_in_class(classes, mask, code_point)
            if now:
                table = rest_table if inside else first_table
                code_point = _mapped(table, code_point)
            inside = now
            o = write_utf8(out, o, code_point)
            i += width
        out_ends[row] = o
    return out_starts, out_ends
