import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy.pair_features import base_distance, measure
from dfjoin.fuzzy.texts import WORDS, fold_texts
from dfjoin.fuzzy.tokenized import find_candidates, prepare

COLUMNS = st.lists(st.text(alphabet="abc é日", min_size=1, max_size=9), min_size=1, max_size=5)


def make(reference, query):
    sides = fold_texts(pa.array(reference, pa.string())), fold_texts(pa.array(query, pa.string()))
    return prepare(*sides), *(side.values for side in sides)


@given(COLUMNS, COLUMNS)
def test_an_equal_text_is_a_candidate_and_the_nearest(reference, query):
    columns, reference, query = make([*reference, *query], query)
    pairs = find_candidates(columns, columns.query, np.arange(len(query)))
    distances = measure(columns, columns.query, pairs)
    order = np.lexsort((base_distance(distances), pairs.rows))
    chosen = order[np.unique(pairs.rows[order], return_index=True)[1]]
    assert [query[i] for i in pairs.rows[chosen]] == [reference[j] for j in pairs.others[chosen]] == query
    assert distances[chosen] == pytest.approx(0)


def test_a_reference_text_is_not_its_own_candidate():
    columns, *_ = make(["red fox", "red dog", "cat"], ["x"])
    pairs = find_candidates(columns, columns.reference, np.arange(3))
    assert np.array(pairs).T.tolist() == [[1, 2], [2, 1]]


def test_a_text_has_at_most_ten_candidates_by_words_and_by_grams():
    columns, *_ = make([f"common {i:03d}" for i in range(50)], ["common"])
    pairs = find_candidates(columns, columns.query, np.arange(1))
    assert 10 <= pairs.rows.size <= 20
    assert np.unique(pairs.others).size == pairs.others.size


def test_words_are_spelled_and_numbers_are_of_one_kind():
    columns, reference, _ = make(["cup 2001", "cup 2002"], ["bowl 7"])
    letters, offsets = columns.words
    spelled = [letters[a:b].tolist() for a, b in zip(offsets, offsets[1:], strict=False)]
    alphabet = sorted(set("".join(["cup 2001", "cup 2002", "bowl 7"])))
    words = ["".join(alphabet[i] for i in word) for word in spelled]
    assert sorted(words) == ["2001", "2002", "7", "bowl", "cup"]
    assert [columns.word_kinds[words.index(w)] for w in ("2001", "2002", "7")] == [1, 1, 1]
    assert len({1, *columns.word_kinds[[words.index("bowl"), words.index("cup")]].tolist()}) == 3
    rows = columns.reference.rows[WORDS]
    assert {words[t] for t in rows.tokens[rows.indptr[0] : rows.indptr[1]]} == set(reference[0].split())


def test_texts_without_a_common_word_are_candidates_by_their_grams():
    columns, reference, _ = make(["redfoxes", "bluebird"], ["redfox"])
    pairs = find_candidates(columns, columns.query, np.arange(1))
    assert [reference[i] for i in pairs.others] == ["redfoxes"]
    columns, reference, _ = make(["ab x", "bluebird"], ["yz ab"])  # no 3-gram but a word
    assert [reference[i] for i in find_candidates(columns, columns.query, np.arange(1)).others] == ["ab x"]
