import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.hashing import equal_bytes, hash_bytes, hash_values
from tests.kernels.packing import SEED, pack
from tests.oracles.values import MASK, naive_hash


@given(st.lists(st.binary(max_size=30), max_size=12), st.integers(0, MASK))
def test_hashes_follow_their_definition(values, seed):
    data, offsets = pack(values)
    assert hash_values(data, offsets, np.uint64(seed)).tolist() == [naive_hash(v, seed) for v in values]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"", 2465427018363808497),
        (b"paris", 5226931396726748774),
        (b"a value of more than eight bytes", 9110081110041021726),
    ],
)
def test_hashes_never_change_between_versions(value, expected):
    data, offsets = pack([value])
    assert int(hash_values(data, offsets, SEED)[0]) == expected


def test_different_values_have_different_hashes():
    values = [str(i).encode() for i in range(400)] + [
        b"",
        b"\0",
        b"\0\0",
        b"a\0",
        b"a",
        b"aaaaaaaa",
        b"aaaaaaaa\0",
    ]
    data, offsets = pack(values)
    assert len(set(hash_values(data, offsets, SEED).tolist())) == len(values)


def test_hash_depends_on_the_seed_and_not_on_the_place_or_what_follows():
    data, offsets = pack([b"xxparis", b"paris", b"parisyy"])
    hashes = {
        int(hash_bytes(data, start, 5, SEED)) for start in (int(offsets[0]) + 2, int(offsets[1]), int(offsets[2]))
    }
    assert hashes == {naive_hash(b"paris", int(SEED))}
    assert int(hash_bytes(data, int(offsets[1]), 5, np.uint64(1))) not in hashes


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_equal_bytes_is_equality(a, b):
    n = min(len(a), len(b))
    left, _ = pack([b"zz", a])
    right, _ = pack([b])
    assert equal_bytes(left, 2, right, 0, n) == (a[:n] == b[:n])


@pytest.mark.parametrize("place", range(19))
def test_equal_bytes_sees_one_different_byte_anywhere(place):
    value = bytearray(range(65, 84))
    other = bytearray(value)
    other[place] ^= 1
    left, _ = pack([bytes(value)])
    right, _ = pack([bytes(other)])
    assert not equal_bytes(left, 0, right, 0, 19)
    assert equal_bytes(left, 0, left, 0, 19)
