"""Names of columns as words: cut at spaces, signs, digits and capitals, made singular, hashed, and compared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.hashing import hash_bytes
from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.sorting import is_member

UNSPECIFIC, IDENTIFIER, GENERIC, DIGITS, SHORT, NAMING, THING, MEASURE = 1, 2, 4, 8, 16, 32, 64, 128
"""Marks of a word: it says nothing of the subject, it says "identifier", it stands in tables of any subject, it is
digits, it has three bytes at most, numbers under it name something (``fips``, ``year``), or say which thing it is
(``store``, but not ``stores``), or were measured or counted."""

_MAX_BYTES = 200
_SEED = np.uint64(0x5DF0A1B2C3D4E5F6)
_SPACE, _LETTER, _NUMBER = 0, 1, 2
_START = 8
_FEWEST_LETTERS = 3


class HeaderWords(NamedTuple):
    """Names as words: those of name i are ``words[indptr[i] : indptr[i + 1]]``, as hashes.

    `joined` is the hash of all words of a name together, 0 for a name without any; `starts` the first eight bytes of
    each word as a number, the first byte highest; `marks` what each word is.
    """

    joined: NDArray[np.uint64]
    indptr: NDArray[np.int64]
    words: NDArray[np.uint64]
    starts: NDArray[np.uint64]
    marks: NDArray[np.uint8]


@njit_inner
def _start_of(word, length):
    """Return the first eight bytes of a word as a number, the first byte highest."""
    start = np.uint64(0)
    for b in range(_START):
        start = (start << np.uint64(8)) | np.uint64(word[b] if b < length else 0)
    return start


@njit_inner
def _ends_in(word, length, ends):
    """Tell whether a longer word ends in one of some words, given as hashes. O(length²)."""
    for b in range(_FEWEST_LETTERS, length - 1):
        if word[b] & 0xC0 != 0x80 and is_member(ends, hash_bytes(word, b, length - b, _SEED)):
            return True
    return False


@njit_inner
def _n_bytes(start):
    """Count the bytes of the start of a word."""
    n = 0
    while n < _START and (start >> np.uint64(56 - 8 * n)) & np.uint64(255) != 0:
        n += 1
    return n


@njit_inner
def is_short_for(one, other):
    """Tell whether one of two words is short for the other one, or equal, by their first eight bytes.

    Parameters
    ----------
    one, other : uint64
        Entries of `HeaderWords.starts`.

    Returns
    -------
    bool
        The shorter one has three bytes or more, begins with the same byte, and its bytes stand in the other one in
        their order: ``emp`` and ``dept`` in ``employee`` and ``department``.
    """
    if one == other:
        return True
    if one >> np.uint64(56) != other >> np.uint64(56):
        return False
    n_one, n_other = _n_bytes(one), _n_bytes(other)
    short, long = (one, other) if n_one <= n_other else (other, one)
    n = min(n_one, n_other)
    if n < _FEWEST_LETTERS:
        return False
    found = 0
    for b in range(_START):
        byte = (long >> np.uint64(56 - 8 * b)) & np.uint64(255)
        if found < n and byte == (short >> np.uint64(56 - 8 * found)) & np.uint64(255):
            found += 1
    return found == n


@njit_lean
def cut_headers(data, offsets, lexicon, scratch, out):
    """Cut names into words.

    Parameters
    ----------
    data : ndarray of uint8
    offsets : ndarray of int64, shape (n + 1,)
        The names, packed.
    lexicon : tuple of seven ndarray of uint64
        Hashes of the words that are marked as UNSPECIFIC, IDENTIFIER, GENERIC, NAMING, THING (in the singular) and
        MEASURE, and of the ends by which a longer word is NAMING; sorted.
    scratch : ndarray of uint8, shape (2, 256)
    out : HeaderWords
        Receives the words; its arrays of words have an entry for each byte.

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
    unspecific, identifiers, generic, naming, things, measures, ends = lexicon
    word, whole = scratch[0], scratch[1]
    n_words = np.int64(0)
    for i in range(offsets.shape[0] - 1):
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
                n_read = length
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
                value = hash_bytes(word, 0, length, _SEED)
                out.words[n_words] = value
                out.starts[n_words] = _start_of(word, length)
                mark = 0
                if is_member(unspecific, value):
                    mark |= UNSPECIFIC
                if is_member(identifiers, value):
                    mark |= IDENTIFIER
                if is_member(generic, value):
                    mark |= GENERIC
                if is_member(naming, value) or (not is_number and _ends_in(word, length, ends)):
                    mark |= NAMING
                if is_member(things, value) and length == n_read:
                    mark |= THING
                if is_member(measures, value):
                    mark |= MEASURE
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
        for b in range(8):
            whole[n_whole + b] = 0
        out.joined[i] = hash_bytes(whole, 0, n_whole, _SEED) if n_whole > 0 else np.uint64(0)
    out.indptr[offsets.shape[0] - 1] = n_words
    return n_words


# What the names of two columns and of their tables tell of a foreign key ------------------------------------


NAME_FEATURES = (
    "same_header",
    "named_header",
    "header_share",
    "table_share",
    "own_key",
    "table_in_table",
    "identifier",
    "key_in_header",
)
"""Columns of `compare_names`.

============== =======================================================================================
same_header    the headers have the same words
named_header   the same, and not only words that stand in tables of any subject
header_share   share of the specific words of the left header that the right header or table has, also as one of the
               words that most tables of a folder have
table_share    share of the specific words of the right table that the left header has
own_key        the left header has no specific word that its own table has not
table_in_table share of the specific words of the right table that the left table has
identifier     the left header has a word such as id, code or key
key_in_header  share of the specific words of the right header that the left header has
============== =======================================================================================
"""

_FOUR_BYTES = np.uint64(32)


class NamedColumns(NamedTuple):
    """Columns and tables by name: `headers` are those of the columns, `table_of` is the table of each column."""

    headers: HeaderWords
    tables: HeaderWords
    table_of: NDArray[np.int64]


@njit_inner
def _n_specific(names, i):
    """Count the specific words of a name."""
    n = 0
    for w in range(names.indptr[i], names.indptr[i + 1]):
        n += names.marks[w] & UNSPECIFIC == 0
    return n


@njit_inner
def has_no_subject(names, i):
    """Tell whether a name has only words that stand in tables of any subject.

    Parameters
    ----------
    names : HeaderWords
    i : int
        Number of the name.

    Returns
    -------
    bool

    Notes
    -----
    O(words of the name).
    """
    for w in range(names.indptr[i], names.indptr[i + 1]):
        if names.marks[w] & (GENERIC | UNSPECIFIC) == 0:
            return False
    return True


@njit_inner
def _holds(names, i, start):
    """Tell whether a word of a name, specific or not, begins as another one does."""
    for w in range(names.indptr[i], names.indptr[i + 1]):
        if names.starts[w] >> _FOUR_BYTES == start >> _FOUR_BYTES:
            return True
    return False


@njit_inner
def _share_held(names, i, first, first_of, second, second_of):
    """Return the share of the specific words of a name that one of two others has; 0 for a name without any."""
    n = 0
    n_held = 0
    for w in range(names.indptr[i], names.indptr[i + 1]):
        if names.marks[w] & UNSPECIFIC == 0:
            n += 1
            n_held += _holds(first, first_of, names.starts[w]) or _holds(second, second_of, names.starts[w])
    return n_held / n if n > 0 else 0.0


@njit_lean
def compare_names(left, right, columns, out):
    """Compare the names of pairs of columns.

    Parameters
    ----------
    left, right : ndarray of int64, shape (n,)
        Columns.
    columns : NamedColumns
    out : ndarray of float64, shape (n, len(NAME_FEATURES))
        Receives the features.

    Notes
    -----
    Two words are taken to be the same if their first four letters are. O(n words²), with a handful of words to a name.
    """
    headers, tables, table_of = columns.headers, columns.tables, columns.table_of
    for i in range(left.shape[0]):
        a, b = left[i], right[i]
        own, theirs = table_of[a], table_of[b]
        out[i, 0] = headers.joined[a] != 0 and headers.joined[a] == headers.joined[b]
        out[i, 1] = out[i, 0] == 1.0 and not has_no_subject(headers, a)
        out[i, 2] = _share_held(headers, a, headers, b, tables, theirs)
        out[i, 3] = _share_held(tables, theirs, headers, a, headers, a)
        out[i, 4] = _n_specific(headers, a) == 0 or _share_held(headers, a, tables, own, tables, own) == 1.0
        out[i, 5] = _share_held(tables, theirs, tables, own, tables, own)
        out[i, 7] = _share_held(headers, b, headers, a, headers, a)
        out[i, 6] = 0.0
        for w in range(headers.indptr[a], headers.indptr[a + 1]):
            if headers.marks[w] & IDENTIFIER:
                out[i, 6] = 1.0
