"""The model that columns are measured with: small boosted trees, of columns that are put into bins once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dfjoin.augment.encoding import PredictionTarget
from dfjoin.augment.relevance import bin_column
from dfjoin.kernels.boosted_trees import (
    N_BINS,
    BinnedRows,
    add_trees,
    empty_trees,
    grow_tree,
    pack_gradients,
    tree_scratch,
)
from dfjoin.kernels.records import as_read_only

N_TREES = 50
_MOST_LEAVES = 8
_RATE = 0.1
_LEAF_ROWS = (3, 20)
"""Fewest and most rows that a leaf of boosted trees has at least; between them a twentieth of all."""

_SMALLEST_SHARE = 1e-6
"""Of a class that no row has, so that its logarithm is one."""


def leaf_rows(n_rows: int) -> int:
    """Return how many rows a leaf has at least, of trees that are grown by so many."""
    return min(max(_LEAF_ROWS[0], n_rows // 20), _LEAF_ROWS[1])


@dataclass(frozen=True)
class Columns:
    """Columns that models are trained with.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows, n_columns)
        NaN for null.
    """

    values: NDArray[np.float64]

    @cached_property
    def bins(self) -> NDArray[np.uint8]:
        """Bins of each column, of shape (n_columns, n_rows): up to 32 values have one each; more are cut at quantiles.

        With 255 bins a tree costs three times as much, and no case gains, see ``tests/benchmarks/NOTES.md``.
        """
        bins = np.empty(self.values.shape[::-1], np.uint8)
        for i, column in enumerate(np.ascontiguousarray(self.values.T)):
            held = ~np.isnan(column)
            distinct = np.unique(column[held])
            if distinct.size < N_BINS:
                bins[i] = np.where(held, np.searchsorted(distinct, column) + 1, 0)
            else:
                bins[i] = bin_column(column, True, N_BINS - 1)
        return as_read_only(bins)


class BoostedTrees:
    """Gradient boosting of squared errors, of classes of the logarithmic loss, as `HistGradientBoosting…` does it.

    Parameters
    ----------
    columns : Columns
    kept, rows : ndarray of int64
        Columns and rows that it is trained with.
    target : PredictionTarget
        Of all rows.

    Notes
    -----
    Friedman, Annals of Statistics 29, 2001. 50 trees of 8 leaves; of more than two classes 50 for each. O(trees × rows
    × columns).
    """

    def __init__(
        self, columns: Columns, kept: NDArray[np.int64], rows: NDArray[np.int64], target: PredictionTarget
    ) -> None:
        self._bins = columns.bins
        self._is_class = target.is_class
        answers = target.values[:, 1:] if target.is_class and target.values.shape[1] == 2 else target.values
        n_all, n_outputs = answers.shape
        weights = target.weights
        mean = np.average(answers[rows], axis=0, weights=None if weights is None else weights[rows])
        self._start = self._unlinked(mean)
        raw = np.tile(self._start[:, None], (1, n_all))
        self._trees = [empty_trees(N_TREES, _MOST_LEAVES) for _ in range(n_outputs)]
        data = BinnedRows(self._bins, as_read_only(kept), as_read_only(rows))
        has_second = target.is_class or weights is not None
        scratch = tree_scratch(rows.size, kept.size, _MOST_LEAVES, has_second)
        second = np.empty(0) if weights is None else weights
        least = leaf_rows(rows.size)
        for number in range(N_TREES):
            predicted = self._linked(raw)
            for output in range(n_outputs):
                share = predicted[:, output]
                first = share - answers[:, output]
                if target.is_class:
                    second = share * (1 - share)
                if weights is not None:
                    first, second = first * weights, second * weights if target.is_class else weights
                gradients = pack_gradients(first, second)
                grow_tree(data, gradients, least, _RATE, scratch, self._trees[output], number, raw[output])

    def predict(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Predict rows in the form of `PredictionTarget.values`."""
        return self.predict_shuffled(rows, rows, [()])[0]

    def predict_shuffled(
        self, rows: NDArray[np.int64], others: NDArray[np.int64], columns: Sequence[Sequence[int]]
    ) -> NDArray[np.float64]:
        """Predict rows once for each set of columns, which have the values of other rows then.

        Returns
        -------
        ndarray of float64, shape (len(columns), rows.size, n_outputs)
        """
        sets = np.zeros((len(columns) + 1, len(self._bins)), np.uint8)
        for number, positions in enumerate(columns):
            sets[number + 1, list(positions)] = 1
        given = as_read_only(rows), as_read_only(others), as_read_only(sets), np.empty(rows.size)
        raw = np.zeros((len(self._trees), *sets.shape[:1], rows.size))
        for trees, out in zip(self._trees, raw, strict=True):
            add_trees(self._bins, trees, *given, out)
        raw[:, 1:] += raw[:, :1]
        raw += self._start[:, None, None]
        return np.stack([self._answers(raw[:, number + 1]) for number in range(len(columns))])

    def _answers(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        predicted = self._linked(raw)
        return np.column_stack([1 - predicted, predicted]) if self._is_class and len(raw) == 1 else predicted

    def _linked(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn what trees say into numbers, or shares of classes, of shape (n_rows, n_outputs)."""
        if not self._is_class:
            return raw.T
        if len(raw) == 1:
            return 1 / (1 + np.exp(-raw.T))
        powers = np.exp(raw - raw.max(axis=0))
        return (powers / powers.sum(axis=0)).T

    def _unlinked(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self._is_class:
            return mean
        share = np.clip(mean, _SMALLEST_SHARE, 1 - _SMALLEST_SHARE)
        return np.log(share / (1 - share)) if share.size == 1 else np.log(share)
