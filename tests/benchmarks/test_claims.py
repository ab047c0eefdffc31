"""Claimed precision is the reached one, on a part of the generated relations of `tests.benchmarks.claims`."""

import pytest

from tests.benchmarks.claims import KINDS, measure


@pytest.mark.slow  # dozens of relations are learned
@pytest.mark.filterwarnings("ignore::dfjoin.errors.DfjoinWarning")
def test_the_mean_claim_is_near_the_mean_truth():
    made = measure(2 * len(KINDS))
    assert len(made) >= 0.9 * 2 * len(KINDS)
    assert abs(made["claim"].mean() - made["truth"].mean()) <= 0.03
    assert made["truth"].mean() >= 0.95
