"""The rows and the target that a user passes, checked as estimators of scikit-learn check them, as pandas frames."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin._optional import import_optional
from dfjoin._validation import show
from dfjoin.augment.encoding import PredictionTarget, encode_target
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, shortlist, warn
from dfjoin.frames.given_frame import plain_frame
from dfjoin.values.frames import is_pandas

_MOST_ROWS, _FEWEST_ROWS, _ROWS_A_SECOND = 20_000, 2_000, 1_000
"""Rows that features are chosen by, at most, at least, and for each second of the budget: with little time many tables
are looked at by some rows, not some tables by many."""


def _checks() -> Any:
    return import_optional("sklearn.utils.validation", extra="sklearn", purpose="LakeAugmenter")


def as_pandas(rows: Any) -> Any:
    """Return a frame of another library as one of pandas; anything else as it is."""
    return _converted(plain_frame(rows))


def _converted(values: Any) -> Any:
    """Return what has a method ``to_pandas`` as an object of pandas; anything else as it is."""
    return values.to_pandas() if hasattr(values, "to_pandas") and not is_pandas(values) else values


def split_target(X: Any, y: Any, target: Any) -> tuple[Any, Any]:
    """Take the target out of a frame that may have it.

    Parameters
    ----------
    X : DataFrame or array-like
    y : array-like or None
        What the caller passed as target; it goes before the column of X.
    target : label or None

    Returns
    -------
    X : DataFrame or array-like
        A frame of pandas if `X` was a frame; without the column `target`.
    y : array-like or None

    Raises
    ------
    ColumnNotFoundError
        If a target is named, none is passed, and X has no column of that name.
    """
    X = as_pandas(X)
    if target is None:
        return X, y
    labels = list(X.columns) if is_pandas(X) else []
    if target not in labels:
        if y is None:
            known = shortlist(labels) if is_pandas(X) else "an array has no names"
            raise ColumnNotFoundError(f"`target` must name a column of X ({known}), or pass y, got {show(target)}")
        return X, y
    return X.drop(columns=[target]), X.iloc[:, labels.index(target)] if y is None else y


def rows_to_learn_from(estimator: Any, X: Any) -> pd.DataFrame:
    """Check the rows that an estimator is fitted to, and note their columns in it.

    Raises
    ------
    InvalidParameterError
        If a frame has no rows, several levels of columns, or two columns of one name.
    ValueError
        By scikit-learn, for anything else that is no table.
    """
    if not is_pandas(X):
        return _array_frame(estimator, X, None)
    if X.columns.nlevels > 1:
        raise InvalidParameterError(
            f"`X` must have one name for each column, got columns of {X.columns.nlevels} levels; "
            'flatten them, as by X.set_axis(["_".join(c) for c in X], axis=1)'
        )
    twice = X.columns[X.columns.duplicated()]
    if len(twice):
        raise InvalidParameterError(f"`X` has columns of the same name ({shortlist(twice)}); rename them")
    _checks().validate_data(estimator, X, reset=True, skip_check_array=True)
    if len(X) == 0:
        raise InvalidParameterError("`X` must have at least one row to learn from, got 0 rows")
    return X


def known_rows(estimator: Any, X: Any, labels: list[Any]) -> pd.DataFrame:
    """Check rows against those that an estimator was fitted to, and name their columns as those.

    Raises
    ------
    ValueError
        By scikit-learn, if columns are missing, further ones are there, or their order is another one.
    """
    if not is_pandas(X):
        return _array_frame(estimator, X, labels)
    _checks().validate_data(estimator, X, reset=False, skip_check_array=True)
    return X if set(X.columns) == set(labels) else X.set_axis(labels, axis=1)


def _array_frame(estimator: Any, X: Any, labels: list[Any] | None) -> pd.DataFrame:
    array = _checks().validate_data(estimator, X, reset=labels is None, dtype=None, ensure_all_finite="allow-nan")
    names = labels or [f"x{i}" for i in range(array.shape[1])]
    return pd.DataFrame(array, columns=names).infer_objects()


def checked_target(frame: pd.DataFrame, y: Any, task: str, weights: Any = None) -> PredictionTarget:
    """Check a target and encode it.

    Raises
    ------
    InvalidParameterError
        If a row has no target, or a regression is asked for and `y` holds no numbers.
    ValueError
        By scikit-learn, if `y` has several columns, or not as many rows as the frame.

    Notes
    -----
    Rows are paired by position, as everywhere in scikit-learn. Where the indexes of frame and target have the same
    labels in another order a warning says so: one of them was shuffled or sorted.
    """
    values = _checks().column_or_1d(_converted(y), warn=True)
    _checks().check_consistent_length(frame, values)
    if bool(pd.isna(values).any()) or (values.dtype.kind == "f" and not np.isfinite(values).all()):
        raise InvalidParameterError(
            "`y` must have a value in every row, but Input y contains NaN or infinity; leave such rows out"
        )
    if isinstance(y, pd.Series) and _are_shuffled(y.index, frame.index):
        warn("`X` and `y` have the same index in another order; rows are paired by position, not by index")
    target = encode_target(pd.Series(values, name=getattr(y, "name", None)), task)
    if weights is None:
        return target
    own = _checks()._check_sample_weight(weights, frame, dtype=np.float64, ensure_non_negative=True)
    return replace(target, weights=own / (own.mean() or 1.0))


def _are_shuffled(own: pd.Index, other: pd.Index) -> bool:
    return not own.equals(other) and own.is_unique and other.is_unique and bool(own.isin(other).all())


def draw_rows(
    frame: pd.DataFrame, target: PredictionTarget | None, groups: NDArray[np.int64] | None, seed: int, seconds: float
) -> tuple[pd.DataFrame, PredictionTarget | None, NDArray[np.int64] | None]:
    """Draw rows to choose features by, in their order: at most 20,000, of a budget below 20 seconds fewer."""
    most = int(min(_MOST_ROWS, max(_FEWEST_ROWS, _ROWS_A_SECOND * seconds)))
    if len(frame) <= most:
        return frame, target, groups
    rows = np.sort(np.random.default_rng(seed).choice(len(frame), most, replace=False))
    return (
        frame.iloc[rows].reset_index(drop=True),
        None if target is None else target.take(rows),
        None if groups is None else groups[rows],
    )
