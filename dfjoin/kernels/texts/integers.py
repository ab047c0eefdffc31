"""Distinct integers of a column, the canonical text of each, which is its digits, and integers that two sides share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.hashing import K0, K1, hash_bytes
from dfjoin.kernels.numba._compile import mum, njit_inner, njit_lean, prefetch

_BLOCK = 32
_MIXED = np.uint64(K0 ^ K1)


class HeldIntegers(NamedTuple):
    """The distinct integers of a column in the order of their first row, with a table over them.

    Attributes
    ----------
    slots : ndarray of int32, shape (power of two above n,)
        The number of an integer + 1, 0 where there is none.
    numbers : ndarray of int64
    low, high : int
        Bounds of the integers. Where they lie so close that each has a slot of its own, that is its slot; else
        its hash says where it is looked for.
    """

    slots: NDArray[np.int32]
    numbers: NDArray[np.int64]
    low: int
    high: int


@njit_inner
def _is_dense(held):
    """Tell whether each integer between the bounds has a slot of its own."""
    width = np.uint64(np.int64(held.high)) - np.uint64(np.int64(held.low))  # which any two of 64 bits have
    return width < np.uint64(held.slots.shape[0])


@njit_inner
def _slot_of(number, mask):
    """Return the first slot of a number."""
    return np.int64(mum(np.uint64(number) ^ K0, _MIXED)) & mask


@njit_lean
def number_integers(numbers, is_null, held, codes):
    """Number the distinct integers of a column in the order of their first row.

    Parameters
    ----------
    numbers : ndarray of int64, shape (n,)
    is_null : ndarray of bool, shape (n,) or (0,)
        Rows without a number, empty where there are none.
    held : HeldIntegers
        Slots filled with 0, room for n integers, and the bounds: receives them.
    codes : ndarray of int32, shape (n,)
        Receives the number of each row's integer, -1 for a null.

    Returns
    -------
    int
        How many there are.

    Notes
    -----
    Open addressing; the slots of a block of rows are asked for ahead, so that their misses overlap. O(n) expected.
    """
    slots, distinct = held.slots, held.numbers
    n = numbers.shape[0]
    mask = np.int64(slots.shape[0] - 1)
    has_nulls = is_null.shape[0] > 0
    size = np.int64(0)
    if _is_dense(held):
        for row in range(n):
            if has_nulls and is_null[row]:
                codes[row] = -1
                continue
            slot = numbers[row] - held.low
            if slots[slot] == 0:
                distinct[size] = numbers[row]
                size += 1
                slots[slot] = size
            codes[row] = slots[slot] - 1
        return size
    for first in range(0, n, _BLOCK):
        last = min(n, first + _BLOCK)
        for row in range(first, last):
            prefetch(slots, _slot_of(numbers[row], mask))
        for row in range(first, last):
            if has_nulls and is_null[row]:
                codes[row] = -1
                continue
            number = numbers[row]
            slot = _slot_of(number, mask)
            while slots[slot] != 0 and distinct[slots[slot] - 1] != number:
                slot = (slot + 1) & mask
            if slots[slot] == 0:
                distinct[size] = number
                size += 1
                slots[slot] = size
            codes[row] = slots[slot] - 1
    return size


@njit_lean
def write_integers(numbers, seed, data, offsets, hashes):
    """Write integers as their digits one after the other, and hash them.

    Parameters
    ----------
    numbers : ndarray of int64, shape (n,)
    seed : uint64
    data : ndarray of uint8
        Receives the digits; 8 bytes more than they need.
    offsets : ndarray of int64, shape (n + 1,)
        Receives where each lies; ``offsets[0]`` is given.
    hashes : ndarray of uint64, shape (n,)

    Notes
    -----
    O(digits).
    """
    for i in range(numbers.shape[0]):
        begin = offsets[i]
        number = numbers[i]
        rest = np.uint64(number)
        if number < 0:
            data[begin] = 45
            rest = np.uint64(-(number + 1)) + np.uint64(1)  # -number itself may not fit
        length = np.int64(1)
        bound = np.uint64(10)
        while rest >= bound and length < 19:
            bound *= np.uint64(10)
            length += 1
        end = begin + length + (number < 0)
        for j in range(1, length + 1):
            quotient = rest // np.uint64(10)
            data[end - j] = np.uint8(np.uint64(48) + rest - quotient * np.uint64(10))
            rest = quotient
        offsets[i + 1] = end
        hashes[i] = hash_bytes(data, begin, end - begin, seed)


@njit_lean
def find_integers(integers, held, codes):
    """Find the number that each integer has among others.

    Parameters
    ----------
    integers : ndarray of int64, shape (n,)
    held : HeldIntegers
    codes : ndarray of int64, shape (n,)
        Receives the number of each integer, -1 for none.

    Notes
    -----
    Two dependent memory accesses each, asked for a block ahead. O(n) expected.
    """
    slots = held.slots
    n = integers.shape[0]
    mask = np.int64(slots.shape[0] - 1)
    if _is_dense(held):
        for i in range(n):
            is_within = held.low <= integers[i] <= held.high
            codes[i] = np.int64(slots[integers[i] - held.low]) - 1 if is_within else -1
        return
    for first in range(0, n, _BLOCK):
        last = min(n, first + _BLOCK)
        for i in range(first, last):
            prefetch(slots, _slot_of(integers[i], mask))
        for i in range(first, last):
            codes[i] = _slot_of(integers[i], mask)
            prefetch(held.numbers, np.int64(slots[codes[i]]) - 1)
        for i in range(first, last):
            slot = codes[i]
            while slots[slot] != 0 and held.numbers[slots[slot] - 1] != integers[i]:
                slot = (slot + 1) & mask
            codes[i] = slots[slot] - 1


@njit_lean
def meet_ascending(integers, others, codes):
    """Find the number that each of some ascending integers has among others that ascend, too.

    Parameters
    ----------
    integers : ndarray of int64, shape (n,)
        Ascending, all different.
    others : ndarray of int64, shape (m,)
        Likewise.
    codes : ndarray of int64, shape (n,)
        Filled with -1, for none; receives the number of each integer.

    Notes
    -----
    What `find_integers` does, without a table: both are read once, side by side. O(n + m), no branch to be guessed.
    """
    n, m = integers.shape[0], others.shape[0]
    i, j = np.int64(0), np.int64(0)
    while i < n and j < m:
        own, other = integers[i], others[j]
        codes[i] = j if own == other else -1  # written again until the next integer's turn comes
        i += own <= other
        j += other <= own
