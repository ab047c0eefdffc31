"""Entries (a value and the columns that hold it) → tokens with posting lists, in order of hash."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.hashing import equal_bytes
from dfjoin.kernels.numba._compile import load_u64, njit_inner, njit_lean, prefetch, store_u64
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sorting import merge_sort_by

_AHEAD = 16
"""Entries ahead whose cache lines are asked for: hashes put them in an order that memory does not have."""


class Entries(NamedTuple):
    """Values and the columns that hold them.

    Attributes
    ----------
    hashes : ndarray of uint64, shape (n_entries,)
    indptr : ndarray of int64, shape (n_entries + 1,)
        ``columns[indptr[e] : indptr[e + 1]]`` are the columns of entry e.
    columns : ndarray of int32
    starts, lengths : ndarray of int64 and int32, shape (n_entries,)
        Where each entry's value lies in `data`, in bytes.
    data : ndarray of uint8
        At least 8 bytes more than used.
    """

    hashes: NDArray[np.uint64]
    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    data: NDArray[np.uint8]


class _Postings(NamedTuple):
    """An entry that holds each token's value, where its list starts, and the columns; scratch for sorting these."""

    first: NDArray[np.uint32]
    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]
    scratch: NDArray[np.int32]


@njit_inner
def _is_smaller(_, a, b):
    """Tell whether a number is smaller than another."""
    return a < b


_sort_numbers = merge_sort_by(_is_smaller)


def merge_entries(order, entries, column_map):
    """Turn entries (a value and the columns that hold it) into tokens with posting lists.

    Equal values become one token; equal hashes of different values become neighbouring tokens. A
    column that a value meets twice counts once; columns mapped to -1 are dropped, and with them the
    values that nothing else holds.

    Parameters
    ----------
    order : ndarray of uint32, shape (n_entries,)
        Permutation that sorts the hashes.
    entries : Entries
        Their lengths are scratch afterwards.
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
    postings = _Postings(  # scratch that is not used is never in memory
        np.empty(n, np.uint32), np.empty(n + 1, np.int64), *np.empty((2, entries.columns.shape[0]), np.int32)
    )
    hashes, indptr, columns, starts, lengths, data = entries
    locked = [as_read_only(array) for array in (hashes, indptr, columns, starts)]
    read_only = Entries(*locked, lengths, as_read_only(data))
    n_tokens, n_ids = _merge_entries(order, read_only, column_map, postings)
    return postings.first[:n_tokens].copy(), postings.indptr[: n_tokens + 1].copy(), postings.ids[:n_ids].copy()


@njit_lean
def _merge_entries(order, entries, column_map, postings):
    """Merge the entries; return the number of tokens and of postings."""
    hashes, ids = entries.hashes, postings.ids
    n = order.shape[0]
    postings.indptr[0] = 0
    n_tokens = np.int64(0)
    n_ids = np.int64(0)
    i = np.int64(0)
    while i < n:
        if i + _AHEAD < n:
            ahead = order[i + _AHEAD]
            prefetch(hashes, ahead)
            prefetch(entries.lengths, ahead)
            prefetch(entries.indptr, ahead)
            prefetch(entries.columns, ahead)  # an entry has one column, but for those of runs
        h = hashes[order[i]]
        j = i + 1
        while j < n and hashes[order[j]] == h:
            j += 1
        head = i
        while head >= 0:  # one turn per distinct value of this hash: one, but for collisions
            lead = order[head]
            begin = n_ids
            n_ids, head = _take_equal(order, head, j, entries, column_map, ids, n_ids)
            if not _is_sorted(ids, begin, n_ids):
                _sort_numbers(ids, begin, n_ids, postings.scratch, np.int64(0))
            n_ids = _drop_repeats(ids, begin, n_ids)
            if n_ids > begin:
                postings.first[n_tokens] = lead
                n_tokens += 1
                postings.indptr[n_tokens] = n_ids
        i = j
    return n_tokens, n_ids


@njit_inner
def _take_equal(order, head, end, entries, column_map, ids, n_ids):
    """Collect the columns of the entries equal to ``order[head]``, and mark these entries as taken.

    Returns the new number of ids, and the next entry before `end` that is not taken, -1 if none.
    """
    starts, lengths, data = entries.starts, entries.lengths, entries.data
    lead = order[head]
    length = np.int64(lengths[lead])
    next_head = np.int64(-1)
    for k in range(head, end):
        entry = order[k]
        if lengths[entry] < 0:
            continue
        if k > head and not (lengths[entry] == length and equal_bytes(data, starts[entry], data, starts[lead], length)):
            if next_head < 0:
                next_head = k
            continue
        for p in range(entries.indptr[entry], entries.indptr[entry + 1]):
            column = column_map[entries.columns[p]]
            if column >= 0:
                ids[n_ids] = column
                n_ids += 1
        lengths[entry] = -1 - lengths[entry]
    return n_ids, next_head


@njit_inner
def _is_sorted(ids, begin, end):
    """Tell whether ``ids[begin:end]`` ascends."""
    for i in range(begin + 1, end):
        if ids[i] < ids[i - 1]:
            return False
    return True


@njit_inner
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


def copy_values(chosen, starts, lengths, data, out, offsets):
    """Copy the values of the chosen entries one after the other.

    Parameters
    ----------
    chosen : ndarray of uint32, shape (n,)
        Entries to copy.
    starts, lengths : ndarray of int64 and int32
        Bounds of each entry's value; a negative length ``-1 - x`` means x (see `merge_entries`).
    data : ndarray of uint8
    out : ndarray of uint8, shape (total length,) at least
    offsets : ndarray of int64, shape (n + 1,)
        ``offsets[0]`` is given; the rest is written.

    Notes
    -----
    O(bytes).
    """
    _copy_values(chosen, as_read_only(starts), as_read_only(lengths), as_read_only(data), out, offsets)


@njit_lean
def _copy_values(chosen, starts, lengths, data, out, offsets):
    """Copy values, eight bytes at a time where so many may be read and written: not the last eight of `out`."""
    o = offsets[0]
    n = chosen.shape[0]
    for i in range(n):
        if i + 2 * _AHEAD < n:
            prefetch(starts, chosen[i + 2 * _AHEAD])
            prefetch(lengths, chosen[i + 2 * _AHEAD])
            prefetch(data, starts[chosen[i + _AHEAD]])
        entry = chosen[i]
        length = np.int64(lengths[entry])
        if length < 0:
            length = -1 - length
        start = starts[entry]
        if o + length + 16 <= out.shape[0] and start + length + 8 <= data.shape[0]:
            for j in range(0, length, 8):
                store_u64(out, o + j, load_u64(data, start + j))
        else:
            for j in range(length):
                out[o + j] = data[start + j]
        o += length
        offsets[i + 1] = o


def directory_bits(n_tokens):
    """Return the prefix length of the directory of a vocabulary: one or two tokens to a prefix.

    Parameters
    ----------
    n_tokens : int

    Returns
    -------
    int
        1 to 32.

    Notes
    -----
    2 to 4 bytes a token. With four to eight tokens to a prefix, as few bytes as the hashes' own cache
    line would ask for, a look-up takes a third longer: its scan is a loop whose end cannot be predicted.
    """
    return min(32, max(1, int(max(n_tokens, 2)).bit_length() - 1))


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
    directory = np.zeros((1 << bits) + 1, np.uint32)
    _count_prefixes(as_read_only(hashes), np.uint64(64 - bits), directory)
    return np.cumsum(directory, dtype=np.uint32, out=directory)


@njit_lean
def _count_prefixes(hashes, shift, directory):
    """Count the hashes of each prefix, one place behind it."""
    for i in range(hashes.shape[0]):
        directory[np.int64(hashes[i] >> shift) + 1] += np.uint32(1)
