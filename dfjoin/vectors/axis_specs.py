"""Which columns of numbers make a vector together: named by the user, or recognised as latitude and longitude."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.values.headers import LATITUDE, LONGITUDE

_PLACES = "places"
"""Key of an entry of `axes` that names columns of latitude and longitude, whatever their headers."""

_MAX_SPECS = 1000
MAX_AXES = 64
"""Columns that make a vector together, at most."""

_MARK = "\0"


@dataclass(frozen=True)
class AxisSpec:
    """Columns that make a vector together in each table that has them.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns, in the order of the axes. One column may also hold lists of numbers.
    scales : tuple of float
        What each axis is multiplied by before distances are taken.
    is_place : bool
        The columns are latitude and longitude in degrees.
    """

    columns: tuple[str, ...]
    scales: tuple[float, ...]
    is_place: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {"columns": list(self.columns), "scales": list(self.scales), "is_place": self.is_place}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> AxisSpec:
        """Read what `to_dict` wrote."""
        columns = tuple(str(name) for name in values["columns"])
        scales = tuple(float(scale) for scale in values["scales"])
        is_place = values["is_place"] is True
        if not 0 < len(columns) == len(scales) <= MAX_AXES or not all(math.isfinite(s) and s > 0 for s in scales):
            raise ValueError(f"axes are 1 to {MAX_AXES} columns with a scale above 0 each")
        if is_place and len(columns) != 2:
            raise ValueError("a place has two columns")
        return cls(columns, scales, is_place)


def check_axes(axes: Any) -> tuple[AxisSpec, ...] | None:
    """Check the argument `axes`.

    Parameters
    ----------
    axes : list or None
        Each entry is a list of column names, a dict of column name → scale, or ``{"places": [latitude, longitude]}``.

    Returns
    -------
    tuple of AxisSpec or None
        None for an empty list: nothing is indexed. Without entries, pairs of latitude and longitude are recognised.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        If it is none of these.

    Examples
    --------
    >>> check_axes([["x", "y"]])[0].columns
    ('x', 'y')
    >>> check_axes([["longitude", "latitude"]])[0]
    AxisSpec(columns=('latitude', 'longitude'), scales=(1.0, 1.0), is_place=True)
    """
    if axes is None:
        return ()
    if isinstance(axes, (str, Mapping)) or not isinstance(axes, Sequence):
        raise InvalidTypeError(
            f'`axes` must be a list of lists of column names, as [["x", "y"]], got {show(axes)}; [] indexes none'
        )
    if len(axes) > _MAX_SPECS:
        raise InvalidParameterError(f"`axes` must have at most {_MAX_SPECS} entries, got {len(axes)}")
    return tuple(_check_spec(entry) for entry in axes) if len(axes) else None


def _check_spec(entry: Any) -> AxisSpec:
    is_place, scales = False, None
    if isinstance(entry, Mapping) and list(entry) == [_PLACES] and not isinstance(entry[_PLACES], (int, float)):
        entry, is_place = entry[_PLACES], True
    elif isinstance(entry, Mapping):
        entry, scales = list(entry), [entry[name] for name in entry]
    if not isinstance(entry, (list, tuple)) or not all(isinstance(name, str) for name in entry):
        raise InvalidTypeError(
            f"each entry of `axes` must be a list of column names, a dict of column name → scale, or "
            f'{{"places": [latitude, longitude]}}, got {show(entry)}'
        )
    if not 0 < len(entry) <= MAX_AXES or len(set(entry)) < len(entry) or (is_place and len(entry) != 2):
        n = "2" if is_place else f"1 to {MAX_AXES}"
        raise InvalidParameterError(f"each entry of `axes` must name {n} different columns, got {show(list(entry))}")
    if scales is None:
        order = order_of_place(entry)
        if order is not None and not is_place:
            entry, is_place = [entry[i] for i in order], True
        scales = [1.0] * len(entry)
    for scale in scales:
        if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not 0 < scale < math.inf:
            raise InvalidParameterError(f"a scale of `axes` must be a finite number above 0, got {show(scale)}")
    return AxisSpec(tuple(entry), tuple(float(scale) for scale in scales), is_place)


# Headers of places -----------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _reduced(header: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a header with a mark in the place of one of some names; empty if it has none.

    A name may be a word of its own, or the end of a longer one (``reclat``); of the latter only the longest counts.
    """
    words = [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", header))]
    for i, word in enumerate(words):
        if word in names:
            return (*words[:i], _MARK, *words[i + 1 :])
    for i, word in enumerate(words):
        name = next((name for name in names if word.endswith(name) and len(word) <= len(name) + 5), "")
        if name:
            return (*words[:i], word[: -len(name)] + _MARK, *words[i + 1 :])
    return ()


def order_of_place(headers: Sequence[Any]) -> tuple[int, int] | None:
    """Tell which of two headers is the latitude and which the longitude.

    Parameters
    ----------
    headers : sequence

    Returns
    -------
    tuple of int or None
        Places of the latitude and of the longitude; None if they are no such pair.

    Examples
    --------
    >>> order_of_place(["pickup_longitude", "pickup_latitude"]), order_of_place(["reclat", "reclong"])
    ((1, 0), (0, 1))
    >>> order_of_place(["lat", "pickup_lon"]) is None, order_of_place(["x", "y"]) is None
    (True, True)
    """
    if len(headers) != 2:
        return None
    for order in ((0, 1), (1, 0)):
        latitude = _reduced(str(headers[order[0]]), LATITUDE)
        longitude = _reduced(str(headers[order[1]]), LONGITUDE)
        if latitude and (latitude == longitude or _without_axis(latitude) == _without_axis(longitude)):
            return order
    return None


def _without_axis(words: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out the letters of ``Latitude (Y)`` and ``Longitude (X)``."""
    return tuple(word for word in words if word not in ("x", "y"))


def find_places(headers: Sequence[str]) -> list[tuple[int, int]]:
    """Find the pairs of latitude and longitude among the headers of a table.

    Parameters
    ----------
    headers : sequence of str

    Returns
    -------
    list of (int, int)
        Places of the latitude and of the longitude of each pair, by the position of the latitude.

    Examples
    --------
    >>> find_places(["id", "start_lat", "start_lng", "end_lat", "end_lng", "platform"])
    [(1, 2), (3, 4)]
    """
    if not any("lat" in header.lower() or "breit" in header.lower() for header in headers):
        return []
    latitudes = [i for i, header in enumerate(headers) if _reduced(header, LATITUDE)]
    longitudes = [i for i, header in enumerate(headers) if _reduced(header, LONGITUDE)]
    found = []
    for i in latitudes:
        partners = [j for j in longitudes if j != i and order_of_place([headers[i], headers[j]]) == (0, 1)]
        if partners:
            found.append((i, partners[0]))
            longitudes.remove(partners[0])
    return found
