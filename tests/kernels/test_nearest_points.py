"""The nearest point under boxes, against every point."""

import numpy as np
import pytest

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.nearest_points import FAN, PointBoxes, find_nearest
from tests.oracles.kernels import naive_nearest


def boxes_of(points):
    """Blocks of 64 in the order of the points, and boxes of eight above them."""
    lows, highs, levels, step = [points], [points], [], 64
    while len(lows[-1]) > 1 or not levels:
        starts = np.arange(0, len(lows[-1]), step)
        lows.append(np.minimum.reduceat(lows[-1], starts))
        highs.append(np.maximum.reduceat(highs[-1], starts))
        levels.append(len(starts))
        step = FAN
    arrays = points, np.arange(len(points)), np.concatenate(lows[1:]), np.concatenate(highs[1:])
    return PointBoxes(*map(as_read_only, (*arrays, np.append(0, np.cumsum(levels)))))


@pytest.mark.parametrize(("n", "d", "is_tied"), [(1, 2, False), (64, 1, True), (700, 2, True), (1300, 3, False)])
def test_the_nearest_point_is_that_of_all_points(n, d, is_tied):
    rng = np.random.default_rng(n)
    points, queries = (rng.normal(size=(size, d)) for size in (n, 40))
    points = points[np.argsort(points[:, 0])]
    if is_tied:
        points, queries = np.round(points, 1), np.round(queries, 1)
    for radius in (0.0, 0.1, 9.0):
        boxes, scratch = boxes_of(points), np.empty(64, np.int64)
        nearest, gaps = np.empty(40, np.int64), np.empty(40)
        find_nearest(boxes, as_read_only(queries), radius, scratch, np.empty(64), np.empty(32), nearest, gaps)
        expected = [naive_nearest(points.tolist(), query.tolist(), radius) for query in queries]
        np.testing.assert_allclose(gaps, [gap for _, gap in expected], atol=1e-12)
        if is_tied:  # sums of rounded numbers tie in the naive version by chance of rounding alone
            assert ((nearest >= 0) == [number >= 0 for number, _ in expected]).all()
        else:
            assert nearest.tolist() == [number for number, _ in expected]
