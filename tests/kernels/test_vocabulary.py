from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.lists.postings import build_directory
from dfjoin.kernels.lists.vocabulary import ValueSlots, enter_values, find_numbers, find_tokens, gather_groups
from dfjoin.kernels.records import Dictionary, as_read_only
from tests.kernels.packing import pack

WORDS = st.text("abcxyz", max_size=10).map(str.encode)


def look_up(query, vocabulary, hash_of, bits=3):
    """Run the kernel; return the values of the tokens found, None for none."""
    ranked = sorted(vocabulary, key=hash_of)
    token_hash = np.array([hash_of(v) for v in ranked], np.uint64)
    value_bytes, value_offsets = pack(ranked)
    data, offsets = pack(query)
    hashes = np.array([hash_of(v) for v in query], np.uint64)
    dictionary = Dictionary(build_directory(token_hash, bits), token_hash, value_offsets, value_bytes)
    tokens = np.empty(len(query), np.int64)
    find_tokens(hashes, offsets, data, dictionary, tokens)
    return [None if t == -1 else ranked[t] for t in tokens]


def find(query, held, hash_of):
    """Run the kernels over values in memory; return the values found, None for none."""
    sides = [(pack(side), as_read_only(np.array([hash_of(v) for v in side], np.uint64))) for side in (query, held)]
    (data, offsets), hashes = sides[0]
    (held_data, held_offsets), held_hashes = sides[1]
    slots = np.zeros(64, np.uint64)
    enter_values(held_hashes, slots)
    numbers = np.empty(len(query), np.int64)
    find_numbers(hashes, offsets, data, ValueSlots(as_read_only(slots), held_offsets, held_data), numbers)
    return [None if n == -1 else held[n] for n in numbers]


@pytest.mark.parametrize(
    "hash_of",
    [lambda v: 1 << 63, lambda v: len(v) << 60, lambda v: int.from_bytes(blake2b(v).digest()[:8], "big")],
    ids=["all collide", "some collide", "none collides"],
)
@given(query=st.lists(WORDS, max_size=20), vocabulary=st.sets(WORDS, max_size=20))
def test_values_of_the_vocabulary_are_found_and_others_are_not(hash_of, query, vocabulary):
    query = [*query, *sorted(vocabulary)[:5]]
    expected = [v if v in vocabulary else None for v in query]
    assert look_up(query, vocabulary, hash_of) == expected
    assert find(query, sorted(vocabulary), hash_of) == expected


def test_nothing_is_found_in_an_empty_vocabulary():
    assert look_up([b"a", b""], [], len) == [None, None]


def test_no_query_values_give_no_tokens():
    assert look_up([], [b"a"], len) == []


@pytest.mark.parametrize("bits", [1, 5, 9])
def test_more_values_than_one_block_are_found(bits):
    vocabulary = [f"value {i}".encode() for i in range(0, 300, 2)]
    query = [f"value {i}".encode() for i in range(300)]
    found = look_up(query, vocabulary, lambda v: (int(v[6:]) * 0x9E3779B97F4A7C15) % 2**64, bits)
    assert found == [v if i % 2 == 0 else None for i, v in enumerate(query)]


def test_a_value_differs_from_its_prefix_of_the_same_hash():
    assert look_up([b"abcdefgh", b"abcdefghi", b"abcdefg"], [b"abcdefgh"], lambda v: 3) == [
        b"abcdefgh",
        None,
        None,
    ]


@pytest.mark.parametrize("bad", [[0, 500], [0, 2], [-4, 1], [5, 2]])
def test_bounds_outside_the_vocabulary_are_reported(bad):
    data, offsets = pack([b"a"])
    token_hash = np.array([7], np.uint64)
    value_offsets = np.array(bad, np.int64)
    value_offsets.flags.writeable = False
    dictionary = Dictionary(build_directory(token_hash, 3), token_hash, value_offsets, data)
    with pytest.raises(DamagedArraysError):
        find_tokens(token_hash, offsets, data, dictionary, np.empty(1, np.int64))


@given(st.lists(st.integers(-1, 4), max_size=40))
def test_tokens_are_replaced_by_their_groups_and_absent_ones_stay(tokens):
    group = [4, 0, 8, 1, 0]
    found = np.array(tokens, np.int64)
    gather_groups(found, np.array(group, np.uint32), 9)
    assert found.tolist() == [-1 if t < 0 else group[t] for t in tokens]


@pytest.mark.parametrize("tokens", [[2], [0, -1, 2, 1], [-1] * 20 + [2]])
def test_a_group_outside_the_segment_is_reported(tokens):
    with pytest.raises(DamagedArraysError):
        gather_groups(np.array(tokens, np.int64), np.array([1, 3, 4], np.uint32), 4)
