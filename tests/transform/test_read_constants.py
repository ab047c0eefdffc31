"""Constants of programs that the source holds are read, where all rows that join have them at one place."""

import pyarrow as pa

from dfjoin.programs.part_operators import Split
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract
from dfjoin.transform.evidence.transform_join import RankedProgram, TransformJoin
from dfjoin.transform.pairs.read_constants import read_constants

DAY = Extract(0, (Split("-", 2),))


def read(pieces, left, right):
    program = Program(("a",), pieces)
    n = len(right)
    ranked = RankedProgram(program, n, n / len(left), 1.0, 50.0)
    found = TransformJoin("left_to_right", ("a",), ("b",), Program.identity("b"), (ranked,), 1.0, 1.0)
    sides = ({"a": pa.array(left)}, {"b": pa.array(right)})
    return read_constants(found, *sides).programs[0]


def test_a_year_that_all_rows_hold_is_read():
    ranked = read((DAY, Constant("/2023")), ["2023-01-05", "2023-02-07"], ["05/2023", "07/2023"])
    assert str(ranked.program) == "a.split('-')[2] + '/' + a.digits[0]"
    assert ranked.program("2024-03-09") == "09/2024" and ranked.support == 2


def test_what_rows_with_another_year_join_is_counted():
    left, right = ["2023-01-05", "2023-02-07", "2022-03-09", "2021-01-01"], ["05/2023", "07/2023", "09/2022"]
    program = Program(("a",), (DAY, Constant("/2023")))
    ranked = RankedProgram(program, 2, 0.5, 1.0, 50.0)
    found = TransformJoin("left_to_right", ("a",), ("b",), Program.identity("b"), (ranked,), 1.0, 1.0)
    ranked = read_constants(found, {"a": pa.array(left)}, {"b": pa.array(right)}).programs[0]
    assert (ranked.support, ranked.coverage) == (3, 0.75)


def test_prefixes_are_read_whatever_their_casing():
    ranked = read((Constant("inv/"), DAY), ["INV-23-1", "INV-23-2"], ["inv/1", "inv/2"])
    assert str(ranked.program) == "a.letters[0] + '/' + a.split('-')[2]"


def test_what_the_source_does_not_hold_stays_a_constant():
    for left in (["23-01-05", "23-02-07"], ["2023-01-05", "23-02-07"]):
        pieces = (DAY, Constant("/2023"))
        assert read(pieces, left, ["05/2023", "07/2023"]).program.pieces == pieces
    short = (Constant("5/"), DAY)
    assert read(short, ["5-1-2", "5-1-3"], ["5/2", "5/3"]).program.pieces == short


def test_programs_of_two_years_become_one():
    left = ["2023-01-05", "2023-02-07", "2024-03-09", "2024-01-01"]
    right = ["05/2023", "07/2023", "09/2024", "01/2024"]
    ranked = [RankedProgram(Program(("a",), (DAY, Constant(f"/{year}"))), 2, 0.5, 1.0, 50.0) for year in (2023, 2024)]
    found = TransformJoin("left_to_right", ("a",), ("b",), Program.identity("b"), tuple(ranked), 1.0, 1.0)
    (one,) = read_constants(found, {"a": pa.array(left)}, {"b": pa.array(right)}).programs
    assert one.support == 4 and one.program("2025-01-02") == "02/2025"
