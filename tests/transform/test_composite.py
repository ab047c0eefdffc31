import pyarrow as pa

from dfjoin.transform.composite import split_column
from dfjoin.transform.prepared_columns import Column

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
