"""A join by programs as JSON: there and back, and what is refused."""

import json

import pyarrow as pa
import pytest

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.programs.part_operators import Slice
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.transform.evidence.transform_join import RankedProgram, TransformJoin, join_rows
from dfjoin.transform.find_programs import find_programs

NAMES = ["Obama, Barack", "Bush, George", "Clinton, Bill", "Carter, Jimmy", "Ford, Gerald"]
PEOPLE = ["Gerald Ford", "Jimmy Carter", "Bill Clinton", "George Bush", "Barack Obama"]


@pytest.fixture(scope="module")
def found():
    return find_programs({"name": pa.array(NAMES)}, {"who": pa.array(PEOPLE)})


def test_there_and_back(found):
    assert found.found
    assert TransformJoin.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert TransformJoin.from_dict(TransformJoin().to_dict()) == TransformJoin()


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"programs": None}, InvalidTypeError, "must be a JSON object with programs"),
        ({"programs": [1]}, InvalidTypeError, "`programs` of a join must be JSON objects, got 1"),
        ({"programs": []}, InvalidParameterError, "`direction` .* empty without programs; got '(left|right)_to"),
        ({"direction": "up"}, InvalidParameterError, "`direction` .* must be left_to_right or right_to_left.*'up'"),
        ({"target": None}, InvalidParameterError, "`target` .* must be given with programs"),
        ({"target": {}}, InvalidParameterError, "a program must have version"),
        ({"source_columns": "name"}, InvalidTypeError, "`source_columns` .* list of texts, got 'name'"),
        ({"target_columns": [1]}, InvalidTypeError, "`target_columns` .* list of texts"),
        ({"tried": 3}, InvalidTypeError, "`tried` .* list of texts, got 3"),
        ({"source_coverage": True}, InvalidTypeError, "`source_coverage` .* must be a number below 2.63, got True"),
    ],
)
def test_what_is_refused(found, change, error, text):
    with pytest.raises(error, match=text):
        TransformJoin.from_dict({**found.to_dict(), **change})


@pytest.mark.parametrize("key", ["support", "coverage", "precision", "evidence"])
def test_numbers_of_a_program_that_are_none(found, key):
    values = found.to_dict()
    values["programs"][0][key] = "many"
    with pytest.raises(
        InvalidTypeError, match=f"`{key}` of a join by programs must be a number below 2.63, got 'many'"
    ):
        TransformJoin.from_dict(values)


def test_no_object():
    with pytest.raises(InvalidTypeError, match="must be a JSON object with programs, got 'x'"):
        TransformJoin.from_dict("x")


def test_a_row_joins_by_the_first_program_whose_result_is_a_target_value():
    copy, first = (RankedProgram(Program(("a",), (Extract(0, s),)), 1, 1.0, 1.0, 9.0) for s in ((), (Slice(0, 1),)))
    left, right = {"a": pa.array(["ab", "cd", None, "ef"])}, {"b": pa.array(["a", "ab", "c", "c"])}
    for direction in ("left_to_right", "right_to_left"):
        found = TransformJoin(direction, ("a",), ("b",), Program.identity("b"), (copy, first))
        is_forward = direction == "left_to_right"
        joined = join_rows(found, left, right) if is_forward else join_rows(found, right, left)
        sides = (joined.left_rows, joined.right_rows)[:: 1 if is_forward else -1]
        rows = list(zip(*(side.tolist() for side in sides), joined.programs.tolist(), strict=True))
        assert sorted(rows) == [(0, 1, 0), (1, 2, 1), (1, 3, 1)]
