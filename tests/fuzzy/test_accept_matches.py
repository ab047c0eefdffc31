import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy.accept_matches import accept_matches, expand, keep_best
from dfjoin.fuzzy.decoys import Problem
from dfjoin.fuzzy.score_evidence import NAMES, Evidence
from dfjoin.fuzzy.scorer import Scorer
from dfjoin.fuzzy.texts import fold_texts

NOTHING = np.empty(0, np.int64)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8))
def test_the_best_of_each_partner_is_kept(texts):
    partners, scores = np.array([p for p, _ in texts], np.int32), np.array([s for _, s in texts], float)
    kept = keep_best(np.arange(len(texts)), partners, scores)
    expected = {min((i for i, t in enumerate(texts) if t[0] == p), key=lambda i: -texts[i][1]) for p, _ in texts}
    assert kept.tolist() == sorted(expected)


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


def evidence(scores, partners=None, is_admissible=None):
    """Evidence whose first kind alone counts, so that a score is what is given."""
    n = len(scores)
    values = np.zeros((n, len(NAMES)))
    values[:, 0] = -np.asarray(scores, float)
    partners = np.arange(n, dtype=np.int32) if partners is None else np.asarray(partners, np.int32)
    admissible = np.ones(n, bool) if is_admissible is None else np.asarray(is_admissible, bool)
    return Evidence(partners, np.zeros(n), admissible, values)


def problem(targets, decoys, runners_up=None, known=(), is_known_right=(), taken=()):
    texts = fold_texts(pa.array([str(i) for i in range(200)]))
    return Problem(
        reference=texts,
        query=texts,
        targets=targets,
        target_texts=np.arange(len(targets)),
        decoys=evidence(decoys),
        runners_up=evidence(decoys if runners_up is None else runners_up),
        known=evidence(known),
        is_known_right=np.array(is_known_right, bool),
        taken=np.array(taken, np.int64),
    )


SCORER = Scorer(np.zeros(len(NAMES)), np.ones(len(NAMES)), np.eye(len(NAMES))[0], 0.0)
DECOYS = np.linspace(0.0, 1.0, 100)


def test_what_scores_like_decoys_is_not_joined():
    scores = [9.0] * 60 + list(np.linspace(0.0, 0.8, 40))
    found = accept_matches(problem(evidence(scores), DECOYS), SCORER, 0.95, False)
    assert found.chosen.tolist() == list(range(60))
    assert found.threshold == 9.0
    assert found.precision >= 0.95
    assert found.reason == f"60 of 100 texts joined, estimated precision {found.precision:.1%}"


def test_texts_that_share_too_little_are_not_joined():
    is_admissible = [True] * 50 + [False] * 10
    found = accept_matches(problem(evidence([9.0] * 60, None, is_admissible), DECOYS), SCORER, 0.95, False)
    assert found.chosen.tolist() == list(range(50))


def test_one_to_one_leaves_out_partners_that_are_taken():
    partners = [0, 0, *range(2, 60)]
    scores = [8.0, 9.0] + [9.0] * 58
    found = accept_matches(problem(evidence(scores, partners), DECOYS, taken=[5]), SCORER, 0.9, True)
    assert 0 not in found.chosen
    assert {1, 2} <= set(found.chosen.tolist())
    assert 5 not in found.chosen


def test_known_pairs_that_the_nearest_text_contradicts_count_as_errors():
    targets = evidence([9.0] * 60)
    right = problem(targets, DECOYS, None, [9.0] * 20, [True] * 20)
    wrong = problem(targets, DECOYS, None, [9.0] * 20, [True] * 18 + [False] * 2)
    few = problem(targets, DECOYS, None, [9.0] * 19, [False] * 19)
    assert accept_matches(right, SCORER, 0.95, False).chosen.size == 60
    refused = accept_matches(wrong, SCORER, 0.95, False)
    assert refused.chosen.size == 0
    assert "at best 90.0% of the pairs would be right, and 95.0% are asked for" in refused.reason
    assert accept_matches(few, SCORER, 0.95, False).chosen.size == 60


def test_the_larger_of_two_error_rates_counts():
    targets, near = evidence([9.0] * 60), np.full(100, 9.0)
    assert accept_matches(problem(targets, DECOYS, DECOYS), SCORER, 0.95, False).chosen.size == 60
    assert accept_matches(problem(targets, near, DECOYS), SCORER, 0.95, False).chosen.size == 0
    assert accept_matches(problem(targets, DECOYS, near), SCORER, 0.95, False).chosen.size == 0
