"""The published model of matches: how alike two texts are, and how likely a nearest pair is right."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FILE = "match_model.json"


@dataclass(frozen=True)
class Term:
    """What one kind of evidence adds to the log odds of a match: linear between knots, constant beyond them.

    Parameters
    ----------
    name : str
    knots : ndarray of float64
        Ascending.
    values : ndarray of float64, shape of `knots`
    """

    name: str
    knots: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class MatchModel:
    """Likeness of any pair, and the probability that a nearest pair is right.

    Parameters
    ----------
    likeness_weights : dict of str to float
        Weight of each pair feature, `dfjoin.fuzzy.pair_features.PAIR_NAMES`.
    likeness_bias : float
    usual_weights : dict of str to float
        Weight of how usual a difference is, `dfjoin.fuzzy.differences.DIFFERENCE_NAMES`.
    terms : tuple of Term
        One for each kind of evidence that counts, `dfjoin.fuzzy.match_evidence.EVIDENCE_NAMES`.
    bias : float

    Notes
    -----
    The likeness is a conditional logit (McFadden, 1974): of the candidates of a text each is the right one with a
    probability in proportion to the exponential of its likeness, to which is added how usual its difference is. The
    probability is a generalised additive model (Hastie and Tibshirani, 1990) of piecewise linear terms: each can be
    read, and drawn, alone. All are fitted on labelled pairs of columns, once; see tests/benchmarks.
    """

    likeness_weights: dict[str, float]
    likeness_bias: float
    usual_weights: dict[str, float]
    terms: tuple[Term, ...]
    bias: float

    def likeness(self, names: tuple[str, ...], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log odds that a candidate is the right one; shape (n, n_names) → (n,)."""
        weights = np.array([self.likeness_weights.get(name, 0.0) for name in names])
        return np.asarray(values @ weights + self.likeness_bias)

    def usualness(self, names: tuple[str, ...], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what usual differences add to the likeness; shape (n, n_names) → (n,)."""
        return np.asarray(values @ np.array([self.usual_weights.get(name, 0.0) for name in names]))

    def probability(
        self, names: tuple[str, ...], values: NDArray[np.float64], more: NDArray[np.float64] | float = 0.0
    ) -> NDArray[np.float64]:
        """Return the probability that a pair is right, with log odds of other evidence; shape (n, n_names) → (n,)."""
        odds = np.full(values.shape[0], self.bias) + more
        for term in self.terms:
            odds += np.interp(values[:, names.index(term.name)], term.knots, term.values)
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -50.0, 50.0))))

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain JSON values."""
        return {
            "likeness": {"bias": self.likeness_bias, "weights": self.likeness_weights},
            "usual differences": self.usual_weights,
            "probability": {
                "bias": self.bias,
                "terms": {t.name: {"at": t.knots.tolist(), "adds": t.values.tolist()} for t in self.terms},
            },
        }

    @classmethod
    def from_dict(cls, held: dict[str, Any]) -> MatchModel:
        """Make a model of what `to_dict` returned."""
        terms = tuple(
            Term(name, np.array(term["at"], float), np.array(term["adds"], float))
            for name, term in held["probability"]["terms"].items()
        )
        likeness = held["likeness"]
        usual = dict(held["usual differences"])
        return cls(dict(likeness["weights"]), likeness["bias"], usual, terms, held["probability"]["bias"])


@cache
def published_model() -> MatchModel:
    """Return the model that comes with the package, from `match_model.json` beside this file."""
    return MatchModel.from_dict(json.loads(files(__package__).joinpath(_FILE).read_text("utf-8")))
