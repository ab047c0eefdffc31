"""The hash of values, which an index holds and every reader has to compute alike."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.numba._compile import load_u64, mum, njit_lean
from dfjoin.kernels.records import as_read_only

K0 = np.uint64(0x9E3779B97F4A7C15)
"""Odd multipliers of well mixed bits, as wyhash has them; the same in all hashes here."""
K1 = np.uint64(0xA0761D6478BD642F)
K2 = np.uint64(0xE7037ED1A0B428DB)


@njit_lean
def hash_bytes(data, start, length, seed):
    """Hash ``data[start : start + length]`` to 64 bits.

    Parameters
    ----------
    data : ndarray of uint8
        At least 8 readable bytes must follow ``start + length``.
    start, length : int
        The slice, in bytes.
    seed : uint64
        The index's hash seed.

    Returns
    -------
    uint64

    Notes
    -----
    ``h = mum(seed ^ K0, length ^ K1)``; for each 8-byte little-endian word ``w``, the last one padded
    with zero bytes: ``h = mum(h ^ w, K1)``; at the end ``mum(h ^ K2, K0)``. ``mum(a, b)`` is the high
    half xor the low half of the 128-bit product, as in Wang Yi's wyhash. Only xor and multiplication:
    the same in every language. O(length).
    """
    h = mum(seed ^ K0, np.uint64(length) ^ K1)
    position = start
    rest = length
    while rest >= 8:
        h = mum(h ^ load_u64(data, position), K1)
        position += 8
        rest -= 8
    if rest > 0:
        mask = (np.uint64(1) << np.uint64(8 * rest)) - np.uint64(1)
        h = mum(h ^ (load_u64(data, position) & mask), K1)
    return mum(h ^ K2, K0)


def hash_values(data, offsets, seed):
    """Hash every value of a packed string column.

    Parameters
    ----------
    data : ndarray of uint8, shape (offsets[-1] + 8,) at least
        The values one after the other, then 8 bytes of padding.
    offsets : ndarray of int64, shape (n + 1,)
        Where each value starts and ends.
    seed : uint64
        The hash seed.

    Returns
    -------
    ndarray of uint64, shape (n,)

    Notes
    -----
    O(total bytes).
    """
    out = np.empty(offsets.shape[0] - 1, np.uint64)
    _hash_values(as_read_only(data), as_read_only(offsets), seed, out)
    return out


@njit_lean
def _hash_values(data, offsets, seed, out):
    """Hash every value."""
    for i in range(out.shape[0]):
        out[i] = hash_bytes(data, offsets[i], offsets[i + 1] - offsets[i], seed)


@njit_lean
def equal_bytes(a, a_start, b, b_start, length):
    """Tell whether two byte slices of the same length are equal.

    Parameters
    ----------
    a, b : ndarray of uint8
    a_start, b_start : int
        Where the slices start.
    length : int
        Bytes of either.

    Returns
    -------
    bool

    Notes
    -----
    O(length).
    """
    i = 0
    while i + 8 <= length:
        # Eight single comparisons would stop earlier, but equal is the common answer.
        if load_u64(a, a_start + i) != load_u64(b, b_start + i):
            return False
        i += 8
    while i < length:
        if a[a_start + i] != b[b_start + i]:
            return False
        i += 1
    return True
