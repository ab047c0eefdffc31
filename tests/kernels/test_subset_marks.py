"""Right sets whose elements are marked, where a scan of them is left and taken up again; joins: tests/containment."""

import numpy as np
import pytest

from dfjoin.containment import subset_join, subset_pairs
from dfjoin.containment.set_collection import encode_sides
from dfjoin.containment.subset_join import scan_pairs
from dfjoin.kernels.numba._compile import njit_lean
from dfjoin.kernels.sets.subset_marks import is_marked, mark, unmark
from tests.oracles.containment import naive_pairs, random_sets, sets_of


@njit_lean
def mark_and_test(sets, row, other, marks):
    mark(sets, row, marks)
    found = is_marked(sets, other, marks)
    unmark(sets, row, marks)
    return found


def test_marks_tell_a_subset_and_are_forgotten():
    sets = encode_sides((np.array([0, 3, 5, 7]), np.array([1, 64, 130, 64, 130, 1, 65])))[0]
    marks = np.zeros(3, np.uint64)
    found = [[mark_and_test(sets.lists, row, other, marks) for other in range(3)] for row in range(3)]
    assert found == [[True, True, False], [False, True, False], [False, False, True]]
    assert not marks.any()


@pytest.mark.parametrize("room", [1, 3, 64])
@pytest.mark.parametrize("n_elements", [6, 90])
def test_a_scan_of_marks_goes_on_where_the_room_ended(rng, monkeypatch, room, n_elements):
    left, right = encode_sides(random_sets(rng, 200, n_elements, 3, 0.5), random_sets(rng, 60, n_elements, 40, 0.2))
    monkeypatch.setattr(subset_pairs, "STEPS", 5)
    monkeypatch.setattr(subset_join, "_LARGEST_LISTED", 0)
    monkeypatch.setattr(subset_join, "_TEST_COST", 0)
    parts = list(scan_pairs(left, right, room))
    assert all(0 < part.left.size <= room for part in parts)
    got = sorted(pair for part in parts for pair in zip(part.left.tolist(), part.right.tolist(), strict=True))
    assert got == [(i, j) for i, j, matched in naive_pairs(sets_of(left), sets_of(right)) if matched]
