"""The scan for texts that are spelled alike, against every pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.text_scan import GRAM_SLOTS, measure_texts
from dfjoin.search.fuzzy.similar_texts import SimilarTexts, SpellingRadius
from dfjoin.vectors.embedders import to_texts
from tests.oracles.fuzzy import edit_distance
from tests.oracles.spelling import grams

TEXTS = st.lists(st.text("abcñ中1 ", max_size=12).map(lambda text: "x" + text), min_size=2, max_size=6)


def measured(texts, is_grams, room=64):
    offsets, data = to_texts(texts)
    sizes, counts = np.empty(len(texts), np.int16), np.zeros(room + 3, np.int64)
    given = map(as_read_only, (data, offsets, np.arange(len(texts), dtype=np.uint32)))
    scratch = np.empty(room + 2, np.int64), np.full((2, GRAM_SLOTS), -1)
    measure_texts(*given, (0, len(texts)), is_grams, *scratch, sizes, counts)
    assert counts.tolist() == np.bincount(sizes[sizes >= 0], minlength=counts.size).tolist()
    return sizes.tolist()


def signed(texts, metric):
    made = SimilarTexts.of(to_texts(texts), metric)
    made.pairs(made, SpellingRadius(metric, 1, "fraction"))
    return made._texts.words[:, made.positions(np.arange(len(texts)))]


def bits_apart(signatures, i, j):
    return sum(bin(int(word)).count("1") for word in signatures[:, i] ^ signatures[:, j])


@given(TEXTS)
@settings(max_examples=40, deadline=None)
def test_signatures_of_near_texts_differ_by_few_bits(texts):
    assert measured(texts, False) == [len(text) for text in texts]
    assert measured(texts, True) == [len(grams(text)) for text in texts]
    by_pairs, by_grams = signed(texts, "edit"), signed(texts, "jaccard")
    for i, a in enumerate(texts):
        for j, b in enumerate(texts):
            assert bits_apart(by_pairs, i, j) <= 4 * edit_distance(a, b)
            assert bits_apart(by_grams, i, j) <= len(grams(a) ^ grams(b))


@pytest.mark.parametrize("is_grams", [False, True])
def test_longer_texts_and_those_without_a_letter_have_no_size(is_grams):
    sizes = measured(["a" * 64, "a" * 65, "", "1-2"], is_grams)
    assert sizes[1:] == [-1, -1, -1] and sizes[0] > 0


@pytest.mark.parametrize("offsets", [[0, 2, 9, 9], [0, 4, 2, 6], [-1, 2, 4, 6], [0, 2, 7, 6]])
@pytest.mark.parametrize("metric", ["edit", "jaccard", "tokens"])
def test_texts_outside_of_their_data_are_damaged(offsets, metric):
    with pytest.raises(DamagedArraysError):
        SimilarTexts.of((np.array(offsets), np.frombuffer(b"abcdef", np.uint8)), metric)
