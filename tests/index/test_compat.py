"""An index of each format version, committed as it was written, opens and answers."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

import dfjoin

V1 = Path(__file__).parent / "compat" / "v1" / "index"


def test_format_version_1(tmp_path):
    index = tmp_path / "copied"
    shutil.copytree(V1, index)
    lake = dfjoin.open_lake(index)
    assert lake.verify() == [] and lake.version == 3
    assert lake.tables["table"].tolist() == ["cities", "codes", "more"]
    df = pd.DataFrame({"q": ["paris", " LIMA", "ŌSAKA", "x"], "n": ["7", "8", "1", "9"]})
    for plan in (None, "mergelist", "probeset", "josie"):
        hits = df.discover_joinable("q", lake, plan=plan, rank="matched")
        assert list(zip(hits["table"], hits["column"], hits["matched"], strict=True)) == [
            ("cities", "city", 3),
            ("more", "town", 2),
        ]
    found = df.discover_joinable("n", lake, rank="matched")
    assert list(zip(found["table"], found["column"], found["matched"], strict=True)) == [
        ("codes", "number", 3),
        ("codes", "code", 1),
    ]
    assert lake.table("codes")["code"].tolist() == ["007", "08", "1.0"]
    earlier = dfjoin.open_lake(index, version=1)
    assert earlier.tables["table"].tolist() == ["cities", "codes", "gone"]
    lake.add({"new": pd.DataFrame({"c": ["paris", "rome"]})}, engine="inline", progress=False).compact(full=True)
    assert df.discover_joinable("q", lake, rank="matched")["table"].tolist() == ["cities", "more", "new"]


@pytest.mark.filterwarnings("ignore:the index keeps no token sets")
def test_signatures_of_format_version_1(tmp_path):
    index = tmp_path / "copied"
    shutil.copytree(V1.parents[1] / "v1_signatures" / "index", index)
    lake = dfjoin.open_lake(index)
    assert lake.verify() == [] and len(lake.segments) == 2
    df = pd.DataFrame({"q": [f"WORD  {i}" for i in range(60)]})
    hits = df.discover_joinable("q", lake, mode="lsh", threshold=0.9, rank="matched")
    assert hits[["table", "column", "matched", "exact"]].iloc[0].tolist() == ["large", "w", 60, False]
    lake.compact(full=True)
    again = df.discover_joinable("q", lake, mode="lsh", threshold=0.9, rank="matched")
    pd.testing.assert_frame_equal(pd.DataFrame(again), pd.DataFrame(hits))
    few = pd.DataFrame({"q": ["word 0", "word 3"]}).discover_joinable(
        "q", lake, mode="lsh", threshold=1.0, rank="matched"
    )
    assert ("small", 2, True) in list(zip(few["table"], few["matched"], few["exact"], strict=True))
