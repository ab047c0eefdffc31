import pyarrow as pa
import pytest

from dfjoin.programs.part_operators import Split
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract
from dfjoin.programs.text_operators import Pad
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.pairs.casing import restore_casing, spell_as_targets

NUMBER = Program(("n",), (Constant("inv-"), Extract(0, (Pad(4),))))
NAME = Program(("n",), (Extract(0, (Split(", ", 1),)), Constant(" "), Extract(0, (Split(", ", 0),))))


@pytest.mark.parametrize(
    ("program", "rows", "targets", "row", "expected"),
    [
        (NUMBER, ["1", "22"], ["INV-0001", "INV-0022"], "7", "INV-0007"),
        (NAME, ["LEE, ANN", "RAY, BOB"], ["Ann Lee", "Bob Ray"], "FOX, DEE", "Dee Fox"),
        (NAME, ["Lee, Ann", "Ray, Bob"], ["ANN lee", "BOB ray"], "Fox, Dee", "DEE fox"),
        (NAME, ["Lee, Ann", "Ray, Bob"], ["Ann Lee", "Bob Ray"], "fox, dee", "dee fox"),
    ],
)
def test_casing_follows_the_targets(program, rows, targets, row, expected):
    assert restore_casing(program, [(text,) for text in rows], targets)(row) == expected


def test_a_program_stays_where_no_casing_fits():
    rows, targets = [("lee, ann",), ("ray, bob",), ("poe, cy",)], ["ANN lee", "bob RAY", "Cy poe"]
    assert restore_casing(NAME, rows, targets) == NAME
    assert restore_casing(NAME, [], []) == NAME


def test_exported_programs_match_by_plain_equality():
    codes = [f"INV-{i * i * 7919 % 10**6:06d}" for i in range(1, 40)]
    left = {"n": pa.array([str(int(code[4:])) for code in codes])}
    right = {"code": pa.array(codes)}
    found = spell_as_targets(find_programs(left, right, on="n", right_on="code"), left, right)
    assert found.found
    namespace = {}
    exec(found.programs[0].program.to_python("made"), namespace)
    sources, targets = (
        (left["n"], codes) if found.direction == "left_to_right" else (right["code"], left["n"].to_pylist())
    )
    assert [namespace["made"](text) for text in sources.to_pylist()] == targets
