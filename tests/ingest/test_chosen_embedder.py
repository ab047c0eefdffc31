"""The embedder of an index: which texts a model is trained on, and what is refused before any work is done."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinError
from dfjoin.ingest import chosen_embedder
from dfjoin.ingest.chosen_embedder import training_texts
from tests.vectors.makers import letters

OPTIONS = {"engine": "inline", "progress": False}
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
    monkeypatch.setattr(chosen_embedder, "_MAX_TRAINING_TEXTS", 2)
    assert set(spelled(training_texts(whole.segments))) < set(found)
    assert spelled(training_texts([])) == []


def test_what_makes_no_vectors_is_refused_before_tables_are_read(tmp_path):
    read = []

    def broken(texts):
        return np.ones((len(texts), 0))

    for embedder, settings, error in [
        (broken, {}, r"returned shape \(4, 0\) for 4 texts"),
        ("no such file", {}, "which is no file"),
        (letters, {"keep_sets": False}, "keeps no values of its large columns"),
    ]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dfjoin.ingest.build.gather", lambda *_: read.append(1))
            with pytest.raises(DfjoinError, match=error):
                dfjoin.build_lake({"t": NAMES}, tmp_path / "x", embedder=embedder, settings=settings, **OPTIONS)
    assert not read and not (tmp_path / "x").exists()
