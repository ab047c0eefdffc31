"""Which keys within a radius are partners of a key of a frame."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError

__all__ = ["PARTNERS", "nearest_pairs", "with_partners"]

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
