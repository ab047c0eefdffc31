"""Texts that often stand for a null: which values are one, and what shapes the other values have."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.numba._compile import njit_inner, njit_lean

__all__ = ["BUCKETS", "N_SHAPES", "OTHER", "SYMBOLS", "find_hashes", "note_shapes"]

BUCKETS = 1024
"""Distinct values of a shape are counted as distinct hashes modulo this number, so that parts can be united."""

SYMBOLS, OTHER, N_SHAPES = 4, 5, 6
"""Shapes: 0 to 3 one to four letters a to z, then up to three ASCII signs, then the rest."""


@njit_lean
def find_hashes(hashes, table, found):
    """Find the values whose hash is in a table.

    Parameters
    ----------
    hashes : ndarray of uint64, shape (n,)
        Of distinct values.
    table : ndarray of uint64, shape (power of two,)
        The hashes looked for, each at ``hash & (size - 1)`` or at the first free place behind it; 0 is free.
    found : ndarray of int64
        Receives the numbers of the values, ascending; as long as there are hashes in the table.

    Returns
    -------
    int
        How many were found. O(n).
    """
    mask = np.uint64(table.shape[0] - 1)
    n = 0
    for i in range(hashes.shape[0]):
        h = hashes[i]
        slot = h & mask
        while table[slot] != 0:
            if table[slot] == h:
                found[n] = i
                n += 1
                break
            slot = (slot + np.uint64(1)) & mask
    return n


@njit_inner
def _shape(data, begin, end):
    """Return the shape of a canonical value."""
    length = end - begin
    if length > 4:
        return OTHER
    n_letters = n_signs = 0
    for i in range(begin, end):
        byte = data[i]
        if 97 <= byte <= 122:
            n_letters += 1
        elif byte < 128 and not 48 <= byte <= 57:
            n_signs += 1
    if n_letters == length:
        return length - 1
    return SYMBOLS if n_signs == length and length <= 3 else OTHER


@njit_lean
def note_shapes(values, skipped, is_noted):
    """Note for each shape which hashes, modulo `BUCKETS`, some values have.

    Parameters
    ----------
    values : tuple of (hashes, data, offsets)
        Distinct canonical values: uint64, uint8 and int64 arrays.
    skipped : ndarray of int64
        Numbers of values that are left out, ascending.
    is_noted : ndarray of bool, shape (N_SHAPES, BUCKETS)
        Changed in place.
    """
    hashes, data, offsets = values
    place = 0
    for i in range(hashes.shape[0]):
        if place < skipped.shape[0] and skipped[place] == i:
            place += 1
            continue
        is_noted[_shape(data, offsets[i], offsets[i + 1]), hashes[i] & np.uint64(BUCKETS - 1)] = True
