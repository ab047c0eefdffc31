"""Weighted overlap of sparse rows: of given pairs of rows, and of each row with those most like it."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels._compile import njit, njit_lean

__all__ = ["most_similar", "pair_overlaps", "row_weights"]


@njit
def row_weights(indptr, tokens, weights):
    """Add up the weights of the tokens of each row.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n + 1,)
    tokens : ndarray of int32
    weights : ndarray of float64, shape (n_tokens,)

    Returns
    -------
    ndarray of float64, shape (n,)

    Notes
    -----
    O(number of entries); added in ascending order of token.
    """
    n = indptr.shape[0] - 1
    out = np.zeros(n, np.float64)
    for row in range(n):
        for i in range(indptr[row], indptr[row + 1]):
            out[row] += weights[tokens[i]]
    return out


@njit
def pair_overlaps(indptr_a, tokens_a, indptr_b, tokens_b, weights, rows_a, rows_b):
    """Add up the weights of the tokens that two rows share, for given pairs of rows.

    Parameters
    ----------
    indptr_a, indptr_b : ndarray of int64
    tokens_a, tokens_b : ndarray of int32
        Strictly ascending within each row.
    weights : ndarray of float64, shape (n_tokens,)
    rows_a, rows_b : ndarray of int32, shape (n_pairs,)

    Returns
    -------
    ndarray of float64, shape (n_pairs,)

    Notes
    -----
    Merge of two sorted lists, O(their lengths) each.
    """
    out = np.zeros(rows_a.shape[0], np.float64)
    for pair in range(rows_a.shape[0]):
        i = indptr_a[rows_a[pair]]
        j = indptr_b[rows_b[pair]]
        end_i = indptr_a[rows_a[pair] + 1]
        end_j = indptr_b[rows_b[pair] + 1]
        while i < end_i and j < end_j:
            if tokens_a[i] == tokens_b[j]:
                out[pair] += weights[tokens_a[i]]
                i += 1
                j += 1
            elif tokens_a[i] < tokens_b[j]:
                i += 1
            else:
                j += 1
    return out


@njit_lean
def _insert(rows, scores, size, k, row, score):
    """Insert into the best k found so far: by score, then by row; return the new size."""
    if size == k:
        if score < scores[k - 1] or (score == scores[k - 1] and row > rows[k - 1]):
            return size
    else:
        size += 1
    i = size - 1
    while i > 0 and (scores[i - 1] < score or (scores[i - 1] == score and rows[i - 1] > row)):
        scores[i] = scores[i - 1]
        rows[i] = rows[i - 1]
        i -= 1
    scores[i] = score
    rows[i] = row
    return size


@njit
def most_similar(indptr, tokens, weights, norms, list_indptr, list_rows, list_norms, k, budget, is_self, wanted):
    """Find for some rows the k indexed rows of highest weighted cosine.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n + 1,)
    tokens : ndarray of int32
        Strictly ascending within each row, and numbered by ascending length of their lists.
    weights : ndarray of float64, shape (n_tokens,)
        Squared weight of each token.
    norms : ndarray of float64, shape (n,)
        Euclidean norm of each row.
    list_indptr : ndarray of int64, shape (n_tokens + 1,)
    list_rows : ndarray of int32
        The indexed rows that hold each token.
    list_norms : ndarray of float64
        Euclidean norm of each indexed row.
    k : int
    budget : int
        Postings to read for a row; the list in which they run out is still read to its end.
    is_self : bool
        The rows are the indexed ones: leave each row itself out.
    wanted : ndarray of int64, shape (n_wanted,)
        The rows to do.

    Returns
    -------
    rows : ndarray of int32, shape (n_wanted, k)
        By descending cosine, ties by ascending row; -1 where fewer rows share a token.
    scores : ndarray of float64, shape (n_wanted, k)
        The cosine over the tokens that were read; 0 where there is no row.

    Notes
    -----
    Term-at-a-time accumulation over an inverted index, rarest tokens first. Deviation from an exact
    top-k: tokens beyond the budget, the most frequent ones, are not read, which bounds the cost at
    O(budget + longest list) a row whatever the data; exact while the budget suffices.
    """
    rows = np.full((wanted.shape[0], k), -1, np.int32)
    scores = np.zeros((wanted.shape[0], k), np.float64)
    sums = np.zeros(list_norms.shape[0], np.float64)
    touched = np.empty(list_norms.shape[0], np.int32)
    for place in range(wanted.shape[0]):
        row = wanted[place]
        n_touched = 0
        n_read = 0
        for i in range(indptr[row], indptr[row + 1]):
            if n_read >= budget:
                break
            token = tokens[i]
            weight = weights[token]
            for j in range(list_indptr[token], list_indptr[token + 1]):
                other = list_rows[j]
                if sums[other] == 0.0:
                    touched[n_touched] = other
                    n_touched += 1
                sums[other] += weight
            n_read += list_indptr[token + 1] - list_indptr[token]
        size = 0
        for i in range(n_touched):
            other = touched[i]
            if not (is_self and other == row):
                score = sums[other] / (norms[row] * list_norms[other])
                size = _insert(rows[place], scores[place], size, k, other, score)
            sums[other] = 0.0
    return rows, scores
