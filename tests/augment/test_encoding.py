"""Columns and targets as numbers."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.augment.encoding import encode_column, encode_target
from dfjoin.errors import InvalidParameterError


@pytest.mark.parametrize(
    ("column", "expected", "is_number"),
    [
        (pd.Series([1.5, np.nan, np.inf]), [1.5, np.nan, np.nan], True),
        (pd.Series([1, None, 3], dtype="Int64"), [1, np.nan, 3], True),
        (pd.Series([True, None, False], dtype="boolean"), [1, np.nan, 0], True),
        (pd.Series(["b", "a", None, "b"]), [0, 1, np.nan, 0], False),
        (pd.Series(pd.Categorical(["x", "y", "y"])), [1, 0, 0], False),
        (pd.Series([1 + 1j, 1j, 1j]), [1, 0, 0], False),
        (pd.Series([], dtype=object), [], False),
    ],
)
def test_columns(column, expected, is_number):
    encoded = encode_column(column)
    np.testing.assert_array_equal(encoded.values, expected)
    assert encoded.is_number is is_number
    assert encoded.n_held == np.count_nonzero(~np.isnan(expected))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_dates_are_seconds(unit, zone):
    dates = pd.Series(pd.to_datetime(["1970-01-02 00:00:00", None, "1970-01-01 00:00:05"])).dt.as_unit(unit)
    encoded = encode_column(dates.dt.tz_localize(zone))
    np.testing.assert_array_equal(encoded.values, [86400, np.nan, 5])
    assert encoded.is_number


@given(st.lists(st.one_of(st.none(), st.sampled_from("abcd")), max_size=30))
def test_texts_are_ranked_by_frequency_whatever_the_order_of_rows(values):
    column = pd.Series(values, dtype=object)
    encoded = encode_column(column)
    counts = column.value_counts()
    for value, code in zip(values, encoded.values, strict=True):
        assert np.isnan(code) == (value is None)
        if value is not None:
            assert sum((counts > counts[value]) | ((counts == counts[value]) & (counts.index < value))) == code
    assert encoded.n_values == len(counts)


def test_targets_are_classes_or_numbers():
    classes = encode_target(["b", "a", "b"], "auto")
    assert classes.is_class
    np.testing.assert_array_equal(classes.values, [[1, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(classes.losses(np.array([[0.5, 0.5]] * 3)), [0.5] * 3)
    assert encode_target(np.arange(20), "auto").is_class
    assert not encode_target(np.arange(21), "auto").is_class
    assert not encode_target(np.arange(3), "regression").is_class
    assert encode_target([0.5, 1.5], "classification").is_class
    numbers = encode_target(np.arange(40) / 3, "auto")
    assert numbers.values.std() == pytest.approx(1)
    np.testing.assert_array_equal(np.bincount(numbers.codes), [4] * 10)
    assert encode_target([2.5, 2.5], "auto").values.tolist() == [[2.5], [2.5]]
    assert numbers.take(np.array([3])).values.shape == (1, 1)


def test_a_regression_needs_numbers():
    with pytest.raises(
        InvalidParameterError, match="`task` \"regression\" needs numbers as target, got 'a'; convert it"
    ):
        encode_target(["a", "b"], "regression")
