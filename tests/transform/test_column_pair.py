import time

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.transform.evidence.prepared_columns import Column, as_columns
from dfjoin.transform.evidence.value_pairs import SuffixArray, ValuePairs, find_pairs
from dfjoin.transform.pairs import column_pair
from dfjoin.transform.pairs.column_pair import ColumnPair, distinct_pairs, example_sets, learn_pair

WORDS = ["".join(letters).capitalize() for letters in np.random.default_rng(2).choice(list("abcdefghiklmno"), (80, 7))]
FULL = [f"{first} {last}" for first, last in zip(WORDS[:40], WORDS[40:], strict=True)]


def pair(source, target, **others):
    """The pair of a source column and a target column, with the value pairs that q-grams give."""
    table = as_columns({"a": pa.array(source, pa.string())} | {k: pa.array(v, pa.string()) for k, v in others.items()})
    wanted = Column("b", pa.array(target, pa.string()))
    return ColumnPair(table, table[0], wanted, find_pairs(SuffixArray(table[0].values), SuffixArray(wanted.values)))


@given(st.integers(0, 60), st.integers(0, 99))
def test_example_sets_are_unique_subsets_that_begin_with_the_best_pairs(n_pairs, seed):
    sets = example_sets(n_pairs, np.random.default_rng(seed))
    assert len(set(sets)) == len(sets) <= 15
    assert all(len(set(one)) == len(one) in (2, 3) and max(one) < n_pairs for one in sets)
    assert all(list(one) == sorted(one) for one in sets)
    assert [len(one) for one in sets] == sorted((len(one) for one in sets), reverse=True)
    assert sets[:1] == ([(0, 1, 2)] if n_pairs >= 3 else [(0, 1)] if n_pairs == 2 else [])
    assert ((0, 1) in sets) is (n_pairs >= 2)


def test_programs_come_by_coverage():
    outcomes = learn_pair(
        pair([f"{name.split()[1]}, {name.split()[0]}" for name in FULL], FULL), np.random.default_rng(0)
    )
    assert outcomes[0].source_coverage == outcomes[0].target_coverage == 1.0
    assert [o.score for o in outcomes] == sorted((o.score for o in outcomes), reverse=True)


def test_other_columns_are_read_where_the_main_one_is_not_enough():
    last = [name.split()[1] for name in FULL]
    alone = learn_pair(pair(last, FULL), np.random.default_rng(0))
    assert not alone or max(alone[0].source_coverage, alone[0].target_coverage) < 0.5
    first = [name.split()[0] for name in FULL]
    outcomes = learn_pair(pair(last, FULL, first=first), np.random.default_rng(0))
    assert outcomes[0].source_coverage == 1.0
    assert set(outcomes[0].program.columns) == {"a", "first"}


def test_programs_are_learned_for_the_rows_that_are_not_covered():
    names = [f"{n.split()[1]}, {n.split()[0]}" if i % 2 else f"<{n}>" for i, n in enumerate(FULL)]
    covered = np.arange(40) % 2 == 1
    outcomes = learn_pair(pair(names, FULL), np.random.default_rng(0), covered=covered)
    assert (outcomes[0].row_targets[~covered] >= 0).all()


def test_one_pair_of_values_teaches_nothing():
    assert learn_pair(pair(["abc def", "xyz"], ["def"]), np.random.default_rng(0)) == []


def test_columns_that_share_whole_values_are_the_most_similar():
    assert pair(FULL, FULL).similarity > pair(FULL, [name[:4] + "-" for name in FULL]).similarity > 0
    assert pair(FULL, ["1"]).similarity == 0


def test_each_value_is_in_one_example():
    pairs = ValuePairs(np.array([0, 1, 0, 2, 3]), np.array([5, 5, 6, 7, 8]), np.ones(5), np.ones(5, np.int64))
    assert distinct_pairs(pairs, None) == [(0, 5), (2, 7), (3, 8)]
    assert distinct_pairs(pairs, np.array([False, True, True, False])) == [(1, 5), (2, 7)]


def test_pieces_are_exchanged_where_that_joins_more_rows():
    # The best 40 value pairs are of two words: there the second word is the last one, too.
    words = WORDS[:60]
    source = [f"{i:02d} {word}{word}" for i, word in enumerate(words)] + [
        f"{i} and {w[:5]}" for i, w in enumerate(WORDS[60:80])
    ]
    target = [word + word for word in words] + [w[:5] for w in WORDS[60:80]]
    outcomes = learn_pair(pair(source, target), np.random.default_rng(0))
    assert outcomes[0].source_coverage == outcomes[0].target_coverage == 1.0


def test_of_pieces_that_join_as_much_the_one_is_taken_whose_other_results_are_like_the_targets():
    # ``split('. ')[1]`` and ``after('. ')`` differ in the rows with an initial, which neither joins.
    source = [f"Gov. {name}" for name in FULL] + [
        f"Gov. {a} Q. {b}" for a, b in zip(FULL[:5], WORDS[50:55], strict=True)
    ]
    target = FULL + [f"{a} X. {b}!" for a, b in zip(FULL[:5], WORDS[50:55], strict=True)]
    best = learn_pair(pair(source, target), np.random.default_rng(0))[0]
    assert best.n_joined == 40
    assert best.program("Gov. Ann Q. Brook") == "Ann Q. Brook"


def test_texts_of_some_hundred_characters_without_a_program_are_given_up_soon():
    rng = np.random.default_rng(0)
    long = ["/".join("".join(rng.choice(list("abcdefg"), 6)) for _ in range(40)) for _ in range(60)]
    start = time.process_time()
    learn_pair(pair(long[:30], long[30:]), np.random.default_rng(0))
    assert time.process_time() - start < 8


def two_of_one_target():
    """Two pairs of one target, which is made of both source columns, as they are looked at one after the other."""
    last, first = ([name.split()[i] for name in FULL] for i in (1, 0))
    one = pair(last, FULL, first=first)
    other = ColumnPair(
        one.table,
        one.table[1],
        one.target,
        find_pairs(SuffixArray(one.table[1].values), SuffixArray(one.target.values)),
    )
    return one, other


def searches(monkeypatch):
    """Record which columns programs are looked for in."""
    seen, learn = [], column_pair._learn_with

    def record(pair, columns, *rest):
        seen.append([column.name for column in columns])
        return learn(pair, columns, *rest)

    monkeypatch.setattr(column_pair, "_learn_with", record)
    return seen


def test_columns_that_were_looked_at_together_are_not_again(monkeypatch):
    seen = searches(monkeypatch)
    alone = two_of_one_target()
    found = [learn_pair(one, np.random.default_rng(0))[0] for one in alone]
    assert seen == [["a"], ["a", "first"], ["first"], ["first", "a"]]
    assert [outcome.source_coverage for outcome in found] == [1.0, 1.0], "the second search finds the same once more"
    seen.clear()
    one, other = two_of_one_target()
    other.searched = one.searched
    for shared in (one, other):
        learn_pair(shared, np.random.default_rng(0))
    assert seen == [["a"], ["a", "first"], ["first"]]


def test_columns_that_were_looked_at_for_some_rows_are_looked_at_for_all(monkeypatch):
    seen = searches(monkeypatch)
    one, other = two_of_one_target()
    other.searched = one.searched
    learn_pair(one, np.random.default_rng(0), covered=np.arange(40) % 2 == 1)
    outcomes = learn_pair(other, np.random.default_rng(0))
    assert outcomes[0].source_coverage == 1.0 and set(outcomes[0].program.columns) == {"a", "first"}
    learn_pair(one, np.random.default_rng(0), covered=np.arange(40) % 2 == 1)
    assert seen == [["a"], ["a", "first"], ["first"], ["first", "a"], ["a"], ["a", "first"]], "other rows, other pairs"


def test_no_more_examples_are_tried_after_eight_sets_that_bring_nothing_better(monkeypatch):
    made = [", ".join(reversed(name.split())) if i < 20 else name[::-1] for i, name in enumerate(FULL)]
    tried, learn = [], column_pair.learn_programs

    def count(*examples, **options):
        tried.append(learn(*examples, **options))
        return tried[-1]

    monkeypatch.setattr(column_pair, "learn_programs", count)
    (best, *_) = learn_pair(pair(made, FULL), np.random.default_rng(0))
    assert best.n_joined == 20
    assert next(i for i, found in enumerate(tried) if found) + 9 == len(tried)
