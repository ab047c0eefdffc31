"""Plans as data."""

import copy
import json
import time

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
KEYS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=2)
STEPS = st.builds(
    lambda keys, **fields: JoinStep([own for own, _ in keys], right_on=[other for _, other in keys], **fields),
    KEYS,
    table=TEXT,
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
    with pytest.raises(InvalidTypeError, match="`plan` must be what the report of a join has as its plan, got"):
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
    with pytest.raises(InvalidParameterError, match="must be what the report of a join has as its plan"):
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


# Hostile plans ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def by_program(tmp_path_factory):
    """A frame, and the plan of its join with a table of a lake by a learned program."""
    first, last = ["ann", "bob", "cid", "dee"], ["smith", "jones", "brown", "white", "green", "black", "stone", "woods"]
    people = pd.DataFrame({"person": [f"{a} {b}" for a in first for b in last], "wage": range(32)})
    lake = dfjoin.build_lake(
        {"p": people},
        tmp_path_factory.mktemp("lake") / "i",
        engine="inline",
        progress=False,
        settings={"patterns": True},
    )
    df = pd.DataFrame({"who": [f"{b}, {a}" for a in first for b in last]})
    return df, df.auto_join(df.discover_joinable("who", lake, mode="transform", rank="matched")).attrs["dfjoin"]["plan"]


def relation(plan):
    return plan["steps"][0]["relation"]


def program(plan):
    return relation(plan)["programs"][0]["program"]


EXPLODE = [{"step": "replace", "old": "n", "new": "n" * 1000}] * 4
DATED = {"on": "who", "right_on": ["year", "month"], "rule": "latest"}


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda p: relation(p)["programs"][0].update(support=float("inf")), "`support` .* must be a number below 2"),
        (lambda p: relation(p)["programs"][0].update(precision=float("nan")), "`precision` .* must be a number below 2"),
        (lambda p: relation(p).update(source_coverage=10**400), "`source_coverage` .* must be a number below"),
        (lambda p: program(p).update(columns=["other"]), "`source_columns` .* must name the columns that the programs"),
        (lambda p: relation(p)["target"].update(columns=["other"]), "`target_columns` .* must name the columns that"),
        (lambda p: relation(p).update(direction="right_to_left"), "relates the columns that it names in `on`"),
        (lambda p: relation(p).update(source_columns=["x", "who"], target_columns=["person", "y"]), "relates the col"),
        (lambda p: program(p)["pieces"].insert(0, {"constant": "\ud800"}), "`constant` of a program must be a valid text"),
        (lambda p: program(p)["pieces"].insert(0, {"constant": "x" * 1001}), "`constant` .* of 1 to 1000 characters"),
        (lambda p: relation(p).update(programs=relation(p)["programs"] * 101), "at most 100 programs, got 101"),
        (lambda p: program(p)["pieces"][0].update(steps=EXPLODE), "at most 100 times as long, and these make it 1e"),
        (lambda p: p.update(max_expansion=float("nan")), "`max_expansion` is a number of at least 1"),
        (lambda p: p.update(max_expansion=10**400), "OverflowError"),
        (lambda p: p.update(indicator="x"), "`indicator` true or false"),
        (lambda p: p.update(how=["left"]), "must have a `how` of"),
        (lambda p: p.update(index="\ud800"), "and the path of an index, got"),
        (lambda p: p.update(steps=p["steps"] * 1001), "at most 1,000 steps, got 1,001"),
        (lambda p: p["steps"][0].update(on=[{"a": 1}]), "`on` of a step names columns by texts"),
        (lambda p: p["steps"][0].update(on=[[[[["a"]]]]]), "`on` of a step names columns by texts"),
        (lambda p: p["steps"][0].update(on=[], right_on=[], relation=None), "name equally many columns, at most 100"),
        (lambda p: p["steps"][0].update(on=["who"] * 2), "programs of a plan relate one column with one of a table"),
        (lambda p: p["steps"][0].update(right_on=[5]), "lists of columns `on` and `right_on`"),
        (lambda p: p["steps"][0].update(table=5), "a step has the name of a table"),
        (lambda p: p["steps"][0].update(columns="wage"), "`columns` of a step is a list of texts"),
        (lambda p: p["steps"][0].update(names={"wage": ["x"]}), "`names` of a step maps texts to texts"),
        (lambda p: p["steps"][0].update(aggregate=["x"]), "`aggregate` of a step is a rule"),
        (lambda p: p["steps"][0].update(pad=-5000), "`pad` of a step is a number of digits, 1 to"),
        (lambda p: p["steps"][0].update(dayfirst=[1]), "`dayfirst` of a step is true, false or null"),
        (lambda p: p["steps"][0].update(counted="x"), "`counted` and `is_unique` of a step are true, false or null"),
        (lambda p: p["steps"][0].update(is_unique=5), "`counted` and `is_unique` of a step are true, false or null"),
        (lambda p: p["steps"][0].update(measures="wage"), "`measures` of a step is a list of texts, or null"),
        (lambda p: p["steps"][0].update(table="", relation=None, dated=DATED), "names one column in `right_on`, and the"),
    ],
)  # fmt: skip
def test_a_hostile_plan_is_refused_at_once(by_program, spoil, text):
    df, plan = by_program
    assert df.auto_join(plan)["wage"].notna().all()
    spoiled = copy.deepcopy(plan)
    spoil(spoiled)
    begin = time.process_time()
    with pytest.raises(InvalidParameterError, match=text):
        df.auto_join(spoiled)
    assert time.process_time() - begin < 2
