"""Columns that are the target in another spelling: other names of its classes, another unit or scale of its numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.augment.encoding import EncodedColumn, PredictionTarget

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


@dataclass(frozen=True)
class Spelling:
    """How a column spells the target.

    Parameters
    ----------
    reason : str
    is_exact : bool
        Whether it does so in every row that has a value.
    """

    reason: str
    is_exact: bool


def spelled_otherwise(column: EncodedColumn, target: PredictionTarget) -> Spelling | None:
    """Say how a column spells the target, if it does.

    Parameters
    ----------
    column : EncodedColumn
    target : PredictionTarget

    Returns
    -------
    Spelling or None

    Notes
    -----
    Classes: each value of the column is given the class that is most frequent with it; the two agree beyond chance
    (Cohen's kappa), and a value stands for five rows on average. Numbers: the two have the same order, up or down
    (Spearman); no noise that is worth the name leaves that. O(n log n).
    """
    rows = np.flatnonzero(~np.isnan(column.values))
    if rows.size < _FEWEST_ROWS:
        return None
    if target.is_class:
        return _other_names(column.values[rows], target.codes[rows])
    return _other_scale(column.values[rows], target.values[rows, 0]) if column.is_number else None


def _other_names(values: NDArray[np.float64], classes: NDArray[np.int64]) -> Spelling | None:
    names, codes = np.unique(values, return_inverse=True)
    if not 2 <= names.size <= values.size / _ROWS_A_NAME:
        return None
    share, kappa = agreement(codes, classes)
    if kappa < _AGREEMENT:
        return None
    reason = f"it names the classes of the target otherwise: its values tell the class in {share:.1%} of the rows"
    return Spelling(reason, share == 1)


def agreement(own: NDArray[np.int64], other: NDArray[np.int64]) -> tuple[float, float]:
    """Return how often one column of codes is what another one says of it, and the same beyond chance (Cohen's kappa).

    Parameters
    ----------
    own, other : ndarray of int64, shape (n_rows,)
        Codes from 0 on. A value of `own` says the value of `other` that is most frequent beside it.

    Examples
    --------
    >>> agreement(np.array([0, 0, 1, 1, 2, 2]), np.array([1, 1, 0, 0, 1, 1]))
    (1.0, 1.0)
    """
    width = int(other.max()) + 1
    counts = np.bincount(own * width + other, minlength=(int(own.max()) + 1) * width).reshape(-1, width)
    share = float(counts.max(axis=1).sum()) / own.size
    said = np.bincount(counts.argmax(axis=1), counts.sum(axis=1), width)
    chance = float((said * counts.sum(axis=0)).sum()) / own.size**2
    return share, (share - chance) / (1 - chance) if chance < 1 else 0.0


def _other_scale(values: NDArray[np.float64], target: NDArray[np.float64]) -> Spelling | None:
    if min(np.unique(values).size, np.unique(target).size) < _FEWEST_ROWS:
        return None
    if abs(_correlation(values, target)) >= _IN_LINE:
        return Spelling("it is the target in another unit: the target is a · value + b", True)
    spread = slice(None, None, max(1, values.size // _FIRST_ROWS))
    if abs(_rank_correlation(values[spread], target[spread])) < _SAME_ORDER - _OF_FEW_ROWS:
        return None
    rho = _rank_correlation(values, target)
    if abs(rho) < _SAME_ORDER:
        return None
    order = f"{'up' if rho > 0 else 'down'} (ρ {rho:.4f})"
    return Spelling(f"it is a function of the target: both have the same order, {order}", False)


def _rank_correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return _correlation(*(pd.Series(side).rank().to_numpy() for side in (a, b)))


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    a, b = (side / (float(np.abs(side).max()) or 1.0) for side in (a, b))
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0 else 0.0
