import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy.match_evidence import gather
from dfjoin.fuzzy.match_model import published_model
from dfjoin.fuzzy.pair_features import (
    CONFIGURATIONS,
    LIKENESS_NAMES,
    base_distance,
    differ_in_numbers,
    learn_rules,
    measure,
    measure_pairs,
)
from dfjoin.fuzzy.texts import fold_texts
from dfjoin.fuzzy.tokenized import prepare
from dfjoin.kernels.texts.token_rows import TextPairs
from tests.oracles.fuzzy import distance


def rules_of(reference, query, pairs, side="query"):
    sides = fold_texts(pa.array(reference, pa.string())), fold_texts(pa.array(query, pa.string()))
    columns, texts, queries = prepare(*sides), sides[0].values, sides[1].values
    n = len(texts)
    everything = np.array([(i, j) for i in range(n) for j in range(n) if i != j], np.int32)
    rules = learn_rules(columns, TextPairs(*everything.T.copy()))
    side_texts = queries if side == "query" else texts
    rows = np.array([side_texts.index(a) for a, _ in pairs], np.int32)
    others = np.array([texts.index(b) for _, b in pairs], np.int32)
    found = measure_pairs(columns, getattr(columns, side), rules, TextPairs(rows, others))
    assert found.shape == (len(pairs), len(LIKENESS_NAMES))
    return (found[:, -2:] > 0).astype(int).tolist()


def test_numbers_are_one_kind_of_word_and_other_words_are_not():
    reference = ["cup 2001", "cup 2002", "mens open", "womens open", "rome", "paris"]
    found = rules_of(
        reference,
        ["cup 1999", "bowl 2001", "mens open"],
        [("cup 1999", "cup 2001"), ("bowl 2001", "cup 2001"), ("mens open", "womens open")],
    )
    assert found == [[1, 0], [0, 0], [1, 0]]


def test_a_word_more_is_a_rule_where_reference_texts_differ_by_it():
    found = rules_of(
        ["open", "open women", "cup"], ["cup women", "cup men"], [("cup women", "cup"), ("cup men", "cup")]
    )
    assert found == [[0, 1], [0, 0]]


def test_a_pair_is_no_evidence_against_itself():
    once = rules_of(["open", "open women", "cup"], ["x"], [("open", "open women")], side="reference")
    twice = rules_of(["open", "open women", "cup", "cup women"], ["x"], [("open", "open women")], side="reference")
    assert (once, twice) == ([[0, 0]], [[0, 1]])


def _differ_in_numbers(a, b):
    """Compare word by word: what only one text has holds a digit, and both have such a word, of another number."""
    own, other = (set(text.split()) for text in (a, b))
    if any(any(c.isdigit() for c in word) for word in own & other) and any(word.isalpha() for word in own & other):
        return False  # each column has one text
    left = own - other, other - own
    if not all(left) or not all(any(c.isdigit() for c in word) for word in left[0] | left[1]):
        return False
    numbers = [{int(word) for word in side if word.isdigit()} for side in left]
    codes = [any(not word.isdigit() for word in side) for side in left]
    return (bool(numbers[0] - numbers[1]) and bool(numbers[1] - numbers[0])) or all(codes)


_WORD = st.sampled_from(["invoice", "main", "street", "7", "007", "8", "2022", "2023", "a4", "b4"])


@given(st.lists(_WORD, min_size=1, max_size=4, unique=True), st.lists(_WORD, min_size=1, max_size=4, unique=True))
def test_texts_that_differ_in_numbers_alone(own, other):
    texts = " ".join(own), " ".join(other)
    columns = prepare(fold_texts(pa.array([texts[1]])), fold_texts(pa.array([texts[0]])))
    evidence, _ = gather(columns, published_model())
    if evidence.partners[0] < 0:  # no token in common
        return
    pairs = TextPairs(np.zeros(1, np.int32), evidence.partners)
    assert differ_in_numbers(columns, pairs, evidence.values).tolist() == [_differ_in_numbers(*texts)]


def test_a_number_in_common_counts_where_the_other_words_are_of_one_text():
    reference = ["joseph yates 1823 1824", "john dix 1873 1874", "main 7 a4"]
    query = ["joseph yates 1823 1825", "john dix 1872 1875", "main 7 b4", "main 8 a4"]
    columns = prepare(*(fold_texts(pa.array(texts)) for texts in (reference, query)))
    evidence, _ = gather(columns, published_model())
    pairs = TextPairs(np.arange(4, dtype=np.int32), evidence.partners)
    told = dict(zip(sorted(query), differ_in_numbers(columns, pairs, evidence.values).tolist(), strict=True))
    assert told == {query[0]: False, query[1]: True, query[2]: True, query[3]: True}


_COLUMNS = st.lists(st.text(alphabet="abc é日", min_size=1, max_size=9), min_size=1, max_size=5)


def make(reference, query):
    sides = fold_texts(pa.array(reference, pa.string())), fold_texts(pa.array(query, pa.string()))
    return prepare(*sides), *(side.values for side in sides)


@given(_COLUMNS, _COLUMNS)
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
