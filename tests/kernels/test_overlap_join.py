"""The order of elements by the length of their lists; overlaps are tested in tests/containment/test_partial_join.py."""

import numpy as np

from dfjoin.kernels.sets.overlap_join import sort_by_length


def test_elements_of_short_lists_come_first():
    elements = np.array([0, 1, 2, 1, 3], np.uint32)
    sort_by_length(np.array([0, 3, 3, 5]), elements, np.array([9, 2, 9, 1]), np.empty_like(elements))
    assert elements.tolist() == [1, 0, 2, 3, 1]
