"""The nearest partner of each key, against every pair."""

import numpy as np
import pyarrow as pa
import pytest

from dfjoin.search.embedding.near_join import NearKeys, NearRelation
from dfjoin.search.embedding.near_search import embedder_of
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from tests.oracles.vectors import distance, unit
from tests.vectors.makers import letters

LEFT = ["abc", "abd", "xyz", "5", "qqq", "cab", "ab"]
RIGHT = ["abd", "bca", "abcc", "5", "6", "zyx", "acb", "mn"]


@pytest.fixture
def snapshot(build):
    import pandas as pd

    return build({"t": pd.DataFrame({"a": RIGHT})}, embedder=letters).snapshot


def values_of(texts):
    return normalize_column(pa.array(texts, pa.large_string()), IndexSettings())


@pytest.mark.parametrize("radius", [0.0, 0.1, 0.4, 1.5])
def test_nearest_partners_are_those_of_all_pairs(snapshot, radius):
    relation = NearRelation(radius, "absolute", "euclidean", embedder_of(snapshot).identity)
    keys = NearKeys(snapshot, values_of(LEFT), relation)
    left, right, _, n_keys, *_ = keys.pairs([values_of(RIGHT)])
    assert n_keys == len(RIGHT)
    expected = {}
    for q in LEFT:
        ways = []
        for value in RIGHT:
            a, b = unit(letters([q])[0]), unit(letters([value])[0])
            if q == value or (a is not None and b is not None and distance(a, b) <= radius):
                ways.append((-1.0 if q == value else distance(a, b), value))
        if ways:
            expected[q] = min(ways)[1]
    assert {LEFT[i]: RIGHT[j] for i, j in zip(left.tolist(), right.tolist(), strict=True)} == expected
    assert (np.diff(left) > 0).all()
    found = keys.may_join([values_of(RIGHT)])
    assert set(expected.values()) <= {value for value, is_met in zip(RIGHT, found, strict=True) if is_met}
    assert keys.pairs([values_of([])]).left.size == 0
