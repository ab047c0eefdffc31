import ast
import inspect

import pytest

from dfjoin.programs.calendar_operators import MoveDate, ReadSerial
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.programs.step_table import FUNCTIONS


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_stands_by_itself(name):
    """`Program.to_python` pastes its source, and those of functions that it calls, behind ``import re`` alone."""
    source = inspect.getsource(FUNCTIONS[name])
    (function,) = ast.parse(source).body
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    own = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {argument.arg for node in ast.walk(function) if isinstance(node, ast.arguments) for argument in node.args}
    known = set(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)
    annotations = {"Callable", "Sequence"}
    assert read - own - known - annotations <= {"re", *FUNCTIONS}


def test_what_a_function_calls_is_pasted_with_it():
    program = Program(("a",), (Extract(0, (ReadSerial("excel days"), MoveDate("month", 1, -1))),))
    space = {}
    exec(program.to_python("pasted"), space)
    assert space["pasted"]("44556") == program("44556") == "2021-12-31T??:??:??"


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("split_part", ("a,b", ",", 2), None),
        ("text_before", ("a", ","), ""),
        ("nth_run", ("a1b22", "[0-9]", -1), "22"),
        ("slice_text", ("abc", -9, 2), "ab"),
        ("round_number", ("2.5", 0), "3"),
        ("round_number", ("-0.004", 2), "0.00"),
        ("group_digits", ("1234.5678", ","), "1,234.5678"),
        ("expand_year", ("5", 70), None),
        ("look_up", ("JAN", "jan,feb", "1,2", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "1"),
        ("change_base", ("ff", 16, 10), "255"),
        ("scale_number", ("-1", "2", "0.5", 1, "fixed"), "-1.5"),
    ],
)
def test_functions_on_one_string(name, arguments, expected):
    assert FUNCTIONS[name](*arguments) == expected
