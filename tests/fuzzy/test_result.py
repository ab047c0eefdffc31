import json

import numpy as np
import pytest

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.fuzzy.result import FuzzyJoin, FuzzySettings


def test_a_result_is_json_without_its_rows():
    settings = FuzzySettings("left", 0.6, 0.95)
    rows = np.arange(2)
    found = FuzzyJoin(
        rows, rows, np.zeros(2), np.ones(2), np.zeros(2), settings, 0.96, 0.5, "2 of 4 texts joined", ((0.5, 0.96),)
    )
    assert len(found) == 2
    assert json.loads(json.dumps(found.to_dict())) == {
        "n_pairs": 2,
        "estimated_precision": 0.96,
        "estimated_recall": 0.5,
        "settings": {"reference": "left", "threshold": 0.6, "precision": 0.95},
        "reason": "2 of 4 texts joined",
        "curve": [[0.5, 0.96]],
    }


SETTINGS = {"reference": "right", "threshold": 0.55, "precision": 0.95}


def test_settings_survive_json():
    assert FuzzySettings.from_dict(json.loads(json.dumps(SETTINGS))).to_dict() == SETTINGS
    weighed = SETTINGS | {"weights": [[-1.5] * 4 + [2.0] * 5, [0.0] * 9]}
    assert FuzzySettings.from_dict(json.loads(json.dumps(weighed))).to_dict() == weighed
    known = weighed | {"odds_shift": -1.25, "of_columns": [-4.25, 1.0, 1.0, 14.0, 0.5]}
    assert FuzzySettings.from_dict(json.loads(json.dumps(known))).to_dict() == known


@pytest.mark.parametrize(
    ("spoil", "error", "text"),
    [
        (3, InvalidTypeError, "`likeness` must be a JSON object, got 3"),
        ({"reference": "both"}, InvalidParameterError, '`reference` of likeness must be "left" or "right", got'),
        ({"threshold": float("nan")}, InvalidTypeError, "`threshold` of likeness must be a number below 1e100"),
        ({"precision": float("inf")}, InvalidTypeError, "`precision` of likeness must be a number"),
        ({"precision": 10**400}, InvalidTypeError, "`precision` of likeness must be a number"),
        ({"precision": True}, InvalidTypeError, "`precision` of likeness must be a number"),
        ({"odds_shift": None}, InvalidTypeError, "`odds_shift` of likeness must be a number"),
        (
            {"odds_shift": -14.5},
            InvalidParameterError,
            "`odds_shift` of likeness must be a number between -14 and 14, got -14.5",
        ),
        ({"weights": [[0.0] * 9]}, InvalidParameterError, "`weights` of likeness must be 2 to 1000 lists of 9 numbers"),
        ({"weights": [[0.0] * 9, [5.0] * 9]}, InvalidParameterError, "numbers between -4 and 4, got"),
        ({"weights": [[0.0] * 9, [float("nan")] * 9]}, InvalidParameterError, "numbers between -4 and 4, got"),
        ({"weights": [[0.0] * 9, [0.0] * 8]}, InvalidParameterError, "lists of 9 numbers"),
        ({"weights": "all"}, InvalidParameterError, "lists of 9 numbers"),
        (
            {"of_columns": [0.0] * 4},
            InvalidParameterError,
            "`of_columns` of likeness must be a list of 5 numbers between",
        ),
        ({"of_columns": [0.0] * 4 + [14.5]}, InvalidParameterError, "numbers between -14 and 14, got"),
        ({"of_columns": [float("nan")] * 5}, InvalidParameterError, "numbers between -14 and 14, got"),
        ({"of_columns": 3}, InvalidParameterError, "list of 5 numbers"),
    ],
)
def test_settings_that_are_none_are_refused(spoil, error, text):
    with pytest.raises(error, match=text):
        FuzzySettings.from_dict(SETTINGS | spoil if isinstance(spoil, dict) else spoil)
