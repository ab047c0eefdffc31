import numpy as np

from dfjoin.fuzzy.score_evidence import NAMES
from dfjoin.fuzzy.scorer import train_scorer


def alone(scores):
    """A partner of its own for each score."""
    return np.arange(len(scores), dtype=np.int32)


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
