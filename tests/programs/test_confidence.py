"""The confidence of results: weights that add up, a level, and stored forms that are checked."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError
from dfjoin.programs.conditions import Condition
from dfjoin.programs.confidence import Alternative, Confidence
from dfjoin.programs.part_operators import Split
from dfjoin.programs.program import _FEW_ROWS, Program
from dfjoin.programs.program_pieces import Extract

OTHERS = (Alternative((Extract(0, (Split(" ", -1),)),), -2.0), Alternative((Extract(0, (Split("n", 2),)),), -0.5))
LAST = Confidence(1.0, OTHERS, ((Condition(0, "shape", "A A"),),), 0.5, 0.7, (("Bo M. Li",), ("é'\\ \n",)))
SECOND = Program(("name",), (Extract(0, (Split(" ", 1),)),), confidence=LAST)


@pytest.mark.parametrize("n", [1, _FEW_ROWS])
def test_the_first_way_to_another_result_takes_from_the_confidence(n):
    found = SECOND.predict(["Ann Lee", "Ann K Lee", "Ann Lann", "Ann", None, "Bo M. Li"] * n, level=0.0)
    expected = [1 / (1 + math.exp(-odds)) for odds in (1.0, -1.0, 1.0)]
    assert found["value"].tolist() == ["Lee", "K", "Lann", None, None, "M."] * n
    np.testing.assert_allclose(found["confidence"], [*expected, 0.0, 0.0, 1.0] * n)


def test_results_below_the_level_are_null_in_a_call_and_in_code():
    space = {}
    least = replace(SECOND, confidence=replace(LAST, alternatives=OTHERS[:1]))
    exec(least.to_python("second"), space)
    for one in (least, space["second"]):
        assert (one("Ann Lee"), one("Ann K Lee"), one("Ann")) == ("Lee", None, None)
        assert one("Bo M. Li") == "M."  # taught
    assert least.certain("Ann K Lee") == "K"
    assert least.predict(["Ann Lee"], level=0.9)["value"].tolist() == [None]


def test_a_program_of_tables_does_not_know_its_confidence():
    texts = pd.Series(["Ann", None, ""], index=[7, 8, 9])
    found = Program.identity("name").predict(texts)
    assert found.index.tolist() == [7, 8, 9] and found["value"].tolist() == ["Ann", None, None]
    assert np.isnan(found["confidence"][7]) and found["confidence"][8] == found["confidence"][9] == 0.0


def test_rows_of_several_columns_are_tuples_or_a_frame():
    both = Program(("a", "b"), (Extract(0), Extract(1)))
    frame = pd.DataFrame({"b": ["2", "4"], "a": ["1", None]})
    assert both.predict(frame)["value"].tolist() == ["12", None]
    assert both.predict([("1", "2"), ("3", None)])["value"].tolist() == ["12", None]
    with pytest.raises(ColumnNotFoundError, match="`texts` must have the columns 'a', 'b' of the program; it has 'a'"):
        both.predict(frame[["a"]])
    with pytest.raises(InvalidTypeError, match=r"`texts` must be a DataFrame, or a tuple of 2 texts for each row"):
        both.predict(["1"])


def test_other_inputs_and_levels_are_refused():
    with pytest.raises(InvalidTypeError, match=r"`texts` must be texts or nulls for 'name', got \[1\]"):
        SECOND.predict([1])
    with pytest.raises(InvalidParameterError, match=r"`level` must be a number from 0 to 1, got 1\.5"):
        SECOND.predict(["Ann"], level=1.5)


def test_older_readers_refuse_a_confidence():
    assert SECOND.to_dict()["version"] == 3
    assert Program.from_dict(SECOND.to_dict()) == SECOND
    assert "confidence" not in SECOND.certain.to_dict()


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"level": 2}, InvalidParameterError, r"`level` of a program must be a number from 0 to 1, got 2\.0"),
        ({"base": math.inf}, InvalidTypeError, "`base` of a program must be a number up to 100, got inf"),
        ({"form_weight": True}, InvalidTypeError, "`form_weight` of a program must be a number up to 100, got True"),
        ({"forms": [[]]}, InvalidTypeError, "`forms` of a program must be at most 12 lists of 1 to 1 conditions"),
        (
            {"known": [["a", "b"]]},
            InvalidTypeError,
            r"`known` of a program must be lists of 1 texts, got \[\['a', 'b'\]\]",
        ),
        ({"known": [[None]]}, InvalidTypeError, "`known` of a program must be lists of 1 texts, got"),
        ({"alternatives": [{}] * 13}, InvalidTypeError, "`alternatives` of a program must be at most 12 objects"),
        ({"alternatives": [{}]}, InvalidTypeError, "an alternative of a program must be an object with pieces and w"),
        (
            {"alternatives": [{"weight": 1, "pieces": [{"constant": "x"}]}]},
            InvalidParameterError,
            "an alternative of a program must take something from a column, got constants only",
        ),
        ({"more": 1}, InvalidTypeError, "`confidence` of a program must be an object with alternatives, base, form_we"),
    ],
)
def test_hostile_confidences_are_refused(changes, error, text):
    stored = SECOND.to_dict()
    stored["confidence"] |= changes
    with pytest.raises(error, match=text):
        Program.from_dict(stored)


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame([["Ann Lee", "x"]], columns=["name", "name"])
    with pytest.raises(
        InvalidParameterError, match="`texts` must have each column of the program once, got 'name' twice"
    ):
        SECOND.predict(frame)
