import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy import match_evidence
from dfjoin.fuzzy.match_evidence import EVIDENCE_NAMES, MAX_SAMPLE, draw_sample, gather
from dfjoin.fuzzy.match_model import published_model
from dfjoin.fuzzy.texts import fold_texts
from dfjoin.fuzzy.tokenized import prepare

REFERENCE = ["red fox", "red dog", "blue bird", "green frog"]
WORDS = st.lists(st.sampled_from(["red", "fox", "dog", "blue", "7", "x"]), min_size=1, max_size=4).map(" ".join)


def gathered(query, reference=REFERENCE):
    sides = fold_texts(pa.array(reference, pa.string())), fold_texts(pa.array(query, pa.string()))
    return sides[0].values, sides[1].values, gather(prepare(*sides), published_model())[0]


def value(found, row, name):
    return found.values[row, EVIDENCE_NAMES.index(name)]


def test_samples_are_sorted_and_no_larger_than_allowed():
    assert draw_sample(5).tolist() == [0, 1, 2, 3, 4]
    assert draw_sample(MAX_SAMPLE).size == MAX_SAMPLE
    sample = draw_sample(MAX_SAMPLE + 50)
    assert sample.size == MAX_SAMPLE
    assert (np.diff(sample) > 0).all()
    assert sample.tolist() == draw_sample(MAX_SAMPLE + 50).tolist()


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0])))
def test_a_rank_counts_the_wrong_pairs_that_are_at_least_as_alike(wrong):
    ranks = match_evidence._log_rank(np.sort(np.array(wrong, float)), np.array([0.0, 0.5, 0.6]))
    expected = [(sum(other >= one for other in wrong) + 1) / (len(wrong) + 1) for one in (0.0, 0.5, 0.6)]
    np.testing.assert_allclose(np.exp(ranks), expected)


def test_the_margin_is_the_distance_to_the_runner_up():
    reference, _, found = gathered(["red foxx"])
    assert reference[found.partners[0]] == "red fox"
    likeness, runner_up = value(found, 0, "likeness"), value(found, 0, "runner-up")
    assert value(found, 0, "margin to the runner-up") == pytest.approx(likeness - runner_up) and likeness > runner_up


def test_a_text_with_nothing_in_common_has_no_partner():
    _, queries, found = gathered(["red foxx", "zzzz"])
    assert queries[1] == "zzzz"
    assert found.partners[1] == -1
    assert found.distances[1] == 1
    assert not found.values[1].any()


def test_texts_that_want_the_same_partner_weaken_each_other():
    _, queries, found = gathered(["green frog", "green frogg", "blu bird"])
    mutual = [value(found, i, "margin to the partner's best other text") for i in range(3)]
    assert mutual[queries.index("green frog")] > 0 > mutual[queries.index("green frogg")]
    assert mutual[queries.index("blu bird")] > mutual[queries.index("green frog")]


def test_words_that_many_pairs_lack_alike_are_usual():
    reference = [f"{bird} inn" for bird in ("heron", "osprey", "plover", "quail", "raven", "swan", "tern", "kite")]
    query = [name.split()[0] for name in reference[:6]] + ["tern lodge"]
    _, queries, found = gathered(query, reference)
    usual, odd = queries.index("heron"), queries.index("tern lodge")
    assert value(found, usual, "left over words, mean") > value(found, odd, "left over words, least usual")
    assert value(found, usual, "same difference elsewhere") == pytest.approx(np.log(6))


@given(st.lists(WORDS, min_size=1, max_size=8), st.lists(WORDS, min_size=1, max_size=8))
def test_batches_and_samples_change_nothing_that_does_not_depend_on_them(reference, query):
    whole = gathered(query, reference)[2]
    assert np.isfinite(whole.values).all() and np.abs(whole.values).max() <= 14
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(match_evidence, "cut_batches", lambda side, texts: np.array_split(texts, max(1, texts.size // 2)))
        cut = gathered(query, reference)[2]
    assert cut.partners.tolist() == whole.partners.tolist()
    assert np.allclose(cut.values, whole.values)


def test_partners_beyond_the_sample_are_compared_with_their_neighbours(monkeypatch):
    whole = gathered(["red foxx", "blu bird"])[2]
    monkeypatch.setattr(match_evidence, "MAX_SAMPLE", 2)
    found = gathered(["red foxx", "blu bird"])[2]
    assert found.partners.tolist() == whole.partners.tolist()
    at = EVIDENCE_NAMES.index("partner's nearest neighbour")
    assert found.values[:, at] == pytest.approx(whole.values[:, at], abs=1.5)
