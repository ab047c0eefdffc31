"""MinHash signatures of sets of 64-bit hashes, in time that hardly depends on their length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.hashing import K0, K1
from dfjoin.kernels.numba._compile import mum, njit_inner, njit_lean, prefetch

_LOW = np.uint64(0xFFFFFFFF)
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_32 = np.uint64(32)
_BLOCK = 64


class Draws(NamedTuple):
    """The key of each round of draws, two rounds for each place; scratch for the best draw of each place."""

    keys: NDArray[np.uint64]
    best: NDArray[np.uint64]


class _Scratch(NamedTuple):
    """The hashes of one column; a block of its groups, and where each starts."""

    hashes: NDArray[np.uint64]
    groups: NDArray[np.int64]
    starts: NDArray[np.int64]


@njit_inner
def _draw_positions(hashes, n_hashes, number, key, best):
    """Let every hash draw a place and a number in one round; keep the smallest (round, number) of each place.

    Returns how many places were taken for the first time.
    """
    n_positions = np.uint64(best.shape[0])
    mark = np.uint64(number) << _32
    n_taken = 0
    for i in range(n_hashes):
        drawn = mum(hashes[i] ^ key, K0)
        position = ((drawn >> _32) * n_positions) >> _32
        before = best[position]
        n_taken += before == _EMPTY
        best[position] = min(before, mark | (drawn & _LOW))
    return n_taken


@njit_inner
def _smallest_draw(hashes, n_hashes, key):
    """Return the smallest number that a hash draws in one round."""
    smallest = _EMPTY
    for i in range(n_hashes):
        smallest = min(smallest, mum(hashes[i] ^ key, K0) & _LOW)
    return smallest


def draws_of(n_rows, seed):
    """Make the draws of signatures of `n_rows` values.

    Parameters
    ----------
    n_rows : int
    seed : int

    Returns
    -------
    Draws
    """
    keys = np.empty(2 * n_rows, np.uint64)
    _make_keys(np.uint64(seed), keys)
    return Draws(keys, np.empty(n_rows, np.uint64))


@njit_lean
def _make_keys(seed, keys):
    for number in range(keys.shape[0]):
        keys[number] = mum(seed ^ K1, np.uint64(number + 1) * K0)


@njit_lean
def _sign(hashes, n_hashes, draws, signature):
    """Sign the first `n_hashes` hashes, at least one.

    In the first `n_positions` rounds the places are drawn; then each that is left has a round of its own.
    """
    keys, best = draws.keys, draws.best
    n_positions = best.shape[0]
    for position in range(n_positions):
        best[position] = _EMPTY
    n_left = n_positions
    for number in range(n_positions):
        n_left -= _draw_positions(hashes, n_hashes, number, keys[number], best)
        if n_left == 0:
            break
    for position in range(n_positions if n_left else 0):
        if best[position] == _EMPTY:
            best[position] = _smallest_draw(hashes, n_hashes, keys[n_positions + position])
    for position in range(n_positions):
        signature[position] = np.uint32(best[position] & _LOW)


def sign_hashes(hashes, n_rows, seed):
    """Compute the MinHash signature of one set.

    Two sets agree in each row with the probability of their Jaccard similarity. The empty set has the same
    signature as no other: all ones.

    Parameters
    ----------
    hashes : ndarray of uint64, shape (n,)
        Hashes of the set's values, each once, in any order.
    n_rows : int
        Values of the signature ("permutations" of MinHash).
    seed : int
        Of the draws; signatures of different seeds cannot be compared.

    Returns
    -------
    ndarray of uint32, shape (n_rows,)

    Notes
    -----
    Source: Dahlgaard, Knudsen, Thorup, "Fast Similarity Sketching", FOCS 2017, algorithm 1, in the place of
    independent minwise hash functions (Zhu, thesis, section 2.3.2). In each round every value draws one row
    and a number; a row keeps the smallest number of the first round that reached it, and rounds go on until
    every row is taken. The estimate of the Jaccard similarity is unbiased, and its variance is at most that
    of independent functions. O(n + n_rows log n_rows) where independent functions take O(n n_rows).
    Two different minima agree by chance with a probability of about n / (n_rows 2^32).
    """
    signatures = np.full((1, n_rows), 0xFFFFFFFF, np.uint32)
    offsets = np.array([0, hashes.shape[0]], np.int64)
    # A copy, since the hashes that others gather may be written, and these not.
    sign_lists(np.array(hashes), offsets, draws_of(n_rows, seed), signatures)
    return signatures[0]


@njit_lean
def sign_lists(hashes, offsets, draws, signatures):
    """Compute the signatures of many sets, each as `sign_hashes` does.

    Parameters
    ----------
    hashes : ndarray of uint64
        Hashes of the values of all sets, one set after the other.
    offsets : ndarray of int64, shape (n + 1,)
        Where each set begins.
    draws : Draws
    signatures : ndarray of uint32 or int64, shape (n, n_rows)
        Gets the result; all ones of 32 bits before, and so they stay where a set is empty.
    """
    for i in range(offsets.shape[0] - 1):
        if offsets[i + 1] > offsets[i]:
            _sign(hashes[offsets[i] : offsets[i + 1]], offsets[i + 1] - offsets[i], draws, signatures[i])


def sign_columns(columns, token_hash, groups, sets, cardinality, n_rows, seed):
    """Compute the signatures of columns from the dictionary and the forward index of a segment.

    Parameters
    ----------
    columns : ndarray of int32, shape (n,)
        Column ids.
    token_hash : ndarray of uint64
    groups : Groups
    sets : Sets
    cardinality : ndarray of int64, shape (n_columns,)
        Values of each column.
    n_rows : int
        Values of each signature.
    seed : int

    Returns
    -------
    ndarray of uint32, shape (n, n_rows)

    Raises
    ------
    DamagedArraysError
        If a column holds more values than its cardinality says.

    Notes
    -----
    The hashes of one column are gathered at a time. O(values of the columns).
    """
    signatures = np.full((columns.shape[0], n_rows), 0xFFFFFFFF, np.uint32)
    if columns.shape[0] == 0:  # then there is nothing to compile the kernel for
        return signatures
    largest = int(cardinality[columns].max())
    scratch = _Scratch(
        np.empty(largest, np.uint64),
        np.empty(_BLOCK, np.int64),
        np.empty(_BLOCK, np.int64),
    )
    _sign_columns(columns, token_hash, groups, sets, draws_of(n_rows, seed), scratch, signatures)
    return signatures


@njit_lean
def _sign_columns(columns, token_hash, groups, sets, draws, scratch, signatures):
    """Sign some columns."""
    for i in range(columns.shape[0]):
        n = _gather(np.int64(columns[i]), token_hash, groups, sets, scratch)
        if n > 0:
            _sign(scratch.hashes, n, draws, signatures[i])


@njit_inner
def _gather(column, token_hash, groups, sets, scratch):
    """Gather the hashes of a column's values; return their number.

    Each group is three hops through memory away: a block of them is taken hop by hop, so that all are on
    their way at once.
    """
    hashes, numbers, starts = scratch.hashes, scratch.groups, scratch.starts
    n_columns = sets.indptr.shape[0] - 1
    n = np.int64(0)
    first = sets.indptr[column] - 1  # stands for the private group of the column
    for block in range(first, sets.indptr[column + 1], _BLOCK):
        size = min(_BLOCK, sets.indptr[column + 1] - block)
        for k in range(size):
            numbers[k] = column if block + k == first else n_columns + np.int64(sets.lists[block + k])
            prefetch(groups.indptr, numbers[k])
        for k in range(size):
            starts[k] = groups.indptr[numbers[k]]
            prefetch(groups.tokens, starts[k])
        for k in range(size):
            if starts[k] < groups.tokens.shape[0]:
                prefetch(token_hash, np.int64(groups.tokens[starts[k]]))
        for k in range(size):
            end = groups.indptr[numbers[k] + 1]
            if n + end - starts[k] > hashes.shape[0]:
                raise DamagedArraysError
            for p in range(starts[k], end):
                hashes[n] = token_hash[np.int64(groups.tokens[p])]
                n += 1
    return n
