"""Suffix arrays over many values, and the best q-gram that each value shares with another column.

A suffix reaches to the end of its value and no further; order and matches look at `DEPTH` bytes of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sorting import is_stretch_before, merge_sort_by

DEPTH = 64
"""Bytes of a suffix that count; longer q-grams are cut to them."""

MIN_Q = 3
"""The shortest q-gram, in bytes."""


class Suffixes(NamedTuple):
    """A suffix array, read-only: the bytes of a column, where its suffixes begin and end, and their order.

    `keys` are the first eight bytes of each, see `suffix_keys`, in that order.
    """

    data: NDArray[np.uint8]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    order: NDArray[np.int64]
    keys: NDArray[np.uint64]


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
    rows = np.repeat(np.arange(offsets.shape[0] - 1, dtype=np.int32), np.diff(offsets))
    begins = np.arange(offsets[0], offsets[-1], dtype=np.int64)
    ends = offsets[1:][rows]
    is_suffix = (ends - begins >= MIN_Q) & (data[offsets[0] : offsets[-1]] & 0xC0 != 0x80)
    return begins[is_suffix], ends[is_suffix], rows[is_suffix]


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
    keys = np.zeros(begins.shape[0], np.uint64)
    for k in range(8):
        is_inside = begins + k < ends
        keys <<= np.uint64(8)
        keys[is_inside] |= data[begins[is_inside] + k]
    return keys


@njit_inner
def _is_suffix_before(keys, a, b):
    """Tell whether suffix `a` comes before suffix `b` by what is behind their first eight bytes."""
    data, begins, ends = keys
    stop_a, stop_b = min(ends[a], begins[a] + DEPTH), min(ends[b], begins[b] + DEPTH)
    return is_stretch_before(data, begins[a] + 8, stop_a, begins[b] + 8, stop_b)


_sort_suffixes = merge_sort_by(_is_suffix_before)


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
    Stable.
    """
    texts = as_read_only(data), as_read_only(begins), as_read_only(ends)
    _sort_ties(texts, as_read_only(keys), order, np.empty_like(order))


@njit_lean
def _sort_ties(texts, keys, order, scratch):
    """Sort each run of equal keys."""
    n = order.shape[0]
    first = np.int64(0)
    while first < n:
        last = first + 1
        while last < n and keys[order[last]] == keys[order[first]]:
            last += 1
        if last - first > 1:
            _sort_suffixes(order, first, last, scratch, texts)
        first = last


@njit_inner
def _common(a, i, stop_i, b, j, stop_j):
    """Count the bytes that two slices have in common at their beginning, at most `DEPTH`."""
    length = min(min(stop_i - i, stop_j - j), DEPTH)
    k = 0
    while k < length and a[i + k] == b[j + k]:
        k += 1
    return k


@njit_inner
def _lower_bound(query, begin, length, suffixes, after, low, high):
    """Find the first suffix that is not before a text, or with `after` the first that is behind all it begins.

    It is looked for from `low` to `high`, which is returned where there is none before. The bytes of a suffix are
    looked at only where the first eight do not tell. Apart from `dfjoin.kernels.sorting.lower_bound`, since a step
    compares texts and not numbers.
    """
    data, begins, ends, order, keys = suffixes
    head, mask = np.uint64(0), np.uint64(0)
    for k in range(8):
        head <<= np.uint64(8)
        mask <<= np.uint64(8)
        if k < length:
            head |= np.uint64(query[begin + k])
            mask |= np.uint64(255)
    while low < high:
        middle = (low + high) // 2
        key = keys[middle] & mask
        is_before = key < head
        if key == head:
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


def best_matches(offsets, own, other, limit):
    """Find for each value of a column the q-gram that it shares with the fewest values of both columns.

    For each suffix of a value the longest prefix that occurs in the other column; among these the one
    with the highest score 1 / (n m), the longest of equal ones, the first of equally long ones. n and m
    count its occurrences in the own and in the other column.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_values + 1,)
        Where the own values lie in ``own.data``.
    own, other : Suffixes
        Suffix arrays of the own and the other column.
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
    n = offsets.shape[0] - 1
    found = np.zeros(n, np.float64), *np.zeros((3, n), np.int64)
    _best_matches(as_read_only(offsets), own, other, limit, found)
    return found


@njit_lean
def _best_matches(offsets, own, other, limit, found):
    """Find the best q-gram of each value."""
    scores, lengths, firsts, counts = found
    data, n_own, n_other = own.data, own.order.shape[0], other.order.shape[0]
    for value in range(scores.shape[0]):
        end = offsets[value + 1]
        i = offsets[value]
        while i <= end - MIN_Q:
            if data[i] & 0xC0 == 0x80:
                i += 1
                continue
            length = min(end - i, DEPTH)
            at = _lower_bound(data, i, length, other, False, 0, n_other)
            longest = np.int64(0)
            for near in range(max(at - 1, 0), min(at + 1, n_other)):
                s = other.order[near]
                longest = max(longest, _common(data, i, i + length, other.data, other.begins[s], other.ends[s]))
            while longest > 0 and i + longest < end and data[i + longest] & 0xC0 == 0x80:
                longest -= 1
            if longest < MIN_Q:
                i += 1
                continue
            # Those that begin with the match lie around the suffix; more than the limit need not be counted.
            low = _lower_bound(data, i, longest, other, False, max(at - limit - 1, 0), at)
            high = _lower_bound(data, i, longest, other, True, at, min(at + limit + 1, n_other))
            m = high - low
            if m <= limit and 1.0 / m >= scores[value]:  # else it is no better, whatever n is
                own_low = _lower_bound(data, i, longest, own, False, 0, n_own)
                own_high = _lower_bound(data, i, longest, own, True, own_low, min(own_low + limit + 1, n_own))
                n = max(own_high - own_low, 1)
                score = 1.0 / (n * m)
                is_better = score > scores[value] or (score == scores[value] and longest > lengths[value])
                if n <= limit and is_better:
                    scores[value] = score
                    lengths[value] = longest
                    firsts[value] = low
                    counts[value] = m
            i += max(1, longest - 2)
