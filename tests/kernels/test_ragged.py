import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.ragged import expand_stretches

STRETCHES = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 5)))


@given(STRETCHES)
def test_positions_of_all_stretches_in_order(stretches):
    starts = np.array([start for start, _ in stretches], np.int64)
    lengths = np.array([length for _, length in stretches], np.int32)
    expected = [start + i for start, length in stretches for i in range(length)]
    found = expand_stretches(starts, lengths)
    assert found.dtype == np.int64
    assert found.tolist() == expected
