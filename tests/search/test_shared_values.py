"""The values that a candidate shares, from damaged components."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IndexCorruptedError


@pytest.mark.parametrize("name", ["group_tokens", "set_lists"])
def test_evidence_from_damaged_components_is_an_index_error(build, name):
    """`explain` follows token and list numbers of the index without checking them."""
    lake = build({"a": pd.DataFrame({"x": ["p", "q", "r"], "y": ["p", "q", "z"]})})
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["p"]}), "q", lake, rank="matched")
    (segment,) = lake.segments
    sound = segment.tokens
    broken = np.full_like(getattr(sound, name), 1000)
    segment.__dict__["tokens"] = sound._replace(**{name: broken})
    with pytest.raises(IndexCorruptedError, match=name):
        hits.explain(0)
