import pytest

from dfjoin.errors import DfjoinError
from dfjoin.programs.number_operators import Base
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.programs.text_operators import EachPart, Pad

EACH = {"step": "each_part", "separator": ".", "width": 0, "order": "kept", "joiner": "", "steps": []}
PAD = {"step": "pad", "width": 64, "fill": "0"}


def stored(*steps):
    return {"version": 1, "columns": ["a"], "pieces": [{"column": 0, "steps": list(steps)}]}


def test_steps_within_steps_are_stored():
    program = Program(("a",), (Extract(0, (EachPart("", 2, "kept", "-", (Base(16, 10), Pad(3))),)),))
    assert Program.from_dict(program.to_dict()) == program


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ({**EACH, "steps": [EACH]}, "`steps` of step 'each_part' must be at most 3 objects, none of them 'each_part'"),
        ({**EACH, "steps": "pad"}, "`steps` of step 'each_part' must be at most 3 objects"),
        ({**EACH, "steps": [PAD] * 4}, "`steps` of step 'each_part' must be at most 3 objects"),
        ({**EACH, "steps": [{"step": "lookup", "table": "month to number"}]}, "`steps` of step 'each_part' must be at"),
        ({**EACH, "width": 2}, "`separator` and `width` of step 'each_part': one must be empty or 0, got '.' and 2"),
        ({**EACH, "separator": ""}, "one must be empty or 0, got '' and 0"),
        ({**EACH, "width": 65}, "`width` of step 'each_part' must be an integer from 0 to 64"),
        ({**EACH, "order": "random"}, "`order` of step 'each_part' must be one of 'kept', 'reversed'"),
        ({**EACH, "joiner": "-" * 10}, "`joiner` of step 'each_part' must be a text of at most 9"),
        ({"step": "translate", "old": "aa", "new": ""}, "`old` of step 'translate' must be 1 to 64 different"),
        ({"step": "gaps", "mark": ""}, "`mark` of step 'gaps' must be a text of 1 to 9 characters"),
        ({"step": "count", "kind": "x"}, "`kind` of step 'count' must be one of"),
        ({"step": "coded", "code": "x"}, "`code` of step 'coded' must be one of 'ordinal'"),
        ({"step": "scientific", "digits": 10, "mark": "e0"}, "`digits` of step 'scientific' must be an integer from 0"),
        ({"step": "scientific", "digits": 1, "mark": "x"}, "`mark` of step 'scientific' must be one of 'e\\+00'"),
        ({"step": "weighted_sum", "weights": "12", "divisor": 1}, "`weights` of step 'weighted_sum' must be two to"),
        ({"step": "weighted_sum", "weights": "1 1", "divisor": 0}, "`divisor` of step 'weighted_sum' must be"),
        ({"step": "band", "bounds": "1", "names": "a"}, "`bounds` of step 'band' must be whole numbers of at most 9"),
        ({"step": "band", "bounds": "1 1", "names": "a"}, "`bounds` of step 'band' must rise, one more of them than"),
        ({"step": "band", "bounds": "1 2", "names": "a\x1fb"}, "must rise, one more of them than of `names`"),
        ({"step": "unit_part", "unit": 0, "modulus": 0}, "`unit` of step 'unit_part' must be an integer from 1"),
        ({"step": "move_date", "unit": "age", "months": 0, "days": 0}, "`unit` of step 'move_date' must be one of"),
        ({"step": "move_date", "unit": "day", "months": 1201, "days": 0}, "`months` of step 'move_date' must be"),
        ({"step": "move_date", "unit": "day", "months": 0, "days": 10**9}, "`days` of step 'move_date' must be"),
        ({"step": "read_serial", "origin": "x"}, "`origin` of step 'read_serial' must be one of 'excel days'"),
        ({"step": "write_serial", "origin": 1}, "`origin` of step 'write_serial' must be one of 'excel days'"),
    ],
)
def test_hostile_steps_are_refused(step, text):
    with pytest.raises(DfjoinError, match=text):
        Program.from_dict(stored(step))


def test_parts_that_would_grow_without_end_are_refused():
    each = {**EACH, "separator": "", "width": 1, "joiner": "-" * 9, "steps": [PAD]}
    assert Program.from_dict(stored(each))("ab") == "a".rjust(64, "0") + "-" * 9 + "b".rjust(64, "0")
    with pytest.raises(DfjoinError, match="make a text at most 100 times as long"):
        Program.from_dict(stored(each, each))
    gaps = {"step": "gaps", "mark": "aBaBaBaB"}
    with pytest.raises(DfjoinError, match="make a text at most 100 times as long"):
        Program.from_dict(stored(*[gaps] * 4))
