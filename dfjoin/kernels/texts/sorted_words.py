"""The words of texts in order, each once: what is alike of texts whose words stand in another order."""

from __future__ import annotations

import numpy as np

from dfjoin.kernels.numba._compile import njit_inner, njit_lean


@njit_inner
def _separator(data, i, end):
    """Return the bytes of the character at a place if it separates words, else 0.

    What is neither a letter nor a digit of ASCII, and the block of dashes, quotes and spaces (U+2000 to U+206F).
    """
    byte = data[i]
    if byte < 0x80:
        folded = byte | 0x20
        return 0 if 97 <= folded <= 122 or 48 <= byte <= 57 else 1
    is_mark = byte == 0xE2 and i + 2 < end and (data[i + 1] == 0x80 or (data[i + 1] == 0x81 and data[i + 2] < 0xB0))
    return 3 if is_mark else 0


@njit_inner
def _compare(data, first, last, other, end):
    """Return less than 0, 0 or more as one word stands before another one, is equal, or stands behind it."""
    for k in range(min(last - first, end - other)):
        if data[first + k] != data[other + k]:
            return np.int64(data[first + k]) - np.int64(data[other + k])
    return (last - first) - (end - other)


@njit_lean
def sort_words(data, offsets, chosen, most, words, out, out_offsets):
    """Write the distinct words of each text by code point, with a blank between two.

    Parameters
    ----------
    data : ndarray of uint8
        UTF-8.
    offsets : ndarray of int64
        Where texts lie in it.
    chosen : ndarray of uint32, shape (n,)
        The texts.
    most : int
        Characters; a text of more is written as an empty one.
    words : ndarray of int64, shape (2, 2 * most + 1)
        Scratch: where the words of a text begin and end.
    out : ndarray of uint8
        Output; no text becomes longer.
    out_offsets : ndarray of int64, shape (n + 1,)
        Output; begins with 0.

    Notes
    -----
    O(bytes) and, of a text of w words, w² comparisons of words: texts are short.
    """
    n_out = 0
    for text in range(chosen.size):
        start, end = offsets[chosen[text]], offsets[np.int64(chosen[text]) + 1]
        n_characters = 0
        for i in range(start, end):
            n_characters += data[i] & 0xC0 != 0x80
            if n_characters > most:
                break
        n_words, i = 0, start if n_characters <= most else end
        while i < end:
            width = _separator(data, i, end)
            if width:
                i += width
                continue
            first = i
            while i < end and not _separator(data, i, end):
                i += 1
            k, is_new = n_words, True
            while k > 0:
                order = _compare(data, words[0, k - 1], words[1, k - 1], first, i)
                if order <= 0:
                    is_new = order != 0
                    break
                k -= 1
            if is_new:
                for j in range(n_words, k, -1):
                    words[0, j], words[1, j] = words[0, j - 1], words[1, j - 1]
                words[0, k], words[1, k] = first, i
                n_words += 1
        for k in range(n_words):
            if k:
                out[n_out] = 32
                n_out += 1
            for j in range(words[0, k], words[1, k]):
                out[n_out] = data[j]
                n_out += 1
        out_offsets[text + 1] = n_out
