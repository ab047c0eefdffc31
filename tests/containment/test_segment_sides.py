"""Columns of segments as sets over shared elements, and damage that is met on the way."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.containment.column_pairs import columns_to_join, sides_of
from dfjoin.errors import IndexCorruptedError


@pytest.fixture
def lake(build):
    lake = build({"a": pd.DataFrame({"x": list("pqrs"), "y": list("pqqq")}), "b": pd.DataFrame({"z": list("pqrt")})})
    return lake.add({"c": pd.DataFrame({"w": list("qpz")})}, engine="inline", progress=False)


def test_values_that_the_same_columns_hold_are_one_element(lake):
    segment = lake.segments[0]
    columns = columns_to_join(segment, 2)
    sides = sides_of(segment, segment, columns, columns)
    assert sides.left is sides.right
    assert sorted(sides.weights[sides.left.elements].tolist()) == [1, 1, 2, 2, 2]  # pq of x, y, z; r of x, z
    assert sides.held.tolist() == [3, 2, 3]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_segments_share_the_values_that_both_have(lake, order):
    left, right = (lake.segments[i] for i in order)
    sides = sides_of(left, right, columns_to_join(left, 1), columns_to_join(right, 1))
    assert sides.held.tolist() == ([2, 2, 2] if order == (0, 1) else [2])
    assert int(sides.weights.sum()) == 2


def test_few_values_are_left_out(lake):
    assert columns_to_join(lake.segments[0], 3).tolist() == [0, 2]


def test_damage_names_its_component(lake, monkeypatch):
    segment = lake.segments[0]
    columns = columns_to_join(segment, 2)
    tokens = segment.tokens
    for name, array in (
        ("set_lists", np.full_like(tokens.set_lists, 99)),
        ("set_indptr", tokens.set_indptr[::-1]),
        ("group_indptr", tokens.group_indptr[::-1]),
    ):
        segment._sound.clear()  # an array is compared once
        segment.__dict__["tokens"] = tokens._replace(**{name: array})
        with pytest.raises(IndexCorruptedError, match=name):
            sides_of(segment, segment, columns, columns)
    segment.__dict__["tokens"] = tokens
