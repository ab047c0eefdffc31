"""Sets of words or q-grams of texts: code points → sparse rows of token numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import mum, njit, njit_inner

_K0 = np.uint64(0x9E3779B97F4A7C15)
_K1 = np.uint64(0xA0761D6478BD642F)
_SPACE = np.uint32(32)


class CodePoints(NamedTuple):
    """Texts one after the other.

    Parameters
    ----------
    points : ndarray of uint32, or of int32 where characters are numbered
    offsets : ndarray of int64, shape (n + 1,)
        Where each text starts and ends in `points`.
    """

    points: NDArray
    offsets: NDArray[np.int64]


class SparseRows(NamedTuple):
    """Rows of token numbers.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n + 1,)
        Where each row starts and ends in `tokens`.
    tokens : ndarray of int32
        Strictly ascending within each row.
    """

    indptr: NDArray[np.int64]
    tokens: NDArray[np.int32]


@njit
def word_tokens(texts):
    """Hash the words of each text; words are what spaces separate.

    Parameters
    ----------
    texts : CodePoints

    Returns
    -------
    indptr : ndarray of int64, shape (n + 1,)
    hashes : ndarray of uint64
        Words of each text in their order, repeated ones included.

    Notes
    -----
    O(total length).
    """
    points, offsets = texts
    n = offsets.shape[0] - 1
    indptr = np.zeros(n + 1, np.int64)
    hashes = np.empty(points.shape[0] // 2 + n + 1, np.uint64)
    n_tokens = 0
    for row in range(n):
        h = _K0
        is_inside = False
        for i in range(offsets[row], offsets[row + 1]):
            if points[i] != _SPACE:
                h = mum(h ^ np.uint64(points[i]), _K1)
                is_inside = True
            elif is_inside:
                hashes[n_tokens] = h
                n_tokens += 1
                h = _K0
                is_inside = False
        if is_inside:
            hashes[n_tokens] = h
            n_tokens += 1
        indptr[row + 1] = n_tokens
    return indptr, hashes[:n_tokens]


def word_slices(texts):
    """Tell where the words of all texts start and end, in the order of `word_tokens`.

    Parameters
    ----------
    texts : CodePoints

    Returns
    -------
    starts, ends : ndarray of int64

    Notes
    -----
    O(total length). Of numpy, not compiled: it is bound by memory.
    """
    points, offsets = texts
    is_inside = points != _SPACE
    is_first = np.zeros(points.shape[0] + 1, bool)
    is_first[offsets] = True
    is_start, is_end = is_inside.copy(), is_inside.copy()
    is_start[1:] &= ~is_inside[:-1] | is_first[1:-1]
    is_end[:-1] &= ~is_inside[1:] | is_first[1:-1]
    return np.flatnonzero(is_start), np.flatnonzero(is_end) + 1


@njit_inner
def _point(points, start, end, i):
    """Return the code point at `i`, a space outside the text."""
    if i < start or i >= end:
        return np.uint64(32)
    return np.uint64(points[i])


@njit
def gram_tokens(texts, q):
    """Hash the q-grams of each text, which is taken to have one space before and one behind.

    Parameters
    ----------
    texts : CodePoints
    q : int
        At least 1.

    Returns
    -------
    indptr : ndarray of int64, shape (n + 1,)
    hashes : ndarray of uint64
        The max(1, length + 3 - q) grams of each text that is not empty, repeated ones included; a text
        shorter than q - 2 is filled up with spaces. None of an empty text.

    Notes
    -----
    O(q times total length).
    """
    points, offsets = texts
    n = offsets.shape[0] - 1
    indptr = np.zeros(n + 1, np.int64)
    for row in range(n):
        length = offsets[row + 1] - offsets[row]
        indptr[row + 1] = indptr[row] + (max(1, length + 3 - q) if length > 0 else 0)
    hashes = np.empty(indptr[n], np.uint64)
    for row in range(n):
        for j in range(indptr[row + 1] - indptr[row]):
            h = _K0
            for i in range(offsets[row] - 1 + j, offsets[row] - 1 + j + q):
                h = mum(h ^ _point(points, offsets[row], offsets[row + 1], i), _K1)
            hashes[indptr[row] + j] = h
    return indptr, hashes


def distinct_in_rows(rows):
    """Sort the tokens of each row and keep each once.

    Parameters
    ----------
    rows : SparseRows
        Here in any order and with repetitions.

    Returns
    -------
    SparseRows

    Notes
    -----
    O(entries log entries). Of numpy, not compiled: sorting packed numbers is as fast.
    """
    indptr, tokens = rows
    packed = (_row_numbers(indptr) << 32) + tokens
    packed.sort()
    packed = packed[np.append(True, packed[1:] != packed[:-1])[: packed.size]]
    return SparseRows(_offsets(packed >> 32, indptr.shape[0] - 1), (packed & 0xFFFFFFFF).astype(np.int32))


def transpose_rows(rows, n_tokens):
    """List the rows that hold each token: the inverted index of sparse rows.

    Parameters
    ----------
    rows : SparseRows
    n_tokens : int
        Above every token number.

    Returns
    -------
    list_indptr : ndarray of int64, shape (n_tokens + 1,)
    list_rows : ndarray of int32
        Ascending within each list.

    Notes
    -----
    O(entries log entries). Of numpy, not compiled: sorting packed numbers is as fast.
    """
    indptr, tokens = rows
    packed = (tokens.astype(np.int64) << 32) + _row_numbers(indptr)
    packed.sort()
    return _offsets(tokens, n_tokens), (packed & 0xFFFFFFFF).astype(np.int32)


def _row_numbers(indptr):
    """Return the row of each entry."""
    return np.repeat(np.arange(indptr.shape[0] - 1), np.diff(indptr))


def _offsets(numbers, n):
    """Return where the entries of each of n numbers start and end, if they are sorted by number."""
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=n), out=offsets[1:])
    return offsets
