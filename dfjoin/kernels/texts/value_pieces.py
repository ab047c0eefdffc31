"""Pieces of values that survive transformations: words and numbers, their ends, and values without separators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.hashing import hash_bytes
from dfjoin.kernels.numba._compile import njit, njit_inner

_MIN_CHARS = 3
_END_CHARS = 4
_MAX_BYTES = 256
"""Longer values are free text and have no pieces."""
_MIN_SQUEEZED = 5
_MAX_SQUEEZED = 32
_SCRATCH = _MAX_SQUEEZED + 16


class QueryValues(NamedTuple):
    """The pieces of the values of a query.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_values + 1,)
    pieces : ndarray of int32
        Pieces of each value: numbers of lists.
    n_holders : ndarray of int64, shape (n_lists,)
        Values that have each piece.
    bits : ndarray of float64, shape (n_lists,)
        How much each piece tells.
    """

    indptr: NDArray[np.int64]
    pieces: NDArray[np.int32]
    n_holders: NDArray[np.int64]
    bits: NDArray[np.float64]


class PieceLists(NamedTuple):
    """The columns that hold each piece, as a CSR."""

    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]


@njit_inner
def _kind(data, i):
    """Return 0 for a separator, 1 for a letter, 2 for a digit, -1 inside of a character."""
    byte = data[i]
    if byte < 0x80:
        if 0x61 <= byte <= 0x7A or 0x41 <= byte <= 0x5A:
            return 1
        return 2 if 0x30 <= byte <= 0x39 else 0
    if byte < 0xC0:
        return -1
    if byte == 0xC2:  # Latin-1 signs
        return 0
    if byte == 0xE2 and (data[i + 1] == 0x80 or data[i + 1] == 0x81):  # dashes, quotes and spaces
        return 0
    if byte == 0xE3 and data[i + 1] == 0x80:  # the same of Chinese and Japanese
        return 0
    return 1


@njit_inner
def _add_run(data, start, end, n_chars, seed, out, n):
    """Write the hashes of a run and, if it is longer, of its first and last four characters."""
    if n_chars < _MIN_CHARS:
        return n
    out[n] = hash_bytes(data, start, end - start, seed)
    n += 1
    if n_chars > _END_CHARS:
        head = start
        for _ in range(_END_CHARS):
            head += 1
            while data[head] & 0xC0 == 0x80:
                head += 1
        tail = end
        for _ in range(_END_CHARS):
            tail -= 1
            while data[tail] & 0xC0 == 0x80:
                tail -= 1
        out[n] = hash_bytes(data, start, head - start, seed)
        out[n + 1] = hash_bytes(data, tail, end - tail, seed)
        n += 2
    return n


@njit_inner
def _most_pieces(length):
    """Return how many pieces a value of so many bytes has at most: three for five bytes, one for three."""
    return 2 + 3 * length // 5


@njit_inner
def _add_value(data, start, end, seed, scratch, out, n):
    """Write the hashes of the pieces of one value behind the first `n`; return their new number."""
    if end - start > _MAX_BYTES:
        return n
    run_start = start
    run_kind = 0
    n_chars = 0
    n_runs = 0
    n_squeezed = 0
    for i in range(start, end):
        kind = _kind(data, i)
        if kind == run_kind:
            n_chars += 1
        elif kind >= 0:
            if run_kind > 0:
                n = _add_run(data, run_start, i, n_chars, seed, out, n)
            run_start, run_kind, n_chars = i, kind, 1
            n_runs += kind > 0
        if run_kind > 0:
            if n_squeezed < _MAX_SQUEEZED:
                scratch[n_squeezed] = data[i]
            n_squeezed += 1
    if run_kind > 0:
        n = _add_run(data, run_start, end, n_chars, seed, out, n)
    if n_runs > 1 and _MIN_SQUEEZED <= n_squeezed <= _MAX_SQUEEZED:
        out[n] = hash_bytes(scratch, 0, n_squeezed, seed)
        n += 1
    return n


@njit_inner
def _unique(hashes, start, end):
    """Keep each of the sorted ``hashes[start:end]`` once; return the new end."""
    n = start
    for i in range(start, end):
        if i == start or hashes[i] != hashes[n - 1]:
            hashes[n] = hashes[i]
            n += 1
    return n


@njit
def value_pieces(data, offsets, seed):
    """Hash the pieces of each value.

    Pieces are the runs of letters and the runs of digits of at least 3 characters; of longer runs than 4
    also the first 4 and the last 4 characters; and the value without its separators, if this joins two runs
    or more to 5 to 32 bytes. Values above 256 bytes have none.

    Parameters
    ----------
    data : ndarray of uint8
        Canonical values, UTF-8, 8 bytes more than used.
    offsets : ndarray of int64, shape (n + 1,)
    seed : uint64

    Returns
    -------
    indptr : ndarray of int64, shape (n + 1,)
    hashes : ndarray of uint64
        Of each value ascending, each once.

    Notes
    -----
    Every character that is not a digit or a sign is a letter. O(bytes).
    Source: Zhu, thesis, section 5.3.1: transformations typically do not break tokens. Deviations: no pattern of
    the column is looked for; ends and squeezed values stand for what joins or cuts tokens.
    """
    n = offsets.shape[0] - 1
    indptr = np.zeros(n + 1, np.int64)
    total = 0
    for i in range(n):
        total += _most_pieces(offsets[i + 1] - offsets[i])
    hashes = np.empty(total, np.uint64)
    scratch = np.zeros(_SCRATCH, np.uint8)
    for i in range(n):
        start = indptr[i]
        end = _add_value(data, offsets[i], offsets[i + 1], seed, scratch, hashes, start)
        hashes[start:end].sort()
        indptr[i + 1] = _unique(hashes, start, end)
    return indptr, hashes[: indptr[n]].copy()


@njit
def column_pieces(columns, value_offsets, value_bytes, groups, sets, seed):
    """Hash the pieces of all values of some columns, each once for each column.

    Parameters
    ----------
    columns : ndarray of int32, shape (n,)
        Column ids.
    value_offsets : ndarray of int64, shape (n_tokens + 1,)
    value_bytes : ndarray of uint8
        The vocabulary, 8 bytes more than used.
    groups : Groups
    sets : Sets
    seed : uint64

    Returns
    -------
    indptr : ndarray of int64, shape (n + 1,)
    hashes : ndarray of uint64
        Of each column ascending.

    Notes
    -----
    Pieces as in `value_pieces`. Memory: the result, and all pieces of one column. O(bytes of the columns, plus
    the sorting of the pieces of each).
    """
    n_columns = sets.indptr.shape[0] - 1
    indptr = np.zeros(columns.shape[0] + 1, np.int64)
    out = np.empty(1024, np.uint64)
    found = np.empty(1024, np.uint64)
    scratch = np.zeros(_SCRATCH, np.uint8)
    for i in range(columns.shape[0]):
        column = np.int64(columns[i])
        n = 0
        for j in range(sets.indptr[column] - 1, sets.indptr[column + 1]):
            group = column if j < sets.indptr[column] else n_columns + np.int64(sets.lists[j])
            for position in range(groups.indptr[group], groups.indptr[group + 1]):
                token = np.int64(groups.tokens[position])
                most = n + _most_pieces(value_offsets[token + 1] - value_offsets[token])
                if most > found.shape[0]:
                    larger = np.empty(2 * most, np.uint64)
                    larger[:n] = found[:n]
                    found = larger
                n = _add_value(value_bytes, value_offsets[token], value_offsets[token + 1], seed, scratch, found, n)
        found[:n].sort()
        n = _unique(found, 0, n)
        start = indptr[i]
        if start + n > out.shape[0]:
            longer = np.empty(2 * (start + n), np.uint64)
            longer[:start] = out[:start]
            out = longer
        out[start : start + n] = found[:n]
        indptr[i + 1] = start + n
    return indptr, out[: indptr[columns.shape[0]]].copy()


@njit
def score_columns(query, lists, size_bits, bound, scores, touched):
    """Sum, over the values of a query, the evidence of the pieces shared with each column.

    The evidence of a piece is ``bits[piece] - size_bits[column]``, if that is positive, at most `bound`, divided
    among the query's values that have it; the evidence of a value is that of its best piece.

    Parameters
    ----------
    query : QueryValues
    lists : PieceLists
    size_bits : ndarray of float64, shape (n_columns,)
    bound : float
    scores : ndarray of float64, shape (n_columns,)
        Zeros; the sums are written here.
    touched : ndarray of int32, shape (n_columns,)
        Zeros; the number of values with evidence for each column is written here.

    Notes
    -----
    O(postings of the pieces, as often as a value has them).
    """
    indptr, pieces, n_holders, bits = query
    best = np.zeros(scores.shape[0])
    met = np.empty(scores.shape[0], np.int32)
    for value in range(indptr.shape[0] - 1):
        n_met = 0
        for i in range(indptr[value], indptr[value + 1]):
            piece = pieces[i]
            for position in range(lists.indptr[piece], lists.indptr[piece + 1]):
                column = lists.columns[position]
                weight = min(bound, bits[piece] - size_bits[column]) / n_holders[piece]
                if weight > best[column]:
                    if best[column] == 0.0:
                        met[n_met] = column
                        n_met += 1
                    best[column] = weight
        for i in range(n_met):
            scores[met[i]] += best[met[i]]
            touched[met[i]] += 1
            best[met[i]] = 0.0
