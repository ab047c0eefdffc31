"""Columns as numbers."""

import numpy as np
import pyarrow as pa
import pytest

from dfjoin.types import IndexSettings
from dfjoin.values.cells import is_list_type
from dfjoin.values.float_values import to_floats, to_rows
from dfjoin.values.normalize import normalize_column


def floats(array):
    return to_floats(normalize_column(array, IndexSettings()))


def test_numbers_of_any_type():
    texts = pa.array(["1.50", " 2 ", "x", None, "-7", "1e3", "inf", "NaN", "2024-01-01", "1.50"])
    np.testing.assert_array_equal(floats(texts), [1.5, 2, np.nan, np.nan, -7, 1000, np.nan, np.nan, np.nan, 1.5])
    np.testing.assert_array_equal(floats(pa.array([1, None, 3])), [1, np.nan, 3])
    np.testing.assert_array_equal(floats(pa.array([0.1, float("inf")], pa.float32())), [0.1, np.nan])
    assert floats(pa.array([], pa.string())).size == 0


@pytest.mark.parametrize("type_", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.int8())])
def test_lists_become_rows(type_):
    array = pa.array([None, [1, 2], [3], [4, 5], []], type_)
    assert is_list_type(type_)
    np.testing.assert_array_equal(to_rows(array), [[np.nan] * 2, [1, 2], [np.nan] * 2, [4, 5], [np.nan] * 2])
    np.testing.assert_array_equal(to_rows(array, 1)[2], [3])
    np.testing.assert_array_equal(to_rows(pa.chunked_array([array, array]))[6], [1, 2])
    assert to_rows(pa.array([None], type_)).shape == (1, 0)


def test_lists_of_one_length_and_nulls_inside():
    array = pa.array([[1, 2], None, [3, None]], pa.list_(pa.float64(), 2))
    assert is_list_type(array.type) and not is_list_type(pa.list_(pa.string())) and not is_list_type(pa.float64())
    np.testing.assert_array_equal(to_rows(array), [[1, 2], [np.nan] * 2, [3, np.nan]])
