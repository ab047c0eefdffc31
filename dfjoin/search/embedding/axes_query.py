"""Several columns of numbers as one query: each row is a point, each distinct point a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError, InvalidTypeError, warn
from dfjoin.search.query import QueryColumn
from dfjoin.types import IndexSettings
from dfjoin.values.float_values import lists_of, to_floats, to_rows
from dfjoin.values.frames import column_to_arrow, select_column
from dfjoin.values.normalize import normalize_column
from dfjoin.values.profile import profile_values
from dfjoin.vectors.axis_points import distinct_points, place_points
from dfjoin.vectors.axis_specs import order_of_place

_LENGTHS = ("m", "km")
_SHOWN = 4
"""Numbers of a point that its text shows."""


@dataclass(frozen=True)
class PointQuery(QueryColumn):
    """Columns of a frame that make points together; its values are the distinct points, written as texts.

    Parameters
    ----------
    points : ndarray of float64, shape (n_values, d)
        Of each value; unit vectors of places.
    keys : tuple
        Labels of the columns, of places latitude first.
    is_place : bool
    """

    points: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    keys: tuple[Any, ...] = ()
    is_place: bool = False

    @property
    def labels(self) -> list[Any]:
        """See `QueryColumn`."""
        return list(self.keys)

    @property
    def kind(self) -> str:
        """See `QueryColumn`."""
        return "point"


def is_numeric(column: pd.Series) -> bool:
    """Tell whether a column holds numbers, or lists of numbers of one length."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return False
    return bool(pd.api.types.is_numeric_dtype(column.dtype)) or lists_of(column) is not None


def make_point_query(df: pd.DataFrame, labels: Sequence[Any], settings: IndexSettings, unit: str | None) -> PointQuery:
    """Make a query of columns of numbers.

    Parameters
    ----------
    df : DataFrame
    labels : sequence of column label
    settings : IndexSettings
    unit : {"m", "km", "absolute", None}
        Lengths make places of two columns.

    Raises
    ------
    InvalidParameterError
        If the unit does not fit the columns, or is missing.
    InvalidTypeError
        If a column holds no numbers.

    Warns
    -----
    DfjoinWarning
        If numbers lie outside the range of latitude and longitude, or lists differ in length; such rows match nothing.
    """
    is_place = unit in _LENGTHS
    numbers, points = read_points(df, labels, settings, unit)
    labels = [labels[i] for i in check_points(labels, unit)]
    distinct, codes = distinct_points(points)
    first = np.full(len(distinct), 0)
    first[codes[codes >= 0][::-1]] = np.flatnonzero(codes >= 0)[::-1]
    texts = [point_text(row, code) for code, row in enumerate(numbers[first])]
    column = pd.Series(np.array([*texts, None], dtype=object)[codes], index=df.index, dtype=object)
    values = normalize_column(pa.array(column, pa.large_string(), from_pandas=True), settings)
    name = ", ".join(str(label) for label in labels)
    return PointQuery(
        name,
        tuple(labels) if len(labels) > 1 else labels[0],
        column.rename(name),
        values,
        profile_values(values, pa.large_string(), has_texts=False),
        companions=tuple(str(label) for label in df.columns),
        points=distinct[codes[values.first_rows()]] if len(values) else np.empty((0, distinct.shape[1])),
        keys=tuple(labels),
        is_place=is_place,
    )


def check_points(labels: Sequence[Any], unit: str | None) -> list[int]:
    """Return the order in which columns of numbers make points: of places latitude first.

    Parameters
    ----------
    labels : sequence of column label
    unit : {"m", "km", "absolute", None}
        Lengths make places of two columns.

    Raises
    ------
    InvalidParameterError
        If the unit does not fit the columns, or is missing.
    """
    order = order_of_place(labels)
    shown = f"on={[str(label) for label in labels]}"
    if unit in _LENGTHS:
        if len(labels) != 2:
            raise InvalidParameterError(
                f'`radius_unit` must be "absolute" for {shown}, got {unit!r}: metres and kilometres belong to places, '
                "which are two columns of latitude and longitude"
            )
        return list(order or (0, 1))
    if order is not None:
        raise InvalidParameterError(
            f'`radius_unit` must be "m" or "km" for places, as {shown}, got {unit!r}; for example radius=100, '
            'radius_unit="m"'
        )
    if unit != "absolute":
        raise InvalidParameterError(
            f'`radius_unit` must be "absolute" for columns of numbers, as {shown} ("m" or "km" for latitude and '
            f'longitude), got {unit!r}; for example radius=0.5, radius_unit="absolute"'
        )
    return list(range(len(labels)))


def read_points(
    df: pd.DataFrame, labels: Sequence[Any], settings: IndexSettings, unit: str | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return columns of a frame as numbers, of places latitude first, and as points; see `make_point_query`."""
    numbers = points_of_frame(df, [labels[i] for i in check_points(labels, unit)], settings)
    points = place_points(*numbers.T) if unit in _LENGTHS else numbers
    n_outside = int((np.isfinite(numbers).all(axis=1) & ~np.isfinite(points).all(axis=1)).sum())
    if n_outside:
        warn(
            f"{n_outside:,} rows of on={[str(label) for label in labels]} have no place, since latitudes are -90 to 90 "
            "and longitudes -180 to 360; they match nothing"
        )
    return numbers, points


def points_of_frame(df: pd.DataFrame, labels: Sequence[Any], settings: IndexSettings) -> NDArray[np.float64]:
    """Return columns of a frame as numbers, shape (n_rows, d); NaN for what is none.

    Raises
    ------
    InvalidTypeError
        If a column holds no number.
    """
    columns = [select_column(df, label, "on") for label in labels]
    lists = lists_of(columns[0]) if len(columns) == 1 else None
    if lists is not None:
        rows = to_rows(lists)
        n_other = int((columns[0].notna().to_numpy() & ~np.isfinite(rows).all(axis=1)).sum())
        if n_other:
            warn(
                f"{n_other:,} rows of on={str(labels[0])!r} have no vector: lists must have {rows.shape[1]} numbers, "
                "as the first one has, and no null; they match nothing"
            )
        return rows
    parts = []
    for label, column in zip(labels, columns, strict=True):
        numbers = to_floats(normalize_column(column_to_arrow(column, "on"), settings))
        if column.notna().any() and not np.isfinite(numbers).any():
            raise InvalidTypeError(f"`on` must name columns of numbers, and {label!r} holds none")
        parts.append(numbers)
    return np.column_stack(parts)


def point_text(numbers: NDArray[np.float64], code: int) -> str:
    """Write a point for people; a long one is cut, and told by its number."""
    shown = [
        f"{number:.12g}" if float(f"{number:.12g}") == number else repr(float(number)) for number in numbers[:_SHOWN]
    ]
    return f"({', '.join(shown)})" if numbers.size <= _SHOWN else f"({', '.join(shown)}, …) #{code}"
