"""The model: scores against sums by hand, the directions of its features, and its file."""

import json
import math

import numpy as np
import pytest

from dfjoin.kernels.lists.usefulness import FEATURES, GAIN, N_SCORES, NOTHING_NEW, SCORE, USEFULNESS
from dfjoin.search.usefulness import model as module
from dfjoin.search.usefulness.model import MODEL_FILE, LinearModel, model
from tests.oracles import usefulness as oracle

PUBLISHED = json.loads(MODEL_FILE.read_text("utf-8"))
GROWING = ("information", "information_per_value", "rare_containment", "smaller_containment", "same_specific_header")
FALLING = ("spread", "unnamed_numbers", "measured", "cardinality", "disjoint_headers", "no_letters")


@pytest.fixture(scope="module")
def candidates():
    rng = np.random.default_rng(5)
    return rng.normal(0.5, 2, (200, len(FEATURES))) * rng.choice([1, 1, 40], (200, 1))


def by_hand(candidates, part):
    rows = (dict(zip(FEATURES, row, strict=True)) for row in candidates.tolist())
    values = [oracle.odds(row, PUBLISHED[part]["features"], PUBLISHED[part]["bias"]) for row in rows]
    return np.array([1 / (1 + math.exp(-max(-30.0, min(30.0, value)))) for value in values])


def test_scores_and_usefulness_are_those_by_hand(candidates):
    score, brings = by_hand(candidates, "score"), by_hand(candidates, "brings")
    found = model().scores(candidates)
    np.testing.assert_allclose(found[SCORE], score, atol=1e-6)
    floor = PUBLISHED["floor"]
    is_unique, is_many, is_known = (
        candidates[:, FEATURES.index(name)] > 0 for name in ("unique_candidate", "many_to_many", "nothing_new")
    )
    factor = np.where(is_unique, 1, np.where(is_many, PUBLISHED["many_to_many"], PUBLISHED["repeated"]))
    gains = np.where(is_known, floor * PUBLISHED["many_to_many"] / 2, floor + (1 - floor) * brings)
    np.testing.assert_allclose(found[GAIN], gains, atol=1e-6)
    np.testing.assert_allclose(found[USEFULNESS], score * gains * factor, atol=3e-6)
    assert (found[NOTHING_NEW] == is_known).all() and set(is_known.tolist()) == {True, False}
    assert (found[USEFULNESS] <= found[SCORE]).all() and found.min() >= 0 and found.max() <= 1


@pytest.mark.parametrize(("names", "sign"), [(GROWING, 1), (FALLING, -1)])
def test_more_evidence_for_never_lowers_a_score_and_against_never_raises_it(candidates, names, sign):
    score = model().scores(candidates)[SCORE]
    for name in names:
        values = candidates.copy()
        values[:, FEATURES.index(name)] += 0.5
        assert (sign * (model().scores(values)[SCORE] - score) >= 0).all(), name


def test_contributions_add_up_to_the_odds(candidates):
    parts = model().score.contributions(candidates[3])
    row = dict(zip(FEATURES, candidates[3].tolist(), strict=True))
    total = oracle.odds(row, PUBLISHED["score"]["features"], PUBLISHED["score"]["bias"])
    assert math.isclose(sum(parts.values()) + PUBLISHED["score"]["bias"], total, abs_tol=1e-9)


def test_no_candidates_have_no_scores():
    assert model().scores(np.empty((0, len(FEATURES)))).shape == (N_SCORES, 0)


def test_the_file_names_its_data_command_and_cross_validated_figures():
    assert {"what", "command", "data", "cross_validated"} <= set(PUBLISHED)
    assert "seen in development" in PUBLISHED["data"]
    for part in ("score", "brings"):
        features = PUBLISHED[part]["features"]
        assert set(features) <= set(FEATURES) and all(one["scale"] > 0 for one in features.values())


@pytest.mark.parametrize("text", ["{}", "not json", json.dumps({**PUBLISHED, "score": {"bias": 0}})])
def test_a_damaged_file_is_an_error_and_no_score(tmp_path, monkeypatch, text):
    file = tmp_path / "model.json"
    file.write_text(text)
    monkeypatch.setattr(module, "MODEL_FILE", file)
    with pytest.raises((KeyError, ValueError)):
        model.__wrapped__()


def test_an_unknown_feature_is_an_error():
    one = LinearModel.from_dict({"bias": 0, "features": {"luck": {"mean": 0, "scale": 1, "weight": 1}}})
    with pytest.raises(ValueError, match="not in tuple"):
        _ = one.numbers
