"""Tasks of an index on another file system, on a machine that shares nothing with the driver but that."""

import json

import pandas as pd
import pytest

import dfjoin
from dfjoin.index import mirror as module
from dfjoin.index.commit import scratch_directory
from dfjoin.index.layout import make_directories, run_directory
from dfjoin.index.mirror import index_place
from dfjoin.ingest.at_store import store_place
from dfjoin.ingest.requests import compact_request, merge_request, read_meta, read_segment, run_request
from dfjoin.sources.listing import list_tables
from dfjoin.types import IndexSettings

SETTINGS = IndexSettings()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Switch between machines, each with mirrors of its own: ``with elsewhere("worker"): …``."""
    known = {}

    def on(machine):
        monkeypatch.setenv("DFJOIN_CACHE_DIR", str(tmp_path / machine))
        monkeypatch.setattr(module, "_mirrors", known.setdefault(machine, {}))
        return tmp_path / machine

    return on


def below(place):
    return sorted(path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file())


def test_runs_and_segments_are_written_where_the_index_lies(tmp_path, elsewhere):
    (tmp_path / "data").mkdir()
    pd.DataFrame({"c": ["p", "q", "é"]}).to_csv(tmp_path / "data" / "a.csv", index=False)
    pd.DataFrame({"d": ["p", "r"]}).to_csv(tmp_path / "data" / "b.csv", index=False)
    _, tables, _ = list_tables(tmp_path / "data")
    there = tmp_path / "there"
    elsewhere("driver")
    index = index_place(f"local://{there}")
    make_directories(index)
    assert store_place(tmp_path / "x") is None
    with scratch_directory(index, "build") as work:
        store = store_place(work)
        requests = [run_request(work, SETTINGS, [table], "skip", work / "note") for table in tables]
        worker = elsewhere("worker")
        runs = [read_meta(store.carry_out(request)) for request in requests]
        assert [name.split("/")[-1] for name in below(there)].count("catalog.arrow") == 2
        elsewhere("driver")
        merge = merge_request(index, SETTINGS, [run_directory(work, run.id) for run in runs], [], work / "note")
        other = elsewhere("other worker")
        meta = read_segment(store.carry_out(merge))[1]
        elsewhere("driver")
        assert meta.counts["tables"] == 2
        assert not [name for name in below(index) if name.endswith(".npy")], "the driver wrote none of it"
        kept = [name for place in (worker, other) for name in below(place) if not name.endswith(".uri")]
        assert kept == [], "a task leaves nothing of what it wrote"
    assert {name.split("/")[0] for name in below(there)} == {"segments"}
    assert {name.split("/")[1] for name in below(there)} == {meta.id}


def test_segments_are_compacted_where_the_index_lies(tmp_path, elsewhere):
    elsewhere("driver")
    uri = f"local://{tmp_path / 'there'}"
    lake = dfjoin.build_lake({"a": pd.DataFrame({"c": ["p", "q"]})}, uri, engine="inline", progress=False)
    lake.add({"b": pd.DataFrame({"c": ["p", "r"]})}, engine="inline", progress=False)
    store = store_place(lake.path / "runs")
    request = compact_request(lake.path, lake.settings, list(lake.manifest.segments))
    elsewhere("worker")
    meta = read_segment(store.carry_out(request))[1]
    assert meta.counts["tables"] == 2 and (tmp_path / "there" / "segments" / meta.id).is_dir()


def test_a_driver_that_dies_before_the_commit_leaves_the_version_before(tmp_path, elsewhere):
    """Segments that no manifest names are orphans, wherever they were written."""
    elsewhere("driver")
    uri = f"local://{tmp_path / 'there'}"
    lake = dfjoin.build_lake({"a": pd.DataFrame({"c": ["p", "q"]})}, uri, engine="inline", progress=False)
    store = store_place(lake.path / "runs")
    request = compact_request(lake.path, lake.settings, list(lake.manifest.segments))
    elsewhere("worker")
    orphan = read_segment(store.carry_out(request))[1].id
    elsewhere("another driver")
    again = dfjoin.open_lake(uri)
    assert again.version == 1 and again.verify() == [] and again.tables["table"].tolist() == ["a"]
    assert (tmp_path / "there" / "segments" / orphan).is_dir()
    again.vacuum(0)
    assert not (tmp_path / "there" / "segments" / orphan).exists() and again.verify() == []


def test_what_fails_sends_nothing(tmp_path, elsewhere):
    (tmp_path / "b.parquet").write_bytes(b"no table")
    _, tables, _ = list_tables(tmp_path / "b.parquet")
    elsewhere("driver")
    index = index_place(f"local://{tmp_path / 'there'}")
    with scratch_directory(index, "build") as work:
        store = store_place(work)
        elsewhere("worker")
        result = store.carry_out(run_request(work, SETTINGS, tables, "raise", None))
        assert list(json.loads(result)) == ["error"]
    assert not (tmp_path / "there").exists() or below(tmp_path / "there") == []
