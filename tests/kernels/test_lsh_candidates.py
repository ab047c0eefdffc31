"""Candidates by band against a plain comparison of signatures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.sets.lsh_candidates import PartitionBands, Stretches, collect_candidates, find_equal


def sorted_rows(matrix):
    """Each row of the (n_rows, n) matrix sorted: values, slots."""
    slots = np.argsort(matrix, axis=1, kind="stable").astype(np.int32)
    return np.take_along_axis(matrix, slots, axis=1), slots


def probe(matrix, signature, first_slot, indptr, n_bands, n_band_rows):
    values, slots = sorted_rows(matrix)
    n_rows, n = matrix.shape
    stretches = Stretches(np.empty(n_rows, np.int64), np.empty(n_rows, np.int64))
    total = find_equal(signature, values, first_slot, stretches)
    agreed, candidates = np.zeros(n, np.uint16), np.empty(n, np.int32)
    bands = PartitionBands(np.array(indptr), np.array(n_bands), np.array(n_band_rows))
    found = collect_candidates(stretches, slots, first_slot, bands, agreed, candidates)
    starts, ends = stretches
    assert total == int((ends - starts).sum())
    return (
        sorted(candidates[:found].tolist()),
        agreed.tolist(),
        list(zip(starts.tolist(), ends.tolist(), strict=True)),
    )


@given(st.data())
def test_candidates_are_the_slots_that_agree_in_a_band(data):
    n_rows = data.draw(st.integers(1, 12))
    n = data.draw(st.integers(1, 20))
    few = st.integers(0, 2)
    matrix = np.array(data.draw(st.lists(few, min_size=n_rows * n, max_size=n_rows * n)), np.uint32).reshape(n_rows, n)
    signature = np.array(data.draw(st.lists(few, min_size=n_rows, max_size=n_rows)), np.uint32)
    n_partitions = data.draw(st.integers(1, 3))
    cuts = sorted(data.draw(st.lists(st.integers(0, n), min_size=n_partitions - 1, max_size=n_partitions - 1)))
    indptr = [0, *cuts, n]
    n_band_rows = [data.draw(st.integers(1, n_rows)) for _ in range(n_partitions)]
    n_bands = [data.draw(st.integers(0, n_rows // r)) for r in n_band_rows]
    first_slot = data.draw(st.integers(0, n))
    found, agreed, stretches = probe(matrix, signature, first_slot, indptr, n_bands, n_band_rows)
    expected = []
    for p in range(n_partitions):
        for slot in range(max(first_slot, indptr[p]), indptr[p + 1]):
            agree = matrix[:, slot] == signature
            bands = agree[: n_bands[p] * n_band_rows[p]].reshape(-1, n_band_rows[p])
            if bands.all(axis=1).any() and n_bands[p]:
                expected.append(slot)
    assert found == sorted(expected)
    counts = (matrix == signature[:, None]).sum(axis=0)
    assert agreed == [0] * first_slot + counts[first_slot:].tolist()
    if first_slot < n:
        for row, (start, end) in enumerate(stretches):
            assert end - start == np.count_nonzero(matrix[row] == signature[row])


def test_no_slots_at_all():
    found, agreed, stretches = probe(np.empty((4, 0), np.uint32), np.zeros(4, np.uint32), 0, [0, 0], [4], [1])
    assert found == [] and agreed == [] and stretches == [(0, 0)] * 4


def test_a_slot_outside_the_segment_is_noticed():
    stretches = Stretches(np.zeros(1, np.int64), np.ones(1, np.int64))
    bands = PartitionBands(np.array([0, 1]), np.array([1]), np.array([1]))
    for slot in (-1, 1, 2**31 - 1):
        slots = np.array([[slot]], np.int32)
        with pytest.raises(DamagedArraysError):
            collect_candidates(stretches, slots, 0, bands, np.zeros(1, np.uint16), np.empty(1, np.int32))
