"""Tokens with posting lists → groups of one list each, distinct posting lists, and the sets of the columns."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.hashing import K0, K1
from dfjoin.kernels.numba._compile import mum, njit_inner, njit_lean
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sorting import argsort_u64, sort_lists_lexicographic


@njit_inner
def _hash_list(ids, begin, end):
    """Hash a sorted list of column ids."""
    h = mum(np.uint64(end - begin) ^ K0, K1)
    for i in range(begin, end):
        h = mum(h ^ np.uint64(ids[i]), K0)
    return mum(h ^ K1, K0)


@njit_inner
def _is_same_list(indptr, ids, a, b):
    """Tell whether tokens `a` and `b` have equal posting lists."""
    length = indptr[a + 1] - indptr[a]
    if indptr[b + 1] - indptr[b] != length:
        return False
    for i in range(length):
        if ids[indptr[a] + i] != ids[indptr[b] + i]:
            return False
    return True


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
    groups = np.empty(indptr.shape[0] - 1, np.uint32)
    indptr, ids = as_read_only(indptr), as_read_only(ids)
    shared, keys = np.empty(groups.shape, np.uint32), np.empty(groups.shape, np.uint64)  # the rest never in memory
    n_shared = _split_shared(indptr, ids, groups, shared, keys)
    shared, keys = shared[:n_shared], keys[:n_shared]
    leaders = np.empty(n_shared, np.uint32)
    leaders = leaders[: _find_leaders(argsort_u64(keys), shared, keys, indptr, ids, groups, leaders)]
    rank_keys = _rank_keys(leaders, indptr, ids)
    ranked = np.argsort(rank_keys, kind="stable").astype(np.uint32)
    _settle_ranks(ranked, rank_keys, leaders, indptr, ids, np.empty_like(ranked))
    list_indptr = np.zeros(ranked.size + 1, np.int64)
    ordered = as_read_only(leaders[ranked])
    np.cumsum(indptr[ordered.astype(np.int64) + 1] - indptr[ordered], out=list_indptr[1:])
    list_columns = np.empty(list_indptr[-1], np.int32)
    _copy_rows(ordered, indptr, ids, 0, list_indptr, list_columns)
    rank_of = np.empty(ranked.size, np.uint32)
    rank_of[ranked] = np.arange(n_columns, n_columns + ranked.size, dtype=np.uint32)
    groups[shared] = rank_of[groups[shared]]
    return groups, list_indptr, list_columns


def _rank_keys(leaders, indptr, ids):
    """Return a number per list that orders them by power of two of the length and first columns."""
    begins = indptr[leaders]
    lengths = indptr[leaders.astype(np.int64) + 1] - begins
    # 5 bits of length, 31 of the first column, 28 of the second: ties are sorted in full below.
    keys = (np.frexp(lengths.astype(np.float64))[1] - 1).astype(np.uint64) << np.uint64(59)
    keys |= ids[begins].astype(np.uint64) << np.uint64(28)
    keys |= ids[begins + 1].astype(np.uint64) >> np.uint64(3)
    return keys


@njit_lean
def _split_shared(indptr, ids, groups, shared, keys):
    """Give single-column tokens their group; list the others with a hash of their list; return how many."""
    n_shared = np.int64(0)
    for token in range(groups.shape[0]):
        if indptr[token + 1] - indptr[token] == 1:
            groups[token] = np.uint32(ids[indptr[token]])
        else:
            shared[n_shared] = token
            keys[n_shared] = _hash_list(ids, indptr[token], indptr[token + 1])
            n_shared += 1
    return n_shared


@njit_lean
def _copy_rows(rows, indptr, ids, n_single, out_indptr, out):
    """Copy some rows of a CSR one after the other.

    A number below `n_single` stands for a row that holds just that number; row r of the CSR has ``n_single + r``.
    """
    for i in range(rows.shape[0]):
        row = np.int64(rows[i]) - n_single
        o = out_indptr[i]
        if row < 0:
            out[o] = row + n_single
        else:
            for p in range(indptr[row], indptr[row + 1]):
                out[o] = ids[p]
                o += 1


@njit_lean
def _find_leaders(order, shared, keys, indptr, ids, groups, leaders):
    """Give every shared token the number of its distinct list; note one token of each; return how many there are."""
    n = order.shape[0]
    n_lists = np.int64(0)
    i = np.int64(0)
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
    return n_lists


@njit_lean
def _settle_ranks(order, keys, leaders, indptr, ids, scratch):
    """Sort in full the lists that share a rank key, in place of `order`."""
    i = np.int64(0)
    while i < order.shape[0]:
        j = i + 1
        while j < order.shape[0] and keys[order[j]] == keys[order[i]]:
            j += 1
        if j - i > 1:
            sort_lists_lexicographic(order, i, j, leaders, indptr, ids, scratch)
        i = j


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
    _count_groups(groups, indptr)
    np.cumsum(indptr, out=indptr)
    tokens = np.empty(groups.shape[0], np.uint32)
    _deal_tokens(groups, indptr[:-1].copy(), tokens)
    return indptr, tokens


@njit_lean
def _count_groups(groups, sizes):
    """Count the tokens of each group, one place behind it."""
    for token in range(groups.shape[0]):
        sizes[np.int64(groups[token]) + 1] += 1


@njit_lean
def _deal_tokens(groups, ends, tokens):
    """Write each token at the end of its group so far."""
    for token in range(groups.shape[0]):
        group = groups[token]
        tokens[ends[group]] = token
        ends[group] += 1


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
    _count_groups(list_columns.view(np.uint32), set_indptr)
    np.cumsum(set_indptr, out=set_indptr)
    sizes = np.diff(group_indptr).astype(np.int32)
    set_lists = np.empty(list_columns.shape[0], np.uint32)
    positions = np.empty(list_columns.shape[0], np.int32)
    cardinalities = sizes[:n_columns].copy()
    _deal_lists(
        list_indptr, list_columns, sizes[n_columns:], set_indptr[:-1].copy(), set_lists, positions, cardinalities
    )
    return set_indptr, set_lists, positions, cardinalities


@njit_lean
def _deal_lists(list_indptr, list_columns, sizes, ends, set_lists, positions, cardinalities):
    """Write each list at the end of the sets of its columns, and what comes before it there."""
    for number in range(sizes.shape[0]):
        for i in range(list_indptr[number], list_indptr[number + 1]):
            column = list_columns[i]
            set_lists[ends[column]] = number
            ends[column] += 1
            positions[i] = cardinalities[column]
            cardinalities[column] += sizes[number]


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
    groups = as_read_only(groups)
    indptr = np.empty(groups.shape[0] + 1, np.int64)
    _add_lengths(groups, as_read_only(list_indptr), n_columns, indptr)
    columns = np.empty(indptr[-1], np.int32)
    _copy_rows(groups, as_read_only(list_indptr), as_read_only(list_columns), n_columns, indptr, columns)
    return indptr, columns


@njit_lean
def _add_lengths(groups, list_indptr, n_columns, indptr):
    """Write where the posting list of each token starts."""
    indptr[0] = 0
    for token in range(groups.shape[0]):
        number = np.int64(groups[token]) - n_columns
        length = np.int64(1) if number < 0 else list_indptr[number + 1] - list_indptr[number]
        indptr[token + 1] = indptr[token] + length
