"""Blocks of neighbours, and the boxes above them."""

import numpy as np
import pytest

from dfjoin.kernels.vectors.vector_blocks import BLOCK, FAR, box_levels, fill_blocks, fill_boxes, order_blocks


def built(features):
    n = features.shape[0]
    order = np.arange(n)
    order_blocks(features, order, np.empty(n, np.float32), np.empty((128, 2), np.int64))
    levels = np.array(box_levels(n), np.int64)
    blocks = np.empty((max(1, -(-n // BLOCK)), features.shape[1], BLOCK), np.float32)
    fill_blocks(features, order, blocks)
    boxes = np.empty((levels[-1], 2 * features.shape[1], BLOCK), np.float32)
    fill_boxes(blocks, n, levels, boxes)
    return order, levels, blocks, boxes


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000, 64 * 64 + 7, 9000])
def test_every_vector_stands_once_and_inside_the_boxes_above_it(n):
    features = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
    order, levels, blocks, boxes = built(features)
    assert sorted(order.tolist()) == list(range(n))
    flat = blocks.transpose(0, 2, 1).reshape(-1, 3)
    np.testing.assert_array_equal(flat[:n], features[order])
    assert (flat[n:] == FAR).all()
    own = np.arange(n) // BLOCK
    for level in range(levels.size - 1):
        group, place = levels[level] + own // BLOCK, own % BLOCK
        assert (group < levels[level + 1]).all()
        for axis in range(3):
            assert (boxes[group, axis, place] <= flat[:n, axis]).all()
            assert (boxes[group, 3 + axis, place] >= flat[:n, axis]).all()
        own = own // BLOCK
    assert (own == 0).all()


def test_blocks_are_cut_at_medians():
    """On one axis the blocks follow each other, whatever the order that vectors come in."""
    features = np.random.default_rng(3).permutation(1000).astype(np.float32)[:, None]
    _, _, blocks, _ = built(features)
    for left, right in zip(blocks, blocks[1:], strict=False):
        assert left[0].max() < right[0].min()


def test_equal_vectors_are_ordered_in_finite_time():
    order, *_ = built(np.ones((5000, 2), np.float32))
    assert sorted(order.tolist()) == list(range(5000))


def test_the_same_vectors_have_the_same_order():
    features = np.random.default_rng(1).integers(0, 3, (3000, 4)).astype(np.float32)
    np.testing.assert_array_equal(built(features)[0], built(features)[0])
