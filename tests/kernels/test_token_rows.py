import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.token_rows import most_similar, pair_overlaps, row_weights
from dfjoin.kernels.tokenising import transpose_rows
from tests.kernels.packing import csr

N_TOKENS = 8
WEIGHTS = np.array([5.0, 4.0, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5])
ROWS = st.lists(st.sets(st.integers(0, N_TOKENS - 1), max_size=5).map(sorted), min_size=1, max_size=7)


@given(ROWS)
def test_rows_weigh_what_their_tokens_weigh(rows):
    assert row_weights(*csr(rows), WEIGHTS) == pytest.approx([sum(WEIGHTS[t] for t in row) for row in rows])


@given(ROWS, ROWS)
def test_overlap_is_the_weight_of_the_intersection(a, b):
    pairs = [(i, j) for i in range(len(a)) for j in range(len(b))]
    rows_a, rows_b = np.array(pairs, np.int32).T
    expected = [sum(WEIGHTS[t] for t in set(a[i]) & set(b[j])) for i, j in pairs]
    assert pair_overlaps(*csr(a), *csr(b), WEIGHTS, rows_a.copy(), rows_b.copy()) == pytest.approx(expected)


def norms(rows):
    return np.array([math.sqrt(sum(WEIGHTS[t] for t in row)) for row in rows])


def search(queries, indexed, k, budget=1000, is_self=False, wanted=None):
    wanted = np.arange(len(queries)) if wanted is None else np.array(wanted)
    lists = transpose_rows(*csr(indexed), N_TOKENS)
    return most_similar(
        *csr(queries), WEIGHTS, norms(queries), *lists, norms(indexed), k, budget, is_self, wanted.astype(np.int64)
    )


def brute_force(queries, indexed, k, is_self=False):
    found = []
    for i, query in enumerate(queries):
        scored = []
        for j, other in enumerate(indexed):
            shared = set(query) & set(other)
            if shared and not (is_self and i == j):
                # The same order of additions and divisions as in the kernel, so that ties are ties.
                total = 0.0
                for token in sorted(shared):
                    total += WEIGHTS[token]
                scored.append((-total / (norms([query])[0] * norms([other])[0]), j))
        found.append([j for _, j in sorted(scored)[:k]])
    return found


@given(ROWS, ROWS, st.integers(1, 4))
def test_the_most_similar_rows_are_those_of_brute_force(queries, indexed, k):
    rows, scores = search(queries, indexed, k)
    expected = brute_force(queries, indexed, k)
    assert [[j for j in row if j >= 0] for row in rows.tolist()] == expected
    assert (np.diff(scores, axis=1) <= 0).all()


@given(ROWS, st.integers(1, 4))
def test_a_row_is_not_its_own_neighbour(rows, k):
    found, _ = search(rows, rows, k, is_self=True)
    assert [[j for j in row if j >= 0] for row in found.tolist()] == brute_force(rows, rows, k, is_self=True)


def test_only_wanted_rows_are_done():
    rows, _ = search([[0], [1], [2]], [[0], [1], [2]], 1, wanted=[2, 0])
    assert rows.tolist() == [[2], [0]]


def test_a_budget_leaves_out_the_last_tokens():
    indexed = [[0, 7], [7], [7]]
    assert search([[0, 7]], indexed, 3)[0].tolist() == [[0, 1, 2]]
    assert search([[0, 7]], indexed, 3, budget=1)[0].tolist() == [[0, -1, -1]]
