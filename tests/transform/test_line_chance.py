import numpy as np
import pytest

from dfjoin.transform.evidence.line_chance import Line, chance_of_line, tolerance
from tests.transform.test_sorted_numbers import numbers

NOTHING = np.empty(0, np.int64)


def chance(xs, ys, unit=1.0, line=(1.0, 0.0), n_free=0):
    return max(
        chance_of_line(
            Line(*line, 0.0, n_free, NOTHING, NOTHING), numbers(xs), numbers(ys, unit), np.random.default_rng(0)
        )
    )


@pytest.mark.parametrize(
    ("xs", "ys", "line"),
    [
        (range(1, 101), range(41, 141), (1.0, 40.0)),
        (range(1, 101), range(10, 1001, 10), (10.0, 0.0)),
        (range(0, 100, 2), [v / 4 for v in range(0, 200, 4)], (0.5, 0.0)),
        ([2.0**k for k in range(20)], [2.0**k for k in range(3, 23)], (8.0, 0.0)),
        (range(100), [round(0.63918 * v, 3) for v in range(100)], (0.63918, 0.0)),
    ],
    ids=["row numbers", "multiples of ten", "quarters", "powers of two", "a grid that rounding hides"],
)
def test_regular_numbers_meet_by_chance(xs, ys, line):
    assert chance(xs, ys, 0.001 if line[0] == 0.63918 else 0.25 if line[0] == 0.5 else 1.0, line) > 0.3


def test_irregular_numbers_do_not(rng):
    xs = rng.permutation(10**6)[:100].astype(float)
    assert chance(xs, 3 * xs + 7, 1.0, (3.0, 7.0)) < 0.01


def test_a_scale_that_was_fitted_counts_twice(rng):
    xs = rng.permutation(10**3)[:100].astype(float)
    known, fitted = (chance(xs, np.round(2.54 * xs, 2), 0.01, (2.54, 0.0), n) for n in (0, 1))
    assert fitted >= 1.5 * known


def test_a_line_through_numbers_is_as_uncertain_as_they_are():
    column = numbers([1, 2, 3])
    at = np.array([0, 1])
    assert tolerance(column, at, np.array([1.0, 2.0]), 1) == pytest.approx(1.0)
    assert tolerance(column, at, np.array([1.0, 2.0]), 0) == pytest.approx(0.5)
