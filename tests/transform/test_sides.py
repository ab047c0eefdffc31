import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.transform.evidence.prepared_columns import as_columns, order_rows
from dfjoin.transform.pairs.sides import DELTA, MIN_PAIRS, sample_sides, sample_sizes


def test_the_guarantee_is_that_of_the_paper():
    expected = MIN_PAIRS / (1 - DELTA)
    assert 1 - np.exp(-(DELTA**2) * expected / 2) > 0.998


@pytest.mark.parametrize("n_source", [1, 100, 5_000, 100_000, 3_000_000])
@pytest.mark.parametrize("n_target", [1, 100, 5_000, 100_000, 3_000_000])
def test_enough_joinable_pairs_are_expected_or_everything_is_taken(n_source, n_target):
    source, target = sample_sizes(n_source, n_target)
    assert 0 < source <= n_source
    assert 0 < target <= n_target
    expected = target * 0.1 * source / n_source
    assert expected >= 20 - 1e-6 or (source, target) == (n_source, n_target)


def test_no_smaller_samples_meet_the_constraint():
    n_source, n_target = 200_000, 50_000
    chosen = sum(sample_sizes(n_source, n_target))
    for target in range(100, n_target, 100):
        source = 20 * n_source / (0.1 * target)
        assert chosen <= source + target + 2 or source > n_source


def test_samples_hold_enough_pairs_as_often_as_promised():
    rng = np.random.default_rng(0)
    n = 20_000
    few = 0
    for trial in range(40):
        own = columns(id=[f"{trial} {i}" for i in range(n)])
        theirs = columns(key=[f"{trial} {i} {'' if i % 10 else '!'}" for i in rng.permutation(n).tolist()])
        left, right = sides(own, theirs)
        tenth = set(left.rows[left.rows % 10 == 0].tolist())  # a tenth takes part
        numbers = [int(text.split()[1]) for text in right.sample[0].array.to_pylist()]
        few += len(tenth & set(numbers)) <= MIN_PAIRS
    assert few <= 1


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("abAB"), st.sampled_from(["1", "2", None])), max_size=30), st.randoms())
def test_the_order_of_rows_does_not_matter(rows, random):
    for size in (len(rows), 3):
        found = []
        for _ in range(2):
            table = columns(a=[a for a, _ in rows], b=[b for _, b in rows])
            chosen = order_rows(table, size)
            taken = [column.take(chosen) for column in table]
            found.append([(c.array.to_pylist(), c.values.values(), c.values.codes.tolist()) for c in taken])
            assert [c.values.values()[k] if k >= 0 else None for c in taken for k in c.values.codes] == [
                None if v is None else v.lower() for c in taken for v in c.array.to_pylist()
            ]
            random.shuffle(rows)
        assert found[0] == found[1]
        assert len(set(chosen.tolist())) == min(size, len(rows))


def columns(**values):
    return as_columns({name: pa.array(column, pa.string()) for name, column in values.items()})


def sides(left, right, on=(), right_on=()):
    return sample_sides((left, right), (on, right_on))


TABLE = columns(id=["1", "2", "3", "4"], kind=["a", "a", "b", "b"], same=["x"] * 4)


def test_small_tables_are_taken_whole():
    left, right = sides(TABLE, TABLE)
    assert sorted(left.sample[0].array.to_pylist()) == ["1", "2", "3", "4"]
    assert sorted(right.rows.tolist()) == [0, 1, 2, 3]


def test_large_tables_are_sampled_for_both_directions():
    n = 30_000
    many = columns(id=[str(i) for i in range(n)])
    left, right = sides(many, TABLE)
    assert len(left.sample[0]) == len(left.rows) == max(sample_sizes(n, 4)[0], sample_sizes(4, n)[1])
    assert left.sample[0].array.to_pylist() == [str(i) for i in left.rows]
    assert len(left.full_column("id")) == n
    assert len(right.rows) == 4


def test_columns_of_one_value_take_no_part_unless_they_are_named():
    assert [column.name for column in sides(TABLE, TABLE)[0].candidates()] == ["id", "kind"]
    assert [column.name for column in sides(TABLE, TABLE, on=("same",))[0].candidates()] == ["same"]


@pytest.mark.parametrize(
    ("table", "given", "expected"),
    [
        (TABLE, (), ["id"]),
        (TABLE, ("kind",), ["kind"]),
        (TABLE, ("kind", "id"), ["kind + ' ' + id"]),
        (TABLE[1:2], (), ["kind"]),
        (columns(a=["1", "1", "2", "2"], b=["1", "2", "1", "2"]), (), ["a + ' ' + b"]),
        (columns(a=["1", "1", "2", "2"], b=["1", "1", "2", "2"]), (), []),
    ],
)
def test_keys_are_what_is_named_else_unique_columns_else_unique_together(table, given, expected):
    _, right = sides(TABLE, table, right_on=given)
    candidate_keys = right.keys()
    assert [str(program) for program, _ in candidate_keys] == expected
    assert right.is_key_fixed is (bool(given) or len(table) == 1)


def test_a_key_may_repeat_a_fifth_of_its_values():
    four_of_five, three_of_five = columns(a=list("abcdd"), b=list("xxxyy")), columns(a=list("abccc"), b=["x"] * 5)
    found = sides(TABLE, four_of_five)[1].keys()
    assert [column.name for _, column in found] == ["a"]
    assert sides(TABLE, three_of_five)[1].keys() == []


def test_columns_are_found_by_name_and_counted_from_the_left():
    left, _ = sides(TABLE, TABLE)
    assert left.position("kind") == 1
    assert left.full_column("kind") is TABLE[1]
    assert left.suffixes(TABLE[0]) is left.suffixes(TABLE[0])


def test_samples_are_large_enough_whichever_table_is_the_source():
    few, many = (columns(id=[str(i) for i in range(n)]) for n in (8_000, 30_000))
    left, right = sides(few, many)
    assert (len(left.rows), len(right.rows)) == sample_sizes(30_000, 8_000)[::-1]
    assert len(left.rows) > sample_sizes(8_000, 30_000)[0]
