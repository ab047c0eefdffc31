import numpy as np
import pyarrow as pa

from dfjoin.fuzzy.pair_features import LIKENESS_NAMES, learn_rules, measure_pairs
from dfjoin.fuzzy.texts import fold_texts
from dfjoin.fuzzy.tokenized import prepare
from dfjoin.kernels.token_rows import TextPairs


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
