"""The second job of a build: which texts a model is trained on, and what may go wrong."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ConcurrentCommitError, IncompatibleSettingsError, InvalidParameterError
from dfjoin.ingest import embed_task
from dfjoin.ingest.embed_task import training_texts
from tests.store.lakes import overtake
from tests.vectors.makers import letters

NAMES = pd.DataFrame({"name": ["paris", "rome", "oslo", "12-3", "new york"], "n": range(5)})


def spelled(texts):
    offsets, data = texts
    return [data[a:b].tobytes().decode() for a, b in zip(offsets, offsets[1:], strict=False)]


def test_training_texts_do_not_depend_on_segments(build, monkeypatch):
    whole = build({"t": NAMES})
    parts = build({"a": NAMES.iloc[:3]})
    parts.add({"b": NAMES.iloc[2:], "c": NAMES.iloc[:2]}, engine="inline", progress=False)
    assert len(parts.segments) == 2
    found = spelled(training_texts(whole.segments))
    assert sorted(found) == ["new york", "oslo", "paris", "rome"] and spelled(training_texts(parts.segments)) == found
    monkeypatch.setattr(embed_task, "_MAX_TRAINING_TEXTS", 2)
    assert set(spelled(training_texts(whole.segments))) < set(found)
    assert spelled(training_texts([])) == []


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
