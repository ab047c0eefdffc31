"""What a person sees of each column of a table: its kind, its values, and whether it can be a key."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dfjoin.page.rendering import cell_text

_BINS = 16
_FREQUENT = 3
_MOST_ROWS = 200_000
"""Rows that a histogram and the most frequent values are made of; the others are counted alone."""

_LATITUDES = ("lat", "latitude")
_LONGITUDES = ("lon", "lng", "long", "longitude")


@dataclass(frozen=True)
class ColumnCard:
    """A column.

    Parameters
    ----------
    name, kind : str
    n_distinct, n_null, n_rows : int
        Lists and the like are not counted: −1 distinct values.
    heights : list of float
        Of a histogram of numbers or dates; empty for texts.
    lowest, highest : str
        Its ends.
    frequent : list of (str, int)
        The most frequent texts and how often they stand there.
    """

    name: str
    kind: str
    n_distinct: int
    n_null: int
    n_rows: int
    heights: list[float]
    lowest: str
    highest: str
    frequent: list[tuple[str, int]]

    @property
    def is_key(self) -> bool:
        """Whether each row has a value of its own."""
        return self.n_rows > 1 and self.n_distinct == self.n_rows


def column_cards(df: pd.DataFrame) -> list[ColumnCard]:
    """Describe each column of a frame; O(rows log rows) for each."""
    return [_card(str(name), df[name]) for name in df.columns]


def _card(name: str, cells: pd.Series) -> ColumnCard:
    kind = _kind(cells)
    held = cells.dropna()
    try:
        n_distinct = int(held.nunique())
    except TypeError:
        return ColumnCard(name, kind, -1, int(cells.isna().sum()), len(cells), [], "", "", [])
    heights: list[float] = []
    lowest = highest = ""
    frequent: list[tuple[str, int]] = []
    seen = held.iloc[:_MOST_ROWS]
    if kind in ("number", "whole number", "date") and n_distinct > 1:
        heights = _histogram(seen)
        lowest, highest = (cell_text(end) or "" for end in (held.min(), held.max()))
    elif len(seen):
        counts = seen.value_counts().head(_FREQUENT)
        frequent = [(cell_text(value) or "", int(count)) for value, count in counts.items()]
    return ColumnCard(name, kind, n_distinct, int(cells.isna().sum()), len(cells), heights, lowest, highest, frequent)


def _kind(cells: pd.Series) -> str:
    dtype = cells.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return "truth"
    if pd.api.types.is_integer_dtype(dtype):
        return "whole number"
    if pd.api.types.is_numeric_dtype(dtype):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "date"
    return "text"


def _histogram(cells: pd.Series) -> list[float]:
    """Return the heights of equally wide bins, the highest 1; the square root keeps the low ones visible."""
    if pd.api.types.is_datetime64_any_dtype(cells.dtype):
        cells = cells.astype("int64")
    numbers = cells.to_numpy(np.float64, na_value=np.nan)
    numbers = numbers[np.isfinite(numbers)] / 2  # so that the distance of any two is finite
    above = numbers - numbers.min(initial=np.inf)
    if not above.any():
        return []
    # numpy.histogram refuses numbers that lie closer than so many floats
    bins = np.minimum(_BINS * (above / above.max()), _BINS - 1).astype(np.int64)
    counts = np.sqrt(np.bincount(bins, minlength=_BINS))
    return [float(height) for height in counts / counts.max()]


def is_place(names: list[str]) -> bool:
    """Tell whether columns are a latitude and a longitude, by their headers.

    Examples
    --------
    >>> is_place(["Latitude", "lon"]), is_place(["lat", "city"])
    (True, False)
    """
    plain = [name.strip().casefold() for name in names]
    return len(plain) == 2 and any(name in _LATITUDES for name in plain) and any(name in _LONGITUDES for name in plain)
