"""The embedder in the manifest, and the model of words in the index."""

import json

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IncompatibleSettingsError, IndexCorruptedError, InvalidParameterError
from dfjoin.index.manifest import EmbedderMeta, Manifest, seal
from dfjoin.index.stored_model import open_embedder, verify_model
from dfjoin.vectors import embedders
from dfjoin.vectors.embedders import to_texts
from tests.vectors.makers import letters

NAMES = pd.DataFrame({"name": ["paris", "rome", "oslo", "new york"]})


def test_a_trained_model_lies_in_the_index(build):
    lake = build({"t": NAMES}, embedder="fasttext")
    meta = lake.manifest.embedder
    assert meta.identity.startswith("fasttext-lake:") and meta.dimension == 64 and meta.ngrams == (2, 4)
    one, other = (open_embedder(lake.path, dfjoin.open_lake(lake.path).manifest) for _ in range(2))
    np.testing.assert_array_equal(one.embed(to_texts(["paris"])), other.embed(to_texts(["paris"])))
    assert EmbedderMeta.from_dict(json.loads(json.dumps(meta.to_dict()))) == meta
    assert f"models/{meta.model}" in lake.manifest.named_paths()
    lake.add_vectors(letters)
    assert (lake.path / "models" / meta.model).exists()  # the version before needs it
    lake.vacuum(retain=0)
    assert not (lake.path / "models" / meta.model).exists() and lake.manifest.embedder.model == ""


def test_the_same_values_train_the_same_model(build):
    one = build({"t": NAMES}, embedder="fasttext")
    other = build({"a": NAMES.iloc[:2]})
    other.add({"b": NAMES.iloc[1:]}, engine="inline", progress=False).add_vectors("fasttext")
    assert one.manifest.embedder.identity == other.manifest.embedder.identity


def test_damage_is_found(build):
    lake = build({"t": NAMES}, embedder="fasttext")
    file = next((lake.path / "models").rglob("word_bytes.npy"))
    content = file.read_bytes()
    file.write_bytes(content[:-1] + b"#")
    assert "component `word_bytes` of the index is damaged: its CRC-32" in verify_model(lake.path, lake.manifest)[0]
    assert lake.verify() == verify_model(lake.path, lake.manifest)
    file.write_bytes(content[:-1])
    assert "it has" in verify_model(lake.path, lake.manifest)[0]
    with pytest.raises(
        IndexCorruptedError, match=r"the model of words of the index is damaged .*lake.add_vectors\(\"fast"
    ):
        NAMES.discover_joinable("name", dfjoin.open_lake(lake.path), mode="embedding", rank="matched")
    lake.add_vectors("fasttext")
    assert len(NAMES.discover_joinable("name", lake, mode="embedding", rank="matched")) == 1


def test_a_function_of_another_process_must_be_made_known(build, monkeypatch):
    lake = build({"t": NAMES}, embedder=letters)
    monkeypatch.setattr(embedders, "_KNOWN", {})
    again = dfjoin.open_lake(lake.path)
    with pytest.raises(IncompatibleSettingsError, match="it is an object of another process; make it known with"):
        NAMES.discover_joinable("name", again, mode="embedding", rank="matched")
    with pytest.raises(IncompatibleSettingsError, match="it is an object of another process; make it known with"):
        again.add({"u": NAMES}, engine="inline", progress=False)
    assert dfjoin.register_embedder(letters) == again.manifest.embedder.identity
    assert len(NAMES.discover_joinable("name", again, mode="embedding", rank="matched")) == 1


def test_a_path_that_leads_outside_is_refused(build):
    lake = build({"t": NAMES}, embedder="fasttext")
    values = json.loads(lake.manifest.to_json())
    values["embedder"]["model"] = "../elsewhere"
    with pytest.raises(IndexCorruptedError, match="leads outside the index"):
        Manifest.from_json(seal(values), "here")


def test_an_index_of_before_has_no_embedder(build):
    text = build({"t": NAMES}).manifest.to_json()
    assert "embedder" not in text and Manifest.from_json(text, "here").embedder is None


def test_a_trained_model_is_saved_as_fasttext_saves_one(build, tmp_path):
    lake = build({"t": NAMES}, embedder="fasttext")
    lake.save_embedder(tmp_path / "m.bin")
    other = build({"t": NAMES}, embedder=tmp_path / "m.bin")
    np.testing.assert_array_equal(other.segments[0].vectors.rows, lake.segments[0].vectors.rows)
    with pytest.raises(IncompatibleSettingsError, match=r"this one has vectors of .fasttext-file:m.bin.*outside of it"):
        other.save_embedder(tmp_path / "n.bin")
    with pytest.raises(
        IncompatibleSettingsError, match=r"`save_embedder` writes the n-grams .* this one has no vectors"
    ):
        build({"t": NAMES}).save_embedder(tmp_path / "n.bin")
    with pytest.raises(
        InvalidParameterError, match=r"`path` must be a file that can be written, .*No such file or dir"
    ):
        lake.save_embedder(tmp_path / "none" / "m.bin")
    assert not (tmp_path / "n.bin").exists()
    build({"t": NAMES}, embedder="ngrams").save_embedder(tmp_path / "n.bin")
    assert build({"t": NAMES}, embedder=tmp_path / "n.bin").segments[0].vectors.rows.shape == (4, 96)
