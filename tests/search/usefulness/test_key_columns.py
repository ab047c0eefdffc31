"""Which columns are keys when the user names none."""

import pandas as pd
import pytest

from dfjoin.search.query import make_query
from dfjoin.search.usefulness.key_columns import reason_against_key
from dfjoin.types import IndexSettings


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("flag", ["yes", "no", "yes"], "it has fewer than three values"),
        ("id", range(1, 30), "it is a serial number"),
        ("total_votes", [5, 7, 11, 7], "it is a measure"),
        ("mail", [5, 7, 11, 7], "its header does not say that its numbers name anything"),
        ("waiting", [79, 54, 74], "its header does not say that its numbers name anything"),
        ("3", [79, 54, 74], "its header does not say that its numbers name anything"),
        ("year", [1999, 2003, 2010, 2010], ""),
        ("when", [1999, 2003, 2010, 2010], ""),
        ("customerID", [5, 7, 11, 7], ""),
        ("fips", [1001, 1003, 1005], ""),
        ("ISO numeric", [4, 8, 12], ""),
        ("mail", ["a@x", "b@x", "c@x"], ""),
        ("mail", ["01", "02", "03x"], ""),
    ],
)
def test_why_a_column_is_no_key_by_itself(name, values, reason):
    assert reason_against_key(make_query(pd.Series(list(values), name=name), IndexSettings())) == reason
