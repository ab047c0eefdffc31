"""Texts within a radius of others, against every pair."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.errors import InvalidParameterError
from dfjoin.search.fuzzy import similar_texts
from dfjoin.search.fuzzy.similar_texts import LONGEST, SimilarTexts, SpellingRadius, TextLists, spelling_radius
from dfjoin.vectors.embedders import to_texts
from tests.oracles.spelling import spelling_distance


def texts_of(values, reach):
    return SimilarTexts.of(to_texts(values), reach.metric)


def pairs_of(one, other, reach):
    found = texts_of(other, reach).pairs(texts_of(one, reach), reach)
    return {(i, j): d for i, j, d in zip(*(part.tolist() for part in found), strict=True)}


def expected_pairs(one, other, reach):
    def is_text(text):
        return any((c.isascii() and c.isalpha()) or ord(c) > 127 for c in text) and len(text) <= LONGEST

    distances = {
        (i, j): spelling_distance(a, b, reach.metric, reach.unit)
        for i, a in enumerate(one)
        for j, b in enumerate(other)
        if is_text(a) and is_text(b)
    }
    return {pair: d for pair, d in distances.items() if d <= reach.radius}


WORDS = st.lists(st.text("abcdé中1 ", max_size=14), max_size=12)


@given(
    WORDS, WORDS, st.sampled_from([0, 0.1, 0.2, 0.25, 1 / 3, 0.5, 1]), st.sampled_from(["edit", "jaccard", "tokens"])
)
@settings(max_examples=60, deadline=None)
def test_pairs_are_those_of_all_pairs(one, other, radius, metric):
    for reach in (SpellingRadius(metric, radius, "fraction"), SpellingRadius("edit", int(radius * 6), "absolute")):
        assert pairs_of(one, other, reach) == expected_pairs(one, other, reach)


@given(WORDS, WORDS, st.sampled_from([0.2, 1]), st.sampled_from(["edit", "jaccard", "tokens"]), st.randoms())
@settings(max_examples=40, deadline=None)
def test_distances_of_some_pairs(one, other, radius, metric, rng):
    reach = SpellingRadius(metric, radius, "fraction")
    pairs = [(i, j) for i in range(len(one)) for j in range(len(other)) if rng.random() < 0.5]
    rng.shuffle(pairs)
    own, theirs = np.array(pairs, np.int64).reshape(-1, 2).T
    found = texts_of(other, reach).distances(texts_of(one, reach), (own, theirs), reach)
    expected = expected_pairs(one, other, reach)
    assert found.tolist() == [expected.get(pair, np.inf) for pair in pairs]


@given(WORDS, WORDS, st.sampled_from([0.2, 0.5, 1]), st.sampled_from(["edit", "jaccard", "tokens"]), st.randoms())
@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("most", [similar_texts.MOST_PAIRS, 2])
def test_one_text_of_a_list_is_enough(most, one, other, radius, metric, rng):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similar_texts, "MOST_PAIRS", most)
        _check_lists(one, other, radius, metric, rng)


def _check_lists(one, other, radius, metric, rng):
    """Compare the lists of texts that are met with all pairs; with few pairs at most, batches are tried again."""
    reach = SpellingRadius(metric, radius, "fraction")
    of_text = np.array([rng.randrange(4) for _ in other], np.uint32)
    of_query = np.array([rng.choice([-1, 0, 1, 2, 3]) for _ in one], np.int64)
    lists = TextLists(of_text, of_query, 0)
    found = texts_of(other, reach).near(texts_of(one, reach), reach, np.zeros(2, np.int64), lists)
    met = {
        (q, int(of_text[t])) for part in found for q, t in zip(part.queries.tolist(), part.texts.tolist(), strict=True)
    }
    pairs = expected_pairs(one, other, reach)
    assert met == {(q, int(of_text[t])) for q, t in pairs if of_text[t] != of_query[q]}
    counted = [
        pair
        for part in texts_of(other, reach).near(
            *(texts_of(one, reach), reach, np.zeros(2, np.int64), lists._replace(least=3))
        )
        for pair in zip(part.queries.tolist(), part.texts.tolist(), strict=True)
    ]
    assert len(counted) == len(set(counted)) and set(counted) <= set(pairs)
    assert {(q, int(of_text[t])) for q, t in counted} >= met
    found_of, all_of = (Counter(q for q, _ in some) for some in (counted, pairs))
    assert all(found_of[q] >= min(3, n) for q, n in all_of.items())


@pytest.mark.parametrize(("metric", "radius"), [("edit", 0.4), ("jaccard", 0.8), ("tokens", 0.4)])
def test_lists_of_texts_that_are_all_alike(metric, radius, monkeypatch):
    monkeypatch.setattr(similar_texts, "_ROOM", 1)
    reach = SpellingRadius(metric, radius, "fraction")
    texts = [f"item {i:04}" for i in range(0, 3000, 23)]
    queries = [text.replace("t", "d") for text in texts[::17]] + ["zebra 0000"]
    of_text, read = (np.arange(len(texts)) % 3).astype(np.uint32), np.zeros(2, np.int64)
    of_query = np.arange(len(queries)) % 4 - 1
    lists = TextLists(of_text, of_query, 0)
    found = list(texts_of(texts, reach).near(texts_of(queries, reach), reach, read, lists))
    met = {(q, int(of_text[t])) for part in found for q, t in zip(part.queries, part.texts, strict=True)}
    pairs = expected_pairs(queries, texts, reach)
    assert met == {(q, of_text[t]) for q, t in pairs if of_text[t] != of_query[q]}
    assert len(met) > len(queries) and all(pairs[q, t] == d for part in found for q, t, d in zip(*part, strict=True))


@pytest.mark.parametrize("metric", ["edit", "jaccard", "tokens"])
def test_long_texts_and_texts_of_one_character(metric):
    rng = np.random.default_rng(0)
    base = ["".join(rng.choice(list("abcdefgh "), n)) for n in (1, 2, 60, 64, 65, 70, 128, 129, 250, 256, 257, 300)]
    moved = [text[:5] + "x" + text[6:-1] + "é" for text in base] + [text + "q" for text in base]
    for radius in (0.05, 0.2, 0.6):
        reach = SpellingRadius(metric, radius, "fraction")
        expected = expected_pairs(base, [*base, *moved], reach)
        assert pairs_of(base, [*base, *moved], reach) == expected
        assert pairs_of([*base, *moved], base, reach) == {(j, i): d for (i, j), d in expected.items()}


@pytest.mark.parametrize("reach", [SpellingRadius("edit", 1, "absolute"), SpellingRadius("jaccard", 0.6, "fraction")])
def test_pairs_do_not_depend_on_batches_and_room(reach, monkeypatch):
    words = [a + b + c for a in "abcdefgh" for b in "xyz" for c in "klmnopqr"]
    assert len(words) > 128  # more than a block
    expected = expected_pairs(words[::9], words, reach)
    assert pairs_of(words[::9], words, reach) == expected
    for name, value in {"QUERIES_AT_ONCE": 3, "_ROOM": 1, "MOST_PAIRS": 8}.items():
        monkeypatch.setattr(similar_texts, name, value)
    assert pairs_of(words[::9], words, reach) == expected


def test_all_pairs_of_a_query_text_come_at_once(monkeypatch):
    monkeypatch.setattr(similar_texts, "QUERIES_AT_ONCE", 4)
    words = [a + b for a in "abcde" for b in "xyz"]
    reach, seen = SpellingRadius("edit", 1, "absolute"), []
    for found in texts_of(words, reach).near(texts_of(words, reach), reach, np.zeros(2, np.int64)):
        seen += np.unique(found.queries).tolist()
    assert sorted(seen) == list(range(len(words)))


@pytest.mark.parametrize("metric", ["edit", "jaccard", "tokens"])
def test_texts_are_signed_when_a_search_looks_at_their_size(metric):
    long = "".join(map(chr, range(0x4E00, 0x4E00 + 70)))
    words = ["ab", "abc", "abcdefghij", "abcdefghik", long + "abc", long + "abd"]
    reach = SpellingRadius(metric, 0.34, "fraction")
    stored = texts_of(words, reach)
    for own in (["abcdefghij"], ["ac"], [long + "ab"], words):  # one after the other
        found = stored.pairs(texts_of(own, reach), reach)
        assert dict(zip(zip(*(part.tolist() for part in found[:2]), strict=True), found[2].tolist(), strict=True)) == (
            expected_pairs(own, words, reach)
        )
        is_met = np.array([len(word) > 60 for word in words])[stored.numbers]
        assert stored._texts.words[:, : len(words)][:, is_met].any() == any(len(text) > 60 for text in own)


def test_counts_of_what_was_compared():
    reach, read = SpellingRadius("edit", 1, "absolute"), np.zeros(2, np.int64)
    list(texts_of(["abcdefgh", "stuvwxyz", "a", "12"], reach).near(texts_of(["abcdefgx"], reach), reach, read))
    assert read.tolist() == [2, 1]


@pytest.mark.parametrize("metric", ["edit", "jaccard", "tokens"])
@pytest.mark.parametrize("radius", [0.02, 0.05, 0.1, 0.2, 0.34])
def test_texts_that_may_not_differ_are_near_none_but_themselves(metric, radius):
    reach, words = SpellingRadius(metric, radius, "fraction"), ["abcdefgh"[:n] for n in range(1, 9)]
    for own in words:
        size = texts_of([own], reach).usual_size()
        near = [other for other in words if len(other) <= len(own) and pairs_of([own], [other], reach)]
        assert radius >= reach.least_change(size) or near == [own]
    assert texts_of([], reach).usual_size() == 0
    assert texts_of(words, reach).usual_size() == (7 if metric == "jaccard" else 5)
    assert SpellingRadius("edit", 2, "absolute").least_change(9) == 1


def test_radii_in_words():
    assert str(spelling_radius(None, None, None)) == "edit distance up to 0.15 of the longer text"
    assert str(spelling_radius(2, "absolute", "edit")) == "edit distance up to 2"
    assert (
        str(spelling_radius(None, None, "tokens")) == "edit distance up to 0.15 of the longer text with words in order"
    )
    assert str(spelling_radius(None, None, "jaccard")) == "Jaccard distance of 3-grams up to 0.35"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            (0.1, None, "euclidean"),
            "`metric` of mode=\"fuzzy\" must be one of 'edit', 'jaccard', 'tokens', got 'euclidean'",
        ),
        ((0.1, "km", None), '`radius_unit` of mode="fuzzy" must be "fraction" or "absolute", got \'km\''),
        ((None, "absolute", None), '`radius` must be given with radius_unit="absolute": the most edits'),
    ],
)
def test_illegal_radii(arguments, text):
    with pytest.raises(InvalidParameterError, match=text):
        spelling_radius(*arguments)
