import numpy as np
import pytest

from dfjoin.fuzzy.differences import DIFFERENCE_NAMES
from dfjoin.fuzzy.match_evidence import EVIDENCE_NAMES
from dfjoin.fuzzy.match_model import MatchModel, Term, published_model
from dfjoin.fuzzy.pair_features import LIKENESS_NAMES

MODEL = MatchModel({"b": 2.0}, -1.0, {"b": 3.0}, (Term("a", np.array([0.0, 1.0]), np.array([-1.0, 3.0])),), 0.5)


def test_likeness_is_a_weighted_sum():
    assert MODEL.likeness(("a", "b"), np.array([[9.0, 0.0], [9.0, 2.0]])).tolist() == [-1.0, 3.0]


def test_usual_differences_add_by_their_weights():
    assert MODEL.usualness(("a", "b"), np.array([[9.0, 0.0], [9.0, 2.0]])).tolist() == [0.0, 6.0]


@pytest.mark.parametrize(("value", "odds"), [(-5.0, -0.5), (0.0, -0.5), (0.25, 0.5), (1.0, 3.5), (7.0, 3.5)])
def test_terms_are_linear_between_knots_and_constant_beyond(value, odds):
    found = MODEL.probability(("b", "a"), np.array([[9.0, value]]))
    assert found[0] == pytest.approx(1 / (1 + np.exp(-odds)))


def test_a_model_survives_json():
    assert MatchModel.from_dict(MODEL.to_dict()).to_dict() == MODEL.to_dict()


def test_the_published_model_knows_the_names_and_no_others():
    model = published_model()
    assert set(model.likeness_weights) == set(LIKENESS_NAMES)
    assert set(model.usual_weights) == set(DIFFERENCE_NAMES)
    assert min(model.usual_weights.values()) >= 0
    assert {term.name for term in model.terms} <= set(EVIDENCE_NAMES)
    for term in model.terms:
        assert (np.diff(term.knots) > 0).all()
        assert np.isfinite(term.values).all() and np.abs(term.values).max() < 20
