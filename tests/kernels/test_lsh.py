"""Candidates by band against a plain comparison of signatures; counts in sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.lsh_candidates import collect_candidates, find_equal, sum_sets


def sorted_rows(matrix):
    """Each row of the (n_rows, n) matrix sorted: values, slots."""
    slots = np.argsort(matrix, axis=1, kind="stable").astype(np.int32)
    return np.take_along_axis(matrix, slots, axis=1), slots


def probe(matrix, signature, first_slot, indptr, n_bands, n_band_rows):
    values, slots = sorted_rows(matrix)
    n_rows, n = matrix.shape
    starts, ends = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    total = find_equal(signature, values, first_slot, starts, ends)
    agreed, is_candidate = np.zeros(n, np.uint16), np.zeros(n, np.uint8)
    candidates = np.empty(n, np.int32)
    found = collect_candidates(
        starts, ends, slots, first_slot, np.array(indptr), np.array(n_bands), np.array(n_band_rows), agreed,
        is_candidate, candidates,
    )  # fmt: skip
    assert total == int((ends - starts).sum())
    assert sorted(candidates[:found].tolist()) == np.flatnonzero(is_candidate).tolist()
    return (
        np.flatnonzero(is_candidate).tolist(),
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
    starts, ends = np.zeros(1, np.int64), np.ones(1, np.int64)
    for slot in (-1, 1, 2**31 - 1):
        assert collect_candidates(
            starts, ends, np.array([[slot]], np.int32), 0, np.array([0, 1]), np.array([1]), np.array([1]),
            np.zeros(1, np.uint16), np.zeros(1, np.uint8), np.empty(1, np.int32),
        ) == -1  # fmt: skip


@given(st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_sums_of_sets(sets, random):
    hits = np.array([random.randint(0, 3) for _ in range(10)], np.int32)
    private = np.array([random.randint(0, 3) for _ in sets], np.int32)
    indptr = np.cumsum([0] + [len(s) for s in sets])
    lists = np.array([n for s in sets for n in s], np.uint32)
    columns = np.arange(len(sets), dtype=np.int32)[::-1].copy()
    totals = sum_sets(columns, indptr, lists, hits, private)
    assert totals.tolist() == [private[c] + sum(int(hits[n]) for n in sets[c]) for c in columns.tolist()]


def test_sets_that_lead_outside_are_noticed():
    hits, counts = np.zeros(3, np.int32), np.zeros(1, np.int32)
    column = np.zeros(1, np.int32)
    assert sum_sets(column, np.array([0, 1]), np.array([3], np.uint32), hits, counts)[0] == -1
    assert sum_sets(column, np.array([0, 9]), np.array([0], np.uint32), hits, counts)[0] == -1
    assert sum_sets(column, np.array([-1, 1]), np.array([0], np.uint32), hits, counts)[0] == -1
