"""The published model of foreign keys: a logistic regression, and its evidence in words."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dfjoin.containment.key_features import KEY_FEATURES
from dfjoin.search.usefulness.model import LinearWeights

KEY_MODEL_FILE = Path(__file__).with_name("key_model.json")
"""Weights, the data that they were fitted to, the command that fits them, and figures with each database held out."""

_LIMIT = 5.0
_MOST_ODDS = 30.0
_DECIMALS = 4
_LEAST = 0.3
"""Log-odds that a feature adds or takes at least to be named."""

_Words = tuple[Callable[[float], str], Callable[[float], str]]

_WORDS: dict[str, _Words] = {
    "named": (
        lambda v: "the header names the key" if v == 1 else f"{v:.0%} of the header and of the key's table agree",
        lambda v: "the header does not name the key" if v == 0 else f"only {v:.0%} of header and key's table agree",
    ),
    "key_named": (
        lambda v: "the header of the key says that it is one",
        lambda v: "the header of the key does not say that it is one",
    ),
    "same_folder": (
        lambda v: "both tables lie in one folder",
        lambda v: "the key's table lies in another folder",
    ),
    "table_in_table": (
        lambda v: f"the table bears {v:.0%} of the words of the key's table",
        lambda v: "the table does not bear the name of the key's table",
    ),
    "identifier": (
        lambda v: "the header says that it is an identifier, or names the key's table",
        lambda v: "the header neither says that it is an identifier nor names the key's table",
    ),
    "unnamed_coverage": (
        lambda v: f"the column has {v:.0%} of the values of the key",
        lambda v: "the column has few of the values of the key, or the names have said so",
    ),
    "first_column": (
        lambda v: "the key is the first column of its table",
        lambda v: "the key is not the first column of its table",
    ),
    "other_keys": (
        lambda v: f"{math.exp(v):,.0f} keys hold the column",
        lambda v: f"{math.exp(v):,.0f} keys hold the column",
    ),
    "own_serial_key": (
        lambda v: "the column does not name the rows of its own table",
        lambda v: "the column names the rows of its own table",
    ),
    "is_closest": (
        lambda v: "it is the smallest of the keys with the nearest names",
        lambda v: "a smaller key, or one with a nearer name, holds the column, too",
    ),
}
"""Features → what is said where they count for the candidate, and where against it."""


class KeyModel(LinearWeights):
    """The logistic regression of foreign keys, over the features `KEY_FEATURES`.

    Examples
    --------
    >>> KeyModel.from_dict({"bias": -1.0, "features": {"serial": {"mean": 0, "scale": 1, "weight": 2}}}).names
    ('serial',)
    """

    def parts(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each feature adds to the log-odds of each candidate, shape (n, n_features)."""
        chosen = features[:, [KEY_FEATURES.index(name) for name in self.names]]
        return np.clip((chosen - self.means) / self.scales, -_LIMIT, _LIMIT) * self.weights

    def probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each candidate, shape (n,)."""
        odds = np.clip(self.bias + self.parts(features).sum(axis=1), -_MOST_ODDS, _MOST_ODDS)
        return np.round(1.0 / (1.0 + np.exp(-odds)), _DECIMALS)

    def evidence(self, features: NDArray[np.float64], is_own_role: bool = False) -> tuple[list[str], list[str]]:
        """Say what speaks for and against one candidate, the strongest first.

        Parameters
        ----------
        features : ndarray of float64, shape (len(KEY_FEATURES),)
        is_own_role : bool
            The header names a role of another row of the same table, see `own_roles`.

        Returns
        -------
        evidence_for, evidence_against : list of str
        """
        parts = self.parts(features[None, :])[0].tolist()
        found: tuple[list[str], list[str]] = [], []
        for name, part in sorted(zip(self.names, parts, strict=True), key=lambda item: -abs(item[1])):
            if name == "named" and is_own_role:
                found[part < 0].append("the header names a role of another row of the same table")
            elif abs(part) >= _LEAST:
                found[part < 0].append(_WORDS[name][part < 0](float(features[KEY_FEATURES.index(name)])))
        return found


@cache
def key_model() -> KeyModel:
    """Read the published model."""
    return KeyModel.from_dict(json.loads(KEY_MODEL_FILE.read_text("utf-8")))
