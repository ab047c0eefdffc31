"""Parts of many strings as spans of bytes: splitting, runs of a class, slices; nothing is copied.

A null is a span whose start is -1, and so is every result that would be empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit, njit_inner

TO_THE_END = np.int64(1 << 62)
"""`stop` of a slice that has no end."""


class Spans(NamedTuple):
    """Parts of one buffer of valid UTF-8, one a row.

    Parameters
    ----------
    data : ndarray of uint8
    starts, ends : ndarray of int64, shape (n,)
        Byte positions in `data`; a start of -1 is a null.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


@njit_inner
def read_utf8(data, i):
    """Return the code point at ``data[i]`` and its width in bytes; the text must be valid UTF-8.

    Parameters
    ----------
    data : ndarray of uint8
    i : int

    Returns
    -------
    tuple of int64
    """
    first = np.int64(data[i])
    if first < 0x80:
        return first, np.int64(1)
    if first < 0xE0:
        return ((first & 0x1F) << 6) | (np.int64(data[i + 1]) & 0x3F), np.int64(2)
    code = (np.int64(data[i + 1]) & 0x3F) << 6 | (np.int64(data[i + 2]) & 0x3F)
    if first < 0xF0:
        return ((first & 0x0F) << 12) | code, np.int64(3)
    return ((first & 0x07) << 18) | (code << 6) | (np.int64(data[i + 3]) & 0x3F), np.int64(4)


@njit
def null_spans(n):
    """Make spans that are all null, for a kernel to fill.

    Parameters
    ----------
    n : int

    Returns
    -------
    tuple of ndarray of int64, shape (n,)
        Starts and ends.
    """
    return np.full(n, -1, np.int64), np.full(n, -1, np.int64)


@njit_inner
def find_bytes(data, begin, end, separator):
    """Return the first position of `separator` in ``data[begin:end]``, -1 if it is not there.

    Parameters
    ----------
    data : ndarray of uint8
    begin, end : int
    separator : ndarray of uint8
        At least one byte.

    Returns
    -------
    int64
    """
    width = separator.shape[0]
    first = separator[0]
    for i in range(begin, end - width + 1):
        if data[i] == first:
            k = 1
            while k < width and data[i + k] == separator[k]:
                k += 1
            if k == width:
                return i
    return np.int64(-1)


@njit
def split_part(spans, separator, index):
    """Narrow each span to one of the parts between occurrences of a separator.

    Occurrences are found from the left and do not overlap; a span without one is its own only part.

    Parameters
    ----------
    spans : Spans
    separator : ndarray of uint8
        At least one byte.
    index : int
        Number of the part from 0; negative numbers count from the last part, -1.

    Returns
    -------
    tuple of ndarray of int64, shape (n,)
        Starts and ends; null where there is no such part or it is empty.

    Notes
    -----
    O(bytes), twice for a negative index.
    """
    data, starts, ends = spans
    out_starts, out_ends = null_spans(starts.shape[0])
    width = separator.shape[0]
    for row in range(starts.shape[0]):
        begin = starts[row]
        if begin < 0:
            continue
        wanted = index
        if wanted < 0:
            at = find_bytes(data, begin, ends[row], separator)
            wanted += 1
            while at >= 0:
                wanted += 1
                at = find_bytes(data, at + width, ends[row], separator)
            if wanted < 0:
                continue
        at = find_bytes(data, begin, ends[row], separator)
        while wanted > 0 and at >= 0:
            begin = at + width
            wanted -= 1
            at = find_bytes(data, begin, ends[row], separator)
        stop = ends[row] if at < 0 else at
        if wanted == 0 and stop > begin:
            out_starts[row] = begin
            out_ends[row] = stop
    return out_starts, out_ends


@njit
def text_after(spans, separator):
    """Narrow each span to what follows the first occurrence of a separator.

    Parameters
    ----------
    spans : Spans
    separator : ndarray of uint8
        At least one byte.

    Returns
    -------
    tuple of ndarray of int64, shape (n,)
        Starts and ends; null where it does not occur or nothing follows.
    """
    data, starts, ends = spans
    out_starts, out_ends = null_spans(starts.shape[0])
    for row in range(starts.shape[0]):
        if starts[row] < 0:
            continue
        at = find_bytes(data, starts[row], ends[row], separator)
        if at >= 0 and at + separator.shape[0] < ends[row]:
            out_starts[row] = at + separator.shape[0]
            out_ends[row] = ends[row]
    return out_starts, out_ends


@njit
def text_before(spans, separator):
    """Narrow each span to what precedes the last occurrence of a separator.

    Parameters
    ----------
    spans : Spans
    separator : ndarray of uint8
        At least one byte.

    Returns
    -------
    tuple of ndarray of int64, shape (n,)
        Starts and ends; null where it does not occur or nothing precedes.
    """
    data, starts, ends = spans
    out_starts, out_ends = null_spans(starts.shape[0])
    width = separator.shape[0]
    for row in range(starts.shape[0]):
        if starts[row] < 0:
            continue
        at = ends[row] - width
        while at > starts[row] and find_bytes(data, at, at + width, separator) < 0:
            at -= 1
        if at > starts[row]:
            out_starts[row] = starts[row]
            out_ends[row] = at
    return out_starts, out_ends


@njit_inner
def is_in_class(classes, mask, code_point):
    """Tell whether a code point belongs to one of the classes of a mask.

    Parameters
    ----------
    classes : ndarray of uint8
        Code point → bits of the classes that it is in; code points behind its end are in none.
    mask : int
    code_point : int

    Returns
    -------
    bool
    """
    return code_point < classes.shape[0] and (classes[code_point] & mask) != 0


@njit_inner
def _count_runs(data, begin, end, classes, mask):
    """Count the maximal runs of characters of a class."""
    count = 0
    inside = False
    i = begin
    while i < end:
        code_point, width = read_utf8(data, i)
        now = is_in_class(classes, mask, code_point)
        if now and not inside:
            count += 1
        inside = now
        i += width
    return count


@njit
def nth_run(spans, classes, mask, index):
    """Narrow each span to one of its maximal runs of characters of a class.

    Parameters
    ----------
    spans : Spans
    classes : ndarray of uint8
        Code point → bits of the classes that it is in; code points behind its end are in none.
    mask : int
        The bits that belong to the run.
    index : int
        Number of the run from 0; negative numbers count from the last one, -1.

    Returns
    -------
    tuple of ndarray of int64, shape (n,)
        Starts and ends; null where there are too few runs.

    Notes
    -----
    O(bytes), twice for a negative index.
    """
    data, starts, ends = spans
    out_starts, out_ends = null_spans(starts.shape[0])
    for row in range(starts.shape[0]):
        if starts[row] < 0:
            continue
        wanted = index
        if wanted < 0:
            wanted += _count_runs(data, starts[row], ends[row], classes, mask)
            if wanted < 0:
                continue
        begin = np.int64(-1)
        i = starts[row]
        while i < ends[row]:
            code_point, width = read_utf8(data, i)
            if is_in_class(classes, mask, code_point):
                if begin < 0:
                    begin = i
            elif begin >= 0:
                if wanted == 0:
                    break
                wanted -= 1
                begin = np.int64(-1)
            i += width
        if begin >= 0 and wanted == 0:
            out_starts[row] = begin
            out_ends[row] = i
    return out_starts, out_ends


@njit_inner
def _count_characters(data, begin, end):
    """Count code points: the bytes that do not continue one."""
    count = np.int64(0)
    for i in range(begin, end):
        if data[i] & 0xC0 != 0x80:
            count += 1
    return count


@njit_inner
def _advance(data, i, end, n_characters):
    """Return the position `n_characters` code points behind `i`, at most `end`."""
    while n_characters > 0 and i < end:
        i += 1
        while i < end and data[i] & 0xC0 == 0x80:
            i += 1
        n_characters -= 1
    return i


@njit
def slice_characters(spans, first, stop):
    """Narrow each span to the characters that Python's ``text[first:stop]`` would keep.

    Parameters
    ----------
    spans : Spans
    first, stop : int
        Positions in code points, negative ones from the end; `TO_THE_END` as `stop` for none.

    Returns
    -------
    tuple of ndarray of int64, shape (n,)
        Starts and ends; null where nothing is left.

    Notes
    -----
    O(bytes).
    """
    data, starts, ends = spans
    out_starts, out_ends = null_spans(starts.shape[0])
    for row in range(starts.shape[0]):
        begin = starts[row]
        end = ends[row]
        if begin < 0:
            continue
        low = np.int64(first)
        high = np.int64(stop)
        if low < 0 or high < 0:
            length = _count_characters(data, begin, end)
            if low < 0:
                low = max(low + length, 0)
            if high < 0:
                high = max(high + length, 0)
        if high <= low:
            continue
        at = _advance(data, begin, end, low)
        until = end if high >= TO_THE_END else _advance(data, at, end, high - low)
        if until > at:
            out_starts[row] = at
            out_ends[row] = until
    return out_starts, out_ends
