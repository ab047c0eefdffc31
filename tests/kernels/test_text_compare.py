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
