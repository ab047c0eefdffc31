"""Our boosted trees predict what those of scikit-learn predict."""

import numpy as np
import pytest

from dfjoin.augment import boosting
from dfjoin.augment.boosting import BoostedTrees, Columns, leaf_rows
from dfjoin.augment.encoding import encode_target


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("kind", ["numbers", "two", "four"])
def test_the_trees_are_those_of_scikit_learn(rng, kind, is_weighted):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    values = rng.normal(size=(500, 5))
    values[:, 3] = rng.integers(0, 3, 500)
    latent = values[:, 0] + values[:, 1] * np.sign(values[:, 2]) + values[:, 3] + 0.3 * rng.normal(size=500)
    labels = {"numbers": latent, "two": latent > 0, "four": np.digitize(latent, [-1, 0, 1])}[kind]
    target = encode_target(labels, "auto")
    weights = rng.uniform(0.5, 1.5, 500) if is_weighted else None
    target = type(target)(target.values, target.codes, target.labels, target.is_class, weights)
    columns, kept, rows, held = Columns(values), np.array([0, 1, 2, 3]), np.arange(350), np.arange(350, 500)
    own = BoostedTrees(columns, kept, rows, target)
    make = HistGradientBoostingClassifier if target.is_class else HistGradientBoostingRegressor
    theirs = make(max_iter=boosting.N_TREES, max_leaf_nodes=8, min_samples_leaf=17, early_stopping=False)
    answers = target.codes if target.is_class else target.values[:, 0]
    codes = columns.bins[kept].T.astype(float)
    theirs.fit(codes[rows], answers[rows], None if weights is None else weights[rows])
    expected = theirs.predict_proba(codes[held]) if target.is_class else theirs.predict(codes[held])[:, None]
    np.testing.assert_allclose(own.predict(held), expected, atol=1e-5)


def test_values_have_bins_in_their_order():
    few = np.array([np.nan, 3.0, -1, 3, 7])
    many = np.arange(5.0) * 2
    assert Columns(np.column_stack([few, many])).bins.tolist() == [[0, 2, 1, 2, 3], [1, 2, 3, 4, 5]]
    (bins,) = Columns(np.append(np.arange(640.0)[::-1], np.nan)[:, None]).bins
    assert np.unique(bins, return_counts=True)[1].tolist() == [1, *[20] * 32] and bins[0] == 32 and bins[-1] == 0
    assert Columns(np.full((3, 1), np.nan)).bins.tolist() == [[0, 0, 0]]


def test_a_class_that_the_rows_lack_has_no_share(rng):
    target = encode_target(["a", "b", "c"] * 40, "auto")
    rows = np.flatnonzero(target.codes != 2)
    shares = BoostedTrees(Columns(rng.normal(size=(120, 2))), np.arange(2), rows, target).predict(np.arange(120))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares[:, 2].max() < 1e-4


@pytest.mark.parametrize(("n_rows", "leaf"), [(10, 3), (200, 10), (5000, 20)])
def test_leaves_follow_the_rows(n_rows, leaf):
    assert leaf_rows(n_rows) == leaf
