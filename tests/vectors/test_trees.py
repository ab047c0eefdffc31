"""Features bound distances from below, and a tree is that of its stored arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.vectors.trees import MAX_AXES, bound_of, build_tree, features_of, fit_projection, make_tree


@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([1e-6, 1.0, 1e4]))
def test_features_never_lie_farther_apart_than_vectors(seed, d, scale):
    """What the bound of a radius leaves out is beyond it: in float32, at any scale, for any offset."""
    rng = np.random.default_rng(seed)
    rows = (rng.normal(size=(80, d)) * scale + rng.normal() * scale * 3).astype(np.float32)
    features = features_of(rows, fit_projection(rows[:50]))
    distances = np.sqrt(((rows[:, None].astype(float) - rows[None].astype(float)) ** 2).sum(-1))
    gaps = features[:, None] - features[None]
    seen = np.zeros(distances.shape, np.float32)
    for axis in range(features.shape[1]):
        seen += gaps[:, :, axis] * gaps[:, :, axis]
    largest = float(np.abs(features).max())
    for i in range(80):
        assert (seen[i] <= [bound_of(radius, largest) for radius in distances[i]]).all()


def test_axes_are_orthonormal_and_the_widest_first():
    rows = np.random.default_rng(0).normal(size=(500, 30)) * np.arange(30, 0, -1)
    axes, center = fit_projection(rows)
    assert axes.shape == (30, MAX_AXES)
    np.testing.assert_allclose(axes.T @ axes, np.eye(MAX_AXES), atol=1e-12)
    spread = ((rows - center) @ axes).std(axis=0)
    assert (spread[1:] <= spread[:-1] + 1e-9).all()


@pytest.mark.parametrize("d", [1, 3, 8, 9, 30])
def test_features_hold_the_length_of_the_rest(d):
    rows = np.random.default_rng(d).normal(size=(30, d)).astype(np.float32)
    projection = fit_projection(rows)
    features = features_of(rows, projection)
    assert features.shape[1] == {1: 9, 3: 9, 8: 9, 9: 17, 30: 25}[d]
    lengths = np.linalg.norm(rows - projection.center, axis=1)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), lengths, rtol=1e-5)


@pytest.mark.parametrize("n", [0, 1, 64, 200])
def test_a_tree_is_that_of_its_arrays(n):
    rows = np.random.default_rng(n).normal(size=(n, 5)).astype(np.float32)
    tree, order = build_tree(rows)
    again = make_tree(tree.projection, tree.tree.blocks, tree.tree.boxes, n)
    assert again.scale == tree.scale and sorted(order.tolist()) == list(range(n))
    with pytest.raises(ValueError, match=f"do not hold {n + 100} vectors"):
        make_tree(tree.projection, tree.tree.blocks, tree.tree.boxes, n + 100)


@pytest.mark.parametrize(("n", "d"), [(1, 8), (6, 300), (20, 40)])
def test_few_vectors_keep_their_distances(n, d):
    """Of fewer vectors than numbers the axes are theirs: nothing of a vector is left out while axes suffice."""
    rows = np.random.default_rng(n).normal(size=(n, d))
    axes, center = fit_projection(rows)
    assert axes.shape == (d, min(d, MAX_AXES))
    np.testing.assert_allclose(axes.T @ axes, np.eye(axes.shape[1]), atol=1e-12)
    moved = (rows - center) @ axes
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), np.linalg.norm(rows - center, axis=1), rtol=1e-9)
    variances = np.square(moved).sum(axis=0)
    assert (np.diff(variances) <= 1e-9 * variances.max()).all()


def test_no_vectors_have_axes_too():
    tree, _ = build_tree(np.empty((0, 4), np.float32))
    assert features_of(np.ones((2, 4), np.float32), tree.projection).shape == (2, 9)
