"""Columns as numbers that a model can be trained with: categories, texts and dates by encoders of scikit-learn."""

from __future__ import annotations

import numbers
from collections.abc import Hashable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from dfjoin._optional import import_optional
from dfjoin.join.output_names import free_name

_MOST_CATEGORIES = 40
"""Distinct values up to which each gets a column, as in skrub's ``TableVectorizer``."""

_TEXT_PARTS = 10
_DATE_PARTS = ("year", "month", "day_of_week")


def _sklearn(module: str) -> Any:
    return import_optional(f"sklearn.{module}", extra="sklearn", purpose="LakeAugmenter(encode=True)")


class ModelEncoding:
    """How each column of a frame becomes one or several columns of float64.

    Parameters
    ----------
    frame : DataFrame
        The rows that it is fitted to.
    seed : int

    Attributes
    ----------
    names : list of str
        Names of the columns that `encode` makes.

    Notes
    -----
    Numbers and booleans stay, null as NaN. Dates become days since 1970, year, month and day of the week. Texts and
    categories of up to 40 values become a column of zeros and ones for each value (`OneHotEncoder`; a value that `fit`
    has not seen and null are zero in all). Of more values, the 3-grams and 4-grams of their letters (`TfidfVectorizer`)
    become ten numbers (`TruncatedSVD`; latent semantic analysis), or as many as there are such grams, so that values
    spelled alike lie near each other. Objects that are all dates, or all numbers, are encoded as such. A name that
    another column has already gets ``__2``, ``__2_2``, …; numbers keep theirs.
    Nothing is known of the target, so that rows of training may be transformed like others.
    """

    def __init__(self, frame: pd.DataFrame, seed: int) -> None:
        self._columns = [_ColumnEncoder.of(frame.iloc[:, i], seed) for i in range(frame.shape[1])]
        taken: set[Hashable] = set()
        for column in sorted(self._columns, key=lambda column: not column.is_number):
            column.names = [free_name(name, "2", taken) for name in column.names]
        self.names = [name for column in self._columns for name in column.names]

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of numbers of a frame with the same columns."""
        parts = [column.encode(frame.iloc[:, i]) for i, column in enumerate(self._columns)]
        values = np.column_stack(parts) if parts else np.empty((len(frame), 0))
        encoded = pd.DataFrame(values, index=frame.index, columns=self.names)
        encoded.attrs = frame.attrs
        return encoded


class _ColumnEncoder:
    """The encoder of one column; a column of numbers has none."""

    def __init__(self, names: list[str], encoder: Any = None, is_date: bool = False) -> None:
        self.names = names
        self.is_number = encoder is None and not is_date
        self._encoder = encoder
        self._is_date = is_date

    @classmethod
    def of(cls, column: pd.Series, seed: int) -> _ColumnEncoder:
        """Choose an encoder and fit it."""
        name, dtype = str(column.name), column.dtype
        if pd.api.types.is_datetime64_any_dtype(dtype) or _holds(column, date):
            return cls([f"{name}_days", *(f"{name}_{part}" for part in _DATE_PARTS)], is_date=True)
        is_complex = pd.api.types.is_complex_dtype(dtype)
        is_number = pd.api.types.is_numeric_dtype(dtype) and not is_complex
        if is_number or pd.api.types.is_timedelta64_dtype(dtype) or _holds(column, numbers.Real, Decimal, np.bool_):
            return cls([name])
        texts = _texts(column)
        held = texts[column.notna().to_numpy()]
        if np.unique(held).size <= _MOST_CATEGORIES:
            encoder = _sklearn("preprocessing").OneHotEncoder(handle_unknown="ignore", sparse_output=False)
            encoder.fit(held.reshape(-1, 1) if held.size else np.array([[""]], object))
            return cls([f"{name}_{value}" for value in encoder.categories_[0]], encoder)
        grams = _sklearn("feature_extraction.text").TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4))
        n_parts = min(_TEXT_PARTS, grams.fit_transform(texts).shape[1])
        parts = _sklearn("decomposition").TruncatedSVD(n_parts, random_state=seed)
        encoder = _sklearn("pipeline").Pipeline([("grams", grams), ("parts", parts)]).fit(texts)
        return cls([f"{name}_{number}" for number in range(n_parts)], encoder)

    def encode(self, column: pd.Series) -> np.ndarray:
        """Return the numbers of a column, of shape (n_rows, n_names)."""
        if self._is_date:
            is_object = column.dtype.kind == "O"  # of dates, or of moments of several zones
            times = pd.to_datetime(column.astype(object) if is_object else column, errors="coerce", utc=is_object)
            times = times.dt.tz_localize(None) if getattr(times.dtype, "tz", None) is not None else times
            days = (times - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
            return np.column_stack([days, *(getattr(times.dt, part).astype("float64") for part in _DATE_PARTS)])
        if self._encoder is None:
            is_span = pd.api.types.is_timedelta64_dtype(column.dtype)
            numbers = column / pd.Timedelta(days=1) if is_span else column
            return numbers.to_numpy(np.float64, na_value=np.nan).reshape(-1, 1)
        texts = _texts(column)
        if not texts.size:
            return np.empty((0, len(self.names)))
        return self._encoder.transform(texts if hasattr(self._encoder, "steps") else texts.reshape(-1, 1))


def _holds(column: pd.Series, *types: type) -> bool:
    """Tell whether all cells that are not null are objects of some types."""
    if column.dtype.kind != "O" or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    held = column.dropna().astype(object)
    return len(held) > 0 and all(isinstance(value, types) for value in held)


def _texts(column: pd.Series) -> np.ndarray:
    """Return each value as a text, null as an empty one."""
    texts = column.astype(object).map(str, na_action="ignore")
    return texts.astype(object).fillna("").to_numpy(object)  # pandas makes a column of nulls alone one of numbers
