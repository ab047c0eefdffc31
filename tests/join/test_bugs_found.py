"""What was found wrong while the tests were written; each test says what is right."""

import datetime
import decimal
import json

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.cli.main import main
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


@pytest.mark.parametrize("n_parts", [7, 8, 9, 12])
def test_composite_keys_of_many_parts_neither_vanish_nor_meet(n_parts):
    names = [f"c{i}" for i in range(n_parts)]
    df = pd.DataFrame({name: range(256) for name in names})
    other = df.assign(v=range(256))
    wide = dfjoin.auto_join(df, other, on=names, aggregate=None)
    assert wide["v"].fillna(-1).tolist() == list(range(256))
    shifted = other.assign(c0=(other["c0"] + 1) % 256)
    assert dfjoin.auto_join(df, shifted, on=names, aggregate=None)["v"].isna().all()


@pytest.mark.parametrize(
    ("own", "theirs"), [([True, False], ["1", "true"]), ([1.5, None], ["1e3", "1.5"]), ([7, 8], ["+9", "7"])]
)
def test_a_text_that_is_another_key_is_not_read_as_a_number_or_a_flag(own, theirs):
    other = pd.DataFrame({"k": theirs, "v": ["x", "y"]})
    wide = dfjoin.auto_join(pd.DataFrame({"k": own}), other, on="k", how="outer", aggregate=None)
    assert len(wide) == 3
    assert wide["k"].iloc[2] == theirs[0]


def test_every_column_means_the_same_with_a_star_and_without_on(build):
    lake = build(
        {
            "lands": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "area": [1.5, 2.5, 3.5]}),
            "misc": pd.DataFrame({"word": ["x", "y", "w"], "note": ["n1", "n2", "n3"]}),
        }
    )
    df = pd.DataFrame({"first": ["x", "y", "z"], "land": LAND})
    without = dfjoin.auto_join(df, lake)
    star = dfjoin.auto_join(df, lake, on="*")
    assert without.attrs["dfjoin"]["joined"][0]["on"] == ["land"]
    assert star.attrs["dfjoin"]["joined"] == without.attrs["dfjoin"]["joined"]


def test_the_text_counts_the_rows_that_each_step_had(build):
    lake = build(
        {
            "t": pd.DataFrame({"country": ["Peru", "Chad"], "area": [1.5, 2.5]}),
            "u": pd.DataFrame({"country": ["Peru", "Chad", "Togo"], "pop": [11, 12, 17]}),
        }
    )
    df = pd.DataFrame({"c": ["Peru", "Chad", "Mali", None]})
    wide = dfjoin.auto_join(df, lake, on="c", k=2, how="inner")
    lines = str(dfjoin.report(wide)).splitlines()
    assert "2 of 4 rows found a partner (50.0%)" in lines[1]
    assert "2 of 2 rows found a partner (100.0%)" in lines[3]


def test_the_warning_points_at_the_line_of_the_user(build):
    lake = build({"far": pd.DataFrame({"place": ["Peru", "Bonn"], "note": ["x", "y"]})})
    with pytest.warns(dfjoin.errors.DfjoinWarning) as caught:
        pd.DataFrame({"land": LAND}).auto_join(lake, on="land", threshold=0.9)
    assert caught[0].filename == __file__


# The shell --------------------------------------------------------------------------------------------


@pytest.fixture
def index(build):
    lands = pd.DataFrame({"country": ["Peru", "Chad", "Mali", "Oman"], "area": [1.5, 2.5, 3.5, 4.5]})
    return str(build({"lands": lands}).path)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("who,land\nAnn,peru\nBo,CHAD\nCy,Narnia\n")
    return str(path)


@pytest.fixture
def run(capsys):
    def run(*argv):
        status = main([str(a) for a in argv])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def flip_a_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.chmod(0o644)
    path.write_bytes(bytes(data))


def test_info_verify_lists_a_damaged_catalogue_too(run, index):
    (catalog,) = dfjoin.open_lake(index).path.rglob("catalog.arrow")
    catalog.chmod(0o644)
    catalog.write_bytes(catalog.read_bytes()[:-64] + b"\0" * 64)
    status, out, err = run("info", index, "--verify")
    assert (status, err) == (1, "")
    assert "component `catalog`" in out


@pytest.mark.parametrize("content", ["half", "bytes", "empty"])
def test_a_damaged_manifest_is_one_line(run, index, table, content):
    (manifest,) = dfjoin.open_lake(index).path.joinpath("manifests").glob("*.json")
    if content == "bytes":
        flip_a_byte(manifest)
    else:
        data = manifest.read_bytes()
        manifest.chmod(0o644)
        manifest.write_bytes(data[: len(data) // 2] if content == "half" else b"")
    status, _, err = run("discover", index, table, "--on", "land")
    assert status == 2
    assert err.count("\n") == 1
    assert manifest.name in err


@pytest.mark.parametrize("plan", ["no json", "[1, 2]", "{}", '{"plan_version": 1, "steps": [3]}'])
def test_a_file_that_holds_no_plan_is_one_line(run, index, table, tmp_path, plan):
    path = tmp_path / "plan.json"
    path.write_text(plan)
    status, _, err = run("join", table, index, "--plan", path)
    assert status == 2
    assert err.count("\n") == 1
    assert "plan" in err


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_an_output_place_that_is_missing_is_one_line(run, index, table, tmp_path, ending):
    status, _, err = run("join", table, index, "--on", "land", "-o", tmp_path / "nowhere" / f"wide.{ending}")
    assert status == 2
    assert err.count("\n") == 1


def test_options_that_a_plan_replaces_are_refused(run, index, table, tmp_path):
    plan = tmp_path / "plan.json"
    _, out, _ = run("join", table, index, "--on", "land", "-o", tmp_path / "wide.csv", "--json")
    plan.write_text(out)
    status, _, err = run("join", table, index, "--plan", plan, "--how", "inner", "-o", tmp_path / "again.csv")
    assert status == 2
    assert "how" in err
