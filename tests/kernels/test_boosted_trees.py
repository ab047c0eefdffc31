"""Trees are those of a naive search; what trees say of rows with other values is what they say of such rows."""

import numpy as np
import pytest

from dfjoin.kernels.boosted_trees import BinnedRows, add_trees, empty_trees, grow_tree, pack_gradients, tree_scratch
from dfjoin.kernels.records import as_read_only
from tests.oracles.kernels import naive_tree


def grown(bins, rows, first, second, n_leaves, leaf_rows):
    trees, predicted = empty_trees(1, n_leaves), np.zeros(bins.shape[1])
    data = BinnedRows(*map(as_read_only, (bins, np.arange(len(bins)), rows)))
    given = np.empty(0) if second is None else second
    scratch = tree_scratch(rows.size, len(bins), n_leaves, second is not None)
    grow_tree(data, pack_gradients(first, given), leaf_rows, 1.0, scratch, trees, 0, predicted)
    return trees, predicted


def said(bins, trees, rows, others, sets):
    sets = np.array([[0] * len(bins), *sets], np.uint8)
    out = np.zeros((len(sets), rows.size))
    add_trees(as_read_only(bins), trees, *map(as_read_only, (rows, others, sets)), np.empty(rows.size), out)
    return out


@pytest.mark.parametrize("has_second", [False, True])
@pytest.mark.parametrize("n_values", [2, 5, 32])
@pytest.mark.parametrize("seed", range(3))
def test_a_tree_is_that_of_a_naive_search(seed, n_values, has_second):
    rng = np.random.default_rng(seed)
    bins = rng.integers(seed % 2, n_values + 1, (4, 60)).astype(np.uint8)  # 0 is null
    rows = np.sort(rng.permutation(60)[:45])
    first = rng.normal(size=60) + (bins[1] > n_values // 2) * (bins[2] > 1)
    second = rng.uniform(0.05, 0.25, 60) if has_second else None
    trees, predicted = grown(bins, rows, first, second, 5, 3)
    expected = naive_tree(bins, rows, first, np.ones(60) if second is None else second, 5, 3)
    everyone = np.arange(60)
    np.testing.assert_allclose(said(bins, trees, everyone, everyone, [])[0], expected, atol=1e-6)
    np.testing.assert_allclose(predicted[rows], expected[rows], atol=1e-6)
    assert not predicted[np.setdiff1d(everyone, rows)].any()


def test_a_leaf_has_its_rows_and_equal_rows_are_one_leaf(rng):
    bins, first = rng.integers(1, 9, (3, 40)).astype(np.uint8), rng.normal(size=40)
    trees, predicted = grown(bins, np.arange(40), first, None, 8, 12)
    assert min(np.unique(predicted, return_counts=True)[1]) >= 12
    trees, predicted = grown(np.ones((3, 40), np.uint8), np.arange(40), first, None, 8, 1)
    assert trees.columns[0].tolist() == [-1] * 15
    np.testing.assert_allclose(predicted, -first.mean(), atol=1e-6)


def test_what_trees_say_of_rows_with_values_of_others(rng):
    bins, first = rng.integers(0, 20, (4, 80)).astype(np.uint8), rng.normal(size=80)
    trees, _ = grown(bins, np.arange(50), first, None, 8, 3)
    rows, others = np.arange(50, 80), rng.permutation(np.arange(50, 80))
    sets = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
    out = said(bins, trees, rows, others, sets)
    for one, own in zip(sets, out[1:], strict=True):
        mixed = bins.copy()
        mixed[:, rows] = np.where(one[:, None] == 1, bins[:, others], bins[:, rows])
        np.testing.assert_allclose(out[0] + own, said(mixed, trees, rows, rows, [])[0])


def test_sums_of_packed_gradients_are_exact_to_27_bits(rng):
    first = rng.normal(size=20_000)
    packed = pack_gradients(first, np.empty(0))
    total = int(packed.first.sum()) - (20_000 << 44)
    assert total / packed.scale[0] == pytest.approx(first.sum(), abs=20_000 * np.abs(first).max() / 2**27)
    assert pack_gradients(np.zeros(3), np.empty(0)).first.tolist() == [1 << 44] * 3
