"""Distances of proposed pairs, against naive ones."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.search.fuzzy.similar_texts import SimilarTexts, SpellingRadius
from dfjoin.vectors.embedders import to_texts
from tests.oracles.spelling import spelling_distance

TEXTS = st.lists(st.text("aabñ中", min_size=1, max_size=70).map(lambda text: "x" + text), min_size=1, max_size=5)


@given(TEXTS, st.sampled_from(["edit", "jaccard", "tokens"]))
@settings(max_examples=40, deadline=None)
def test_distances_of_texts_with_repeated_grams_and_other_letters(texts, metric):
    reach = SpellingRadius(metric, 1, "fraction")
    one = SimilarTexts.of(to_texts(texts), reach.metric)
    found = one.pairs(SimilarTexts.of(to_texts(texts), reach.metric), reach)
    seen = {(i, j): d for i, j, d in zip(*(part.tolist() for part in found), strict=True)}
    assert seen == {
        (i, j): spelling_distance(a, b, metric, "fraction") for i, a in enumerate(texts) for j, b in enumerate(texts)
    }


def test_the_seen_grams_of_one_query_text_are_forgotten_by_the_next():
    reach = SpellingRadius("jaccard", 0.9, "fraction")
    texts = SimilarTexts.of(to_texts(["abcabc", "abcdef"]), "jaccard")
    found = texts.pairs(texts, reach)
    assert np.bincount(found.queries).tolist() == [2, 2]
    assert set(found.distances.tolist()) == {0.0, spelling_distance("abcabc", "abcdef", "jaccard", "fraction")}


def _edited(text, rng):
    """Cut stretches out of a text and put others in, so that its diagonals move."""
    for _ in range(int(rng.integers(0, 5))):
        at, n = int(rng.integers(len(text))), int(rng.integers(1, 9))
        text = text[:at] + "".join(rng.choice(list("abcé"), int(rng.integers(0, 9)))) + text[at + n :]
    return text


def test_long_texts_are_compared_block_by_block():
    rng = np.random.default_rng(5)
    own = ["".join(rng.choice(list("abcd e"), n)) for n in (63, 65, 100, 128, 129, 150, 192)]
    others = [_edited(text, rng) for text in own for _ in range(3)] + ["".join(rng.permutation(list(t))) for t in own]
    exact = np.array([[spelling_distance(a, b, "edit", "fraction") for b in others] for a in own])
    one, other = (SimilarTexts.of(to_texts(texts), "edit") for texts in (own, others))
    for radius in (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5):
        found = other.pairs(one, SpellingRadius("edit", radius, "fraction"))
        seen = {(i, j): d for i, j, d in zip(*(part.tolist() for part in found), strict=True)}
        assert seen == {(i, j): exact[i, j] for i, j in np.argwhere(exact <= radius).tolist()}, radius
        turned = one.pairs(other, SpellingRadius("edit", radius, "fraction"))
        assert sorted(zip(turned.texts.tolist(), turned.queries.tolist(), strict=True)) == sorted(seen)
    assert (exact <= 0.15).sum() > 10


def test_long_texts_that_differ_in_a_stretch_alone():
    whole = "".join(np.random.default_rng(6).choice(list("abcdefgh"), 192))
    for other, edits in (
        ("x" * 10 + whole, 10),
        (whole[64:], 64),
        (whole[:64], 128),
        (whole + "y" * 20, 20),
        ("z" * 64 + whole, 64),
    ):
        one, two = (SimilarTexts.of(to_texts([text]), "edit") for text in (whole, other))
        for texts, queries in ((one, two), (two, one)):
            near, far = (texts.pairs(queries, SpellingRadius("edit", n, "absolute")) for n in (edits, edits - 1))
            assert near.distances.tolist() == [edits] and not far.distances.size


def test_texts_of_more_characters_than_a_byte_counts():
    texts = SimilarTexts.of(to_texts(["a" * 256, "a" * 254 + "bb", "b" * 256]), "edit")
    found = texts.pairs(texts, SpellingRadius("edit", 2, "absolute"))
    assert sorted(zip(*(part.tolist() for part in found), strict=True)) == [
        (0, 0, 0), (0, 1, 2), (1, 0, 2), (1, 1, 0), (2, 2, 0),
    ]  # fmt: skip
