import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy.accept_matches import (
    accept_matches,
    chances_of,
    choose_likeliest,
    expand,
    move_odds,
    odds_shift,
)
from dfjoin.fuzzy.match_evidence import EVIDENCE_NAMES, Evidence
from dfjoin.fuzzy.match_model import MatchModel, Term
from dfjoin.fuzzy.match_problem import Problem
from dfjoin.fuzzy.texts import fold_texts

NOTHING = np.empty(0, np.int64)


VALUES = st.lists(st.sampled_from(["a", "b", "c", None]), max_size=6)


@given(VALUES, VALUES, st.data())
def test_pairs_of_texts_are_written_as_all_pairs_of_their_rows(left, right, data):
    query, reference = (fold_texts(pa.array(values, pa.string())) for values in (left, right))
    everything = [(i, j) for i in range(len(query)) for j in range(len(reference))]
    pairs = data.draw(st.lists(st.sampled_from(everything), unique=True)) if everything else []
    found = expand(
        query, np.array([i for i, _ in pairs], np.int64), reference, np.array([j for _, j in pairs], np.int32)
    )
    expected = [
        (a, b, n)
        for n, (i, j) in enumerate(pairs)
        for a, text in enumerate(left)
        if text == query.values[i]
        for b, other in enumerate(right)
        if other == reference.values[j]
    ]
    assert sorted(zip(found.rows.tolist(), found.partner_rows.tolist(), found.numbers.tolist(), strict=True)) == sorted(
        expected
    )


def evidence(chances, partners=None):
    """Evidence of which one kind counts, so that a probability is what is given."""
    n = len(chances)
    values = np.zeros((n, len(EVIDENCE_NAMES)))
    values[:, 0] = np.log(np.asarray(chances, float) / (1 - np.asarray(chances, float)))
    partners = np.arange(n, dtype=np.int32) if partners is None else np.asarray(partners, np.int32)
    return Evidence(partners, np.zeros(n), values)


def problem(targets, known=(), is_known_right=()):
    texts = fold_texts(pa.array([str(i) for i in range(200)]))
    return Problem(
        reference=texts,
        query=texts,
        targets=targets,
        target_texts=np.arange(len(targets)),
        known=evidence(known),
        is_known_right=np.array(is_known_right, bool),
    )


MODEL = MatchModel({}, 0.0, {}, (Term(EVIDENCE_NAMES[0], np.array([-20.0, 20.0]), np.array([-20.0, 20.0])),), 0.0)


def test_matches_are_taken_while_enough_of_them_are_right_by_estimate():
    chances = np.array([0.99] * 60 + [0.5] * 3 + [0.01] * 40)
    found = accept_matches(problem(evidence(chances.tolist())), MODEL, 0.96)
    assert found.chosen.tolist() == list(range(63))
    assert found.threshold == pytest.approx(0.5), "as the model gives it, so that other rows can be held to it"
    moved = move_odds(chances, odds_shift(chances))
    assert found.precision == pytest.approx(moved[:63].mean())
    assert found.recall == pytest.approx(moved[:63].sum() / moved.sum())
    assert found.reason == f"63 of 103 texts joined, estimated precision {found.precision:.1%}"
    assert (np.diff(found.errors) >= 0).all()


def test_the_curve_says_what_the_first_pairs_would_reach():
    chances = np.array([0.99] * 20 + [0.7] * 5 + [0.01] * 10)
    found = accept_matches(problem(evidence(chances.tolist())), MODEL, 0.9)
    moved = move_odds(chances, odds_shift(chances))
    right = np.cumsum(moved)
    expected = np.column_stack([right / moved.sum(), right / np.arange(1, 36)])
    np.testing.assert_allclose(found.curve, expected, atol=1e-4)


def test_nothing_is_joined_where_no_pair_is_likely_enough():
    found = accept_matches(problem(evidence([0.4] * 9)), MODEL, 0.95)
    assert found.chosen.size == 0
    assert "at best 40.0% of the pairs would be right, and 95.0% are asked for" in found.reason


def test_a_text_without_a_partner_is_never_joined():
    found = accept_matches(problem(evidence([0.9, 0.9], [0, -1])), MODEL, 0.0)
    assert found.chosen.tolist() == [0]


def test_known_pairs_that_the_nearest_text_contradicts_count_as_errors():
    targets = evidence([0.99] * 60)
    right = problem(targets, [0.99] * 20, [True] * 20)
    wrong = problem(targets, [0.99] * 20, [True] * 18 + [False] * 2)
    few = problem(targets, [0.99] * 19, [False] * 19)
    assert accept_matches(right, MODEL, 0.95).chosen.size == 60
    refused = accept_matches(wrong, MODEL, 0.95)
    assert refused.chosen.size == 0
    assert "at best 90.0% of the pairs would be right, and 95.0% are asked for" in refused.reason
    assert accept_matches(few, MODEL, 0.95).chosen.size == 60


def test_one_known_pair_that_is_wrong_is_one_of_twenty_however_probable_it_is():
    targets = evidence([0.99] * 60)
    known = problem(targets, [0.999] + [0.9] * 19, [False] + [True] * 19)
    assert accept_matches(known, MODEL, 0.94).chosen.size == 60
    assert accept_matches(known, MODEL, 0.96).chosen.size == 0


def test_pairs_that_are_rather_wrong_are_not_joined_whatever_room_the_others_leave():
    chances = evidence([0.999] * 95 + [0.15] * 3)
    assert accept_matches(problem(chances), MODEL, 0.9).chosen.size == 95
    assert accept_matches(problem(chances), MODEL, 0.1).chosen.size == 98, "less was asked for"


def test_columns_of_a_composite_key_add_to_the_log_odds():
    whole = evidence([0.5] * 60)
    agreed = Evidence(whole.partners, whole.distances, whole.values, np.full(60, 4.0))
    assert chances_of(MODEL, agreed) == pytest.approx(np.full(60, 1 / (1 + np.exp(-4.0))))
    assert accept_matches(problem(agreed), MODEL, 0.95).chosen.size == 60
    assert accept_matches(problem(whole), MODEL, 0.95).chosen.size == 0
    assert agreed.take(np.arange(3)).column_odds.tolist() == [4.0] * 3


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=20))
def test_the_shift_is_a_fifth_of_how_far_the_expected_share_lies_from_the_usual_one(chances):
    shift = odds_shift(np.array([*chances, 0.0]))
    share = np.mean([1 / (1 + (1 - chance) / chance * np.exp(-shift)) for chance in chances])
    limited = min(max(share, 0.001), 0.999)
    assert shift == pytest.approx(0.2 * (np.log(limited / (1 - limited)) - np.log(0.4 / 0.6)), abs=1e-6)


def test_nothing_shifts_where_the_share_is_the_usual_one_or_no_pair_is():
    assert odds_shift(np.array([0.4] * 5)) == pytest.approx(0.0)
    assert odds_shift(np.zeros(3)) == 0.0 and odds_shift(np.empty(0)) == 0.0
    assert move_odds(np.array([0.0, 0.5, 1.0]), np.log(3.0)).tolist() == pytest.approx([0.0, 0.75, 1.0])


def test_as_many_errors_as_are_allowed_are_allowed():
    chances, errors = np.array([0.9, 0.5, 0.8]), np.array([0.0, 0.5, 0.25])
    assert choose_likeliest(chances, errors, 0.75).tolist() == [0, 2]
    assert choose_likeliest(chances, errors, 0.76).tolist() == [0]
