import pyarrow as pa

from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.pairs.composite import composite_keys, split_column

PRESIDENTS = ["1. George Washington (1732-1799)", "2. John Adams (1735-1826)", "3. Thomas Jefferson (1743-1826)"]


def test_aligned_values_are_cut_at_the_separators_that_they_share():
    parts = {tuple(part.array.to_pylist()) for _, part in split_column(Column("p", pa.array(PRESIDENTS)))}
    assert ("George Washington", "John Adams", "Thomas Jefferson") in parts
    assert ("1732", "1735", "1743") in parts


def test_a_part_is_what_its_program_makes_of_the_column():
    column = Column("p", pa.array([*PRESIDENTS, None]))
    for program, part in split_column(column):
        assert part.name == str(program)
        assert part.array.to_pylist() == [program(text) for text in column.array.to_pylist()]


def test_parts_that_are_no_key_are_left_out():
    values = [f"name {i} - same" for i in range(10)]
    assert ["same"] * 10 not in [part.array.to_pylist() for _, part in split_column(Column("p", pa.array(values)))]


def test_values_without_structure_have_no_parts():
    assert split_column(Column("p", pa.array(["abc", "def", "ghi"]))) == []
    assert split_column(Column("p", pa.array([None, "a, b"]))) == []


def test_composite_keys_hold_no_smaller_key():
    values = {"a": "1122", "b": "1212", "c": "1222"}
    keys = composite_keys([Column(name, pa.array(list(column))) for name, column in values.items()])
    assert [program.columns for program, _ in keys] == [("a", "b")]
    assert keys[0][1].array.to_pylist() == ["1 1", "1 2", "2 1", "2 2"]


def test_three_columns_are_a_key_where_no_two_are():
    values = {"a": "11112222", "b": "11221122", "c": "12121212"}
    keys = composite_keys([Column(name, pa.array(list(column))) for name, column in values.items()])
    assert [program.columns for program, _ in keys] == [("a", "b", "c")]


def test_rows_with_a_null_do_not_count_against_a_key():
    columns = [Column("a", pa.array(["1", "1", None, None])), Column("b", pa.array(["1", "2", "1", "1"]))]
    assert [program.columns for program, _ in composite_keys(columns)] == [("a", "b")]
