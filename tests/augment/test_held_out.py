"""Folds, gains, and noise."""

import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.augment.boosting import Columns
from dfjoin.augment.encoding import encode_target
from dfjoin.augment.held_out import (
    Learning,
    compare_losses,
    fold_rows,
    group_codes,
    losses_without,
    shared_keys,
    train,
)


@given(st.lists(st.sampled_from("abc"), min_size=10, max_size=60), st.integers(0, 9))
def test_folds_hold_their_share_of_each_class(labels, seed):
    target = encode_target(labels, "auto")
    folds = fold_rows(target, None, seed)
    assert set(folds.tolist()) == {0, 1, 2, 3, 4}
    for label in set(target.codes.tolist()):
        counts = np.bincount(folds[target.codes == label], minlength=5)
        assert counts.max() - counts.min() <= 1


@given(st.lists(st.integers(0, 12), min_size=2, max_size=60), st.integers(0, 9))
def test_a_group_lies_in_one_fold(groups, seed):
    target = encode_target(np.arange(len(groups)) / 2, "regression")
    folds = fold_rows(target, np.array(groups), seed)
    for group in set(groups):
        assert len(set(folds[np.array(groups) == group].tolist())) == 1


def trained_with(target, matrix, rows, learning=None):
    columns = Columns(np.asarray(matrix, float))
    return train(target, columns, np.arange(columns.values.shape[1]), rows, 0, learning or Learning())


@pytest.mark.parametrize("labels", [[1], [1, 1], [0.5, 1.5, 2.5]])
def test_a_few_rows_have_losses(labels):
    target = encode_target(labels, "auto")
    rows = np.arange(len(labels))
    losses = trained_with(target, np.zeros((len(labels), 1)), rows[:-1]).losses(rows)
    assert losses.shape == (len(labels),) and np.isfinite(losses).all()


@pytest.mark.parametrize("n_rows", [200, 1800])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_columns_that_help_lower_the_loss_of_other_rows(n_rows, task):
    rng = np.random.default_rng(0)
    known, new, noise = rng.normal(size=(3, n_rows))
    numbers = known + new + rng.normal(0, 0.3, n_rows)
    target = encode_target(numbers > 0 if task == "classification" else numbers, task)
    trained, held = np.arange(n_rows // 2), np.arange(n_rows // 2, n_rows)
    before = trained_with(target, known[:, None], trained).losses(held)
    with_new = compare_losses(before, trained_with(target, np.column_stack([known, new]), trained).losses(held), None)
    with_noise = compare_losses(
        before, trained_with(target, np.column_stack([known, noise]), trained).losses(held), None
    )
    assert with_new.share > 0.2 and with_new.sureness > 3
    assert with_noise.share < 0.15
    scale = target.take(held).losses(target.values[trained].mean(axis=0)).mean()
    assert 0.5 < before.mean() / scale < 1.1


def test_columns_without_values_in_the_training_rows_count_nothing():
    target = encode_target(np.arange(60) / 3, "regression")
    rare = np.full((60, 2), np.nan)
    rare[0, 0] = 1.0
    rows = np.arange(60)
    assert np.isfinite(trained_with(target, rare, rows[1:]).losses(rows)).all()
    model = trained_with(target, np.column_stack([rare, target.values]), rows[1:])
    assert np.isfinite(model.losses(rows)).all()
    assert losses_without(model, rows, [[0, 1]], 0).tolist() == [[0.0] * 60]


@pytest.mark.parametrize(
    ("task", "learner"),
    [("regression", None), ("classification", None), ("regression", "KNeighborsRegressor")],
)
def test_what_shuffled_columns_cost_is_what_a_model_loses_on_rows_with_other_values(rng, task, learner):
    learning = Learning(learner and getattr(importlib.import_module("sklearn.neighbors"), learner)())
    values = rng.normal(size=(300, 3))
    answers = values[:, 0] + 0.5 * values[:, 1] * (values[:, 0] > 0)
    values = np.round(values)  # of few values, which keep their bins where those of some rows change
    values[rng.random(values.shape) < 0.05] = np.nan
    target = encode_target(np.digitize(answers, [-0.5, 0.5]) if task == "classification" else answers, task)
    trained, held = np.arange(200), np.arange(200, 300)
    model = trained_with(target, values, trained, learning)
    found = losses_without(model, held, [[0], [1], [2], [0, 1], []], 3)
    shuffled = np.random.default_rng(3).permutation(held)
    for columns, losses in zip([[0], [1], [2], [0, 1], []], found, strict=True):
        other = values.copy()
        other[np.ix_(held, columns)] = values[np.ix_(shuffled, columns)]
        expected = trained_with(target, other, trained, learning).losses(held) - model.losses(held)
        np.testing.assert_allclose(losses, expected, atol=1e-12)
    costs = found.mean(axis=1)
    assert costs[0] > costs[1] > costs[2] and costs[3] > costs[1] and costs[4] == 0


def test_rows_of_a_group_are_one_observation():
    before, after = np.array([3.0, 3, 3, 3, 3, 3]), np.array([1.0, 1, 2, 2, 3, 3])
    rows = compare_losses(before, after, None)
    groups = compare_losses(before, after, np.array([0, 0, 1, 1, 2, 2]))
    assert rows.share == groups.share == pytest.approx(1 / 3)
    saved = np.array([2.0, 1, 0])
    assert groups.error == pytest.approx(saved.std(ddof=1) / np.sqrt(3) / 3)
    assert groups.error > rows.error
    assert compare_losses(before, before, None).sureness == 0
    assert compare_losses(before, before - 1, None).sureness == np.inf


@pytest.mark.parametrize("seed", range(5))
def test_ranks_are_wilcoxons(seed):
    from scipy.stats import wilcoxon

    saved = np.random.default_rng(seed).normal(0.2, 1, 60)
    found = compare_losses(saved + 5, np.full(60, 5.0), None)
    exact = wilcoxon(saved, alternative="greater", method="approx", correction=False)
    assert found.rank_score == pytest.approx(exact.zstatistic)


def test_a_few_large_losses_do_not_hide_a_gain():
    saved = np.append(np.full(40, 0.5), [-8.0, 12.0])
    found = compare_losses(saved + 20, np.full(42, 20.0), None)
    assert found.share / found.error < 2 < found.rank_score == found.sureness
    worse = compare_losses(np.append(np.full(40, 0.5), [-30.0]) + 20, np.full(41, 20.0), None)
    assert worse.rank_score > 2 and worse.sureness < 0, "the mean has to be better, too"
    assert compare_losses(saved, saved, None).rank_score == 0


def test_groups_are_numbered():
    assert group_codes(["b", "a", "b"]).tolist() == [1, 0, 1]
    assert shared_keys(["b", "a", "b"]).tolist() == [1, 0, 1]
    assert shared_keys([2.5, 1.5]) is None and shared_keys([np.nan, np.nan, 1.5]).tolist() == [1, 1, 0]
