"""Columns of frames, cell by cell."""

import datetime
import math
from decimal import Decimal

import pandas as pd


def arrow_cell(value):
    """The plain Python value of one cell, None for a missing one."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, (pd.Timestamp, pd.Timedelta)):
        return value.to_pydatetime() if isinstance(value, pd.Timestamp) else value.to_pytimedelta()
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (float, Decimal)) and math.isnan(value):
        return None
    if isinstance(value, complex) and value != value:
        return None
    return str(value) if isinstance(value, (pd.Period, pd.Interval, complex)) else value


def span_text(cell):
    """A duration as ISO 8601 writes it; other cells as they are."""
    if not isinstance(cell, datetime.timedelta):
        return cell
    seconds = abs(cell) // datetime.timedelta(seconds=1)
    parts = [(seconds // 86_400, "D"), (seconds // 3600 % 24, "H"), (seconds // 60 % 60, "M"), (seconds % 60, "S")]
    days, *times = (f"{n}{letter}" if n else "" for n, letter in parts)
    time = "".join(times)
    return ("-" if cell < datetime.timedelta() else "") + "P" + days + ("T" + time if time or not days else "")
