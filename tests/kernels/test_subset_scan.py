"""The scan of bitmaps where it is left and taken up again; whole joins are tested in tests/containment."""

import pytest

from dfjoin.containment import subset_pairs
from dfjoin.containment.set_collection import encode_sides
from dfjoin.containment.subset_join import scan_pairs
from tests.oracles.containment import naive_pairs, random_sets, sets_of


@pytest.mark.parametrize("room", [1, 3, 64])
def test_a_scan_goes_on_where_the_room_ended(rng, monkeypatch, room):
    left, right = encode_sides(random_sets(rng, 60, 6, 3, 0.5), random_sets(rng, 600, 6, 5, 0.2))
    monkeypatch.setattr(subset_pairs, "STEPS", 5)
    parts = list(scan_pairs(left, right, room))
    assert all(0 < part.left.size <= room for part in parts)
    got = sorted(pair for part in parts for pair in zip(part.left.tolist(), part.right.tolist(), strict=True))
    assert got == [(i, j) for i, j, matched in naive_pairs(sets_of(left), sets_of(right)) if matched]
