"""What a fuzzy join found, what it was made with, and why it joined no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.fuzzy.score_evidence import NAMES
from dfjoin.fuzzy.scorer import Scorer

__all__ = ["FuzzyJoin", "FuzzySettings", "Tried"]


@dataclass(frozen=True)
class FuzzySettings:
    """A fuzzy join that was found, to be applied again; see `dfjoin.fuzzy.fuzzy_join.apply_fuzzy`.

    Parameters
    ----------
    reference : {"left", "right"}
        The side whose texts are the things; each text of the other side is joined to at most one.
    scorer : Scorer
        What each configuration counts.
    threshold : float
        Least score of a pair that is joined.
    precision : float
        The precision that was asked for.
    is_one_to_one : bool
        Whether each reference text is joined at most once.
    seed : int
        Chose the sample of the reference that rules are learned from.
    """

    reference: Literal["left", "right"]
    scorer: Scorer
    threshold: float
    precision: float
    is_one_to_one: bool
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values; kinds of evidence that count for nothing are left out."""
        scorer = self.scorer
        parts = zip(NAMES, scorer.weights.tolist(), scorer.center.tolist(), scorer.scale.tolist(), strict=True)
        return {
            "reference": self.reference,
            "evidence": {name: {"weight": w, "center": c, "scale": s} for name, w, c, s in parts if w > 0},
            "bias": scorer.bias,
            "threshold": self.threshold,
            "precision": self.precision,
            "is_one_to_one": self.is_one_to_one,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> FuzzySettings:
        """Make settings from what `to_dict` returned."""
        missing = {"reference", "evidence", "bias", "threshold", "precision", "is_one_to_one", "seed"} - set(values)
        unknown = set(values.get("evidence", ())) - set(NAMES)
        if missing or unknown:
            raise InvalidParameterError(
                f"`settings` must be what FuzzySettings.to_dict() returned; missing: {sorted(missing)}, "
                f"unknown evidence: {sorted(unknown)}; find the join again with find_fuzzy"
            )
        if values["reference"] not in ("left", "right"):
            raise InvalidParameterError(
                f"`settings` must have 'left' or 'right' as reference, got {values['reference']!r}; "
                "find the join again with find_fuzzy"
            )
        nothing = {"weight": 0.0, "center": 0.0, "scale": 1.0}
        parts = [values["evidence"].get(name, nothing) for name in NAMES]
        center, scale, weights = (np.array([part[key] for part in parts]) for key in ("center", "scale", "weight"))
        scorer = Scorer(center, scale, weights, float(values["bias"]))
        return cls(
            values["reference"], scorer, float(values["threshold"]), float(values["precision"]),
            bool(values["is_one_to_one"]), int(values["seed"]),
        )  # fmt: skip


@dataclass(frozen=True)
class Tried:
    """One configuration that was searched.

    Parameters
    ----------
    configuration : str
        Tokenisation and distance.
    threshold : float
        The largest distance under the join constraints (equation 4.10), -1 if there is none.
    coverage : int
        Reference texts that it joins alone (equation 4.9).
    weight : float
        Its share in the join that was found, 0 to 1.
    """

    configuration: str
    threshold: float
    coverage: int
    weight: float


@dataclass(frozen=True)
class FuzzyJoin:
    """Row pairs of two columns that a fuzzy join matches.

    Parameters
    ----------
    left_rows, right_rows : ndarray of int64, shape (n_pairs,)
        Rows, by left row and then by right row.
    distances : ndarray of float64, shape (n_pairs,)
        0 for texts that are equal up to case, accents and punctuation, up to 1.
    errors : ndarray of float64, shape (n_pairs,)
        Estimated share of wrong pairs among those at least as good.
    settings : FuzzySettings or None
        How to apply the join again; None if there is no join.
    estimated_precision : float or None
        Estimated share of right pairs; None if there is no pair.
    estimated_recall : float or None
        Estimated share of the texts with a counterpart that were joined; None if there is no pair.
    tried : tuple of Tried
        The configurations that were searched.
    reason : str
        One sentence: what was joined, or why nothing was.
    """

    left_rows: NDArray[np.int64]
    right_rows: NDArray[np.int64]
    distances: NDArray[np.float64]
    errors: NDArray[np.float64]
    settings: FuzzySettings | None
    estimated_precision: float | None
    estimated_recall: float | None
    tried: tuple[Tried, ...]
    reason: str

    def __len__(self) -> int:
        return int(self.left_rows.size)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the rows as plain JSON values."""
        return {
            "n_pairs": len(self),
            "estimated_precision": self.estimated_precision,
            "estimated_recall": self.estimated_recall,
            "settings": None if self.settings is None else self.settings.to_dict(),
            "tried": [dict(tried.__dict__) for tried in self.tried],
            "reason": self.reason,
        }
