import numpy as np
import pytest

from dfjoin.transform.sides import CONFIDENCE, MIN_PAIRS, sample_rows, sample_sizes


def test_the_guarantee_is_that_of_the_paper():
    assert CONFIDENCE > 0.998


@pytest.mark.parametrize("n_source", [1, 100, 5_000, 100_000, 3_000_000])
@pytest.mark.parametrize("n_target", [1, 100, 5_000, 100_000, 3_000_000])
def test_enough_joinable_pairs_are_expected_or_everything_is_taken(n_source, n_target):
    source, target = sample_sizes(n_source, n_target)
    assert 0 < source <= n_source
    assert 0 < target <= n_target
    expected = target * 0.1 * source / n_source
    assert expected >= 20 - 1e-6 or (source, target) == (n_source, n_target)


def test_no_smaller_samples_meet_the_constraint():
    n_source, n_target = 200_000, 50_000
    chosen = sum(sample_sizes(n_source, n_target))
    for target in range(100, n_target, 100):
        source = 20 * n_source / (0.1 * target)
        assert chosen <= source + target + 2 or source > n_source


def test_samples_hold_enough_pairs_as_often_as_promised():
    rng = np.random.default_rng(0)
    n = 20_000
    source_size, target_size = sample_sizes(n, n)
    joinable = rng.permutation(n)[: n // 10]  # a tenth takes part
    few = 0
    for _ in range(300):
        source, target = sample_rows(n, source_size, rng), sample_rows(n, target_size, rng)
        few += np.intersect1d(np.intersect1d(source, target), joinable).size <= MIN_PAIRS
    assert few <= 3


def test_rows_are_sorted_and_distinct():
    rows = sample_rows(100, 30, np.random.default_rng(0))
    assert rows.size == 30
    assert (np.diff(rows) > 0).all()
    assert sample_rows(5, 30, np.random.default_rng(0)).tolist() == [0, 1, 2, 3, 4]
    assert sample_sizes(0, 10) == (0, 10)
