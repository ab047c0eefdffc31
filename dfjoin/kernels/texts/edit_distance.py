"""Edit distance between texts, bit-parallel, and between the words of texts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit, njit_inner
from dfjoin.kernels.texts.tokenising import CodePoints

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_WORD = 64
_ROUNDING = 1e-6


class Words(NamedTuple):
    """The distinct words of two columns, and when two of them are similar.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_words,)
    spelling : CodePoints
        Characters of the words, numbered below `n_points`.
    letters : ndarray of uint64, shape (n_words,)
        From `letter_sets`.
    n_points : int
        Size of the alphabet.
    min_similarity : float
        Least 1 - edit distance / longer length at which two words are similar.
    max_words : int
        Words of a row that are looked at, the first ones; where rows are sorted by rarity, the rarest.
    """

    weights: NDArray[np.float64]
    spelling: CodePoints
    letters: NDArray[np.uint64]
    n_points: int
    min_similarity: float
    max_words: int


def letter_sets(spelling):
    """Write the characters of each word as a set of 64 bits.

    Parameters
    ----------
    spelling : CodePoints
        Characters numbered.

    Returns
    -------
    ndarray of uint64, shape (n_words,)
        Bit c is set if a character with the number c, modulo 64, occurs.

    Notes
    -----
    O(characters). Of numpy, not compiled: it is bound by memory.
    """
    points, offsets = spelling
    bits = _ONE << (points % _WORD).astype(np.uint64)
    sets = np.zeros(offsets.shape[0] - 1, np.uint64)
    is_word = offsets[1:] > offsets[:-1]
    if is_word.any():
        sets[is_word] = np.bitwise_or.reduceat(bits, offsets[:-1][is_word])
    return sets


@njit_inner
def count_bits(bits):
    """Count the bits of a number that are set.

    Parameters
    ----------
    bits : uint64

    Returns
    -------
    int

    Notes
    -----
    O(1).
    """
    bits = bits - ((bits >> _ONE) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit_inner
def least_edits(a, b):
    """Return edits that two words take at least, given their sets of letters.

    Parameters
    ----------
    a, b : uint64
        From `letter_sets`.

    Returns
    -------
    int
        Letters that only one of them has, of the side that has more: an edit makes up for one of each side.
    """
    return max(count_bits(a & ~b), count_bits(b & ~a))


@njit_inner
def advance_block(equal, plus, minus, carry):
    """Move a block of 64 rows one column on.

    Parameters
    ----------
    equal : uint64
        Rows whose character is that of the column.
    plus, minus : uint64
        Rows whose number is larger, or smaller, than that above, in the column before.
    carry : int
        By how much the row above the block grows from the column before: -1, 0 or 1.

    Returns
    -------
    x, right_plus, right_minus : uint64
        Rows that take part in a vertical difference, and those whose number grows, or falls, from the column before.

    Notes
    -----
    Source: see `edit_distances`. O(1).
    """
    is_negative = _ONE if carry < 0 else _ZERO
    x = equal | minus
    equal = equal | is_negative
    diagonal = (((equal & plus) + plus) ^ plus) | equal
    right_plus = minus | ~(diagonal | plus)
    right_minus = plus & diagonal
    return x, right_plus, right_minus


@njit_inner
def slice_edit_distance(a, a_start, n_a, b, b_start, n_b, peq, plus, minus):
    """Count the single-character edits between two slices of numbered characters.

    Parameters
    ----------
    a, b : ndarray of int32
    a_start, n_a, b_start, n_b : int
        Where the slices start, and how long they are.
    peq : ndarray of uint64, shape (n_points, n_blocks)
        All zeros before and after; a block for each 64 characters of the first slice.
    plus, minus : ndarray of uint64, shape (n_blocks,)
        Working space.

    Returns
    -------
    int
        Levenshtein distance.

    Notes
    -----
    See `edit_distances`. O(n_b times blocks of 64 in n_a).
    """
    if n_a == 0 or n_b == 0:
        return max(n_a, n_b)
    n_blocks = (n_a + _WORD - 1) // _WORD
    for i in range(n_a):
        peq[a[a_start + i], i // _WORD] |= _ONE << np.uint64(i % _WORD)
    for block in range(n_blocks):
        plus[block] = ~_ZERO
        minus[block] = _ZERO
    score = n_a
    last = _ONE << np.uint64((n_a - 1) % _WORD)
    for j in range(n_b):
        carry = np.int64(1)
        for block in range(n_blocks):
            equal = peq[b[b_start + j], block]
            x, right_plus, right_minus = advance_block(equal, plus[block], minus[block], carry)
            if block == n_blocks - 1:
                if right_plus & last:
                    score += 1
                elif right_minus & last:
                    score -= 1
            out = np.int64(right_plus >> np.uint64(63)) - np.int64(right_minus >> np.uint64(63))
            right_plus = right_plus << _ONE
            right_minus = right_minus << _ONE
            if carry > 0:
                right_plus |= _ONE
            elif carry < 0:
                right_minus |= _ONE
            plus[block] = right_minus | ~(x | right_plus)
            minus[block] = right_plus & x
            carry = out
    for i in range(n_a):
        for block in range(n_blocks):
            peq[a[a_start + i], block] = _ZERO
    return score


@njit_inner
def count_blocks(offsets):
    """Count the blocks of 64 that the longest text takes, at least one.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)

    Returns
    -------
    int

    Notes
    -----
    O(n).
    """
    longest = 1
    for row in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[row + 1] - offsets[row])
    return (longest + _WORD - 1) // _WORD


@njit
def edit_distances(a, b, n_points, limit, pairs):
    """Count the single-character edits between the texts of given pairs of rows.

    Parameters
    ----------
    a, b : CodePoints
        Texts, their characters numbered below `n_points`.
    n_points : int
        Size of the alphabet.
    limit : int
        Characters of a text that are compared at most, from its start.
    pairs : TextPairs
        Rows of `a` and of `b`.

    Returns
    -------
    ndarray of int64, shape (n_pairs,)
        Levenshtein distance: insertions, deletions and substitutions, each of cost one.

    Notes
    -----
    Source: Myers, "A fast bit-vector algorithm for approximate string matching", JACM 1999, with the
    horizontal delta 1 coming into the top row as in Hyyrö 2003, so that whole texts are compared.
    O(length of b times blocks of 64 in a) each; memory O(n_points times blocks of the longest text of a).
    """
    points_a, offsets_a = a
    points_b, offsets_b = b
    rows_a, rows_b = pairs
    n_blocks = min(count_blocks(offsets_a), max(1, (limit + _WORD - 1) // _WORD))
    peq = np.zeros((n_points, n_blocks), np.uint64)
    plus = np.empty(n_blocks, np.uint64)
    minus = np.empty(n_blocks, np.uint64)
    out = np.empty(rows_a.shape[0], np.int64)
    for pair in range(rows_a.shape[0]):
        a_start = offsets_a[rows_a[pair]]
        b_start = offsets_b[rows_b[pair]]
        n_a = min(limit, offsets_a[rows_a[pair] + 1] - a_start)
        n_b = min(limit, offsets_b[rows_b[pair] + 1] - b_start)
        out[pair] = slice_edit_distance(points_a, a_start, n_a, points_b, b_start, n_b, peq, plus, minus)
    return out


@njit_inner
def _best_similarity(word, others, words, peq, plus, minus):
    """Return the similarity of a word to the most similar one of others, 0 if none reaches the least one."""
    points, offsets = words.spelling
    best = 0.0
    length = offsets[word + 1] - offsets[word]
    for i in range(others.shape[0]):
        other = others[i]
        if other == word:
            return 1.0
        n = offsets[other + 1] - offsets[other]
        longer = max(length, n)
        allowed = (1.0 - words.min_similarity) * longer + _ROUNDING
        if longer - min(length, n) > allowed or least_edits(words.letters[word], words.letters[other]) > allowed:
            continue
        d = slice_edit_distance(points, offsets[word], length, points, offsets[other], n, peq, plus, minus)
        similarity = 1.0 - d / longer
        if similarity >= words.min_similarity and similarity > best:
            best = similarity
    return best


@njit
def soft_misses(a, b, words, pairs):
    """Weigh the words of one row that another row lacks, counting a similar word in part.

    Parameters
    ----------
    a, b : SparseRows
        Word numbers of each row.
    words : Words
    pairs : TextPairs
        Rows of `a` and of `b`.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
        Share of the weight of row a that has no counterpart in row b, 0 to 1; 0 for a row without words.

    Notes
    -----
    Source: the soft TF-IDF of Cohen, Ravikumar, Fienberg, "A comparison of string distance metrics for
    name-matching tasks", IIWeb 2003, with edit distance inside and as a containment, so that it has a
    direction. A word of b may be the counterpart of several of a. O(most squared) edit distances each at most.
    """
    indptr_a, tokens_a = a
    indptr_b, tokens_b = b
    rows_a, rows_b = pairs
    weights, spelling, _, n_points, _, most = words
    n_blocks = count_blocks(spelling.offsets)
    peq = np.zeros((n_points, n_blocks), np.uint64)
    plus = np.empty(n_blocks, np.uint64)
    minus = np.empty(n_blocks, np.uint64)
    out = np.zeros(rows_a.shape[0], np.float64)
    for pair in range(rows_a.shape[0]):
        begin = indptr_b[rows_b[pair]]
        end = min(begin + most, indptr_b[rows_b[pair] + 1])
        total = 0.0
        start = indptr_a[rows_a[pair]]
        for i in range(start, min(start + most, indptr_a[rows_a[pair] + 1])):
            word = tokens_a[i]
            similarity = _best_similarity(word, tokens_b[begin:end], words, peq, plus, minus)
            total += weights[word]
            out[pair] += weights[word] * (1.0 - similarity)
        if total > 0.0:
            out[pair] /= total
    return out
