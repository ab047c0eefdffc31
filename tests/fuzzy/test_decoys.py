import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy.decoys import MAX_SAMPLE, draw_sample, estimate_errors, is_left_reference, set_up, wrong_share
from dfjoin.fuzzy.texts import fold_texts
from tests.oracles.fuzzy import error_rates

SCORES = st.lists(st.integers(-5, 5).map(float), max_size=20)


def alone(scores):
    """A partner of its own for each score."""
    return np.arange(len(scores), dtype=np.int32)


@given(SCORES.filter(len), SCORES, st.data())
def test_error_rates_are_those_of_counting(scores, decoys, data):
    partners = data.draw(st.lists(st.integers(-1, 3), min_size=len(scores), max_size=len(scores)))
    found = estimate_errors(np.array(scores), np.array(partners, np.int32), np.array(decoys))
    assert found == pytest.approx(error_rates(scores, partners, decoys))


def test_many_texts_with_one_partner_are_one_witness(rng):
    scores, decoys = np.full(50, 9.0), rng.normal(size=200)
    assert estimate_errors(scores, alone(scores), decoys).max() < 0.01
    assert wrong_share(scores, alone(scores), decoys) == pytest.approx(0.04)
    one = np.zeros(50, np.int32)
    assert wrong_share(scores, one, decoys) == pytest.approx(0.98)
    assert estimate_errors(scores, one, decoys).min() > 0.2


def test_no_scores_have_no_errors():
    assert estimate_errors(np.empty(0), np.empty(0, np.int32), np.array([1.0])).shape == (0,)
    assert wrong_share(np.empty(0), np.empty(0, np.int32), np.array([1.0])) == 1.0


def test_scores_like_those_of_decoys_are_all_wrong(rng):
    scores, decoys = rng.normal(size=2000), rng.normal(size=2000)
    assert wrong_share(scores, alone(scores), decoys) > 0.9
    assert np.median(estimate_errors(scores, alone(scores), decoys)) > 0.8


def test_the_share_of_wrong_pairs_is_found_in_a_mixture(rng):
    scores = np.concatenate([rng.normal(8, 1, 600), rng.normal(0, 1, 400)])
    decoys = rng.normal(0, 1, 3000)
    assert wrong_share(scores, alone(scores), decoys) == pytest.approx(0.4, abs=0.05)
    errors = estimate_errors(scores, alone(scores), decoys)
    chosen = errors <= 0.05
    is_wrong = np.arange(1000) >= 600
    assert is_wrong[chosen].mean() == pytest.approx(0.05, abs=0.03)
    assert chosen[:600].mean() > 0.99


def folded(*values):
    return fold_texts(pa.array(values, pa.string()))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (folded("a", "b", "b"), folded("a", "b"), False),
        (folded("a", "b"), folded("a", "b", "b"), True),
        (folded("a", "b", "c"), folded("a", "b"), True),
        (folded("a", "b"), folded("a", "b"), False),
        (folded(), folded("a"), False),
    ],
)
def test_the_reference_is_the_column_that_is_more_like_a_key_then_the_longer_one(left, right, expected):
    assert is_left_reference(left, right) is expected


def test_samples_are_sorted_and_no_larger_than_allowed():
    assert draw_sample(5, 0).tolist() == [0, 1, 2, 3, 4]
    assert draw_sample(MAX_SAMPLE, 0).size == MAX_SAMPLE
    sample = draw_sample(MAX_SAMPLE + 50, 3)
    assert sample.size == MAX_SAMPLE
    assert (np.diff(sample) > 0).all()
    assert sample.tolist() == draw_sample(MAX_SAMPLE + 50, 3).tolist()


def test_known_texts_are_no_targets_and_are_compared_with_their_nearest():
    reference, query = folded("red fox", "blue bird", "green frog"), folded("red foxx", "blue birds", "gren frog")
    known = np.array([0, 2]), np.array([0, 1])  # the first is right, the second is not
    problem = set_up(reference, query, known, 0)
    assert [query.values[i] for i in problem.target_texts] == ["gren frog"]
    assert sorted(problem.is_known_right.tolist()) == [False, True]
    assert [reference.values[i] for i in problem.taken] == ["green frog", "red fox"]
    assert len(problem.decoys) == 3
    assert len(problem.runners_up) == len(problem.targets) == 1
