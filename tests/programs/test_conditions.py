import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.programs.conditions import CONDITIONS, Condition, check_condition, is_shape, shape_of, shape_pattern
from dfjoin.programs.part_operators import Split
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract

EXTENSION = Program(("phone",), (Extract(0, (Split(" ", -1),)),), (Condition(0, "contains", " x"),))
NONE = Program(("phone",), (Constant("none"),), (Condition(0, "contains", " x", is_negated=True),))


@pytest.mark.parametrize(
    ("condition", "yes", "no"),
    [
        (Condition(0, "contains", "x"), "axb", "ab"),
        (Condition(0, "starts", "a"), "ab", "ba"),
        (Condition(0, "ends", "a"), "ba", "ab"),
        (Condition(0, "has", "digits"), "a1", "a"),
        (Condition(0, "shape", "9-9 A9"), "596-501 x0339", "596-501"),
        (Condition(0, "shape", ""), None, "a"),
        (Condition(0, "longer", "2"), "abc", "ab"),
    ],
)
def test_conditions(condition, yes, no):
    opposite = Condition(0, condition.kind, condition.text, is_negated=True)
    assert [condition(yes), condition(no), opposite(yes), opposite(no)] == [True, False, False, True]
    assert condition("") == (condition.text == "") and not opposite(None)
    assert condition.mask(pa.array([yes, no], pa.string())).tolist() == [True, False]


@pytest.mark.parametrize("text", ["a.b", "[x]^", "\\d", "a&b 1", "é-2", "$"])
def test_a_text_has_its_shape(text):
    assert Condition(0, "shape", shape_of(text))(text)
    assert is_shape(shape_of(text)) and not is_shape(shape_of(text) + "AA") and not is_shape("-" * 41)
    assert shape_pattern(shape_of(text)) != text


def test_programs_with_conditions_share_the_rows():
    rows = ["596-501 x0339", "875-259", None]
    assert [EXTENSION(row) for row in rows] == ["x0339", None, None]
    assert [NONE(row) for row in rows] == [None, "none", None]
    assert NONE.apply([pa.array(rows * 50)]).to_pylist() == [None, "none", None] * 50
    assert str(NONE) == "'none' if not phone contains ' x'"
    assert str(EXTENSION) == "phone.split(' ')[-1] if phone contains ' x'"
    assert (EXTENSION.n_operators, Program.identity("a").is_identity) == (2, True)


def test_conditions_are_stored_and_older_readers_refuse_them():
    stored = NONE.to_dict()
    assert stored["version"] == 2
    assert Program.from_dict(stored) == NONE
    assert "conditions" not in Program.identity("a").to_dict()


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        (
            {"conditions": []},
            InvalidTypeError,
            r"`conditions` of a program of version 2 must be 1 to 4 objects, got \[\]",
        ),
        ({"conditions": [{}] * 5}, InvalidTypeError, "`conditions` of a program of version 2 must be 1 to 4 objects"),
        ({"version": 1, "conditions": 3}, InvalidTypeError, "`conditions` of a program of version 2 must be 1 to 4"),
        ({"conditions": [{"column": 0}]}, InvalidParameterError, "a condition of a program must have 'column', 'cond"),
    ],
)
def test_hostile_conditions_are_refused(changes, error, text):
    with pytest.raises(error, match=text):
        Program.from_dict({**NONE.to_dict(), **changes})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"column": 1}, "`column` of a condition must be 0 to 0, got 1"),
        ({"condition": "eval"}, "`condition` of a program must be one of 'contains', .*got 'eval'"),
        ({"text": ""}, "`text` of condition 'contains' must be a text of 1 to 1000 characters, got ''"),
        ({"condition": "longer", "text": "x"}, "`text` of condition 'longer' must be 1 to 4 digits, got 'x'"),
        ({"condition": "has", "text": "x"}, "`text` of condition 'has' must be one of 'digits', .*got 'x'"),
        ({"negated": 1}, "`negated` of condition 'contains' must be true or false, got 1"),
    ],
)
def test_hostile_parts_of_conditions_are_refused(changes, text):
    stored = NONE.to_dict()
    stored["conditions"][0].update(changes)
    with pytest.raises(InvalidParameterError, match=text):
        Program.from_dict(stored)


def test_kinds_are_those_that_old_plans_hold():
    assert CONDITIONS == ("contains", "starts", "ends", "has", "shape", "longer", "at least", "divisible")


@pytest.mark.parametrize(
    ("kind", "value", "text", "expected"),
    [
        ("at least", "18", "18", True),
        ("at least", "18", "17.999999", False),
        ("at least", "-1.5", "-1", True),
        ("at least", "-1.5", "-2", False),
        ("at least", "0", "x", False),
        ("at least", "0", "1,000", False),
        ("divisible", "4", "2008", True),
        ("divisible", "4", "2010", False),
        ("divisible", "4", "-4", False),
        ("divisible", "1", "1.0", False),
    ],
)
def test_numbers_are_compared_and_divided(kind, value, text, expected):
    for is_negated in (False, True):
        condition = Condition(0, kind, value, is_negated)
        assert condition(text) is (expected != is_negated)
        assert condition.mask(pa.array([text, None])).tolist() == [expected != is_negated, False]
        assert not condition(None)
    assert value in Condition(0, kind, value).describe("a")


@pytest.mark.parametrize(
    ("kind", "text", "legal"),
    [
        ("at least", "1e5", "a decimal of at most 12 and 6 digits"),
        ("divisible", "0", "a whole number of 1 to 6 digits above 0"),
        ("divisible", "1234567", "a whole number of 1 to 6 digits above 0"),
    ],
)
def test_numbers_of_stored_conditions_are_checked(kind, text, legal):
    with pytest.raises(InvalidParameterError, match=f"`text` of condition {kind!r} must be {legal}"):
        check_condition(kind, text, False)


_CELLS = st.none() | st.text("aA é0.-x1\n", max_size=6) | st.decimals(-(10**13), 10**13, places=3).map(str)
_OF_KIND = {
    "has": st.sampled_from(["digits", "letters", "words", "capitals", "decimals"]),
    "shape": st.text("aé0.- \n", max_size=6).map(shape_of).filter(is_shape),
    "longer": st.integers(0, 6).map(str),
    "at least": st.sampled_from(["0", "-1.5", "18"]),
    "divisible": st.integers(1, 12).map(str),
}
_TEXT = st.text("aA é0.-x1\n", min_size=1, max_size=2)


@given(st.lists(_CELLS), st.sampled_from(CONDITIONS), st.booleans(), st.data())
def test_columns_are_told_as_texts_are(cells, kind, is_negated, data):
    condition = Condition(0, kind, data.draw(_OF_KIND.get(kind, _TEXT)), is_negated)
    assert condition.mask(pa.array(cells, pa.string())).tolist() == [condition(cell) for cell in cells]
