"""The result of a fuzzy join: row pairs, the settings of the join, and why it joined no more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.fuzzy.column_weights import MAX_WEIGHT, N_LEVELS, ColumnWeights
from dfjoin.fuzzy.match_evidence import LIMIT, N_OF_COLUMNS

_LARGEST = 1e100
_MAX_COLUMNS = 1000


@dataclass(frozen=True)
class FuzzySettings:
    """The settings of a fuzzy join that was found, for the report.

    Parameters
    ----------
    reference : {"left", "right"}
        The side whose texts are different things; each text of the other side is joined to at most one of them.
    threshold : float
        Least probability of a pair that is joined.
    precision : float
        The precision that was asked for.
    weights : tuple of tuple of float, or None
        What the columns of a composite key say, by level; None for a key of one column.
    of_columns : tuple of float, or None
        What all pairs together told of the columns (`dfjoin.fuzzy.match_evidence.Evidence.of_columns`), so that a join
        of a few rows is the same as one of many; None: what the rows tell that are joined.
    odds_shift : float
        By which the probabilities were moved to the columns (`dfjoin.fuzzy.accept_matches.odds_shift`).
    """

    reference: Literal["left", "right"]
    threshold: float
    precision: float
    weights: ColumnWeights | None = None
    of_columns: tuple[float, ...] | None = None
    odds_shift: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        held: dict[str, Any] = {"reference": self.reference, "threshold": self.threshold, "precision": self.precision}
        if self.weights is not None:
            held["weights"] = [list(column) for column in self.weights]
        if self.odds_shift:
            held["odds_shift"] = self.odds_shift
        return held if self.of_columns is None else held | {"of_columns": list(self.of_columns)}

    @classmethod
    def from_dict(cls, values: Any) -> FuzzySettings:
        """Read what `to_dict` wrote, and check every part of it.

        Raises
        ------
        InvalidTypeError, InvalidParameterError
            Saying which part is wrong.
        """
        if not isinstance(values, Mapping):
            raise InvalidTypeError(f"`likeness` must be a JSON object, got {show(values)}")
        reference = values.get("reference")
        if reference not in ("left", "right"):
            raise InvalidParameterError(f'`reference` of likeness must be "left" or "right", got {show(reference)}')
        weights = _weights(values.get("weights"))
        numbers = _number(values, "threshold"), _number(values, "precision")
        shift = _number(values, "odds_shift") if "odds_shift" in values else 0.0
        if abs(shift) > LIMIT:
            raise InvalidParameterError(
                f"`odds_shift` of likeness must be a number between -{LIMIT:g} and {LIMIT:g}, got {show(shift)}"
            )
        return cls(reference, *numbers, weights, _of_columns(values.get("of_columns")), shift)


def _number(values: Mapping[str, Any], key: str) -> float:
    """Read a finite number."""
    number: Any = values.get(key)
    is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
    if not is_number or not abs(number) < _LARGEST or math.isnan(number):
        raise InvalidTypeError(f"`{key}` of likeness must be a number below 1e100, got {show(number)}")
    return float(number)


def _weights(held: Any) -> ColumnWeights | None:
    """Read the weights of columns."""
    if held is None:
        return None
    is_table = isinstance(held, list) and 1 < len(held) <= _MAX_COLUMNS
    if not is_table or not all(_is_column(column) for column in held):
        raise InvalidParameterError(
            f"`weights` of likeness must be 2 to {_MAX_COLUMNS} lists of {N_LEVELS} numbers between -{MAX_WEIGHT:g} "
            f"and {MAX_WEIGHT:g}, got {show(held)}"
        )
    return tuple(tuple(float(number) for number in column) for column in held)


def _of_columns(held: Any) -> tuple[float, ...] | None:
    """Read what the pairs of the earlier join told of their columns."""
    if held is None:
        return None
    is_list = isinstance(held, list) and len(held) == N_OF_COLUMNS
    if not is_list or not all(type(one) in (int, float) and abs(one) <= LIMIT for one in held):
        raise InvalidParameterError(
            f"`of_columns` of likeness must be a list of {N_OF_COLUMNS} numbers between -{LIMIT:g} and {LIMIT:g}, got "
            f"{show(held)}"
        )
    return tuple(map(float, held))


def _is_column(column: Any) -> bool:
    """Tell whether a column has a weight for each level."""
    return (
        isinstance(column, list)
        and len(column) == N_LEVELS
        and all(type(one) in (int, float) and abs(one) <= MAX_WEIGHT for one in column)
    )


@dataclass(frozen=True)
class FuzzyJoin:
    """Row pairs of two columns that a fuzzy join matches.

    Parameters
    ----------
    left_rows, right_rows : ndarray of int64, shape (n_pairs,)
        Rows, by left row and then by right row.
    distances : ndarray of float64, shape (n_pairs,)
        0 for texts that are equal up to case, accents and punctuation, up to 1.
    chances : ndarray of float64, shape (n_pairs,)
        Probability that each pair is right; of a join with the threshold of an earlier one as the published model has
        it, which the columns do not move.
    errors : ndarray of float64, shape (n_pairs,)
        Estimated share of wrong pairs among those at least as good.
    settings : FuzzySettings or None
        How the pairs were chosen; None if there is no join.
    estimated_precision : float or None
        Estimated share of right pairs; None if there is no pair, or if the threshold is that of an earlier join.
    estimated_recall : float or None
        Estimated share of the texts with a counterpart that were joined; None as the precision.
    reason : str
        One sentence: what was joined, or why nothing was.
    curve : tuple of (float, float)
        Estimated recall and precision that a lower or higher least probability would reach; empty without an estimate.
    """

    left_rows: NDArray[np.int64]
    right_rows: NDArray[np.int64]
    distances: NDArray[np.float64]
    chances: NDArray[np.float64]
    errors: NDArray[np.float64]
    settings: FuzzySettings | None
    estimated_precision: float | None
    estimated_recall: float | None
    reason: str
    curve: tuple[tuple[float, float], ...] = ()

    def __len__(self) -> int:
        return int(self.left_rows.size)

    def take(self, chosen: NDArray[np.intp]) -> FuzzyJoin:
        """Return the join with some of its pairs."""
        names = ("left_rows", "right_rows", "distances", "chances", "errors")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Return all but the rows as plain JSON values."""
        return {
            "n_pairs": len(self),
            "estimated_precision": self.estimated_precision,
            "estimated_recall": self.estimated_recall,
            "settings": None if self.settings is None else self.settings.to_dict(),
            "reason": self.reason,
            "curve": [list(point) for point in self.curve],
        }
