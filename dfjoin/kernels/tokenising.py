"""Sets of words or q-grams of texts: code points → sparse rows of token numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels._compile import mum, njit, njit_lean

__all__ = [
    "CodePoints",
    "SparseRows",
    "distinct_in_rows",
    "gram_tokens",
    "transpose_rows",
    "word_slices",
    "word_tokens",
]

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
    return indptr, hashes[:n_tokens].copy()


@njit
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
    O(total length).
    """
    points, offsets = texts
    starts = np.empty(points.shape[0], np.int64)
    ends = np.empty(points.shape[0], np.int64)
    n_words = 0
    for row in range(offsets.shape[0] - 1):
        is_inside = False
        for i in range(offsets[row], offsets[row + 1]):
            if points[i] != _SPACE:
                if not is_inside:
                    starts[n_words] = i
                    n_words += 1
                ends[n_words - 1] = i + 1
            is_inside = points[i] != _SPACE
    return starts[:n_words].copy(), ends[:n_words].copy()


@njit_lean
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


@njit
def distinct_in_rows(indptr, tokens):
    """Sort the tokens of each row and keep each once.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n + 1,)
    tokens : ndarray of int32

    Returns
    -------
    indptr : ndarray of int64, shape (n + 1,)
    tokens : ndarray of int32
        Strictly ascending within each row.

    Notes
    -----
    O(m log m) for rows of m tokens.
    """
    n = indptr.shape[0] - 1
    out_indptr = np.zeros(n + 1, np.int64)
    out = np.empty(tokens.shape[0], np.int32)
    size = 0
    for row in range(n):
        ordered = np.sort(tokens[indptr[row] : indptr[row + 1]])
        for j in range(ordered.shape[0]):
            if j == 0 or ordered[j] != ordered[j - 1]:
                out[size] = ordered[j]
                size += 1
        out_indptr[row + 1] = size
    return out_indptr, out[:size].copy()


@njit
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
    Counting sort, O(n_tokens + number of entries).
    """
    indptr, tokens = rows
    list_indptr = np.zeros(n_tokens + 1, np.int64)
    for i in range(tokens.shape[0]):
        list_indptr[tokens[i] + 1] += 1
    for token in range(n_tokens):
        list_indptr[token + 1] += list_indptr[token]
    place = list_indptr[:-1].copy()
    list_rows = np.empty(tokens.shape[0], np.int32)
    for row in range(indptr.shape[0] - 1):
        for i in range(indptr[row], indptr[row + 1]):
            list_rows[place[tokens[i]]] = row
            place[tokens[i]] += 1
    return list_indptr, list_rows
