"""Runs of equal sets, and pairs that are written as far as there is room."""

import numpy as np
import pytest

from dfjoin.containment.set_collection import encode_sides
from dfjoin.kernels.numba._compile import njit_lean
from dfjoin.kernels.sets.subset_runs import Pairs, find_runs, match_signatures, write_pairs


@njit_lean
def call_write_pairs(lefts, start, end, rights, n_rights, n_written, pairs, n_pairs):
    return write_pairs(lefts, start, end, rights, n_rights, n_written, pairs, n_pairs)


@njit_lean
def call_match(rows, stretch, p, own, signatures, held):
    return match_signatures(rows, stretch, p, own, signatures, held)


def test_a_run_is_of_one_key_and_of_equal_sets_even_if_hashes_agree():
    sets = encode_sides((np.array([0, 2, 4, 6, 7, 9]), np.array([0, 1, 0, 1, 0, 2, 1, 0, 1])))[0]
    starts = np.empty(6, np.int32)
    order = np.array([0, 1, 2, 4, 3], np.int32)
    n = find_runs(sets.lists, order, np.array([0, 0, 0, 1, 0]), np.zeros(5, np.uint64), starts)
    assert n == 4 and starts[:5].tolist() == [0, 2, 3, 4, 5]


@pytest.mark.parametrize("room", [1, 2, 5, 100])
def test_pairs_are_written_in_parts(room):
    lefts, rights = np.array([9, 4, 5, 6], np.int32), np.array([7, 8], np.int32)
    found, n_written = [], 0
    while n_written < 6:
        pairs = Pairs(np.zeros(room + 1, np.int32), np.zeros(room + 1, np.int32))
        n_now = call_write_pairs(lefts, 1, 4, rights, 2, n_written, pairs, 1)
        n = n_now - n_written
        found += zip(pairs.left[1 : n + 1].tolist(), pairs.right[1 : n + 1].tolist(), strict=True)
        n_written = n_now
    assert found == [(4, 7), (4, 8), (5, 7), (5, 8), (6, 7), (6, 8)]


@pytest.mark.parametrize("n", [0, 5, 16, 70])
def test_bitmaps_are_matched_in_parts(rng, n):
    rows, signatures = rng.permutation(200).astype(np.int32), rng.integers(0, 8, n).astype(np.uint64)
    held, found, p = np.empty(20, np.int32), [], 0
    while p < n:
        n_held, p = call_match(rows, (30, n), p, np.uint64(5), signatures, held)
        found += held[:n_held].tolist()
    assert found == [int(rows[30 + i]) for i in range(n) if int(signatures[i]) & 5 == 5]
