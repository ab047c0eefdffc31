"""Points of a frame that are joined with points of a table within a radius, as data that a plan keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.search.distance.distance_join import PARTNERS, DistanceKeys, DistanceRelation, PairedKeys, nearest_pairs
from dfjoin.search.embedding.axes_search import axes_reach
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.float_values import parse_lists, to_floats
from dfjoin.values.value_set import ValueSet
from dfjoin.vectors.axis_points import distinct_points, near_points, place_points

__all__ = ["AxesKeys", "AxesRelation"]

_UNITS = ("m", "km", "absolute")
_MAX_AXES = 64


@dataclass(frozen=True)
class AxesRelation(DistanceRelation):
    """How near two points have to be.

    Parameters
    ----------
    radius : float
    radius_unit : {"m", "km", "absolute"}
        Lengths are those of places: two columns, latitude first.
    scales : list of float
        What each column is multiplied by.
    partners : {"nearest", "all"}
        Which points within the radius are partners.
    """

    KIND = "axes"
    TITLE = "a relation of points"

    radius: float
    radius_unit: str
    scales: list[float]

    @property
    def n_columns(self) -> int:
        """See `DistanceRelation`."""
        return len(self.scales)

    @property
    def is_place(self) -> bool:
        """The points are places on the earth."""
        return self.radius_unit in _UNITS[:2]

    def check(self) -> None:
        """See `DistanceRelation`."""
        is_list = isinstance(self.scales, list) and 0 < len(self.scales) <= _MAX_AXES
        numbers = [self.radius, *(self.scales if is_list else [math.nan])]
        is_legal = all(type(n) in (int, float) and math.isfinite(n) and n >= 0 for n in numbers)
        if not is_legal or self.radius_unit not in _UNITS:
            raise InvalidParameterError(
                f"{self.TITLE} must have a finite radius and scales of at least 0, and a unit of {', '.join(_UNITS)}"
            )
        if self.is_place and len(self.scales) != 2:
            raise InvalidParameterError("a relation of places must have two columns")

    def keys(self, parts: Sequence[ValueSet], snapshot: Snapshot) -> AxesKeys:
        """See `DistanceRelation`."""
        return AxesKeys(parts, self)

    def reach_text(self) -> str:
        """See `DistanceRelation`."""
        return f"{self.radius:g}" if self.radius_unit == "absolute" else f"{self.radius:g} {self.radius_unit}"


class AxesKeys(DistanceKeys):
    """Columns of a frame as points, to be joined with the points of a table.

    Parameters
    ----------
    parts : sequence of ValueSet
        The columns of the frame, in the order of the axes.
    relation : AxesRelation

    Attributes
    ----------
    codes : ndarray of int64, shape (n_rows,)
        Number of the point of each row; -1 for none.
    n_keys : int
        Distinct points.
    """

    def __init__(self, parts: Sequence[ValueSet], relation: AxesRelation) -> None:
        self._relation, self._dimension = relation, 0
        self._points, self.codes = distinct_points(self._to_points(parts))
        self.n_keys = len(self._points)
        self._radius = axes_reach(relation.radius, relation.radius_unit).distance

    def _to_points(self, parts: Sequence[ValueSet]) -> NDArray[np.float64]:
        if len(parts) != len(self._relation.scales):
            raise InvalidParameterError(
                f"a relation of {len(self._relation.scales)} columns of numbers got {len(parts)}; name as many in `on`"
            )
        lists = parse_lists(parts[0], self._dimension) if len(parts) == 1 else None
        if lists is not None:
            self._dimension = lists.shape[1]
            return lists * self._relation.scales[0]
        if self._dimension:  # a batch without a list
            return np.full((parts[0].codes.size, self._dimension), np.nan)
        numbers = np.column_stack([to_floats(part) for part in parts])
        return place_points(*numbers.T) if self._relation.is_place else numbers * self._relation.scales

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        """See `DistanceKeys`."""
        points, codes = distinct_points(self._to_points(parts))
        found = np.zeros(len(points) + 1, bool)  # the last one serves code -1
        found[near_points(points, self._points, self._radius)[0]] = True
        return found[codes]

    def pairs(self, parts: Sequence[ValueSet]) -> PairedKeys:
        """Pair the points of the frame with those of a table; the nearest is the first in ascending order of several.

        See `DistanceKeys`.
        """
        points, codes = distinct_points(self._to_points(parts))
        left, right, distances = near_points(self._points, points, self._radius)
        if self._relation.partners == PARTNERS[0]:
            left, right = nearest_pairs(left, right, distances)
        return PairedKeys(left, right, codes, len(points))
