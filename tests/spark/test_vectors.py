"""Vectors by tasks of Spark: the files of the inline engine, errors that say what to do, and tasks that die."""

import os
import signal

import numpy as np
import pandas as pd
import pytest

import dfjoin
import spark_ext
from dfjoin.errors import InvalidParameterError
from dfjoin.ingest import embed_driver
from tests.ingest.test_embed_driver import files_of
from tests.vectors.makers import letters

pytestmark = pytest.mark.spark

NAMES = pd.DataFrame({"name": [f"{a}{b} {c}" for a in "bcdfg" for b in ("ado", "ena") for c in ("street", "av", "7")]})


@pytest.fixture(autouse=True)
def few_are_worth_a_task(monkeypatch):
    monkeypatch.setattr(embed_driver, "_SMALL_STRETCH", 10)


def same_vectors(one, other):
    return all(
        np.array_equal(mine[name], yours[name])
        for mine, yours in zip(files_of(one), files_of(other), strict=True)
        for name in mine
    )


@pytest.mark.parametrize("embedder", ["fasttext", letters])
def test_a_build_by_tasks_has_the_same_vectors(spark, tmp_path, embedder):
    one = spark_ext.build_index(spark, {"t": NAMES}, tmp_path / "spark", progress=False, embedder=embedder)
    options = {"engine": "inline", "progress": False}
    other = dfjoin.build_lake({"t": NAMES}, tmp_path / "inline", embedder=embedder, **options)
    assert same_vectors(one, other) and one.verify() == []
    more = pd.DataFrame({"name": ["bado stret", "new text"]})
    one.add({"u": more}, spark=spark, progress=False)
    other.add({"u": more}, **options)
    assert same_vectors(one, other) and not list((one.path / "runs").iterdir())
    query = pd.DataFrame({"q": ["bado street", "bena avv"]})
    found = [query.discover_joinable("q", lake, mode="embedding", rank="matched") for lake in (one, other)]
    pd.testing.assert_frame_equal(pd.DataFrame(found[0]), pd.DataFrame(found[1]))


def test_a_function_that_cannot_be_pickled_is_refused_before_anything_is_read(spark, tmp_path):
    lock = __import__("threading").Lock()

    def locked(texts):
        with lock:
            return letters(texts)

    with pytest.raises(InvalidParameterError, match=r"must be a function that can be pickled.*pass engine=\"inline\""):
        spark_ext.build_index(spark, {"t": NAMES}, tmp_path / "x", progress=False, embedder=locked)
    assert not (tmp_path / "x").exists()
    lake = dfjoin.build_lake({"t": NAMES}, tmp_path / "y", engine="inline", progress=False)
    with pytest.raises(InvalidParameterError, match=r"TypeError: cannot pickle .*lock"):
        lake.add_vectors(locked, spark=spark, progress=False)
    assert lake.add_vectors(locked, progress=False).version == 2


def test_what_an_embedder_does_wrong_in_a_task_is_told_as_here(spark, tmp_path):
    def broken(texts):
        vectors = letters(texts)
        vectors[[text.startswith("dado") for text in texts]] = np.nan
        return vectors

    lake = dfjoin.build_lake({"t": NAMES}, tmp_path / "x", engine="inline", progress=False)
    with pytest.raises(InvalidParameterError, match="returned NaN or infinity for 'dado"):
        lake.add_vectors(broken, spark=spark, progress=False)
    assert lake.version == 1 and lake.verify() == [] and not list((lake.path / "runs").iterdir())


def test_a_task_that_is_killed_leaves_nothing_broken(spark, tmp_path):
    """Spark tries no task of a local session again: the job fails, and the next one is as if nothing had been."""
    lake = dfjoin.build_lake({"t": NAMES}, tmp_path / "x", engine="inline", progress=False)
    mark, driver = tmp_path / "killed", os.getpid()

    def dies_once(texts):
        if os.getpid() != driver and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return letters(texts)

    with pytest.raises(dfjoin.errors.EngineError, match="a task of Spark failed"):
        lake.add_vectors(dies_once, spark=spark, progress=False)
    assert lake.version == 1 and lake.verify() == [] and mark.exists()
    lake.add_vectors(dies_once, spark=spark, progress=False)
    other = dfjoin.build_lake({"t": NAMES}, tmp_path / "y", engine="inline", progress=False, embedder=letters)
    lake.vacuum(0)  # a task that outlives its job may leave a file of the scratch directory
    assert same_vectors(lake, other) and not list((lake.path / "runs").iterdir())
    assert len(list((lake.path / "segments").glob("*/vectors-*"))) == 1


def test_progress_of_tasks_is_told(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("dfjoin.ingest.progress._SILENT_SECONDS", -1.0)
    lake = dfjoin.build_lake({"t": NAMES}, tmp_path / "x", engine="inline", progress=False)
    lake.add_vectors(letters, spark=spark)
    reported = capsys.readouterr().err
    assert "dfjoin: gathering 0/30 vectors" in reported
