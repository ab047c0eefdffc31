"""Alignment of the words of two texts: which have a counterpart, and what is left over on either side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit, njit_inner
from dfjoin.kernels.texts.edit_distance import count_blocks, least_edits, slice_edit_distance
from dfjoin.kernels.texts.tokenising import CodePoints, SparseRows

ALIGNMENT = (
    "left over of the first",
    "left over of the second",
    "left over of the first's core",
    "left over of the second's core",
    "rarest left over of the first",
    "rarest left over of the second",
    "words left over of the first",
    "words left over of the second",
    "numbers differ",
    "number more in the first",
    "number more in the second",
    "shared",
    "inexact",
    "first words differ",
    "last words differ",
    "out of order",
    "code shared",
    "codes differ",
)
"""What `align_words` tells of a pair, in the order of its columns."""

_MAX_WORDS = 24
_EXACT, _JOINED, _SAME_NUMBER, _ACRONYM = 1.0, 0.95, 0.9, 0.8
_LONG_ABBREVIATION, _CONTRACTION, _SHORT_ABBREVIATION = 0.8, 0.7, 0.5
_MIN_SIMILARITY = 0.6
_NO_NUMBER = np.int64(-1)
_ROUNDING = 1e-6


class Lexicon(NamedTuple):
    """The distinct words of two columns.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_words,)
        Between 0 for a word that all texts hold and 1 for the rarest.
    numbers : ndarray of int64, shape (n_words,)
        The number that a word spells, -1 for one that is no number.
    has_digit : ndarray of bool, shape (n_words,)
    spelling : CodePoints
        Characters of the words, numbered below `n_points`.
    letters : ndarray of uint64, shape (n_words,)
        From `dfjoin.kernels.texts.edit_distance.letter_sets`.
    n_points : int
    """

    weights: NDArray[np.float64]
    numbers: NDArray[np.int64]
    has_digit: NDArray[np.bool_]
    spelling: CodePoints
    letters: NDArray[np.uint64]
    n_points: int


class WordRows(NamedTuple):
    """The words of texts in their order.

    Parameters
    ----------
    rows : SparseRows
        Here in the order of the text, and with repetitions.
    asides : ndarray of uint64, shape (n,)
        Bit i is set if word i stands in brackets or behind a comma; words from 64 on do not.
    """

    rows: SparseRows
    asides: NDArray[np.uint64]


@njit_inner
def _same_slice(points, a, b, n):
    """Tell whether two slices of n characters are equal."""
    for i in range(n):
        if points[a + i] != points[b + i]:
            return False
    return True


@njit_inner
def _is_subsequence(points, a, n_a, b, n_b):
    """Tell whether the characters of a slice occur in another in their order."""
    i = 0
    for j in range(n_b):
        if i < n_a and points[a + i] == points[b + j]:
            i += 1
    return i == n_a


@njit_inner
def _abbreviates(points, a, n_a, b, n_b):
    """Return how surely a shorter word abbreviates a longer one, 0 if it does not."""
    if n_a >= n_b or points[a] != points[b]:
        return 0.0
    if _same_slice(points, a, b, n_a):
        return _LONG_ABBREVIATION if n_a >= 3 else _SHORT_ABBREVIATION
    is_short = n_a >= 2 and 3 * n_a <= 2 * n_b + 1
    if is_short and points[a + n_a - 1] == points[b + n_b - 1] and _is_subsequence(points, a, n_a, b, n_b):
        return _CONTRACTION if n_a >= 3 else _SHORT_ABBREVIATION
    return 0.0


@njit_inner
def _match_equal(own, n_own, other, n_other, found, other_found, words):
    """Match equal words, then words that spell the same number."""
    for pass_ in range(2):
        for i in range(n_own):
            if found[i] > 0.0:
                continue
            for j in range(n_other):
                if other_found[j] > 0.0:
                    continue
                number = words.numbers[own[i]]
                if pass_ == 0 and own[i] == other[j]:
                    found[i] = other_found[j] = _EXACT
                    break
                if pass_ == 1 and number != _NO_NUMBER and number == words.numbers[other[j]]:
                    found[i] = other_found[j] = _SAME_NUMBER
                    break


@njit_inner
def _match_joined(own, n_own, other, n_other, found, other_found, words):
    """Match a word with two to four that make it together, or whose first letters do."""
    points, offsets = words.spelling
    for i in range(n_own):
        if found[i] > 0.0:
            continue
        start = offsets[own[i]]
        length = offsets[own[i] + 1] - start
        if length < 2:
            continue
        for j in range(n_other):
            done = 0
            n = 0
            is_acronym = not words.has_digit[own[i]] and length <= 8
            is_joined = True
            for k in range(j, n_other):
                if other_found[k] > 0.0 or not (is_joined or is_acronym):
                    break
                begin = offsets[other[k]]
                n_k = offsets[other[k] + 1] - begin
                if is_joined and (done + n_k > length or not _same_slice(points, start + done, begin, n_k)):
                    is_joined = False
                if is_acronym and (n >= length or points[start + n] != points[begin]):
                    is_acronym = False
                done += n_k
                n += 1
                if n >= 2 and ((is_joined and done == length) or (is_acronym and n == length)):
                    value = _JOINED if is_joined else _ACRONYM
                    found[i] = value
                    for m in range(j, k + 1):
                        other_found[m] = value
                    break
            if found[i] > 0.0:
                break


@njit_inner
def _match_similar(own, n_own, other, n_other, found, other_found, words, peq, plus, minus):
    """Match abbreviations and misspelled words, the most similar first come."""
    points, offsets = words.spelling
    for i in range(n_own):
        if found[i] > 0.0 or words.has_digit[own[i]]:
            continue
        start = offsets[own[i]]
        length = offsets[own[i] + 1] - start
        best = 0.0
        position = -1
        for j in range(n_other):
            is_number = words.numbers[own[i]] != _NO_NUMBER and words.numbers[other[j]] != _NO_NUMBER
            if other_found[j] > 0.0 or words.has_digit[other[j]] or is_number:
                continue
            begin = offsets[other[j]]
            n = offsets[other[j] + 1] - begin
            value = max(_abbreviates(points, start, length, begin, n), _abbreviates(points, begin, n, start, length))
            longer = max(length, n)
            allowed = (1.0 - max(_MIN_SIMILARITY, best)) * longer + _ROUNDING
            is_near = value < 1.0 and longer - min(length, n) <= allowed
            if is_near and least_edits(words.letters[own[i]], words.letters[other[j]]) <= allowed:
                distance = slice_edit_distance(points, start, length, points, begin, n, peq, plus, minus)
                similarity = 1.0 - distance / longer
                if similarity >= _MIN_SIMILARITY:
                    value = max(value, similarity)
            if value > best:
                best = value
                position = j
        if position >= 0:
            found[i] = best
            other_found[position] = best


@njit_inner
def _copy_words(row, rows, out):
    """Write the first words of a row; return how many."""
    indptr, tokens = rows
    n = min(indptr[row + 1] - indptr[row], out.shape[0])
    for i in range(n):
        out[i] = tokens[indptr[row] + i]
    return n


@njit_inner
def _sum_up(own, n_own, found, asides, words, out, side):
    """Add up what is left over of one side; return whether a number and whether a code is among it."""
    whole = 0.0
    missing = 0.0
    core = 0.0
    core_missing = 0.0
    rarest = 0.0
    n_missing = 0
    has_number = False
    has_code = False
    for i in range(n_own):
        weight = words.weights[own[i]]
        lost = weight * (1.0 - found[i])
        whole += weight
        missing += lost
        if (asides >> np.uint64(i)) & np.uint64(1) == np.uint64(0):
            core += weight
            core_missing += lost
            rarest = max(rarest, lost)
        if found[i] == 0.0:
            n_missing += 1
            if words.numbers[own[i]] != _NO_NUMBER:
                has_number = True
            elif words.has_digit[own[i]]:
                has_code = True
    out[side] = missing / max(whole, 1e-9)
    out[2 + side] = core_missing / max(core, 1e-9)
    out[4 + side] = rarest
    out[6 + side] = np.log1p(n_missing)
    return has_number, has_code


@njit
def align_words(a, b, words, pairs):
    """Align the words of given pairs of texts, and tell what has no counterpart.

    Parameters
    ----------
    a, b : WordRows
    words : Lexicon
    pairs : TextPairs
        Texts of `a` and of `b`.

    Returns
    -------
    ndarray of float64, shape (n_pairs, 18)
        See `ALIGNMENT`.

    Notes
    -----
    Each word is matched once, in this order: with an equal one; with one that spells the same number; with two or more
    consecutive ones that make it together, or whose first letters do; with the most similar one, which it
    abbreviates (as its beginning, or by letters in their order with the same first and last one: contractions and
    acronyms as in Schwartz and Hearst, PSB 2003) or from which it differs by at most two edits in five letters. Words
    with digits are matched by the first three alone. The first 24 words of a text are looked at, so that a pair
    costs at most 576 edit distances between words; mostly it costs none.
    """
    rows_a, rows_b = pairs
    offsets = words.spelling.offsets
    n_blocks = count_blocks(offsets)
    peq = np.zeros((words.n_points, n_blocks), np.uint64)
    plus = np.empty(n_blocks, np.uint64)
    minus = np.empty(n_blocks, np.uint64)
    own = np.empty(_MAX_WORDS, np.int64)
    other = np.empty(_MAX_WORDS, np.int64)
    found = np.empty(_MAX_WORDS, np.float64)
    other_found = np.empty(_MAX_WORDS, np.float64)
    results = np.zeros((rows_a.shape[0], len(ALIGNMENT)), np.float64)
    for pair in range(rows_a.shape[0]):
        out = results[pair]
        n_own = _copy_words(rows_a[pair], a.rows, own)
        n_other = _copy_words(rows_b[pair], b.rows, other)
        found[:] = 0.0
        other_found[:] = 0.0
        _match_equal(own, n_own, other, n_other, found, other_found, words)
        _match_joined(own, n_own, other, n_other, found, other_found, words)
        _match_joined(other, n_other, own, n_own, other_found, found, words)
        _match_similar(own, n_own, other, n_other, found, other_found, words, peq, plus, minus)
        number_a, code_a = _sum_up(own, n_own, found, a.asides[rows_a[pair]], words, out, 0)
        number_b, code_b = _sum_up(other, n_other, other_found, b.asides[rows_b[pair]], words, out, 1)
        out[8] = 1.0 if number_a and number_b else 0.0
        out[9] = 1.0 if number_a and not number_b else 0.0
        out[10] = 1.0 if number_b and not number_a else 0.0
        shared = 0.0
        inexact = 0.0
        code = 0.0
        for i in range(n_own):
            weight = words.weights[own[i]] * found[i]
            shared += weight
            if found[i] < _EXACT:
                inexact += weight
            elif words.has_digit[own[i]] and offsets[own[i] + 1] - offsets[own[i]] >= 4:
                code = max(code, weight)
        out[11] = np.log1p(shared)
        out[12] = inexact / max(shared, 1e-9)
        if n_own and n_other:
            out[13] = 1.0 - min(found[0], other_found[0])
            out[14] = 1.0 - min(found[n_own - 1], other_found[n_other - 1])
        last = -1
        n_turns = 0
        for i in range(n_own):
            if found[i] == _EXACT:
                for j in range(n_other):
                    if other[j] == own[i]:
                        n_turns += 1 if j < last else 0
                        last = j
                        break
        out[15] = n_turns / max(1, n_own)
        out[16] = code
        out[17] = 1.0 if code_a and code_b else 0.0
    return results
