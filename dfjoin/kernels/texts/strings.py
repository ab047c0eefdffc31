"""Text normalisation, hashing and de-duplication over Arrow string buffers.

One pass over a column: each value is brought into its canonical text form (white space, case, NFKC),
numbers and dates in it into theirs, hashed, and kept once. Values holding a character that needs
more than its neighbour-free mapping are left to Python and come back prepared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.hashing import equal_bytes, hash_bytes
from dfjoin.kernels.numba._compile import (
    first_set_byte,
    load_u64,
    mum,
    njit_inlined,
    njit_inner,
    njit_lean,
    prefetch,
    store_u64,
)
from dfjoin.kernels.texts.dates import canonical_time
from dfjoin.kernels.texts.numbers import canonical_number

SLOW = np.uint32(0xFFFFFFFF)
"""Entry of the code-point table for characters that Python has to handle."""

DEFERRED = np.int32(-2)
"""Code of a row whose value is left to Python."""

_NULL = np.int32(-1)

_UPPER = np.uint64(0xFFFFFFFF00000000)
_LOWER = np.uint64(0x00000000FFFFFFFF)
BLOCK = 32
"""Rows whose slots are asked for together, so that their cache misses overlap."""
RECENT = 512
"""Places of `Block.recent`, a power of two."""
_TRIAL_ROWS = 1024
_KEY = np.uint64(0x9E3779B97F4A7C15)
_HIGH = np.uint64(0x8080808080808080)
_LOW7 = np.uint64(0x7F7F7F7F7F7F7F7F)
_FROM_SPACE = np.uint64(0x6060606060606060)  # 0x80 - ' ': carries into the top bit from there on
_ABOVE_SPACE = np.uint64(0x5F5F5F5F5F5F5F5F)  # 0x80 - 0x21
_FROM_A = np.uint64(0x3F3F3F3F3F3F3F3F)  # 0x80 - 'A'
_ABOVE_Z = np.uint64(0x2525252525252525)  # 0x80 - ('Z' + 1)


class Text(NamedTuple):
    """An Arrow string array, read-only.

    Attributes
    ----------
    data : ndarray of uint8
        UTF-8 bytes.
    starts : ndarray of int64, shape (n + 1,)
        Offsets into `data`.
    validity : ndarray of uint8
        Arrow's validity bitmap, or empty when no row is null.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    validity: NDArray[np.uint8]


class TextRules(NamedTuple):
    """How text is normalised: ``fold_table[code point]`` is the normalised one, 32 for white space, or `SLOW`.

    Values whose canonical hash is in `null_hashes` are nulls.
    """

    fold_table: NDArray[np.uint32]
    null_hashes: NDArray[np.uint64]


class ValueTable(NamedTuple):
    """The distinct values so far, in the order of their first row, with a hash table over them.

    Attributes
    ----------
    data : ndarray of uint8
        Their canonical bytes; needs room for the raw bytes × 3 + 24 per row + 64 (a folded character is at most 3
        bytes for 2).
    slots : ndarray of uint64, shape (power of two above 1.5 n,)
        Filled with 0 at first; the upper half of a value's hash, and its number + 1.
    hashes : ndarray of uint64, shape (n,)
    offsets : ndarray of int64, shape (n + 1,)
        Where each lies in `data`; ``offsets[0] = 0``.
    classes : ndarray of int8, shape (n,)
        See `dfjoin.kernels.texts.numbers`.
    size : ndarray of int64, shape (n_columns,)
        How many there are when a column is added, one for each column.
    """

    data: NDArray[np.uint8]
    slots: NDArray[np.uint64]
    hashes: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    classes: NDArray[np.int8]
    size: NDArray[np.int64]


class Block(NamedTuple):
    """Scratch of `add_text`.

    Attributes
    ----------
    ends : ndarray of int64, shape (BLOCK + 1,)
        Where the canonical values of a block of rows end.
    classes, hashes : ndarray of int8 and uint64, shape (BLOCK,)
        Of the values.
    sources : ndarray of int64, shape (BLOCK,)
        An earlier row with the same bytes, or -1.
    recent : ndarray of int64, shape (RECENT,)
        The last row at each place, by its first and last bytes; filled with -1 at first.
    """

    ends: NDArray[np.int64]
    classes: NDArray[np.int8]
    hashes: NDArray[np.uint64]
    sources: NDArray[np.int64]
    recent: NDArray[np.int64]


@njit_lean
def write_utf8(out, o, code_point):
    """Write one code point as UTF-8.

    Parameters
    ----------
    out : ndarray of uint8
    o : int
        Where it begins.
    code_point : int

    Returns
    -------
    int
        The position behind it.
    """
    if code_point < 0x80:
        out[o] = code_point
        return o + 1
    if code_point < 0x800:
        out[o] = 0xC0 | (code_point >> 6)
        out[o + 1] = 0x80 | (code_point & 0x3F)
        return o + 2
    if code_point < 0x10000:
        out[o] = 0xE0 | (code_point >> 12)
        out[o + 1] = 0x80 | ((code_point >> 6) & 0x3F)
        out[o + 2] = 0x80 | (code_point & 0x3F)
        return o + 3
    out[o] = 0xF0 | (code_point >> 18)
    out[o + 1] = 0x80 | ((code_point >> 12) & 0x3F)
    out[o + 2] = 0x80 | ((code_point >> 6) & 0x3F)
    out[o + 3] = 0x80 | (code_point & 0x3F)
    return o + 4


@njit_inner
def _decode_utf8(data, i, end):
    """Decode the code point at ``data[i]``; return it and its length, (-1, 1) if malformed."""
    first = np.int64(data[i])
    if first < 0xC2:
        return np.int64(-1), np.int64(1)
    if first < 0xE0:
        if i + 2 > end:
            return np.int64(-1), np.int64(1)
        return ((first & 0x1F) << 6) | (np.int64(data[i + 1]) & 0x3F), np.int64(2)
    if first < 0xF0:
        if i + 3 > end:
            return np.int64(-1), np.int64(1)
        code = ((first & 0x0F) << 12) | ((np.int64(data[i + 1]) & 0x3F) << 6)
        return code | (np.int64(data[i + 2]) & 0x3F), np.int64(3)
    if i + 4 > end:
        return np.int64(-1), np.int64(1)
    code = ((first & 0x07) << 18) | ((np.int64(data[i + 1]) & 0x3F) << 12)
    code |= (np.int64(data[i + 2]) & 0x3F) << 6
    return code | (np.int64(data[i + 3]) & 0x3F), np.int64(4)


@njit_inlined
def _lower(word):
    """Turn the capitals among eight bytes of ASCII into small letters."""
    low = word & _LOW7
    is_upper = ((low + _FROM_A) ^ (low + _ABOVE_Z)) & _HIGH
    return word | (is_upper >> np.uint64(2))


@njit_inlined
def _fold_plain(data, start, end, out, begin):
    """Write a value of printed ASCII with single spaces inside in small letters; return its end, or -1 if it is none.

    Eight bytes at a time, up to 7 behind the end are read and written. A byte has its top bit set in `spaces` if it is
    a space, and in `strange` if it stands where none may be.
    """
    if start == end or data[end - 1] == 32:
        return np.int64(-1)
    strange, before = np.uint64(0), np.uint64(0x80)  # no space may come first
    for i in range(start, end, 8):
        word = load_u64(data, i)
        if end - i < 8:  # bytes that are no space follow
            own = (np.uint64(1) << np.uint64(8 * (end - i))) - np.uint64(1)
            word = (word & own) | (_LOW7 & ~own)
        printed = (word & _LOW7) + _FROM_SPACE
        spaces = printed & ~((word & _LOW7) + _ABOVE_SPACE) & _HIGH
        strange |= ((word | ~printed) & _HIGH) | (spaces & ((spaces << np.uint64(8)) | before))
        before = spaces >> np.uint64(56)
        store_u64(out, begin + i - start, _lower(word))
    return np.int64(-1) if strange else begin + end - start


@njit_inner
def _fold(data, start, end, fold_table, out, begin):
    """Write the canonical text of one raw value at ``out[begin]``; return its end, or -1 to defer.

    Trimmed, runs of white space as one space, each character through the code-point table. Stretches
    of ASCII above the space are taken up to eight bytes at a time; `out` needs 8 bytes of slack.
    """
    o = begin
    i = start
    pending = False
    last_load = data.shape[0] - 8
    while i < end:
        if i <= last_load:
            word = load_u64(data, i)
            special = (word | ~((word & _LOW7) + _ABOVE_SPACE)) & _HIGH
            plain = min(first_set_byte(special), end - i)
            if plain > 0:
                if pending:
                    out[o] = 32
                    o += 1
                    pending = False
                store_u64(out, o, _lower(word))
                o += plain
                i += plain
                if plain == 8 or i >= end:
                    continue
        byte = np.int64(data[i])
        if byte < 128:
            code_point = byte
            i += 1
            if 65 <= byte <= 90:
                code_point = byte + 32
            elif byte <= 32 and (byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31):
                code_point = np.int64(32)
        else:
            code_point, width = _decode_utf8(data, i, end)
            if code_point < 0 or code_point >= fold_table.shape[0]:
                return np.int64(-1)
            mapped = fold_table[code_point]
            if mapped == SLOW:
                return np.int64(-1)
            code_point = np.int64(mapped)
            i += width
        if code_point == 32:
            pending = o > begin
        else:
            if pending:
                out[o] = 32
                o += 1
                pending = False
            if code_point < 128:
                out[o] = code_point
                o += 1
            else:
                o = write_utf8(out, o, code_point)
    return o


@njit_inlined
def _insert(table, base, size, begin, end, h, null_hashes):
    """Enter the canonical value ``data[begin:end]``; return its code: `size` if it is a new one, a known one, or null.

    A slot holds the upper half of the hash and the code + 1, so that most comparisons end there; codes below `base` are
    those of another column, and their slots free. A new value is moved down to the end of the values kept so far.
    """
    data, slots, offsets = table.data, table.slots, table.offsets
    length = end - begin
    mask = np.int64(slots.shape[0] - 1)
    slot = np.int64(h) & mask
    tag = h & _UPPER
    held = slots[slot]
    while np.int64(held & _LOWER) > base:
        if held & _UPPER == tag:
            code = np.int64(held & _LOWER) - 1
            known = offsets[code]
            if table.hashes[code] == h and offsets[code + 1] - known == length:
                if equal_bytes(data, known, data, begin, length):
                    return code
        slot = (slot + 1) & mask
        held = slots[slot]
    for i in range(null_hashes.shape[0]):
        if h == null_hashes[i]:
            return np.int64(_NULL)
    slots[slot] = tag | np.uint64(size + 1)
    table.hashes[size] = h
    tail = offsets[size]
    if tail != begin:
        i = 0
        while i + 8 <= length:
            store_u64(data, tail + i, load_u64(data, begin + i))
            i += 8
        while i < length:  # byte by byte: the next value may start right behind
            data[tail + i] = data[begin + i]
            i += 1
    offsets[size + 1] = tail + length
    return size


@njit_lean
def add_text(text, first, rules, seed, table, codes, block):
    """Normalise, hash and de-duplicate the rows of Arrow string arrays that lie one after the other, each by itself.

    Nulls, and values that spell null, get code -1; values that need Python get `DEFERRED`. The distinct values of a
    column are numbered in the order of their first row.

    Parameters
    ----------
    text : Text
        Of all columns, which have as many rows each.
    first : int
        Offset of the first array into the bitmap, in rows.
    rules : TextRules
    seed : uint64
        Hash seed.
    table : ValueTable
        Receives the values, column by column; those that it has already belong to the first. It has room for the values
        of all, and slots for those of one.
    codes : ndarray of int32, shape (n,)
        Receives the number of each row's distinct value among those of its column.
    block : Block

    Notes
    -----
    O(bytes), one pass. Source of the canonical form: the normalisation of the index settings. Most columns repeat
    their values: a row whose bytes are those of a recent one has its code. Where that is rare it is given up.
    """
    n_columns = table.size.shape[0]
    n_rows = codes.shape[0] // n_columns
    base, size = np.int64(0), table.size[0]
    for column in range(n_columns):
        rows = (column * n_rows, (column + 1) * n_rows)
        size = _add_rows(rows, text, first, rules, seed, table, (base, size), codes, block)
        table.size[column] = size
        base = size


@njit_inner
def _add_rows(rows, text, first, rules, seed, table, held, codes, block):
    """Add the rows of one column, whose values begin at `held[0]` in the table and end at `held[1]` so far."""
    data, starts, validity = text
    out = table.data
    begin_row, n = rows
    base, size = held
    mask = np.int64(table.slots.shape[0] - 1)
    n_known = 0
    for first_row in range(begin_row, n, BLOCK):
        last_row = min(n, first_row + BLOCK)
        n_before = first_row - begin_row
        is_repeating = n_before < _TRIAL_ROWS or n_known * 8 >= n_before
        block.ends[0] = table.offsets[size]
        for row in range(first_row, last_row):
            i = row - first_row
            begin = block.ends[i]
            block.ends[i + 1] = begin
            codes[row] = 0
            if validity.shape[0] > 0:
                bit = first + row
                if (validity[bit >> 3] >> (bit & 7)) & 1 == 0:
                    codes[row] = _NULL
                    continue
            block.sources[i] = -1
            if is_repeating and starts[row] + 8 <= data.shape[0]:
                source = _note_row(data, starts, row, block.recent)
                if source >= begin_row:
                    block.sources[i] = source
                    n_known += 1
                    continue
            end = np.int64(-1)
            if starts[row + 1] + 7 <= data.shape[0]:
                end = _fold_plain(data, starts[row], starts[row + 1], out, begin)
            if end < 0:
                end = _fold(data, starts[row], starts[row + 1], rules.fold_table, out, begin)
            if end < 0:
                codes[row] = DEFERRED
                continue
            end, block.classes[i] = _canonical(out, begin, end)
            block.ends[i + 1] = end
            h = hash_bytes(out, begin, end - begin, seed)
            block.hashes[i] = h
            prefetch(table.slots, np.int64(h) & mask)
        for row in range(first_row, last_row):
            i = row - first_row
            if codes[row] == 0 and block.sources[i] >= 0:
                codes[row] = codes[block.sources[i]]
            elif codes[row] == 0:
                code = _insert(table, base, size, block.ends[i], block.ends[i + 1], block.hashes[i], rules.null_hashes)
                if code == size:
                    table.classes[code] = block.classes[i]
                    size += 1
                codes[row] = code - base if code >= 0 else code
    return size


@njit_inner
def _note_row(data, starts, row, recent):
    """Put a row into its place; return the row that was there if it has the same bytes, else -1.

    The place is told by the first and the last eight bytes, and the length. Eight bytes from the row's start are read.
    """
    start = starts[row]
    length = starts[row + 1] - start
    word = load_u64(data, start)
    if length < 8:
        word &= (np.uint64(1) << np.uint64(8 * length)) - np.uint64(1)
    else:
        word ^= mum(load_u64(data, start + length - 8), _KEY)
    position = np.int64(mum(word ^ np.uint64(length), _KEY) & np.uint64(RECENT - 1))
    source = recent[position]
    recent[position] = row
    if source >= 0 and starts[source + 1] - starts[source] == length:
        if equal_bytes(data, starts[source], data, start, length):
            return source
    return np.int64(-1)


@njit_inner
def _canonical(out, begin, end):
    """Bring a number or date spelled in ``out[begin:end]`` into its canonical form, in place."""
    if begin == end:
        return end, np.int8(0)
    first = out[begin]
    if (48 <= first <= 57) or first == 45 or first == 43 or first == 46:
        new_end, kind = canonical_number(out, begin, end)
        if kind != 0:
            return new_end, kind
        if first == 45 or first == 43 or first == 46:
            return end, np.int8(0)
        return canonical_time(out, begin, end)
    if 97 <= first <= 115 and 48 <= out[end - 1] <= 57:  # a month name, and a year at the end
        new_end, kind = canonical_time(out, begin, end)
        if kind != 0:
            return new_end, kind
    return end, _class_of_word(out, begin, end)


@njit_inner
def _class_of_word(out, begin, end):
    """Return class 5 for the words true and false, else 0."""
    length = end - begin
    if length == 4 and out[begin] == 116:
        if out[begin + 1] == 114 and out[begin + 2] == 117 and out[begin + 3] == 101:
            return np.int8(5)
    elif length == 5 and out[begin] == 102 and out[begin + 1] == 97 and out[begin + 2] == 108:
        if out[begin + 3] == 115 and out[begin + 4] == 101:
            return np.int8(5)
    return np.int8(0)


BUCKETS = 1024
"""Distinct values of a shape are counted as distinct hashes modulo this number, so that parts can be united."""

SYMBOLS, OTHER, N_SHAPES = 4, 5, 6
"""Shapes: 0 to 3 one to four letters a to z, then up to three ASCII signs, then the rest."""


@njit_lean
def find_hashes(hashes, table, found):
    """Find the values whose hash is in a table.

    Parameters
    ----------
    hashes : ndarray of uint64, shape (n,)
        Of distinct values.
    table : ndarray of uint64, shape (power of two,)
        The hashes looked for, each at ``hash & (size - 1)`` or at the first free place behind it; 0 is free.
    found : ndarray of int64
        Receives the numbers of the values, ascending; as long as there are hashes in the table.

    Returns
    -------
    int
        How many were found. O(n).
    """
    mask = np.uint64(table.shape[0] - 1)
    n = 0
    for i in range(hashes.shape[0]):
        h = hashes[i]
        slot = h & mask
        while table[slot] != 0:
            if table[slot] == h:
                found[n] = i
                n += 1
                break
            slot = (slot + np.uint64(1)) & mask
    return n


@njit_inner
def _shape(data, begin, end):
    """Return the shape of a canonical value."""
    length = end - begin
    if length > 4:
        return OTHER
    n_letters = n_signs = 0
    for i in range(begin, end):
        byte = data[i]
        if 97 <= byte <= 122:
            n_letters += 1
        elif byte < 128 and not 48 <= byte <= 57:
            n_signs += 1
    if n_letters == length:
        return length - 1
    return SYMBOLS if n_signs == length and length <= 3 else OTHER


@njit_lean
def note_shapes(values, skipped, is_noted):
    """Note for each shape which hashes, modulo `BUCKETS`, some values have.

    Parameters
    ----------
    values : tuple of (hashes, data, offsets)
        Distinct canonical values: uint64, uint8 and int64 arrays.
    skipped : ndarray of int64
        Numbers of values that are left out, ascending.
    is_noted : ndarray of bool, shape (N_SHAPES, BUCKETS)
        Changed in place.
    """
    hashes, data, offsets = values
    position = 0
    for i in range(hashes.shape[0]):
        if position < skipped.shape[0] and skipped[position] == i:
            position += 1
            continue
        is_noted[_shape(data, offsets[i], offsets[i + 1]), hashes[i] & np.uint64(BUCKETS - 1)] = True
