"""Folds, gains, and noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.augment.encoding import encode_target
from dfjoin.augment.held_out import (
    HeldOutLosses,
    compare_losses,
    fold_rows,
    group_codes,
    rank_beyond_noise,
    shared_keys,
    tree_model,
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


@pytest.mark.parametrize("labels", [[1], [1, 1], [0.5, 1.5, 2.5]])
def test_a_few_rows_have_losses(labels):
    target = encode_target(labels, "auto")
    losses = HeldOutLosses(target, None, 0).of(np.zeros((len(labels), 1)))
    assert losses.shape == (len(labels),) and np.isfinite(losses).all()


@pytest.mark.parametrize("n_rows", [200, 1800])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_columns_that_help_have_a_sure_gain(n_rows, task):
    rng = np.random.default_rng(0)
    known, new = rng.normal(size=(2, n_rows))
    numbers = known + new + rng.normal(0, 0.3, n_rows)
    target = encode_target(numbers > 0 if task == "classification" else numbers, task)
    losses = HeldOutLosses(target, None, 0)
    before = losses.of(known[:, None])
    with_new = compare_losses(before, losses.of(known[:, None], lambda rows: new[:, None]), None)
    with_noise = compare_losses(before, losses.of(known[:, None], lambda rows: rng.normal(size=(n_rows, 1))), None)
    assert with_new.share > 0.2 and with_new.sureness > 3
    assert with_noise.share < 0.15
    assert 0.5 < before.mean() / target.losses(target.values.mean(axis=0)).mean() < 1.1


def test_columns_without_values_in_the_training_rows_are_left_out():
    target = encode_target(np.arange(60) / 3, "regression")
    rare = np.full((60, 2), np.nan)
    rare[0, 0] = 1.0
    losses = HeldOutLosses(target, None, 0)
    assert np.isfinite(losses.of(rare)).all()
    assert np.isfinite(losses.of(np.column_stack([rare, target.values]))).all()


def test_what_is_chosen_by_the_target_is_chosen_without_the_rows_that_are_held_out():
    target = encode_target(np.arange(100) / 3, "regression")
    seen = []
    HeldOutLosses(target, None, 0).of(np.zeros((100, 1)), lambda rows: seen.append(rows) or np.zeros((100, 1)))
    assert len(seen) == 5 and all(rows.size == 80 for rows in seen)
    assert sorted(np.concatenate([np.setdiff1d(np.arange(100), rows) for rows in seen])) == list(range(100))


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


def test_columns_are_compared_with_their_own_noise():
    rng = np.random.default_rng(0)
    useful, noise = rng.normal(size=(2, 300))
    target = encode_target(useful + rng.normal(0, 0.5, 300), "regression")
    passed = rank_beyond_noise(target, np.empty((300, 0)), np.column_stack([useful, noise]), 0)
    assert passed[0] == 1 and passed[1] <= 1


def test_groups_are_numbered():
    assert group_codes(["b", "a", "b"]).tolist() == [1, 0, 1]
    assert shared_keys(["b", "a", "b"]).tolist() == [1, 0, 1]
    assert shared_keys([2.5, 1.5]) is None and shared_keys([np.nan, np.nan, 1.5]).tolist() == [1, 1, 0]


@pytest.mark.parametrize(("n_rows", "leaf"), [(10, 3), (200, 10), (5000, 20)])
def test_the_model_follows_the_rows(n_rows, leaf):
    model = tree_model(encode_target([0, 1], "auto"), n_rows, 0)
    assert "Classifier" in type(model).__name__ and model.min_samples_leaf == leaf
