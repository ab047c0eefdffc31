"""Dates and timestamps spelled as text: recognise one and write its canonical form in place.

Classes of a value as in `dfjoin.kernels.texts.numbers`.
"""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.hashing import hash_bytes
from dfjoin.kernels.numba._compile import njit, njit_inner, njit_lean
from dfjoin.kernels.texts.numbers import is_digit, read_digits

LONGEST = 26
"""Bytes of the longest canonical moment: ``YYYY-MM-DDtHH:MM:SS.ffffff``."""

_DAY = np.int64(86_400_000_000)
_SECOND = np.int64(1_000_000)

_MONTHS = np.frombuffer(b"janfebmaraprmayjunjulaugsepoctnovdec", np.uint8)
_REST = np.frombuffer(
    b"uary   ruary  ch     il            e      y      ust    tember ober   ember  ember  ", np.uint8
)  # what follows the three letters, seven bytes a month


@njit_inner
def _is_date(year, month, day):
    """Tell whether the three numbers are a day of the proleptic Gregorian calendar, years 1 to 9999."""
    if not (1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= 31):
        return False
    if month == 2:
        return day <= 28 or (day == 29 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
    return day <= 30 or not (month == 4 or month == 6 or month == 9 or month == 11)


@njit_inner
def _write_digits(out, i, value, count):
    """Write `value` with `count` digits at `i`; return the position behind."""
    rest = np.uint32(value)  # dividing what has no sign is faster
    for j in range(count):
        quotient = rest // np.uint32(10)
        out[i + count - 1 - j] = np.uint8(48 + rest - quotient * np.uint32(10))
        rest = quotient
    return i + count


@njit_inner
def _write_date(out, begin, year, month, day):
    """Write ``YYYY-MM-DD`` at `begin`; return the end."""
    i = _write_digits(out, begin, year, 4)
    out[i] = 45
    i = _write_digits(out, i + 1, month, 2)
    out[i] = 45
    return _write_digits(out, i + 1, day, 2)


@njit_inner
def _month(out, i, end):
    """Read an English month name or its abbreviation at `i`; return (month, position behind) or (0, i)."""
    if i + 3 > end:
        return 0, i
    for month in range(12):
        at = 3 * month
        if out[i] == _MONTHS[at] and out[i + 1] == _MONTHS[at + 1] and out[i + 2] == _MONTHS[at + 2]:
            j = i + 3
            k = 7 * month
            while k < 7 * month + 7 and _REST[k] != 32 and j < end and out[j] == _REST[k]:
                j += 1
                k += 1
            if k < 7 * month + 7 and _REST[k] != 32:
                j = i + 3
                if month == 8 and j < end and out[j] == 116:  # sept
                    j += 1
            if j < end and out[j] == 46:
                j += 1
            return month + 1, j
    return 0, i


@njit_inner
def _short_number(out, i, end):
    """Read one or two digits at `i`; return (value, position behind) or (-1, i)."""
    if i >= end or not is_digit(out[i]):
        return -1, i
    value = np.int64(out[i] - 48)
    if i + 1 < end and is_digit(out[i + 1]):
        return value * 10 + (out[i + 1] - 48), i + 2
    return value, i + 1


@njit_inner
def _separator(out, i, end):
    """Skip ``,`` and one space, or one of space, ``-`` and ``/``; return the position, -1 if none."""
    if i < end and out[i] == 44:
        i += 1
        if i < end and out[i] == 32:
            i += 1
        return i
    if i < end and (out[i] == 32 or out[i] == 45 or out[i] == 47):
        return i + 1
    return -1


@njit_inner
def _named_month(out, begin, end):
    """Read ``5 may 2020``, ``5-may-2020``, ``may 5, 2020``; return (year, month, day), year 0 if none."""
    if is_digit(out[begin]):
        day, i = _short_number(out, begin, end)
        i = _separator(out, i, end)
        if i < 0:
            return 0, 0, 0
        month, i = _month(out, i, end)
    else:
        month, i = _month(out, begin, end)
        if month == 0:
            return 0, 0, 0
        i = _separator(out, i, end)
        if i < 0:
            return 0, 0, 0
        day, i = _short_number(out, i, end)
    if month == 0 or day < 1:
        return 0, 0, 0
    i = _separator(out, i, end)
    if i < 0 or i + 4 != end:
        return 0, 0, 0
    year = read_digits(out, i, 4, end)
    if not _is_date(year, month, day):
        return 0, 0, 0
    return year, month, day


@njit_inner
def _day_after(year, month, day):
    """Return (year, month, day) of the next day."""
    if _is_date(year, month, day + 1):
        return year, month, day + 1
    if month < 12:
        return year, month + 1, np.int64(1)
    return year + 1, np.int64(1), np.int64(1)


@njit_inner
def _day_before(year, month, day):
    """Return (year, month, day) of the day before; the year may be 0."""
    if day > 1:
        return year, month, day - 1
    if month == 1:
        return year - 1, np.int64(12), np.int64(31)
    day = np.int64(31)
    while not _is_date(year, month - 1, day):
        day -= 1
    return year, month - 1, day


@njit_inner
def _zone(out, i, end):
    """Read ``z``, ``utc`` or ``±HH[:MM]`` at `i` up to `end`; return (is_valid, minutes east)."""
    if i == end:
        return True, 0
    if out[i] == 122 and i + 1 == end:
        return True, 0
    if out[i] == 32:
        i += 1
    if end - i == 3 and out[i] == 117 and out[i + 1] == 116 and out[i + 2] == 99:
        return True, 0
    if i >= end or (out[i] != 43 and out[i] != 45):
        return False, 0
    sign = 1 if out[i] == 43 else -1
    hours = read_digits(out, i + 1, 2, end)
    i += 3
    minutes = np.int64(0)
    if i < end:
        if out[i] == 58:
            i += 1
        minutes = read_digits(out, i, 2, end)
        i += 2
    if i != end or hours < 0 or hours > 14 or minutes < 0 or minutes > 59:
        return False, 0
    return True, sign * (hours * 60 + minutes)


@njit_inner
def _iso_time(out, begin, end, year, month, day):
    """Read what follows an ISO date; write date or timestamp; return (end, kind), kind 0 if neither."""
    i = begin + 10
    if i == end:
        return _write_date(out, begin, year, month, day), np.int8(3)
    if out[i] != 116 and out[i] != 32:
        return end, np.int8(0)
    hour = read_digits(out, i + 1, 2, end)
    minute = np.int64(-1)
    if i + 3 < end and out[i + 3] == 58:
        minute = read_digits(out, i + 4, 2, end)
    i += 6
    second = np.int64(0)
    micro = np.int64(0)
    if hour < 0 or hour > 23 or minute < 0 or minute > 59:
        return end, np.int8(0)
    if i < end and out[i] == 58:
        second = read_digits(out, i + 1, 2, end)
        i += 3
        if second < 0 or second > 59:
            return end, np.int8(0)
        if i < end and (out[i] == 46 or out[i] == 44):
            i += 1
            first_digit = i
            while i < end and is_digit(out[i]):
                if i - first_digit < 6:
                    micro = micro * 10 + (out[i] - 48)
                i += 1
            count = i - first_digit
            if count == 0 or count > 9:
                return end, np.int8(0)
            for _ in range(count, 6):
                micro *= 10
    is_valid, east = _zone(out, i, end)
    if not is_valid:
        return end, np.int8(0)
    minutes = hour * 60 + minute - east
    if minutes < 0:  # a zone is less than a day away
        minutes += 1440
        year, month, day = _day_before(year, month, day)
    elif minutes >= 1440:
        minutes -= 1440
        year, month, day = _day_after(year, month, day)
    if not 1 <= year <= 9999:
        return end, np.int8(0)
    return _write_timestamp(out, begin, year, month, day, minutes, second, micro)


@njit_inner
def _write_timestamp(out, begin, year, month, day, minutes, second, micro):
    """Write a timestamp, as a date when it is midnight; return (end, kind)."""
    i = _write_date(out, begin, year, month, day)
    if minutes == 0 and second == 0 and micro == 0:
        return i, np.int8(3)
    out[i] = 116
    i = _write_digits(out, i + 1, minutes // 60, 2)
    out[i] = 58
    i = _write_digits(out, i + 1, minutes % 60, 2)
    out[i] = 58
    i = _write_digits(out, i + 1, second, 2)
    if micro > 0:
        out[i] = 46
        i = _write_digits(out, i + 1, micro, 6)
    return i, np.int8(4)


@njit_lean
def canonical_time(out, begin, end):
    """Recognise a date or timestamp in ``out[begin:end]``; write it in ISO form.

    ``YYYY-MM-DD`` and ``YYYY/MM/DD``, English month names with a four-digit year, ISO timestamps with
    or without zone (zoned ones become UTC; digits beyond the microsecond are cut). All-digit
    day/month/year is class 6 and keeps its text.

    Parameters
    ----------
    out : ndarray of uint8
        Canonical text (lower case), changed in place; up to 26 bytes are written.
    begin, end : int
        The value.

    Returns
    -------
    end : int
        New end of the value.
    kind : int8
        3 date, 4 timestamp, 6 day/month/year, 0 none.

    Notes
    -----
    A timestamp is written ``YYYY-MM-DDtHH:MM:SS[.ffffff]``, the ``t`` small like all text. O(length).
    """
    length = end - begin
    if length < 8 or length > 40:
        return end, np.int8(0)
    if length >= 10:
        year = read_digits(out, begin, 4, end)
        mark = out[begin + 4]
        if year >= 0 and (mark == 45 or (mark == 47 and length == 10)) and out[begin + 7] == mark:
            month = read_digits(out, begin + 5, 2, end)
            day = read_digits(out, begin + 8, 2, end)
            if not _is_date(year, month, day):
                return end, np.int8(0)
            return _iso_time(out, begin, end, year, month, day)
    if length <= 10 and day_month_year(out, begin, end)[2] > 0:
        return end, np.int8(6)
    year, month, day = _named_month(out, begin, end)
    if year == 0:
        return end, np.int8(0)
    return _write_date(out, begin, year, month, day), np.int8(3)


@njit_lean
def day_month_year(out, begin, end):
    """Read ``d/m/yyyy`` or ``m/d/yyyy``, with ``/``, ``.`` or ``-`` between.

    Parameters
    ----------
    out : ndarray of uint8
        Holds the text.
    begin, end : int
        Where it lies.

    Returns
    -------
    first, second, year : int
        All 0 when it is no such date under either reading.
    """
    first, i = _short_number(out, begin, end)
    if first < 0 or i >= end:
        return 0, 0, 0
    mark = out[i]
    if mark != 47 and mark != 46 and mark != 45:
        return 0, 0, 0
    second, j = _short_number(out, i + 1, end)
    if second < 0 or j >= end or out[j] != mark or j + 5 != end:
        return 0, 0, 0
    year = read_digits(out, j + 1, 4, end)
    if year < 1 or not (_is_date(year, second, first) or _is_date(year, first, second)):
        return 0, 0, 0
    return first, second, year


@njit_lean
def day_month_year_votes(data, offsets):
    """Count which readings the all-digit dates of a column exclude.

    Parameters
    ----------
    data : ndarray of uint8
        Distinct values, packed.
    offsets : ndarray of int64, shape (n + 1,)
        Their bounds.

    Returns
    -------
    n_day_first, n_month_first : int
        Values that are a date only when the day, or the month, comes first.

    Notes
    -----
    O(total bytes).
    """
    day_first = 0
    month_first = 0
    for i in range(offsets.shape[0] - 1):
        first, second, year = day_month_year(data, offsets[i], offsets[i + 1])
        if year > 0:
            if not _is_date(year, first, second):
                day_first += 1
            elif not _is_date(year, second, first):
                month_first += 1
    return day_first, month_first


@njit
def rewrite_day_month_year(data, offsets, is_day_first, out):
    """Write the all-digit dates of a column as ISO dates, other values as they are.

    Parameters
    ----------
    data, offsets
        Distinct values, packed.
    is_day_first : bool
        The reading to apply; a value that is no date under it keeps its text.
    out : ndarray of uint8, shape (offsets[-1] + 10 n,) at least
        Receives the bytes.

    Returns
    -------
    ndarray of int64, shape (n + 1,)
        Bounds of the values in `out`.

    Notes
    -----
    O(total bytes).
    """
    n = offsets.shape[0] - 1
    ends = np.empty(n + 1, np.int64)
    ends[0] = 0
    o = 0
    for i in range(n):
        first, second, year = day_month_year(data, offsets[i], offsets[i + 1])
        day = first if is_day_first else second
        month = second if is_day_first else first
        if year > 0 and _is_date(year, month, day):
            o = _write_date(out, o, year, month, day)
        else:
            for j in range(offsets[i], offsets[i + 1]):
                out[o] = data[j]
                o += 1
        ends[i + 1] = o
    return ends


@njit_inner
def _civil(day):
    """Return (year, month, day of the month) of a day, counted from 1 January 1970, of the years 1 to 9999.

    The year begins in March here, so that the day that some years have more is its last one, and 400 years have
    146,097 days. Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013, civil_from_days.
    """
    day = np.uint32(day + 719_468)  # numbers without a sign are divided faster
    era = day // np.uint32(146_097)
    day -= era * np.uint32(146_097)
    year = (day - day // np.uint32(1460) + day // np.uint32(36_524) - day // np.uint32(146_096)) // np.uint32(365)
    day -= np.uint32(365) * year + year // np.uint32(4) - year // np.uint32(100)
    month = (np.uint32(5) * day + np.uint32(2)) // np.uint32(153)
    day -= (np.uint32(153) * month + np.uint32(2)) // np.uint32(5)
    year += era * np.uint32(400)
    return (year, month + 3, day + 1) if month < 10 else (year + 1, month - 9, day + 1)


@njit_lean
def write_moments(moments, seed, packed, classes):
    """Write moments in canonical form one after the other, and hash them: midnight as the date alone.

    Parameters
    ----------
    moments : ndarray of int64, shape (n,)
        Microseconds from 1 January 1970 on, of the years 1 to 9999.
    seed : uint64
    packed : tuple of ndarray
        Hashes of uint64, shape (n,); bytes of uint8, `LONGEST` for each and 8 more; offsets of int64, shape (n + 1,),
        of which the first is given: receive the texts.
    classes : ndarray of int8, shape (n,)
        Receives DATE or TIMESTAMP.

    Notes
    -----
    O(n).
    """
    hashes, data, offsets = packed
    for i in range(moments.shape[0]):
        begin = offsets[i]
        number = moments[i] // _DAY
        rest = moments[i] - number * _DAY
        year, month, day = _civil(number)
        second = rest // _SECOND
        micro = rest - second * _SECOND
        end, classes[i] = _write_timestamp(data, begin, year, month, day, second // 60, second % 60, micro)
        offsets[i + 1] = end
        hashes[i] = hash_bytes(data, begin, end - begin, seed)
