"""Points of a frame that are joined with points of a table within a radius, as data that a plan keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.search.distance.distance_join import DistanceKeys, DistanceRelation, NearPairs
from dfjoin.search.distance.partner_keys import decided_keys
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.float_values import parse_lists, to_floats
from dfjoin.values.normalize import ValueSet
from dfjoin.vectors.axis_points import (
    chord_of_length,
    distinct_points,
    length_of_chord,
    near_points,
    nearest_points,
    place_points,
)
from dfjoin.vectors.axis_specs import MAX_AXES

_METRES = {"m": 1.0, "km": 1000.0}
_UNITS = (*_METRES, "absolute")


@dataclass(frozen=True)
class PointRadius:
    """A radius among points.

    Parameters
    ----------
    radius : float
        In the user's unit.
    unit : {"m", "km", "absolute"}
    distance : float
        Euclidean distance of points as they are stored: of unit vectors for places.
    """

    radius: float
    unit: str
    distance: float

    def __str__(self) -> str:
        """Say how near points have to lie."""
        if self.unit in _METRES:
            return f"great-circle distance up to {self.radius:g} {self.unit}"
        return f"euclidean distance up to {self.radius:g}"

    def shown(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return distances of stored points in the user's unit."""
        return length_of_chord(distances) / _METRES[self.unit] if self.unit in _METRES else distances


def point_radius(radius: float | None, unit: str | None, metric: str | None = None) -> PointRadius:
    """Return the radius of a search among points.

    Raises
    ------
    InvalidParameterError
        If there is none, or a metric is given, which texts have.
    """
    assert unit is not None  # a query of points is made with one
    if metric is not None:
        raise InvalidParameterError(
            f"`metric` belongs to texts, got {metric!r}; places are compared along great circles, others by "
            "Euclidean distance: leave it out"
        )
    if radius is None:
        raise InvalidParameterError(
            "`radius` must be given for columns of numbers, whose unit says nothing of how near is near; for example "
            'radius=100, radius_unit="m" for places'
        )
    return PointRadius(radius, unit, chord_of_length(radius * _METRES[unit]) if unit in _METRES else radius)


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

    scales: list[float]

    @property
    def n_columns(self) -> int:
        """See `DistanceRelation`."""
        return len(self.scales)

    @property
    def is_place(self) -> bool:
        """The points are places on the earth."""
        return self.radius_unit in _METRES

    def check(self) -> None:
        """See `DistanceRelation`."""
        is_list = isinstance(self.scales, list) and 0 < len(self.scales) <= MAX_AXES
        numbers = [self.radius, *(self.scales if is_list else [math.nan])]
        is_legal = all(type(n) in (int, float) and math.isfinite(n) and n >= 0 for n in numbers)
        if not is_legal or self.radius_unit not in _UNITS:
            raise InvalidParameterError(
                f"{self.TITLE} must have a finite radius and scales of at least 0, and a unit of {', '.join(_UNITS)}"
            )
        if self.is_place and len(self.scales) != 2:
            raise InvalidParameterError("a relation of places must have two columns")

    def keys(self, parts: Sequence[ValueSet], snapshot: Snapshot | None) -> DistanceKeys:
        """See `DistanceRelation`."""
        return decided_keys(AxesKeys(parts, self), parts, self, snapshot)

    def radius_text(self) -> str:
        """See `DistanceRelation`."""
        return f"{self.radius:g}" if self.radius_unit == "absolute" else f"{self.radius:g} {self.radius_unit}"


class AxesKeys(DistanceKeys):
    """Columns of a frame as points, to be joined with the points of a table; of equally near ones the smallest.

    Parameters
    ----------
    parts : sequence of ValueSet
        The columns of the frame, in the order of the axes.
    relation : AxesRelation
    """

    def __init__(self, parts: Sequence[ValueSet], relation: AxesRelation) -> None:
        self._relation, self._dimension = relation, 0
        self._points, self.codes, self.n_keys = self.read(parts)
        self.partners = relation.partners
        self._radius = point_radius(relation.radius, relation.radius_unit)

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

    def read(self, parts: Sequence[ValueSet]) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
        """See `DistanceKeys`."""
        points, codes = distinct_points(self._to_points(parts))
        return points, codes, len(points)

    def near(self, keys: NDArray[np.float64]) -> NearPairs:
        """See `DistanceKeys`."""
        return NearPairs(*near_points(self._points, keys, self._radius.distance))

    def nearest(self, keys: NDArray[np.float64]) -> NearPairs:
        """See `DistanceKeys`."""
        return NearPairs(*nearest_points(self._points, keys, self._radius.distance))

    def shown(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `DistanceKeys`."""
        return self._radius.shown(distances)
