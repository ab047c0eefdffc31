import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy.differences import DIFFERENCE_NAMES, measure_habits, weigh_differences
from dfjoin.fuzzy.texts import fold_texts
from dfjoin.fuzzy.tokenized import prepare
from dfjoin.kernels.texts.token_rows import TextPairs
from tests.oracles.fuzzy import usual_differences

TEXTS = st.lists(
    st.lists(st.sampled_from(["red", "fox", "dog", "7"]), min_size=1, max_size=3).map(" ".join), min_size=1, max_size=4
)


def make(reference, query):
    sides = fold_texts(pa.array(reference, pa.string())), fold_texts(pa.array(query, pa.string()))
    return prepare(*sides), *(side.values for side in sides)


def all_pairs(columns):
    grid = np.indices((len(columns.query), len(columns.reference))).reshape(2, -1).astype(np.int32)
    return TextPairs(grid[0].copy(), grid[1].copy())


@given(TEXTS, TEXTS, st.randoms(use_true_random=False))
def test_differences_are_counted_by_the_chances_of_their_pairs(reference, query, random):
    columns, reference, query = make(reference, query)
    pairs = all_pairs(columns)
    likeness = np.array([random.uniform(-3, 3) for _ in pairs.rows])
    found = weigh_differences(columns, pairs, likeness)
    rows = [(i, query[i], reference[j]) for i, j in zip(pairs.rows.tolist(), pairs.others.tolist(), strict=True)]
    assert found == pytest.approx(np.array(usual_differences(rows, likeness.tolist())), abs=1e-9)


def test_no_pair_has_no_difference():
    columns, *_ = make(["a"], ["b"])
    nothing = np.empty(0, np.int32)
    found = weigh_differences(columns, TextPairs(nothing, nothing), np.empty(0))
    assert found.shape == (0, len(DIFFERENCE_NAMES))


def test_a_word_that_is_exchanged_throughout_is_usual():
    kinds = ["inca", "amabilis", "veraguensis", "diptycha", "cristinae"]
    columns, reference, query = make([*(f"chaunus {kind}" for kind in kinds), "bufo"], [f"rhinella {k}" for k in kinds])
    pairs = all_pairs(columns)
    shared = [len(set(query[i].split()) & set(reference[j].split())) for i, j in zip(*pairs, strict=True)]
    found = weigh_differences(columns, pairs, 4.0 * np.array(shared, float))
    is_right = np.array(shared) == 1
    assert found[is_right].min(axis=0) == pytest.approx(found[is_right].max(axis=0))
    assert found[is_right][0, 0] == pytest.approx(np.log(5), abs=0.1), "four other pairs differ alike"
    assert (found[is_right].sum(axis=1).min() > found[~is_right].sum(axis=1)).all()


def test_habits_are_counted_against_neighbours_of_the_reference():
    columns, *_ = make(["heron inn", "tern inn", "kite inn", "kite lodge"], ["heron", "kite", "tern"])
    best = TextPairs(np.array([0, 1, 2], np.int32), np.array([0, 1, 3], np.int32))
    decoys = TextPairs(np.array([1], np.int32), np.array([2], np.int32))
    least, mean, total, elsewhere = measure_habits(columns, decoys, best)
    assert least.tolist() == mean.tolist() == total.tolist(), "one word is left over of each"
    assert (total > 0).all() and elsewhere == pytest.approx(np.log([3, 3, 3]))
