"""Columns of frames, cell by cell."""

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
