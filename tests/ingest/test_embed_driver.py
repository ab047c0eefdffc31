"""The second job of a build: vectors by this process and by tasks, and what may go wrong."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import (
    ConcurrentCommitError,
    DfjoinWarning,
    EngineError,
    IncompatibleSettingsError,
    InvalidParameterError,
)
from dfjoin.index.components import VECTORS
from dfjoin.ingest import embed_driver
from dfjoin.ingest.requests import execute
from dfjoin.store import add_groups
from tests.store.lakes import overtake
from tests.vectors.makers import letters
from tests.vectors.test_fasttext_model import write_model

OPTIONS = {"engine": "inline", "progress": False}
NAMES = pd.DataFrame({"name": ["paris", "rome", "oslo", "12-3", "new york"], "n": range(5)})


def test_a_build_that_cannot_embed_leaves_nothing(tmp_path):
    def broken(texts):
        return np.ones((len(texts) + 1, 2))

    with pytest.raises(InvalidParameterError, match=r"returned shape \(5, 2\) for 4 texts"):
        dfjoin.build_lake({"t": NAMES}, tmp_path / "x", engine="inline", progress=False, embedder=broken)
    assert not (tmp_path / "x").exists()


def test_adding_vectors_that_fail_leaves_the_index_as_it_was(build):
    lake = build({"t": NAMES})
    before = sorted(path for path in lake.path.rglob("*"))

    def fails_later(texts):
        if "oslo" in texts:
            raise TypeError("no oslo")
        return letters(texts)

    with pytest.raises(InvalidParameterError, match="failed: no oslo"):
        lake.add_vectors(fails_later)
    assert sorted(path for path in lake.path.rglob("*")) == before and lake.version == 1


def test_vectors_are_added_once(build):
    lake = build({"t": NAMES}).add_vectors(letters)
    assert lake.version == 2 and lake.add_vectors().version == 2
    assert lake.add_vectors("fasttext").version == 3


def test_other_vectors_meanwhile_stop_an_addition(build, monkeypatch):
    lake = build({"t": NAMES}, embedder=letters)
    other = dfjoin.open_lake(lake.path)
    overtake(monkeypatch, lambda: other.add_vectors("fasttext"))
    with pytest.raises(ConcurrentCommitError, match="with other settings, vectors or axes meanwhile"):
        lake.add({"u": NAMES}, engine="inline", progress=False)


def test_an_index_without_sets_has_no_vectors(build):
    lake = build({"t": pd.DataFrame({"name": [f"n{i}" for i in range(400)]})}, settings={"keep_sets": False})
    with pytest.raises(IncompatibleSettingsError, match=r"keeps no values of its large columns .* have no vectors"):
        lake.add_vectors(letters)


def test_the_embedder_of_an_index_stays_when_tables_are_added(build):
    lake = build({"t": NAMES}, embedder=letters)
    with pytest.raises(InvalidParameterError, match=r'`embedder` belongs to a new index, and if_exists="add" keeps'):
        dfjoin.build_lake({"u": NAMES}, lake.path, engine="inline", progress=False, if_exists="add", embedder=letters)


_CHILD = """
import sys, pandas as pd, dfjoin
from tests.vectors.makers import letters
from tests.vectors.test_fasttext_model import write_model
if __name__ == "__main__":
    lake = dfjoin.open_lake(sys.argv[1])
    lake.add_vectors(letters, progress=False)  # kernels are compiled or loaded
    def slow(texts):
        print("embedding", flush=True)
        return letters(texts)
    embedder = slow if sys.argv[2] == "embedding" else "fasttext"
    print("training", flush=True)
    try:
        while True:
            lake.add_vectors(embedder, progress=False)
    except KeyboardInterrupt:
        print("interrupted", lake.version, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("stage", ["training", "embedding"])
def test_an_interrupt_ends_it_soon_and_leaves_nothing_broken(build, stage):
    """An endless job is told to stop somewhere in the middle: it stops, and what is there is sound."""
    rng = np.random.default_rng(0)
    words = np.array([f"{a}{b}" for a in "bcdfghkl" for b in ("ado", "ena", "iru", "omi", "ust")])
    texts = [" ".join(words[row]) for row in rng.integers(0, words.size, (30_000, 5))]
    lake = build({"t": pd.DataFrame({"name": texts})})
    command = [sys.executable, "-c", _CHILD, str(lake.path), stage]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        lines = iter(child.stdout.readline, "")
        assert next(line for line in lines if line.strip() == stage)
        time.sleep(0.7)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        # Python drops an interrupt that arrives in a callback of a weak reference: then people press the keys again.
        again, deadline = threading.Timer(6, child.send_signal, [signal.SIGINT]), threading.Timer(60, child.kill)
        again.start()
        deadline.start()
        last = list(lines)[-1].split()
        again.cancel()
        deadline.cancel()
        assert time.monotonic() - start < 12  # 2 s where no other process wants the processor
        assert last[0] == "interrupted" and child.wait() == 0
    lake = dfjoin.open_lake(lake.path)
    assert lake.verify() == [] and lake.version >= int(last[1])
    before = {path.name for path in lake.path.rglob("*") if path.is_file()}
    assert lake.vacuum(retain=0)["files"] <= len(before)
    query = pd.DataFrame({"q": texts[:30]})
    assert query.discover_joinable("q", lake, rank="matched")["matched"].tolist() == [30]
    lake.add_vectors(letters, progress=False)  # the function of the other process is not known here
    assert query.discover_joinable("q", lake, mode="embedding", rank="matched")["matched"].tolist() == [30]


def test_progress_tells_the_stages(build, capsys, monkeypatch):
    monkeypatch.setattr("dfjoin.ingest.progress._SILENT_SECONDS", 0.0)
    lake = build({"t": NAMES})
    monkeypatch.setattr("dfjoin.ingest.progress.time.monotonic", iter(range(0, 10**6, 20)).__next__)
    lake.add_vectors("fasttext")
    told = capsys.readouterr().err
    assert "dfjoin: training vectors 0%" in told and "dfjoin: embedding values" in told
    lake.add_vectors(letters, progress=False)
    assert capsys.readouterr().err == ""


class Tasks:
    """An engine whose tasks could run anywhere: several slots, and nothing of this process but requests."""

    n_slots, is_here = 2, False

    def __init__(self):
        self.seen = []

    def run(self, requests, work, on_table):
        self.seen.append([json.loads(request)["task"] for request in requests])
        return [execute(request) for request in reversed(requests)]  # in any order


def files_of(lake):
    """The arrays of the group ``vectors`` of each segment, by name."""
    return [dict(zip(VECTORS, segment._map("vectors", VECTORS), strict=True)) for segment in lake.segments]


@pytest.fixture
def many(build, monkeypatch):
    """Two segments of some hundred texts; stretches are short."""
    monkeypatch.setattr(embed_driver, "_SMALL_STRETCH", 50)
    words = [f"{a}{b} {c}" for a in "bcd" for b in ("ado", "ena", "iru") for c in ("street", "av.", "7")]
    frames = [pd.DataFrame({"name": [f"{word} {k}" for word in words for k in group]}) for group in ("xyz", "uvw")]
    lake = build({"a": frames[0], "none": pd.DataFrame({"n": range(9)})}, settings={"permutations": 0})
    return lake.add({"b": frames[1], "12": pd.DataFrame({"code": ["12", "13"]})}, **OPTIONS)


def test_tasks_write_the_same_files_as_this_process(many, monkeypatch):
    engine = Tasks()
    monkeypatch.setattr(add_groups, "choose_engine", lambda name, spark: engine if name == "spark" else None)
    many.add_vectors("fasttext", progress=False)
    inline = files_of(many)
    many.add_vectors("fasttext", engine="spark", progress=False)
    for one, other in zip(inline, files_of(many), strict=True):
        for name in VECTORS:
            np.testing.assert_array_equal(one[name], other[name])
    assert engine.seen == [["radius"], ["embed"] * 4, ["cells"] * 2]
    assert many.verify() == [] and not list((many.path / "runs").iterdir())
    many.vacuum(0)
    assert [len(list((many.path / "segments" / s.meta.id).glob("vectors-*"))) for s in many.segments] == [1, 1]


def test_few_values_are_embedded_here(many, monkeypatch):
    engine = Tasks()
    monkeypatch.setattr(add_groups, "choose_engine", lambda name, spark: engine)
    monkeypatch.setattr(embed_driver, "_SMALL_STRETCH", 1000)
    many.add_vectors(letters, engine="spark", progress=False)
    assert engine.seen == [] and len(files_of(many)) == 2


def test_a_model_of_a_file_is_mapped_by_tasks(many, monkeypatch, tmp_path):
    """Its arrays are written once beside the work, and abbreviations are written out by tasks, too."""
    path = tmp_path / "model.bin"
    write_model(path)
    monkeypatch.setattr(add_groups, "choose_engine", lambda name, spark: Tasks() if name == "spark" else None)
    many.add_vectors(path, abbreviations={"av": "avenue"}, progress=False)
    inline = files_of(many)
    many.add_vectors(path, abbreviations={"av": "avenue"}, engine="spark", progress=False)
    for one, other in zip(inline, files_of(many), strict=True):
        np.testing.assert_array_equal(one["vector_rows"], other["vector_rows"])
    assert not (many.path / "models").exists()


def test_tasks_that_fail_leave_the_index_as_it_was(many, monkeypatch):
    class Lost(Tasks):
        def run(self, requests, work, on_table):
            found = super().run(requests, work, on_table)
            if self.seen[-1][0] == "cells":
                raise EngineError("a task of Spark failed")
            return found

    monkeypatch.setattr(add_groups, "choose_engine", lambda name, spark: Lost())
    before = {path for path in many.path.rglob("*") if path.is_file()}
    with pytest.raises(EngineError, match="a task of Spark failed"):
        many.add_vectors("fasttext", engine="spark", progress=False)
    assert {path for path in many.path.rglob("*") if path.is_file()} == before
    assert many.verify() == [] and many.version == 2


def test_texts_without_any_vector_are_told(build):
    lake = build({"t": pd.DataFrame({"name": ["paris", "rome"]}), "n": pd.DataFrame({"x": [1, 2]})})
    with pytest.warns(DfjoinWarning, match=r"embedded 0 of 2 texts: function:.* returned zeros for all of them"):
        lake.add_vectors(lambda texts: np.zeros((len(texts), 3)))
    numbers = build({"n": pd.DataFrame({"x": [1, 2]})})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numbers.add_vectors(lambda texts: np.zeros((len(texts), 3)))
