import numpy as np
import pytest
from dfjoin.fuzzy.constraint import optimize_threshold
from dfjoin.fuzzy.precision import estimate_errors, wrong_share
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy.score_evidence import NAMES
from dfjoin.fuzzy.scorer import train_scorer
from tests.oracles.fuzzy import error_rates, largest_threshold

TENTHS = st.integers(0, 10).map(lambda tenth: tenth / 10)
SCORES = st.lists(st.integers(-5, 5).map(float), max_size=20)


def alone(scores):
    """A partner of its own for each score."""
    return np.arange(len(scores), dtype=np.int32)


@given(st.lists(st.tuples(TENTHS, TENTHS, st.integers(0, 3)), max_size=8), st.booleans())
def test_threshold_is_the_largest_that_breaks_no_constraint(rows, is_one_to_one):
    first, rival = (np.array([row[i] for row in rows], float) for i in (0, 1))
    partners = np.array([row[2] for row in rows], np.int32)
    found = optimize_threshold(first, rival, partners, is_one_to_one=is_one_to_one)
    assert found == largest_threshold(first.tolist(), rival.tolist(), partners.tolist(), is_one_to_one)


def test_texts_without_a_partner_do_not_constrain():
    partners = np.array([-1, 0], np.int32)
    assert optimize_threshold(np.array([0.0, 0.4]), np.array([0.0, 0.9]), partners) == (0.4, 1)


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


def test_evidence_that_tells_nothing_gets_little_weight(rng):
    decoys = rng.normal(0, 1, (2000, len(NAMES)))
    targets = rng.normal(0, 1, (800, len(NAMES)))
    targets[:400, :3] -= 4
    scorer = train_scorer(targets, alone(targets), decoys)
    assert (scorer.weights >= 0).all()
    assert scorer.weights[:3].min() > 2 * scorer.weights[3:].max()
    scores = scorer.score(targets)
    assert scores[:400].min() > np.quantile(scores[400:], 0.99)


def test_known_matches_teach_where_targets_do_not(rng):
    decoys = rng.normal(0, 1, (500, len(NAMES)))
    targets = rng.normal(0, 1, (5, len(NAMES)))
    known = rng.normal(0, 1, (200, len(NAMES)))
    known[:, 7] -= 5
    assert np.argmax(train_scorer(targets, alone(targets), decoys, known).weights) == 7
