"""What columns are worth on rows that a model has not seen: cross-validated losses, compared row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin._optional import import_optional
from dfjoin.augment.encoding import PredictionTarget

__all__ = [
    "Gain",
    "HeldOutLosses",
    "answers",
    "compare_losses",
    "fold_rows",
    "group_codes",
    "one_thread",
    "predict",
    "rank_beyond_noise",
    "shared_keys",
    "tree_model",
]

_FOLDS = 5
_TREES = 50
_LEAF_ROWS = (3, 20)
"""Fewest and most rows that a leaf of boosted trees has at least; between them a twentieth of all."""

_NOISE_ROUNDS = 4
_NOISE_ROWS = 5_000
"""Rows that columns are compared with noise on, at most."""


def _sklearn(module: str) -> Any:
    return import_optional(f"sklearn.{module}", extra="sklearn", purpose="LakeAugmenter")


def tree_model(target: PredictionTarget, n_rows: int, seed: int) -> Any:
    """Return the model that tables are tried with: boosted trees, as they take nulls, codes and any scale."""
    ensemble = _sklearn("ensemble")
    make = ensemble.HistGradientBoostingClassifier if target.is_class else ensemble.HistGradientBoostingRegressor
    leaf = min(max(_LEAF_ROWS[0], n_rows // 20), _LEAF_ROWS[1])
    return make(max_iter=_TREES, max_leaf_nodes=8, min_samples_leaf=leaf, early_stopping=False, random_state=seed)


def predict(model: Any, target: PredictionTarget, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Predict in the form of `PredictionTarget.values`: of classes the probabilities."""
    if not target.is_class:
        return model.predict(matrix).reshape(len(matrix), -1)
    predicted = np.zeros((len(matrix), target.values.shape[1]))
    predicted[:, model.classes_.astype(np.int64)] = model.predict_proba(matrix)
    return predicted


def answers(target: PredictionTarget, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return what a model is trained with."""
    return target.codes[rows] if target.is_class else target.values[rows, 0]


def fold_rows(target: PredictionTarget, groups: NDArray[np.int64] | None, seed: int) -> NDArray[np.int64]:
    """Give every row a fold.

    Parameters
    ----------
    target : PredictionTarget
    groups : ndarray of int64, shape (n_rows,), optional
        Rows of one group are in one fold, so that what is measured holds for groups that the model has not seen.
    seed : int

    Returns
    -------
    ndarray of int64, shape (n_rows,)
        0 to 4. Without groups each fold has its share of every class, or of every tenth of a regression.
    """
    rng = np.random.default_rng(seed)
    n_rows = target.codes.size
    if groups is not None:
        _, codes = np.unique(groups, return_inverse=True)
        n_groups = int(codes.max()) + 1
        return (rng.permutation(n_groups) % min(_FOLDS, n_groups))[codes]
    folds = np.empty(n_rows, np.int64)
    folds[np.lexsort((rng.random(n_rows), target.codes))] = np.arange(n_rows) % min(_FOLDS, max(2, n_rows))
    return folds


@dataclass(frozen=True)
class Gain:
    """What columns add on held-out rows.

    Parameters
    ----------
    share : float
        Of the loss that was left without them.
    error : float
        Standard error of `share`, over groups of rows.
    rank_score : float
        Normal score of Wilcoxon's signed ranks of the groups' gains.
    """

    share: float
    error: float
    rank_score: float = 0.0

    @property
    def sureness(self) -> float:
        """How many standard errors the gain lies above 0.

        Where the mean is above its own standard error, the ranks count as well if they are surer: a few groups with
        large losses make the mean of squared losses uncertain, and leave the ranks as they are.
        """
        by_mean = self.share / self.error if self.error > 0 else (np.inf if self.share > 0 else 0.0)
        return by_mean if by_mean < 1 else max(by_mean, self.rank_score)


class HeldOutLosses:
    """Cross-validated losses of a target.

    Parameters
    ----------
    target : PredictionTarget
    groups : ndarray of int64 or None
        See `fold_rows`.
    seed : int
    go_on : callable
        Asked before each model is trained; it raises where the time is over.
    """

    def __init__(
        self,
        target: PredictionTarget,
        groups: NDArray[np.int64] | None,
        seed: int,
        go_on: Callable[[], None] = lambda: None,
    ) -> None:
        self._target = target
        self.groups = groups
        self._seed = seed
        self._go_on = go_on

    def of(
        self,
        base: NDArray[np.float64],
        more: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = None,
        n_rounds: int = 1,
    ) -> NDArray[np.float64]:
        """Return the loss of each row by models that did not see its fold.

        Parameters
        ----------
        base : ndarray of float64, shape (n_rows, n_columns)
            Columns that every model has.
        more : callable, optional
            Told the rows of the training folds, it returns further columns (of all rows): what is chosen by the target
            is chosen without the rows on which it is measured.
        n_rounds : int
            Cross-validations, on other folds each, of which the losses are averaged.
        """
        total = np.zeros(self._target.codes.size)
        for number in range(n_rounds):
            folds = fold_rows(self._target, self.groups, self._seed + number)
            for fold in range(int(folds.max(initial=0)) + 1):
                self._go_on()
                trained, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
                total[held] += self._fold_losses(base, more, trained, held)
        return total / n_rounds

    def _fold_losses(
        self, base: NDArray[np.float64], more: Any, trained: NDArray[np.int64], held: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        parts = [base] if more is None else [base, more(trained)]
        matrix = np.column_stack(parts) if parts else base
        target = self._target
        is_empty = trained.size == 0 or matrix.shape[1] == 0 or bool(np.isnan(matrix[trained]).all())
        if is_empty or np.unique(answers(target, trained)).size < 2:
            mean = target.values[trained].mean(axis=0) if trained.size else np.zeros(target.values.shape[1])
            return target.take(held).losses(np.broadcast_to(mean, (held.size, mean.size)))
        matrix = matrix[:, ~np.isnan(matrix[trained]).all(axis=0)]  # boosting cuts no column without values
        model = tree_model(target, trained.size, self._seed).fit(matrix[trained], answers(target, trained))
        return target.take(held).losses(predict(model, target, matrix[held]))


def one_thread() -> Any:
    """Keep trees and products in this thread, as a context: on few rows, threads that wait for each other cost more."""
    return import_optional("threadpoolctl", extra="sklearn", purpose="LakeAugmenter").threadpool_limits(1)


def compare_losses(before: NDArray[np.float64], after: NDArray[np.float64], groups: NDArray[np.int64] | None) -> Gain:
    """Compare two losses row by row; rows of one group count as one observation."""
    saved = before - after
    if groups is not None:
        _, codes = np.unique(groups, return_inverse=True)
        sizes = np.bincount(codes)
        total = np.bincount(codes, saved)
        single = total / sizes
        mean = total.sum() / sizes.sum()
        n = sizes.size
        error = np.sqrt(((total - mean * sizes) ** 2).sum() / max(1, n - 1) * n) / sizes.sum()
    else:
        mean, n, single = saved.mean(), saved.size, saved
        error = saved.std(ddof=1) / np.sqrt(n) if n > 1 else np.inf
    scale = max(float(before.mean()), 1e-12)
    return Gain(float(mean) / scale, float(error) / scale, _signed_ranks(single))


def _signed_ranks(values: NDArray[np.float64]) -> float:
    """Return the normal score of Wilcoxon's signed ranks; zeros are left out, ties are ranked in their order."""
    values = values[values != 0]
    n = values.size
    if n == 0:
        return 0.0
    ranks = np.empty(n)
    ranks[np.argsort(np.abs(values), kind="stable")] = np.arange(1, n + 1)
    positive = float(ranks[values > 0].sum())
    return (positive - n * (n + 1) / 4) / float(np.sqrt(n * (n + 1) * (2 * n + 1) / 24))


def rank_beyond_noise(
    target: PredictionTarget,
    base: NDArray[np.float64],
    columns: NDArray[np.float64],
    seed: int,
    go_on: Callable[[], None] = lambda: None,
) -> NDArray[np.float64]:
    """Return in which share of rounds each column tells more than noise of its own kind.

    Parameters
    ----------
    target : PredictionTarget
    base : ndarray of float64, shape (n_rows, n_base)
        Columns that the model has in any case.
    columns : ndarray of float64, shape (n_rows, n_columns)
    seed : int
    go_on : callable
        Asked before each forest is trained; it raises where the time is over.

    Returns
    -------
    ndarray of float64, shape (n_columns,)

    Notes
    -----
    Random injection (ARDA, Chepurko et al., PVLDB 2020, section 6.3): columns of noise take part in the training of a
    random forest, and a column counts if its importance is above theirs. The noise here is the columns themselves with
    their rows shuffled, and each column is compared with its own noise: importance depends on the distribution.
    """
    ensemble = _sklearn("ensemble")
    make = ensemble.RandomForestClassifier if target.is_class else ensemble.RandomForestRegressor
    rng = np.random.default_rng(seed)
    if target.codes.size > _NOISE_ROWS:
        drawn = np.sort(rng.choice(target.codes.size, _NOISE_ROWS, replace=False))
        target, base, columns = target.take(drawn), base[drawn], columns[drawn]
    rows = np.arange(target.codes.size)
    passed = np.zeros(columns.shape[1])
    for number in range(_NOISE_ROUNDS):
        go_on()
        noise = columns[rng.permutation(rows)]
        matrix = np.column_stack([base, columns, noise])
        model = make(_TREES, min_samples_leaf=3, max_features="sqrt", random_state=seed + number, n_jobs=1)
        weights = model.fit(matrix, answers(target, rows)).feature_importances_[base.shape[1] :]
        passed += weights[: columns.shape[1]] > weights[columns.shape[1] :]
    return passed / _NOISE_ROUNDS


def group_codes(groups: Any) -> NDArray[np.int64]:
    """Number the groups of rows, whatever names them."""
    return np.unique(np.asarray(groups).astype(str), return_inverse=True)[1].astype(np.int64)


def shared_keys(keys: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Number the keys of rows, of shape (n_rows, n_columns); None where every row has a key of its own."""
    codes = np.unique(np.nan_to_num(keys, nan=np.inf), axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    return None if codes.max(initial=0) + 1 == codes.size else codes
