"""Packing of small numbers against Python's integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.bit_packing import n_words, pack_numbers, unpack_numbers


def naive_words(numbers, bits):
    """Write the numbers as one large integer, the first one lowest."""
    whole = sum(number << (place * bits) for place, number in enumerate(numbers))
    return [(whole >> (64 * word)) & ((1 << 64) - 1) for word in range(n_words(len(numbers), bits))]


@given(st.integers(1, 31), st.data())
def test_words_are_those_of_one_large_integer_and_are_read_back(bits, data):
    numbers = data.draw(st.lists(st.integers(0, (1 << bits) - 1), max_size=200))
    cut = data.draw(st.integers(0, len(numbers)))
    words = np.zeros(n_words(len(numbers), bits), np.uint64)
    pack_numbers(np.array(numbers[:cut], np.int32), 0, bits, words)
    pack_numbers(np.array(numbers[cut:], np.int32), cut, bits, words)
    assert words.tolist() == naive_words(numbers, bits)
    out = np.empty(len(numbers), np.int32)
    words.setflags(write=False)
    unpack_numbers(words, bits, out)
    assert out.tolist() == numbers


@pytest.mark.parametrize(("n", "bits", "expected"), [(0, 5, 0), (1, 1, 1), (64, 1, 1), (65, 1, 2), (3, 31, 2)])
def test_so_many_words_hold_numbers(n, bits, expected):
    assert n_words(n, bits) == expected
