"""Embedders: what may be given, what they must return, and how they are known again."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import dfjoin
from dfjoin.errors import IncompatibleSettingsError, InvalidParameterError, InvalidTypeError, MissingDependencyError
from dfjoin.vectors import embedders
from dfjoin.vectors.embedders import (
    FunctionEmbedder,
    check_probe,
    choose_embedder,
    known_embedder,
    probe_of,
    remember_embedder,
    stable_probe_of,
    to_texts,
    unit_rows,
)
from tests.vectors.test_fasttext_model import write_model


def lengths(texts):
    return [[len(text), 1.0] for text in texts]


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(embedders, "_KNOWN", {})


def test_texts_keep_their_bytes():
    offsets, data = to_texts(["a", "", "é"])
    assert offsets.tolist() == [0, 1, 1, 3] and data[:3].tobytes().decode() == "aé"


def test_rows_have_length_one_or_zero():
    rows = unit_rows(np.array([[3, 4], [0, 0], [1e-30, 0], [1e30, 1e30]], np.float32))
    np.testing.assert_allclose(np.linalg.norm(rows.astype(float), axis=1), [1, 0, 1, 1], atol=1e-7)
    assert rows.dtype == np.float32 and unit_rows(np.empty((0, 3))).shape == (0, 3)


def test_a_function_is_called_in_batches(monkeypatch):
    monkeypatch.setattr(embedders, "_BATCH", 2)
    seen = []

    def note(texts):
        seen.append(texts)
        return lengths(texts)

    vectors = FunctionEmbedder(note, "note").embed(to_texts(["a", "bb", "ccc"]))
    assert seen == [["a", "bb"], ["ccc"]] and vectors.tolist() == [[1, 1], [2, 1], [3, 1]]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (lambda texts: [1.0], r"array of shape \(n, d\), but f returned shape \(1,\) for 2 texts"),
        (lambda texts: np.zeros((1, 3)), r"returned shape \(1, 3\) for 2 texts"),
        (lambda texts: np.zeros((2, 0)), r"returned shape \(2, 0\) for 2 texts"),
        (lambda texts: [[1.0, 2.0], [float("nan"), 1.0]], "returned NaN or infinity for 'b'; return zeros"),
        (lambda texts: [["a"], ["b"]], "map a list of n texts to numbers .*but f failed"),
    ],
)
def test_a_function_that_returns_something_else(result, text):
    with pytest.raises(InvalidParameterError, match=f"`embedder` must .*{text}"):
        FunctionEmbedder(result, "f").embed(to_texts(["a", "b"]))


def test_a_function_must_keep_to_one_length(monkeypatch):
    monkeypatch.setattr(embedders, "_BATCH", 1)
    with pytest.raises(InvalidParameterError, match="must return vectors of one length, but f returned several"):
        FunctionEmbedder(lambda texts: np.ones((1, len(texts[0]))), "f").embed(to_texts(["a", "bb"]))


def test_what_may_be_given(tmp_path):
    write_model(tmp_path / "m.bin")
    assert choose_embedder("fasttext") is None
    ngrams = choose_embedder("ngrams")
    remembered = known_embedder(ngrams.identity, ngrams.place, *probe_of(ngrams))
    assert ngrams.identity == "ngrams:1" and remembered.model is ngrams.model
    assert choose_embedder(lengths).identity == "function:tests.vectors.test_embedders.lengths"
    model = choose_embedder(str(tmp_path / "m.bin"))
    assert model.identity.startswith("fasttext-file:m.bin:") and model.place == str(tmp_path / "m.bin")
    assert choose_embedder(model) is model
    assert not model.embed(to_texts(["12"])).any() and model.embed(to_texts(["1a"])).any()
    with pytest.raises(
        InvalidParameterError,
        match=r"`embedder` must be 'ngrams', 'fasttext'.*, the file .* got 'nope.bin', which is no",
    ):
        choose_embedder("nope.bin")
    with pytest.raises(InvalidTypeError, match=r"`embedder` must be 'ngrams', 'fasttext'.* got int"):
        choose_embedder(3)


def test_sentence_transformers_are_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependencyError, match=r"pip install \"dfjoin\[sentence\]\""):
        choose_embedder("sentence-transformers/all-MiniLM-L6-v2")


class Encoder:
    """As a SentenceTransformer: it is callable as well, with something else."""

    def __call__(self, features):
        raise AssertionError

    def encode(self, texts):
        return lengths(texts)


def test_objects_that_encode_or_transform():
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

    encoder = choose_embedder(Encoder())
    assert encoder.identity == "function:tests.vectors.test_embedders.Encoder"
    assert encoder.embed(to_texts(["a", "bb"])).tolist() == [[1, 1], [2, 1]]
    fitted = TfidfVectorizer(analyzer="char", ngram_range=(2, 3)).fit(["paris", "rome"])
    vectors = choose_embedder(fitted).embed(to_texts(["paris", "zz"]))
    np.testing.assert_allclose(vectors, fitted.transform(["paris", "zz"]).toarray(), rtol=1e-6)
    with pytest.raises(InvalidParameterError, match=r"must return sparse vectors of at most 4,096 numbers.* got 1,048"):
        choose_embedder(HashingVectorizer()).embed(to_texts(["paris"]))
    with pytest.raises(InvalidParameterError, match=r"TfidfVectorizer failed: .*not fitted"):
        choose_embedder(TfidfVectorizer()).embed(to_texts(["paris"]))
    with pytest.raises(InvalidTypeError, match="got the class TfidfVectorizer; make an object of it"):
        choose_embedder(TfidfVectorizer)


def test_models_of_sentence_transformers_by_name_and_directory(monkeypatch, tmp_path):
    opened = []

    class Model:
        def __init__(self, name):
            opened.append(name)
            if name == "nobody/none":
                raise OSError("no such model")

        def encode(self, texts, convert_to_numpy, show_progress_bar):
            return np.array(lengths(texts))

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Model))
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "config.json").write_text("{}")
    identities = []
    for name in ["sentence-transformers/mini", "someone/mini", tmp_path / "small"]:
        model = choose_embedder(name)
        identities.append(model.identity)
        assert known_embedder(model.identity, model.place, *probe_of(model)).identity == model.identity
    assert identities[:2] == ["sentence-transformers/mini", "sentence-transformers:someone/mini"]
    assert identities[2].startswith("sentence-transformers-files:small:")
    assert opened[2] == "someone/mini" and opened[-1] == str(tmp_path / "small")
    with pytest.raises(InvalidParameterError, match="sentence-transformers cannot open 'nobody/none': no such model"):
        choose_embedder("nobody/none")


def test_two_functions_of_one_name_are_told_apart():
    one, other = (choose_embedder(lambda texts, d=d: np.ones((len(texts), d))) for d in (2, 3))
    assert one.identity == other.identity
    remember_embedder(one)
    remember_embedder(other)
    assert known_embedder(one.identity, "", *probe_of(one)) is one
    assert known_embedder(one.identity, "", *probe_of(other)) is other
    with pytest.raises(IncompatibleSettingsError, match="makes vectors of 3 numbers, and the index has vectors of 4"):
        known_embedder(one.identity, "", 4, [])


def test_a_person_names_an_embedder():
    assert dfjoin.register_embedder(lambda texts: lengths(texts), identity="lengths-2") == "lengths-2"
    assert choose_embedder("lengths-2").embed(to_texts(["abc"])).tolist() == [[3, 1]]
    named = Encoder()
    named.identity = "mine"
    assert choose_embedder(named).identity == "mine"
    for wrong in ("", " ", "fasttext", "ngrams:1", 3):
        with pytest.raises(InvalidParameterError, match="`identity` must be a name that no built-in embedder has"):
            dfjoin.register_embedder(lengths, identity=wrong)
    with pytest.raises(InvalidParameterError, match='`embedder` "fasttext" is trained by an index and kept in it; it'):
        dfjoin.register_embedder("fasttext")
    with pytest.raises(InvalidParameterError, match="`identity` belongs to functions and objects, and 'lengths-2' is"):
        dfjoin.register_embedder("lengths-2", identity="other")


def test_vectors_that_change_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidParameterError, match=r"must return the same vector of a text each time, but function:"):
        stable_probe_of(choose_embedder(lambda texts: rng.normal(size=(len(texts), 4))))


def test_an_own_embedder_must_return_an_array():
    for result, came in [("a text", "str"), (np.ones(4), r"shape \(4,\)")]:
        own = SimpleNamespace(identity="own", place="", embed=lambda texts, result=result: result)
        with pytest.raises(
            InvalidParameterError, match=f"must have a method `embed` that .* own returned {came} for 4"
        ):
            stable_probe_of(choose_embedder(own))


def test_what_was_used_is_known_again(tmp_path):
    write_model(tmp_path / "m.bin")
    model = choose_embedder(tmp_path / "m.bin")
    assert known_embedder(model.identity, model.place, *probe_of(model)).identity == model.identity
    function = choose_embedder(lengths)
    with pytest.raises(
        IncompatibleSettingsError, match=r"it is an object of another process; make it known with dfjoin.reg"
    ):
        known_embedder(function.identity, "", *probe_of(function))
    remember_embedder(function)
    assert known_embedder(function.identity, "", *probe_of(function)) is function
    write_model(tmp_path / "m.bin", buckets=60)
    embedders._KNOWN.clear()
    with pytest.raises(IncompatibleSettingsError, match=r"its file '.*m.bin' is gone or another one"):
        known_embedder(model.identity, model.place, *probe_of(model))


def test_another_embedder_is_noticed():
    dimension, probe = probe_of(choose_embedder(lengths))
    check_probe(choose_embedder(lengths), dimension, probe)
    other = FunctionEmbedder(lambda texts: [[1.0, len(text)] for text in texts], "other")
    with pytest.raises(IncompatibleSettingsError, match="'other' makes other vectors than when the index was made"):
        check_probe(other, dimension, probe)
    longer = FunctionEmbedder(lambda texts: np.ones((len(texts), 3)), "longer")
    with pytest.raises(IncompatibleSettingsError, match="makes vectors of 3 numbers, and the index has vectors of 2"):
        check_probe(longer, dimension, probe)


def test_choosing_brings_no_library():
    code = "import sys, dfjoin.vectors.embedders; print('fasttext' in sys.modules or 'torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("name", ["models/wiki.en.vec", "models/wiki.en.ftz", "models/wiki.bin"])
def test_a_file_that_is_not_there_is_no_name_of_a_model(name):
    with pytest.raises(InvalidParameterError, match=f"got '{name}', which is no file"):
        choose_embedder(name)
