"""Rows of two sides that have the same key against the nested loop."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.join.keys import take_values
from dfjoin.types import IndexSettings
from dfjoin.values.key_index import expand_pairs
from dfjoin.values.normalize import normalize_column


@given(
    st.lists(st.integers(-1, 4), max_size=15),
    st.lists(st.integers(-1, 4), max_size=15),
)
def test_expand_pairs_is_the_nested_loop(left, right):
    rows = expand_pairs(np.array(left, np.int64), np.array(right, np.int64), 5)
    expected = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a == b >= 0]
    assert list(zip(rows[0].tolist(), rows[1].tolist(), strict=True)) == expected


@pytest.mark.parametrize("rows", [[0, 1, 2], [2], [3, 0, 3], [], [3, 2, 1, 0]], ids=str)
def test_values_of_some_rows_are_those_of_the_rows_alone(rows):
    cells = ["a", "b", None, "c"]
    taken = take_values(normalize_column(pa.array(cells), IndexSettings()), np.array(rows, np.int64))
    texts = taken.values()
    assert [texts[code] if code >= 0 else None for code in taken.codes] == [cells[row] for row in rows]
    assert sorted(texts) == sorted({cells[row] for row in rows} - {None}), "and no other value is left"
