"""Counting what lies within a radius, against every pair."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_search import (
    MatchTally,
    QueryVectors,
    TokenColumns,
    VectorTable,
    Within,
    count_equal,
    count_pairs,
    count_within,
    distances_of_pairs,
    make_scratch,
)
from dfjoin.vectors.trees import bound_of, build_tree, features_of

N_COLUMNS = 7


def case(seed, n=700, d=5, n_queries=40):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)).astype(np.float32)
    queries = np.concatenate([rows[: n_queries // 2] + np.float32(0.01), rng.normal(size=(n_queries // 2, d))])
    lists = [np.sort(rng.choice(N_COLUMNS, rng.integers(2, 4), replace=False)) for _ in range(9)]
    group = rng.integers(0, N_COLUMNS + len(lists), n)
    near = rng.random(N_COLUMNS) < 0.7
    own = np.where(rng.random(n_queries) < 0.5, rng.integers(0, n, n_queries), -1)
    return rows, queries.astype(np.float32), lists, group, near, own


def columns_of(token, lists, group):
    g = int(group[token])
    return [g] if g < N_COLUMNS else lists[g - N_COLUMNS].tolist()


def naive(rows, queries, lists, group, near, own, radius, is_all):
    hits, scores = np.zeros(N_COLUMNS, np.int64), np.zeros(N_COLUMNS, np.int64)
    for q, vector in enumerate(queries):
        met = [0] * N_COLUMNS
        for token, row in enumerate(rows):
            is_near = math.sqrt(((row.astype(float) - vector.astype(float)) ** 2).sum()) <= radius
            for column in columns_of(token, lists, group):
                met[column] += token == own[q] or (is_near and near[column])
        hits += np.array(met) > 0
        scores += np.array(met) if is_all else (np.array(met) > 0) * (q + 1)
    return hits, scores


def tally_of(is_all):
    zeros = np.zeros((2, N_COLUMNS), np.int64)
    return MatchTally(zeros[0], zeros[1], np.full(N_COLUMNS, -1), np.full(9, -1), is_all)


def postings_of(lists, group, near):
    indptr = np.cumsum([0] + [len(one) for one in lists]).astype(np.int64)
    arrays = group.astype(np.uint32), indptr, np.concatenate(lists).astype(np.int32), near.astype(np.uint8)
    return TokenColumns(*map(as_read_only, arrays))


def sealed(*arrays):
    return (as_read_only(np.ascontiguousarray(array)) for array in arrays)


def run(seed, radius, is_all):
    rows, queries, lists, group, near, own = case(seed)
    tree, order = build_tree(rows)
    features = features_of(queries, tree.projection)
    numbers = np.arange(len(queries))
    made = QueryVectors(*sealed(features, queries, numbers, own, numbers + 1, np.full(numbers.size, radius)))
    table = VectorTable(*sealed(rows[order], order.astype(np.uint32)))
    within = Within(bound_of(radius, max(tree.scale, float(np.abs(features).max()))), radius)
    postings, stats = postings_of(lists, group, near), np.zeros(4, np.int64)
    by_tree, by_pairs = tally_of(is_all), tally_of(is_all)
    scratch = make_scratch(tree.tree.levels.size - 1)
    count_within(tree.tree, table, made, within, postings, by_tree, scratch, stats)
    indptr = np.arange(len(queries) + 1) * len(rows)
    places = np.tile(np.arange(len(rows)), len(queries))
    count_pairs(*sealed(indptr, places), table, made, postings, by_pairs, scratch, np.zeros(4, np.int64))
    return by_tree, by_pairs, naive(rows, queries, lists, group, near, own, radius, is_all), stats


@given(st.integers(0, 1000), st.sampled_from([0.0, 0.02, 0.3, 1.0, 2.5, 9.0]), st.booleans())
@settings(max_examples=12, deadline=None)
def test_counts_are_those_of_all_pairs(seed, radius, is_all):
    by_tree, by_pairs, (hits, scores), _ = run(seed, radius, is_all)
    for tally in (by_tree, by_pairs):
        np.testing.assert_array_equal(tally.hits, hits)
        np.testing.assert_array_equal(tally.scores, scores)


def test_a_small_radius_reads_few_distances():
    *_, stats = run(1, 0.05, False)
    assert stats[3] <= stats[2] < 100


def test_values_without_a_vector_match_equal_values_in_any_column():
    _, _, lists, group, near, _ = case(2)
    tally = tally_of(False)
    tokens, numbers = np.array([3, -1, 5]), np.arange(3)
    count_equal(tokens, numbers, np.ones(3, np.int64), postings_of(lists, group, near), tally)
    expected = np.zeros(N_COLUMNS, np.int64)
    for token in (3, 5):
        expected[columns_of(token, lists, group)] += 1
    np.testing.assert_array_equal(tally.hits, expected)


@pytest.mark.parametrize("damage", ["token", "group", "column", "indptr"])
def test_arrays_that_contradict_each_other_are_damage(damage):
    group, indptr, columns = np.array([N_COLUMNS], np.uint32), np.array([0, 1]), np.array([0], np.int32)
    token = 0
    if damage == "token":
        token = 5
    elif damage == "group":
        group[0] = N_COLUMNS + 60
    elif damage == "column":
        columns[0] = 99
    else:
        indptr[1] = 9
    near = np.ones(N_COLUMNS, np.uint8)
    postings = TokenColumns(*map(as_read_only, (group, indptr.astype(np.int64), columns, near)))
    with pytest.raises(DamagedArraysError):
        count_equal(np.array([token]), np.zeros(1, np.int64), np.ones(1, np.int64), postings, tally_of(False))


@pytest.mark.parametrize("d", [1, 31, 32, 33, 100])
def test_distances_are_summed_in_float64(d):
    a, b = np.random.default_rng(d).normal(size=(2, 4, d)).astype(np.float32)
    i, j = np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)
    out = np.empty(16)
    distances_of_pairs(*sealed(a, i, b, j), np.empty(32), out)
    expected = [math.dist(a[p].astype(float), b[q].astype(float)) for p, q in zip(i, j, strict=True)]
    np.testing.assert_allclose(out, expected, rtol=1e-14)
