"""Joining two frames: which keys are taken, and what is brought."""

import pandas as pd

import dfjoin
from dfjoin.errors import DfjoinError

LAND = ["peru", "chad", "mali"]


def test_labels_of_the_other_frame_that_are_one_text_are_refused_or_told_apart():
    other = pd.DataFrame({"k": LAND, 1: [1, 2, 3], "1": [4, 5, 6]})
    try:
        wide = dfjoin.auto_join(pd.DataFrame({"k": LAND}), other, on="k", aggregate=None)
    except DfjoinError:
        return
    assert wide.shape == (3, 3)
    assert wide.columns.is_unique
