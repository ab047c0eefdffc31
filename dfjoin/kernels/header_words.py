"""Column names as words: cut at spaces, signs, digits and capitals, made singular, hashed, and compared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels._compile import njit_lean
from dfjoin.kernels.hashing import hash_bytes
from dfjoin.kernels.sorting import is_member

__all__ = [
    "DIGITS",
    "DISJOINT",
    "GENERIC",
    "IDENTIFIER",
    "IN_FRAME",
    "IN_TABLE",
    "IS_NAMING",
    "NAMING",
    "OF_TABLE",
    "SAME",
    "SHORT",
    "UNSPECIFIC",
    "HeaderWords",
    "cut_headers",
]

UNSPECIFIC, IDENTIFIER, GENERIC, DIGITS, SHORT, NAMING = 1, 2, 4, 8, 16, 32
"""Marks of a word: it says nothing of the subject, it says "identifier", it stands in tables of any subject, it is
digits, it has three bytes at most, numbers under it name something (``fips``, ``year``, ``district``)."""

SAME, DISJOINT, IN_TABLE, OF_TABLE, IN_FRAME, IS_NAMING = 1, 2, 4, 8, 16, 32
"""What a header has to do with the query's, see `dfjoin.kernels.usefulness`; the last ones: the frame has it,
and one of its words is NAMING."""

_MAX_BYTES = 200
_SEED = np.uint64(0x5DF0A1B2C3D4E5F6)
_SPACE, _LETTER, _NUMBER = 0, 1, 2
_PREFIX = 4


class HeaderWords(NamedTuple):
    """Names as words: those of name i are ``words[indptr[i] : indptr[i + 1]]``, as hashes.

    `joined` is the hash of all words of a name together, 0 for a name without any; `prefixes` the hash of the first
    four bytes of each word; `marks` what each word is.
    """

    joined: NDArray[np.uint64]
    indptr: NDArray[np.int64]
    words: NDArray[np.uint64]
    prefixes: NDArray[np.uint64]
    marks: NDArray[np.uint8]


@njit_lean
def cut_headers(data, offsets, lexicon, scratch, out):
    """Cut names into words.

    Parameters
    ----------
    data : ndarray of uint8
    offsets : ndarray of int64, shape (n + 1,)
        The names, packed.
    lexicon : tuple of four ndarray of uint64
        Hashes of the words that are marked as UNSPECIFIC, IDENTIFIER, GENERIC and NAMING; sorted.
    scratch : ndarray of uint8, shape (2, 256)
    out : HeaderWords
        Receives the words; its arrays of words are empty when they are only to be counted, into ``indptr``.

    Returns
    -------
    int
        Words of all names.

    Notes
    -----
    A word is a run of letters (all bytes above ASCII are) or of digits; a capital behind a small letter or a digit
    begins one. ``ies`` becomes ``y`` and a last ``s`` is dropped in words of more than three bytes. Only the first 200
    bytes of a name are read. O(bytes).
    """
    unspecific, identifiers, generic, naming = lexicon
    word, whole = scratch[0], scratch[1]
    is_counted = out.words.shape[0] == 0
    n_words = np.int64(0)
    for i in range(offsets.shape[0] - 1):
        if is_counted:
            out.indptr[i] = n_words
        start = offsets[i]
        end = min(offsets[i + 1], start + _MAX_BYTES)
        n_whole = 0
        length = 0
        kind = _SPACE
        before = np.uint8(0)
        for p in range(start, end + 1):
            byte = data[p] if p < end else np.uint8(32)
            is_capital = 65 <= byte <= 90
            if 97 <= byte <= 122 or is_capital or byte >= 128:
                new = _LETTER
            elif 48 <= byte <= 57:
                new = _NUMBER
            else:
                new = _SPACE
            is_small = 97 <= before <= 122 or 48 <= before <= 57
            if length > 0 and (new != kind or (is_capital and is_small)):
                is_number = kind == _NUMBER
                if length > 3 and not is_number and word[length - 1] == 115:
                    if word[length - 2] == 101 and word[length - 3] == 105:
                        length -= 2
                        word[length - 1] = 121
                    elif word[length - 2] != 115:
                        length -= 1
                for b in range(8):
                    word[length + b] = 0
                for b in range(length):
                    whole[n_whole + b] = word[b]
                n_whole += length
                if not is_counted:
                    value = hash_bytes(word, 0, length, _SEED)
                    out.words[n_words] = value
                    out.prefixes[n_words] = hash_bytes(word, 0, min(length, _PREFIX), _SEED)
                    mark = 0
                    if is_member(unspecific, value):
                        mark |= UNSPECIFIC
                    if is_member(identifiers, value):
                        mark |= IDENTIFIER
                    if is_member(generic, value):
                        mark |= GENERIC
                    if is_member(naming, value):
                        mark |= NAMING
                    if is_number:
                        mark |= DIGITS
                    if length <= 3:
                        mark |= SHORT
                    out.marks[n_words] = mark
                n_words += 1
                length = 0
            if new != _SPACE:
                word[length] = byte + 32 if is_capital else byte
                length += 1
            kind = new
            before = byte
        if not is_counted:
            for b in range(8):
                whole[n_whole + b] = 0
            out.joined[i] = hash_bytes(whole, 0, n_whole, _SEED) if n_whole > 0 else np.uint64(0)
    if is_counted:
        out.indptr[offsets.shape[0] - 1] = n_words
    return n_words
