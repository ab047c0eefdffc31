"""Tokens with posting lists → groups of one list each, distinct posting lists, and the sets of the columns."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels._compile import mum, njit, njit_lean
from dfjoin.kernels.hashing import K0, K1
from dfjoin.kernels.sorting import argsort_u64, sort_lists_lexicographic

__all__ = ["expand_groups", "group_lists", "group_tokens", "transpose_lists"]


@njit_lean
def _hash_list(ids, begin, end):
    """Hash a sorted list of column ids."""
    h = mum(np.uint64(end - begin) ^ K0, K1)
    for i in range(begin, end):
        h = mum(h ^ np.uint64(ids[i]), K0)
    return mum(h ^ K1, K0)


@njit_lean
def _is_same_list(indptr, ids, a, b):
    """Tell whether tokens `a` and `b` have equal posting lists."""
    length = indptr[a + 1] - indptr[a]
    if indptr[b + 1] - indptr[b] != length:
        return False
    for i in range(length):
        if ids[indptr[a] + i] != ids[indptr[b] + i]:
            return False
    return True


@njit_lean
def _floor_log2(value):
    """Return floor(log2(value)) of a positive number."""
    power = 0
    while value > 1:
        value >>= 1
        power += 1
    return power


def group_lists(indptr, ids, n_columns):
    """Number the distinct posting lists and assign each token to one.

    A token of a single column gets that column as its group; the others get ``n_columns`` + the rank
    of their list. Lists are ranked by floor(log2(length)), then lexicographically: a global token order
    of increasing frequency that keeps similar lists on the same pages.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_tokens + 1,)
    ids : ndarray of int32
        Sorted column ids of each token.
    n_columns : int

    Returns
    -------
    groups : ndarray of uint32, shape (n_tokens,)
    list_indptr : ndarray of int64, shape (n_lists + 1,)
    list_columns : ndarray of int32

    Notes
    -----
    Source: Zhu, Deng, Nargesian, Miller, "JOSIE", SIGMOD 2019, section 3.5 and appendix 7.1.2.
    Deviation: frequency only to its power of two, and lists of length one are not stored. Lists are
    compared by a 64-bit hash first and in full to confirm. O(n_postings + n_lists log n_lists).
    """
    groups, shared, keys = _split_shared(indptr, ids)
    leaders, n_lists = _find_leaders(argsort_u64(keys), shared, keys, indptr, ids, groups)
    leaders = leaders[:n_lists]
    rank_keys = _rank_keys(leaders, indptr, ids)
    ranked = np.argsort(rank_keys, kind="stable").astype(np.uint32)
    _settle_ranks(ranked, rank_keys, leaders, indptr, ids)
    list_indptr, list_columns = _emit_lists(ranked, leaders, indptr, ids, shared, groups, n_columns)
    return groups, list_indptr, list_columns


@njit
def _split_shared(indptr, ids):
    """Give single-column tokens their group; return the others with a hash of their list."""
    n_tokens = indptr.shape[0] - 1
    groups = np.empty(n_tokens, np.uint32)
    n_shared = 0
    for token in range(n_tokens):
        if indptr[token + 1] - indptr[token] > 1:
            n_shared += 1
    shared = np.empty(n_shared, np.uint32)
    keys = np.empty(n_shared, np.uint64)
    n_shared = 0
    for token in range(n_tokens):
        if indptr[token + 1] - indptr[token] == 1:
            groups[token] = np.uint32(ids[indptr[token]])
        else:
            shared[n_shared] = token
            keys[n_shared] = _hash_list(ids, indptr[token], indptr[token + 1])
            n_shared += 1
    return groups, shared, keys


@njit
def _emit_lists(ranked, leaders, indptr, ids, shared, groups, n_columns):
    """Write the distinct lists in order of rank; turn list numbers in `groups` into group numbers."""
    n_lists = ranked.shape[0]
    rank_of = np.empty(n_lists, np.uint32)
    list_indptr = np.zeros(n_lists + 1, np.int64)
    for rank in range(n_lists):
        token = leaders[ranked[rank]]
        rank_of[ranked[rank]] = rank
        list_indptr[rank + 1] = list_indptr[rank] + indptr[token + 1] - indptr[token]
    list_columns = np.empty(list_indptr[n_lists], np.int32)
    for rank in range(n_lists):
        token = leaders[ranked[rank]]
        list_columns[list_indptr[rank] : list_indptr[rank + 1]] = ids[indptr[token] : indptr[token + 1]]
    for i in range(shared.shape[0]):
        groups[shared[i]] = np.uint32(n_columns) + rank_of[groups[shared[i]]]
    return list_indptr, list_columns


@njit
def _find_leaders(order, shared, keys, indptr, ids, groups):
    """Give every shared token the number of its distinct list; return one token of each list."""
    n = order.shape[0]
    leaders = np.empty(n, np.uint32)
    n_lists = 0
    i = 0
    while i < n:
        run_start = n_lists
        j = i
        while j < n and keys[order[j]] == keys[order[i]]:
            token = shared[order[j]]
            chosen = -1
            for candidate in range(run_start, n_lists):
                if _is_same_list(indptr, ids, leaders[candidate], token):
                    chosen = candidate
                    break
            if chosen < 0:
                chosen = n_lists
                leaders[n_lists] = token
                n_lists += 1
            groups[token] = np.uint32(chosen)
            j += 1
        i = j
    return leaders, n_lists


@njit
def _rank_keys(leaders, indptr, ids):
    """Return a number per list that orders them by power of two of the length and first columns."""
    n = leaders.shape[0]
    keys = np.empty(n, np.uint64)
    for i in range(n):
        begin = indptr[leaders[i]]
        power = _floor_log2(indptr[leaders[i] + 1] - begin)
        # 5 bits of length, 31 of the first column, 28 of the second: ties are sorted in full below.
        keys[i] = (
            (np.uint64(power) << np.uint64(59))
            | (np.uint64(ids[begin]) << np.uint64(28))
            | (np.uint64(ids[begin + 1]) >> np.uint64(3))
        )
    return keys


@njit
def _settle_ranks(order, keys, leaders, indptr, ids):
    """Sort in full the lists that share a rank key, in place of `order`."""
    scratch = np.empty(order.shape[0], np.uint32)
    i = 0
    while i < order.shape[0]:
        j = i + 1
        while j < order.shape[0] and keys[order[j]] == keys[order[i]]:
            j += 1
        if j - i > 1:
            sort_lists_lexicographic(order, i, j, leaders, indptr, ids, scratch)
        i = j


@njit
def group_tokens(groups, n_groups):
    """List the tokens of each group.

    Parameters
    ----------
    groups : ndarray of uint32, shape (n_tokens,)
    n_groups : int

    Returns
    -------
    indptr : ndarray of int64, shape (n_groups + 1,)
    tokens : ndarray of uint32, shape (n_tokens,)
        Ascending within a group.

    Notes
    -----
    Counting sort, O(n_tokens + n_groups).
    """
    indptr = np.zeros(n_groups + 1, np.int64)
    for token in range(groups.shape[0]):
        indptr[groups[token] + 1] += 1
    for group in range(n_groups):
        indptr[group + 1] += indptr[group]
    place = indptr[:-1].copy()
    tokens = np.empty(groups.shape[0], np.uint32)
    for token in range(groups.shape[0]):
        group = groups[token]
        tokens[place[group]] = token
        place[group] += 1
    return indptr, tokens


@njit
def transpose_lists(list_indptr, list_columns, group_indptr, n_columns):
    """Make the forward index: the sets of the columns as sorted groups, and each posting's position.

    Parameters
    ----------
    list_indptr : ndarray of int64, shape (n_lists + 1,)
    list_columns : ndarray of int32, shape (n_postings,)
    group_indptr : ndarray of int64, shape (n_columns + n_lists + 1,)
        From `group_tokens`; its differences are the group sizes in tokens.
    n_columns : int

    Returns
    -------
    set_indptr : ndarray of int64, shape (n_columns + 1,)
    set_lists : ndarray of uint32, shape (n_postings,)
        The lists that each column is in, ascending. The column's private group comes before them.
    positions : ndarray of int32, shape (n_postings,)
        For each posting: tokens of the set that come before the list's, the private ones included.
    cardinalities : ndarray of int32, shape (n_columns,)
        Tokens of each set.

    Notes
    -----
    O(n_postings + n_columns).
    """
    set_indptr = np.zeros(n_columns + 1, np.int64)
    for i in range(list_columns.shape[0]):
        set_indptr[list_columns[i] + 1] += 1
    for column in range(n_columns):
        set_indptr[column + 1] += set_indptr[column]
    place = set_indptr[:-1].copy()
    cardinalities = np.empty(n_columns, np.int32)
    for column in range(n_columns):
        cardinalities[column] = group_indptr[column + 1] - group_indptr[column]
    set_lists = np.empty(list_columns.shape[0], np.uint32)
    positions = np.empty(list_columns.shape[0], np.int32)
    for number in range(list_indptr.shape[0] - 1):
        group = n_columns + number
        size = np.int32(group_indptr[group + 1] - group_indptr[group])
        for i in range(list_indptr[number], list_indptr[number + 1]):
            column = list_columns[i]
            set_lists[place[column]] = number
            place[column] += 1
            positions[i] = cardinalities[column]
            cardinalities[column] += size
    return set_indptr, set_lists, positions, cardinalities


@njit
def expand_groups(groups, list_indptr, list_columns, n_columns):
    """Write out the posting list of every token.

    Parameters
    ----------
    groups : ndarray of uint32, shape (n_tokens,)
    list_indptr : ndarray of int64, shape (n_lists + 1,)
    list_columns : ndarray of int32
    n_columns : int

    Returns
    -------
    indptr : ndarray of int64, shape (n_tokens + 1,)
    columns : ndarray of int32

    Notes
    -----
    O(n_pairs).
    """
    indptr = np.zeros(groups.shape[0] + 1, np.int64)
    for token in range(groups.shape[0]):
        number = np.int64(groups[token]) - n_columns
        length = 1 if number < 0 else list_indptr[number + 1] - list_indptr[number]
        indptr[token + 1] = indptr[token] + length
    columns = np.empty(indptr[-1], np.int32)
    for token in range(groups.shape[0]):
        number = np.int64(groups[token]) - n_columns
        if number < 0:
            columns[indptr[token]] = np.int32(groups[token])
        else:
            columns[indptr[token] : indptr[token + 1]] = list_columns[list_indptr[number] : list_indptr[number + 1]]
    return indptr, columns
