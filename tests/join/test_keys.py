"""Rows of two sides that have the same key against the nested loop."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.values.key_index import expand_pairs


@given(
    st.lists(st.integers(-1, 4), max_size=15),
    st.lists(st.integers(-1, 4), max_size=15),
)
def test_expand_pairs_is_the_nested_loop(left, right):
    rows = expand_pairs(np.array(left, np.int64), np.array(right, np.int64), 5)
    expected = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a == b >= 0]
    assert list(zip(rows[0].tolist(), rows[1].tolist(), strict=True)) == expected
