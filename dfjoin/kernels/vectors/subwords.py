"""Vectors of texts from the matrix of a fastText model: words and their character n-grams, in Arrow's layout."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.texts.text_scan import holds_letter

_OFFSET = np.uint32(2166136261)
_PRIME = np.uint32(16777619)
_MASK = np.uint32(0xFFFFFFFF)
_BEGIN, _END = np.uint8(60), np.uint8(62)  # < and >, which fastText puts around a word
_LABEL = tuple(np.uint8(byte) for byte in b"__label__")
_LINE_END = tuple(np.uint8(byte) for byte in b"</s>")  # the word that fastText reads at the end of a line
_NEXT = np.uint64(116049371)


class WordTable(NamedTuple):
    """The words of a model, found by their hash, and the shape of its n-grams.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_words + n_labels + 1,)
    data : ndarray of uint8
        The words in UTF-8, one after the other; then the labels of a supervised model.
    slots : ndarray of int32, shape (2^b,)
        Open addressing: number of the word at each slot, -1 for none.
    shortest, longest : int
        Characters of an n-gram (``minn``, ``maxn``); a longest of 0 makes none.
    n_buckets : int
        N-grams are hashed to so many rows, which follow those of the words.
    n_words : int
    word_ngrams : int
        Words of the longest n-gram of words of a supervised model; 0: the model is not supervised.
    line_end : int
        Number of the word ``</s>``; -1 for a model without it.
    """

    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]
    slots: NDArray[np.int32]
    shortest: int
    longest: int
    n_buckets: int
    n_words: int
    word_ngrams: int
    line_end: int


@njit_inner
def _fold(h, byte):
    """Take one more byte into the hash; bytes above 127 are negative numbers for fastText."""
    value = np.uint32(byte)
    if byte > 127:
        value = value | np.uint32(0xFFFFFF00)
    return np.uint32((np.uint64(h ^ value) * np.uint64(_PRIME)) & np.uint64(_MASK))


@njit_inner
def _hash(data, first, last):
    h = _OFFSET
    for i in range(first, last):
        h = _fold(h, data[i])
    return h


@njit_inner
def _find(table, data, first, last):
    """Return the number of a word, -1 for one that the model does not have."""
    n_slots = table.slots.size
    if n_slots == 0:
        return -1
    slot = np.int64(_hash(data, first, last)) & (n_slots - 1)
    while table.slots[slot] >= 0:
        word = table.slots[slot]
        start = table.offsets[word]
        if table.offsets[word + 1] - start == last - first:
            i = 0
            while i < last - first and table.data[start + i] == data[first + i]:
                i += 1
            if i == last - first:
                return np.int64(word)
        slot = (slot + 1) & (n_slots - 1)
    return -1


@njit_lean
def index_words(offsets, data, slots):
    """Enter the words of a model into a table of open addressing.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_words + 1,)
    data : ndarray of uint8
    slots : ndarray of int32, shape (2^b,)
        More than there are words; -1 everywhere.
    """
    for word in range(offsets.size - 1):
        slot = np.int64(_hash(data, offsets[word], offsets[word + 1])) & (slots.size - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = word


@njit_inner
def _is_blank(byte):
    return byte == 32 or 9 <= byte <= 13


@njit_inner
def _ends_word(byte):
    """Tell whether a byte ends a word of a line, where fastText reads lines: there, NUL does as well."""
    return _is_blank(byte) or byte == 0


@njit_inner
def _next_word(data, i, end):
    """Return where the next word begins and ends; at the end of a text it is empty."""
    while i < end and _ends_word(data[i]):
        i += 1
    first = i
    while i < end and not _ends_word(data[i]):
        i += 1
    return first, i


@njit_inner
def _starts_with(data, first, last, start):
    if last - first < len(start):
        return False
    for i in range(len(start)):
        if data[first + i] != start[i]:
            return False
    return True


@njit_inner
def _is_line_end(data, first, last):
    return last - first == len(_LINE_END) and _starts_with(data, first, last, _LINE_END)


@njit_inner
def _byte_of(data, first, last, i):
    """Byte i of a word between its marks."""
    if i == 0:
        return _BEGIN
    if i == last - first + 1:
        return _END
    return data[first + i - 1]


@njit_inner
def _ngrams(table, data, first, last, rows):
    """Write the rows of the n-grams of a word, as many as there is room for; return how many. ``</s>`` has none."""
    if table.longest <= 0 or table.n_buckets <= 0 or _is_line_end(data, first, last):
        return 0
    n = last - first + 2
    found = 0
    for i in range(n):
        if (_byte_of(data, first, last, i) & 0xC0) == 0x80:
            continue
        h = _OFFSET
        j = i
        length = 1
        while j < n and length <= table.longest:
            h = _fold(h, _byte_of(data, first, last, j))
            j += 1
            while j < n and (_byte_of(data, first, last, j) & 0xC0) == 0x80:
                h = _fold(h, _byte_of(data, first, last, j))
                j += 1
            if length >= table.shortest and not (length == 1 and (i == 0 or j == n)) and found < rows.size:
                rows[found] = table.n_words + np.int64(h) % table.n_buckets
                found += 1
            length += 1
    return found


@njit_lean
def list_ngrams(table, data, first, last, rows):
    """List the rows of the n-grams of a word.

    Parameters
    ----------
    table : WordTable
    data : ndarray of uint8
    first, last : int
        Where the word lies.
    rows : ndarray of int64
        Output.

    Returns
    -------
    int
        How many; n-grams for which there is no room are left out.
    """
    return _ngrams(table, data, first, last, rows)


@njit_inner
def _add_rows(matrix, rows, n, total):
    for i in range(n):
        row = matrix[rows[i]]
        for k in range(total.size):
            total[k] += row[k]


@njit_inner
def _scale(total, n):
    share = np.float32(1.0 / n)
    for k in range(total.size):
        total[k] *= share


@njit_inner
def _add_word(table, matrix, data, first, last, rows, word_sum, total):
    """Add the unit vector of a word to a sum; return whether it has one."""
    n_rows = 0
    own = _find(table, data, first, last)
    if own >= 0:
        rows[0] = own
        n_rows = 1
    n_rows += _ngrams(table, data, first, last, rows[n_rows:])
    if n_rows == 0:
        return False
    for k in range(word_sum.size):
        word_sum[k] = 0
    _add_rows(matrix, rows, n_rows, word_sum)
    _scale(word_sum, n_rows)
    square = np.float32(0)
    for k in range(word_sum.size):
        square += word_sum[k] * word_sum[k]
    norm = np.float32(math.sqrt(square))
    if not norm > 0:
        return False
    inverse = np.float32(1.0 / norm)
    for k in range(word_sum.size):
        total[k] += word_sum[k] * inverse
    return True


@njit_inner
def _embed_words(table, matrix, data, i, end, rows, word_sum, total):
    """Write the mean of the unit vectors of words, where these have one."""
    n_words = 0
    while i < end:
        while i < end and _is_blank(data[i]):
            i += 1
        first = i
        while i < end and not _is_blank(data[i]):
            i += 1
        if i > first and _add_word(table, matrix, data, first, i, rows, word_sum, total):
            n_words += 1
    if n_words > 0:
        _scale(total, n_words)


@njit_inner
def _add_word_ngrams(table, matrix, hashes, n_words, total):
    """Add the rows of the n-grams of words to a sum, each word given by its hash; return how many there are."""
    n_rows = 0
    for i in range(n_words):
        h = np.uint64(hashes[i])
        for j in range(i + 1, min(n_words, i + table.word_ngrams)):
            h = h * _NEXT + np.uint64(hashes[j])
            row = matrix[table.n_words + np.int64(h % np.uint64(table.n_buckets))]
            for k in range(total.size):
                total[k] += row[k]
            n_rows += 1
    return n_rows


@njit_inner
def _embed_line(table, matrix, data, i, end, rows, hashes, total):
    """Write the mean of all rows of a line: of its words, their n-grams, and the n-grams of words; labels have none."""
    n_rows = n_words = 0
    at_end = False
    while i < end and not at_end:
        first, i = _next_word(data, i, end)
        if i == first:
            continue
        own = _find(table, data, first, i)
        if own >= table.n_words or (own < 0 and _starts_with(data, first, i, _LABEL)):
            continue
        n = 0
        if own >= 0:
            rows[0] = own
            n = 1
        n += _ngrams(table, data, first, i, rows[n:])
        _add_rows(matrix, rows, n, total)
        n_rows += n
        if n_words < hashes.size - 1:
            hashes[n_words] = np.int32(_hash(data, first, i))
            n_words += 1
        at_end = _is_line_end(data, first, i)
    if not at_end:
        if table.line_end >= 0:
            rows[0] = table.line_end
            _add_rows(matrix, rows, 1, total)
            n_rows += 1
        h = _OFFSET
        for byte in _LINE_END:
            h = _fold(h, byte)
        hashes[n_words] = np.int32(h)
        n_words += 1
    if table.n_buckets > 0:
        n_rows += _add_word_ngrams(table, matrix, hashes, n_words, total)
    if n_rows > 0:
        _scale(total, n_rows)


@njit_lean
def embed_texts(table, matrix, offsets, data, scratch, word_sum, out):
    """Compute fastText's sentence vector of each text.

    It is the mean of the unit vectors of the words. Of a supervised model it is the mean of all rows of the line: those
    of words, of their n-grams, and of n-grams of words, the end of the line among them.

    Parameters
    ----------
    table : WordTable
    matrix : ndarray of float32, shape (n_words + n_buckets, d)
    offsets : ndarray of int64, shape (n_texts + 1,)
    data : ndarray of uint8
        The texts in UTF-8.
    scratch : ndarray of int64, shape (2, n)
        N-grams of a word above n, and words of a line above n in n-grams of words, are left out.
    word_sum : ndarray of float32, shape (d,)
        Scratch.
    out : ndarray of float32, shape (n_texts, d)
        Output; zeros for a text without a word that the model knows.

    Notes
    -----
    Source: Bojanowski, Grave, Joulin, Mikolov, "Enriching word vectors with subword information", TACL 2017, and
    fastText's own ``getSentenceVector``: the vector of a word is the mean of the rows of the word and its n-grams.
    The library refuses a text with a line break, which is a blank here. O(n-grams · d).
    """
    for text in range(offsets.size - 1):
        total = out[text]
        for k in range(total.size):
            total[k] = 0
        if table.word_ngrams > 0:
            _embed_line(table, matrix, data, offsets[text], offsets[text + 1], scratch[0], scratch[1], total)
        else:
            _embed_words(table, matrix, data, offsets[text], offsets[text + 1], scratch[0], word_sum, total)


@njit_lean
def has_letters(offsets, data, out):
    """Tell which texts hold a letter: any byte of the alphabet, or any character above ASCII.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
    data : ndarray of uint8
    out : ndarray of bool, shape (n,)
        Output.
    """
    for text in range(offsets.size - 1):
        out[text] = holds_letter(data, offsets[text], offsets[text + 1])


@njit_lean
def count_words(offsets, data, slots, firsts, lasts, counts):
    """Count the distinct words of texts.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n_texts + 1,)
    data : ndarray of uint8
    slots : ndarray of int32, shape (2^b,)
        Open addressing; -1 everywhere. Counting ends when three quarters of it are taken.
    firsts, lasts : ndarray of int64
        Output: where each distinct word lies, in the order of its first occurrence.
    counts : ndarray of int64
        Output: how often it occurs.

    Returns
    -------
    n_words : int
    n_texts : int
        Texts that were read.
    """
    n_words = 0
    for text in range(offsets.size - 1):
        if 4 * (n_words + 1) > 3 * slots.size or n_words + 1 >= firsts.size:
            return n_words, text
        i, end = offsets[text], offsets[text + 1]
        while i < end:
            first, i = _next_word(data, i, end)
            if i == first or 4 * (n_words + 1) > 3 * slots.size or n_words >= firsts.size:
                continue
            slot = np.int64(_hash(data, first, i)) & (slots.size - 1)
            while slots[slot] >= 0:
                word = slots[slot]
                if lasts[word] - firsts[word] == i - first:
                    k = 0
                    while k < i - first and data[firsts[word] + k] == data[first + k]:
                        k += 1
                    if k == i - first:
                        break
                slot = (slot + 1) & (slots.size - 1)
            if slots[slot] < 0:
                slots[slot] = n_words
                firsts[n_words], lasts[n_words], counts[n_words] = first, i, 0
                n_words += 1
            counts[slots[slot]] += 1
    return n_words, offsets.size - 1


@njit_lean
def enter_words(table, offsets, data, numbers, indptr):
    """Write texts as the numbers of their words; words that the model does not have are left out.

    Parameters
    ----------
    table : WordTable
    offsets : ndarray of int64, shape (n_texts + 1,)
    data : ndarray of uint8
    numbers : ndarray of int32
        Output; writing ends where there is no room for a further text.
    indptr : ndarray of int64, shape (n_texts + 1,)
        Output: words of text t lie at ``numbers[indptr[t] : indptr[t + 1]]``.

    Returns
    -------
    int
        Texts that were written.
    """
    n = 0
    indptr[0] = 0
    for text in range(offsets.size - 1):
        i, end = offsets[text], offsets[text + 1]
        while i < end:
            first, i = _next_word(data, i, end)
            if i == first:
                continue
            if n == numbers.size:
                return text
            word = _find(table, data, first, i)
            if word >= 0:
                numbers[n] = word
                n += 1
        indptr[text + 1] = n
    return offsets.size - 1
