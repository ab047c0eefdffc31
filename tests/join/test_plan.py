"""Plans as data."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.join.plan import HOWS, JoinPlan, JoinStep

LAND = ["peru", "chad", "mali"]
TEXT = st.text(max_size=5)
STEPS = st.builds(
    JoinStep,
    on=st.lists(TEXT, min_size=1, max_size=2),
    table=TEXT,
    right_on=st.lists(TEXT, min_size=1, max_size=2),
    columns=st.none() | st.lists(TEXT, max_size=2),
    names=st.dictionaries(TEXT, TEXT, max_size=2),
    aggregate=st.sampled_from(["auto", None, "mean"]) | st.dictionaries(TEXT, st.just("sum"), max_size=2),
    pad=st.none() | st.integers(1, 9),
    dayfirst=st.none() | st.booleans(),
)
PLANS = st.builds(
    JoinPlan,
    steps=st.lists(STEPS, max_size=3).map(tuple),
    how=st.sampled_from(HOWS),
    index=TEXT,
    max_expansion=st.floats(1, 1e6),
    indicator=st.booleans(),
)


@given(PLANS)
def test_round_trip_through_json_text(plan):
    assert JoinPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_dict_is_a_copy():
    step = JoinStep(["a"], "t", ["b"], None, {"x": "y"})
    values = JoinPlan((step,)).to_dict()
    values["steps"][0]["names"]["x"] = "z"
    values["steps"][0]["on"].append("more")
    assert step.names == {"x": "y"}
    assert step.on == ["a"]


def test_fields_of_a_later_version_are_passed_over():
    values = JoinPlan((JoinStep(["a"], "t", ["b"]),)).to_dict()
    values["steps"][0]["future"] = 1
    assert JoinPlan.from_dict(values).steps == (JoinStep(["a"], "t", ["b"]),)


@pytest.mark.parametrize("value", [None, 3, "plan", ["a"]])
def test_other_types_are_refused(value):
    with pytest.raises(InvalidTypeError, match="must be a JoinPlan or its dict, got"):
        JoinPlan.from_dict(value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"plan_version": 1},
        {"plan_version": 2, "steps": []},
        {"steps": []},
        {"plan_version": 1, "steps": "no"},
        {"rows_in": 3, "plan": {}},
    ],
)
def test_other_dicts_are_refused_and_the_text_says_where_plans_come_from(value):
    with pytest.raises(InvalidParameterError, match=r"attrs\['dfjoin'\]\['plan'\]"):
        JoinPlan.from_dict(value)


def test_a_plan_that_was_cut_for_size_is_refused():
    with pytest.raises(InvalidParameterError, match=r"`plan` was cut.*join again with the same arguments"):
        JoinPlan.from_dict(JoinPlan(()).to_dict() | {"is_cut": True})


@pytest.fixture
def lands(build):
    return build({"lands": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "area": [1.5, 2.5, 3.5]})})


@pytest.mark.parametrize("missing", ["how", "index", "max_expansion", "indicator"])
def test_a_plan_without_one_of_its_fields_is_refused(missing):
    values = JoinPlan(()).to_dict()
    del values[missing]
    with pytest.raises(InvalidParameterError):
        JoinPlan.from_dict(values)


def test_a_step_without_one_of_its_fields_is_refused():
    values = JoinPlan(()).to_dict() | {"steps": [{"on": ["a"]}]}
    with pytest.raises(InvalidParameterError):
        JoinPlan.from_dict(values)


def test_a_step_that_is_no_dict_is_refused():
    values = JoinPlan(()).to_dict() | {"steps": ["a"]}
    with pytest.raises(InvalidParameterError):
        JoinPlan.from_dict(values)


def test_a_plan_of_an_unknown_how_is_refused():
    with pytest.raises(InvalidParameterError):
        JoinPlan.from_dict(JoinPlan(()).to_dict() | {"how": "sideways"})


def test_a_numpy_integer_as_label_makes_a_report_of_plain_json(lands):
    df = pd.DataFrame([[land] for land in LAND], columns=[3])
    wide = dfjoin.auto_join(df, lands, on=np.int64(3))
    assert json.loads(json.dumps(wide.attrs["dfjoin"])) == wide.attrs["dfjoin"]


def test_a_date_as_label_makes_a_report_of_plain_json(lands):
    day = pd.Timestamp("2020-01-01")
    wide = dfjoin.auto_join(pd.DataFrame({day: LAND}), lands, on=day)
    assert wide["area"].tolist() == [1.5, 2.5, 3.5]
    json.dumps(wide.attrs["dfjoin"])


def test_a_plan_of_labels_of_several_levels_survives_json(lands):
    df = pd.DataFrame({("g", "c"): LAND, ("g", "n"): [1, 2, 3]})
    wide = dfjoin.auto_join(df, lands, on=("g", "c"))
    plan = json.loads(json.dumps(wide.attrs["dfjoin"]["plan"]))
    assert plan == wide.attrs["dfjoin"]["plan"], "the report is plain JSON"
    again = dfjoin.auto_join(df, plan)
    assert list(again) == list(wide)
