import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.lists.postings import Entries, build_directory, copy_values, directory_bits, merge_entries
from dfjoin.kernels.sorting import argsort_u64
from tests.kernels.packing import csr, pack, uncsr
from tests.oracles.kernels import naive_merge

WORDS = [b"", b"a", b"b", b"ab", b"abcdefgh", b"abcdefgi", b"abcdefghi"]
ENTRIES = st.lists(st.tuples(st.sampled_from(WORDS), st.lists(st.integers(0, 5), max_size=4)), max_size=14)


def merge(entries, hash_of, column_map):
    """Run the kernel; return {value: columns} and the hashes of the tokens, in order."""
    values = [value for value, _ in entries]
    data, offsets = pack(values)
    hashes = np.array([hash_of(v) for v in values], np.uint64)
    indptr, columns = csr([c for _, c in entries])
    lengths = np.diff(offsets).astype(np.int32)
    entries = Entries(hashes, indptr, columns, offsets[:-1], lengths, data)
    first, token_indptr, ids = merge_entries(argsort_u64(hashes), entries, np.array(column_map, np.int32))
    lists = uncsr(token_indptr, ids)
    assert len(lists) == len(first)
    tokens = [values[i] for i in first]
    assert len(set(tokens)) == len(tokens)
    return dict(zip(tokens, lists, strict=True)), [int(hashes[i]) for i in first]


@pytest.mark.parametrize(
    "hash_of",
    [lambda v: 99, lambda v: len(v), lambda v: int.from_bytes(v[:8].ljust(8, b"x"), "big")],
    ids=["all collide", "some collide", "few collide"],
)
@given(entries=ENTRIES, column_map=st.permutations([0, 1, 2, 3, -1, -1]))
def test_entries_merge_into_one_sorted_list_per_value(hash_of, entries, column_map):
    tokens, hashes = merge(entries, hash_of, column_map)
    assert tokens == naive_merge(entries, column_map)
    assert hashes == sorted(hashes)


def test_values_of_equal_hash_become_neighbouring_tokens_of_their_own():
    entries = [(b"a", [0]), (b"b", [1]), (b"a", [2]), (b"c", [0]), (b"b", [0, 1])]
    tokens, hashes = merge(entries, lambda v: 5, range(3))
    assert tokens == {b"a": [0, 2], b"b": [0, 1], b"c": [0]}
    assert hashes == [5, 5, 5]


def test_no_entries_give_no_tokens():
    assert merge([], len, [0]) == ({}, [])


@given(st.lists(st.sampled_from(WORDS), max_size=8), st.data())
def test_chosen_values_are_copied_whatever_merge_did_to_their_lengths(values, data):
    chosen = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=10)) if values else []
    bytes_, offsets = pack(values)
    lengths = np.diff(offsets).astype(np.int32)
    lengths[::2] = -1 - lengths[::2]
    expected = [values[i] for i in chosen]
    out = np.zeros(3 + sum(map(len, expected)), np.uint8)
    ends = np.zeros(len(chosen) + 1, np.int64)
    ends[0] = 3
    copy_values(np.array(chosen, np.uint32), offsets[:-1], lengths, bytes_, out, ends)
    assert out.tobytes() == b"\0\0\0" + b"".join(expected)
    assert np.diff(ends).tolist() == [len(v) for v in expected]


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3), max_size=40), st.integers(1, 6))
def test_directory_holds_where_each_prefix_starts(hashes, bits):
    hashes.sort()
    directory = build_directory(np.array(hashes, np.uint64), bits)
    assert directory.dtype == np.uint32
    prefixes = [h >> (64 - bits) for h in hashes]
    assert directory.tolist() == [sum(p < prefix for p in prefixes) for prefix in range((1 << bits) + 1)]


@pytest.mark.parametrize(
    ("n_tokens", "bits"), [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (1000, 9), (1024, 10), (2**40, 32)]
)
def test_a_prefix_has_one_or_two_tokens(n_tokens, bits):
    assert directory_bits(n_tokens) == bits
