"""Work is divided among tasks without losing any."""

import pytest

from dfjoin.ingest.balance import pack_runs


@pytest.mark.parametrize("sizes", [[0], [0, 0], [0, 5], [5, 0]])
@pytest.mark.parametrize("target", [1, 100])
def test_empty_runs_are_packed_too(sizes, target):
    """A run without tokens has the size 0."""
    assert sorted(number for group in pack_runs(sizes, target) for number in group) == list(range(len(sizes)))
