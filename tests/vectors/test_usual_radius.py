"""The radius that a model suggests, against all pairs."""

import numpy as np
import pytest

from dfjoin.vectors.embedders import unit_rows
from dfjoin.vectors.usual_radius import usual_radius


@pytest.mark.parametrize(("n", "d"), [(50, 2), (700, 6), (1500, 4)])
def test_one_of_256_pairs_lies_within(n, d):
    rows = unit_rows(np.random.default_rng(n).normal(size=(n, d)))
    gaps = np.sqrt(((rows[:, None].astype(float) - rows[None].astype(float)) ** 2).sum(-1))[np.triu_indices(n, 1)] / 2
    wanted = np.sort(gaps)[int(gaps.size / 256)]
    assert usual_radius(rows) == min(0.45, max(0.05, int(wanted * 100 + 1e-4) / 100))


def test_few_texts_and_equal_vectors_stay_within_limits():
    assert usual_radius(np.empty((0, 4), np.float32)) == usual_radius(unit_rows(np.eye(1, 4))) == 0.45
    assert usual_radius(unit_rows(np.ones((30, 4)))) == 0.05


def test_texts_behind_the_first_ones_do_not_count():
    rng = np.random.default_rng(1)
    rows = unit_rows(rng.normal(size=(5000, 5)))
    moved = np.concatenate([rows[:4096], unit_rows(np.ones((904, 5)))])
    assert usual_radius(rows) == usual_radius(moved)
