"""Tasks as text: what goes to a worker comes out there as it was, and results come back."""

import json

import pandas as pd
import pytest

from dfjoin.errors import TableReadError
from dfjoin.index.components import make_directories, run_directory, segment_directory
from dfjoin.ingest.requests import execute, merge_request, read_meta, read_segment, run_request
from dfjoin.sources.listing import list_tables
from dfjoin.types import IndexSettings

SETTINGS = IndexSettings(permutations=0)


@pytest.fixture
def tables(tmp_path):
    place = tmp_path / "data"
    place.mkdir()
    for name in ("é", "a"):
        pd.DataFrame({"c": ["p", "q", name]}).to_csv(place / f"{name}.csv", index=False)
    (place / "b.parquet").write_bytes(b"no table")
    return list_tables(place)[1]


@pytest.fixture
def index(tmp_path):
    make_directories(tmp_path / "index")
    return tmp_path / "index"


def test_reading_and_merging(tables, index):
    seen = []
    result = execute(run_request(index, SETTINGS, tables, "skip", None), lambda *counts: seen.append(counts))
    meta = read_meta(result)
    assert (meta.first_table, meta.n_tables, meta.n_skipped, meta.n_rows, meta.is_part) == ("a.csv", 2, 1, 6, False)
    assert [rows for rows, _ in seen] == [3, 0, 3] and all(n_bytes > 0 for _, n_bytes in seen)
    assert run_directory(index, meta.id).is_dir()
    name = "0123456789abcdef0123456789abcdef"
    request = merge_request(index, SETTINGS, [run_directory(index, meta.id)], [], segment=name)
    first_table, segment = read_segment(execute(request))
    assert first_table == "a.csv" and segment.counts["tables"] == 2 and segment.counts["skipped"] == 1
    assert segment.id == name and segment_directory(index, name).is_dir() and not run_directory(index, meta.id).exists()


def test_a_merge_elsewhere_can_be_repeated(tables, index, tmp_path):
    """Its worker may be lost after it was done: the runs stay, and the second segment has another name."""
    meta = read_meta(execute(run_request(index, SETTINGS, tables, "skip", None)))
    request = merge_request(index, SETTINGS, [run_directory(index, meta.id)], [], tmp_path / "merging-0.json")
    (_, one), (_, other) = (read_segment(execute(request)) for _ in range(2))
    assert one.id != other.id and one.counts == other.counts
    assert run_directory(index, meta.id).is_dir()


def test_a_table_that_cannot_be_read_comes_back_as_text(tables, index):
    """An exception would make Spark try the task again."""
    result = execute(run_request(index, SETTINGS, tables, "raise", None))
    assert list(json.loads(result)) == ["error"]
    with pytest.raises(TableReadError, match=r"the table `b.parquet` cannot be read"):
        read_meta(result)


def test_progress_is_counted_in_a_file(tables, index, tmp_path):
    note = tmp_path / "progress-0.json"
    execute(run_request(index, SETTINGS, tables, "skip", note))
    assert json.loads(note.read_text())[0] == 1 and list(tmp_path.glob("*.draft")) == []
