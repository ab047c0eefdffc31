import numpy as np
import pytest

from dfjoin.transform.relations.linear_search import search_lines
from tests.oracles.transform import line_hits
from tests.transform.test_sorted_numbers import numbers


def lines(xs, ys, unit):
    return search_lines(numbers(xs), numbers(ys, unit), np.random.default_rng(0))


@pytest.mark.parametrize("seed", range(20))
def test_of_few_numbers_the_best_line_is_found(seed):
    rng = np.random.default_rng(seed)
    xs = np.unique(rng.integers(-9999, 9999, 6)).tolist()
    scale, offset = int(rng.choice([-5, -2, 3, 7])), int(rng.integers(-50, 50))
    ys = sorted({scale * x + offset for x in xs} | set(rng.integers(-60_000, 60_000, seed % 3).tolist()))
    found = max(np.unique(line.right).size for line in lines(xs, ys, 1.0))
    assert found == line_hits(xs, ys, 0) >= len(xs)


@pytest.mark.parametrize(("scale", "offset"), [(2.54, 0), (3.7, 0), (1, 215.3), (1.8, 32), (4.1, -77.7), (-2.3, 900.1)])
@pytest.mark.parametrize("n", [12, 2000])
def test_a_line_is_found_where_a_third_of_the_rows_has_no_partner(rng, n, scale, offset):
    values = rng.permutation(100 * n)[: 5 * n // 4].astype(float)
    xs, ys = values[:n], np.round(scale * values[n // 4 :] + offset, 1)
    found = lines(xs, ys, 0.1)[0]
    assert found.scale == pytest.approx(scale, rel=1e-3)
    assert found.left.size >= 0.7 * n


def test_a_line_is_followed_from_dense_numbers_to_far_ones_by_stretches_that_grow():
    """Neighbours among dense numbers tell the scale too roughly for the whole column."""
    rng = np.random.default_rng(0)
    values = rng.permutation(np.unique(np.round(rng.lognormal(8, 1.5, 7500))))[:3750]
    xs, ys = values[:3000], np.round(4.1 * values[750:] - 77.7)
    assert max(line.left.size for line in lines(xs, ys, 1.0)) >= 2250, "as many as have partners"


def test_unrelated_numbers_have_no_line_that_covers_them(rng):
    xs, ys = rng.permutation(10**6)[:200].astype(float), rng.permutation(10**6)[:200].astype(float)
    assert max((line.left.size for line in lines(xs, ys, 1.0)), default=0) < 20


def test_of_large_columns_known_units_are_tried_alone(rng):
    xs = np.unique(np.round(rng.lognormal(5, 1, 3000), 2))
    target = numbers(np.round(2.54 * xs, 4), 1e-4)
    (line, *_) = search_lines(numbers(xs, 0.01), target, rng, is_known=True)
    assert line.scale == pytest.approx(2.54)
    assert line.bits > 1000
    lines_ = search_lines(numbers(xs, 0.01), numbers(np.round(2.7182 * xs, 4), 1e-4), rng, is_known=True)
    assert max((line.bits for line in lines_), default=0) < 20


def test_a_tolerance_that_is_met_exactly_is_met():
    """The identity carries zero to a number that is as far from it as its own rounding allows."""
    farthest = 0.5 * (1 + 1e-9)
    source, target = numbers([0, 1000]), numbers([farthest, 5003])
    found = search_lines(source, target, np.random.default_rng(0), is_known=True)
    assert {(*line.left, *line.right) for line in found if line.is_same} == {(0, 0)}
    farther = numbers([np.nextafter(farthest, 1), 5003])
    assert not any(line.is_same for line in search_lines(source, farther, np.random.default_rng(0), is_known=True))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sides", [(2, 100), (100, 2)])
def test_two_numbers_have_no_line_through_three(sides):
    found = lines(*(np.arange(1.0, n + 1) for n in sides), 1.0)
    assert max(np.unique(line.right).size for line in found) == 2
