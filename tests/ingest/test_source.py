"""Frames in memory as the tables of an index."""

import os
import stat

import pandas as pd
import pytest

import dfjoin


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_an_index_of_frames_is_for_its_owner_only(build):
    """The directory of the frames is made first, and its parents with the default mode."""
    lake = build({"t": pd.DataFrame({"c": ["a", "b"]})})
    assert stat.S_IMODE(lake.path.stat().st_mode) == 0o700


def test_frames_added_twice_have_one_root(tmp_path):
    """Frames of one index have one root, so that `roots` holds it and `tables` knows where each is."""
    frame = pd.DataFrame({"c": ["a", "b"]})
    for name in ("a", "b", "c"):
        lake = dfjoin.build_lake({name: frame}, tmp_path / "lake", if_exists="add", engine="inline", progress=False)
    assert len(lake.roots) == 1 and lake.tables["table"].tolist() == ["a", "b", "c"]
    assert (lake.tables["root"] != "").all()
