import json

import numpy as np
import pytest

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.fuzzy.result import FuzzyJoin, FuzzySettings
from dfjoin.fuzzy.score_evidence import NAMES
from dfjoin.fuzzy.scorer import Scorer


def test_a_result_is_json_without_its_rows_and_without_weights_of_nothing():
    weights = np.zeros(len(NAMES))
    weights[1] = 0.5
    scorer = Scorer(np.full(len(NAMES), 2.0), np.ones(len(NAMES)), weights, 0.25)
    settings = FuzzySettings("left", scorer, -1.5, 0.95, False, 3)
    rows = np.arange(2)
    found = FuzzyJoin(rows, rows, np.zeros(2), np.zeros(2), settings, 0.96, 0.5, "2 of 4 texts joined")
    assert len(found) == 2
    assert json.loads(json.dumps(found.to_dict())) == {
        "n_pairs": 2,
        "estimated_precision": 0.96,
        "estimated_recall": 0.5,
        "settings": {
            "reference": "left",
            "evidence": {NAMES[1]: {"weight": 0.5, "center": 2.0, "scale": 1.0}},
            "bias": 0.25,
            "threshold": -1.5,
            "precision": 0.95,
            "is_one_to_one": False,
            "seed": 3,
        },
        "reason": "2 of 4 texts joined",
    }


SETTINGS = {
    "reference": "right", "evidence": {NAMES[1]: {"weight": 0.5, "center": 2.0, "scale": 1.5}}, "bias": 0.25,
    "threshold": -1.5, "precision": 0.95, "is_one_to_one": False, "seed": 3,
}  # fmt: skip


def test_settings_survive_json():
    assert FuzzySettings.from_dict(json.loads(json.dumps(SETTINGS))).to_dict() == SETTINGS


@pytest.mark.parametrize(
    ("spoil", "error", "text"),
    [
        (3, InvalidTypeError, "`likeness` must be a JSON object with `evidence`, got 3"),
        ({"evidence": [1]}, InvalidTypeError, "must be a JSON object with `evidence`"),
        ({"evidence": {"x": {}}}, InvalidParameterError, "must name kinds that this version knows .* learn it anew"),
        ({"evidence": {NAMES[0]: 1}}, InvalidTypeError, "must map names to objects, got 1"),
        ({"evidence": {NAMES[0]: {"weight": "1"}}}, InvalidTypeError, "`weight` of likeness must be a number below"),
        (
            {"evidence": {NAMES[0]: {"weight": -1, "center": 0, "scale": 1}}},
            InvalidParameterError,
            "weights of at least",
        ),
        ({"evidence": {NAMES[0]: {"weight": 1, "center": 0, "scale": 0}}}, InvalidParameterError, "scales above 0"),
        ({"reference": "both"}, InvalidParameterError, '`reference` of likeness must be "left" or "right", got'),
        ({"threshold": float("nan")}, InvalidTypeError, "`threshold` of likeness must be a number below 1e100"),
        ({"bias": float("inf")}, InvalidTypeError, "`bias` of likeness must be a number"),
        ({"bias": 10**400}, InvalidTypeError, "`bias` of likeness must be a number"),
        ({"bias": True}, InvalidTypeError, "`bias` of likeness must be a number"),
        ({"seed": -1}, InvalidParameterError, "`seed` of likeness must be an integer from 0 to"),
        ({"is_one_to_one": 1}, InvalidParameterError, "`is_one_to_one` true or false"),
    ],
)
def test_settings_that_are_none_are_refused(spoil, error, text):
    with pytest.raises(error, match=text):
        FuzzySettings.from_dict(SETTINGS | spoil if isinstance(spoil, dict) else spoil)
