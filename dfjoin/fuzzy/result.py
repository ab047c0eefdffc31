"""The result of a fuzzy join: row pairs, the settings of the join, and why it joined no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.score_evidence import NAMES
from dfjoin.fuzzy.scorer import Scorer

__all__ = ["FuzzyJoin", "FuzzySettings"]


@dataclass(frozen=True)
class FuzzySettings:
    """The settings of a fuzzy join that was found, for the report.

    Parameters
    ----------
    reference : {"left", "right"}
        The side whose texts are different things; each text of the other side is joined to at most one of them.
    scorer : Scorer
        The weight of each kind of evidence.
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
        How the pairs were chosen; None if there is no join.
    estimated_precision : float or None
        Estimated share of right pairs; None if there is no pair.
    estimated_recall : float or None
        Estimated share of the texts with a counterpart that were joined; None if there is no pair.
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
            "reason": self.reason,
        }
