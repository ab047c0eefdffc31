"""A value of an excluded column is in no file: of the index, of its scratch, or of a temporary directory."""

import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

import dfjoin
from dfjoin.errors import ColumnNotFoundError, NoMatchError

SECRET = "hushhush"
NUMBER = 7_046_029_254_386_353_131
EXCLUDE = ["*/secret*"]


def planted(n, begin=0):
    """A table with an open key and two excluded columns."""
    numbers = range(begin, begin + n)
    return pd.DataFrame(
        {
            "key": [f"key {i}" for i in numbers],
            "secret text": [f"{SECRET}-{i:08d}" for i in numbers],
            "secret number": [NUMBER + i for i in numbers],
            "open": [f"plain {i % 7}" for i in numbers],
        }
    )


def leaks(*places):
    """Files that hold a planted value, as it is written or as a number."""
    marks = [SECRET.encode(), SECRET.upper().encode(), str(NUMBER).encode(), np.int64(NUMBER).tobytes()]
    found = []
    for place in places:
        for file in place.rglob("*"):
            if file.is_file() and any(mark in file.read_bytes() for mark in marks):
                found.append(str(file))
    return found


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The directory that this process and its children take for temporary files."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


@pytest.fixture
def files(tmp_path):
    """A lake of one file of each format."""
    place = tmp_path / "data"
    place.mkdir()
    frame = planted(3000)
    frame.to_csv(place / "t.csv", index=False)
    frame.to_parquet(place / "t.parquet")
    frame.to_json(place / "t.jsonl", orient="records", lines=True)
    (place / "broken.csv").write_bytes(frame.to_csv(index=False).encode() + b'"\0\xff' + b",x" * 50 + b"\n")
    return place


OPTIONS = {"engine": "inline", "progress": False}


@pytest.mark.parametrize("keep_data", [True, False])
@pytest.mark.parametrize("patterns", [{"exclude": EXCLUDE}, {"columns": ["*/key", "*/open"]}])
def test_after_builds_adds_removals_and_repairs(tmp_path, temporary, files, keep_data, patterns):
    index = tmp_path / "lake.dfjoin"
    settings = {"task_bytes": 20_000}
    lake = dfjoin.build_lake({"a": planted(500)}, index, settings=settings, keep_data=keep_data, **patterns, **OPTIONS)
    assert leaks(index, temporary) == []
    lake.add(files, **OPTIONS)
    lake.add({"b": planted(300, 100)}, keep_data=keep_data, **OPTIONS)
    lake.replace({"a": planted(600)}, keep_data=keep_data, **OPTIONS)
    lake.add_patterns()
    assert leaks(index, temporary) == []
    lake.compact(full=True)
    lake.remove("*t.csv")
    assert leaks(index, temporary) == []
    manifest = max((index / "manifests").iterdir())
    manifest.write_text("damaged")
    dfjoin.repair(index)
    assert leaks(index, temporary) == []
    for file in index.rglob("*.parquet"):  # compressed values would not be found as they are written
        assert parquet.read_schema(file).names == ["key", "open"]
    columns = dfjoin.open_lake(index).columns
    hidden = columns[columns["column"].str.startswith("secret")]
    assert len(hidden) >= 8 and not hidden["is_indexed"].any() and set(hidden["kind"]) == {"text", "integer"}
    if keep_data:
        assert list(dfjoin.open_lake(index).table("a")) == ["key", "open"]


BUILD = """
import sys, pandas as pd, dfjoin
sys.path.insert(0, sys.argv[3])
from tests.store.test_excluded import EXCLUDE, OPTIONS, planted
frames = {"big": planted(200_000)}
print("ready", flush=True)
source = sys.argv[1] or frames
dfjoin.build_lake(source, sys.argv[2], exclude=EXCLUDE, settings={"task_bytes": 200_000}, **OPTIONS)
"""


@pytest.mark.parametrize("of", ["frames", "file"])
@pytest.mark.parametrize("moment", ["runs/task-*/*/run/hash.npy", "frames/*.parquet", "segments/*/*/hash.npy"])
def test_after_a_kill(tmp_path, temporary, of, moment):
    """Killed when the first run was spilled, the frame written, and the segment begun."""
    if of == "file" and moment.startswith("frames"):
        moment = "runs/task-*/*/run/value_bytes.npy"
    source, index = "", tmp_path / "lake.dfjoin"
    if of == "file":
        source = tmp_path / "data"
        source.mkdir()
        planted(200_000).to_csv(source / "big.csv", index=False)
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    child = subprocess.Popen([sys.executable, "-c", BUILD, str(source), str(index), root], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    limit = time.monotonic() + 60
    while not list(index.glob(moment)) and child.poll() is None and time.monotonic() < limit:
        time.sleep(0.001)
    child.kill()
    child.communicate()
    assert list(index.rglob("*.npy")) or list(index.rglob("*.parquet")), "something was written before the kill"
    assert leaks(index, temporary) == []


def test_the_error_says_how_to_join_an_excluded_column(build):
    frame = planted(50)
    lake = build({"people": frame}, exclude=EXCLUDE)
    remedy = r"'secret text' was excluded when the index was built.*join them from the frame itself"
    with pytest.raises(ColumnNotFoundError, match=remedy):
        lake.table("people", ["key", "secret text"])
    with pytest.raises(ColumnNotFoundError) as other:
        lake.table("people", ["nothing"])
    assert "excluded" not in str(other.value)
    left = frame[["key"]]
    with pytest.raises(NoMatchError, match=remedy):
        left.auto_join(lake, on="key", columns=["secret text"], on_no_match="raise")
    assert "secret text" not in left.auto_join(lake, on="key")
    hits = left.discover_joinable("key", lake, rank="matched")
    with pytest.raises(ColumnNotFoundError, match=remedy):
        left.auto_join(hits, columns=["secret text"])


def test_a_frame_all_of_whose_columns_are_excluded_is_listed(build):
    lake = build({"people": planted(5), "other": planted(4)}, exclude="people/*")
    assert lake.tables["n_rows"].tolist() == [4, 5] and len(lake.columns) == 8
    assert lake.table("people").shape[1] == 0


def test_columns_of_a_file_that_are_excluded_are_read_with_their_dtypes(tmp_path):
    """They are left out of the index; the file is the user's, and is joined whole."""
    frame = pd.DataFrame(
        {"k": ["a", "b"], "n": [1, 2], "f": [0.5, 1.5], "d": ["13/1/2024", "2/1/2024"], "t": ["x", "y"]}
    )
    (tmp_path / "data").mkdir()
    frame.to_csv(tmp_path / "data" / "t.csv", index=False)
    whole = dfjoin.build_lake(tmp_path / "data", tmp_path / "a", **OPTIONS).table("t.csv")
    lake = dfjoin.build_lake(tmp_path / "data", tmp_path / "b", columns="*/k", **OPTIONS)
    pd.testing.assert_frame_equal(lake.table("t.csv"), whole)
