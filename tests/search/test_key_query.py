"""The tuples of a key of several columns."""

import pandas as pd

from dfjoin.search.query import make_key_query, make_query
from dfjoin.types import IndexSettings


def key_of(**columns):
    frame = pd.DataFrame(columns)
    return make_key_query([make_query(frame[name], IndexSettings()) for name in frame])


def test_tuples_are_distinct_and_without_nulls():
    key = key_of(a=["x", "X ", None, "y", "y"], b=["1", "1.0", "2", None, "2"])
    assert key.name == "a + b" and key.n_keys == 2 and not key.is_unique
    assert key.first_rows.tolist() == [0, 4] and key.index.codes.tolist() == [0, 0, -1, -1, 1]
    assert [key.canonical(k) for k in (0, 1)] == ["x + 1", "y + 2"]
    assert [key.spelling(k) for k in (0, 1)] == ["x + 1", "y + 2"]
    assert key_of(a=list("xy"), b=list("zz")).is_unique
    assert key_of(a=["x", None], b=[None, "z"]).n_keys == 0
