"""What columns are worth on rows that a model has not seen: cross-validated losses, compared row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin._optional import import_optional
from dfjoin.augment.encoding import PredictionTarget

__all__ = [
    "FOLDS",
    "Gain",
    "Learning",
    "Trained",
    "answers",
    "compare_losses",
    "fold_rows",
    "group_codes",
    "losses_without",
    "one_thread",
    "predict",
    "shared_keys",
    "train",
    "tree_model",
]

FOLDS = 5
"""Parts of the rows, each of which is held out once."""

_TREES = 50
_BINS = 32
"""Of a column: with 255 a tree costs three times as much, and no case gains, see ``tests/benchmarks/NOTES.md``."""

_LEAF_ROWS = (3, 20)
"""Fewest and most rows that a leaf of boosted trees has at least; between them a twentieth of all."""


def _sklearn(module: str) -> Any:
    return import_optional(f"sklearn.{module}", extra="sklearn", purpose="LakeAugmenter")


@dataclass(frozen=True)
class Learning:
    """What tables are tried with, where it is not boosted trees and squared errors.

    Parameters
    ----------
    learner : estimator or None
        Cloned for each training; nulls are filled by medians where it does not take them. None: `tree_model`.
    scorer : callable or None
        Of scikit-learn, told model, columns and answers. It gives one number for a fold, so that a fold is one
        observation. None: the squared error of each row, of classes the Brier score.
    cv : splitter or None
        Which rows are held out; None: `fold_rows`.
    """

    learner: Any = None
    scorer: Any = None
    cv: Any = None

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
    """Return the model that tables are tried with: boosted trees, as they take nulls, codes and any scale."""
    ensemble = _sklearn("ensemble")
    make = ensemble.HistGradientBoostingClassifier if target.is_class else ensemble.HistGradientBoostingRegressor
    leaf = min(max(_LEAF_ROWS[0], n_rows // 20), _LEAF_ROWS[1])
    return make(
        max_iter=_TREES,
        max_leaf_nodes=8,
        min_samples_leaf=leaf,
        max_bins=_BINS,
        early_stopping=False,
        random_state=seed,
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
    matrix : ndarray of float64, shape (n_rows, n_columns)
    model : estimator or None
        None where the trained rows tell nothing: `mean` is predicted then.
    mean : ndarray of float64, shape (n_outputs,)
    learning : Learning
    """

    target: PredictionTarget
    matrix: NDArray[np.float64]
    model: Any
    mean: NDArray[np.float64]
    learning: Learning = BOOSTED_TREES

    def losses(self, rows: NDArray[np.int64], matrix: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the loss of each of some rows, as other columns tell it where `matrix` has these of the rows."""
        matrix = self.matrix[rows] if matrix is None else matrix
        if self.learning.scorer is None:
            return self.target.take(rows).losses(self.predict(matrix))
        model = self.model
        if model is None:
            dummy = _sklearn("dummy")
            make = dummy.DummyClassifier if self.target.is_class else dummy.DummyRegressor
            model = make().fit(np.zeros((self.target.codes.size, 1)), answers(self.target, np.arange(len(self.matrix))))
        return np.full(rows.size, self.learning.loss(model, matrix, answers(self.target, rows)))

    def predict(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predict rows that are given by their columns."""
        if self.model is None:
            return np.broadcast_to(self.mean, (len(matrix), self.mean.size))
        return predict(self.model, self.target, matrix)


def train(
    target: PredictionTarget,
    matrix: NDArray[np.float64],
    rows: NDArray[np.int64],
    seed: int,
    learning: Learning = BOOSTED_TREES,
) -> Trained:
    """Train a model on some rows.

    Parameters
    ----------
    target : PredictionTarget
    matrix : ndarray of float64, shape (n_rows, n_columns)
    rows : ndarray of int64
        Those that are trained on.
    seed : int
    learning : Learning
    """
    mean = target.values[rows].mean(axis=0) if rows.size else np.zeros(target.values.shape[1])
    is_void = np.isnan(matrix[rows]).all(axis=0)
    if is_void.all() or np.unique(answers(target, rows)).size < 2:
        return Trained(target, matrix, None, mean, learning)
    matrix = np.where(is_void, 0.0, matrix)  # boosting cuts no column without values
    weights = None if target.weights is None else target.weights[rows]
    model = _fit(learning.model(target, rows.size, seed), matrix[rows], answers(target, rows), weights)
    return Trained(target, matrix, model, mean, learning)


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
        Columns of the matrix that are shuffled together.
    seed : int

    Returns
    -------
    ndarray of float64, shape (len(columns), rows.size)

    Notes
    -----
    Breiman, Machine Learning 45, 2001, section 10. Of boosted trees only those are asked again that cut a shuffled
    column, O(cuts × rows) for all columns; another learner is asked once for each set of columns.
    """
    own, shuffled = trained.matrix[rows], trained.matrix[np.random.default_rng(seed).permutation(rows)]
    found = np.zeros((len(columns), rows.size))
    if trained.model is None or not rows.size:
        return found
    if trained.learning.learner is None and trained.learning.scorer is None:
        predicted = _predictions_without(trained, own, shuffled, columns)
        return trained.target.take(rows).losses(predicted) - trained.losses(rows)
    for number, places in enumerate(columns):
        copy = own.copy()
        copy[:, places] = shuffled[:, places]
        found[number] = trained.losses(rows, copy)
    return found - trained.losses(rows)


def _predictions_without(
    trained: Trained, own: NDArray[np.float64], shuffled: NDArray[np.float64], columns: Sequence[Sequence[int]]
) -> NDArray[np.float64]:
    """Predict rows by boosted trees once for each set of columns that is shuffled.

    scikit-learn predicts by all trees or by the first ones, so that its trees are read here, which are private.
    """
    model, own = trained.model, np.asfortranarray(own)
    bitsets, places_of_bitsets = model._bin_mapper.make_known_categories_bitsets()  # of categories, of which none are
    sets_with: dict[int, list[int]] = {}
    for number, places in enumerate(columns):
        for place in places:
            sets_with.setdefault(place, []).append(number)
    sums = np.repeat(model._raw_predict(own)[None], len(columns), axis=0)
    for trees in model._predictors:
        for output, tree in enumerate(trees):
            cut = tree.nodes["feature_idx"][tree.nodes["is_leaf"] == 0].tolist()
            before = tree.predict(own, bitsets, places_of_bitsets, 1)
            for number in {number for place in cut for number in sets_with.get(place, ())}:
                places = columns[number]
                kept = own[:, places]
                own[:, places] = shuffled[:, places]
                sums[number, :, output] += tree.predict(own, bitsets, places_of_bitsets, 1) - before
                own[:, places] = kept
    if not trained.target.is_class:
        return model._loss.link.inverse(sums)
    predicted = np.zeros((*sums.shape[:2], trained.target.values.shape[1]))
    for number, sum_ in enumerate(sums):
        predicted[number][:, model.classes_.astype(np.int64)] = model._loss.predict_proba(sum_)
    return predicted


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
