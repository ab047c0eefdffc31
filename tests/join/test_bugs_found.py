"""What was found wrong while the tests were written; each test says what is right."""

import datetime
import decimal
import json

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinError, InvalidParameterError
from dfjoin.join.plan import JoinPlan

LAND = ["peru", "chad", "mali"]


@pytest.fixture
def lands(build):
    return build({"lands": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "area": [1.5, 2.5, 3.5]})})


def test_an_integer_column_can_be_searched_among_integer_ranges(build):
    lake = build({"t": pd.DataFrame({"m": [1, 2, 3, 4], "v": [2.5, 3.5, 4.5, 5.5]})})
    hits = dfjoin.discover_joinable(pd.DataFrame({"n": [1, 2, 3]}), "n", lake)
    assert hits["accidental"].tolist() == [True]


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


def _joined(values, keys, **wishes):
    left = pd.DataFrame({"k": sorted(set(keys))})
    return dfjoin.auto_join(left, pd.DataFrame({"k": keys, "v": values}), on="k", **wishes)["v"]


def test_the_sum_of_nothing_is_null_whether_or_not_the_key_repeats():
    once = _joined([None, 1.0], ["a", "b"], aggregate="sum")
    twice = _joined([None, None, 1.0], ["a", "a", "b"], aggregate="sum")
    assert once.isna().tolist() == twice.isna().tolist()


def test_the_smallest_boolean_is_a_boolean():
    values = _joined([True, False, True], ["a", "a", "b"], aggregate="min")
    assert values.tolist() == [False, True]


@pytest.mark.parametrize("values", [["x", "y", "z"], [3, 4, 5]])
def test_the_share_of_no_booleans_is_an_error_of_dfjoin(values):
    with pytest.raises(InvalidParameterError, match="share"):
        _joined(values, ["a", "a", "b"], aggregate={"v": "share"})


def test_lists_of_a_repeated_key_are_joined_or_refused_with_a_reason():
    try:
        values = _joined([[1], [2], [3]], ["a", "a", "b"])
    except DfjoinError:
        return
    assert len(values) == 2


def test_a_list_column_does_not_stop_the_join_of_a_lake_table(build):
    lake = build({"t": pd.DataFrame({"k": ["a", "a", "b"], "v": [[1], [2], [3]], "w": ["x", "x", "y"]})})
    wide = dfjoin.auto_join(pd.DataFrame({"k": ["a", "b"]}), lake, on="k")
    assert wide["w"].tolist() == ["x", "y"]


@pytest.mark.parametrize("of_lake", [True, False])
def test_dates_of_parquet_take_the_latest(build, of_lake):
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), datetime.date(2019, 1, 1)]
    other = pd.DataFrame({"k": ["a", "a", "a", "b"], "v": days})
    wide = dfjoin.auto_join(pd.DataFrame({"k": ["a", "b"]}), build({"t": other}) if of_lake else other, on="k")
    assert pd.Timestamp(wide["v"][0]) == pd.Timestamp("2021-01-01")


def test_decimals_take_the_mean():
    values = _joined([decimal.Decimal("1.5"), decimal.Decimal("2.5"), decimal.Decimal("9.5")], ["a", "a", "b"])
    assert [float(v) for v in values] == [2.0, 9.5]


def test_keys_that_only_the_right_side_has_keep_their_spelling():
    other = pd.DataFrame({"k": ["007", "7"], "v": ["x", "y"]})
    wide = dfjoin.auto_join(pd.DataFrame({"k": [7, 8]}), other, on="k", how="outer", aggregate=None)
    assert wide["k"].tolist() == [7, 8, "007"]


def test_keys_that_only_the_right_side_has_are_not_lost_under_categories():
    df = pd.DataFrame({"k": pd.Categorical(["a", "b"])})
    wide = dfjoin.auto_join(df, pd.DataFrame({"k": ["a", "z"], "v": [1, 2]}), on="k", how="outer", aggregate=None)
    assert wide["k"].tolist() == ["a", "b", "z"]


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


def test_labels_of_the_other_frame_that_are_one_text_are_refused_or_told_apart():
    other = pd.DataFrame({"k": LAND, 1: [1, 2, 3], "1": [4, 5, 6]})
    try:
        wide = dfjoin.auto_join(pd.DataFrame({"k": LAND}), other, on="k", aggregate=None)
    except DfjoinError:
        return
    assert wide.shape == (3, 3)
    assert wide.columns.is_unique


def test_rules_for_columns_of_one_of_several_tables(build):
    lake = build(
        {
            "t": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "area": [1.5, 2.5, 3.5]}),
            "u": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "pop": [11, 12, 17]}),
        }
    )
    wide = dfjoin.auto_join(pd.DataFrame({"c": LAND}), lake, on="c", k=2, aggregate={"area": "max"})
    assert {"area", "pop"} <= set(wide)


@pytest.mark.parametrize("wish", ["columns", "aggregate"])
def test_long_wishes_keep_the_report_below_64_kib(wish):
    values = {f"{'x' * 40}{i:05}": [1.5, 2.5] for i in range(2000)}
    wishes = {"columns": list(values)} if wish == "columns" else {"aggregate": dict.fromkeys(values, "mean")}
    other = pd.DataFrame({"key": ["a", "b"], **values})
    wide = dfjoin.auto_join(pd.DataFrame({"key": ["a", "b"]}), other, on="key", **wishes)
    assert wide.shape[1] == 2002
    assert len(json.dumps(wide.attrs["dfjoin"], ensure_ascii=False).encode()) < 64 * 1024


def test_the_column_line_of_a_shortened_report_is_readable():
    from dfjoin.join.report import JoinReport

    step = {
        "table": "t", "on": ["a"], "right_on": ["b"], "relationship": "1:1", "rows_matched": 1,
        "coverage": 1.0, "n_columns": 3000, "columns": [],
    }  # fmt: skip
    text = str(
        JoinReport(
            {"rows_in": 1, "rows_out": 1, "how": "left", "joined": [step], "passed_over": [], "n_passed_over": 0}
        )
    )
    assert "columns:  and" not in text
