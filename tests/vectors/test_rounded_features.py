"""Rounded features leave out no vector within the radius, and few others; blocks hold what rows hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.kernels.vectors.vector_blocks import FAR, fill_blocks
from dfjoin.vectors.embedders import unit_rows
from dfjoin.vectors.rounded_features import blocks_of_floats, blocks_of_words, query_pairs, word_count, words_of
from dfjoin.vectors.trees import features_of, fit_projection

STEPS = 2**13


def halves(words):
    """The rounded features in words, one a number."""
    return np.ascontiguousarray(words).view(np.int16).astype(np.int64)


def passes(words, pairs, least):
    """Tell by whole numbers of any size which vectors are left for each query."""
    products = halves(pairs) @ halves(words[:, 1:]).T + words[:, 0].astype(np.int64)
    assert np.abs(products).max(initial=0) < 2**31
    return products >= least[:, None]


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-6, 0.003, 0.04, 0.4, 1.0, 2.0, 4.0]))
@settings(max_examples=40, deadline=None)
def test_what_lies_within_the_radius_is_left_and_little_else(seed, radius):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 60)), int(rng.integers(1, 70))
    base = unit_rows(rng.normal(size=(n, d)))
    moved = unit_rows(base + rng.normal(size=(n, d)) * radius / np.sqrt(d) * rng.uniform(0.5, 1.5, (n, 1)))
    rows, queries = np.concatenate([base, moved, -base]), np.concatenate([base, moved])
    projection = fit_projection(rows)
    features, own = features_of(rows, projection), features_of(queries, projection)
    left = passes(words_of(features), *query_pairs(own, radius))
    distances = np.sqrt(((queries[:, None].astype(float) - rows[None]) ** 2).sum(-1))
    assert left[distances <= radius].all()
    of_features = np.sqrt(((own[:, None].astype(float) - features[None]) ** 2).sum(-1))
    assert not left[of_features > (radius + 2 * np.sqrt(own.shape[1]) / STEPS) * (1 + 1e-4) + 1e-4].any()


@pytest.mark.parametrize("width", [9, 17, 25])
def test_words_hold_two_features_and_half_of_the_squares(width):
    features = (np.random.default_rng(width).uniform(-1, 1, (40, width)) * 2 / np.sqrt(width)).astype(np.float32)
    features[0], features[1] = 0, 0
    features[1, width - 1] = -2  # the longest that there is
    words = words_of(features)
    assert words.shape == (40, word_count(width)) and words.dtype == np.int32
    rounded = halves(words[:, 1:])
    assert (rounded[:, width:] == 0).all() and rounded[1, width - 1] == -2 * STEPS
    np.testing.assert_allclose(rounded[:, :width] / STEPS, features, atol=0.5 / STEPS)
    np.testing.assert_array_equal(words[:, 0], -((rounded**2).sum(axis=1) // 2))


@pytest.mark.parametrize("n", [0, 1, 64, 65, 1000])
def test_blocks_hold_the_words_of_each_place(n, monkeypatch):
    monkeypatch.setattr("dfjoin.vectors.rounded_features._CHUNK", 128)
    rng = np.random.default_rng(n)
    features, order = (rng.uniform(-0.4, 0.4, (n, 17))).astype(np.float32), rng.permutation(n)
    words = words_of(features)
    blocks = blocks_of_words(words, order)
    assert blocks.shape == (max(1, -(-n // 64)), 10, 64)
    flat = blocks.transpose(0, 2, 1).reshape(-1, 10)
    np.testing.assert_array_equal(flat[:n], words[order])
    assert not flat[n:].any()
    floats = np.full((blocks.shape[0], 17, 64), FAR, np.float32)
    fill_blocks(features, order, floats)
    np.testing.assert_array_equal(blocks_of_floats(floats, n), blocks)
