import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy.pair_features import CONFIGURATIONS, base_distance, measure
from dfjoin.fuzzy.texts import fold_texts
from dfjoin.fuzzy.tokenized import prepare
from dfjoin.kernels.texts.token_rows import TextPairs
from tests.oracles.fuzzy import distance

COLUMNS = st.lists(st.text(alphabet="abc é日", min_size=1, max_size=9), min_size=1, max_size=5)


def make(reference, query):
    sides = fold_texts(pa.array(reference, pa.string())), fold_texts(pa.array(query, pa.string()))
    return prepare(*sides), *(side.values for side in sides)


@given(COLUMNS, COLUMNS)
def test_every_configuration_is_that_of_its_definition(reference, query):
    columns, reference, query = make(reference, query)
    pairs = [(i, j) for i in range(len(query)) for j in range(len(reference))]
    found = measure(columns, columns.query, TextPairs(*np.array(pairs, np.int32).reshape(-1, 2).T.copy()))
    for k, (tokens, name) in enumerate(CONFIGURATIONS):
        expected = [distance(query[i], reference[j], tokens, name, reference) for i, j in pairs]
        assert found[:, k] == pytest.approx(expected, abs=1e-9), (tokens, name)
    assert ((found >= 0) & (found <= 1)).all()


def test_reference_texts_are_measured_among_themselves():
    columns, *_ = make(["red fox", "red dog"], ["x"])
    found = measure(columns, columns.reference, TextPairs(np.array([0, 0], np.int32), np.array([0, 1], np.int32)))
    assert found[0] == pytest.approx(0)
    assert (found[1] > 0.2).all()


def test_the_base_distance_is_the_mean_of_a_gram_and_a_word_distance():
    distances = np.zeros((1, len(CONFIGURATIONS)))
    distances[0, CONFIGURATIONS.index(("3-grams", "cosine"))] = 0.2
    distances[0, CONFIGURATIONS.index(("similar words", "containment"))] = 0.6
    assert base_distance(distances).tolist() == [0.4]


def test_edit_distance_is_a_share_of_the_characters_that_are_compared():
    columns, *_ = make(["a" * 300], ["b" * 300, "b" * 100])
    pairs = TextPairs(np.array([0, 1], np.int32), np.array([0, 0], np.int32))
    assert measure(columns, columns.query, pairs)[:, CONFIGURATIONS.index(("characters", "edit"))].tolist() == [1, 1]
