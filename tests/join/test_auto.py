"""`auto_join` from its arguments to its report: what is normalised, read and said on the way."""

import pandas as pd
import pytest

import dfjoin

LAND = ["peru", "chad", "mali"]


def test_the_warning_points_at_the_line_of_the_user(build):
    lake = build({"far": pd.DataFrame({"place": ["Peru", "Bonn"], "note": ["x", "y"]})})
    with pytest.warns(dfjoin.errors.DfjoinWarning) as caught:
        pd.DataFrame({"land": LAND}).auto_join(lake, on="land", threshold=0.9)
    assert caught[0].filename == __file__
