"""Columns of numbers as one query."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.errors import ColumnNotFoundError, DfjoinWarning, InvalidTypeError
from dfjoin.search.embedding.axes_query import is_numeric, make_point_query, point_text
from dfjoin.types import IndexSettings


def query(df, labels, unit):
    return make_point_query(df, labels, IndexSettings(), unit)


def test_each_distinct_point_is_a_value():
    df = pd.DataFrame({"b": ["2.0", "2", "x", "5", "2"], "a": [1, 1, 1, 2, None]})
    made = query(df, ["a", "b"], "absolute")
    assert (made.name, made.labels, made.label, made.is_place) == ("a, b", ["a", "b"], ("a", "b"), False)
    assert len(made.values) == 2 and made.values.row_counts().tolist() == [2, 1] and made.n_non_null == 3
    assert made.points.tolist() == [[1, 2], [2, 5]]
    assert [made.spelling(code) for code in range(2)] == ["(1, 2)", "(2, 5)"]
    assert made.companions == ("b", "a")
    assert query(df[["a"]], ["a"], "absolute").label == "a"
    assert len(query(df.iloc[:0], ["a", "b"], "absolute").values) == 0


def test_places_have_latitude_first_and_rows_out_of_range_are_told():
    df = pd.DataFrame({"lon": [10.0, 10.0, 0.0], "lat": [50.0, 95.0, None]}, index=[7, 7, 8])
    with pytest.warns(
        DfjoinWarning, match=r"1 rows of on=\['lon', 'lat'\] have no place, since latitudes are -90 to 90"
    ):
        made = query(df, ["lon", "lat"], "m")
    assert made.labels == ["lat", "lon"] and made.is_place and made.points.shape == (1, 3)
    named = query(df.rename(columns={"lon": "x", "lat": "y"}).iloc[:1], ["y", "x"], "km")
    np.testing.assert_array_equal(named.points, made.points)


def test_lists_of_numbers():
    df = pd.DataFrame({"v": [np.arange(6.0), None, [0, 1, 2, 3, 4, 5], [9] * 6]})
    made = query(df, ["v"], "absolute")
    assert made.points.tolist() == [[0, 1, 2, 3, 4, 5], [9] * 6]
    assert made.spelling(0) == "(0, 1, 2, 3, …) #0"
    assert is_numeric(df["v"]) and is_numeric(pd.Series([1, 2])) and is_numeric(pd.Series([1.5]))
    assert not any(
        map(is_numeric, [pd.Series(["a"]), pd.Series([True]), pd.Series([["a"]]), pd.Series([{}], dtype=object)])
    )
    assert not is_numeric(pd.Series([[1], "x"]))


def test_columns_without_numbers_and_without_a_place_in_the_frame():
    df = pd.DataFrame({"a": ["x", None], "b": [1, 2]})
    with pytest.raises(InvalidTypeError, match="`on` must name columns of numbers, and 'a' holds none"):
        query(df, ["a", "b"], "absolute")
    with pytest.raises(ColumnNotFoundError):
        query(df, ["b", "c"], "absolute")


def test_texts_of_points_tell_them_apart():
    assert point_text(np.array([0.1, 1e-17]), 0) == "(0.1, 1e-17)"
    assert point_text(np.array([0.1 + 2**-54, 2.0]), 0) != point_text(np.array([0.1, 2.0]), 0) or 0.1 + 2**-54 == 0.1
    assert point_text(np.array([1 / 3]), 0) == f"({1 / 3!r})"
