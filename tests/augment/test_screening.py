"""Cheap reasons against columns."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.augment.encoding import encode_column
from dfjoin.augment.known_columns import KnownColumns
from dfjoin.augment.screening import screen_table, screening_reason
from dfjoin.join.lakes.path_search import PathOptions
from dfjoin.join.lakes.table_paths import path_tables

N = 200


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([None] * N, "no value in these rows"),
        ([1.5] * 3 + [2.5] + [None] * (N - 4), "too few values: in 4 of 200 rows"),
        ([1.5, 2.5] * 10 + [None] * 1180, "too few values: in 20 of 1,200 rows"),
        ([1.5, 2.5] * 12 + [None] * 1176, ""),
        (["a"] * 190 + [None] * 10, "one value in these rows"),
        (range(1000, 1000 + N), "an id: a value of its own in nearly every row"),
        ([f"name {i}" for i in range(N)], "an id: a value of its own in nearly every row"),
        (np.random.default_rng(0).permutation(10**6)[:N], ""),
        (np.linspace(0, 1, N), ""),
        (["a", "b"] * 100, ""),
        ([1, 2, 3, 4] * 50, ""),
    ],
)
def test_reasons(values, reason):
    assert screening_reason(encode_column(pd.Series(list(values)))) == reason


def test_an_id_has_a_value_for_each_key():
    names = encode_column(pd.Series([f"name {i}" for i in range(50)] * 4))
    assert screening_reason(names) == ""
    assert screening_reason(names, 50) == "an id: a value of its own in nearly every row"
    assert screening_reason(encode_column(pd.Series([i / 7 for i in range(50)] * 4)), 50) == ""


def test_what_the_frame_has_is_not_brought_again(build):
    rng = np.random.default_rng(0)
    key = [f"k{i}x" for i in range(N)]
    kind, size = rng.choice(["a", "b", "c"], N), rng.normal(size=N)
    frame = pd.DataFrame({"key": key, "kind": kind, "size": size})
    table = pd.DataFrame(
        {
            "key": key,
            "sort": pd.Series(kind).map({"a": "one", "b": "two", "c": "three"}),
            "inches": size * 2.54 + 1,
            "new": rng.normal(size=N),
        }
    )
    table["new_again"] = -table["new"]
    lake = build({"t": table})
    (joined,) = path_tables(frame, lake.snapshot, PathOptions(max_hops=1))
    own = [encode_column(frame[name]) for name in frame]
    known = KnownColumns()
    for column in own:
        known.add(column, "the frame")
    screened = screen_table(joined, known, {}, N)
    assert [feature.column for feature in screened.features] == ["new"]
    assert screened.left_out == {
        "sort": "the same as a column of the frame",
        "inches": "nearly the same as a column of the frame",
        "new_again": "nearly the same as a column of the table",
    }
    assert screen_table(joined, known, {"new": "refused"}, N).features[0].column == "new_again"
    assert isinstance(lake, dfjoin.Lake)
