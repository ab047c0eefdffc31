"""The score of two columns of frames beside that of a search in a lake of the right frame."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.search.query import make_query
from dfjoin.search.usefulness.pair_score import score_pair
from dfjoin.types import IndexSettings


@pytest.mark.parametrize(
    ("name", "own", "header", "theirs"),
    [
        ("x", range(1, 40), "rank", range(1, 60)),
        ("id", range(1, 40), "id", range(1, 60)),
        ("employee", [7, 912, 4044, 31], "employee", [7, 912, 4044, 90210]),
        ("year", [1999, 2001, 2010], "Year", [1999, 2001, 2001, 2010]),
        ("town", ["Lima", "Oslo"], "place", ["Lima", "Oslo", "Rome"]),
        ("score", ["1-0", "2-1"], "score", ["1-0", "0-0"]),
    ],
)
def test_the_score_is_that_of_a_lake_of_one_table(build, name, own, header, theirs):
    df, table = pd.DataFrame({name: own}), pd.DataFrame({header: theirs})
    hits = df.discover_joinable(name, build({"t": table}), k=1)
    left, right = (make_query(frame.iloc[:, 0], IndexSettings()) for frame in (df, table))
    is_shared = np.isin(left.values.hashes, right.values.hashes)
    assert score_pair(left, right, is_shared, 1) == pytest.approx(hits["score"].iloc[0], abs=1e-6)
