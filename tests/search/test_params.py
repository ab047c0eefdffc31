"""Parameters of a search, and the record of what it read."""

import pandas as pd

import dfjoin


def test_the_number_of_query_values_is_reported(build):
    """`SearchStats.add` replaces it by that of a segment's search, which is 0."""
    lake = build({"a": pd.DataFrame({"c": ["a", "b", "c"]})})
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["a", "x"]}), "q", lake)
    (search,) = hits.attrs["dfjoin"]["searches"]
    assert (search["n_values"], search["n_found"]) == (2, 1)
