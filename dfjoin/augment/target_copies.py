"""Columns that are the target in another spelling: other names of its classes, another unit or scale of its numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.augment.encoding import EncodedColumn, PredictionTarget

__all__ = ["numbers_in_texts", "spelled_otherwise"]

_FEWEST_ROWS = 10
"""Fewer rows with a value say nothing."""

_SAME_ORDER = 0.999
"""Rank correlation with the target from which a column is a function of it: noise of a thousandth of the variance of
normal numbers gives less. 0.99 and 0.9999 change nothing, see `dfjoin.augment.leakage`."""

_IN_LINE = 1 - 1e-9
"""Correlation with the target from which a column is the target in another unit."""

_AGREEMENT = 0.9
"""Cohen's kappa of the classes and the values of a column from which these are names of the classes: 0.8 refuses
1.3 % of the columns that do not leak, 0.95 changes nothing."""

_FIRST_ROWS = 500
_OF_FEW_ROWS = 0.005
"""About so many rows, at even distances, tell most columns from a function of the target: their correlation is lower by
more than so few rows let it vary."""

_ROWS_A_NAME = 5
_NUMBER = r"^\D{0,4}?([-+]?\d[\d,]*(?:\.\d+)?)\s?[^\d.,]{0,12}$"
_MOSTLY = 0.95


def numbers_in_texts(column: pd.Series) -> pd.Series:
    """Return the numbers of a column of texts, where nearly each of them is one number with a unit; else the column.

    Examples
    --------
    >>> numbers_in_texts(pd.Series(["1,250 kg", "$ 8.5", None])).tolist()
    [1250.0, 8.5, nan]
    >>> numbers_in_texts(pd.Series(["a 1 b 2"])).tolist()
    ['a 1 b 2']
    """
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype):
        return column
    codes, values = pd.factorize(column.astype(object).map(str, na_action="ignore"))
    if len(values) == 0:
        return column
    texts = pd.Series(np.asarray(values, object)).str.extract(_NUMBER)[0].str.replace(",", "")
    numbers = np.append(pd.to_numeric(texts, errors="coerce").to_numpy(np.float64), np.nan)[codes]
    is_held = codes >= 0
    return pd.Series(numbers, column.index) if (~np.isnan(numbers[is_held])).mean() >= _MOSTLY else column


def spelled_otherwise(column: EncodedColumn, target: PredictionTarget) -> str:
    """Say how a column spells the target, if it does.

    Parameters
    ----------
    column : EncodedColumn
    target : PredictionTarget

    Returns
    -------
    str
        Empty where it does not.

    Notes
    -----
    Classes: each value of the column is given the class that is most frequent with it; the two agree beyond chance
    (Cohen's kappa), and a value stands for five rows on average. Numbers: the two have the same order, up or down
    (Spearman); no noise that is worth the name leaves that. O(n log n).
    """
    rows = np.flatnonzero(~np.isnan(column.values))
    if rows.size < _FEWEST_ROWS:
        return ""
    if target.is_class:
        return _other_names(column.values[rows], target.take(rows))
    return _other_scale(column.values[rows], target.values[rows, 0]) if column.is_number else ""


def _other_names(values: NDArray[np.float64], target: PredictionTarget) -> str:
    names, codes = np.unique(values, return_inverse=True)
    if not 2 <= names.size <= values.size / _ROWS_A_NAME:
        return ""
    n_classes = target.values.shape[1]
    counts = np.bincount(codes * n_classes + target.codes, minlength=names.size * n_classes).reshape(names.size, -1)
    n = values.size
    agreement = counts.max(axis=1).sum() / n
    said = np.bincount(counts.argmax(axis=1), counts.sum(axis=1), n_classes)
    chance = float((said * counts.sum(axis=0)).sum()) / n**2
    if chance >= 1 or (agreement - chance) / (1 - chance) < _AGREEMENT:
        return ""
    return f"it names the classes of the target otherwise: its values tell the class in {agreement:.1%} of the rows"


def _other_scale(values: NDArray[np.float64], target: NDArray[np.float64]) -> str:
    if min(np.unique(values).size, np.unique(target).size) < _FEWEST_ROWS:
        return ""
    if abs(_correlation(values, target)) >= _IN_LINE:
        return "it is the target in another unit: the target is a · value + b"
    spread = slice(None, None, max(1, values.size // _FIRST_ROWS))
    if abs(_rank_correlation(values[spread], target[spread])) < _SAME_ORDER - _OF_FEW_ROWS:
        return ""
    rho = _rank_correlation(values, target)
    if abs(rho) < _SAME_ORDER:
        return ""
    return f"it is a function of the target: both have the same order, {'up' if rho > 0 else 'down'} (ρ {rho:.4f})"


def _rank_correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return _correlation(*(pd.Series(side).rank().to_numpy() for side in (a, b)))


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    a, b = (side / (float(np.abs(side).max()) or 1.0) for side in (a, b))
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0
