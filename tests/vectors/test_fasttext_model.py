"""fastText models: read as the library writes them, and trained."""

import struct
from dataclasses import replace

import numpy as np
import pytest

from dfjoin.errors import InvalidParameterError
from dfjoin.vectors.embedders import to_texts, unit_rows
from dfjoin.vectors.fasttext_files import check_weights, read_fasttext
from dfjoin.vectors.fasttext_model import TrainingOptions, texts_with_letters, train_fasttext

WORDS = ["</s>", "paris", "são", "x"]
SMALL = TrainingOptions(dimension=16, n_buckets=2000, max_trained=50_000)


def write_model(path, *, minn=2, maxn=4, version=12, buckets=50, quantised=False, kind=1):
    """A model as fastText saves it, written from the description of its format."""
    d, n = 5, len(WORDS)
    matrix = np.random.default_rng(0).normal(size=(n + buckets, d)).astype("<f4")
    parts = [struct.pack("<ii", 793712314, version)]
    parts.append(struct.pack("<12id", d, 5, 1, 1, 5, 1, 2, kind, buckets, minn, maxn, 100, 1e-4))
    parts.append(struct.pack("<iiiqq", n, n, 0, 1000, -1))
    for number, word in enumerate(WORDS):
        parts.append(word.encode() + b"\0" + struct.pack("<qb", 256 + number, 0))
    parts.append(struct.pack("<?", quantised) + struct.pack("<qq", *matrix.shape) + matrix.tobytes())
    path.write_bytes(b"".join(parts))
    return matrix


def test_a_file_is_read(tmp_path):
    matrix = write_model(tmp_path / "m.bin")
    model = read_fasttext(tmp_path / "m.bin")
    np.testing.assert_array_equal(model.matrix, matrix)
    words = [model.data[a:b].tobytes().decode() for a, b in zip(model.offsets, model.offsets[1:], strict=False)]
    assert words == WORDS and (model.shortest, model.longest, model.dimension) == (2, 4, 5)
    vectors = model.embed(to_texts(["x", "paris", "zürich", ""]))
    assert np.isfinite(vectors).all() and not vectors[3].any() and vectors[:3].any(axis=1).all()


def test_a_model_without_ngrams_knows_its_words_alone(tmp_path):
    matrix = write_model(tmp_path / "m.bin", buckets=0, maxn=0, minn=0)
    vectors = read_fasttext(tmp_path / "m.bin").embed(to_texts(["paris", "rome"]))
    np.testing.assert_allclose(vectors[0], matrix[1] / np.linalg.norm(matrix[1]), rtol=1e-6)
    assert not vectors[1].any()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("text", "it does not begin as one"),
        ("short", "unpack requires a buffer"),
        ("quantised", "it is quantised"),
        ("cut", "mmap length is greater than file size"),
        ("version", "it does not begin as one"),
        ("sizes", "its sizes are impossible, or it is quantised"),
        ("matrix", "its matrix does not fit its dictionary"),
    ],
)
def test_other_files_are_refused(tmp_path, damage, reason):
    path = tmp_path / "m.bin"
    write_model(path, quantised=damage == "quantised", version=3 if damage == "version" else 12)
    if damage == "text":
        path.write_text("a,b\n1,2\n" * 20)
    elif damage == "short":
        path.write_bytes(path.read_bytes()[:30])
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    elif damage in ("sizes", "matrix"):  # no dimensions, and fewer rows of n-grams than there are
        data = bytearray(path.read_bytes())
        struct.pack_into("<i", data, *((8, 0) if damage == "sizes" else (40, 49)))
        path.write_bytes(data)
    with pytest.raises(
        InvalidParameterError, match=rf"`embedder` must be the file of a fastText model .*{reason}.*give another file"
    ):
        read_fasttext(path)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 3e38])
def test_weights_that_are_no_numbers_are_refused(tmp_path, bad):
    write_model(tmp_path / "m.bin")
    model = read_fasttext(tmp_path / "m.bin")
    check_weights(model)
    matrix = model.matrix.copy()
    matrix[7, 3] = bad
    with pytest.raises(InvalidParameterError, match="row 7 of its matrix has NaN, infinity or a larger one"):
        check_weights(replace(model, matrix=matrix))


def corpus(n=6000):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), 6)) for _ in range(1500)]
    return [" ".join(rng.choice(words, 3)) for _ in range(n)]


def test_training_is_reproducible_and_finite():
    texts = to_texts(corpus())
    told = []
    one, other = train_fasttext(texts, SMALL, told.append), train_fasttext(texts, SMALL)
    np.testing.assert_array_equal(one.matrix, other.matrix)
    assert told[-1] == 1 and one.offsets.size - 1 > 1000 and np.isfinite(one.matrix).all()
    vectors = unit_rows(one.embed(texts))
    assert np.linalg.norm(vectors.mean(axis=0)) < 0.5


@pytest.mark.parametrize("n", [0, 30, 6000])
def test_misspelled_words_are_nearer_than_others(n):
    """Also of a lake that is too small to train on, where n-grams keep their random vectors."""
    texts = [*corpus(n), "alexandria", "constantinople"]
    model = train_fasttext(to_texts(texts), SMALL)
    vectors = unit_rows(model.embed(to_texts(["alexandria", "alexandrai", "constantinople", "mount everest"])))
    distances = np.linalg.norm(vectors[0] - vectors[1:], axis=1)
    assert distances[0] < 0.9 < distances[1:].min()


def test_letters_are_asked_for():
    assert texts_with_letters(to_texts(["1-2", "a", "中", "+"])).tolist() == [False, True, True, False]
