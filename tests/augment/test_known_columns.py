"""Columns that say the same as one that is there, against comparisons of all pairs of rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.augment.encoding import encode_column
from dfjoin.augment.known_columns import KnownColumns, separate_the_same

N = 200
CODES = st.lists(st.integers(-1, 2), min_size=1, max_size=12)


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2)), min_size=1, max_size=12))
def test_two_columns_tell_the_same_apart_if_all_pairs_of_rows_do(pairs):
    a, b = (np.array(side) for side in zip(*pairs, strict=True))
    both = [(x, y) for x, y in pairs if x >= 0 and y >= 0]
    is_covered = len(both) >= max(5, 0.98 * sum(y >= 0 for _, y in pairs))
    want = is_covered and all((p[0] == q[0]) == (p[1] == q[1]) for p in both for q in both)
    assert separate_the_same(a, b) == want


def reason(known, column):
    columns = KnownColumns()
    for one in known:
        columns.add(encode_column(pd.Series(one)), "the frame")
    return columns.reason(encode_column(pd.Series(column)))


def test_texts_by_whatever_name(rng):
    own = rng.choice(["a", "b", "c"], N)
    other = pd.Series(own).map({"a": "one", "b": "two", "c": "three"})
    gaps = other.where(np.arange(N) % 9 > 0)
    for column in (other, gaps):
        assert reason([own], column) == "the same as a column of the frame"
    assert reason([pd.Series(own).where(np.arange(N) % 9 > 0)], other) == "", "it has values where the frame has none"
    assert reason([own], other.replace("three", "two")) == "", "it tells less apart"
    assert reason([pd.Series(own).replace("c", "b")], other) == ""
    assert reason([[f"x{i}" for i in range(N)]], [f"y{i}" for i in range(N)]) == "", "all different: that says nothing"


def test_numbers_in_whatever_unit(rng):
    own = rng.normal(100, 5, N)
    for column in (own * 2.54 + 1, -own, np.where(np.arange(N) % 9 > 0, own, np.nan)):
        assert reason([rng.normal(size=N), own], column) == "nearly the same as a column of the frame"
    assert reason([np.where(np.arange(N) % 9 > 0, own, np.nan)], own) == ""
    assert reason([own], own + rng.normal(0, 0.5, N)) == ""
    assert reason([np.ones(N)], np.ones(N)) == "" and reason([], own) == ""
    assert reason([own], np.where(np.arange(N) < 4, own, np.nan)) == "", "four rows"


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_correlations_are_those_of_the_common_rows(rng, scale):
    """Many columns at once give what one pair after the other gives."""
    own = rng.normal(size=(6, N))
    own[rng.random((6, N)) < 0.01] = np.nan
    column = own[3] + rng.normal(0, 0.012, N)
    column[rng.random(N) < 0.3] = np.nan
    near = []
    for one in own:
        both = ~np.isnan(one) & ~np.isnan(column)
        is_covered = both.sum() >= 0.98 * (~np.isnan(column)).sum()
        near.append(is_covered and abs(np.corrcoef(one[both], column[both])[0, 1]) > 0.9999)
    assert bool(reason(list(own * scale), column)) == any(near)


def test_a_copy_grows_apart():
    one = KnownColumns()
    one.add(encode_column(pd.Series(np.arange(9.0))), "the frame")
    other = one.copy()
    other.add(encode_column(pd.Series(np.arange(9.0) ** 2)), "the table")
    squares = encode_column(pd.Series(3 * np.arange(9.0) ** 2))
    assert one.reason(squares) == "" and other.reason(squares) == "nearly the same as a column of the table"
