"""The published model: two logistic regressions, with their features and weights in ``model.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lists.usefulness import (
    AT,
    FEATURES,
    LIMIT,
    MEAN,
    N_SCORES,
    OF_HEADER,
    OF_NUMBERS,
    OF_TABLE,
    PLACE_OF,
    RATE,
    WEIGHT_OF,
    ModelNumbers,
    score_features,
)

_ANY_NUMBER = 1e9
"""Stands for a count that is not known, where no count is larger."""

MODEL_FILE = Path(__file__).with_name("model.json")
"""Weights, the data that they were fitted to, the command that fits them anew, and cross-validated figures."""


@dataclass(frozen=True)
class LinearWeights:
    """The parameters of a logistic regression over standardised features.

    Parameters
    ----------
    names : tuple of str
        Features.
    means, scales, weights : ndarray of float64, shape (n_features,)
        A feature adds ``weight × (value − mean) / scale`` to the log-odds, the quotient cut at ±5.
    bias : float
    """

    names: tuple[str, ...]
    means: NDArray[np.float64]
    scales: NDArray[np.float64]
    weights: NDArray[np.float64]
    bias: float

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make a model of its part of the file.

        Examples
        --------
        >>> feature = {"mean": 0.0, "scale": 1.0, "weight": 2.0}
        >>> LinearWeights.from_dict({"bias": -1.0, "features": {"shared": feature}}).names
        ('shared',)
        """
        features = values["features"]
        mean, scale, weight = (np.array([one[key] for one in features.values()]) for key in ("mean", "scale", "weight"))
        return cls(tuple(features), mean, scale, weight, float(values["bias"]))


class LinearModel(LinearWeights):
    """A logistic regression over the features of candidates."""

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Its parameters as the kernels take them, a row for the bias and one for each feature."""
        numbers = np.zeros((self.means.size + 1, WEIGHT_OF + 1))
        numbers[0, WEIGHT_OF] = self.bias
        numbers[1:] = np.column_stack([self._chosen, self.means, 1 / self.scales, self.weights])
        return numbers

    @cached_property
    def _chosen(self) -> NDArray[np.int64]:
        return np.array([FEATURES.index(name) for name in self.names], np.int64)

    def contributions(self, features: NDArray[np.float64]) -> dict[str, float]:
        """Return what each feature of one candidate adds to its log-odds, beside the average candidate."""
        standardised = (features[self._chosen] - self.means) / self.scales
        return dict(zip(self.names, (np.clip(standardised, -LIMIT, LIMIT) * self.weights).tolist(), strict=True))


@dataclass(frozen=True)
class UsefulnessModel:
    """What is told of each candidate.

    Parameters
    ----------
    score : LinearModel
        Probability that the columns mean the same kind of thing, and share values for that reason.
    brings : LinearModel
        Probability that such a join says something new, given that it is none by chance.
    floor, repeated, many_to_many : float
        Usefulness is ``score × (floor + (1 − floor) × brings)``, times `repeated` where the candidate repeats its
        values, or `many_to_many` where the query does so too. Where the frame has all headers of the candidate's table,
        it is ``score × floor × many_to_many / 2`` times the same factor, less than that of any other candidate of a
        score of 0.5 or more.
    """

    score: LinearModel
    brings: LinearModel
    floor: float
    repeated: float
    many_to_many: float

    @cached_property
    def numbers(self) -> ModelNumbers:
        """Its parameters as the kernels take them."""
        score, most = self.score.numbers, np.zeros(len(FEATURES))
        chosen = score[:, PLACE_OF].astype(np.int64)
        chosen[0] = -1
        most[chosen[1:]] = score[1:, WEIGHT_OF] > 0
        is_of_table, is_of_header = np.isin(chosen, OF_TABLE), np.isin(chosen, OF_HEADER)
        by_values, no_bias = score[~(is_of_table | is_of_header)], np.zeros((1, WEIGHT_OF + 1))
        by_header, by_table = (np.concatenate([no_bias, score[own]]) for own in (is_of_header, is_of_table))
        bounds = np.array([_bounds(by_header, by_table, most, has_companions) for has_companions in (False, True)])
        factors = self.floor, self.repeated, self.many_to_many
        return ModelNumbers(by_values, by_header, by_table, self.brings.numbers, most, bounds, *factors)

    def scores(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score candidates of which the features are known.

        Parameters
        ----------
        features : ndarray of float64, shape (n, len(FEATURES))

        Returns
        -------
        ndarray of float64, shape (N_SCORES, n)
            Rows SCORE to NOTHING_NEW, see `dfjoin.kernels.lists.usefulness`.
        """
        out = np.empty((N_SCORES, len(features)))
        score_features(features, self.numbers, out)
        return out


def _bounds(
    by_header: NDArray[np.float64], by_table: NDArray[np.float64], most: NDArray[np.float64], has_companions: bool
) -> list[float]:
    """Return a row of `ModelNumbers.bounds`."""
    most = most.copy()
    most[AT.other_headers] *= _ANY_NUMBER if has_companions else 0
    most[AT.same_folder] *= has_companions
    of_table, of_numbers = _odds(most, by_table), _odds(most, by_header)
    most[[*OF_NUMBERS]] = 0.0
    return [of_table + _odds(most, by_header), of_table + of_numbers, of_table]


def _odds(features: NDArray[np.float64], part: NDArray[np.float64]) -> float:
    """Return what features add to odds by a part of a logistic regression."""
    chosen = features[part[1:, PLACE_OF].astype(np.int64)]
    return float(np.clip((chosen - part[1:, MEAN]) * part[1:, RATE], -LIMIT, LIMIT) @ part[1:, WEIGHT_OF])


@cache
def model() -> UsefulnessModel:
    """Read the published model."""
    values = json.loads(MODEL_FILE.read_text("utf-8"))
    numbers = (float(values[name]) for name in ("floor", "repeated", "many_to_many"))
    return UsefulnessModel(LinearModel.from_dict(values["score"]), LinearModel.from_dict(values["brings"]), *numbers)
