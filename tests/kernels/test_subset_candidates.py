"""Lists with bitmaps; the join that reads them is tested in tests/containment/test_external_join.py."""

import numpy as np

from dfjoin.containment.set_collection import encode_sides
from dfjoin.containment.subset_pairs import sign
from dfjoin.kernels.sets.subset_candidates import fill_signed_lists


def test_each_entry_of_a_list_has_the_bitmap_of_its_set():
    sets = encode_sides((np.array([0, 2, 3, 5]), np.array([0, 2, 2, 0, 1])))[0]
    cursors, rows, signatures = np.array([0, -1, 2]), np.full(4, -1, np.int32), np.zeros(4, np.uint64)
    fill_signed_lists(sets.lists, cursors, rows, signatures)
    assert rows.tolist() == [0, 2, 0, 1] and cursors.tolist() == [2, -1, 4]
    assert signatures.tolist() == sign(sets)[rows].tolist()
