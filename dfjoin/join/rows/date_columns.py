"""The columns of a table of the lake that hold dates or periods."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dfjoin.store.overview import describe_table
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import is_year_name
from dfjoin.values.periods import read_periods

__all__ = ["asof_dates", "date_columns"]


def date_columns(snapshot: Snapshot, table: str) -> list[str]:
    """Return the columns of a table that hold dates or periods, by its catalogue.

    Parameters
    ----------
    snapshot : Snapshot
    table : str

    Returns
    -------
    list of str
        Columns of dates; whole numbers under the name of a year; texts whose samples are periods of one granularity.
    """
    columns = describe_table(snapshot, table)["columns"]
    found = []
    for row in columns.itertuples(index=False):
        is_year = is_year_name(row.column)
        if row.kind == "date" or (row.kind in ("text", "integer") and _are_periods(list(row.samples), is_year)):
            found.append(row.column)
    return found


def _are_periods(samples: list[Any], is_year: bool) -> bool:
    return bool(samples) and read_periods(pd.Series([str(text) for text in samples]), is_year=is_year) is not None


def asof_dates(snapshot: Snapshot, table: str, label: Any, keys: list[str]) -> list[str]:
    """Return the columns by which rows of a table are dated: that of the frame's name, else all but the keys."""
    found = [name for name in date_columns(snapshot, table) if name not in keys]
    same = [name for name in found if name.strip().casefold() == str(label).strip().casefold()]
    return same or found
