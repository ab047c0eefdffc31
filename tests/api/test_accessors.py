"""The methods of pandas DataFrames give what the functions give, on frames of every kind."""

import pandas as pd
import pytest

import dfjoin


@pytest.fixture
def lake(build):
    return build({"t": pd.DataFrame({"country": ["Peru", "Chad"], "area": [1.5, 2.5]})})


DF = pd.DataFrame({"land": ["peru", "chad", None]})
FRAMES = {
    "plain": DF,
    "slice": DF.iloc[::-1],
    "column called dfjoin": DF.assign(dfjoin=1),
    "method names as columns": DF.assign(auto_join=1, discover_joinable=2),
    "column called _frame": DF.assign(_frame=3),
    "subclass": type("Mine", (pd.DataFrame,), {})(DF),
}


@pytest.mark.parametrize("df", FRAMES.values(), ids=FRAMES)
def test_both_accessors_are_the_functions(lake, df):
    expected = dfjoin.auto_join(df, lake, on="land")
    assert expected.attrs["dfjoin"]["joined"][0]["matched"] == 2
    hits = dfjoin.discover_joinable(df, "land", lake, rank="matched")
    pd.testing.assert_frame_equal(pd.DataFrame.auto_join(df, lake, on="land"), expected)
    pd.testing.assert_frame_equal(pd.DataFrame.discover_joinable(df, "land", lake, rank="matched"), hits)
    pd.testing.assert_frame_equal(df.dfjoin.auto_join(lake, on="land"), expected)
    pd.testing.assert_frame_equal(df.dfjoin.discover_joinable("land", lake, rank="matched"), hits)


def test_positional_and_keyword_calls_agree(lake):
    df = pd.DataFrame({"land": ["peru", "chad"]})
    pd.testing.assert_frame_equal(df.discover_joinable("land", lake), df.discover_joinable(lake=lake, on="land"))
    pd.testing.assert_frame_equal(df.auto_join(other=lake), df.auto_join(lake))
    with pytest.raises(TypeError):
        df.auto_join(lake, "land")


def test_errors_come_through(lake):
    with pytest.raises(dfjoin.errors.ColumnNotFoundError, match="`on` must name a column"):
        pd.DataFrame({"a": [1]}).dfjoin.auto_join(lake, on="b")


def test_a_result_can_be_joined_and_searched_again(lake):
    df = pd.DataFrame({"land": ["peru", "chad"]})
    hits = df.discover_joinable("land", lake, rank="matched")
    wide = df.auto_join(hits.iloc[[0]])
    assert "area" in wide
    assert "dfjoin" in wide.attrs
    assert len(wide.dfjoin.discover_joinable("land", lake, rank="matched")) == len(hits)
