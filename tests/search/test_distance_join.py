"""Which keys within a radius are partners."""

import numpy as np
import pytest

from dfjoin.errors import InvalidParameterError
from dfjoin.search.distance.distance_join import nearest_pairs, with_partners, with_precision


def test_the_nearest_pair_of_each_key():
    left, right, distances = np.array([1, 0, 1, 0, 1]), np.array([5, 4, 3, 2, 9]), np.array([0.5, 0.1, 0.5, 0.1, 0.2])
    found = nearest_pairs(left, right, distances)
    assert [part.tolist() for part in found] == [[0, 1], [2, 9], [0.1, 0.2]]
    assert nearest_pairs(left[:0], right[:0], distances[:0])[0].size == 0


def test_partners_of_a_relation():
    near = {"near": {"radius": 1.0, "partners": "nearest"}}
    assert with_partners(near, None) is near
    assert with_partners(near, "all") == {"near": {"radius": 1.0, "partners": "all"}}
    for other in (None, {"programs": []}):
        assert with_partners(other, None) is other
        with pytest.raises(InvalidParameterError, match="`partners` belongs to candidates that were found by distance"):
            with_partners(other, "all")


def test_the_precision_of_a_relation():
    near = {"near": {"radius": 0.2, "radius_unit": "absolute", "partners": "nearest"}}
    assert with_precision(near, None, is_bounded=False) is near
    assert with_precision(near, 0.9, is_bounded=True) == {"near": {**near["near"], "precision": 0.9}}
    free = with_precision(near, 0.9, is_bounded=False)["near"]
    assert (free["radius"], free["radius_unit"], free["precision"]) == (1.0, "fraction", 0.9)
    with pytest.raises(InvalidParameterError, match="`precision` belongs to candidates that were found by distance"):
        with_precision({"programs": []}, 0.9, is_bounded=True)
