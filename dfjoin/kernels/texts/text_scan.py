"""Texts that may lie within an edit distance, or a distance of their n-grams, of query texts: a scan of signatures."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.lanes import WORDS, words_near
from dfjoin.kernels.numba._compile import njit_inner, njit_lean, prefetch
from dfjoin.kernels.texts.edit_distance import count_bits

BLOCK = 64
_WORDS = 4
_MOST_COMPARED = 1 << 26
_AHEAD = 16
_ONE = np.uint64(1)
_PAD = 0x10FFFF + 1
GRAM_SLOTS = 1024
"""Places of a table of a text's n-grams: four for each of them at least."""

_MIX = 2654435761


class ScanTexts(NamedTuple):
    """Texts in the order of their sizes.

    Parameters
    ----------
    data : ndarray of uint8
        UTF-8.
    offsets : ndarray of int64
        Where texts lie in it, in their own order.
    positions : ndarray of uint32, shape (n,)
        Which of them each text is; those of one size ascend.
    numbers : ndarray of uint32, shape (n,)
        What pairs, and lists of columns, call each text.
    sizes : ndarray of int16, shape (n,)
        Characters, or distinct n-grams; ascending.
    words : ndarray of uint64, shape (4, n + 8)
        Signatures, see `sign_texts`, and room behind them.
    indptr : ndarray of int64, shape (most + 2,)
        Texts of size s: ``indptr[s] : indptr[s + 1]``.
    bags : ndarray of uint8, shape (n_long, 32)
        Of the texts of more than 64 characters, which are the last ones, see `sign_texts`; no rows for n-grams.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    positions: NDArray[np.uint32]
    numbers: NDArray[np.uint32]
    sizes: NDArray[np.int16]
    words: NDArray[np.uint64]
    indptr: NDArray[np.int64]
    bags: NDArray[np.uint8]


class KnownLists(NamedTuple):
    """Lists of columns that hold texts: once a query text has met one text of a list, the others tell nothing more.

    Parameters
    ----------
    of_text : ndarray of uint32
        The list of the columns of each text, by its number; without an entry where all pairs are wanted.
    of_query : ndarray of int64, shape (n_query_texts,)
        The list of the text that is equal to each query text, -1 for none.
    last : ndarray of int64, shape (n_query_texts,)
        Changed: the list that each query text has met last; -1 at first.
    met : ndarray of int64, shape (n_lists,)
        Changed: the last query text that met a text of the list; -1 at first.
    counts : ndarray of int64, shape (n_query_texts,)
        Changed: pairs of each query text; 0 at first.
    least : int
        Pairs of a query text that are wanted in any case.
    """

    of_text: NDArray[np.uint32]
    of_query: NDArray[np.int64]
    last: NDArray[np.int64]
    met: NDArray[np.int64]
    counts: NDArray[np.int64]
    least: int


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


class TextCandidates(NamedTuple):
    """Pairs that may match: numbers of the query text and of the text."""

    queries: NDArray[np.int32]
    texts: NDArray[np.int32]


@njit_inner
def _character(data, i, end):
    """Return the character that begins at a byte, and where the next one begins."""
    byte = np.int64(data[i])
    if byte < 0x80:  # nearly all characters are of ASCII
        return byte, i + 1
    if byte < 0xE0:
        point, length = byte & 0x1F, 2
    elif byte < 0xF0:
        point, length = byte & 0x0F, 3
    else:
        point, length = byte & 0x07, 4
    for k in range(i + 1, min(i + length, end)):
        point = (point << 6) | (np.int64(data[k]) & 0x3F)
    return point, i + length


@njit_inner
def decode(data, start, end, points):
    """Write the characters of a text as far as there is room.

    Parameters
    ----------
    data : ndarray of uint8
        UTF-8.
    start, end : int
        Where the text lies.
    points : ndarray of int64, shape (room,)
        Output.

    Returns
    -------
    int
        Characters of the text; one more than there is room for if it has more.

    Notes
    -----
    O(bytes).
    """
    n, i = 0, start
    while i < end:
        if n == points.size:
            return n + 1
        points[n], i = _character(data, i, end)
        n += 1
    return n


@njit_inner
def to_grams(points, n):
    """Replace the characters of a text by its distinct 3-grams, ascending.

    Parameters
    ----------
    points : ndarray of int64, shape (room,)
        Room for n + 2; changed.
    n : int
        Characters.

    Returns
    -------
    int
        Distinct 3-grams.

    Notes
    -----
    Two marks stand before the text and two behind it, so that each character is in three of them. O(n²): texts are
    short.
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
def hash_of(value):
    """Hash a character or some characters to 32 bits.

    Parameters
    ----------
    value : int

    Returns
    -------
    int

    Notes
    -----
    O(1).
    """
    folded = (value ^ (value >> 18) ^ (value >> 37)) & 0x7FFFFFFF
    return ((folded * _MIX) >> 16) & 0xFFFFFFFF


@njit_inner
def _count_distinct_grams(points, n, text, table):
    """Count the distinct 3-grams of the characters of a text."""
    a = b = np.int64(_PAD)
    n_grams = 0
    for i in range(n + 2):
        c = points[i] if i < n else np.int64(_PAD)
        gram = (a << 42) | (b << 21) | c
        a, b = b, c
        slot = hash_of(gram) & (GRAM_SLOTS - 1)
        while table[1, slot] == text and table[0, slot] != gram:
            slot = (slot + 1) & (GRAM_SLOTS - 1)
        if table[1, slot] != text:
            table[0, slot], table[1, slot] = gram, text
            n_grams += 1
    return n_grams


@njit_inner
def holds_letter(data, start, end):
    """Tell whether a text holds a letter: any byte of the alphabet, or any character above ASCII.

    Parameters
    ----------
    data : ndarray of uint8
    start, end : int
        Where the text lies.

    Returns
    -------
    bool

    Notes
    -----
    O(bytes).
    """
    for i in range(start, end):
        byte = data[i] | 32
        if 97 <= byte <= 122 or data[i] > 127:
            return True
    return False


@njit_inner
def _count_characters(data, start, end):
    """Count the characters of a text."""
    n = 0
    for i in range(start, end):
        n += data[i] & 0xC0 != 0x80
    return n


@njit_inner
def stretch_of(texts, text):
    """Return where a text begins and ends.

    Parameters
    ----------
    texts : ScanTexts
    text : int

    Returns
    -------
    start, end : int

    Notes
    -----
    O(1).
    """
    position = np.int64(texts.positions[text])
    return texts.offsets[position], texts.offsets[position + 1]


@njit_lean
def measure_texts(data, offsets, chosen, stretch, is_grams, points, table, sizes, counts):
    """Compute the size of some texts, and count those of each size.

    Parameters
    ----------
    data : ndarray of uint8
    offsets : ndarray of int64
        Where texts lie in it.
    chosen : ndarray of uint32, shape (n,)
        The texts, ascending.
    stretch : tuple of int
        Which of these are measured: the first one, and behind the last one.
    is_grams : bool
        Sizes are distinct 3-grams; else characters.
    points : ndarray of int64
        Scratch: room for the longest text that has a size and two more.
    table : ndarray of int64, shape (2, 1024)
        Scratch: 3-grams, and the last text that had each; -1 at first. Four places for each 3-gram of a text at least.
    sizes : ndarray of int16, shape (n,)
        Output; -1 for a longer text, and for one without a letter.
    counts : ndarray of int64, shape (most size + 1,)
        Output, added to.

    Raises
    ------
    DamagedArraysError
        If a text lies outside of the data, or before the end of an earlier one.

    Notes
    -----
    O(characters).
    """
    most, first = points.size - 2, stretch[0]
    before = offsets[np.int64(chosen[first - 1]) + 1] if first else np.int64(0)
    for text in range(first, stretch[1]):
        start, end = offsets[chosen[text]], offsets[np.int64(chosen[text]) + 1]
        if start < before or end < start or end > data.size:
            raise DamagedArraysError("texts lie outside of their data")
        before = end
        n = _count_characters(data, start, end) if holds_letter(data, start, end) else most + 1
        if n > most:
            sizes[text] = -1
            continue
        if is_grams:
            n = _count_distinct_grams(points, decode(data, start, end, points[:most]), text, table)
        sizes[text] = n
        counts[n] += 1


@njit_lean
def order_texts(sizes, chosen, ends, positions, order):
    """Put texts into the order of their sizes, and of their own where these are equal.

    Parameters
    ----------
    sizes : ndarray of int16, shape (n,)
        As `measure_texts` wrote them.
    chosen : ndarray of uint32, shape (n,)
    ends : ndarray of int64, shape (most size + 1,)
        Where the texts of each size begin in the output; changed to where they end.
    positions : ndarray of uint32, shape (n_kept,)
        Output: `chosen`, of the texts that have a size.
    order : ndarray of int16, shape (n_kept,)
        Output: their sizes.

    Notes
    -----
    A counting sort. O(n).
    """
    for text in range(sizes.size):
        size = np.int64(sizes[text])
        if size >= 0:
            positions[ends[size]], order[ends[size]] = chosen[text], size
            ends[size] += 1


@njit_lean
def sign_texts(texts, wanted, next_texts, last_position, is_grams, words, bags):
    """Compute the signatures of texts of some sizes: sets of 256 bits of 3-grams, or of pairs of neighbours.

    Parameters
    ----------
    texts : ScanTexts
    wanted : ndarray of int64
        The sizes.
    next_texts : ndarray of int64, the same shape
        The first text of each size that has none; changed.
    last_position : int
        Texts from that place on are left for a later call, so that texts are read in the order in which they lie.
    is_grams : bool
    words : ndarray of uint64, shape (4, n) or more
        Zeros; output.
    bags : ndarray of uint8, shape (n_long, 32)
        Zeros; output: how many characters of the longest texts, the last ones, are of each of 32 classes, by the last
        bits of their first byte. 255 stands for more as well.

    Notes
    -----
    The 256 bits of a signature are too few for long texts: nearly all of them pass. Source of the bound by counts of
    characters: Ukkonen, "Approximate string-matching with q-grams and maximal matches", TCS 1992, with q = 1.
    O(characters).
    """
    first_long = texts.positions.size - bags.shape[0]
    for k in range(wanted.size):
        text, stop = next_texts[k], texts.indptr[wanted[k] + 1]
        while text < stop and texts.positions[text] < last_position:
            prefetch(
                texts.offsets, np.int64(texts.positions[min(text + 2 * _AHEAD, stop - 1)])
            )  # others lie between them
            prefetch(texts.data, texts.offsets[texts.positions[min(text + _AHEAD, stop - 1)]])
            i, end = stretch_of(texts, text)
            if text >= first_long:
                _fill_bag(texts.data, i, end, bags, text - first_long)
            a = b = np.int64(_PAD)
            left = 2 if is_grams else 0
            while i < end or left:
                if i < end:
                    c, i = _character(texts.data, i, end)
                else:
                    c, left = np.int64(_PAD), left - 1
                if is_grams or b != _PAD:
                    number = hash_of(((a << 42) if is_grams else 0) | (b << 21) | c)
                    words[(number >> 6) & (_WORDS - 1), text] |= _ONE << np.uint64(number & 63)
                a, b = b, c
            text += 1
        next_texts[k] = text


@njit_inner
def _fill_bag(data, start, end, bags, row):
    """Count the characters of a text by classes."""
    for i in range(start, end):
        count = bags[row, data[i] & 31]
        bags[row, data[i] & 31] = count + np.uint8(data[i] & 0xC0 != 0x80 and count < 255)


@njit_inner
def most_edits(limit, longer):
    """Return the most edits of two texts within the radius.

    Parameters
    ----------
    limit : TextLimit
    longer : int
        Characters of the longer text.

    Returns
    -------
    int

    Notes
    -----
    O(1).
    """
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
def _fill_limits(queries, begin, stop, size, limit, most):
    """Write how many bits each query text may differ by from texts of a size, -1 for none that may match.

    Returns the first query text that may match, and behind the last one.
    """
    low, high = stop, begin
    for q in range(begin, stop):
        own = np.int64(queries.sizes[q])
        bits = np.int64(-1)
        if limit.is_grams:
            shared = _fewest_shared(limit, own, size)
            if shared <= min(own, size):
                bits = own + size - 2 * shared
        else:
            edits = most_edits(limit, max(own, size))
            if abs(own - size) <= edits:
                bits = 4 * edits
        most[q - begin] = bits
        if bits >= 0:
            low, high = min(low, q), q + 1
    return low, high


@njit_lean
def sizes_near(queries, texts, limit, most, is_near):
    """Tell of which sizes texts may match one of some query texts.

    Parameters
    ----------
    queries, texts : ScanTexts
    limit : TextLimit
    most : ndarray of int64, shape (n_queries,)
        Scratch.
    is_near : ndarray of bool, shape (most size + 1,)
        Output; False at first.

    Notes
    -----
    O(sizes · query texts).
    """
    for size in range(texts.indptr.size - 1):
        if texts.indptr[size] < texts.indptr[size + 1]:
            low, high = _fill_limits(queries, 0, most.size, size, limit, most)
            is_near[size] = low < high


@njit_inner
def _near_block(texts, start, end, queries, q, most):
    """Return a bit for each text of a block whose signature differs by few bits from that of a query text."""
    bits, shift = np.uint64(0), np.uint64(0)
    for position in range(start, end, WORDS):
        bits |= words_near(texts.words, np.uint64(position), queries.words, np.uint64(q), most) << shift
        shift += np.uint64(WORDS)
    if end - start < BLOCK:
        bits &= (_ONE << np.uint64(end - start)) - _ONE
    return bits


@njit_inner
def is_known(lists, query, own):
    """Tell whether a query text has enough pairs, and a list is its own or the one that it has met last.

    Parameters
    ----------
    lists : KnownLists
    query, own : int
        The query text, and the list.

    Returns
    -------
    bool

    Notes
    -----
    O(1).
    """
    return lists.counts[query] >= lists.least and (own == lists.of_query[query] or own == lists.last[query])


@njit_lean
def propose_texts(queries, begin, stop, texts, limit, lists, most, candidates, state, stats):
    """List the pairs of a query text and a text that no filter excludes.

    Parameters
    ----------
    queries : ScanTexts
    begin, stop : int
        The query texts to look for.
    texts : ScanTexts
    limit : TextLimit
    lists : KnownLists
        Texts whose list the query text has met last, or holds itself, are left out once it has enough pairs.
    most : ndarray of int64, shape (stop - begin,)
        Scratch.
    candidates : TextCandidates
        Output; room for 64 pairs for each query text at least.
    state : ndarray of int64, shape (3,)
        Size and text to go on with, zeros at first, and pairs that were listed; changed.
    stats : ndarray of int64, shape (2,)
        Output, added to: signatures compared; the other one stays.

    Returns
    -------
    bool
        False where more is to do: `candidates` has no room, or 2²⁶ signatures were compared.

    Notes
    -----
    What is left out cannot match: a text whose size differs too much (length filter), and one whose signature differs
    by more bits than the radius allows. An edit takes away two pairs of neighbours at most, and adds two; sets of
    n-grams with a similarity of J share J / (1 + J) of the sum of their sizes. Two sets differ by no fewer elements
    than their signatures by bits. Source of the filters: Gravano et al., "Approximate string joins in a database
    (almost) for free", VLDB 2001; of signatures: Sandes et al., "Bitmap filter: speeding up exact set similarity joins
    with bitwise operations", Information Systems 2020. Deviation: blocks of 64 signatures are the outer loop, so that
    one is read once for all query texts. O(query texts · texts of near sizes), a tenth of a nanosecond each.
    """
    n, n_compared = 0, 0
    for size in range(state[0], texts.indptr.size - 1):
        first, last = max(texts.indptr[size], state[1]), texts.indptr[size + 1]
        if first >= last:
            continue
        low, high = _fill_limits(queries, begin, stop, size, limit, most)
        for start in range(first, last if low < high else first, BLOCK):
            if candidates.texts.size - n < (high - low) * BLOCK or n_compared > _MOST_COMPARED:
                state[0], state[1], state[2] = size, start, n
                return False
            end = min(start + BLOCK, last)
            for q in range(low, high):
                if most[q - begin] < 0:
                    continue
                n_compared += end - start
                stats[0] += end - start
                bits = _near_block(texts, start, end, queries, q, np.uint64(most[q - begin]))
                while bits:
                    text = start + count_bits(~bits & (bits - _ONE))
                    bits &= bits - _ONE
                    if lists.of_text.size and is_known(lists, q, lists.of_text[texts.numbers[text]]):
                        continue
                    candidates.queries[n], candidates.texts[n] = q, text
                    n += 1
    state[0], state[2] = texts.indptr.size, n
    return True
