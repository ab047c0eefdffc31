"""Left sets by key, and equal ones of these."""

import numpy as np

from dfjoin.containment.set_collection import encode_sides
from dfjoin.containment.subset_pairs import group_sets, sign
from tests.oracles.containment import random_sets, sets_of


def test_each_run_has_the_equal_sets_of_one_key(rng):
    sets = encode_sides(random_sets(rng, 300, 6, 3, 0.5))[0]
    keys = np.where(sets.sizes > 0, rng.integers(-1, 4, 300), -1)
    runs = group_sets(sets, keys, 4)
    found = {}
    for key in range(4):
        for run in range(runs.first[key], runs.first[key + 1]):
            rows = runs.order[runs.starts[run] : runs.starts[run + 1]].tolist()
            assert {sets_of(sets)[row] for row in rows} == {sets_of(sets)[rows[0]]}
            assert runs.signatures[run] == sign(sets)[rows[0]]
            assert (key, sets_of(sets)[rows[0]]) not in found
            found[key, sets_of(sets)[rows[0]]] = rows
    expected = [row for row in range(300) if keys[row] >= 0]
    assert sorted(row for rows in found.values() for row in rows) == expected
