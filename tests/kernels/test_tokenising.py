import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.texts.tokenising import (
    CodePoints,
    SparseRows,
    distinct_in_rows,
    gram_tokens,
    transpose_rows,
    word_slices,
    word_tokens,
)
from tests.kernels.packing import csr, uncsr
from tests.oracles.fuzzy import grams

TEXTS = st.lists(st.text(alphabet="ab é", max_size=8), max_size=5)


def points(texts):
    offsets, numbers = csr([[ord(c) for c in text] for text in texts], np.uint32)
    return CodePoints(numbers, offsets)


def names(indptr, hashes, expected):
    """Check that hashes and expected tokens name each other, row by row."""
    rows = uncsr(indptr, hashes)
    assert [len(row) for row in rows] == [len(row) for row in expected]
    pairs = {
        (h, token) for row, tokens in zip(rows, expected, strict=True) for h, token in zip(row, tokens, strict=True)
    }
    assert len(pairs) == len({h for h, _ in pairs}) == len({token for _, token in pairs})


@given(TEXTS)
def test_words_are_what_spaces_separate(texts):
    indptr, hashes = word_tokens(points(texts))
    names(indptr, hashes, [text.split(" ") and [w for w in text.split(" ") if w] for text in texts])


@given(TEXTS)
def test_slices_spell_the_words(texts):
    starts, ends = word_slices(points(texts))
    whole = "".join(texts)
    assert [whole[a:b] for a, b in zip(starts, ends, strict=True)] == [w for t in texts for w in t.split(" ") if w]


@given(TEXTS, st.integers(1, 5))
def test_grams_are_windows_of_the_padded_text(texts, q):
    indptr, hashes = gram_tokens(points(texts), q)
    expected = []
    for text in texts:
        padded = f" {text} " + " " * max(0, q - len(text) - 2)
        expected.append([padded[i : i + q] for i in range(len(padded) - q + 1)] if text else [])
        assert set(expected[-1]) == grams(text, q)
    names(indptr, hashes, expected)


@given(st.lists(st.lists(st.integers(0, 6), max_size=6), max_size=5))
def test_rows_are_sorted_and_distinct(rows):
    assert uncsr(*distinct_in_rows(SparseRows(*csr(rows)))) == [sorted(set(row)) for row in rows]


@given(st.lists(st.sets(st.integers(0, 6), max_size=6), max_size=5))
def test_lists_hold_the_rows_of_each_token(rows):
    lists = uncsr(*transpose_rows(SparseRows(*csr([sorted(row) for row in rows])), 7))
    assert lists == [[i for i, row in enumerate(rows) if token in row] for token in range(7)]
