"""Tasks of an index on another file system, on a machine that shares nothing with the driver but that."""

import json
from pathlib import Path

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError
from dfjoin.index import mirror as module
from dfjoin.index.commit import scratch_directory
from dfjoin.index.components import make_directories, run_directory
from dfjoin.index.mirror import index_path
from dfjoin.ingest import at_store, embed_driver
from dfjoin.ingest.at_store import store_location
from dfjoin.ingest.requests import compact_request, merge_request, read_meta, read_segment, run_request
from dfjoin.sources.listing import list_tables
from dfjoin.store import add_groups
from dfjoin.types import IndexSettings
from dfjoin.vectors import default_radius
from tests.ingest.test_embed_driver import files_of
from tests.vectors.makers import letters
from tests.vectors.test_fasttext_model import write_model

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
    index = index_path(f"local://{there}")
    make_directories(index)
    assert store_location(tmp_path / "x") is None
    with scratch_directory(index, "build") as work:
        store = store_location(work)
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
    store = store_location(lake.path / "runs")
    request = compact_request(lake.path, lake.settings, list(lake.manifest.segments))
    elsewhere("worker")
    meta = read_segment(store.carry_out(request))[1]
    assert meta.counts["tables"] == 2 and (tmp_path / "there" / "segments" / meta.id).is_dir()


def test_a_driver_that_dies_before_the_commit_leaves_the_version_before(tmp_path, elsewhere):
    """Segments that no manifest names are orphans, wherever they were written."""
    elsewhere("driver")
    uri = f"local://{tmp_path / 'there'}"
    lake = dfjoin.build_lake({"a": pd.DataFrame({"c": ["p", "q"]})}, uri, engine="inline", progress=False)
    store = store_location(lake.path / "runs")
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
    index = index_path(f"local://{tmp_path / 'there'}")
    with scratch_directory(index, "build") as work:
        store = store_location(work)
        elsewhere("worker")
        result = store.carry_out(run_request(work, SETTINGS, tables, "raise", None))
        assert list(json.loads(result)) == ["error"]
    assert not (tmp_path / "there").exists() or below(tmp_path / "there") == []


class Machines:
    """An engine whose tasks run on another machine each, which reaches the index and nothing else of the driver.

    `sent` is what the driver copies to the index before, as the engine of Spark does.
    """

    n_slots, is_here = 2, False

    def __init__(self, elsewhere):
        self._elsewhere, self.seen, self.places = elsewhere, [], []

    def run(self, requests, work, on_table):
        requests, results = list(requests), []
        store = store_location(work)
        for place in {place for request in requests for place in json.loads(request).get("sent", [])}:
            store.send_new(Path(place))
        for request in requests:
            self.places.append(self._elsewhere(f"worker {len(self.places) % 3}"))
            try:
                results.append(store.carry_out(request))
            finally:
                self._elsewhere("driver")
            self.seen.append(json.loads(request)["task"])
        return results


@pytest.mark.parametrize("kind", ["fasttext", "file", "function"])
def test_vectors_are_made_where_the_index_lies(tmp_path, elsewhere, monkeypatch, kind):
    """The driver writes no vector, and reads values to train a model alone; a task chooses the default radius."""
    write_model(tmp_path / "model.bin")
    embedder = {"fasttext": "fasttext", "file": tmp_path / "model.bin", "function": letters}[kind]
    if kind == "function":
        pytest.importorskip("pyspark")
    elsewhere("driver")
    monkeypatch.setattr(default_radius, "_LEAST_TRIALS", 10)
    words = [f"{a}{b} {c}" for a in "bcd" for b in ("ado", "ena", "iru") for c in ("street", "av.", "7")]
    frames = {name: pd.DataFrame({"name": [f"{word} {name}" for word in words], "n": range(27)}) for name in "xyz"}
    uri = f"local://{tmp_path / 'there'}"
    dfjoin.build_lake(frames, uri, engine="inline", progress=False)
    other = dfjoin.build_lake(frames, tmp_path / "here", engine="inline", progress=False)
    other.add_vectors(embedder, progress=False)
    engine = Machines(elsewhere)
    monkeypatch.setattr(add_groups, "choose_engine", lambda name, spark: engine)
    monkeypatch.setattr(embed_driver, "_SMALL_STRETCH", 20)
    driver = elsewhere("driver, begun anew")
    known = elsewhere
    engine._elsewhere = lambda machine: known("driver, begun anew" if machine == "driver" else machine)
    lake = dfjoin.open_lake(uri).add_vectors(embedder, progress=False, engine="spark")
    assert engine.seen == ["radius", *["embed"] * 5, "cells"]
    told = [(one.manifest.embedder.radius, one.manifest.embedder.evidence) for one in (lake, other)]
    assert told[0] == told[1] and told[0][0] > 0
    names = [name for name in below(driver) if name.endswith(".npy")]
    assert [name for name in names if "/models/" not in name and ("vector" in name or kind != "fasttext")] == []
    kept = [name for place in engine.places for name in below(place) if "/runs/" in name or "vectors-" in name]
    assert [name for name in kept if "/models/" not in name] == [], "a task leaves nothing of what it wrote"
    assert not list((tmp_path / "there" / "runs").glob("*"))
    groups = [name for name in below(tmp_path / "there") if "vectors-" in name]
    lake.vacuum(0)
    assert groups and [name for name in below(tmp_path / "there") if "vectors-" in name] == groups
    monkeypatch.setattr(at_store, "_LEFT_SECONDS", -1.0)
    store = store_location(lake.path / "runs")
    request = compact_request(lake.path, lake.settings, list(lake.manifest.segments))
    engine._elsewhere("worker 0")
    store.carry_out(request)
    assert [name for name in below(engine.places[0]) if "/runs/" in name] == [], "nor an embedder, for more than a day"
    engine._elsewhere("driver")
    for one, two in zip(files_of(lake), files_of(other), strict=True):
        assert all((one[name] == two[name]).all() for name in one)
    assert lake.verify() == [] and lake.version == 2


def test_vectors_that_fail_where_the_index_lies_leave_the_version_before(tmp_path, elsewhere, monkeypatch):
    pytest.importorskip("pyspark")
    elsewhere("driver")
    uri = f"local://{tmp_path / 'there'}"
    lake = dfjoin.build_lake({"a": pd.DataFrame({"c": list("pqrstuvw")})}, uri, engine="inline", progress=False)
    monkeypatch.setattr(add_groups, "choose_engine", lambda name, spark: Machines(elsewhere))
    monkeypatch.setattr(embed_driver, "_SMALL_STRETCH", 3)

    def broken(texts):
        if "w" in texts:
            raise TypeError("no w")
        return letters(texts)

    before = below(tmp_path / "there")
    with pytest.raises(InvalidParameterError, match="failed: no w"):
        lake.add_vectors(broken, engine="spark", progress=False)
    assert below(tmp_path / "there") == before and lake.version == 1 and lake.verify() == []
