import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.fuzzy.distances import CONFIGURATIONS
from dfjoin.fuzzy.score_evidence import NAMES, gather, learn_rules, nearest_two, rule_evidence
from dfjoin.fuzzy.texts import fold_texts
from dfjoin.fuzzy.tokenized import find_candidates, prepare
from dfjoin.kernels.token_rows import TextPairs


def make(reference, query):
    sides = fold_texts(pa.array(reference, pa.string())), fold_texts(pa.array(query, pa.string()))
    return prepare(*sides), *(side.values for side in sides)


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
    rules = learn_rules(columns, TextPairs(*everything.T.copy()))
    side_texts = queries if side == "query" else texts
    rows = np.array([side_texts.index(a) for a, _ in pairs], np.int32)
    others = np.array([texts.index(b) for _, b in pairs], np.int32)
    return rule_evidence(columns, getattr(columns, side), rules, TextPairs(rows, others)).tolist()


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


REFERENCE = ["red fox", "red dog", "blue bird", "green frog"]


def gathered(query):
    columns, reference, queries = make(REFERENCE, query)
    rules = learn_rules(columns, find_candidates(columns, columns.reference, np.arange(len(reference))))
    return reference, queries, *gather(columns, columns.query, rules)


def test_the_runner_up_is_the_nearest_without_the_nearest():
    reference, _, nearest, runners_up = gathered(["red foxx"])
    assert reference[nearest.partners[0]] == "red fox"
    assert reference[runners_up.partners[0]] == "red dog"
    assert nearest.distances[0] < runners_up.distances[0]


def test_a_text_with_nothing_in_common_has_no_partner():
    _, queries, nearest, _ = gathered(["red foxx", "zzzz"])
    assert queries[1] == "zzzz"
    assert nearest.partners[1] == -1
    assert nearest.distances[1] == 1
    assert not nearest.is_admissible[1]
    assert nearest.values[1].tolist() == [0.0] * len(NAMES)


@pytest.mark.parametrize(
    ("query", "is_admissible"), [("red foxx", True), ("red", True), ("a red thing that flew by", False)]
)
def test_pairs_that_share_little_are_not_admissible(query, is_admissible):
    _, _, nearest, _ = gathered([query])
    assert nearest.partners[0] >= 0
    assert nearest.is_admissible.tolist() == [is_admissible]


def test_values_compare_the_nearest_with_its_rival():
    _, _, nearest, runners_up = gathered(["red fox"])
    distances = nearest.distances[0], runners_up.distances[0]
    assert distances[0] == pytest.approx(0)
    assert nearest.values[0, : len(CONFIGURATIONS)].max() < np.log((distances[0] + 0.02) / (0.25 + 0.02))
    assert nearest.values[0, len(CONFIGURATIONS) :].tolist() == [0, 0]
