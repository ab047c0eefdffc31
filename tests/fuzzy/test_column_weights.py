import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy.column_weights import (
    MAX_WEIGHT,
    N_LEVELS,
    KeyParts,
    learn_weights,
    measure_levels,
    sum_weights,
)
from dfjoin.fuzzy.texts import fold_texts
from dfjoin.kernels.texts.token_rows import TextPairs


def levels_of(reference, query):
    """The level of each pair of the same row; columns are lists, rows have a number of their own."""
    n = len(reference)
    numbered = fold_texts(pa.array([f"row {i:04d}" for i in range(n)]))
    rows = np.arange(n, dtype=np.int32)
    parts = KeyParts([pa.array(reference, pa.string())], [pa.array(query, pa.string())])
    return measure_levels(parts, (numbered, numbered), TextPairs(rows, rows))[:, 0].tolist()


def test_equal_values_have_the_highest_level_and_values_without_a_common_piece_the_lowest():
    reference = ["Red Fox Inn", "blue bird", "green frog", None, "-", "old mill"]
    query = ["red fox, inn", "zzzz", "green frogs", "x", "y", ""]
    found = levels_of(reference, query)
    assert found[:2] == [N_LEVELS - 1, 0] and 0 < found[2] < N_LEVELS - 1
    assert found[3:] == [-1, -1, -1]


def test_numbers_are_compared_by_their_difference():
    reference = ["$1,000.00", "5.20 %", "100", "7", "0"]
    query = ["1000", "5.2", "90", "700", "0.0"]
    found = levels_of(reference, query)
    assert found[0] == found[1] == found[4] == N_LEVELS - 1
    assert 0 < found[2] < N_LEVELS - 1 and found[3] == 0
    assert levels_of(["12", "red", "blue"], ["13", "red", "blue"])[0] < N_LEVELS - 2, "one number is no column of them"


def test_the_first_row_of_a_text_stands_for_it():
    sides = fold_texts(pa.array(["a b", "a b", None])), fold_texts(pa.array(["a b"]))
    parts = KeyParts([pa.array(["a", "x", "y"])], [pa.array(["a"])])
    pairs = TextPairs(np.zeros(1, np.int32), np.zeros(1, np.int32))
    assert measure_levels(parts, sides, pairs).tolist() == [[N_LEVELS - 1]]
    late = KeyParts([pa.array(["x", "a"])], [pa.array(["a"])])
    assert measure_levels(late, (fold_texts(pa.array([None, "a b"])), sides[1]), pairs).tolist() == [[N_LEVELS - 1]]


def generated(rng, n=2000, share=0.3, noise=0.0):
    """Levels of three columns: one that tells matches apart, one that says nothing, one that is mostly missing."""
    is_match = rng.random(n) < share
    telling = np.where(is_match, rng.integers(5, N_LEVELS, n), rng.integers(0, 6, n))
    idle = rng.integers(0, N_LEVELS, n)
    rare = np.where(rng.random(n) < 0.8, -1, np.where(is_match, N_LEVELS - 1, 0))
    chances = np.clip(np.where(is_match, 0.7, 0.3) + noise * rng.normal(size=n), 0.01, 0.99)
    return is_match, np.column_stack([telling, idle, rare]).astype(np.int8), chances


def test_weights_tell_columns_that_matter_from_those_that_do_not(rng):
    is_match, levels, chances = generated(rng, noise=0.2)
    weights = np.array(learn_weights(levels, np.ones(is_match.size, bool), chances))
    assert (np.diff(weights, axis=1) >= 0).all() and np.abs(weights).max() <= MAX_WEIGHT
    assert weights[0, -1] > 1.5 and weights[0, 0] < -0.8
    assert np.abs(weights[1]).max() < 0.5
    assert weights[2, -1] > 1.5 and weights[2, 0] < -0.8
    total = sum_weights(levels, weights)
    assert np.mean((total > 0) == is_match) > 0.9
    assert np.mean((chances > 0.5) == is_match) < 0.9


def test_rivals_of_the_nearest_show_what_no_match_looks_like(rng):
    n = 400
    levels = np.array([[N_LEVELS - 1, 8]] * n + [[1, 8]] * n, np.int8)  # the second column is always equal
    weights = learn_weights(levels, np.arange(2 * n) < n, np.full(2 * n, 0.8))
    assert weights[0][-1] > 2 and weights[0][1] < -2 and abs(weights[1][-1]) < 0.1


def test_too_few_matches_teach_nothing(rng):
    _, levels, _ = generated(rng, 40)
    assert learn_weights(levels, np.ones(40, bool), np.full(40, 0.05)) is None
    assert learn_weights(levels[:0], np.ones(0, bool), np.empty(0)) is None


@given(
    st.lists(st.tuples(st.integers(-1, N_LEVELS - 1), st.integers(-1, N_LEVELS - 1)), min_size=6, max_size=30),
    st.randoms(use_true_random=False),
)
def test_weights_are_finite_ascending_and_do_not_depend_on_the_order_of_pairs(levels, random):
    array = np.array(levels, np.int8)
    chances = np.linspace(0.1, 0.99, len(levels))
    order = np.array(random.sample(range(len(levels)), len(levels)))
    nearest = np.ones(len(levels), bool)
    weights, again = (
        learn_weights(one, nearest, chance) for one, chance in ((array, chances), (array[order], chances[order]))
    )
    assert (weights is None) == (again is None)
    if weights is not None:
        assert np.asarray(weights) == pytest.approx(np.asarray(again), abs=1e-3)
        assert np.isfinite(weights).all() and (np.diff(weights, axis=1) >= 0).all()
        total = sum_weights(array, weights)
        assert np.abs(total).max() <= 6
        assert total.tolist() == pytest.approx(
            [np.clip(sum(w[i] for w, i in zip(weights, row, strict=True) if i >= 0), -6, 6) for row in levels]
        )
