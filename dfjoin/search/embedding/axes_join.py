"""Points of a frame that are joined with points of a table within a radius, as data that a plan keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.search.embedding.axes_search import axes_reach
from dfjoin.search.embedding.partners import PARTNERS, nearest_pairs
from dfjoin.values.float_values import to_floats
from dfjoin.values.normalize import ValueSet
from dfjoin.vectors.axis_points import distinct_points, near_points, place_points

__all__ = ["AxesKeys", "AxesRelation"]

_KIND = "axes"
_UNITS = ("m", "km", "absolute")
_MAX_AXES = 64


@dataclass(frozen=True)
class AxesRelation:
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

    radius: float
    radius_unit: str
    scales: list[float]
    partners: str = PARTNERS[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the relation as plain JSON values."""
        return {_KIND: asdict(self)}

    @classmethod
    def is_one(cls, values: Any) -> bool:
        """Tell whether the relation of a step is one of points."""
        return isinstance(values, dict) and _KIND in values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> AxesRelation:
        """Read what `to_dict` wrote.

        Raises
        ------
        InvalidTypeError, InvalidParameterError
            If it is no such relation.
        """
        own = values[_KIND]
        if not isinstance(own, dict) or set(own) != set(cls.__dataclass_fields__):
            raise InvalidTypeError(f"a relation of points must have {sorted(cls.__dataclass_fields__)}")
        relation = cls(**own)
        scales, numbers = relation.scales, [relation.radius]
        is_list = isinstance(scales, list) and 0 < len(scales) <= _MAX_AXES
        numbers += scales if is_list else [math.nan]
        is_legal = all(type(n) in (int, float) and math.isfinite(n) and n >= 0 for n in numbers)
        is_place = relation.radius_unit in _UNITS[:2]
        if not is_legal or relation.radius_unit not in _UNITS or relation.partners not in PARTNERS:
            raise InvalidParameterError(
                "a relation of points must have a finite radius and scales of at least 0, a unit of "
                f"{', '.join(_UNITS)}, and partners of {', '.join(PARTNERS)}"
            )
        if is_place and len(scales) != 2:
            raise InvalidParameterError("a relation of places must have two columns")
        return relation


class AxesKeys:
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
        self._relation = relation
        self._points, self.codes = distinct_points(self._to_points(parts))
        self.n_keys = len(self._points)
        self._radius = axes_reach(relation.radius, relation.radius_unit).distance

    def _to_points(self, parts: Sequence[ValueSet]) -> NDArray[np.float64]:
        if len(parts) != len(self._relation.scales):
            raise InvalidParameterError(
                f"a relation of {len(self._relation.scales)} columns of numbers got {len(parts)}; name as many in `on`"
            )
        numbers = np.column_stack([to_floats(part) for part in parts])
        return place_points(*numbers.T) if self._relation.radius_unit in _UNITS[:2] else numbers * self._relation.scales

    def has_partner(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        """Tell of each row of a table, by the canonical values of its columns, whether a point of the frame is near."""
        points, codes = distinct_points(self._to_points(parts))
        found = np.zeros(len(points) + 1, bool)  # the last one serves code -1
        found[near_points(points, self._points, self._radius)[0]] = True
        return found[codes]

    def partners(
        self, parts: Sequence[ValueSet]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
        """Pair the points of the frame with those of a table.

        Parameters
        ----------
        parts : sequence of ValueSet
            The columns of the table.

        Returns
        -------
        left, right : ndarray of int64
            The pairs: the nearest point of each, the first in ascending order of several; or all within the radius.
        codes : ndarray of int64, shape (n_rows,)
            Number of the point of each row of the table.
        n_points : int
        """
        points, codes = distinct_points(self._to_points(parts))
        left, right, distances = near_points(self._points, points, self._radius)
        if self._relation.partners == PARTNERS[0]:
            left, right = nearest_pairs(left, right, distances)
        return left, right, codes, len(points)
