"""The scan for texts that are spelled alike, against every pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.text_scan import GRAM_SLOTS, sign_texts
from dfjoin.vectors.embedders import to_texts
from tests.oracles.fuzzy import edit_distance
from tests.oracles.spelling import grams

TEXTS = st.lists(st.text("abcñ中1 ", max_size=12).map(lambda text: "x" + text), min_size=2, max_size=6)


def signed(texts, is_grams, room=64):
    offsets, data = to_texts(texts)
    sizes, signatures = np.empty(len(texts), np.int32), np.empty((4, len(texts)), np.uint64)
    given = map(as_read_only, (data, offsets[:-1].copy(), np.diff(offsets)))
    scratch = np.empty(room + 2, np.int64), np.full((2, GRAM_SLOTS), -1)
    sign_texts(*given, is_grams, *scratch, sizes, signatures)
    return sizes.tolist(), signatures


def bits_apart(signatures, i, j):
    return sum(bin(int(word)).count("1") for word in signatures[:, i] ^ signatures[:, j])


@given(TEXTS)
@settings(max_examples=40, deadline=None)
def test_signatures_of_near_texts_differ_by_few_bits(texts):
    sizes, by_pairs = signed(texts, False)
    assert sizes == [len(text) for text in texts]
    own_sizes, by_grams = signed(texts, True)
    assert own_sizes == [len(grams(text)) for text in texts]
    for i, a in enumerate(texts):
        for j, b in enumerate(texts):
            assert bits_apart(by_pairs, i, j) <= 4 * edit_distance(a, b)
            assert bits_apart(by_grams, i, j) <= len(grams(a) ^ grams(b))


@pytest.mark.parametrize("is_grams", [False, True])
def test_longer_texts_and_those_without_a_letter_have_no_size(is_grams):
    sizes, _ = signed(["a" * 64, "a" * 65, "", "1-2"], is_grams)
    assert sizes[1:] == [-1, -1, -1] and sizes[0] > 0
