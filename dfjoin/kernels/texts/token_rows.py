"""Weighted overlap and difference of sparse rows, for given pairs of rows, and the most similar rows of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit, njit_inner
from dfjoin.kernels.texts.tokenising import SparseRows
from dfjoin.kernels.topk import offer, rank_heap

_MAX_DIFFERENCES = 32
"""Words of a text that another lacks, of which rules are looked up."""


class TextPairs(NamedTuple):
    """Pairs of a row of one column and a row of another.

    Parameters
    ----------
    rows, others : ndarray of int32, shape (n_pairs,)
    """

    rows: NDArray[np.int32]
    others: NDArray[np.int32]


class WantedRows(NamedTuple):
    """Sparse rows, and which of them are looked up.

    Parameters
    ----------
    rows : SparseRows
        Tokens are numbered by ascending length of their lists in the index.
    norms : ndarray of float64, shape (n,)
        Euclidean norm of each row.
    wanted : ndarray of int64, shape (n_wanted,)
        Rows to look up.
    """

    rows: SparseRows
    norms: NDArray[np.float64]
    wanted: NDArray[np.int64]


class TokenIndex(NamedTuple):
    """The inverted index of sparse rows.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_tokens + 1,)
    rows : ndarray of int32
        The indexed rows that hold each token.
    weights : ndarray of float64, shape (n_tokens,)
        Squared weight of each token.
    norms : ndarray of float64
        Euclidean norm of each indexed row.
    forward : SparseRows
        The indexed rows, which the lists were made of.
    """

    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    weights: NDArray[np.float64]
    norms: NDArray[np.float64]
    forward: SparseRows


class Rules(NamedTuple):
    """Kinds of words whose exchange, addition or omission makes another thing.

    Parameters
    ----------
    keys : ndarray of int64, shape (n_rules,)
        Ascending: larger kind times 2^31 plus smaller kind; the smaller is 0 where one side has no word.
    counts : ndarray of int64, shape (n_rules,)
        Pairs of texts that differ by just that.
    """

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]


def row_weights(rows, weights):
    """Add up the weights of the tokens of each row.

    Parameters
    ----------
    rows : SparseRows
    weights : ndarray of float64, shape (n_tokens,)

    Returns
    -------
    ndarray of float64, shape (n,)

    Notes
    -----
    O(number of entries); added in ascending order of token. Of numpy, not compiled: it is bound by memory.
    """
    indptr, tokens = rows
    n = indptr.shape[0] - 1
    return np.bincount(np.repeat(np.arange(n), np.diff(indptr)), weights[tokens], n)


@njit
def pair_overlaps(a, b, weights, pairs):
    """Add up the weights of the tokens that two rows share, for given pairs of rows.

    Parameters
    ----------
    a, b : SparseRows
    weights : ndarray of float64, shape (n_tokens,)
    pairs : TextPairs
        Rows of `a` and of `b`.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)

    Notes
    -----
    Merge of two sorted lists, O(their lengths) each.
    """
    indptr_a, tokens_a = a
    indptr_b, tokens_b = b
    rows_a, rows_b = pairs
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


@njit_inner
def _suffix_overlap(tokens, stop, end, others, other_start, other_end, weights):
    """Add up the weights of the tokens of a sorted slice, from `stop` on, that another one has."""
    total = 0.0
    i = end - 1
    j = other_end - 1
    while i >= stop and j >= other_start:
        if tokens[i] == others[j]:
            total += weights[tokens[i]]
            i -= 1
            j -= 1
        elif tokens[i] > others[j]:
            i -= 1
        else:
            j -= 1
    return total


@njit
def most_similar(queries, index, k, budget, is_self):
    """Find for some rows the k indexed rows of highest weighted cosine.

    Parameters
    ----------
    queries : WantedRows
    index : TokenIndex
    k : int
    budget : int
        Postings to read for a row; more are read until 4 k + 24 rows share a token with it.
    is_self : bool
        The rows are the indexed ones: leave each row itself out.

    Returns
    -------
    rows : ndarray of int32, shape (n_wanted, k)
        By descending cosine, ties by ascending row; -1 where fewer rows share a token.
    scores : ndarray of float64, shape (n_wanted, k)
        The cosine; 0 where there is no row.

    Notes
    -----
    Term-at-a-time accumulation over an inverted index, rarest tokens first. Where the budget ends before the last
    token, the 4 k + 24 rows of highest cosine over the tokens that were read are compared by all tokens, and the k
    best of them are returned (the two phases of MaxScore, Turtle and Flood, IP&M 1995, with a number of rows in place
    of a bound: the k-th best cosine is mostly so low that no bound excludes anything). Deviation from an exact top-k:
    a row that shares frequent tokens only may be missed. Exact while the budget suffices. O(budget) and 4 k + 24
    merges a row, and O(longest list) for one without rare tokens.
    """
    indptr, tokens = queries.rows
    norms, wanted = queries.norms, queries.wanted
    list_indptr, list_rows, weights, list_norms, forward = index
    rows = np.full((wanted.shape[0], k), -1, np.int32)
    scores = np.zeros((wanted.shape[0], k), np.float64)
    sums = np.zeros(list_norms.shape[0], np.float64)
    touched = np.empty(list_norms.shape[0], np.int32)
    shortlist = np.empty(4 * k + 24, np.int32)
    for position in range(wanted.shape[0]):
        row = wanted[position]
        end = indptr[row + 1]
        n_touched = 0
        n_read = 0
        stop = indptr[row]
        while stop < end:
            token = tokens[stop]
            n_read += list_indptr[token + 1] - list_indptr[token]
            if n_read > budget and n_touched >= shortlist.shape[0]:
                break
            weight = weights[token]
            for j in range(list_indptr[token], list_indptr[token + 1]):
                other = list_rows[j]
                if sums[other] == 0.0:
                    touched[n_touched] = other
                    n_touched += 1
                sums[other] += weight
            stop += 1
        best = rows[position]
        heap = best if stop == end else shortlist
        size = np.int64(0)
        least = 0.0  # score of the worst of the best rows, once the heap is full
        for i in range(n_touched):
            other = touched[i]
            if not (is_self and other == row):
                sums[other] /= norms[row] * list_norms[other]
                if sums[other] >= least:
                    size = offer(heap, size, other, sums, sums)  # equal scores: the smaller row
                    if size == heap.shape[0]:
                        least = sums[heap[0]]
        if stop < end:
            n_shortlisted = size
            size = np.int64(0)
            for i in range(n_shortlisted):
                other = shortlist[i]
                start = forward.indptr[other]
                rest = _suffix_overlap(tokens, stop, end, forward.tokens, start, forward.indptr[other + 1], weights)
                sums[other] += rest / (norms[row] * list_norms[other])
            for i in range(n_shortlisted):
                size = offer(best, size, shortlist[i], sums, sums)
        rank_heap(best, size, sums, sums)
        for i in range(size):
            scores[position, i] = sums[best[i]]
        for i in range(n_touched):
            sums[touched[i]] = 0.0
    return rows, scores


@njit
def pair_differences(a, b, pairs):
    """Count the tokens that only one of two rows has, for given pairs of rows.

    Parameters
    ----------
    a, b : SparseRows
    pairs : TextPairs
        Rows of `a` and of `b`.

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
    indptr_a, tokens_a = a
    indptr_b, tokens_b = b
    rows_a, rows_b = pairs
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


@njit
def list_differences(a, b, pairs):
    """List the tokens that only one of two rows has, for given pairs of rows.

    Parameters
    ----------
    a, b : SparseRows
    pairs : TextPairs
        Rows of `a` and of `b`.

    Returns
    -------
    indptr : ndarray of int64, shape (n_pairs + 1,)
    tokens : ndarray of int32
        Of each pair those of both rows, ascending.
    sides : ndarray of int8
        0 for a token that only a has, 1 for one of b.

    Notes
    -----
    Two merges of two sorted lists, O(their lengths) each.
    """
    counts, _ = pair_differences(a, b, pairs)
    indptr_a, tokens_a = a
    indptr_b, tokens_b = b
    rows_a, rows_b = pairs
    indptr = np.zeros(rows_a.shape[0] + 1, np.int64)
    for pair in range(rows_a.shape[0]):
        indptr[pair + 1] = indptr[pair] + counts[pair, 0] + counts[pair, 1]
    tokens = np.empty(indptr[rows_a.shape[0]], np.int32)
    sides = np.empty(indptr[rows_a.shape[0]], np.int8)
    n = 0
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
                tokens[n] = tokens_a[i]
                sides[n] = 0
                n += 1
                i += 1
            else:
                tokens[n] = tokens_b[j]
                sides[n] = 1
                n += 1
                j += 1
    return indptr, tokens, sides


@njit_inner
def _own_tokens(tokens, begin, end, others, other_begin, other_end, own):
    """Write the first tokens of a sorted slice that another one lacks; return how many."""
    n = 0
    j = other_begin
    for i in range(begin, end):
        while j < other_end and others[j] < tokens[i]:
            j += 1
        if j >= other_end or others[j] != tokens[i]:
            own[n] = tokens[i]
            n += 1
            if n == own.shape[0]:
                break
    return n


@njit_inner
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
def rule_hits(a, b, kinds, rules, pairs):
    """Find the most frequent rule that the difference of two rows falls under, for given pairs of rows.

    Parameters
    ----------
    a, b : SparseRows
    kinds : ndarray of int64, shape (n_tokens,)
        Kind of each token, from 1; rules do not distinguish tokens of one kind.
    rules : Rules
    pairs : TextPairs
        Rows of `a` and of `b`.

    Returns
    -------
    ndarray of int64, shape (n_pairs, 2)
        The highest count over pairs of a token that only a has with one that only b has, and over single
        tokens that only one of them has.

    Notes
    -----
    Of each side the first 32 words that only it has are looked at, the rarest where rows are sorted by rarity: texts
    that differ by more are not told apart by one word. O(words of a + words of b + 1,024 log n_rules) each at most.
    """
    indptr_a, tokens_a = a
    indptr_b, tokens_b = b
    rows_a, rows_b = pairs
    keys, key_counts = rules
    out = np.zeros((rows_a.shape[0], 2), np.int64)
    own = np.empty(_MAX_DIFFERENCES, np.int64)
    other = np.empty(_MAX_DIFFERENCES, np.int64)
    for pair in range(rows_a.shape[0]):
        begin_a = indptr_a[rows_a[pair]]
        end_a = indptr_a[rows_a[pair] + 1]
        begin_b = indptr_b[rows_b[pair]]
        end_b = indptr_b[rows_b[pair] + 1]
        n_own = _own_tokens(tokens_a, begin_a, end_a, tokens_b, begin_b, end_b, own)
        n_other = _own_tokens(tokens_b, begin_b, end_b, tokens_a, begin_a, end_a, other)
        for i in range(n_own):
            out[pair, 1] = max(out[pair, 1], _count_of(keys, key_counts, kinds[own[i]] << 31))
        for j in range(n_other):
            kind = kinds[other[j]]
            out[pair, 1] = max(out[pair, 1], _count_of(keys, key_counts, kind << 31))
            for i in range(n_own):
                key = (max(kind, kinds[own[i]]) << 31) + min(kind, kinds[own[i]])
                out[pair, 0] = max(out[pair, 0], _count_of(keys, key_counts, key))
    return out
