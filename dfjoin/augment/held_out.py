"""What columns are worth on rows that a model has not seen: cross-validated losses, compared row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin._optional import import_optional
from dfjoin.augment.boosting import N_TREES, BoostedTrees, Columns, leaf_rows
from dfjoin.augment.encoding import PredictionTarget

FOLDS = 5
"""Parts of the rows, each of which is held out once."""


def _sklearn(module: str) -> Any:
    return import_optional(f"sklearn.{module}", extra="sklearn", purpose="LakeAugmenter")


@dataclass(frozen=True)
class Learning:
    """What tables are tried with, where it is not boosted trees and squared errors.

    Parameters
    ----------
    learner : estimator or None
        Cloned for each training; nulls are filled by medians where it does not take them. None: `BoostedTrees`, or,
        with a scorer, the same trees of scikit-learn.
    scorer : callable or None
        A scorer of scikit-learn: it takes model, columns and answers, and returns one number for a fold, so that a fold
        is one observation. None: the squared error of each row, of classes the Brier score.
    cv : splitter or None
        Which rows are held out; None: `fold_rows`.
    """

    learner: Any = None
    scorer: Any = None
    cv: Any = None

    @property
    def is_own(self) -> bool:
        """Whether nobody asked for another model or metric."""
        return self.learner is None and self.scorer is None

    def model(self, target: PredictionTarget, n_rows: int, seed: int) -> Any:
        """Return a model that is not trained."""
        if self.learner is None:
            return tree_model(target, n_rows, seed)
        model = _sklearn("base").clone(self.learner)
        if _sklearn("utils").get_tags(model).input_tags.allow_nan:
            return model
        filled = _sklearn("impute").SimpleImputer(strategy="median", keep_empty_features=True)
        return _sklearn("pipeline").Pipeline([("fill", filled), ("learner", model)])

    def loss(self, model: Any, matrix: NDArray[np.float64], answers: NDArray[Any]) -> float:
        """Return a number that falls as the scorer's score rises: 1 − score, or −score of one that is negative."""
        score = float(self.scorer(model, matrix, answers))
        return -score if getattr(self.scorer, "_sign", 1) < 0 else 1 - score


BOOSTED_TREES = Learning()


def _fit(model: Any, matrix: NDArray[np.float64], answers: NDArray[Any], weights: NDArray[np.float64] | None) -> Any:
    """Train a model, by the weights of the rows where it takes any."""
    if weights is None:
        return model.fit(matrix, answers)
    last = model[-1] if hasattr(model, "steps") else model
    if not _sklearn("utils.validation").has_fit_parameter(last, "sample_weight"):
        return model.fit(matrix, answers)
    name = f"{model.steps[-1][0]}__sample_weight" if hasattr(model, "steps") else "sample_weight"
    return model.fit(matrix, answers, **{name: weights})


def tree_model(target: PredictionTarget, n_rows: int, seed: int) -> Any:
    """Return boosted trees that a scorer of scikit-learn takes; `BoostedTrees` are the same in a third of the time."""
    ensemble = _sklearn("ensemble")
    make = ensemble.HistGradientBoostingClassifier if target.is_class else ensemble.HistGradientBoostingRegressor
    leaf = leaf_rows(n_rows)
    return make(
        max_iter=N_TREES, max_leaf_nodes=8, min_samples_leaf=leaf, max_bins=32, early_stopping=False, random_state=seed
    )


def predict(model: Any, target: PredictionTarget, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Predict in the form of `PredictionTarget.values`: of classes the probabilities."""
    if not target.is_class:
        return model.predict(matrix).reshape(len(matrix), -1)
    predicted = np.zeros((len(matrix), target.values.shape[1]))
    if hasattr(model, "predict_proba"):
        predicted[:, model.classes_.astype(np.int64)] = model.predict_proba(matrix)
    else:
        predicted[np.arange(len(matrix)), model.predict(matrix).astype(np.int64)] = 1
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
        return (rng.permutation(n_groups) % min(FOLDS, n_groups))[codes]
    folds = np.empty(n_rows, np.int64)
    folds[np.lexsort((rng.random(n_rows), target.codes))] = np.arange(n_rows) % min(FOLDS, max(2, n_rows))
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

    def __str__(self) -> str:
        """Write share and error."""
        return f"{self.share:+.1%} ± {self.error:.1%} of the loss"

    @property
    def sureness(self) -> float:
        """How many standard errors the gain lies above 0.

        Where the mean is above its own standard error, the ranks count as well if they are surer: a few groups with
        large losses make the mean of squared losses uncertain, and leave the ranks as they are.
        """
        by_mean = self.share / self.error if self.error > 0 else (np.inf if self.share > 0 else 0.0)
        return by_mean if by_mean < 1 else max(by_mean, self.rank_score)


@dataclass(frozen=True)
class Trained:
    """A model of some columns, trained on some rows.

    Parameters
    ----------
    target : PredictionTarget
        Of all rows.
    columns : Columns
        Of all rows.
    kept : ndarray of int64
        The columns that it was trained with.
    model : BoostedTrees, estimator or None
        None where the trained rows tell nothing: `mean` is predicted then.
    mean : ndarray of float64, shape (n_outputs,)
    learning : Learning
    """

    target: PredictionTarget
    columns: Columns
    kept: NDArray[np.int64]
    model: Any
    mean: NDArray[np.float64]
    learning: Learning = BOOSTED_TREES

    def losses(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the loss of each of some rows."""
        if self.model is None and self.learning.scorer is None:
            return self.target.take(rows).losses(np.broadcast_to(self.mean, (rows.size, self.mean.size)))
        if isinstance(self.model, BoostedTrees):
            return self.target.take(rows).losses(self.model.predict(rows))
        return self._losses_of(rows, self.columns.values[np.ix_(rows, self.kept)])

    def losses_shuffled(
        self, rows: NDArray[np.int64], others: NDArray[np.int64], columns: Sequence[Sequence[int]]
    ) -> NDArray[np.float64]:
        """Return the losses of rows once for each set of columns, which have the values of other rows then."""
        if isinstance(self.model, BoostedTrees):
            return self.target.take(rows).losses(self.model.predict_shuffled(rows, others, columns))
        own, shuffled = (self.columns.values[np.ix_(part, self.kept)] for part in (rows, others))
        found = np.empty((len(columns), rows.size))
        for number, positions in enumerate(columns):
            is_shuffled = np.isin(self.kept, list(positions))
            found[number] = self._losses_of(rows, np.where(is_shuffled, shuffled, own))
        return found

    def _losses_of(self, rows: NDArray[np.int64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the losses by a model of scikit-learn, of rows that have these columns."""
        if self.learning.scorer is None:
            return self.target.take(rows).losses(predict(self.model, self.target, matrix))
        model = self.model
        if model is None:
            dummy = _sklearn("dummy")
            make = dummy.DummyClassifier if self.target.is_class else dummy.DummyRegressor
            n_all = self.target.codes.size
            model = make().fit(np.zeros((n_all, 1)), answers(self.target, np.arange(n_all)))
        return np.full(rows.size, self.learning.loss(model, matrix, answers(self.target, rows)))


def train(
    target: PredictionTarget,
    columns: Columns,
    kept: NDArray[np.int64],
    rows: NDArray[np.int64],
    seed: int,
    learning: Learning = BOOSTED_TREES,
) -> Trained:
    """Train a model on some rows.

    Parameters
    ----------
    target : PredictionTarget
    columns : Columns
    kept : ndarray of int64
        The columns that it is trained with.
    rows : ndarray of int64
        Those that it is trained on.
    seed : int
    learning : Learning
    """
    mean = target.values[rows].mean(axis=0) if rows.size else np.zeros(target.values.shape[1])
    matrix = columns.values[np.ix_(rows, kept)]
    kept = kept[~np.isnan(matrix).all(axis=0)]  # without values a column tells nothing, and some learners stop at it
    if not kept.size or np.unique(answers(target, rows)).size < 2:
        return Trained(target, columns, kept, None, mean, learning)
    if learning.is_own:
        return Trained(target, columns, kept, BoostedTrees(columns, kept, rows, target), mean, learning)
    weights = None if target.weights is None else target.weights[rows]
    matrix = columns.values[np.ix_(rows, kept)]
    model = _fit(learning.model(target, rows.size, seed), matrix, answers(target, rows), weights)
    return Trained(target, columns, kept, model, mean, learning)


def losses_without(
    trained: Trained, rows: NDArray[np.int64], columns: Sequence[Sequence[int]], seed: int
) -> NDArray[np.float64]:
    """Return by how much the loss of each row grows when columns get the values of other rows.

    Parameters
    ----------
    trained : Trained
    rows : ndarray of int64
        Rows that the model was not trained on.
    columns : sequence of sequence of int
        Columns that are shuffled together.
    seed : int

    Returns
    -------
    ndarray of float64, shape (len(columns), rows.size)

    Notes
    -----
    Breiman, Machine Learning 45, 2001, section 10. Of boosted trees only those are asked again that cut a shuffled
    column, O(cuts × rows) for all columns; another learner is asked once for each set of columns.
    """
    if trained.model is None or not rows.size or not columns:
        return np.zeros((len(columns), rows.size))
    others = np.random.default_rng(seed).permutation(rows)
    return trained.losses_shuffled(rows, others, columns) - trained.losses(rows)


def one_thread() -> Any:
    """Keep trees and products in this thread, as a context: on few rows, threads that wait for each other cost more."""
    return import_optional("threadpoolctl", extra="sklearn", purpose="LakeAugmenter").threadpool_limits(1)


def compare_losses(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    groups: NDArray[np.int64] | None,
    scale: float | None = None,
) -> Gain:
    """Compare two losses row by row; rows of one group count as one observation.

    Parameters
    ----------
    before, after : ndarray of float64, shape (n_rows,)
    groups : ndarray of int64 or None
    scale : float, optional
        The loss that the gain is a share of, by default the mean of `before`; its size, where a scorer's is negative.
    """
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
    scale = max(abs(float(before.mean()) if scale is None else scale), 1e-12)
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


def group_codes(groups: Any) -> NDArray[np.int64]:
    """Number the groups of rows, whatever names them."""
    return np.unique(np.asarray(groups).astype(str), return_inverse=True)[1].astype(np.int64)


def shared_keys(keys: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Number the keys of rows, of shape (n_rows, n_columns); None where every row has a key of its own."""
    codes = np.unique(np.nan_to_num(keys, nan=np.inf), axis=0, return_inverse=True)[1].ravel().astype(np.int64)
    return None if codes.max(initial=0) + 1 == codes.size else codes
