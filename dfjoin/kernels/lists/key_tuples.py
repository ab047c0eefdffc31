"""Tuples of several columns: numbering those of rows, finding those of a key in rows, bounding how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.hashing import K0, K1
from dfjoin.kernels.numba._compile import mum, njit_inner, njit_lean

_DENSE = 1 << 16
"""Combinations of parts that always have a slot each."""


class TupleTable(NamedTuple):
    """The distinct tuples of a key, and where each is found by its hash.

    Parameters
    ----------
    parts : ndarray of int32, shape (n_columns, n_keys)
        The number of the value of each part of each tuple.
    slots : ndarray of int32
        The tuple that lies there, -1 for none: either a slot for each combination of parts, or a power of two of them,
        at least twice the tuples.
    strides : ndarray of int64, shape (n_columns,)
        What the numbers of the parts are multiplied by to be the number of a combination; zeros where slots are found
        by hashing.
    """

    parts: NDArray[np.int32]
    slots: NDArray[np.int32]
    strides: NDArray[np.int64]


class Choices(NamedTuple):
    """Some choices of columns for the columns of a key.

    Parameters
    ----------
    columns : ndarray of int64, shape (n_choices, n_parts)
        The columns that are compared with those of the key, in its order.
    starts : ndarray of int64, shape (n_choices, n_parts)
        Where the numbers of each begin, see `find_tuples`.
    """

    columns: NDArray[np.int64]
    starts: NDArray[np.int64]


class Counts(NamedTuple):
    """Tuples of a key that rows hold.

    Parameters
    ----------
    matched, rows : ndarray of int64, shape (n_choices,)
        Distinct tuples, and the rows that hold one.
    marks : ndarray of int32, shape (n_keys,)
        Filled with -1.
    """

    matched: NDArray[np.int64]
    rows: NDArray[np.int64]
    marks: NDArray[np.int32]


def new_slots(n: int) -> NDArray[np.int32]:
    """Return an empty hash table for so many tuples."""
    return np.full(1 << max(4, (2 * n).bit_length()), -1, np.int32)


def table_of(parts: NDArray[np.int32], sizes: Sequence[int]) -> TupleTable:
    """Make the table of the distinct tuples of a key; `sizes` are above all numbers of each part. O(tuples)."""
    n_keys = parts.shape[1]
    if prod(sizes) <= max(_DENSE, 8 * n_keys):
        strides = np.cumprod([1, *sizes[:-1]])
        slots = np.full(prod(sizes), -1, np.int32)
        slots[strides @ parts.astype(np.int64)] = np.arange(n_keys, dtype=np.int32)
        return TupleTable(parts, slots, strides)
    slots = new_slots(n_keys)
    number_tuples(parts, np.arange(parts.shape[0]), slots, np.empty(n_keys, np.int32))
    return TupleTable(parts, slots, np.zeros(len(sizes), np.int64))


@njit_inner
def _mix(h, number):
    """Mix a number into a hash."""
    return mum(h ^ np.uint64(number), K1)


@njit_inner
def _is_same(codes, chosen, row, other):
    """Tell whether two rows have the same codes in the chosen columns."""
    for i in range(chosen.shape[0]):
        if codes[chosen[i], row] != codes[chosen[i], other]:
            return False
    return True


@njit_lean
def number_tuples(codes, chosen, slots, out):
    """Number the distinct tuples of rows in the order of their first row.

    Parameters
    ----------
    codes : ndarray of int32, shape (n_columns, n_rows)
        Negative for a null.
    chosen : ndarray of int64, shape (n_parts,)
        Columns that make a tuple.
    slots : ndarray of int32
        Filled with -1, see `TupleTable`; the first row of each tuple afterwards.
    out : ndarray of int32, shape (n_rows,)
        The number of each row's tuple; -1 where a part is null.

    Returns
    -------
    int
        Distinct tuples.

    Notes
    -----
    O(rows), by hashing with linear probing.
    """
    mask = np.uint64(slots.shape[0] - 1)
    n_found = 0
    for row in range(out.shape[0]):
        h = K0
        is_null = False
        for i in range(chosen.shape[0]):
            code = codes[chosen[i], row]
            if code < 0:
                is_null = True
                break
            h = _mix(h, code)
        out[row] = -1
        if is_null:
            continue
        slot = h & mask
        while slots[slot] >= 0 and not _is_same(codes, chosen, row, slots[slot]):
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] < 0:
            slots[slot] = row
            out[row] = n_found
            n_found += 1
        else:
            out[row] = out[slots[slot]]
    return n_found


@njit_inner
def _find_tuple(codes, row, chosen, numbers, starts, key):
    """Return the tuple of a key that a row holds, -1 for none."""
    if key.strides[0] > 0:
        position = 0
        for i in range(chosen.shape[0]):
            number = numbers[starts[i] + 1 + codes[chosen[i], row]]
            if number < 0:
                return -1
            position += number * key.strides[i]
        return key.slots[position]
    h = K0
    for i in range(chosen.shape[0]):
        number = numbers[starts[i] + 1 + codes[chosen[i], row]]
        if number < 0:
            return -1
        h = _mix(h, number)
    mask = np.uint64(key.slots.shape[0] - 1)
    slot = h & mask
    while key.slots[slot] >= 0:
        found = key.slots[slot]
        is_same = True
        for i in range(chosen.shape[0]):
            is_same &= key.parts[i, found] == numbers[starts[i] + 1 + codes[chosen[i], row]]
        if is_same:
            return found
        slot = (slot + np.uint64(1)) & mask
    return -1


@njit_lean
def find_tuples(codes, choices, numbers, key, out):
    """Find the tuple of a key that each row holds.

    Parameters
    ----------
    codes : ndarray of int32, shape (n_columns, n_rows)
        -1 for a null.
    choices : Choices
        The first one is taken.
    numbers : ndarray of int32
        For each pair of a column and a column of the key: -1 for a null, then the number of each code's value in the
        column of the key, -1 for none; one pair after the other.
    key : TupleTable
    out : ndarray of int32, shape (n_rows,)
        -1 for none.

    Notes
    -----
    O(rows), by hashing with linear probing.
    """
    for row in range(out.shape[0]):
        out[row] = _find_tuple(codes, row, choices.columns[0], numbers, choices.starts[0], key)


@njit_lean
def count_tuples(codes, choices, numbers, key, counts):
    """Count the tuples of a key that rows hold, and these rows, for some choices of columns.

    Parameters
    ----------
    codes, choices, numbers, key
        As `find_tuples` takes them.
    counts : Counts

    Notes
    -----
    O(choices × rows).
    """
    for choice in range(choices.columns.shape[0]):
        chosen, starts = choices.columns[choice], choices.starts[choice]
        if chosen.shape[0] >= 2 and key.strides[0] > 0:
            _count_by_position(codes, choice, choices, numbers, key, counts)
            continue
        matched, n_rows = 0, 0
        for row in range(codes.shape[1]):
            found = _find_tuple(codes, row, chosen, numbers, starts, key)
            if found >= 0:
                n_rows += 1
                if counts.marks[found] != choice:
                    counts.marks[found] = choice
                    matched += 1
        counts.matched[choice] = matched
        counts.rows[choice] = n_rows


@njit_inner
def _count_by_position(codes, choice, choices, numbers, key, counts):
    """Count as `count_tuples` where each combination of parts has a slot: in less than half the time of hashing."""
    chosen, starts = choices.columns[choice], choices.starts[choice]
    first, second = codes[chosen[0]], codes[chosen[1]]
    first_start, second_start = starts[0] + 1, starts[1] + 1
    matched, n_rows = 0, 0
    for row in range(codes.shape[1]):
        number, other = numbers[first_start + first[row]], numbers[second_start + second[row]]
        if number < 0 or other < 0:
            continue
        position = number * key.strides[0] + other * key.strides[1]
        for i in range(2, chosen.shape[0]):
            number = numbers[starts[i] + 1 + codes[chosen[i], row]]
            if number < 0:
                position = -1
                break
            position += number * key.strides[i]
        if position < 0:
            continue
        found = key.slots[position]
        if found >= 0:
            n_rows += 1
            if counts.marks[found] != choice:
                counts.marks[found] = choice
                matched += 1
    counts.matched[choice] = matched
    counts.rows[choice] = n_rows


@njit_lean
def mark_held(groups, parts, column, lists, held):
    """Mark the tuples of a key whose part a column of an index holds.

    Parameters
    ----------
    groups : ndarray of int64, shape (n_values,)
        Group of each value of a column of the key, -1 for none.
    parts : ndarray of int32, shape (n_keys,)
        The value of each tuple.
    column : int
        Group of the values that the column alone holds.
    lists : ndarray of int64
        Groups of the other values of the column, ascending.
    held : ndarray of uint8, shape (n_keys,)

    Notes
    -----
    O(tuples log lists).
    """
    for i in range(parts.shape[0]):
        group = groups[parts[i]]
        held[i] = group == column
        low, high = 0, lists.shape[0]
        while low < high:
            middle = (low + high) >> 1
            if lists[middle] < group:
                low = middle + 1
            else:
                high = middle
        if low < lists.shape[0] and lists[low] == group:
            held[i] = 1


@njit_lean
def count_possible(held, choices, out):
    """Count the tuples of a key each part of which is held, for some choices of columns.

    Parameters
    ----------
    held : ndarray of uint8, shape (n_columns, n_keys)
        1 for each tuple whose part a column holds.
    choices : ndarray of int32, shape (n_choices, n_parts)
        Rows of `held`.
    out : ndarray of int64, shape (n_choices,)

    Notes
    -----
    O(choices × tuples).
    """
    for choice in range(choices.shape[0]):
        n_held = 0
        for i in range(held.shape[1]):
            is_held = np.uint8(1)
            for j in range(choices.shape[1]):
                is_held &= held[choices[choice, j], i]
            n_held += is_held
        out[choice] = n_held
