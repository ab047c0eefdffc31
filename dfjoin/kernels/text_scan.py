"""Texts within an edit distance, or a distance of their n-grams, of query texts: a scan with exact filters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels._compile import njit_inner, njit_lean
from dfjoin.kernels.edit_distance import count_bits, slice_edit_distance

__all__ = ["ScanPairs", "ScanScratch", "ScanTexts", "TextLimit", "scan_texts", "sign_texts"]

_BLOCK = 64
_WORDS = 4
_ASCII = 128
_PAD = 0x10FFFF + 1
_MIX = 2654435761


class ScanTexts(NamedTuple):
    """Texts in the order of their sizes.

    Parameters
    ----------
    data : ndarray of uint8
        UTF-8.
    starts, ends : ndarray of int64, shape (n,)
        Where each text lies.
    sizes : ndarray of int64, shape (n,)
        Characters, or distinct n-grams; ascending.
    first, second : ndarray of uint64, shape (n,)
    rest : ndarray of uint64, shape (n, 2)
        Signatures, see `sign_texts`.
    indptr : ndarray of int64, shape (most + 2,)
        Texts of size s: ``indptr[s] : indptr[s + 1]``.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    sizes: NDArray[np.int64]
    first: NDArray[np.uint64]
    second: NDArray[np.uint64]
    rest: NDArray[np.uint64]
    indptr: NDArray[np.int64]


class TextLimit(NamedTuple):
    """How far apart texts may lie.

    Parameters
    ----------
    radius : float
    is_share : bool
        Of edits, the radius is a share of the characters of the longer text.
    is_grams : bool
        One minus the Jaccard similarity of sets of n-grams, in the place of edits.
    """

    radius: float
    is_share: bool
    is_grams: bool


class ScanScratch(NamedTuple):
    """Scratch of a scan.

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
    is_near : ndarray of bool, shape (64,)
    places : ndarray of uint64, shape (128,)
        Where each character of ASCII stands in the query text, where this has no others and 64 at most.
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
    is_near: NDArray[np.bool_]
    places: NDArray[np.uint64]


class ScanPairs(NamedTuple):
    """Pairs that were found: numbers of the query text and of the text, and their distance."""

    queries: NDArray[np.int64]
    texts: NDArray[np.int64]
    distances: NDArray[np.float64]


@njit_inner
def _decode(data, start, end, points):
    """Write the characters of a text as far as there is room; return how many it has, at most one more than that."""
    n, i = 0, start
    while i < end:
        byte = np.int64(data[i])
        if byte < 0x80:
            point, length = byte, 1
        elif byte < 0xE0:
            point, length = byte & 0x1F, 2
        elif byte < 0xF0:
            point, length = byte & 0x0F, 3
        else:
            point, length = byte & 0x07, 4
        for k in range(i + 1, min(i + length, end)):
            point = (point << 6) | (np.int64(data[k]) & 0x3F)
        if n == points.size:
            return n + 1
        points[n] = point
        n += 1
        i += length
    return n


@njit_inner
def _to_grams(points, n):
    """Replace the characters of a text by its distinct 3-grams, ascending, and return how many these are.

    Two marks stand before the text and two behind it, so that each character is in three of them.
    """
    a = b = np.int64(_PAD)
    for i in range(n + 2):
        c = points[i] if i < n else np.int64(_PAD)
        points[i] = (a << 42) | (b << 21) | c
        a, b = b, c
    n_grams = 0
    for i in range(n + 2):  # insertion sort; texts are short
        gram, k = points[i], n_grams
        while k > 0 and points[k - 1] > gram:
            k -= 1
        if k > 0 and points[k - 1] == gram:
            continue
        for j in range(n_grams, k, -1):
            points[j] = points[j - 1]
        points[k] = gram
        n_grams += 1
    return n_grams


@njit_inner
def _hash(value):
    """Hash a character or some characters to 32 bits."""
    folded = (value ^ (value >> 18) ^ (value >> 37)) & 0x7FFFFFFF
    return ((folded * _MIX) >> 16) & 0xFFFFFFFF


@njit_lean
def sign_texts(data, offsets, is_grams, points, sizes, signatures):
    """Compute size and signature of each text.

    Parameters
    ----------
    data : ndarray of uint8
    offsets : ndarray of int64, shape (n + 1,)
    is_grams : bool
        Sizes are distinct 3-grams, and the signature is a set of 256 bits of them; else sizes are characters, and the
        signature is one of pairs of neighbours.
    points : ndarray of int64
        Scratch: room for the longest text to be signed and two more.
    sizes : ndarray of int64, shape (n,)
        Output; -1 for a longer text.
    signatures : ndarray of uint64, shape (4, n)
        Output.

    Notes
    -----
    O(characters), of n-grams times their number.
    """
    most = points.size - 2
    for text in range(offsets.size - 1):
        n = _decode(data, offsets[text], offsets[text + 1], points[:most])
        for word in range(_WORDS):
            signatures[word, text] = 0
        if n > most:
            sizes[text] = -1
        elif is_grams:
            n = _to_grams(points, n)
            sizes[text] = n
        else:
            sizes[text] = n
            for i in range(n - 1):
                points[i] = (points[i] << 21) | points[i + 1]
            n -= 1
        for i in range(n if sizes[text] >= 0 else 0):
            number = _hash(points[i])
            signatures[(number >> 6) & (_WORDS - 1), text] |= np.uint64(1) << np.uint64(number & 63)


@njit_inner
def _most_edits(limit, longer):
    """Return the most edits of two texts within the radius."""
    if not limit.is_share:
        return np.int64(min(limit.radius, 1e9))
    edits = np.int64(min(limit.radius * longer, longer))
    while edits < longer and (edits + 1) / longer <= limit.radius:
        edits += 1
    while edits > 0 and edits / longer > limit.radius:
        edits -= 1
    return edits


@njit_inner
def _fewest_shared(limit, size, other):
    """Return n-grams that two texts share at least within the radius; one too few rather than one too many."""
    share = (1 - limit.radius) / (2 - limit.radius) if limit.radius < 1 else 0.0
    return max(np.int64(0), np.int64(share * (size + other)) - 1)


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
def _distance(own_size, texts, text, limit, scratch):
    """Compute the distance of the query text that lies in the scratch and a text."""
    n = _decode(texts.data, texts.starts[text], texts.ends[text], scratch.other[: scratch.other.size - 2])
    if limit.is_grams:
        n = _to_grams(scratch.other, n)
        i = j = shared = 0
        while i < own_size and j < n:
            if scratch.own[i] == scratch.other[j]:
                shared += 1
                i += 1
                j += 1
            elif scratch.own[i] < scratch.other[j]:
                i += 1
            else:
                j += 1
        return 1 - shared / (own_size + n - shared)
    _number(scratch.other, n, scratch, scratch.other_points)
    edits = slice_edit_distance(
        scratch.own_points, 0, own_size, scratch.other_points, 0, n, scratch.equal, scratch.plus, scratch.minus
    )
    return edits / max(own_size, n, 1) if limit.is_share else np.float64(edits)


@njit_inner
def _edits_of_ascii(size, places, data, start, end, most):
    """Count the edits of a query text of up to 64 characters of ASCII and a text; beyond `most`, return more than that.

    As `slice_edit_distance`, of one block, without decoding: a character beyond ASCII is none of the query text's.
    """
    one = np.uint64(1)
    plus, minus, last = ~np.uint64(0), np.uint64(0), one << np.uint64(size - 1)
    edits, left = size, end - start
    for i in range(start, end):
        byte = data[i]
        left -= 1
        if byte & 0xC0 == 0x80:
            continue
        equal = places[byte] if byte < _ASCII else np.uint64(0)
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
def _prepare(queries, q, limit, scratch):
    """Write the query text into the scratch; return whether it is a short one of ASCII alone."""
    start, end, size = queries.starts[q], queries.ends[q], queries.sizes[q]
    n = _decode(queries.data, start, end, scratch.own[: scratch.own.size - 2])
    if limit.is_grams:
        _to_grams(scratch.own, n)
        return False
    if end - start == size and 0 < size <= _BLOCK:
        for i in range(_ASCII):
            scratch.places[i] = 0
        for i in range(size):
            scratch.places[queries.data[start + i]] |= np.uint64(1) << np.uint64(i)
        return True
    _number(scratch.own, n, scratch, scratch.own_points)
    return False


@njit_inner
def _near_block(texts, begin, end, one, two, most, scratch):
    """Tell which texts of a block differ from a signature by few bits; return whether any does."""
    is_any = False
    for i in range(end - begin):
        bits = count_bits(texts.first[begin + i] ^ one)
        others = count_bits(texts.second[begin + i] ^ two)
        is_near = bits + others <= most
        scratch.is_near[i] = is_near
        is_any |= is_near
    return is_any


@njit_inner
def _is_near(queries, q, texts, text, most):
    """Tell whether the whole signatures of two texts differ by few bits."""
    bits = count_bits(queries.first[q] ^ texts.first[text]) + count_bits(queries.second[q] ^ texts.second[text])
    for word in range(2):
        bits += count_bits(queries.rest[q, word] ^ texts.rest[text, word])
    return bits <= most


@njit_lean
def scan_texts(queries, begin, stop, texts, limit, scratch, pairs, stats):
    """Find the texts within a radius of each query text.

    Parameters
    ----------
    queries : ScanTexts
    begin, stop : int
        The query texts to look for.
    texts : ScanTexts
    limit : TextLimit
    scratch : ScanScratch
    pairs : ScanPairs
        Output: by query text.
    stats : ndarray of int64, shape (2,)
        Output, added to: signatures compared, distances computed.

    Returns
    -------
    int
        Pairs found; -1 where there is no room for all.

    Notes
    -----
    What is left out cannot match: a text whose size differs too much (length filter), and one whose signature differs
    by more bits than the radius allows. An edit takes away two pairs of neighbours at most, and adds two; sets of
    n-grams with a similarity of J share J / (1 + J) of the sum of their sizes. Two sets differ by no fewer elements
    than their signatures by bits. What is left is compared in full. Source of the filters: Gravano et al.,
    "Approximate string joins in a database (almost) for free", VLDB 2001; of signatures: Sandes et al., "Bitmap filter:
    speeding up exact set similarity joins with bitwise operations", Information Systems 2020.
    O(texts of near sizes + candidates).
    """
    n_found = 0
    most_size = texts.indptr.size - 2
    for q in range(begin, stop):
        size, one, two = queries.sizes[q], queries.first[q], queries.second[q]
        is_short = _prepare(queries, q, limit, scratch)
        for other in range(most_size + 1):
            first, last = texts.indptr[other], texts.indptr[other + 1]
            if first == last:
                continue
            edits = np.int64(0)
            if limit.is_grams:
                shared = _fewest_shared(limit, size, other)
                if shared > min(size, other):
                    continue
                most = size + other - 2 * shared
            else:
                edits = _most_edits(limit, max(size, other))
                if abs(size - other) > edits:
                    continue
                most = 4 * edits
            stats[0] += last - first
            for start in range(first, last, _BLOCK):
                end = min(start + _BLOCK, last)
                if not _near_block(texts, start, end, one, two, most, scratch):
                    continue
                for i in range(end - start):
                    if not (scratch.is_near[i] and _is_near(queries, q, texts, start + i, most)):
                        continue
                    stats[1] += 1
                    if is_short:
                        text = start + i
                        n = _edits_of_ascii(
                            size, scratch.places, texts.data, texts.starts[text], texts.ends[text], edits
                        )
                        if n > edits:
                            continue
                        distance = n / max(size, other) if limit.is_share else np.float64(n)
                    else:
                        distance = _distance(size, texts, start + i, limit, scratch)
                    if distance > limit.radius:
                        continue
                    if n_found == pairs.queries.size:
                        return -1
                    pairs.queries[n_found], pairs.texts[n_found] = q, start + i
                    pairs.distances[n_found] = distance
                    n_found += 1
    return n_found
