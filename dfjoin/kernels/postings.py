"""Building the inverted index: values and their columns → tokens → distinct posting lists → sets."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels._compile import mum, njit, njit_lean
from dfjoin.kernels.sorting import argsort_u64, sort_lists_lexicographic
from dfjoin.kernels.strings import equal_bytes

__all__ = [
    "build_directory",
    "copy_values",
    "expand_groups",
    "group_lists",
    "group_tokens",
    "merge_entries",
    "transpose_lists",
]

_K0 = np.uint64(0x9E3779B97F4A7C15)
_K1 = np.uint64(0xA0761D6478BD642F)


@njit
def merge_entries(order, hashes, indptr, columns, starts, lengths, data, column_map):
    """Turn entries (a value and the columns that hold it) into tokens with posting lists.

    Equal values become one token; equal hashes of different values become neighbouring tokens. A
    column that a value meets twice counts once; columns mapped to -1 are dropped, and with them the
    values that nothing else holds.

    Parameters
    ----------
    order : ndarray of uint32, shape (n_entries,)
        Permutation that sorts `hashes`.
    hashes : ndarray of uint64, shape (n_entries,)
    indptr : ndarray of int64, shape (n_entries + 1,)
        ``columns[indptr[e] : indptr[e + 1]]`` are the columns of entry e.
    columns : ndarray of int32
        Columns as the entries name them.
    starts, lengths : ndarray of int64 and int32, shape (n_entries,)
        Where each entry's value lies in `data`, in bytes. `lengths` is scratch afterwards.
    data : ndarray of uint8
        At least 8 bytes more than used.
    column_map : ndarray of int32
        Column of an entry → column id, or -1.

    Returns
    -------
    first : ndarray of uint32, shape (n_tokens,)
        An entry that holds each token's value; tokens in order of hash.
    token_indptr : ndarray of int64, shape (n_tokens + 1,)
    ids : ndarray of int32, shape (token_indptr[-1],)
        Sorted column ids of each token.

    Notes
    -----
    O(n_entries + postings), plus the sorting of lists that do not arrive sorted.
    """
    n = order.shape[0]
    first = np.empty(n, np.uint32)
    token_indptr = np.empty(n + 1, np.int64)
    ids = np.empty(columns.shape[0], np.int32)
    token_indptr[0] = 0
    n_tokens = 0
    n_ids = 0
    i = 0
    while i < n:
        h = hashes[order[i]]
        j = i + 1
        while j < n and hashes[order[j]] == h:
            j += 1
        head = i
        while head >= 0:  # one turn per distinct value of this hash: one, but for collisions
            lead = order[head]
            begin = n_ids
            n_ids, head = _take_equal(order, head, j, indptr, columns, starts, lengths, data, column_map, ids, n_ids)
            if not _is_sorted(ids, begin, n_ids):
                ids[begin:n_ids].sort()
            n_ids = _drop_repeats(ids, begin, n_ids)
            if n_ids > begin:
                first[n_tokens] = lead
                n_tokens += 1
                token_indptr[n_tokens] = n_ids
        i = j
    return first[:n_tokens].copy(), token_indptr[: n_tokens + 1].copy(), ids[:n_ids].copy()


@njit_lean
def _take_equal(order, head, end, indptr, columns, starts, lengths, data, column_map, ids, n_ids):
    """Collect the columns of the entries equal to ``order[head]``, and mark these entries as taken.

    Returns the new number of ids, and the next entry before `end` that is not taken, -1 if none.
    """
    lead = order[head]
    length = lengths[lead]
    next_head = -1
    for k in range(head, end):
        entry = order[k]
        if lengths[entry] < 0:
            continue
        if k > head and not (lengths[entry] == length and equal_bytes(data, starts[entry], data, starts[lead], length)):
            if next_head < 0:
                next_head = k
            continue
        for p in range(indptr[entry], indptr[entry + 1]):
            column = column_map[columns[p]]
            if column >= 0:
                ids[n_ids] = column
                n_ids += 1
        lengths[entry] = -1 - lengths[entry]
    return n_ids, next_head


@njit_lean
def _is_sorted(ids, begin, end):
    """Tell whether ``ids[begin:end]`` ascends."""
    for i in range(begin + 1, end):
        if ids[i] < ids[i - 1]:
            return False
    return True


@njit_lean
def _drop_repeats(ids, begin, end):
    """Keep each number of the sorted ``ids[begin:end]`` once; return the new end."""
    if end == begin:
        return end
    o = begin + 1
    for i in range(begin + 1, end):
        if ids[i] != ids[o - 1]:
            ids[o] = ids[i]
            o += 1
    return o


@njit
def copy_values(chosen, starts, lengths, data, out, offsets):
    """Copy the values of the chosen entries one after the other.

    Parameters
    ----------
    chosen : ndarray of uint32, shape (n,)
        Entries to copy.
    starts : ndarray of int64, lengths : ndarray of int32
        Bounds of each entry's value; a negative length ``-1 - x`` means x (see `merge_entries`).
    data : ndarray of uint8
    out : ndarray of uint8, shape (total length,) at least
    offsets : ndarray of int64, shape (n + 1,)
        ``offsets[0]`` is given; the rest is written.

    Notes
    -----
    O(bytes).
    """
    o = offsets[0]
    for i in range(chosen.shape[0]):
        entry = chosen[i]
        length = np.int64(lengths[entry])
        if length < 0:
            length = -1 - length
        start = starts[entry]
        for j in range(length):
            out[o + j] = data[start + j]
        o += length
        offsets[i + 1] = o


@njit
def build_directory(hashes, bits):
    """Compute where each prefix of `bits` top bits starts among sorted hashes.

    Parameters
    ----------
    hashes : ndarray of uint64, shape (n_tokens,)
        Sorted ascending.
    bits : int
        1 to 32.

    Returns
    -------
    ndarray of uint32, shape (2**bits + 1,)
        ``directory[p] : directory[p + 1]`` are the tokens whose hash starts with p.

    Notes
    -----
    O(n_tokens + 2**bits).
    """
    shift = np.uint64(64 - bits)
    directory = np.zeros((1 << bits) + 1, np.uint32)
    for i in range(hashes.shape[0]):
        directory[np.int64(hashes[i] >> shift) + 1] += np.uint32(1)
    for p in range(1, directory.shape[0]):
        directory[p] += directory[p - 1]
    return directory


@njit_lean
def _hash_list(ids, begin, end):
    """Hash a sorted list of column ids."""
    h = mum(np.uint64(end - begin) ^ _K0, _K1)
    for i in range(begin, end):
        h = mum(h ^ np.uint64(ids[i]), _K0)
    return mum(h ^ _K1, _K0)


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
