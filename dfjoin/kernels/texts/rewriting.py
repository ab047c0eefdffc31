"""Rewriting many strings character by character: casing, keeping a class, replacing, padding, grouping.

Spans as in `dfjoin.kernels.texts.spans`. Each kernel writes into a buffer that its caller has made large
enough, and returns spans in it.
"""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.numba._compile import njit, njit_inner
from dfjoin.kernels.texts.spans import find_bytes, is_in_class, null_spans, read_utf8
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


@njit
def keep_class(spans, classes, mask, out):
    """Drop the characters that are not of a class.

    Parameters
    ----------
    spans : Spans
    classes : ndarray of uint8
        Code point → bits of the classes that it is in.
    mask : int
        The bits to keep.
    out : ndarray of uint8
        As long as all spans together.

    Returns
    -------
    tuple of ndarray of int64, shape (n,)
        Starts and ends in `out`; null where nothing is left.
    """
    data, starts, ends = spans
    out_starts, out_ends = null_spans(starts.shape[0])
    o = np.int64(0)
    for row in range(starts.shape[0]):
        if starts[row] < 0:
            continue
        begin = o
        i = starts[row]
        while i < ends[row]:
            code_point, width = read_utf8(data, i)
            if is_in_class(classes, mask, code_point):
                o = _copy(data, i, i + width, out, o)
            i += width
        if o > begin:
            out_starts[row] = begin
            out_ends[row] = o
    return out_starts, out_ends


@njit
def replace_all(spans, old, new, out):
    """Replace each occurrence of a text by another, from the left, without overlap.

    Parameters
    ----------
    spans : Spans
    old : ndarray of uint8
        At least one byte.
    new : ndarray of uint8
        May be empty.
    out : ndarray of uint8
        As long as all spans together, times ``max(1, len(new) / len(old))``.

    Returns
    -------
    tuple of ndarray of int64, shape (n,)
        Starts and ends in `out`; null where nothing is left.
    """
    data, starts, ends = spans
    out_starts, out_ends = null_spans(starts.shape[0])
    o = np.int64(0)
    for row in range(starts.shape[0]):
        if starts[row] < 0:
            continue
        begin = o
        i = starts[row]
        while i < ends[row]:
            at = find_bytes(data, i, ends[row], old)
            stop = ends[row] if at < 0 else at
            for k in range(i, stop):
                out[o] = data[k]
                o += 1
            i = stop
            if at >= 0:
                for k in range(new.shape[0]):
                    out[o] = new[k]
                    o += 1
                i += old.shape[0]
        if o > begin:
            out_starts[row] = begin
            out_ends[row] = o
    return out_starts, out_ends


@njit
def squeeze_spaces(spans, out):
    """Write runs of spaces as one space and drop those at the ends; only U+0020 is a space.

    Parameters
    ----------
    spans : Spans
    out : ndarray of uint8
        As long as all spans together.

    Returns
    -------
    tuple of ndarray of int64, shape (n,)
        Starts and ends in `out`; null where nothing is left.
    """
    data, starts, ends = spans
    out_starts, out_ends = null_spans(starts.shape[0])
    o = np.int64(0)
    for row in range(starts.shape[0]):
        if starts[row] < 0:
            continue
        begin = o
        pending = False
        for i in range(starts[row], ends[row]):
            if data[i] == 32:
                pending = o > begin  # written when something follows: no space is left at an end
            else:
                if pending:
                    out[o] = 32
                    o += 1
                    pending = False
                out[o] = data[i]
                o += 1
        if o > begin:
            out_starts[row] = begin
            out_ends[row] = o
    return out_starts, out_ends


@njit
def pad_left(spans, width, fill, out):
    """Put a character before each value until it has `width` characters; longer ones stay.

    Parameters
    ----------
    spans : Spans
    width : int
        In code points.
    fill : int
        An ASCII code.
    out : ndarray of uint8
        As long as all spans together, and `width` for each.

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
        missing = width
        for i in range(starts[row], ends[row]):
            if data[i] & 0xC0 != 0x80:
                missing -= 1
        for _ in range(missing):
            out[o] = fill
            o += 1
        o = _copy(data, starts[row], ends[row], out, o)
        out_ends[row] = o
    return out_starts, out_ends


@njit
def group_digits(spans, separator, out):
    """Put a separator between groups of three digits of a plain decimal number.

    Parameters
    ----------
    spans : Spans
    separator : int
        An ASCII code.
    out : ndarray of uint8
        Twice as long as all spans together.

    Returns
    -------
    tuple of ndarray of int64, shape (n,)
        Starts and ends in `out`; null for what is not ``-?[0-9]+(.[0-9]+)?``.
    """
    data, starts, ends = spans
    out_starts, out_ends = null_spans(starts.shape[0])
    o = np.int64(0)
    for row in range(starts.shape[0]):
        begin = starts[row]
        if begin < 0:
            continue
        end = ends[row]
        i = begin + 1 if data[begin] == 45 else begin
        point = i
        while point < end and 48 <= data[point] <= 57:
            point += 1
        stop = point
        if point < end and data[point] == 46:
            stop += 1
            while stop < end and 48 <= data[stop] <= 57:
                stop += 1
        # No digit before the point, something behind the number, or no digit behind the point.
        if point == i or stop < end or stop == point + 1:
            continue
        out_starts[row] = o
        for k in range(begin, end):
            if i < k < point and (point - k) % 3 == 0:
                out[o] = separator
                o += 1
            out[o] = data[k]
            o += 1
        out_ends[row] = o
    return out_starts, out_ends
