"""fastText's words and n-grams, against a plain version of its source."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.subwords import (
    WordTable,
    count_words,
    embed_texts,
    enter_words,
    has_letters,
    index_words,
    list_ngrams,
)
from dfjoin.vectors.embedders import to_texts

WORDS = ["the", "paris", "são", "中文", "x"]
SHORTEST, LONGEST, BUCKETS, D = 2, 4, 50, 3


def fnv(data):
    h = 2166136261
    for byte in data:
        h = ((h ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return h


def ngrams(word):
    marked = f"<{word}>"
    found = []
    for i in range(len(marked)):
        for n in range(SHORTEST, LONGEST + 1):
            if i + n <= len(marked) and not (n == 1 and (i == 0 or i + n == len(marked))):
                found.append(len(WORDS) + fnv(marked[i : i + n].encode()) % BUCKETS)
    return found


def naive(text, matrix):
    total, n = np.zeros(D, np.float64), 0
    for word in text.split():
        rows = ([WORDS.index(word)] if word in WORDS else []) + ngrams(word)
        if rows:
            mean = matrix[rows].astype(np.float64).mean(axis=0)
            norm = np.linalg.norm(mean)
            if norm > 0:
                total += mean / norm
                n += 1
    return total / max(1, n)


@pytest.fixture(scope="module")
def table():
    offsets, data = to_texts(WORDS)
    slots = np.full(16, -1, np.int32)
    index_words(as_read_only(offsets), as_read_only(data), slots)
    return WordTable(*map(as_read_only, (offsets, data, slots)), SHORTEST, LONGEST, BUCKETS, len(WORDS), 0, -1)


MATRIX = np.random.default_rng(0).normal(size=(len(WORDS) + BUCKETS, D)).astype(np.float32)


def embed(table, texts):
    offsets, data = map(as_read_only, to_texts(texts))
    out = np.empty((len(texts), D), np.float32)
    embed_texts(table, as_read_only(MATRIX), offsets, data, np.empty((2, 999), np.int64), np.empty(D, np.float32), out)
    return out


@given(st.lists(st.text(st.sampled_from("paris xthe中文ãé \t"), max_size=12), max_size=6))
@settings(max_examples=40, deadline=None)
def test_texts_are_means_of_unit_word_vectors(table, texts):
    texts = [*texts, "the paris", "são 中文", "", " "]
    expected = np.array([naive(text, MATRIX) for text in texts])
    np.testing.assert_allclose(embed(table, texts), expected, atol=1e-6)


@pytest.mark.parametrize("word", ["a", "paris", "日本語", "ß"])
def test_ngrams_are_those_of_the_library(table, word):
    rows = np.empty(99, np.int64)
    _, data = to_texts([word])
    n = list_ngrams(table, as_read_only(data), 0, len(word.encode()), rows)
    assert sorted(rows[:n].tolist()) == sorted(ngrams(word))
    assert list_ngrams(table, as_read_only(data), 0, len(word.encode()), rows[:1]) == 1


def test_letters():
    texts = ["12-3", "1e5", "", "é", "#", "Z"]
    out = np.empty(len(texts), np.bool_)
    has_letters(*map(as_read_only, to_texts(texts)), out)
    assert out.tolist() == [False, True, False, True, False, True]


def test_words_are_counted_and_entered(table):
    texts = ["the\0paris the", "zz the", "", "paris zz"]
    offsets, data = map(as_read_only, to_texts(texts))
    firsts, lasts, counts = np.empty((3, 20), np.int64)
    assert count_words(offsets, data, np.full(64, -1, np.int32), firsts, lasts, counts) == (3, 4)
    words = [data[a:b].tobytes().decode() for a, b in zip(firsts[:3], lasts[:3], strict=True)]
    assert dict(zip(words, counts[:3].tolist(), strict=True)) == {"the": 3, "paris": 2, "zz": 2}
    assert count_words(offsets, data, np.full(2, -1, np.int32), firsts, lasts, counts)[0] == 1
    numbers, indptr = np.empty(20, np.int32), np.empty(5, np.int64)
    assert enter_words(table, offsets, data, numbers, indptr) == 4
    assert indptr.tolist() == [0, 3, 4, 4, 5] and numbers[:5].tolist() == [0, 1, 0, 0, 1]
    assert enter_words(table, offsets, data, numbers[:3], indptr) == 1
