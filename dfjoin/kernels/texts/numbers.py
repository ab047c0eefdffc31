"""Numbers spelled as text: recognise one and write its canonical form in place; ranges of columns.

Classes of a value: 0 text, 1 integer, 2 other number, 3 date, 4 timestamp, 5 boolean word,
6 all-digit day/month/year whose order its column has to tell.
"""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.numba._compile import njit, njit_inner, njit_lean

TEXT, INTEGER, NUMBER, DATE, TIMESTAMP, BOOLEAN, DAY_MONTH_YEAR = range(7)

_EXACT = 1 << 53
_POWERS = 10.0 ** np.arange(19)


@njit_lean
def is_digit(byte):
    """Tell whether a byte is an ASCII digit.

    Parameters
    ----------
    byte : uint8

    Returns
    -------
    bool
    """
    return 48 <= byte <= 57


@njit_lean
def canonical_number(out, begin, end):
    """Recognise a number in ``out[begin:end]``; write an integer without its ``.0``.

    An integer in plain spelling, ``-?(0|[1-9][0-9]*)(\\.0+)?``, becomes its digits and ``-0`` becomes
    ``0``. Other decimal or exponent spellings keep their text, class 2; a leading zero or plus is text.

    Parameters
    ----------
    out : ndarray of uint8
        Canonical text, changed in place.
    begin, end : int
        The value.

    Returns
    -------
    end : int
        New end of the value.
    kind : int8
        1 integer, 2 other number, 0 neither.

    Notes
    -----
    O(length).
    """
    i = begin
    if out[i] == 45:
        i += 1
    whole = i
    while i < end and is_digit(out[i]):
        i += 1
    whole_digits = i - whole
    is_plain = whole_digits > 0 and (out[whole] != 48 or whole_digits == 1)
    if i == end:
        if not is_plain:
            return end, np.int8(0)
        return _drop_minus_zero(out, begin, end), np.int8(1)
    if out[begin] == 43 or (whole_digits > 1 and not is_plain):
        return end, np.int8(0)
    zeros_only = True
    fraction_digits = 0
    if out[i] == 46:
        point = i
        i += 1
        while i < end and is_digit(out[i]):
            zeros_only = zeros_only and out[i] == 48
            i += 1
        fraction_digits = i - point - 1
        if i == end and fraction_digits > 0 and zeros_only and is_plain:
            return _drop_minus_zero(out, begin, point), np.int8(1)
    if whole_digits + fraction_digits == 0:
        return end, np.int8(0)
    if i < end and out[i] == 101:  # e
        i += 1
        if i < end and (out[i] == 43 or out[i] == 45):
            i += 1
        exponent = i
        while i < end and is_digit(out[i]):
            i += 1
        if i == exponent:
            return end, np.int8(0)
    return end, np.int8(2 if i == end else 0)


@njit_inner
def _drop_minus_zero(out, begin, end):
    """Write ``-0`` as ``0``; return the end."""
    if end - begin == 2 and out[begin] == 45 and out[begin + 1] == 48:
        out[begin] = 48
        return begin + 1
    return end


@njit_lean
def read_digits(out, i, count, end):
    """Read a number of exactly `count` digits.

    Parameters
    ----------
    out : ndarray of uint8
        Holds the text.
    i : int
        Where the digits start.
    count : int
        How many there have to be.
    end : int
        Where the text ends.

    Returns
    -------
    int64
        The number, -1 if these are not all digits.
    """
    if i + count > end:
        return np.int64(-1)
    value = np.int64(0)
    for j in range(i, i + count):
        if not is_digit(out[j]):
            return np.int64(-1)
        value = value * 10 + (out[j] - 48)
    return value


@njit_lean
def integer_range(data, offsets):
    """Return the smallest and largest of a column's integers.

    Parameters
    ----------
    data : ndarray of uint8
        Distinct canonical values, packed.
    offsets : ndarray of int64, shape (n + 1,)

    Returns
    -------
    smallest, largest : int64
    is_valid : bool
        False when a value is no integer, has more than 18 digits, or there is none.

    Notes
    -----
    O(total bytes).
    """
    smallest = np.int64(9223372036854775807)
    largest = np.int64(-9223372036854775807)
    for i in range(offsets.shape[0] - 1):
        begin = offsets[i]
        end = offsets[i + 1]
        is_negative = end > begin and data[begin] == 45
        if is_negative:
            begin += 1
        if end == begin or end - begin > 18:
            return np.int64(0), np.int64(0), False
        value = read_digits(data, begin, end - begin, end)
        if value < 0:
            return np.int64(0), np.int64(0), False
        if is_negative:
            value = -value
        smallest = min(smallest, value)
        largest = max(largest, value)
    return smallest, largest, offsets.shape[0] > 1


@njit_inner
def number_range(data, offsets):
    """Return which of a column's numbers are the smallest and the largest, of equal ones the first.

    Parameters
    ----------
    data : ndarray of uint8
        Distinct canonical values, packed.
    offsets : ndarray of int64, shape (n + 1,)

    Returns
    -------
    low, high : int
        (-1, -1) if there is none, or one is not written as digits with a point before the last ones, or has so many
        that a quotient of exact floats is not the nearest float.

    Notes
    -----
    O(total bytes). Up to 2**53 and up to 10**22 whole numbers are exact as floats, so that the quotient is rounded
    once, as W. D. Clinger, How to read floating point numbers accurately, PLDI 1990, has it.
    """
    low, high = -1, -1
    smallest = largest = 0.0
    for i in range(offsets.shape[0] - 1):
        begin, end = offsets[i], offsets[i + 1]
        is_negative = begin < end and data[begin] == 45
        begin += is_negative
        if end - begin > 18 or begin >= end or not is_digit(data[begin]) or not is_digit(data[end - 1]):
            return -1, -1
        value, point = np.int64(0), end - 1
        for j in range(begin, end):
            if is_digit(data[j]):
                value = value * 10 + (data[j] - 48)
            elif data[j] == 46 and point == end - 1:
                point = j
            else:
                return -1, -1
        if value > _EXACT:
            return -1, -1
        number = np.float64(value) / _POWERS[end - 1 - point]
        number = -number if is_negative else number
        if low < 0 or number < smallest:
            low, smallest = i, number
        if high < 0 or number > largest:
            high, largest = i, number
    return low, high


@njit
def parse_integers(data, offsets):
    """Return canonical integers of at most 18 digits as numbers.

    Parameters
    ----------
    data : ndarray of uint8
        Canonical integers, packed, as `integer_range` found them valid.
    offsets : ndarray of int64, shape (n + 1,)

    Returns
    -------
    ndarray of int64, shape (n,)

    Notes
    -----
    O(total bytes).
    """
    n = offsets.shape[0] - 1
    numbers = np.empty(n, np.int64)
    for i in range(n):
        begin = offsets[i]
        end = offsets[i + 1]
        is_negative = data[begin] == 45
        if is_negative:
            begin += 1
        value = read_digits(data, begin, end - begin, end)
        numbers[i] = -value if is_negative else value
    return numbers


@njit_inner
def _is_less(data, offsets, a, b):
    """Tell whether value `a` comes before value `b` by bytes, which is by code point."""
    i = offsets[a]
    j = offsets[b]
    while i < offsets[a + 1] and j < offsets[b + 1]:
        if data[i] != data[j]:
            return data[i] < data[j]
        i += 1
        j += 1
    return i == offsets[a + 1] and j < offsets[b + 1]


@njit_lean
def text_range(data, offsets):
    """Return the numbers of the first and last value in code-point order, (-1, -1) if there is none.

    Parameters
    ----------
    data : ndarray of uint8
        Distinct canonical values, packed.
    offsets : ndarray of int64, shape (n + 1,)

    Returns
    -------
    first, last : int

    Notes
    -----
    O(total bytes).
    """
    n = offsets.shape[0] - 1
    if n == 0:
        return -1, -1
    first = 0
    last = 0
    for i in range(1, n):
        if _is_less(data, offsets, i, first):
            first = i
        elif _is_less(data, offsets, last, i):
            last = i
    return first, last
