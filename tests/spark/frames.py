"""Frames of Spark and pandas with the same rows, and rows of both that can be compared."""

import datetime
import math
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa

from dfjoin.errors import DfjoinWarning
from spark_ext.rows_here import wall_columns
from spark_ext.transfer import collect, to_pandas, to_spark


def pair(spark, **columns):
    """Make the same frame twice: for pandas and for Spark; arguments are Arrow arrays or lists."""
    table = pa.table(
        {name: column if isinstance(column, pa.Array) else pa.array(column) for name, column in columns.items()}
    )
    return to_pandas(table), to_spark(spark, table)


@contextmanager
def configured(spark, settings):
    """Set configurations of the session for a while."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def texts_of(told):
    """Return the texts of the warnings of dfjoin; py4j of pyspark 4.0 leaves sockets open, of which Python tells."""
    return [str(each.message) for each in told if issubclass(each.category, DfjoinWarning)]


def plain(value):
    """Return a cell in a form that both sides share."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None or (not isinstance(value, (list, dict)) and pd.isna(value)):
        return None
    if isinstance(value, (datetime.datetime, datetime.date)):
        text = value.isoformat()
        return text.removesuffix("T00:00:00")
    if isinstance(value, bool) or type(value).__name__ == "bool_":
        return bool(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return round(number, 9) if not isinstance(value, str) and math.isfinite(number) else str(value)


def rows(frame):
    """Return the names of the columns, and the rows in an order of their own."""
    if not isinstance(frame, pd.DataFrame):
        frame = to_pandas(collect(wall_columns(frame, frame.columns)))
    found = [tuple(plain(value) for value in row) for row in frame.itertuples(index=False, name=None)]
    return list(frame.columns), sorted(found, key=repr)
