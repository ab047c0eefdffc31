"""Columns and the target as numbers: what the selection of columns computes with, and nothing that a user gets."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError

TASKS = ("auto", "classification", "regression")

_FEW_CLASSES = 20
"""Numbers of at most so many distinct values are classes, unless they have fractions. Of more classes the most frequent
ones are distinguished, and the others are one: time and memory of the models grow with their number."""


@dataclass(frozen=True)
class EncodedColumn:
    """A column as numbers.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows,)
        Numbers and dates as they are; of texts and other objects the rank of each value by frequency, the most frequent
        first; NaN for null.
    is_number : bool
        Whether the order of the values means something.
    n_values : int
        Distinct values.
    """

    values: NDArray[np.float64]
    is_number: bool
    n_values: int

    @property
    def n_held(self) -> int:
        """Rows that have a value."""
        return int(np.count_nonzero(~np.isnan(self.values)))


def encode_column(column: pd.Series) -> EncodedColumn:
    """Turn a column into numbers.

    Parameters
    ----------
    column : Series

    Notes
    -----
    Ties of frequency are broken by the text of the value, so that the codes do not depend on the order of the rows.
    O(n log n).
    """
    dtype = column.dtype
    is_time = pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype)
    is_real = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype)
    if is_time or is_real:
        if is_time:
            column = column.dt.tz_localize(None) if getattr(dtype, "tz", None) is not None else column
            seconds = column.to_numpy(f"{dtype.kind}8[s]").astype(np.int64).astype(np.float64)
            values = np.where(column.isna().to_numpy(), np.nan, seconds)
        else:
            values = column.to_numpy(np.float64, na_value=np.nan)
        values = np.where(np.isfinite(values), values, np.nan)
        return EncodedColumn(values, True, int(np.unique(values[~np.isnan(values)]).size))
    texts = column.astype(object).map(str, na_action="ignore")
    codes, values = pd.factorize(texts, sort=True)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    rank = np.empty(len(values), np.float64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(values))
    encoded = np.append(rank, np.nan)[codes]  # code -1 is the last one
    return EncodedColumn(encoded, False, len(values))


@dataclass(frozen=True)
class PredictionTarget:
    """The target of a model.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows, n_outputs)
        For classes one column each, 1 where the row is of the class; for a regression the numbers, divided by their
        standard deviation.
    codes : ndarray of int64, shape (n_rows,)
        Class of each row; of a regression the tenth of the rows, by value, that it lies in.
    labels : Series
        The target as it came, for comparisons with columns.
    is_class : bool
    weights : ndarray of float64, shape (n_rows,), or None
        Weight of each row in training and in losses, 1 on average; None: all are equal.
    """

    values: NDArray[np.float64]
    codes: NDArray[np.int64]
    labels: pd.Series
    is_class: bool
    weights: NDArray[np.float64] | None = None

    def levels(self, n_levels: int) -> NDArray[np.int64]:
        """Return the classes; of a regression so many levels of equally many rows each, 10 at most."""
        return self.codes if self.is_class else self.codes * n_levels // 10

    def take(self, rows: NDArray[np.int64]) -> PredictionTarget:
        """Return the target of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return PredictionTarget(self.values[rows], self.codes[rows], self.labels.iloc[rows], self.is_class, weights)

    def losses(self, predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the squared error of each row, summed over the last axis, the outputs: for classes the Brier score."""
        lost = ((predicted - self.values) ** 2).sum(axis=-1)
        return lost if self.weights is None else lost * self.weights


def encode_target(y: Any, task: str) -> PredictionTarget:
    """Encode a target.

    Parameters
    ----------
    y : array-like, shape (n_rows,)
        Without nulls.
    task : {"auto", "classification", "regression"}
        ``"auto"``: numbers with fractions, or with more than 20 distinct values, are a regression.

    Notes
    -----
    Of more than 20 classes the 20 most frequent ones are distinguished, and the others are one.

    Raises
    ------
    InvalidParameterError
        If a regression is asked for and `y` holds no numbers.
    """
    labels = (pd.Series(np.asarray(y)) if not isinstance(y, pd.Series) else y.reset_index(drop=True)).infer_objects()
    if labels.dtype == object and all(isinstance(value, numbers.Real | Decimal) for value in labels):
        labels = labels.astype(np.float64)
    encoded = encode_column(labels)
    if task == "regression" and not encoded.is_number:
        raise InvalidParameterError(
            f'`task` "regression" needs numbers as target, got {show(labels.iloc[0])}; convert it with '
            'pandas.to_numeric, or pass task="classification"'
        )
    has_fractions = encoded.is_number and bool((encoded.values != np.floor(encoded.values)).any())
    is_class = task == "classification" or (
        task == "auto" and not has_fractions and (not encoded.is_number or encoded.n_values <= _FEW_CLASSES)
    )
    if is_class:
        _, codes, counts = np.unique(encoded.values, return_inverse=True, return_counts=True)
        if counts.size > _FEW_CLASSES:
            rank = np.empty(counts.size, np.int64)
            rank[np.argsort(-counts, kind="stable")] = np.arange(counts.size)
            codes = np.minimum(rank, _FEW_CLASSES)[codes]
        values = np.eye(int(codes.max(initial=0)) + 1)[codes]
        return PredictionTarget(values, codes.astype(np.int64), labels, True)
    spread = float(encoded.values.std()) or 1.0
    ranks = np.argsort(np.argsort(encoded.values, kind="stable"), kind="stable")
    tenths = ranks * 10 // max(1, ranks.size)
    return PredictionTarget(encoded.values[:, None] / spread, tenths.astype(np.int64), labels, False)
