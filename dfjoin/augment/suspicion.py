"""Columns that are made of the target, though none of them equals it: bands, gaps, parts of a sum, group means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dfjoin.augment.encoding import EncodedColumn, PredictionTarget
from dfjoin.augment.target_copies import agreement

_FEWEST_ROWS = 30
"""Fewer rows say nothing."""

_ROWS_A_BAND = 5
_OUT_OF_ORDER = 0.02
"""Share of the changes from one value to the next that bands out of place may make, of those that chance makes."""

_FEWEST_CHANGES = 20
"""Changes that chance makes at least, so that few ones are no accident."""

_UNEXPLAINED = 1e-4
"""Share of the variance that rounding leaves where columns add up to the target; measurements leave more."""

_MOST_PARTS = 50
"""Columns of a table that are added up at most: those that follow the target most."""

_AGREEMENT = 0.9
"""Cohen's kappa of the classes and the values of two columns together, from which these say the class."""

_MOST_COMBINED = 12
"""Columns of few values whose pairs are looked at."""

_FEWEST_GROUPS = 10
_SURE = 5.0
"""Standard errors by which group means lie nearer to a column than means of other rows would."""


def banded(column: EncodedColumn, target: PredictionTarget) -> str:
    """Say that a column is a coarse function of the target, if it is: bands of its numbers, groups of its classes.

    Parameters
    ----------
    column : EncodedColumn
        Of the same rows as the target; null is a value like others.
    target : PredictionTarget

    Returns
    -------
    str
        Empty if it is none.

    Notes
    -----
    Numbers: along the target in its order the values of the column change as often as bands need, and hardly more. An
    independent column of the value shares p changes n · (1 − Σ p²) times. Classes: each class has one value, beyond
    chance (Cohen's kappa). A value stands for five rows on average. O(n log n).
    """
    if column.n_values > column.values.size / _ROWS_A_BAND:
        return ""
    _, codes = np.unique(column.values, return_inverse=True)
    n, n_values = codes.size, int(codes.max(initial=0)) + 1
    if n < _FEWEST_ROWS or not 2 <= n_values <= n / _ROWS_A_BAND:
        return ""
    if target.is_class:
        _, kappa = agreement(target.codes, codes)
        return "each class of the target has one value of it" if kappa >= _AGREEMENT else ""
    shares = np.bincount(codes) / n
    by_chance = n * (1 - float((shares**2).sum()))
    ordered = codes[np.lexsort((codes, target.values[:, 0]))]
    n_changes = int(np.count_nonzero(np.diff(ordered)))
    if by_chance < _FEWEST_CHANGES or n_changes - (n_values - 1) > _OUT_OF_ORDER * by_chance:
        return ""
    return f"its {n_values} values are bands of the target, which do not overlap"


def combined(columns: Sequence[EncodedColumn], target: PredictionTarget) -> list[tuple[int, int]]:
    """Return the pairs of columns of few values that say the class together, and neither of them alone.

    Parameters
    ----------
    columns : sequence of EncodedColumn
    target : PredictionTarget
        Of classes; of numbers there are no pairs.

    Notes
    -----
    The first 12 columns of few values are looked at. O(12² · n).
    """
    n = target.codes.size
    if not target.is_class or n < _FEWEST_ROWS:
        return []
    coded = [(i, np.unique(column.values, return_inverse=True)[1]) for i, column in enumerate(columns)]
    few = [(i, codes) for i, codes in coded if 1 <= codes.max(initial=0) < n**0.5 / _ROWS_A_BAND][:_MOST_COMBINED]
    unsure = [(i, codes) for i, codes in few if agreement(codes, target.codes)[1] < _AGREEMENT]
    found = []
    for number, (i, own) in enumerate(unsure):
        for j, other in unsure[number + 1 :]:
            both = np.unique(own * (int(other.max()) + 1) + other, return_inverse=True)[1]
            if agreement(both, target.codes)[1] >= _AGREEMENT:
                found.append((i, j))
    return found


def parts_of_target(
    columns: Sequence[EncodedColumn], own: Sequence[EncodedColumn], target: PredictionTarget
) -> tuple[list[int], str]:
    """Return the columns that make the target exactly when they are added up, or multiplied, each with a weight.

    Parameters
    ----------
    columns : sequence of EncodedColumn
        Of one table.
    own : sequence of EncodedColumn
        Of the frame; they may be parts as well. Where they make the target without the table, no column is reported.
    target : PredictionTarget
        Of numbers; of classes there are no parts.

    Returns
    -------
    parts : list of int
        Positions in `columns`.
    verb : str
        What makes the target of them; empty where there are none.

    Notes
    -----
    Least squares on two thirds of the rows in which all columns have a value; of the others all but a ten thousandth of
    the variance is explained, as rounding leaves. Then columns are left out, one by one, while that holds. Products are
    sums of logarithms. O(p³ n) for p columns.
    """
    none: tuple[list[int], str] = [], ""
    if target.is_class:
        return none
    y = target.values[:, 0]
    numbers = [i for i, column in enumerate(columns) if column.is_number and column.n_held >= 0.9 * y.size]
    known = [column.values for column in own if column.is_number and column.n_held >= 0.9 * y.size]
    if len(numbers) > _MOST_PARTS:
        numbers = sorted(numbers, key=lambda i: -_line(columns[i].values, y))[:_MOST_PARTS]
    for verb, transform in (("added up", None), ("multiplied", np.log)):
        sides = y, *known, *(columns[i].values for i in numbers)
        if transform is not None:
            if not (y > 0).all():
                continue
            positive = [i for i in numbers if np.nanmin(columns[i].values) > 0]
            sides = y, *(own for own in known if np.nanmin(own) > 0), *(columns[i].values for i in positive)
            sides = tuple(transform(side) for side in sides)
        else:
            positive = numbers
        parts = _exact_parts(np.column_stack(sides), len(sides) - 1 - len(positive))
        if parts:
            return [positive[part] for part in parts], verb
    return none


def _line(values: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    rows = ~np.isnan(values)
    return 0.0 if np.ptp(values[rows]) == 0 else abs(float(np.corrcoef(values[rows], y[rows])[0, 1]))


def _exact_parts(sides: NDArray[np.float64], n_known: int) -> list[int]:
    """Return the columns behind the target and the known ones that are needed to make the target."""
    sides = sides[~np.isnan(sides).any(axis=1)]
    n_parts = sides.shape[1] - 1 - n_known
    if not n_parts or len(sides) < max(_FEWEST_ROWS, 3 * sides.shape[1]):
        return []
    spread = sides.std(axis=0)
    sides = (sides - sides.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    kept = list(range(1, sides.shape[1]))
    if _unexplained(sides, kept) > _UNEXPLAINED or _unexplained(sides, kept[:n_known]) <= _UNEXPLAINED:
        return []
    for part in reversed(range(1, sides.shape[1])):
        rest = [other for other in kept if other != part]
        if _unexplained(sides, rest) <= _UNEXPLAINED:
            kept = rest
    return [part - 1 - n_known for part in kept if part > n_known]


def _unexplained(sides: NDArray[np.float64], kept: list[int]) -> float:
    """Return the share of the variance of the first column that the others do not explain on the held-out third."""
    is_held = np.arange(len(sides)) % 3 == 0
    if not kept:
        return 1.0
    weights = np.linalg.lstsq(sides[~is_held][:, kept], sides[~is_held, 0], rcond=None)[0]
    left = sides[is_held, 0] - sides[is_held][:, kept] @ weights
    return float(left.var() / max(sides[is_held, 0].var(), 1e-300))


def includes_own_rows(column: EncodedColumn, target: PredictionTarget, groups: NDArray[np.int64] | None = None) -> bool:
    """Tell whether a column is made of group means of the target in which these very rows are counted.

    Parameters
    ----------
    column : EncodedColumn
    target : PredictionTarget
        Of classes each is looked at: the share of a class among a group is a mean.
    groups : ndarray of int64, shape (n_rows,), optional
        Key of each row by which the column was joined; by default rows of one value are a group.

    Notes
    -----
    The mean of its n rows lies about σ²/n from whatever is known of the group without
    them, at the least: what predicts it perfectly, too. A column that lies clearly nearer has seen the rows. The means
    are compared with a straight line of the column; the sums of squares n (mean − line)² and of the variances within
    groups have the same expectation then, and degrees of freedom after Satterthwaite (1946). O(n log n) for each class.
    """
    rows = np.flatnonzero(~np.isnan(column.values))
    if not column.is_number or rows.size < _FEWEST_ROWS:
        return False
    held = column.values[rows]
    _, first, codes, counts = np.unique(
        held if groups is None else groups[rows], return_index=True, return_inverse=True, return_counts=True
    )
    values = held[first]
    if not np.array_equal(values[codes], held):  # a key has several values: it is no mean of its rows
        return False
    if np.count_nonzero(counts > 1) < _FEWEST_GROUPS:
        return False
    answers = target.values[rows]
    return any(_are_too_near(values, codes, counts, answers[:, i]) for i in range(answers.shape[1]))


def _are_too_near(
    values: NDArray[np.float64], codes: NDArray[np.int64], counts: NDArray[np.int64], y: NDArray[np.float64]
) -> bool:
    means = np.bincount(codes, y) / counts
    squares = np.bincount(codes, (y - means[codes]) ** 2)
    kept = counts > 1
    values, means, n = values[kept], means[kept], counts[kept].astype(np.float64)
    variances = squares[kept] / (n - 1)
    within = float(variances.sum())
    weights = n / n.sum()
    centred = values - weights @ values
    spread = float(weights @ centred**2)
    if within <= 0 or spread <= 0:
        return False
    slope = float(weights @ (centred * (means - weights @ means))) / spread
    near = float((n * (means - weights @ means - slope * centred) ** 2).sum())
    freedom = max(within**2 / float((variances**2).sum()) - 2, 1.0)
    freedom_within = within**2 / float((variances**2 / (n - 1)).sum())
    ratio = max(near / within * values.size / (values.size - 2), 1e-12)
    return bool(np.log(ratio) < -_SURE * np.sqrt(2 / freedom + 2 / freedom_within))
