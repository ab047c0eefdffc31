import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.texts.token_rows import (
    Rules,
    TextPairs,
    TokenIndex,
    WantedRows,
    most_similar,
    pair_differences,
    pair_overlaps,
    row_weights,
    rule_hits,
)
from dfjoin.kernels.texts.tokenising import SparseRows, transpose_rows
from tests.kernels.packing import csr
from tests.oracles import fuzzy as oracles

N_TOKENS = 8
WEIGHTS = np.array([5.0, 4.0, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5])
ROWS = st.lists(st.sets(st.integers(0, N_TOKENS - 1), max_size=5).map(sorted), min_size=1, max_size=7)


def sparse(rows):
    return SparseRows(*csr(rows))


def all_pairs(a, b):
    return TextPairs(*np.array([(i, j) for i in range(len(a)) for j in range(len(b))], np.int32).T.copy())


@given(ROWS)
def test_rows_weigh_what_their_tokens_weigh(rows):
    assert row_weights(sparse(rows), WEIGHTS) == pytest.approx([sum(WEIGHTS[t] for t in row) for row in rows])


@given(ROWS, ROWS)
def test_overlap_is_the_weight_of_the_intersection(a, b):
    expected = [sum(WEIGHTS[t] for t in set(one) & set(other)) for one in a for other in b]
    assert pair_overlaps(sparse(a), sparse(b), WEIGHTS, all_pairs(a, b)) == pytest.approx(expected)


def search(queries, indexed, k, budget=1000, is_self=False, wanted=None):
    def norms(rows):
        return np.array([math.sqrt(sum(WEIGHTS[t] for t in row)) for row in rows])

    wanted = np.arange(len(queries)) if wanted is None else np.array(wanted)
    index = TokenIndex(*transpose_rows(sparse(indexed), N_TOKENS), WEIGHTS, norms(indexed), sparse(indexed))
    return most_similar(WantedRows(sparse(queries), norms(queries), wanted.astype(np.int64)), index, k, budget, is_self)


@given(ROWS, ROWS, st.integers(1, 4))
def test_the_most_similar_rows_are_those_of_brute_force(queries, indexed, k):
    rows, scores = search(queries, indexed, k)
    expected = oracles.most_similar(queries, indexed, WEIGHTS, k)
    assert [[j for j in row if j >= 0] for row in rows.tolist()] == expected
    assert (np.diff(scores, axis=1) <= 0).all()


@given(ROWS, st.integers(1, 4))
def test_a_row_is_not_its_own_neighbour(rows, k):
    found, _ = search(rows, rows, k, is_self=True)
    assert [[j for j in row if j >= 0] for row in found.tolist()] == oracles.most_similar(
        rows, rows, WEIGHTS, k, is_self=True
    )


def test_only_wanted_rows_are_done():
    rows, _ = search([[0], [1], [2]], [[0], [1], [2]], 1, wanted=[2, 0])
    assert rows.tolist() == [[2], [0]]


def test_a_budget_leaves_out_frequent_tokens_once_enough_rows_share_a_rare_one():
    n_enough = 4 * 1 + 24
    indexed = [*([0] for _ in range(n_enough - 1)), *([7] for _ in range(50)), [0, 7]]
    for query in ([0, 7], [0]):
        found, scores = search([query], indexed, 1, budget=40)
        whole = search([query], indexed, 1, budget=1000)
        assert found.tolist() == whole[0].tolist() and scores == pytest.approx(whole[1])
        assert found.tolist() == [[len(indexed) - 1 if query == [0, 7] else 0]]
    frequent = [[7] for _ in range(50)]
    alone = search([[0, 7]], [[0], *frequent], 1, budget=1)[0]
    assert alone.tolist() == [[0]] == search([[0, 7]], [[0], *frequent], 1)[0].tolist()


@given(ROWS, ROWS, st.integers(1, 2), st.integers(0, 30))
def test_what_a_budget_finds_has_its_whole_cosine(queries, indexed, k, budget):
    indexed = indexed * 8
    rows, scores = search(queries, indexed, k, budget=budget)
    norm = [math.sqrt(sum(WEIGHTS[t] for t in row)) for row in indexed]
    for query, found, cosines in zip(queries, rows.tolist(), scores.tolist(), strict=True):
        length = math.sqrt(sum(WEIGHTS[t] for t in query))
        for j, cosine in zip(found, cosines, strict=True):
            whole = sum(WEIGHTS[t] for t in set(query) & set(indexed[j])) / (length * norm[j]) if j >= 0 else 0.0
            assert cosine == pytest.approx(whole)


@given(ROWS, ROWS)
def test_differences_are_those_of_the_sets(a, b):
    pairs = all_pairs(a, b)
    counts, last = pair_differences(sparse(a), sparse(b), pairs)
    for pair, (i, j) in enumerate(zip(*pairs, strict=True)):
        only = set(a[i]) - set(b[j]), set(b[j]) - set(a[i])
        assert counts[pair].tolist() == [len(side) for side in only]
        assert last[pair].tolist() == [max(side, default=-1) for side in only]


@given(ROWS, ROWS, st.dictionaries(st.tuples(st.integers(1, 5), st.integers(0, 5)), st.integers(1, 9)))
def test_hits_are_the_highest_counts_over_all_pairs_of_words(a, b, counts):
    counts = {(max(pair), min(pair)): count for pair, count in counts.items()}
    ordered = sorted(counts)
    keys = np.array([(high << 31) + low for high, low in ordered], np.int64)
    kinds = np.array([1, 1, 2, 3, 4, 5, 2, 3], np.int64)
    pairs = all_pairs(a, b)
    rules = Rules(keys, np.array([counts[key] for key in ordered], np.int64))
    found = rule_hits(sparse(a), sparse(b), kinds, rules, pairs)
    for pair, (i, j) in enumerate(zip(*pairs, strict=True)):
        assert found[pair].tolist() == oracles.rule_counts(a[i], b[j], kinds, counts)


def test_of_equal_cosines_the_first_row_is_kept_whatever_token_found_it():
    weights = np.ones(N_TOKENS)
    queries, indexed = sparse([[0, 1]]), sparse([[1], [0]])  # token 0 finds row 1 before token 1 finds row 0
    norms = np.array([math.sqrt(2)]), np.ones(2)
    index = TokenIndex(*transpose_rows(indexed, N_TOKENS), weights, norms[1], indexed)
    for k, expected in ((1, [0]), (2, [0, 1])):
        rows, scores = most_similar(WantedRows(queries, norms[0], np.zeros(1, np.int64)), index, k, 1000, False)
        assert rows.tolist() == [expected]
        assert scores.tolist() == [[1 / math.sqrt(2)] * k]


def test_texts_of_thousands_of_words_are_compared_at_once():
    n = 20_000
    rows = SparseRows(np.array([0, n, 2 * n]), np.concatenate([np.arange(n), np.arange(n) + n]).astype(np.int32))
    kinds = np.arange(2 * n, dtype=np.int64) + 2
    rules = Rules((kinds[[n, n + 40]] << 31) + kinds[[0, 40]], np.array([7, 9]))
    pairs = TextPairs(np.zeros(200, np.int32), np.ones(200, np.int32))
    start = time.perf_counter()
    found = rule_hits(rows, rows, kinds, rules, pairs)
    assert time.perf_counter() - start < 10
    assert (found == [7, 0]).all(), "the first 32 words of a difference are looked up"
