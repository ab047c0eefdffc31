"""Joining tables of a lake: which candidates are taken, and what is read for that."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError

LAND = ["peru", "chad", "mali"]


def test_rules_for_columns_of_one_of_several_tables(build):
    lake = build(
        {
            "t": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "area": [1.5, 2.5, 3.5]}),
            "u": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "pop": [11, 12, 17]}),
        }
    )
    wide = dfjoin.auto_join(pd.DataFrame({"c": LAND}), lake, on="c", k=2, aggregate={"area": "max"})
    assert {"area", "pop"} <= set(wide)


def test_every_column_means_the_same_with_a_star_and_without_on(build):
    lake = build(
        {
            "lands": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "area": [1.5, 2.5, 3.5]}),
            "misc": pd.DataFrame({"word": ["x", "y", "w"], "note": ["n1", "n2", "n3"]}),
        }
    )
    df = pd.DataFrame({"first": ["x", "y", "z"], "land": LAND})
    without = dfjoin.auto_join(df, lake)
    star = dfjoin.auto_join(df, lake, on="*")
    assert without.attrs["dfjoin"]["joined"][0]["on"] == ["land"]
    assert star.attrs["dfjoin"]["joined"] == without.attrs["dfjoin"]["joined"]


def test_a_picked_table_of_a_key_alone_is_counted(build):
    lake = build({"t": pd.DataFrame({"country": ["Peru", "Peru", "Mali"]})})
    df = pd.DataFrame({"c": LAND})
    wide = dfjoin.auto_join(df, dfjoin.discover_joinable(df, "c", lake))
    assert wide["t_rows"].tolist() == [2, 0, 1]


def test_the_next_candidate_of_a_key_is_as_good_as_that_of_another_key(build):
    df = pd.DataFrame({"a": list("pqrs"), "b": list("wxyz")})
    lake = build(
        {
            "copy": df,
            "first": pd.DataFrame({"k": list("pqrst"), "v": [1, 2, 3, 4, 5]}),
            "second": pd.DataFrame({"k": list("wxyzv"), "v": [1, 2, 3, 4, 5]}),
        }
    )
    with pytest.raises(InvalidParameterError, match="the columns 'a', 'b' join equally well"):
        dfjoin.auto_join(df, lake)
