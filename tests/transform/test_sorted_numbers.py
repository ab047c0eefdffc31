import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.transform.evidence.sorted_numbers import SortedNumbers, count_distinct, count_met, last_units


def numbers(values, unit=1.0):
    values = np.unique(np.array(values, float))
    slack = np.full(values.size, unit / 2)
    return SortedNumbers(values, slack, last_units(values, slack))


@pytest.mark.parametrize(
    ("values", "unit", "step"),
    [
        ([1, 2, 4, 9], 1, 1),
        ([12, 36, 48, 120], 1, 12),
        ([5, 17, 29, 101], 1, 12),
        ([0.25, 0.5, 2.75], 0.01, 0.25),
        ([*range(0, 500, 5), 3], 1, 5),
    ],
)
def test_the_grid_is_that_of_nine_tenths_of_the_numbers(values, unit, step):
    assert numbers(values, unit).step == pytest.approx(step)


@pytest.mark.parametrize(
    ("value", "unit", "own"),
    [(1200, 1, 100), (7, 1, 1), (2.5, 0.01, 0.1), (0, 0.1, 0.1), (-30, 1, 10), (1.25, 0.01, 0.01)],
)
def test_zeros_at_the_end_are_no_digits(value, unit, own):
    assert last_units(np.array([float(value)]), np.array([unit / 2]))[0] == pytest.approx(own)


@given(st.lists(st.integers(-1000, 1000), min_size=2, unique=True), st.lists(st.floats(-1500, 1500), min_size=1))
def test_the_nearest_number_is_found(values, results):
    column = numbers(values)
    found = column.values[column.nearest(np.array(results))]
    assert [abs(f - r) for f, r in zip(found, results, strict=True)] == [
        min(abs(v - r) for v in values) for r in results
    ]


def test_a_full_grid_has_density_one_and_a_sparse_one_nearly_none():
    results = np.array([50.5, 70.0])
    assert numbers(range(100)).density(results, np.ones(2)).tolist() == [1.0, 1.0]
    sparse = numbers([k * k * 7 for k in range(100)])
    assert sparse.density(results + 30_000, np.ones(2)).max() < 0.01


def test_density_is_that_of_the_numbers_nearby():
    growing = numbers([*range(1, 13), *(round(1.5**k) for k in range(7, 40))])
    assert growing.density(np.array([5.0, 9.0]), np.ones(2)).tolist() == [1.0, 1.0]
    assert growing.density(np.array([50_000.0]), np.ones(1))[0] < 0.001


def test_a_result_is_compared_with_numbers_of_as_many_digits():
    mixed = numbers([*range(0, 4000, 100), *(0.37 + 97 * np.arange(41))], 0.01)
    round_one, exact = mixed.density(np.array([2000.0, 2000.01]), np.array([100.0, 0.01]))
    assert round_one > 0.4
    assert exact < 0.01


@given(st.lists(st.lists(st.integers(-2, 5), min_size=4, max_size=4), min_size=1))
def test_distinct_numbers_of_rows_are_counted(rows):
    assert count_distinct(np.array(rows)).tolist() == [len(set(row)) for row in rows]


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=4, max_size=4)), st.booleans())
def test_met_numbers_of_rows_are_counted(rows, is_falling):
    rows = [sorted(row, reverse=is_falling) for row in rows]
    cells = np.array(rows, np.int64).reshape(-1, 4, 2)
    counts = count_met(cells[:, :, 0], cells[:, :, 1] > 0)
    assert counts.tolist() == [len({number for number, is_met in row if is_met}) for row in rows]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20, unique=True), st.lists(st.floats(-2e6, 2e6)))
def test_the_nearest_number_is_no_further_than_any_other(values, results):
    sides = numbers(values)
    at = sides.nearest(np.array(results))
    for result, position in zip(results, at.tolist(), strict=True):
        least = np.abs(sides.values - result).min()
        assert abs(sides.values[position] - result) <= least * (1 + 1e-9) + 1e-9
