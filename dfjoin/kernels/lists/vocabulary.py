"""Look values up in a segment's vocabulary: hash directory, then bytes to confirm."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.hashing import equal_bytes
from dfjoin.kernels.numba._compile import njit_lean, prefetch

__all__ = ["NOT_FOUND", "find_tokens"]

NOT_FOUND = np.int64(-1)
"""Token of a value that the vocabulary does not hold."""

_BLOCK = 32


@njit_lean
def find_tokens(hashes, offsets, data, dictionary, tokens):
    """Find the token of each query value.

    Parameters
    ----------
    hashes : ndarray of uint64, shape (n,)
        Hashes of the query values.
    offsets : ndarray of int64, shape (n + 1,)
    data : ndarray of uint8
        Their bytes, 8 more than used.
    dictionary : Dictionary
        Its bytes are 8 more than used.
    tokens : ndarray of int64, shape (n,)
        Receives the token of each value, or `NOT_FOUND`. Equal hashes are told apart by their bytes.

    Raises
    ------
    DamagedArraysError
        If the arrays of the dictionary contradict each other.

    Notes
    -----
    Four dependent memory accesses a value, each asked for a block ahead, so that a block's misses
    overlap: about 30 ns a value in a vocabulary of 7 million, against 700 ns for a binary search.
    O(n) expected.
    """
    directory, token_hash = dictionary.directory, dictionary.hash
    value_offsets, value_bytes = dictionary.value_offsets, dictionary.value_bytes
    n = hashes.shape[0]
    n_tokens = token_hash.shape[0]
    bits = 0
    while (1 << bits) + 1 < directory.shape[0]:
        bits += 1
    shift = np.uint64(64 - bits)
    last_byte = value_bytes.shape[0] - 8
    for block in range(0, n, _BLOCK):
        end = min(n, block + _BLOCK)
        for i in range(block, end):
            prefetch(directory, np.int64(hashes[i] >> shift))
        for i in range(block, end):
            low = np.int64(directory[np.int64(hashes[i] >> shift)])
            tokens[i] = low
            prefetch(token_hash, low)
        for i in range(block, end):
            h = hashes[i]
            token = tokens[i]
            stop = min(np.int64(directory[np.int64(h >> shift) + 1]), n_tokens)
            while token < stop and token_hash[token] < h:
                token += 1
            if token < stop and token_hash[token] == h:
                prefetch(value_offsets, token)
                tokens[i] = token
            else:
                tokens[i] = -1
        for i in range(block, end):
            if tokens[i] >= 0:
                prefetch(value_bytes, value_offsets[tokens[i]])
        for i in range(block, end):
            token = tokens[i]
            if token < 0:
                continue
            length = offsets[i + 1] - offsets[i]
            tokens[i] = -1
            while token < n_tokens and token_hash[token] == hashes[i]:
                start = value_offsets[token]
                size = value_offsets[token + 1] - start
                if start < 0 or size < 0 or start + size > last_byte:
                    raise DamagedArraysError
                if size == length and equal_bytes(value_bytes, start, data, offsets[i], length):
                    tokens[i] = token
                    break
                token += 1
