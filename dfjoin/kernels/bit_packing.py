"""Small numbers of as many bits each, one after the other, in words of 64 bits."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.numba._compile import njit_lean


def n_words(n: int, bits: int) -> int:
    """Return how many words hold `n` numbers of so many bits.

    Examples
    --------
    >>> n_words(64, 3), n_words(65, 3), n_words(9, 0)
    (3, 4, 0)
    """
    return -(-n * bits // 64)


@njit_lean
def pack_numbers(numbers, first, bits, words):
    """Write numbers behind those that are there.

    Parameters
    ----------
    numbers : ndarray of int32
        Not negative, below ``1 << bits``.
    first : int
        How many numbers lie in `words` before.
    bits : int
        Of each, 1 to 31.
    words : ndarray of uint64
        Zero where nothing was written; number i lies in the bits from ``i * bits`` on, the lowest bit of a word first.

    Notes
    -----
    O(numbers).
    """
    position = first * bits
    for i in range(numbers.shape[0]):
        number = np.uint64(numbers[i])
        word, shift = position >> 6, position & 63
        words[word] |= number << np.uint64(shift)
        if shift + bits > 64:
            # Only where a number goes on there: a shift by 64 is undefined.
            words[word + 1] |= number >> np.uint64(64 - shift)
        position += bits


@njit_lean
def unpack_numbers(words, bits, out):
    """Read the first numbers that `pack_numbers` wrote.

    Parameters
    ----------
    words : ndarray of uint64
        Enough of them, see `n_words`.
    bits : int
        Of each, 1 to 31.
    out : ndarray of int32

    Notes
    -----
    O(out).
    """
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    position = 0
    for i in range(out.shape[0]):
        word, shift = position >> 6, position & 63
        number = words[word] >> np.uint64(shift)
        if shift + bits > 64:
            number |= words[word + 1] << np.uint64(64 - shift)
        out[i] = np.int32(number & mask)
        position += bits
