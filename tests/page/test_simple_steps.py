"""Simple steps: what they do, that their line of pandas does the same, and what they refuse."""

import pandas as pd
import pytest

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError
from dfjoin.page.simple_steps import Drop, Filter, Group, Rename, Retype, Sort, typed_value
from dfjoin.page.state_files import as_stored
from dfjoin.page.steps import json_of_step, step_of

DF = as_stored(
    pd.DataFrame(
        {
            "text": ["b", "a", None, "b"],
            "n": pd.array([1, None, 3, 2], "Int64"),
            "f": [1.5, float("nan"), -2.0, 4.0],
            "day": pd.to_datetime(["2024-01-02", "2023-05-06", None, "2024-01-02"]),
            "digits": ["01", "2", "x", None],
            "written": ["2024-01-02", "x", None, "3 May 2023"],
            "is": [True, False, True, False],
        }
    )
)

STEPS = [
    Rename("text", "label"),
    Drop(["f", "day"]),
    *(Filter("n", operator, 2) for operator in ("=", "≠", "<", "≤", ">", "≥")),
    Filter("f", ">", 0.5),
    Filter("text", "=", "b"),
    Filter("text", "≠", "b"),
    Filter("text", "contains", "B"),
    Filter("text", "is missing"),
    Filter("text", "is there"),
    Filter("day", "≥", "2024-01-01", is_date=True),
    Filter("is", "=", True),
    Sort(["text", "n"]),
    Sort(["f"], descending=True),
    *(Retype("digits", kind) for kind in ("text", "number", "whole number")),
    Retype("written", "date"),
    Retype("day", "text"),
    Group(["text"], {"f": "mean", "n": "sum"}),
    Group(["text", "is"], {}),
]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.title())
def test_a_step_is_its_line_of_pandas(step):
    made = as_stored(step.run(DF, None))
    names = {"df": DF, "pd": pd}
    exec(step.code(), names)
    pd.testing.assert_frame_equal(as_stored(names["df"]), made)
    assert step_of(json_of_step(step)) == step
    assert step.title()


def test_filters_keep_the_rows_that_fulfil_them():
    def kept(*arguments, **options):
        return Filter(*arguments, **options).run(DF, None).index.tolist()

    assert kept("n", "=", 2) == [3] and kept("n", "≠", 2) == [0, 2] and kept("n", "<", 3) == [0, 3]
    assert kept("n", "≤", 1) == [0] and kept("f", ">", 0) == [0, 3] and kept("f", "≥", 4.0) == [3]
    assert kept("text", "≠", "b") == [1] and kept("text", "contains", "B") == [0, 3]
    assert kept("text", "is missing") == [2] and kept("text", "is there") == [0, 1, 3]
    assert kept("day", "<", "2024-01-01", is_date=True) == [1]


def test_groups_count_and_measure():
    made = Group(["text"], {"f": "max", "n": "nunique"}).run(DF, None)
    assert (
        made["rows"].tolist() == [1, 2, 1] and made["f_max"].iloc[1] == 4.0 and made["n_nunique"].tolist() == [0, 2, 1]
    )


def test_values_are_read_as_the_column_has_them():
    assert typed_value(DF["n"], "2") == (2, False) and typed_value(DF["f"], "2.5") == (2.5, False)
    assert typed_value(DF["day"], "2 Jan 2024") == ("2024-01-02T00:00:00", True)
    assert typed_value(DF["is"], "Yes") == (True, False) and typed_value(DF["text"], "2") == ("2", False)


@pytest.mark.parametrize(
    ("step", "error", "text"),
    [
        (Rename("text", "n"), InvalidParameterError, "the new name must be one that no column has, got 'n'"),
        (Rename("text", " "), InvalidParameterError, "the new name must be one that no column has, got ' '"),
        (Rename("txt", "n"), ColumnNotFoundError, "the step needs the column 'txt', and the table has"),
        (Drop([]), InvalidParameterError, "name at least one column to drop"),
        (Drop(list(DF.columns)), InvalidParameterError, "and leave one in the table"),
        (Filter("n", "like", 2), InvalidParameterError, "`operator` must be one of '=', '≠'"),
        (Filter("day", "<", 5), InvalidParameterError, "`value` must be of the type of the column 'day'"),
        (Retype("n", "float"), InvalidParameterError, "`type` must be one of 'text', 'number'"),
        (Group([], {}), InvalidParameterError, "a group must have a column, and measures of 'sum'"),
        (Group(["n"], {"f": "modus"}), InvalidParameterError, "got 'modus'; choose one"),
        (Group(["n"], {"text": "mean"}), InvalidParameterError, "a measure does not apply to the type of its column"),
    ],
)
def test_a_step_that_does_not_apply_says_why(step, error, text):
    with pytest.raises(error) as raised:
        step.run(DF, None)
    assert text in str(raised.value)


def test_what_is_no_value_of_the_column_is_refused():
    for column, text in (("n", "many"), ("day", "someday")):
        with pytest.raises(InvalidParameterError, match=f"`value` must be of the type of the column '{column}'"):
            typed_value(DF[column], text)


@pytest.mark.parametrize(
    "values", [{}, {"kind": "jump"}, {"kind": "rename"}, {"kind": "rename", "column": "a", "x": 1}]
)
def test_values_that_are_no_step_are_refused(values):
    with pytest.raises(InvalidParameterError, match="a step must be what the page wrote"):
        step_of(values)


def test_numbers_are_read_exactly_and_columns_have_any_name():
    assert typed_value(DF["n"], "9007199254740993") == (9007199254740993, False)
    for text in ("inf", "nan"):
        with pytest.raises(InvalidParameterError, match="`value` must be of the type of the column 'n'"):
            typed_value(DF["n"], text)
    frame = pd.DataFrame({"self": [1]})
    names = {"df": frame, "pd": pd}
    exec(Retype("self", "text").code(), names)
    assert Retype("self", "text").run(frame, None)["self"].tolist() == names["df"]["self"].tolist() == ["1"]
    assert "df['`a.b`']" in Filter("a.b", "is there").spark_code()


@pytest.mark.parametrize("kind", ["number", "whole number", "date"])
def test_a_type_that_no_value_has_is_refused(kind):
    text = f"no value of the column 'text' can be read as {kind}, such as 'b'; choose another"
    with pytest.raises(InvalidParameterError, match=text):
        Retype("text", kind).run(DF, None)
    with pytest.raises(InvalidParameterError, match="such as 'True'; choose another"):
        Retype("is", "date").run(DF, None)
    empty = Retype("text", kind).run(DF[DF["text"].isna()], None)
    assert empty["text"].isna().all()
