"""An index of each format version, committed as it was written, opens and answers."""

import shutil
from pathlib import Path

import pandas as pd

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
        hits = df.discover_joinable("q", lake, plan=plan)
        assert list(zip(hits["table"], hits["column"], hits["matched"], strict=True)) == [
            ("cities", "city", 3),
            ("more", "town", 2),
        ]
    found = df.discover_joinable("n", lake)
    assert list(zip(found["table"], found["column"], found["matched"], strict=True)) == [
        ("codes", "number", 3),
        ("codes", "code", 1),
    ]
    assert lake.table("codes")["code"].tolist() == ["007", "08", "1.0"]
    earlier = dfjoin.open_lake(index, version=1)
    assert earlier.tables["table"].tolist() == ["cities", "codes", "gone"]
    lake.add({"new": pd.DataFrame({"c": ["paris", "rome"]})}, engine="inline", progress=False).compact(full=True)
    assert df.discover_joinable("q", lake)["table"].tolist() == ["cities", "more", "new"]
