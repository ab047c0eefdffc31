"""Joining tables of a lake: which candidates are taken, and what is read for that."""

import pandas as pd

import dfjoin

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
