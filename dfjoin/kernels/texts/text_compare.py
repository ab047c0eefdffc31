"""Distances of texts that a scan of signatures has proposed: edits, and shared n-grams."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.texts.edit_distance import advance_block, slice_edit_distance
from dfjoin.kernels.texts.text_scan import decode, hash_of, is_known, most_edits, stretch_of, to_grams

_BLOCK = 64
_ASCII = 128
_PAD = 0x10FFFF + 1


class CompareScratch(NamedTuple):
    """Scratch of comparisons.

    Parameters
    ----------
    ascii : ndarray of int32, shape (128,)
        Number of each character of ASCII, 0 for those that no query text has.
    alphabet : ndarray of int32
        The other characters of the query texts, ascending; their numbers begin at 129.
    own, other : ndarray of int64
        Characters of a text, or its n-grams; room for the longest and two more.
    own_points, other_points : ndarray of int32
        Numbered characters.
    equal : ndarray of uint64, shape (129 + size of the alphabet, n_blocks)
        Zeros.
    plus, minus : ndarray of uint64, shape (n_blocks,)
    positions : ndarray of uint64, shape (n_blocks, 128)
        Where each character of ASCII stands in each 64 characters of the query text, where this has no others.
    slots : ndarray of int64, shape (1024,)
        Table of the query text's n-grams, -1 where there is none.
    seen : ndarray of int64, shape (1024,)
        The last text that had the n-gram; -1 at first.
    """

    ascii: NDArray[np.int32]
    alphabet: NDArray[np.int32]
    own: NDArray[np.int64]
    other: NDArray[np.int64]
    own_points: NDArray[np.int32]
    other_points: NDArray[np.int32]
    equal: NDArray[np.uint64]
    plus: NDArray[np.uint64]
    minus: NDArray[np.uint64]
    positions: NDArray[np.uint64]
    slots: NDArray[np.int64]
    seen: NDArray[np.int64]


class SpelledPairs(NamedTuple):
    """Pairs that were found: numbers of the query text and of the text, and their distance."""

    queries: NDArray[np.int64]
    texts: NDArray[np.int64]
    distances: NDArray[np.float64]


@njit_inner
def _number(points, n, scratch, numbers):
    """Number the characters of a text by those of the query texts; 0 for others."""
    for i in range(n):
        point = points[i]
        if point < _ASCII:
            numbers[i] = scratch.ascii[point]
            continue
        low, high = 0, scratch.alphabet.size
        while low < high:
            middle = (low + high) // 2
            if scratch.alphabet[middle] < point:
                low = middle + 1
            else:
                high = middle
        is_known = low < scratch.alphabet.size and scratch.alphabet[low] == point
        numbers[i] = _ASCII + 1 + low if is_known else 0


@njit_inner
def _edits(own_size, texts, text, scratch):
    """Count the edits of the query text that lies in the scratch and a text."""
    start, end = stretch_of(texts, text)
    n = decode(texts.data, start, end, scratch.other[: scratch.other.size - 2])
    _number(scratch.other, n, scratch, scratch.other_points)
    return slice_edit_distance(
        scratch.own_points, 0, own_size, scratch.other_points, 0, n, scratch.equal, scratch.plus, scratch.minus
    )


@njit_inner
def _slot_of(gram, slots):
    """Return the place of an n-gram in the table, or the empty one where it would stand."""
    slot = hash_of(gram) & (slots.size - 1)
    while slots[slot] >= 0 and slots[slot] != gram:
        slot = (slot + 1) & (slots.size - 1)
    return slot


@njit_inner
def _shared_grams(texts, text, scratch):
    """Count the distinct n-grams that the query text in the table and a text share, without sorting them."""
    start, end = stretch_of(texts, text)
    n = decode(texts.data, start, end, scratch.other[: scratch.other.size - 2])
    a = b = np.int64(_PAD)
    shared = 0
    for i in range(n + 2):
        c = scratch.other[i] if i < n else np.int64(_PAD)
        slot = _slot_of((a << 42) | (b << 21) | c, scratch.slots)
        if scratch.slots[slot] >= 0 and scratch.seen[slot] != text:
            scratch.seen[slot] = text
            shared += 1
        a, b = b, c
    return shared


@njit_inner
def _edits_of_ascii(queries, q, positions, texts, text, most):
    """Count the edits of a query text of up to 64 characters of ASCII and a text; beyond `most`, return more than that.

    As `slice_edit_distance`, of one block, without decoding: a character beyond ASCII is none of the query text's. What
    both begin and end with is left out.
    """
    own, (begin, last_own) = queries.data, stretch_of(queries, q)
    data, (start, end), first = texts.data, stretch_of(texts, text), begin
    while first < last_own and start < end and own[first] == data[start]:
        first, start = first + 1, start + 1
    while first < last_own and start < end and own[last_own - 1] == data[end - 1]:
        last_own, end = last_own - 1, end - 1
    shift, size = np.uint64(first - begin), last_own - first
    if size == 0:
        edits = 0
        for i in range(start, end):
            edits += data[i] & 0xC0 != 0x80
        return edits
    one = np.uint64(1)
    plus, minus, last = ~np.uint64(0), np.uint64(0), one << np.uint64(size - 1)
    edits, left = size, end - start
    for i in range(start, end):
        byte = data[i]
        left -= 1
        if byte & 0xC0 == 0x80:
            continue
        equal = positions[byte] >> shift if byte < _ASCII else np.uint64(0)
        x = equal | minus
        diagonal = (((equal & plus) + plus) ^ plus) | equal
        right_plus = minus | ~(diagonal | plus)
        right_minus = plus & diagonal
        if right_plus & last:
            edits += 1
        elif right_minus & last:
            edits -= 1
        if edits - left > most:
            return most + 1
        right_plus = (right_plus << one) | one
        right_minus = right_minus << one
        plus = right_minus | ~(x | right_plus)
        minus = right_plus & x
    return edits


@njit_inner
def _least_edits_of_bags(queries, q, texts, text):
    """Return edits that two long texts take at least: characters that one has more often; 0 for short ones."""
    own, other = q - (queries.sizes.size - queries.bags.shape[0]), text - (texts.sizes.size - texts.bags.shape[0])
    if own < 0 or other < 0:
        return 0
    added, removed = np.int32(0), np.int32(0)
    for k in range(queries.bags.shape[1]):
        gap = np.int32(queries.bags[own, k]) - np.int32(texts.bags[other, k])
        added += max(gap, np.int32(0))
        removed += max(-gap, np.int32(0))
    return max(added, removed)


@njit_inner
def _edits_of_blocks(size, positions, texts, text, most, scratch):
    """Count the edits of a longer query text of ASCII and a text; beyond `most`, return more than that.

    As `slice_edit_distance`, with the blocks of 64 characters of the query text as the outer loop: each way through
    the table of edits passes the last row of a block somewhere, so that the least number there, and what the lengths of
    the rest differ by, ends the comparison of most texts after a block. Columns that lie farther from the diagonal than
    `most` are left out (Ukkonen, "Algorithms for approximate string matching", Information and Control 1985).
    """
    (at, end), n = stretch_of(texts, text), np.int64(texts.sizes[text])
    codes, carries = scratch.other_points, scratch.other
    n_read, before, first = 0, 0, 0
    while first < size:
        rows, block = min(size, first + _BLOCK), first // _BLOCK
        n_columns = min(n, rows + most)
        while n_read < n_columns:
            codes[n_read] = texts.data[at]
            n_read, at = n_read + 1, at + 1
            # One code for each character; the first byte of a longer one equals no character of an ASCII text.
            while at < end and texts.data[at] & 0xC0 == 0x80:
                at += 1
        plus, minus, last = ~np.uint64(0), np.uint64(0), np.uint64(1) << np.uint64(rows - first - 1)
        edits, least = rows, rows + abs(size - rows - n)
        for j in range(n_columns):
            # The block above left this column out, since it is too far from the diagonal: each step there is an edit.
            carry = carries[j] if j < before else np.int64(1)
            equal = positions[block, codes[j]] if codes[j] < _ASCII else np.uint64(0)
            x, right_plus, right_minus = advance_block(equal, plus, minus, carry)
            out = np.int64(right_plus & last != 0) - np.int64(right_minus & last != 0)
            edits += out
            carries[j] = out
            right_plus = (right_plus << np.uint64(1)) | np.uint64(carry > 0)
            right_minus = (right_minus << np.uint64(1)) | np.uint64(carry < 0)
            plus = right_minus | ~(x | right_plus)
            minus = right_plus & x
            least = min(least, edits + abs(size - rows - (n - j - 1)))
        if least > most:
            return most + 1
        first, before = rows, n_columns
    return edits


@njit_inner
def _prepare(queries, q, limit, scratch):
    """Write the query text into the scratch; return the blocks of 64 characters that it has, 0 if not ASCII alone."""
    (start, end), size = stretch_of(queries, q), np.int64(queries.sizes[q])
    n = decode(queries.data, start, end, scratch.own[: scratch.own.size - 2])
    if limit.is_grams:
        scratch.slots[:] = -1
        scratch.seen[:] = -1
        for i in range(to_grams(scratch.own, n)):
            scratch.slots[_slot_of(scratch.own[i], scratch.slots)] = scratch.own[i]
        return 0
    if end - start == size and size > 0:
        n_blocks = (size + _BLOCK - 1) // _BLOCK
        scratch.positions[:n_blocks] = 0
        for i in range(size):
            scratch.positions[i // _BLOCK, queries.data[start + i]] |= np.uint64(1) << np.uint64(i % _BLOCK)
        return n_blocks
    _number(scratch.own, n, scratch, scratch.own_points)
    return 0


@njit_lean
def compare_texts(queries, candidates, n, texts, limit, scratch, lists, pairs):
    """Compute the distances of proposed pairs, and keep those within the radius.

    Parameters
    ----------
    queries, texts : ScanTexts
    candidates : TextCandidates
        By query text.
    n : int
        Candidates.
    limit : TextLimit
    scratch : CompareScratch
    lists : KnownLists
        Texts whose list the query text has met are left out once it has enough pairs.
    pairs : SpelledPairs
        Output, in the order of the candidates; room for all of them.

    Returns
    -------
    int
        Pairs that were kept.

    Notes
    -----
    O(characters) for n-grams and for edits of texts of up to 64 characters, in others their number times the blocks of
    64 of the query text at most.
    """
    n_found, before, n_blocks = 0, -1, 0
    for i in range(n):
        q, text = candidates.queries[i], candidates.texts[i]
        if q != before:
            before, n_blocks = q, _prepare(queries, q, limit, scratch)
        columns = np.int64(lists.of_text[texts.numbers[text]]) if lists.of_text.size else np.int64(-1)
        if columns >= 0 and lists.counts[q] >= lists.least:
            if is_known(lists, q, columns) or lists.met[columns] == q:
                continue
        own, other = np.int64(queries.sizes[q]), np.int64(texts.sizes[text])
        if limit.is_grams:
            shared = _shared_grams(texts, text, scratch)
            distance = 1 - shared / (own + other - shared)
        else:
            most = most_edits(limit, max(own, other))
            if _least_edits_of_bags(queries, q, texts, text) > most:
                continue
            if n_blocks:
                if n_blocks == 1:
                    edits = _edits_of_ascii(queries, q, scratch.positions[0], texts, text, most)
                else:
                    edits = _edits_of_blocks(own, scratch.positions, texts, text, most, scratch)
                if edits > most:
                    continue
            else:
                edits = _edits(own, texts, text, scratch)
            distance = edits / max(own, other, 1) if limit.is_share else np.float64(edits)
        if distance <= limit.radius:
            pairs.queries[n_found], pairs.texts[n_found], pairs.distances[n_found] = q, text, distance
            n_found += 1
            if columns >= 0:
                lists.met[columns], lists.last[q] = q, columns
                lists.counts[q] += 1
    return n_found
