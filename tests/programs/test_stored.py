"""Programs as JSON: what is refused, and that stored names stay."""

import pytest

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.programs.part_operators import Split
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract
from dfjoin.programs.step_table import OPERATORS
from dfjoin.programs.text_operators import Case

NAME = Program(("name",), (Extract(0, (Split(", ", 1), Case("upper"))), Constant(" "), Extract(0, (Split(", ", 0),))))


def changed(**changes):
    return {**NAME.to_dict(), **changes}


def piece(**step):
    return changed(pieces=[{"column": 0, "steps": [step]}])


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        ([], InvalidTypeError, "a program must be a JSON object, got list"),
        (changed(version=4), InvalidParameterError, "a program must have version 1, 2 with conditions, or 3 w"),
        (changed(version=True), InvalidParameterError, "a program must have version 1, 2 with cond.* got True"),
        (changed(columns=[]), InvalidTypeError, r"`columns` of a program must be 1 to 3 names, got \[\]"),
        (changed(columns=["a"] * 4), InvalidTypeError, "`columns` of a program must be 1 to 3 names"),
        (changed(columns=[1]), InvalidTypeError, "`columns` of a program must be 1 to 3 names"),
        (changed(pieces=[]), InvalidTypeError, "`pieces` of a program must be 1 to 33 objects"),
        (changed(pieces=[{"constant": "a"}] * 34), InvalidTypeError, "`pieces` of a program must be 1 to 33"),
        (changed(pieces=[{"constant": "a"}]), InvalidParameterError, "must take something from a column"),
        (changed(pieces=[{"constant": ""}]), InvalidTypeError, "`constant` of a program must be a valid text of 1 to"),
        (
            changed(pieces=[{"x": 1}]),
            InvalidParameterError,
            "must have constant, column and steps, or combined, first, second and steps; got 'x'",
        ),
        (changed(pieces=[{"column": 1, "steps": []}]), InvalidParameterError, "`column` of a piece must be 0 to 0"),
        (changed(pieces=[{"column": True, "steps": []}]), InvalidParameterError, "`column` of a piece must be 0"),
        (changed(pieces=[{"column": 0, "steps": {}}]), InvalidTypeError, "`steps` of a piece must be at most 8"),
        (changed(pieces=[{"column": 0, "steps": [{}] * 9}]), InvalidTypeError, "`steps` of a piece must be at most"),
        (piece(step="eval"), InvalidParameterError, "`step` must be one of 'after', .*got 'eval'"),
        (piece(step=[]), InvalidParameterError, "`step` must be one of"),
        (piece(step="split", separator="a"), InvalidParameterError, "must have the parameters 'index', 'separator'"),
        (piece(step="split", separator="", index=0), InvalidParameterError, "`separator` of step 'split' must be"),
        (piece(step="split", separator="\ud800", index=0), InvalidParameterError, "`separator` of step 'split'"),
        (piece(step="split", separator="a", index=2**70), InvalidParameterError, "`index` of step 'split' must be"),
        (piece(step="run", kind="x", index=0), InvalidParameterError, "`kind` of step 'run' must be one of 'digits'"),
        (piece(step="slice", start=0, stop="1"), InvalidParameterError, "`stop` of step 'slice' must be an integer"),
        (piece(step="pad", width=10**9, fill="0"), InvalidParameterError, "`width` of step 'pad' must be an integer"),
        (piece(step="pad", width=1, fill="é"), InvalidParameterError, "`fill` of step 'pad' must be one printable"),
        (piece(step="round", digits=7), InvalidParameterError, "`digits` of step 'round' must be an integer from 0"),
        (piece(step="case", style=["upper"]), InvalidParameterError, "`style` of step 'case' must be one of 'lower'"),
        (piece(step="lookup", table="x"), InvalidParameterError, "`table` of step 'lookup' must be one of"),
        (piece(step="year", pivot=-1), InvalidParameterError, "`pivot` of step 'year' must be an integer from 0"),
        (piece(step="group", separator=";"), InvalidParameterError, "`separator` of step 'group' must be one of"),
        (
            piece(step="read_time", orders="x", pivot=70),
            InvalidParameterError,
            "`orders` of step 'read_time' must be 1 to",
        ),
        (
            piece(step="read_time", orders="y " * 13, pivot=70),
            InvalidParameterError,
            "`orders` of step 'read_time' must",
        ),
        (
            piece(step="write_time", layout="%x"),
            InvalidParameterError,
            "`layout` of step 'write_time' must be a layout",
        ),
        (
            piece(step="nth_number", index=0, mark=";"),
            InvalidParameterError,
            "`mark` of step 'nth_number' must be one of",
        ),
        (
            piece(step="pairs", keys="a", values="b\x1fc"),
            InvalidParameterError,
            "`keys` and `values` of step 'pairs' must be",
        ),
        (
            piece(step="pairs", keys="a\x1fa", values="b\x1fc"),
            InvalidParameterError,
            "must be equally many, no key twice",
        ),
    ],
)
def test_hostile_programs_are_refused_by_name(values, error, text):
    with pytest.raises(error, match=text):
        Program.from_dict(values)


def test_stored_names_are_those_that_old_plans_hold():
    assert OPERATORS.keys() >= {
        *("after", "all_runs", "as_ratio", "base", "before", "case", "check_digit", "coded", "count"),
        *("each_part", "entity", "exponent", "from_run", "gaps", "group", "headline", "isbn", "keep", "linear"),
        *(
            "lookup",
            "mod_97",
            "move_date",
            "move_time",
            "normal_name",
            "nth_number",
            "pad",
            "pairs",
            "parts",
            "plain",
            "quantity",
        ),
        *("ratio", "read_duration", "read_serial", "read_time", "replace", "reverse", "round", "round_to", "run"),
        *("scientific", "slice", "split", "squeeze", "strip_zeros", "total", "translate", "unit_part", "upto_run"),
        *("weighted_sum", "write_duration", "write_number", "write_serial", "write_time", "year"),
    }


def test_an_old_plan_is_read():
    steps = [{"step": "run", "kind": "digits", "index": -1}, {"step": "group", "separator": ","}]
    stored = {"version": 1, "columns": ["a"], "pieces": [{"column": 0, "steps": steps}]}
    program = Program.from_dict(stored)
    assert program("no. 12 of 34567") == "34,567"
    assert program.to_dict() == stored


@pytest.mark.parametrize(
    ("step", "legal", "refused"),
    [
        ({"step": "pad", "fill": "0"}, {"width": 64}, {"width": 65}),
        ({"step": "pad", "fill": "0"}, {"width": 1}, {"width": 0}),
        ({"step": "round"}, {"digits": 6}, {"digits": 7}),
        ({"step": "round"}, {"digits": 0}, {"digits": -1}),
        ({"step": "year"}, {"pivot": 100}, {"pivot": 101}),
        ({"step": "run", "kind": "digits"}, {"index": 1_000_000}, {"index": 1_000_001}),
        ({"step": "run", "kind": "digits"}, {"index": -1_000_000}, {"index": -1_000_001}),
        ({"step": "after"}, {"separator": "x" * 1000}, {"separator": "x" * 1001}),
        ({"step": "replace", "old": "a"}, {"new": ""}, {"new": None}),
        ({"step": "slice", "start": 0}, {"stop": None}, {"stop": False}),
        ({"step": "move_time", "before": 0, "after": 0}, {"interval": 86_400}, {"interval": 0}),
        ({"step": "move_time", "interval": 1, "after": 0}, {"before": -8_640_000}, {"before": 8_640_001}),
        ({"step": "round_to", "before": "0", "mode": "up", "after": "0"}, {"interval": "0.05"}, {"interval": "0.0"}),
        (
            {"step": "round_to", "interval": "1", "mode": "up", "after": "0"},
            {"before": "-123456"},
            {"before": "1234567"},
        ),
        ({"step": "write_number", "most": None, "mark": ".", "group": ""}, {"least": 18}, {"least": 19}),
        ({"step": "write_number", "least": 0, "mark": ".", "group": ""}, {"most": None}, {"most": -1}),
        ({"step": "from_run", "kind": "digits"}, {"index": -100}, {"index": 101}),
        ({"step": "parts", "separator": "a", "first": 0}, {"last": -2}, {"last": 1_000_001}),
        ({"step": "mod_97"}, {"country": ""}, {"country": "D'"}),
        ({"step": "pairs", "values": "a"}, {"keys": "x" * 20_000}, {"keys": "x" * 20_001}),
        ({"step": "linear", "scale": "1", "offset": "0", "style": "plain"}, {"digits": 12}, {"digits": 13}),
        ({"step": "linear", "offset": "0", "digits": 1, "style": "plain"}, {"scale": "12345"}, {"scale": "123456"}),
    ],
)
def test_limits_of_parameters(step, legal, refused):
    assert Program.from_dict(piece(**step, **legal)).pieces[0].steps
    (name,) = refused
    with pytest.raises(InvalidParameterError, match=f"`{name}` of step '{step['step']}' must be"):
        Program.from_dict(piece(**step, **refused))
