import numpy as np
import pyarrow as pa
import pytest

from dfjoin.transform.prepared_columns import as_columns
from dfjoin.transform.sides import CONFIDENCE, MIN_PAIRS, sample_rows, sample_sides, sample_sizes


def test_the_guarantee_is_that_of_the_paper():
    assert CONFIDENCE > 0.998


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
    source_size, target_size = sample_sizes(n, n)
    joinable = rng.permutation(n)[: n // 10]  # a tenth takes part
    few = 0
    for _ in range(300):
        source, target = sample_rows(n, source_size, rng), sample_rows(n, target_size, rng)
        few += np.intersect1d(np.intersect1d(source, target), joinable).size <= MIN_PAIRS
    assert few <= 3


def test_rows_are_sorted_and_distinct():
    rows = sample_rows(100, 30, np.random.default_rng(0))
    assert rows.size == 30
    assert (np.diff(rows) > 0).all()
    assert sample_rows(5, 30, np.random.default_rng(0)).tolist() == [0, 1, 2, 3, 4]
    assert sample_sizes(0, 10) == (0, 10)


def columns(**values):
    return as_columns({name: pa.array(column, pa.string()) for name, column in values.items()})


def sides(left, right, on=(), right_on=()):
    return sample_sides((left, right), (on, right_on), np.random.default_rng(0))


TABLE = columns(id=["1", "2", "3", "4"], kind=["a", "a", "b", "b"], same=["x"] * 4)


def test_small_tables_are_taken_whole():
    left, right = sides(TABLE, TABLE)
    assert left.sample is left.columns
    assert right.rows.tolist() == [0, 1, 2, 3]


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
        (TABLE, ("kind", "id"), ["id + ' ' + kind"]),
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
