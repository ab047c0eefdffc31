"""Which keys within a radius are partners of a key of a frame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.values.normalize import ValueSet

__all__ = ["PARTNERS", "TextKeys", "nearest_pairs", "with_partners"]

PARTNERS = ("nearest", "all")
"""The nearest one of each key, or all within the radius."""


def nearest_pairs(
    left: NDArray[np.int64], right: NDArray[np.int64], distances: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Keep the nearest pair of each left key, of several the smallest right one; by left key."""
    order = np.lexsort((right, distances, left))
    left, right = left[order], right[order]
    first = np.append(True, left[1:] != left[:-1])[: left.size]
    return left[first], right[first]


class TextKeys(ABC):
    """The keys of a frame, to be joined with the keys of a table that are near them.

    Parameters
    ----------
    rule : {"nearest", "all"}
        Which keys within the radius are partners.
    """

    def __init__(self, rule: str) -> None:
        self._rule = rule

    @abstractmethod
    def _pairs(self, values: ValueSet) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Pair the frame's keys with others: numbers of both, and distances; those of equal keys are below 0."""

    def has_partner(self, values: ValueSet) -> NDArray[np.bool_]:
        """Tell which values have a key of the frame within the radius."""
        found = np.zeros(len(values), bool)
        found[self._pairs(values)[1]] = True
        return found

    def partners(self, values: ValueSet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Find the partners of each key of the frame.

        Of the nearest ones it is the equal one, then the first by code point.

        Parameters
        ----------
        values : ValueSet
            The keys of the table.

        Returns
        -------
        left, right : ndarray of int64
            Numbers of the keys that have a partner, and of the partners: one each in ascending order of the keys, or
            all.
        """
        left, right, distances = self._pairs(values)
        if self._rule != PARTNERS[0]:
            return left, right
        names = np.argsort(np.array(values.values(), dtype=object)) if len(values) else np.empty(0, np.int64)
        rank = np.empty(len(values), np.int64)
        rank[names] = np.arange(len(values))
        left, own = nearest_pairs(left, rank[right], distances)
        return left, names[own]


def with_partners(relation: dict[str, Any] | None, partners: str | None) -> dict[str, Any] | None:
    """Return the relation of a step with other partners than the nearest ones.

    Parameters
    ----------
    relation : dict or None
        As plain JSON values.
    partners : {"nearest", "all", None}
        None: as the relation says.

    Raises
    ------
    InvalidParameterError
        If keys are not related by distance.
    """
    if partners is None:
        return relation
    kind, fields = next(iter((relation or {"": None}).items()))
    if not isinstance(fields, dict) or "partners" not in fields:
        raise InvalidParameterError(
            f"`partners` belongs to candidates that were found by distance, got {partners!r} for keys that are equal "
            "or related by a program; leave it out"
        )
    return {kind: {**fields, "partners": partners}}
