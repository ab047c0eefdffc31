"""Distinct integers, their digits and those that two sides share, against dicts and Python's texts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.hashing import hash_values
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.integers import (
    HeldIntegers,
    find_integers,
    meet_ascending,
    number_integers,
    write_integers,
)
from tests.kernels.packing import SEED

SMALL = st.lists(st.one_of(st.none(), st.integers(-140, 140)), max_size=80)  # a slot for each, or not quite
NUMBERS = SMALL | st.lists(st.one_of(st.none(), st.integers(-5, 5), st.integers(-(2**63), 2**63 - 1)), max_size=80)


def held_of(numbers):
    """Run the kernel over a column; return the code of each row, and the integers that it holds."""
    array = np.array([0 if number is None else number for number in numbers], np.int64)
    is_null = np.array([number is None for number in numbers], bool)
    present = [number for number in numbers if number is not None]
    bounds = min(present, default=2**63 - 1), max(present, default=-(2**63))
    held = HeldIntegers(np.zeros(256, np.int32), np.empty(array.size, np.int64), *bounds)
    codes = np.empty(array.size, np.int32)
    is_null = is_null if is_null.any() else np.empty(0, bool)
    size = number_integers(as_read_only(array), as_read_only(is_null), held, codes)
    return codes, HeldIntegers(as_read_only(held.slots), as_read_only(held.numbers[:size].copy()), *bounds)


@given(NUMBERS)
def test_integers_are_numbered_in_the_order_of_their_first_row(numbers):
    codes, held = held_of(numbers)
    known = list(dict.fromkeys(number for number in numbers if number is not None))
    assert held.numbers.tolist() == known
    assert codes.tolist() == [-1 if number is None else known.index(number) for number in numbers]


@given(NUMBERS, NUMBERS)
def test_integers_are_found_among_others(own, theirs):
    _, held = held_of(own)
    _, wanted = held_of(theirs)
    codes = np.empty(wanted.numbers.size, np.int64)
    find_integers(wanted.numbers, held, codes)
    known = {number: code for code, number in enumerate(held.numbers.tolist())}
    assert codes.tolist() == [known.get(number, -1) for number in wanted.numbers.tolist()]


@given(NUMBERS, NUMBERS)
def test_ascending_integers_are_met_as_they_are_found(own, theirs):
    own, theirs = (
        as_read_only(np.array(sorted({number for number in numbers if number is not None}), np.int64))
        for numbers in (own, theirs)
    )
    codes = np.full(theirs.size, -1)
    meet_ascending(theirs, own, codes)
    known = {number: code for code, number in enumerate(own.tolist())}
    assert codes.tolist() == [known.get(number, -1) for number in theirs.tolist()]


@given(st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, -1, 9, 10, -10, 99, -(2**63)]))))
def test_integers_are_written_as_python_writes_them(numbers):
    texts = [str(number).encode() for number in numbers]
    data, offsets = np.empty(20 * len(numbers) + 8, np.uint8), np.zeros(len(numbers) + 1, np.int64)
    hashes = np.empty(len(numbers), np.uint64)
    write_integers(as_read_only(np.array(numbers, np.int64)), SEED, data, offsets, hashes)
    assert [data[a:b].tobytes() for a, b in zip(offsets[:-1], offsets[1:], strict=True)] == texts
    assert hashes.tolist() == hash_values(data, offsets, SEED).tolist()
