"""Operations on 16 numbers side by side, against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.kernels.lanes import (
    LANES,
    WORDS,
    add_pairs,
    add_product,
    lanes_from,
    lanes_of,
    lanes_up_to,
    no_lanes,
    sum_of_lanes,
    words_near,
)
from dfjoin.kernels.numba._compile import njit_lean
from dfjoin.kernels.records import as_read_only


@njit_lean
def low(array, place, most):
    """Bits of the lanes that are low enough."""
    return lanes_up_to(lanes_of(array, np.uint64(place)), most)


@njit_lean
def product(one, other, n):
    sums = no_lanes()
    for start in range(0, n, LANES):
        sums = add_product(sums, lanes_of(one, np.uint64(start)), lanes_of(other, np.uint64(start)))
    return sum_of_lanes(sums)


@njit_lean
def near(words, place, own, number, most):
    return words_near(words, np.uint64(place), own, np.uint64(number), np.uint64(most))


@njit_lean
def pair_products(words, place, pairs, least):
    """Bits of the columns whose products with pairs, on top of the first row, are high enough."""
    sums = lanes_of(words, np.uint64(place))
    for k in range(pairs.size):
        place += words.shape[1]
        sums = add_pairs(sums, lanes_of(words, np.uint64(place)), pairs[k])
    return lanes_from(sums, least)


@given(st.integers(0, 10**6), st.sampled_from([3, 2**12, 2**14]))
@settings(max_examples=30, deadline=None)
def test_bits_tell_the_columns_with_a_high_product_of_halves(seed, most):
    rng = np.random.default_rng(seed)
    halves = rng.integers(-most, most + 1, (3, 20, 2)).astype(np.int16)
    halves[:, 2], own = most, rng.integers(-most, most + 1, (3, 2)).astype(np.int16)
    own[:2] = rng.choice([-most, most])
    first = rng.integers(-(2**28), 1, (1, 20)).astype(np.int32)
    words, place = np.concatenate([first, halves.view(np.int32)[:, :, 0]]), int(rng.integers(0, 5))
    sums = first[0].astype(int) + np.einsum("kjh,kh->j", halves.astype(int), own.astype(int))
    least = int(rng.choice(sums)) + int(rng.integers(-1, 2))
    found = int(
        pair_products(as_read_only(words), place, as_read_only(own.view(np.int32)[:, 0].copy()), np.int32(least))
    )
    assert found == sum(1 << i for i in np.flatnonzero(sums[place : place + LANES] >= least).tolist())


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_bits_tell_the_words_that_differ_by_few_bits(seed):
    rng = np.random.default_rng(seed)
    one = rng.integers(0, 1 << 63, (4, 5)).astype(np.uint64) << np.uint64(1)
    flipped = np.uint64(1) << rng.integers(0, 64, (4, 20)).astype(np.uint64)
    words = one[:, [3]] ^ np.where(rng.random((4, 20)) < 0.5, flipped, np.uint64(0))
    place, most = int(rng.integers(0, 13)), int(rng.integers(0, 5))
    gaps = words[:, place : place + WORDS] ^ one[:, [3]]
    bits = [sum(bin(int(word)).count("1") for word in column) for column in gaps.T]
    found = int(near(as_read_only(words), place, as_read_only(one), 3, most))
    assert found == sum(1 << i for i, n in enumerate(bits) if n <= most)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_bits_tell_the_lanes_the_lanes_that_are_low(seed):
    rng = np.random.default_rng(seed)
    array, place = rng.integers(-9, 10, 40).astype(np.float32), int(rng.integers(0, 24))
    most = np.float32(rng.integers(-10, 11))
    is_low = array[place : place + LANES] <= most
    assert int(low(as_read_only(array), place, most)) == sum(1 << i for i in np.flatnonzero(is_low).tolist())


@pytest.mark.parametrize("bound", [np.inf, -np.inf])
def test_infinite_bounds_take_all_lanes_or_none(bound):
    lanes = as_read_only(np.full(LANES, 3, np.float32))
    assert int(low(lanes, 0, np.float32(bound))) == (2**LANES - 1 if bound > 0 else 0)


def test_not_a_number_is_not_low():
    lanes = np.zeros(LANES, np.float32)
    lanes[5] = np.nan
    assert int(low(as_read_only(lanes), 0, np.float32(1))) == 2**LANES - 1 - (1 << 5)


def test_rows_of_a_table_are_read_one_after_another():
    table = np.arange(60, dtype=np.float32).reshape(3, 20)
    assert int(low(as_read_only(table), 20, np.float32(21))) == 0b11


@given(st.integers(0, 10**6), st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_products_are_summed_over_all_lanes(seed, n):
    one, other = np.random.default_rng(seed).normal(size=(2, n * LANES)).astype(np.float32)
    exact = float(one.astype(float) @ other.astype(float))
    scale = float(np.abs(one).astype(float) @ np.abs(other))
    assert abs(product(as_read_only(one), as_read_only(other), n * LANES) - exact) <= (n + 5) * 2.0**-24 * scale
