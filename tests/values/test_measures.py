"""Measures and codes are told apart by headers, else by all values of a column."""

import numpy as np
import pytest

from dfjoin.values.profile import is_measured, number_column


def _is_measured(name, values, is_exact=True):
    return is_measured(name, number_column(np.asarray(values, float), is_exact=is_exact))


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("n", [1, 3, 5], True),
        ("n", [], True),
        ("n", np.arange(40), False),
        ("n", np.arange(40).repeat(2), True),
        ("n", np.arange(9), True),
        ("n", np.arange(1, 11), False),
        ("n", np.arange(0, 78, 2), True),
        ("n", np.arange(0, 80, 2), False),
        ("population", np.arange(40), True),
        ("n", [541110, 236220, 541110], False),
        ("n", [541110, 36220, 541110], True),
        ("n", [0, 1] * 10, True),
        ("house number", [1, 3, 120, 7, 7], False),
        ("customer", [1, 2, 2], False),
        ("customers", [1, 2, 2], True),
        ("income", [2**53 + 2, 1], False),
        ("latitude", [48.2, 47.1], False),
        ("x", [48.2, 47.1], False),
        ("x", [48.2, 470.1], True),
        ("x", [48, 47], True),
        ("quarter", [0.25, 0.75], True),
        ("town_code", [0.25, 0.75], False),
        ("wind_dir", [10, 350], False),
        ("Dir of Max Gust", [1, 36], False),
        ("Number of directions", [1, 36], True),
        ("height of code", [1, 36], False),
        ("slot", [1, 2, 1], False),
        ("n", [0.5, np.nan, np.inf], True),
    ],
)
def test_measures_are_told_from_codes(name, values, expected):
    assert _is_measured(name, values) is expected


def test_large_floats_are_no_codes():
    assert _is_measured("mass", [5.9e24, 2.0e30], is_exact=False)
