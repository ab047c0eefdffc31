"""Sums over posting lists against plain loops over sets, and the weights of values."""

import math

import numpy as np
import pytest

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.lists.evidence import (
    BITS,
    COUNT,
    N_SUMS,
    ROWS,
    SCALE,
    SPREAD,
    WEIGHT,
    Sums,
    add_columns,
    add_lists,
    add_sets,
    collect_evidence,
    weigh_values,
)
from dfjoin.kernels.records import Lists, as_read_only
from dfjoin.values.normalize import pack_strings
from tests.oracles.usefulness import usual_holding

N_COLUMNS = 7


def lists_of(rng, n_lists):
    """Posting lists over a few columns, and the sets that they make."""
    lists = [np.sort(rng.choice(N_COLUMNS, rng.integers(2, 5), replace=False)) for _ in range(n_lists)]
    indptr = np.cumsum([0, *map(len, lists)])
    sets = [[i for i, one in enumerate(lists) if column in one] for column in range(N_COLUMNS)]
    set_indptr = np.cumsum([0, *map(len, sets)])
    return (
        lists,
        as_read_only(indptr),
        as_read_only(np.concatenate(lists).astype(np.int32)),
        as_read_only(set_indptr),
        as_read_only(np.concatenate(sets).astype(np.uint32)),
    )


def scratch_of(n_lists, n_values, summed):
    rows = np.zeros(N_COLUMNS, np.int32)
    rows[summed] = np.arange(1, len(summed) + 1)
    return Sums(
        np.zeros((len(summed) + 1, N_SUMS), np.int64), rows, np.zeros(n_lists, np.int32),
        np.empty(n_values, np.uint32), np.empty((n_values, N_SUMS), np.int64), np.empty(0, np.int32),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_sums_are_those_of_a_plain_loop_by_lists_and_by_sets(seed):
    rng = np.random.default_rng(seed)
    lists, indptr, columns, set_indptr, set_lists = lists_of(rng, 6)
    groups = rng.integers(-1, N_COLUMNS + 6, 40)
    weights = rng.integers(1, 1000, (40, N_SUMS))
    expected = np.zeros((N_COLUMNS, N_SUMS), np.int64)
    for group, weight in zip(groups.tolist(), weights, strict=True):
        holders = [] if group < 0 else [group] if group < N_COLUMNS else lists[group - N_COLUMNS]
        for column in holders:
            expected[column] += weight
    used = {group - N_COLUMNS for group in groups.tolist() if group >= N_COLUMNS}
    for summed in (np.arange(N_COLUMNS), rng.permutation(N_COLUMNS)[:3]):
        by_lists, by_sets = scratch_of(6, 40, summed), scratch_of(6, 40, summed)
        for scratch in (by_lists, by_sets):
            n_lists, n_postings, n_found, _ = collect_evidence(groups, weights, indptr, scratch)
            assert (n_lists, n_postings) == (len(used), sum(len(lists[i]) for i in used))
            assert n_found == np.count_nonzero(groups >= 0)
        add_lists(n_lists, 0, Lists(indptr, columns), by_lists)
        assert (by_lists.sums[1:] == expected[summed]).all()
        add_sets(summed, set_indptr, set_lists, by_sets)
        assert (by_sets.sums[1:] == expected[summed]).all()
    room = np.full((N_COLUMNS + 1, N_SUMS), -1), np.full(N_COLUMNS, -1, np.int32)
    every = scratch_of(6, 40, np.empty(0, np.int64))._replace(sums=room[0], met=room[1])
    n_lists, _, _, n_met = collect_evidence(groups, weights, indptr, every)
    met = every.met[: add_lists(n_lists, n_met, Lists(indptr, columns), every)]
    assert sorted(met.tolist()) == np.flatnonzero(expected.any(axis=1)).tolist()
    assert (every.sums[every.rows[met]] == expected[met]).all() and every.rows[met].tolist() == [
        *range(1, met.size + 1)
    ]


def test_what_lies_outside_the_segment_is_damage():
    groups, weights = np.array([N_COLUMNS]), np.ones((1, N_SUMS), np.int64)
    indptr, columns = as_read_only(np.array([0, 2])), as_read_only(np.array([1, N_COLUMNS], np.int32))
    scratch = scratch_of(1, 1, np.array([0]))
    n_lists, _, _, _ = collect_evidence(groups, weights, indptr, scratch)
    with pytest.raises(DamagedArraysError):
        add_lists(n_lists, 0, Lists(indptr, columns), scratch)
    with pytest.raises(DamagedArraysError):
        add_sets(np.array([0]), as_read_only(np.array([0, 9])), as_read_only(np.zeros(1, np.uint32)), scratch)


def test_columns_that_hold_a_value_are_counted_without_deleted_ones():
    held = np.zeros(4, np.int64)
    alive = np.array([1, 0], np.uint8)
    add_columns(np.array([-1, 0, 1, 2]), np.array([5]), alive, held)
    assert held.tolist() == [0, 1, 0, 5]


@pytest.mark.parametrize(
    ("value", "bits"),
    [("0", 2.0), ("7", math.log2(9)), ("07", math.log2(9) + 1), ("ab", 6.0), ("a1", 5.5), ("x" * 99, 30)],
)
def test_bits_of_a_value_follow_from_its_alphabet(value, bits):
    weights = np.empty((1, N_SUMS), np.int64)
    weigh_values(*map(as_read_only, pack_strings([value])), np.array([4]), 70, np.array([3]), weights)
    (told,) = weights
    assert told[BITS] / SCALE == pytest.approx(bits, abs=1e-4)
    assert (told[COUNT], told[ROWS]) == (1, 3)
    holding = usual_holding(value, 4, 70)
    assert told[WEIGHT] / SCALE == pytest.approx(1 / math.sqrt(holding), abs=1e-4)
    assert told[SPREAD] / SCALE == pytest.approx(math.log(holding), abs=1e-4)


def test_how_rare_a_value_is_hardly_depends_on_the_size_of_the_lake():
    weights = np.empty((2, N_SUMS), np.int64)
    packed = list(map(as_read_only, pack_strings(["17", "x" * 12])))
    spread = []
    for n_columns, holding in ((10, [2, 2]), (65_000, [4_000, 2])):
        weigh_values(*packed, np.array(holding), n_columns, np.array([1, 1]), weights)
        spread.append(weights[:, SPREAD] / SCALE)
    assert abs(spread[0] - spread[1]).max() < 2 and (spread[0][0] > 7) and (spread[0][1] < 3)
