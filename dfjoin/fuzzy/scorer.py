"""The weight of each kind of evidence, learned without labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.decoys import estimate_errors
from dfjoin.fuzzy.distances import CONFIGURATIONS
from dfjoin.fuzzy.score_evidence import NAMES

__all__ = ["Scorer", "fit_scorer", "train_scorer"]

_ROUNDS = 4
"""Rounds of training, after which the weights hardly change."""

_RIDGE = 0.1
"""Penalty on the squares of the weights."""
_MAX_EXAMPLE_ERROR = 0.2
"""Estimated error rate up to which pairs are examples of matches: low enough for the right ones to prevail, and high
enough to include difficult pairs."""

_MIN_EXAMPLES = 10
"""Least number of examples; of fewer pairs the error rate says nothing."""


@dataclass(frozen=True)
class Scorer:
    """A weighted sum of the evidence against a pair.

    Parameters
    ----------
    center, scale : ndarray of float64, shape (n_names,)
        Mean and deviation of each kind of evidence among the decoys.
    weights : ndarray of float64, shape (n_names,)
        Not negative.
    bias : float
    """

    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]
    bias: float

    def score(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score evidence, the higher the better; shape (n, n_names) → (n,)."""
        return self.bias - ((values - self.center) / self.scale) @ self.weights


def _first_scorer(decoys: NDArray[np.float64]) -> Scorer:
    """Return equal weights for all configurations, and none for rules."""
    center = decoys.mean(axis=0)
    scale = decoys.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    weights = np.zeros(len(NAMES))
    weights[: len(CONFIGURATIONS)] = 1.0 / len(CONFIGURATIONS)
    return Scorer(center, scale, weights, 0.0)


def fit_scorer(matches: NDArray[np.float64], decoys: NDArray[np.float64], start: Scorer) -> Scorer:
    """Fit weights that separate matches from decoys, none of them negative.

    Parameters
    ----------
    matches, decoys : ndarray of float64, shape (n, n_names)
        Evidence of both classes, which have equal weight whatever their sizes.
    start : Scorer
        Gives center and scale.

    Returns
    -------
    Scorer

    Notes
    -----
    Logistic regression with a ridge of 0.1 on the weights, by accelerated projected gradient (Beck and
    Teboulle, FISTA, 2009), 150 steps of O(n). More distance can never make a pair better, so weights
    are not negative; that keeps small samples from fitting noise.
    """
    points = (np.vstack([matches, decoys]) - start.center) / start.scale
    points = np.hstack([-points, np.ones((points.shape[0], 1))])
    is_match = np.arange(points.shape[0]) < matches.shape[0]
    share = np.where(is_match, 0.5 / max(1, matches.shape[0]), 0.5 / max(1, decoys.shape[0]))
    ridge = np.full(points.shape[1], _RIDGE)
    ridge[-1] = 0.0
    curvature = 0.25 * np.linalg.eigvalsh((points * share[:, None]).T @ points)[-1] + _RIDGE
    found = np.zeros(points.shape[1])
    ahead, momentum = found, 1.0
    for _ in range(150):
        chance = 1.0 / (1.0 + np.exp(-np.clip(points @ ahead, -50, 50)))
        step = ahead - (points.T @ (share * (chance - is_match)) + ridge * ahead) / curvature
        step[:-1] = np.maximum(step[:-1], 0.0)
        faster = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = step + (momentum - 1.0) / faster * (step - found)
        found, momentum = step, faster
    return Scorer(start.center, start.scale, found[:-1], float(found[-1]))


def train_scorer(
    targets: NDArray[np.float64],
    partners: NDArray[np.int32],
    decoys: NDArray[np.float64],
    known: NDArray[np.float64] | None = None,
) -> Scorer:
    """Learn the weight of each kind of evidence, from pairs with a low estimated error rate against decoys.

    Parameters
    ----------
    targets : ndarray of float64, shape (n, n_names)
        Evidence of query texts with their nearest reference texts.
    partners : ndarray of int32, shape (n,)
        Those reference texts.
    decoys : ndarray of float64, shape (n_decoys, n_names)
        Evidence of reference texts with their nearest other reference texts.
    known : ndarray of float64, shape (n_known, n_names), optional
        Evidence of pairs that are matches.

    Returns
    -------
    Scorer

    Notes
    -----
    Source: Käll, Canterbury, Weston, Noble, MacCoss, "Semi-supervised learning for peptide
    identification from shotgun proteomics datasets" (Percolator), Nature Methods 2007: start with a fixed
    score, take the targets with an estimated error rate of at most 0.2 (and at least 10, or all) for
    matches, fit, score again, four times. Deviation: weights are not negative and without folds, which
    the ridge makes unnecessary.
    """
    scorer = _first_scorer(decoys)
    known = np.empty((0, targets.shape[1])) if known is None else known
    for _ in range(_ROUNDS):
        scores = scorer.score(targets)
        errors = estimate_errors(scores, partners, scorer.score(decoys))
        is_example = errors <= _MAX_EXAMPLE_ERROR
        if is_example.sum() + known.shape[0] < _MIN_EXAMPLES:
            is_example = scores >= np.sort(scores)[::-1][: max(_MIN_EXAMPLES, scores.size // 10)].min(initial=np.inf)
        scorer = fit_scorer(np.vstack([targets[is_example], known]), decoys, scorer)
    return scorer
