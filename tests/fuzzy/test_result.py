import json

import numpy as np

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
