"""Tests that failed when they were written: each names a bug and passes once it is mended."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.ingest.plan import pack_runs


@pytest.mark.parametrize("sizes", [[0], [0, 0], [0, 5], [5, 0]])
@pytest.mark.parametrize("target", [1, 100])
def test_empty_runs_are_packed_too(sizes, target):
    """A run without tokens has the size 0."""
    assert sorted(number for group in pack_runs(sizes, target) for number in group) == list(range(len(sizes)))


def test_a_lake_without_any_indexed_value_can_be_built_and_searched(build):
    lake = build({"a": pd.DataFrame({"x": [0.5, 1.5]}), "b": pd.DataFrame({"y": pd.Series([], dtype=object)})})
    assert lake.tables["table"].tolist() == ["a", "b"]
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["p", "q"]}), "q", lake)
    assert len(hits) == 0
