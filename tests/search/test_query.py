"""Columns of a frame as queries: types without an Arrow type, dates, labels."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.search.query import make_query
from dfjoin.types import IndexSettings
from tests.search.searching import find


def test_all_digit_dates_follow_dayfirst(build):
    lake = build({"t": pd.DataFrame({"day": ["2024-02-01", "2024-03-01"]})})
    query = ["01/02/2024", "01/03/2024"]
    assert find(query, lake, dayfirst=True)["matched"].tolist() == [2]
    assert len(find(query, lake, dayfirst=False)) == 0
    assert len(find(query, lake)) == 0
    told = find([*query, "13/03/2024"], lake)
    assert told["matched"].tolist() == [2] and np.isclose(told["containment"][0], 2 / 3)


PERIODS = {
    "period": (pd.Series(pd.period_range("2020-01", periods=2, freq="M")), "2020-01"),
    "interval": (pd.Series(pd.interval_range(0, 2)), "(0, 1]"),
    "complex": (pd.Series([1 + 2j, 3 + 4j]), "(1+2j)"),
}


@pytest.mark.parametrize("kind", PERIODS)
def test_columns_without_an_arrow_type_are_text(build, kind):
    """Strings of pandas convert themselves to Arrow, which takes no mask besides."""
    column, text = PERIODS[kind]
    query = pd.DataFrame({"q": column[:1]})
    lake = build({"t": pd.DataFrame({"c": [text, "other"], "n": ["a", "b"]})})
    assert dfjoin.discover_joinable(query, "q", lake, rank="matched")["matched"].tolist() == [1]
    lake = build({"t": pd.DataFrame({"c": column})})
    assert dfjoin.discover_joinable(pd.DataFrame({"q": [text]}), "q", lake, rank="matched")["matched"].tolist() == [1]


def test_a_query_keeps_its_numbers_whatever_is_written_to_the_frame_later():
    for numbers in (np.array([1, 2, 3]), np.array([3, 1, 2])):  # sorted ones are read where they stand
        query = make_query(pd.Series(numbers, name="x", copy=False), IndexSettings())
        before = [str(number) for number in numbers]
        numbers[0] = 9
        assert query.values.values() == before
