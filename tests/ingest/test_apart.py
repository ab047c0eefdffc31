"""Tasks away from the driver's files: what they write arrives as it was, and only where runs are."""

import json

import pandas as pd
import pytest

from dfjoin.errors import EngineError
from dfjoin.index.components import make_directories, run_directory
from dfjoin.ingest import apart as module
from dfjoin.ingest.apart import FilePart, carry_out_apart, keep_file, request_paths
from dfjoin.ingest.requests import execute, head_of, merge_request, read_meta, read_segment, run_request
from dfjoin.sources.listing import list_tables
from dfjoin.types import IndexSettings, Root, TableSource

SETTINGS = IndexSettings(permutations=0)


@pytest.mark.parametrize("piece", [7, 512 << 10])
def test_files_come_back_piece_by_piece(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(module, "_PIECE", piece)
    place = tmp_path / "data"
    place.mkdir()
    pd.DataFrame({"c": ["p", "q", "é"]}).to_csv(place / "a.csv", index=False)
    _, tables, _ = list_tables(place)
    work = tmp_path / "work"
    make_directories(work)
    make_directories(tmp_path / "index")
    request = run_request(tmp_path / "not here", SETTINGS, tables, "skip", tmp_path / "nor here")
    *parts, result = carry_out_apart(request)
    assert max(len(part.data) for part in parts) <= piece
    for part in parts:
        keep_file(work, part)
    run = run_directory(work, read_meta(result).id)
    merged = merge_request(tmp_path / "index", SETTINGS, [run], [])
    assert read_segment(execute(merged))[1].counts["tables"] == 1


def test_an_error_of_a_task_apart_is_its_result(tmp_path):
    (tmp_path / "b.parquet").write_bytes(b"no table")
    _, tables, _ = list_tables(tmp_path)
    *_, result = carry_out_apart(run_request(tmp_path, SETTINGS, tables, "raise", None))
    assert list(json.loads(result)) == ["error"]


@pytest.mark.parametrize("name", ["/etc/passwd", "runs/../../x", "segments/x", "manifests/1.json", "../runs/x"])
def test_a_file_that_belongs_to_no_run_is_refused(tmp_path, name):
    with pytest.raises(EngineError, match="handed back a file that belongs to no run"):
        keep_file(tmp_path, FilePart(name, b""))
    assert list(tmp_path.iterdir()) == []


def test_where_a_request_reads(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\nx,y\n")
    _, tables, _ = list_tables(tmp_path)
    assert request_paths(head_of(run_request(tmp_path, SETTINGS, tables, "skip", None))) == {str(tmp_path)}
    assert request_paths(head_of(merge_request(tmp_path, SETTINGS, [], []))) == frozenset()


def test_the_head_of_a_request_is_all_but_its_tables(tmp_path):
    """Whatever texts it has: a quote within one is written with a backslash."""
    root = Root(0, ', "sources": [', '/x, "sources": [{"')
    request = run_request(tmp_path, SETTINGS, [TableSource("t", root, "t", "parquet", 1, 2)], "skip", None)
    values = json.loads(request)
    assert list(values)[-1] == "sources" and head_of(request) == {k: v for k, v in values.items() if k != "sources"}
