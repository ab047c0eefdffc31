"""Texts → their distinct canonical values: the kernel, the tables it fills, and what it leaves to Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels.texts import strings
from dfjoin.kernels.texts.integers import HeldIntegers, number_integers, write_integers
from dfjoin.kernels.texts.numbers import INTEGER
from dfjoin.values.unicode import ascii_table, fold_table, identity_table, normalize_text
from dfjoin.values.value_set import PADDING, ValueSet, keep_values, pack_strings, read_only, table_size

__all__ = ["distinct_integers", "distinct_packed", "distinct_values"]

_NO_BITMAP = read_only(np.empty(0, np.uint8))
_SHORT_BYTES = 1 << 15
"""Up to so many bytes a copy that Python looks at takes less time than calls of numpy."""


def _new_table(n: int, n_bytes: int) -> strings.ValueTable:
    """Make an empty table for n values, with so many bytes of room."""
    offsets = np.empty(n + 1, np.int64)
    offsets[0] = 0
    slots, hashes = np.zeros(table_size(n), np.uint64), np.empty(n, np.uint64)
    return strings.ValueTable(
        np.empty(n_bytes, np.uint8), slots, hashes, offsets, np.empty(n, np.int8), np.zeros(1, np.int64)
    )


def _new_block() -> strings.Block:
    n = strings.BLOCK
    recent = np.full(strings.RECENT, -1)
    sources = np.empty(n, np.int64)
    return strings.Block(np.empty(n + 1, np.int64), np.empty(n, np.int8), np.empty(n, np.uint64), sources, recent)


def _text_of(array: pa.Array) -> strings.Text:
    """View an Arrow string array as the kernel takes it: read-only, offsets of 64 bits."""
    bitmap, starts_buffer, data_buffer = array.buffers()
    n = len(array)
    dtype = np.dtype(np.int64 if pa.types.is_large_string(array.type) else np.int32)
    if starts_buffer is None or n == 0:
        starts = np.zeros(n + 1, np.int64)
    else:
        starts = np.frombuffer(starts_buffer, dtype, n + 1, array.offset * dtype.itemsize).astype(np.int64)
    # `_fold` never loads past the end of a value's own bytes, so the data need no padding.
    data = _NO_BITMAP if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    validity = _NO_BITMAP if bitmap is None else np.frombuffer(bitmap, np.uint8)
    return strings.Text(read_only(data), read_only(starts), read_only(validity))


def distinct_values(array: pa.Array, seed: int, null_hashes: NDArray[np.uint64]) -> ValueSet:
    """Run the kernel over one Arrow string array; hand the rest to Python."""
    n = len(array)
    text = _text_of(array)
    raw_bytes = int(text.starts[-1]) - int(text.starts[0])
    table = _new_table(n, raw_bytes * 2 + 32 * n + 64)
    codes = np.empty(n, np.int32)
    rules = strings.TextRules(fold_table() if _has_high_bytes(text) else ascii_table(), null_hashes)
    strings.add_text(text, array.offset, rules, np.uint64(seed), table, codes, _new_block())
    if table.size[0] < n:  # else every row brought a value of its own: none can be deferred
        _add_deferred(array, codes, rules, seed, table)
    return _values_of(table, codes)


def _values_of(table: strings.ValueTable, codes: NDArray[np.int32]) -> ValueSet:
    """Return the values of a table, read-only."""
    size = int(table.size[0])
    end = int(table.offsets[size])
    data = table.data
    if 4 * end + 1024 < data.shape[0]:  # do not hold on to much more than the values
        data = data[: end + PADDING].copy()
    return ValueSet(table.hashes[:size], data, table.offsets[: size + 1], table.classes[:size], codes)


def _has_high_bytes(text: strings.Text) -> bool:
    """Tell whether any byte of the slice is not ASCII."""
    piece = text.data[int(text.starts[0]) : int(text.starts[-1])]
    cut = piece.size & ~7 if piece.size > _SHORT_BYTES else 0
    if cut and bool(np.bitwise_or.reduce(piece[:cut].view(np.uint64)) & np.uint64(0x8080808080808080)):
        return True
    return not piece[cut:].tobytes().isascii()


def _add_deferred(
    array: pa.Array, codes: NDArray[np.int32], rules: strings.TextRules, seed: int, table: strings.ValueTable
) -> None:
    """Normalise in Python the values that the kernel left, each distinct one once."""
    if codes.min(initial=0) != strings.DEFERRED:
        return
    rows = np.flatnonzero(codes == strings.DEFERRED)
    encoded = pc.dictionary_encode(array.take(pa.array(rows)))
    raw = encoded.dictionary.cast(pa.large_binary()).to_pylist()  # a file may hold bytes that are no UTF-8
    data, starts = pack_strings([normalize_text(value.decode("utf-8", "replace")) for value in raw])
    needed = int(table.offsets[table.size[0]]) + int(starts[-1]) + 32 * len(raw) + 64
    if needed > table.data.shape[0]:
        table.data.resize(needed, refcheck=False)
    new_codes = np.empty(len(raw), np.int32)
    text = strings.Text(data, starts, _NO_BITMAP)
    rules = rules._replace(fold_table=identity_table())
    strings.add_text(text, 0, rules, np.uint64(seed), table, new_codes, _new_block())
    codes[rows] = new_codes[encoded.indices.to_numpy()]


def distinct_integers(
    numbers: NDArray[np.int64], is_null: NDArray[np.bool_], seed: int, null_hashes: NDArray[np.uint64]
) -> ValueSet:
    """Make a ValueSet of whole numbers, of which digits are the canonical form.

    Parameters
    ----------
    numbers : ndarray of int64, shape (n,)
    is_null : ndarray of bool, shape (n,) or (0,)
        Rows without a number, empty where there are none.
    seed, null_hashes
        As of `distinct_values`.
    """
    n = numbers.size
    codes, room = np.empty(n, np.int32), HeldIntegers(np.zeros(table_size(n), np.int32), np.empty(n, np.int64))
    size = number_integers(read_only(numbers), read_only(is_null), room, codes)
    distinct = read_only(room.numbers[:size].copy())
    longest = max(len(str(bound)) for bound in (distinct.min(initial=0), distinct.max(initial=0)))
    data = np.empty(longest * distinct.size + PADDING, np.uint8)
    offsets, hashes = np.zeros(distinct.size + 1, np.int64), np.empty(distinct.size, np.uint64)
    write_integers(distinct, np.uint64(seed), data, offsets, hashes)
    classes = np.full(distinct.size, INTEGER, np.int8)
    if room.slots.size > 4 * table_size(size):  # do not hold on to much more than the values
        room = HeldIntegers(np.zeros(table_size(size), np.int32), room.numbers)
        number_integers(distinct, read_only(np.empty(0, np.bool_)), room, np.empty(size, np.int32))
    values = ValueSet(hashes, data, offsets, classes, codes, integers=HeldIntegers(read_only(room.slots), distinct))
    is_null_text = np.zeros(distinct.size, bool)
    for one in null_hashes:  # those of a few texts
        is_null_text |= hashes == one
    return keep_values(values, ~is_null_text) if is_null_text.any() else values


def distinct_packed(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], seed: int, null_hashes: NDArray[np.uint64]
) -> ValueSet:
    """Make a ValueSet of packed canonical values that may repeat; without those of the null hashes."""
    n = offsets.shape[0] - 1
    table = _new_table(n, int(offsets[-1]) + 32 * n + 64)
    codes = np.empty(n, np.int32)
    rules = strings.TextRules(identity_table(), null_hashes)
    text = strings.Text(data, offsets, _NO_BITMAP)
    strings.add_text(text, 0, rules, np.uint64(seed), table, codes, _new_block())
    return _values_of(table, codes)
