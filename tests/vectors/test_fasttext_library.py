"""Vectors of fastText models against the package fasttext, where it is installed."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError
from dfjoin.vectors.embedders import choose_embedder, to_texts
from dfjoin.vectors.fasttext_files import check_weights, read_fasttext
from tests.vectors.makers import texts_of_scripts

fasttext = pytest.importorskip("fasttext", reason="the package fasttext (extra `fasttext`) is not installed")

TRAIN = """
import sys, fasttext
place = sys.argv[1]
usual = dict(thread=1, epoch=1, verbose=0, bucket=1000)
for name, model, options in [
    ("skipgram", "skipgram", dict(dim=20, minn=2, maxn=4, minCount=2)),
    ("cbow", "cbow", dict(dim=17, minn=3, maxn=6, minCount=1)),
    ("words", "skipgram", dict(dim=20, maxn=0, minCount=1)),
    ("single", "skipgram", dict(dim=20, minn=0, maxn=2, minCount=1)),
]:
    fasttext.train_unsupervised(f"{place}/texts", model, **options, **usual).save_model(f"{place}/{name}.bin")
for name, options in [
    ("labels", dict(wordNgrams=1, maxn=0)),
    ("labels-ngrams", dict(wordNgrams=1, minn=2, maxn=3)),
    ("labels-words", dict(wordNgrams=3, maxn=0)),
    ("labels-both", dict(wordNgrams=2, minn=2, maxn=4)),
]:
    fasttext.train_supervised(f"{place}/labelled", dim=20, **options, **usual).save_model(f"{place}/{name}.bin")
"""
NAMES = ["skipgram", "cbow", "words", "single", "labels", "labels-ngrams", "labels-words", "labels-both"]


@pytest.fixture(scope="module")
def texts():
    return texts_of_scripts(3000)


@pytest.fixture(scope="module")
def models(tmp_path_factory, texts):
    """Models of the library; made in a process of zeroed memory, since releases of it train on memory as it comes."""
    place = tmp_path_factory.mktemp("models")
    (place / "texts").write_text("\n".join(texts) + "\n", "utf-8")
    (place / "labelled").write_text("\n".join(f"__label__{i % 3} {t}" for i, t in enumerate(texts)) + "\n", "utf-8")
    command = [sys.executable, "-W", "ignore", "-c", TRAIN, str(place)]
    run = subprocess.run(
        command, env={**os.environ, "MALLOC_PERTURB_": "255"}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return place


def of_library(model, texts):
    return np.array([model.get_sentence_vector(text) for text in texts])


@pytest.mark.parametrize("name", NAMES)
def test_vectors_are_those_of_the_library(models, texts, name):
    """To the last bit, of the file and of the loaded model; without n-grams the library reads labels out of bounds."""
    path = models / f"{name}.bin"
    model = fasttext.load_model(str(path))
    tried = [text for text in texts if name != "words" or "__label__" not in text]
    expected = of_library(model, tried)
    np.testing.assert_array_equal(read_fasttext(path).embed(to_texts(tried)), expected)
    np.testing.assert_array_equal(choose_embedder(model).model.embed(to_texts(tried)), expected)


def test_a_loaded_model_is_an_embedder(models, build):
    names = pd.DataFrame({"name": ["zürich", "genève", "bern", "basel"]})
    model = fasttext.load_model(str(models / "skipgram.bin"))
    lake = build({"t": names}, embedder=model)
    assert lake.manifest.embedder.identity.startswith("fasttext-model:")
    found = pd.DataFrame({"n": ["zürichh", "genèvee"]}).discover_joinable(
        "n", lake, mode="embedding", rank="matched", radius=0.4
    )
    assert found["matched"].tolist() == [2]
    again = dfjoin.register_embedder(fasttext.load_model(str(models / "skipgram.bin")).get_sentence_vector)
    assert again == lake.manifest.embedder.identity


def test_what_a_lake_has_trained_is_opened_by_the_library(build, texts, tmp_path):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), 6)) for _ in range(1200)]
    trained = pd.DataFrame({"name": [" ".join(rng.choice(words, 3)) for _ in range(4000)]})
    for frame in (trained, pd.DataFrame({"name": ["rome", "oslo", "paris"]})):  # of the second no word is kept
        lake = build({"t": frame}, embedder="fasttext")
        lake.save_embedder(tmp_path / "model.bin")
        model = fasttext.load_model(str(tmp_path / "model.bin"))
        own = read_fasttext(tmp_path / "model.bin")
        tried = [*texts[:500], *frame["name"][:500]]
        np.testing.assert_array_equal(own.embed(to_texts(tried)), of_library(model, tried))
        other = build({"t": frame}, embedder=tmp_path / "model.bin")
        np.testing.assert_array_equal(np.sort(other.segments[0].vectors.rows), np.sort(lake.segments[0].vectors.rows))


def test_what_was_trained_on_bad_memory_is_refused(models):
    model = fasttext.load_model(str(models / "skipgram.bin"))
    matrix = model.get_input_matrix()
    for bad in (np.nan, np.inf, 3e38):
        matrix[7, 3] = bad
        model.set_matrices(matrix, model.get_output_matrix())
        with pytest.raises(InvalidParameterError, match="row 7 of its matrix has NaN, infinity or a larger one"):
            check_weights(choose_embedder(model).model)


def test_a_quantised_model_is_refused(models):
    model = fasttext.load_model(str(models / "labels.bin"))
    model.quantize(input=str(models / "labelled"), thread=1)
    with pytest.raises(InvalidParameterError, match="`embedder` must be a fastText model that is not quantised, got a"):
        choose_embedder(model)
