import numpy as np
import pyarrow as pa
import pytest
from dfjoin.fuzzy.rules import learn_rules, rule_evidence
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy.distances import CONFIGURATIONS, base_distance, measure
from dfjoin.fuzzy.score_evidence import nearest_two
from dfjoin.fuzzy.texts import fold_texts
from dfjoin.fuzzy.tokenized import find_candidates, prepare
from tests.oracles.fuzzy import distance

COLUMNS = st.lists(st.text(alphabet="abc é日", min_size=1, max_size=9), min_size=1, max_size=5)


def make(reference, query):
    sides = fold_texts(pa.array(reference, pa.string())), fold_texts(pa.array(query, pa.string()))
    return prepare(*sides), *(side.values for side in sides)


@given(COLUMNS, COLUMNS)
def test_every_configuration_is_that_of_its_definition(reference, query):
    columns, reference, query = make(reference, query)
    pairs = [(i, j) for i in range(len(query)) for j in range(len(reference))]
    rows, others = (np.array([pair[side] for pair in pairs], np.int32) for side in (0, 1))
    found = measure(columns, columns.query, rows, others)
    for k, (tokens, name) in enumerate(CONFIGURATIONS):
        expected = [distance(query[i], reference[j], tokens, name, reference) for i, j in pairs]
        assert found[:, k] == pytest.approx(expected, abs=1e-9), (tokens, name)
    assert ((found >= 0) & (found <= 1)).all()


def test_reference_texts_are_measured_among_themselves():
    columns, *_ = make(["red fox", "red dog"], ["x"])
    found = measure(columns, columns.reference, np.array([0, 0], np.int32), np.array([0, 1], np.int32))
    assert found[0] == pytest.approx(0)
    assert (found[1] > 0.2).all()


@given(COLUMNS, COLUMNS)
def test_an_equal_text_is_a_candidate_and_the_nearest(reference, query):
    columns, reference, query = make([*reference, *query], query)
    rows, others = find_candidates(columns, columns.query, np.arange(len(query)))
    distances = measure(columns, columns.query, rows, others)
    chosen, nearest = nearest_two(rows, base_distance(distances), distances)
    assert [query[i] for i in rows[chosen]] == [reference[j] for j in others[chosen]] == query
    assert nearest[:, 0] == pytest.approx(0)


def test_a_reference_text_is_not_its_own_candidate():
    columns, *_ = make(["red fox", "red dog", "cat"], ["x"])
    rows, others = find_candidates(columns, columns.reference, np.arange(3))
    assert list(zip(rows.tolist(), others.tolist(), strict=True)) == [(1, 2), (2, 1)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=12))
def test_the_nearest_and_its_rivals_are_those_of_brute_force(pairs):
    pairs.sort(key=lambda pair: pair[0])
    rows = np.array([row for row, _, _ in pairs], np.int32)
    base = np.array([first for _, first, _ in pairs], float)
    distances = np.array([[first / 4, second / 4] for _, first, second in pairs]).reshape(-1, 2)
    chosen, nearest = nearest_two(rows, base, distances)
    for (pick, near), row in zip(zip(chosen, nearest, strict=True), sorted(set(rows.tolist())), strict=True):
        own = [i for i in range(len(pairs)) if rows[i] == row]
        assert pick == min(own, key=lambda i: base[i])
        assert near[0].tolist() == distances[pick].tolist()
        rivals = [distances[i] for i in own if i != pick] or [np.ones(2)]
        assert near[1].tolist() == np.min(rivals, axis=0).tolist()


def evidence(reference, query, pairs, side="query"):
    columns, texts, queries = make(reference, query)
    n = len(texts)
    everything = np.array([(i, j) for i in range(n) for j in range(n) if i != j], np.int32)
    rules = learn_rules(columns, everything[:, 0].copy(), everything[:, 1].copy())
    side_texts = queries if side == "query" else texts
    rows = np.array([side_texts.index(a) for a, _ in pairs], np.int32)
    others = np.array([texts.index(b) for _, b in pairs], np.int32)
    return rule_evidence(columns, getattr(columns, side), rules, rows, others).tolist()


def test_numbers_are_one_kind_of_word_and_other_words_are_not():
    reference = ["cup 2001", "cup 2002", "mens open", "womens open", "rome", "paris"]
    found = evidence(
        reference,
        ["cup 1999", "bowl 2001", "mens open"],
        [("cup 1999", "cup 2001"), ("bowl 2001", "cup 2001"), ("mens open", "womens open")],
    )
    assert found == [[1, 0], [0, 0], [1, 0]]


def test_a_word_more_is_a_rule_where_reference_texts_differ_by_it():
    found = evidence(
        ["open", "open women", "cup"], ["cup women", "cup men"], [("cup women", "cup"), ("cup men", "cup")]
    )
    assert found == [[0, 1], [0, 0]]


def test_a_pair_is_no_evidence_against_itself():
    once = evidence(["open", "open women", "cup"], ["x"], [("open", "open women")], side="reference")
    twice = evidence(["open", "open women", "cup", "cup women"], ["x"], [("open", "open women")], side="reference")
    assert (once, twice) == ([[0, 0]], [[0, 1]])
