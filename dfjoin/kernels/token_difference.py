"""What two sets of words differ by, and whether a difference is one that tells things apart."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels._compile import njit, njit_lean

__all__ = ["pair_differences", "rule_hits"]


@njit
def pair_differences(indptr_a, tokens_a, indptr_b, tokens_b, rows_a, rows_b):
    """Count the tokens that only one of two rows has, for given pairs of rows.

    Parameters
    ----------
    indptr_a, indptr_b : ndarray of int64
    tokens_a, tokens_b : ndarray of int32
        Strictly ascending within each row.
    rows_a, rows_b : ndarray of int32, shape (n_pairs,)

    Returns
    -------
    counts : ndarray of int32, shape (n_pairs, 2)
        Tokens that only a has, and only b.
    last : ndarray of int32, shape (n_pairs, 2)
        The last such token of each side, -1 if there is none: the token, where there is just one.

    Notes
    -----
    Merge of two sorted lists, O(their lengths) each.
    """
    counts = np.zeros((rows_a.shape[0], 2), np.int32)
    last = np.full((rows_a.shape[0], 2), -1, np.int32)
    for pair in range(rows_a.shape[0]):
        i = indptr_a[rows_a[pair]]
        j = indptr_b[rows_b[pair]]
        end_i = indptr_a[rows_a[pair] + 1]
        end_j = indptr_b[rows_b[pair] + 1]
        while i < end_i or j < end_j:
            if i < end_i and j < end_j and tokens_a[i] == tokens_b[j]:
                i += 1
                j += 1
            elif j >= end_j or (i < end_i and tokens_a[i] < tokens_b[j]):
                counts[pair, 0] += 1
                last[pair, 0] = tokens_a[i]
                i += 1
            else:
                counts[pair, 1] += 1
                last[pair, 1] = tokens_b[j]
                j += 1
    return counts, last


@njit_lean
def _holds(tokens, begin, end, token):
    """Tell whether a sorted slice holds a token."""
    for i in range(begin, end):
        if tokens[i] == token:
            return True
    return False


@njit_lean
def _count_of(keys, counts, key):
    """Look a key up in sorted keys; 0 if it is not there."""
    low = 0
    high = keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < keys.shape[0] and keys[low] == key:
        return counts[low]
    return 0


@njit
def rule_hits(indptr_a, tokens_a, indptr_b, tokens_b, kinds, keys, key_counts, rows_a, rows_b):
    """Find the most frequent rule that the difference of two rows falls under, for given pairs of rows.

    Parameters
    ----------
    indptr_a, indptr_b : ndarray of int64
    tokens_a, tokens_b : ndarray of int32
        Strictly ascending within each row.
    kinds : ndarray of int64, shape (n_tokens,)
        Kind of each token, from 1; tokens of one kind are alike to the rules.
    keys : ndarray of int64, shape (n_rules,)
        Ascending: larger kind times 2^31 plus smaller kind; the smaller is 0 where one side has nothing.
    key_counts : ndarray of int64, shape (n_rules,)
        How often each was seen.
    rows_a, rows_b : ndarray of int32, shape (n_pairs,)

    Returns
    -------
    ndarray of int64, shape (n_pairs, 2)
        The highest count over pairs of a token that only a has with one that only b has, and over single
        tokens that only one of them has.

    Notes
    -----
    O(words of a times words of b times log n_rules) each.
    """
    out = np.zeros((rows_a.shape[0], 2), np.int64)
    for pair in range(rows_a.shape[0]):
        begin_a = indptr_a[rows_a[pair]]
        end_a = indptr_a[rows_a[pair] + 1]
        begin_b = indptr_b[rows_b[pair]]
        end_b = indptr_b[rows_b[pair] + 1]
        for j in range(begin_b, end_b):
            if not _holds(tokens_a, begin_a, end_a, tokens_b[j]):
                count = _count_of(keys, key_counts, kinds[tokens_b[j]] << 31)
                out[pair, 1] = max(out[pair, 1], count)
        for i in range(begin_a, end_a):
            if _holds(tokens_b, begin_b, end_b, tokens_a[i]):
                continue
            kind = kinds[tokens_a[i]]
            out[pair, 1] = max(out[pair, 1], _count_of(keys, key_counts, kind << 31))
            for j in range(begin_b, end_b):
                if not _holds(tokens_a, begin_a, end_a, tokens_b[j]):
                    other = kinds[tokens_b[j]]
                    key = (max(kind, other) << 31) + min(kind, other)
                    out[pair, 0] = max(out[pair, 0], _count_of(keys, key_counts, key))
    return out
