"""Suffix arrays over many values, and the best q-gram that each value shares with another column.

A suffix reaches to the end of its value and no further; order and matches look at `DEPTH` bytes of it.
"""

from __future__ import annotations

import numpy as np

from dfjoin.kernels._compile import njit

__all__ = ["DEPTH", "MIN_Q", "best_matches", "sort_ties", "suffix_keys", "suffix_positions"]

DEPTH = 64
"""Bytes of a suffix that count; longer q-grams are cut to them."""

MIN_Q = 3
"""The shortest q-gram, in bytes."""


@njit
def suffix_positions(data, offsets):
    """List the suffixes of at least `MIN_Q` bytes: where each begins and where its value ends.

    Parameters
    ----------
    data : ndarray of uint8
        Valid UTF-8; suffixes begin with a whole character.
    offsets : ndarray of int64, shape (n + 1,)

    Returns
    -------
    tuple of ndarray of int64, int64 and int32, each of shape (n_suffixes,)
        Begin, end, and number of the value.
    """
    n = offsets.shape[0] - 1
    count = 0
    for row in range(n):
        for i in range(offsets[row], offsets[row + 1] - MIN_Q + 1):
            if data[i] & 0xC0 != 0x80:
                count += 1
    begins = np.empty(count, np.int64)
    ends = np.empty(count, np.int64)
    rows = np.empty(count, np.int32)
    o = 0
    for row in range(n):
        for i in range(offsets[row], offsets[row + 1] - MIN_Q + 1):
            if data[i] & 0xC0 != 0x80:
                begins[o] = i
                ends[o] = offsets[row + 1]
                rows[o] = row
                o += 1
    return begins, ends, rows


@njit
def suffix_keys(data, begins, ends):
    """Return the first eight bytes of each suffix as a number that sorts like them.

    Parameters
    ----------
    data : ndarray of uint8
    begins, ends : ndarray of int64, shape (n,)

    Returns
    -------
    ndarray of uint64, shape (n,)
        Short suffixes are filled up with zero bytes.
    """
    keys = np.empty(begins.shape[0], np.uint64)
    for s in range(begins.shape[0]):
        key = np.uint64(0)
        for k in range(8):
            key <<= np.uint64(8)
            if begins[s] + k < ends[s]:
                key |= np.uint64(data[begins[s] + k])
        keys[s] = key
    return keys


@njit
def _compare(data, begins, ends, a, b):
    """Compare two suffixes behind their first eight bytes: negative, zero or positive."""
    i = begins[a] + 8
    j = begins[b] + 8
    stop_i = min(ends[a], begins[a] + DEPTH)
    stop_j = min(ends[b], begins[b] + DEPTH)
    while i < stop_i and j < stop_j:
        if data[i] != data[j]:
            return np.int64(data[i]) - np.int64(data[j])
        i += 1
        j += 1
    return np.int64(i < stop_i) - np.int64(j < stop_j)


@njit
def sort_ties(data, begins, ends, keys, order):
    """Put suffixes whose keys are equal into the order of their further bytes, in place.

    Parameters
    ----------
    data : ndarray of uint8
    begins, ends : ndarray of int64, shape (n,)
    keys : ndarray of uint64, shape (n,)
    order : ndarray of int64, shape (n,)
        Numbers of suffixes, sorted by key; equal suffixes keep their order.

    Notes
    -----
    Bottom-up merge sort of each run, stable.
    """
    n = order.shape[0]
    scratch = np.empty(n, order.dtype)
    first = 0
    while first < n:
        last = first + 1
        while last < n and keys[order[last]] == keys[order[first]]:
            last += 1
        width = 1
        while width < last - first:
            for low in range(first, last, 2 * width):
                middle = min(low + width, last)
                high = min(low + 2 * width, last)
                i = low
                j = middle
                for k in range(low, high):
                    if i < middle and (j >= high or _compare(data, begins, ends, order[i], order[j]) <= 0):
                        scratch[k] = order[i]
                        i += 1
                    else:
                        scratch[k] = order[j]
                        j += 1
            for k in range(first, last):
                order[k] = scratch[k]
            width *= 2
        first = last


@njit
def _common(a, i, stop_i, b, j, stop_j):
    """Count the bytes that two slices have in common at their beginning, at most `DEPTH`."""
    length = min(min(stop_i - i, stop_j - j), DEPTH)
    k = 0
    while k < length and a[i + k] == b[j + k]:
        k += 1
    return k


@njit
def _lower_bound(query, begin, length, data, begins, ends, order, after):
    """Find the first suffix that is not before a text, or with `after` the first that is behind all it begins."""
    low = 0
    high = order.shape[0]
    while low < high:
        middle = (low + high) // 2
        s = order[middle]
        same = _common(query, begin, begin + length, data, begins[s], ends[s])
        if same == length:
            is_before = after
        elif begins[s] + same >= ends[s]:
            is_before = True
        else:
            is_before = data[begins[s] + same] < query[begin + same]
        if is_before:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def best_matches(data, offsets, own_begins, own_ends, own_order, other, begins, ends, rows, order, limit):
    """Find for each value of a column the q-gram that it shares with the fewest values of both columns.

    For each suffix of a value the longest prefix that occurs in the other column; among these the one
    with the highest score 1 / (n m), the longest of equal ones, the first of equally long ones. n and m
    count its occurrences in the own and in the other column.

    Parameters
    ----------
    data : ndarray of uint8
        Bytes of the own values.
    offsets : ndarray of int64, shape (n_values + 1,)
    own_begins, own_ends, own_order : ndarray of int64
        Suffix array of the own column.
    other : ndarray of uint8
        Bytes of the other column.
    begins, ends, rows, order : ndarray of int64 and int32
        Suffix array of the other column.
    limit : int
        A match with more occurrences, n or m, is none.

    Returns
    -------
    tuple of ndarray, each of shape (n_values,)
        Score (float64, 0 for none), length in bytes, begin in `other`'s `order` and number of
        suffixes there (int64).

    Notes
    -----
    Source: Auto-Join (thesis, section 4.4.1, Algorithm 3 and Proposition 4.4.2): the longest prefix has
    the highest score, and one binary search in the suffix array finds it, where the paper searches q.
    Deviation: suffixes that begin inside a match are passed over but for its last two characters, and
    q-grams are cut to `DEPTH` bytes. O(bytes log suffixes).
    """
    n_values = offsets.shape[0] - 1
    scores = np.zeros(n_values, np.float64)
    lengths = np.zeros(n_values, np.int64)
    firsts = np.zeros(n_values, np.int64)
    counts = np.zeros(n_values, np.int64)
    for value in range(n_values):
        end = offsets[value + 1]
        i = offsets[value]
        while i <= end - MIN_Q:
            if data[i] & 0xC0 == 0x80:
                i += 1
                continue
            length = min(end - i, DEPTH)
            at = _lower_bound(data, i, length, other, begins, ends, order, False)
            longest = 0
            for near in range(max(at - 1, 0), min(at + 1, order.shape[0])):
                s = order[near]
                longest = max(longest, _common(data, i, i + length, other, begins[s], ends[s]))
            while longest > 0 and i + longest < end and data[i + longest] & 0xC0 == 0x80:
                longest -= 1
            if longest < MIN_Q:
                i += 1
                continue
            low = _lower_bound(data, i, longest, other, begins, ends, order, False)
            high = _lower_bound(data, i, longest, other, begins, ends, order, True)
            m = high - low
            if m <= limit:
                own_low = _lower_bound(data, i, longest, data, own_begins, own_ends, own_order, False)
                own_high = _lower_bound(data, i, longest, data, own_begins, own_ends, own_order, True)
                n = max(own_high - own_low, 1)
                score = 1.0 / (n * m)
                is_better = score > scores[value] or (score == scores[value] and longest > lengths[value])
                if n <= limit and is_better:
                    scores[value] = score
                    lengths[value] = longest
                    firsts[value] = low
                    counts[value] = m
            i += max(1, longest - 2)
    return scores, lengths, firsts, counts
