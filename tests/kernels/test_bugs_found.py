from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.numbers import parse_integers
from tests.kernels.packing import pack


# `parse_integers` is `njit_lean` (no run-time memory) and allocates: it cannot be compiled, only interpreted.
@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1, max_size=12))
def test_packed_integers_are_parsed_to_their_numbers(numbers):
    data, offsets = pack([str(n).encode() for n in numbers])
    assert parse_integers(data, offsets).tolist() == numbers
