"""Relations of two frames, saved in a plan and applied to other frames."""

import datetime
import decimal
import json

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ColumnNotFoundError, DfjoinWarning, InvalidParameterError, InvalidTypeError
from dfjoin.join.plan import SavedRelation

FIRST = ["ann", "bob", "cid", "dee", "eva", "fay", "gus", "hal", "ivy", "jon", "kim", "lee"]
LAST = ["smith", "jones", "brown", "white", "green", "black", "stone", "woods", "marsh", "field", "hill", "reed"]
KINDS = ["Industries Inc", "Consulting Ltd", "Partners GmbH", "Systems SA"]
FULL = [f"{a} {b}" for a in FIRST for b in LAST]
PEOPLE = pd.DataFrame({"person": FULL, "wage": range(len(FULL))})
SWAPPED = pd.DataFrame({"who": [f"{b}, {a}" for a in FIRST for b in LAST]})
FIRMS = pd.DataFrame({"firm": [f"{n.title()} {KINDS[i % 4]}" for i, n in enumerate(FULL)], "value": range(len(FULL))})


def misspelled(name, i):
    at = 1 + i % (len(name) - 2)
    return name[:at] + name[at + 1 :]


COMPANIES = pd.DataFrame({"company": [misspelled(name, i) for i, name in enumerate(FIRMS["firm"])]})


def plan_of(frame):
    """The plan of a join, through JSON text."""
    return json.loads(json.dumps(frame.attrs["dfjoin"]["plan"]))


def test_programs_join_rows_that_they_were_not_learned_from():
    plan = plan_of(SWAPPED[:100].auto_join(PEOPLE))
    test = pd.concat([SWAPPED[100:], pd.DataFrame({"who": ["nobody, x", None]})], ignore_index=True)
    found = test.auto_join(PEOPLE, plan=plan)
    assert (
        found["wage"].tolist()[:-2] == list(range(100, len(FULL))) and found["wage"].isna().tolist()[-2:] == [True] * 2
    )
    one = SWAPPED[143:].auto_join(PEOPLE, plan=dfjoin.JoinPlan.from_dict(plan))
    assert one["wage"].tolist() == [143] and plan_of(one) == plan
    assert one.dtypes.equals(found.dtypes)


def test_likeness_joins_rows_that_it_was_not_learned_from():
    train = COMPANIES[:100].auto_join(FIRMS, indicator=True)
    assert (train["_match"] == "fuzzy").all()
    plan = plan_of(train)
    again = COMPANIES[:100].auto_join(FIRMS, plan=plan)
    assert again["value"].equals(train["value"]), "the same rows join as they did"
    test = COMPANIES[100:].auto_join(FIRMS, plan=plan)
    assert (test["value"].to_numpy() == range(100, len(FULL))).mean() > 0.9 and list(test) == list(train)
    one = COMPANIES[143:].auto_join(FIRMS, plan=plan)
    assert one["value"].tolist() == [143] and one["_match"].tolist() == ["fuzzy"]
    with pytest.warns(DfjoinWarning, match="no row found a partner on company = firm, .* no text is as near to one of"):
        none = pd.DataFrame({"company": ["zzzz qqqq"]}).auto_join(FIRMS, plan=plan)
    assert none.dtypes.equals(one.dtypes) and none["value"].isna().all() and plan_of(none) == plan


def test_equal_keys_and_the_way_to_read_them_are_kept():
    lands = pd.DataFrame({"code": ["007", "010"], "x": [1, 2]})
    plan = plan_of(pd.DataFrame({"c": [7, 10], "x": [0, 0]}).auto_join(lands, on="c", right_on="code", pad=3))
    found = pd.DataFrame({"c": [10, 11]}).auto_join(lands, plan=plan)
    assert found.columns.tolist() == ["c", "x__right"] and found["x__right"].tolist()[0] == 2


def test_a_few_texts_are_no_reference():
    plan = plan_of(COMPANIES[:100].auto_join(FIRMS))
    assert plan["steps"][0]["relation"]["likeness"]["reference"] == "right"
    with pytest.warns(
        DfjoinWarning, match="the right column, which is the reference, has fewer than 10 distinct texts"
    ):
        COMPANIES.auto_join(FIRMS[:9], plan=plan)


def test_a_precision_is_estimated_only_on_the_rows_that_it_speaks_of():
    train = COMPANIES[:100].auto_join(FIRMS)
    again = COMPANIES[100:].auto_join(FIRMS, plan=plan_of(train))
    before, after = (wide.attrs["dfjoin"]["joined"][0]["relation"]["fuzzy"] for wide in (train, again))
    assert before["estimated_precision"] >= 0.95 and after["estimated_precision"] is None
    assert after["settings"]["precision"] == 0.95
    line = "keys, by the threshold of an earlier join, which was asked for a precision of 0.95"
    assert line in str(dfjoin.report(again)) and line not in str(dfjoin.report(train))


@pytest.mark.parametrize("dtype", ["decimal", "date"])
@pytest.mark.parametrize("last", [144, 101, 100], ids=["many", "one", "none"])
def test_dtypes_of_objects_do_not_depend_on_the_rows_that_match(dtype, last):
    values = {
        "decimal": [decimal.Decimal(i) for i in range(len(FULL))],
        "date": [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(len(FULL))],
    }[dtype]
    people = PEOPLE.assign(value=pd.Series(values, dtype=object))
    people.loc[100:101, "value"] = None
    train = SWAPPED[:100].auto_join(people)
    again = SWAPPED[100:last].auto_join(people, plan=plan_of(train))
    assert again["value"].dtype == train["value"].dtype == object, "decimals and dates stay what they are"
    assert type(train["value"].dropna().iloc[0]) is type(values[0])


@pytest.mark.parametrize(
    ("df", "other", "error", "text"),
    [
        (SWAPPED.rename(columns={"who": "x"}), PEOPLE, ColumnNotFoundError, "`on` must name a column of the frame"),
        (
            SWAPPED,
            PEOPLE.rename(columns={"person": "x"}),
            ColumnNotFoundError,
            "`other` must have the columns that the",
        ),
        (
            SWAPPED,
            PEOPLE.assign(person=[[1]] * len(PEOPLE)),
            ColumnNotFoundError,
            "`other` must have a column 'person'",
        ),
        (SWAPPED, PEOPLE.set_axis(["person"] * 2, axis=1), InvalidParameterError, "columns of the same name"),
    ],
)
def test_frames_without_the_columns_are_refused(df, other, error, text):
    plan = plan_of(SWAPPED.auto_join(PEOPLE))
    with pytest.raises(error, match=text):
        df.auto_join(other, plan=plan)


def test_a_plan_belongs_to_two_frames():
    plan = plan_of(SWAPPED.auto_join(PEOPLE))
    with pytest.raises(InvalidParameterError, match="is of two frames, and holds no rows: pass the other frame as"):
        SWAPPED.auto_join(plan)
    with pytest.raises(InvalidParameterError, match="`plan` does not apply when `other` is no DataFrame and no lake"):
        SWAPPED.auto_join(plan, plan=plan)
    with pytest.raises(InvalidParameterError, match="`how` does not apply when `other` is joined by a plan"):
        SWAPPED.auto_join(PEOPLE, plan=plan, how="inner")
    with pytest.raises(InvalidTypeError, match="`plan` must be a JoinPlan or its dict, as in attrs"):
        SWAPPED.auto_join(PEOPLE, plan="plan")
    for other, text in (
        ({"index": "x"}, "got one of the lake 'x'; pass it as `other`"),
        ({"steps": []}, "got 0 steps"),
    ):
        with pytest.raises(
            InvalidParameterError, match=f"`plan` must be one that auto_join made of two frames, {text}"
        ):
            SWAPPED.auto_join(PEOPLE, plan=plan | other | ({"steps": []} if "index" in other else {}))


def test_a_relation_of_nothing_is_refused():
    values = plan_of(SWAPPED.auto_join(PEOPLE))["steps"][0]["relation"]
    assert SavedRelation.from_dict(values).to_dict() == values
    nothing = values | {"programs": [], "direction": "", "target": None}
    with pytest.raises(InvalidTypeError, match="must have programs or `likeness`, got neither"):
        SavedRelation.from_dict(nothing)
    elements = {"elements": {"side": "left", "separator": ";"}}
    assert SavedRelation.from_dict(nothing | elements).to_dict() == nothing | elements
    for spoilt in (values, nothing | {"source_columns": ["who", "where"]}):
        with pytest.raises(InvalidTypeError, match="by `elements` must be of one column on each side, and without"):
            SavedRelation.from_dict(spoilt | elements)
