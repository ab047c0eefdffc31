"""The contract of `auto_join`, as design.md section 1 has it."""

import json

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import (
    ColumnNotFoundError,
    DfjoinWarning,
    InvalidParameterError,
    InvalidTypeError,
    NoMatchError,
    TableChangedError,
    TableReadError,
)

LANDS = ["Peru", "Chad", "Mali", "Oman", "Fiji"]


def _report(wide):
    return wide.attrs["dfjoin"]


def _tables(wide):
    return [step["table"] for step in _report(wide)["joined"]]


def _reasons(wide):
    return {(p["table"], p["column"]): p["reason"] for p in _report(wide)["passed_over"]}


@pytest.fixture
def people():
    return pd.DataFrame({"name": ["Ann", "Bo", "Cy", "Di"], "land": ["peru", "CHAD", " Peru ", None]})


@pytest.fixture
def frames():
    return {
        "areas": pd.DataFrame({"country": LANDS, "area": [1.5, 2.5, 3.5, 4.5, 5.5], "name": list("PCMOF")}),
        "rivers": pd.DataFrame({"state": LANDS[:4], "river": ["Ene", "Chari", "Niger", "Halfayn"]}),
        "trade": pd.DataFrame({"from": ["Peru", "Peru", "Chad", "Mali"], "goods": ["tin", "fish", "oil", "gold"]}),
        "far": pd.DataFrame({"place": ["Peru", "Bonn"], "note": ["x", "y"]}),
    }


@pytest.fixture
def lake(build, frames):
    return build(frames)


# What `other` can be ----------------------------------------------------------------------------------


@pytest.mark.parametrize("as_path", [False, True, str])
def test_a_lake_or_its_path(people, lake, as_path):
    other = lake if not as_path else (str(lake.path) if as_path is str else lake.path)
    wide = people.auto_join(other, on="land")
    assert len(wide) == 4
    assert list(wide)[:2] == ["name", "land"]
    assert len(_tables(wide)) == 1
    assert _report(wide)["plan"]["index"] == str(lake.path)


def test_the_best_candidate_is_joined(people, lake):
    hits = dfjoin.discover_joinable(people, "land", lake)
    wide = dfjoin.auto_join(people, lake, on="land", aggregate=None)
    step = _report(wide)["joined"][0]
    assert (step["table"], step["right_on"]) == (hits["table"][0], [hits["column"][0]])
    assert step["containment"] == hits["containment"][0]


def test_candidates_are_joined_as_picked_in_the_order_picked(people, lake, frames):
    hits = dfjoin.discover_joinable(people, "land", lake, rank="matched")
    tables = hits["table"].tolist()
    chosen = [tables.index("far"), tables.index("areas")]
    wide = dfjoin.auto_join(people, hits.iloc[chosen], aggregate=None)
    assert _tables(wide) == ["far", "areas"], "far is below the threshold, and picked"
    assert list(wide) == ["name", "land", "note", "area", "name__areas"]
    assert wide["area"].tolist()[:3] == [1.5, 2.5, 1.5]
    assert wide["name"].tolist() == people["name"].tolist()


def test_a_filtered_result_still_joins(people, lake):
    hits = dfjoin.discover_joinable(people, "land", lake, rank="matched")
    wide = dfjoin.auto_join(people, hits[hits["table"] == "rivers"])
    assert wide["river"].tolist()[:3] == ["Ene", "Chari", "Ene"]


def test_picks_of_several_query_columns_are_joined_each_on_its_own(build, people, frames):
    lake = build({"areas": frames["areas"], "ages": pd.DataFrame({"who": ["ann", "bo"], "age": [30.5, 40.5]})})
    hits = dfjoin.discover_joinable(people, None, lake, rank="matched")
    wide = dfjoin.auto_join(people, hits[hits["column"].isin(["country", "who"])], aggregate=None)
    on = {step["table"]: step["on"] for step in _report(wide)["joined"]}
    assert on == {"areas": ["land"], "ages": ["name"]}
    assert wide["area"].tolist()[:3] == [1.5, 2.5, 1.5]
    assert wide["age"].tolist()[:2] == [30.5, 40.5]


def test_inner_joins_of_several_tables_keep_rows_that_all_have(people, lake):
    wide = dfjoin.auto_join(people.iloc[:2], lake, on="land", k=3, how="inner")
    assert wide.index.tolist() == [0, 1]
    assert len(_tables(wide)) == 3


@pytest.mark.parametrize("on", [None, "land"])
def test_candidates_that_were_written_and_read_are_no_frame_to_be_joined(people, lake, tmp_path, on):
    hits = dfjoin.discover_joinable(people, "land", lake)
    hits.to_csv(tmp_path / "hits.csv", index=False)
    read = pd.read_csv(tmp_path / "hits.csv")
    for lost in (read, pd.DataFrame(hits)):
        with pytest.raises(InvalidParameterError, match=r"no link to the lake .* search again .* `on` and `tables`"):
            dfjoin.auto_join(people, lost, on=on)
    tables = pd.DataFrame({"table": read["table"].drop_duplicates(), "owner": "me"})
    assert tables.auto_join(read, on="table", columns=["column"])["column"].notna().any(), (
        "it is data where it is named"
    )


def test_no_picked_candidates_join_nothing(people, lake):
    hits = dfjoin.discover_joinable(people, "land", lake, rank="matched")
    with pytest.warns(DfjoinWarning):
        wide = dfjoin.auto_join(people, hits.iloc[:0])
    pd.testing.assert_frame_equal(wide, people)


@pytest.mark.parametrize("as_text", [False, True])
def test_a_plan_gives_the_same_columns_on_other_rows(people, lake, as_text):
    wide = dfjoin.auto_join(people, lake, on="land", k=3, indicator=True)
    plan = _report(wide)["plan"]
    if as_text:
        plan = json.loads(json.dumps(plan))
    test = pd.DataFrame({"land": ["MALI", "nowhere"], "name": ["Ed", "Flo"]}, index=["e", "f"])
    again = dfjoin.auto_join(test, plan)
    assert set(again) == set(wide)
    assert list(again)[2:] == list(wide)[2:]
    assert again.index.tolist() == ["e", "f"]
    row = again.loc["e"]
    assert row["area"] == 3.5
    assert row["river"] == "Niger"
    assert pd.isna(again.loc["f", "area"])
    assert _report(again)["plan"]["steps"] == plan["steps"]


def test_a_plan_object_is_taken_too(people, lake):
    wide = dfjoin.auto_join(people, lake, on="land")
    plan = dfjoin.JoinPlan.from_dict(_report(wide)["plan"])
    pd.testing.assert_frame_equal(dfjoin.auto_join(people, plan), wide)


def test_a_plan_keeps_names_where_the_other_frame_has_more_room(people, lake):
    wide = dfjoin.auto_join(people, lake, on="land", columns=["name", "area"])
    assert "name__areas" in wide
    again = dfjoin.auto_join(people[["land"]], _report(wide)["plan"])
    assert "name__areas" in again
    assert "name" not in again


def test_a_plan_keeps_rules_how_and_expansion(people, lake):
    wide = dfjoin.auto_join(people, lake, on="land", columns="goods", aggregate=None, how="inner")
    again = dfjoin.auto_join(people, _report(wide)["plan"])
    pd.testing.assert_frame_equal(again, wide)
    assert _report(again) == _report(wide) | {"passed_over": [], "n_passed_over": 0}


def test_a_plan_needs_its_key_column(people, lake):
    plan = _report(dfjoin.auto_join(people, lake, on="land"))["plan"]
    with pytest.raises(ColumnNotFoundError, match=r"`on` must name a column of the frame \('x'\), got 'land'"):
        dfjoin.auto_join(pd.DataFrame({"x": [1]}), plan)


def test_a_plan_made_with_a_frame_says_what_to_do(people, frames):
    plan = _report(dfjoin.auto_join(people, frames["areas"], on="land", right_on="country"))["plan"]
    with pytest.raises(InvalidParameterError, match="pass the other frame as `other`, and this as `plan`"):
        dfjoin.auto_join(people, plan)


def test_an_empty_plan_changes_nothing(people):
    with pytest.warns(DfjoinWarning, match="no candidate"):
        pd.testing.assert_frame_equal(dfjoin.auto_join(people, dfjoin.JoinPlan(())), people)


def test_a_frame_with_on_and_right_on(people, frames):
    wide = dfjoin.auto_join(people, frames["areas"], on="land", right_on="country", columns="area", aggregate=None)
    assert list(wide) == ["name", "land", "area"]
    assert wide["area"].tolist()[:3] == [1.5, 2.5, 1.5]


def test_on_alone_names_the_key_of_both_frames(people, frames):
    other = frames["areas"].rename(columns={"country": "land"})
    assert dfjoin.auto_join(people, other, on="land")["area"].tolist()[:3] == [1.5, 2.5, 1.5]


def test_a_frame_without_on_finds_the_pair_that_shares_most(people, frames):
    wide = dfjoin.auto_join(people, frames["areas"])
    (step,) = _report(wide)["joined"]
    assert (step["on"], step["right_on"]) == (["land"], ["country"])
    assert wide["area"].tolist()[:3] == [1.5, 2.5, 1.5]


def test_composite_keys_match_as_a_whole():
    df = pd.DataFrame({"a": ["x", "x", "y", None], "n": [1, 2, 1, 1]})
    other = pd.DataFrame({"b": ["X", "y", "Y", None], "m": ["1", "1.0", "2", "1"], "v": [10, 20, 30, 40]})
    wide = dfjoin.auto_join(df, other, on=["a", "n"], right_on=["b", "m"], aggregate=None)
    assert wide["v"].tolist() == [10, pd.NA, 20, pd.NA]
    assert list(wide) == ["a", "n", "v"]
    assert _report(wide)["joined"][0]["matched"] == 2


def test_without_on_the_key_of_the_frame_is_chosen_and_named(lake, people):
    wide = dfjoin.auto_join(people.assign(name=["q", "r", "s", "t"], land=LANDS[:4]), lake)
    assert _report(wide)["joined"][0]["on"] == ["land"]


def test_without_on_two_equally_good_keys_are_an_error(build, frames):
    lake = build({"areas": frames["areas"]})
    df = pd.DataFrame({"one": LANDS, "two": LANDS[::-1]})
    with pytest.raises(InvalidParameterError, match=r"`on` must be given: the columns 'one', 'two' join equally well"):
        dfjoin.auto_join(df, lake)
    with pytest.raises(InvalidParameterError, match=r"`on` must be given: '.*' = '.*' and .* join equally well"):
        dfjoin.auto_join(df, frames["areas"])
    assert dfjoin.auto_join(df, lake, on="two")["area"].tolist() == [5.5, 4.5, 3.5, 2.5, 1.5]


@pytest.mark.parametrize("other", [3, None, ["lake"], pd.Series([1])])
def test_other_types_are_refused(people, other):
    with pytest.raises(InvalidTypeError, match="`other` must be a Lake or its path, a result of discover_joinable"):
        dfjoin.auto_join(people, other)


# What is accepted from a lake ---------------------------------------------------------------------------


def test_below_the_threshold_nothing_is_joined(build, people, frames):
    lake = build({"far": frames["far"]})
    with pytest.warns(DfjoinWarning, match="below the threshold 0.8"):
        wide = dfjoin.auto_join(people, lake, on="land", threshold=0.8)
    pd.testing.assert_frame_equal(wide, people)
    assert _reasons(wide) == {
        ("far", "place"): "containment 0.500 is below the threshold 0.8; pass a lower `threshold` if it is meant"
    }
    assert _tables(dfjoin.auto_join(people, lake, on="land", threshold=0.5)) == ["far"], "at the threshold is enough"


def test_accidental_integers_are_passed_over_and_joined_when_picked(build):
    frame = pd.DataFrame({"rank": range(1, 101), "title": [f"t{i}" for i in range(100)]})
    lake = build({"ranks": frame})
    df = pd.DataFrame({"staff": [3, 4, 5, 60]})
    with pytest.warns(DfjoinWarning, match="accidental"):
        wide = dfjoin.auto_join(df, lake, on="staff")
    pd.testing.assert_frame_equal(wide, df)
    assert "accidental" in _reasons(wide)["ranks", "rank"]
    hits = dfjoin.discover_joinable(df, "staff", lake, rank="matched")
    assert hits["accidental"].tolist() == [True]
    assert dfjoin.auto_join(df, hits.iloc[[0]])["title"].tolist() == ["t2", "t3", "t4", "t59"]


@pytest.fixture
def on_disk(tmp_path, frames):
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("areas", "rivers"):
        frames[name].to_csv(folder / f"{name}.csv", index=False)
    lake = dfjoin.build_lake(folder, tmp_path / "disk.dfjoin", engine="inline", progress=False)
    return folder, lake


def test_a_stale_file_is_passed_over_and_the_next_is_joined(people, on_disk):
    folder, lake = on_disk
    first = _tables(dfjoin.auto_join(people, lake, on="land"))[0]
    path = folder / first
    path.write_text(path.read_text() + "Togo,zz,zz\n")
    wide = dfjoin.auto_join(people, lake, on="land")
    assert _tables(wide) == [({"areas.csv", "rivers.csv"} - {first}).pop()]
    (reason,) = (p["reason"] for p in _report(wide)["passed_over"] if p["table"] == first)
    assert "is not the one that was indexed" in reason


def test_a_table_that_lost_a_column_is_passed_over_whatever_on_stale_says(people, on_disk):
    folder, lake = on_disk
    first = _tables(dfjoin.auto_join(people, lake, on="land"))[0]
    picked = dfjoin.discover_joinable(people, "land", lake, tables=first)
    plan = _report(dfjoin.auto_join(people, picked))["plan"]
    path = folder / first
    path.write_text("\n".join(["a,b", *path.read_text().splitlines()[1:]]))
    wide = dfjoin.auto_join(people, lake, on="land", on_stale="ignore")
    assert _tables(wide) == [({"areas.csv", "rivers.csv"} - {first}).pop()]
    (reason,) = (p["reason"] for p in _report(wide)["passed_over"] if p["table"] == first)
    assert "is not the one that was indexed: it lacks one of the columns '" in reason
    for other in (picked, plan):
        with pytest.raises(TableReadError, match=r"it lacks one of the columns '.*; read it anew with `lake\.add"):
            dfjoin.auto_join(people, other, on_stale="ignore")


def test_picked_and_planned_tables_that_changed_raise_or_warn(people, on_disk):
    folder, lake = on_disk
    hits = dfjoin.discover_joinable(people, "land", lake, rank="matched").iloc[[0]]
    plan = _report(dfjoin.auto_join(people, hits))["plan"]
    path = folder / hits["table"].iloc[0]
    path.write_text(path.read_text().replace("Oman", "OMAN"))
    for other in (hits, plan):
        with pytest.raises(TableChangedError, match=r"its content is another; read it anew with `lake\.add"):
            dfjoin.auto_join(people, other)
        with pytest.warns(DfjoinWarning, match="not the one that was indexed"):
            assert len(_tables(dfjoin.auto_join(people, other, on_stale="warn"))) == 1
        assert len(_tables(dfjoin.auto_join(people, other, on_stale="ignore"))) == 1


def test_k_counts_tables_and_takes_one_column_of_each(build, people):
    twins = pd.DataFrame({"here": LANDS, "there": LANDS[::-1], "v": [1.5, 2.5, 3.5, 4.5, 5.5]})
    lake = build(
        {
            "twins": twins,
            "b": pd.DataFrame({"c": LANDS, "w": [6.5, 7.5, 8.5, 9.5, 0.5]}),
            "c": pd.DataFrame({"c": [*LANDS, "Togo"], "x": [f"x{i}" for i in range(6)]}),
        }
    )
    wide = dfjoin.auto_join(people, lake, on="land", k=2)
    assert len(_tables(wide)) == 2
    wide = dfjoin.auto_join(people, lake, on="land", k=10)
    assert sorted(_tables(wide)) == ["b", "c", "twins"]
    hits = dfjoin.discover_joinable(people, "land", lake, families=False, k=10)
    assert _tables(wide) == list(dict.fromkeys(hits["table"])), "in rank order"


def test_wanted_columns_pass_over_tables_that_have_none(people, lake):
    wide = dfjoin.auto_join(people, lake, on="land", columns=["river", "nothing"], aggregate=None)
    assert list(wide) == ["name", "land", "river"]
    passed = [p["reason"] for p in _report(wide)["passed_over"]]
    assert all("none of the columns 'river', 'nothing'" in r for r in passed)


def test_a_table_with_a_key_alone_is_passed_over(build, people):
    with pytest.warns(DfjoinWarning, match="it has no other columns"):
        wide = dfjoin.auto_join(people, build({"bare": pd.DataFrame({"c": LANDS})}), on="land")
    assert _tables(wide) == []


# When there is nothing --------------------------------------------------------------------------------


def test_no_match_warns_raises_or_is_silent(people, lake, recwarn):
    df = people.assign(land=["Ruritania", "Narnia", "Oz", "Ur"])
    wide = dfjoin.auto_join(df, lake, on="land", on_no_match="ignore")
    assert len(recwarn) == 0
    pd.testing.assert_frame_equal(wide, df)
    assert (_report(wide)["joined"], _report(wide)["plan"]["steps"]) == ([], [])
    assert wide is not df
    with pytest.warns(DfjoinWarning, match="no candidate shares a value with the frame; the frame is unchanged"):
        dfjoin.auto_join(df, lake, on="land")
    with pytest.raises(NoMatchError, match='on_no_match="ignore"'):
        dfjoin.auto_join(df, lake, on="land", on_no_match="raise")


def test_no_pair_of_two_frames_is_no_match_with_reasons(people):
    other = pd.DataFrame({"place": ["Peru", "Bonn"], "v": [1, 2]})
    with pytest.warns(DfjoinWarning, match="the first, land = place: "):
        wide = dfjoin.auto_join(people, other, threshold=0.9)
    assert list(wide) == list(people)


# Arguments that do not apply, and illegal ones ------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("candidates", "on", "land"),
        ("candidates", "right_on", "country"),
        ("candidates", "k", 2),
        ("candidates", "threshold", 0.9),
        ("candidates", "pad", 5),
        ("candidates", "dayfirst", True),
        ("plan", "pad", 5),
        ("plan", "dayfirst", False),
        ("frame", "k", 2),
        ("lake", "right_on", "country"),
        ("plan", "on", "land"),
        ("plan", "right_on", "country"),
        ("plan", "k", 2),
        ("plan", "threshold", 0.9),
        ("plan", "columns", "area"),
        ("plan", "how", "inner"),
        ("plan", "aggregate", None),
        ("plan", "max_expansion", 2.0),
        ("plan", "indicator", True),
    ],
)
def test_an_argument_that_does_not_apply_is_named(people, lake, frames, kind, name, value):
    other = {
        "candidates": lambda: dfjoin.discover_joinable(people, "land", lake, rank="matched"),
        "frame": lambda: frames["areas"],
        "lake": lambda: lake,
        "plan": lambda: _report(dfjoin.auto_join(people, lake, on="land"))["plan"],
    }[kind]()
    with pytest.raises(InvalidParameterError, match=rf"`{name}` does not apply when `other` is .*leave it out"):
        dfjoin.auto_join(people, other, **{name: value})


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"mode": "sounds"}, InvalidParameterError, "`mode` must be one of 'exact'"),
        (
            {"how": "cross"},
            InvalidParameterError,
            "`how` must be one of 'left', 'inner', 'right', 'outer', 'asof', got 'cross'",
        ),
        ({"k": 0}, InvalidParameterError, "`k` must be at least 1, got 0"),
        ({"k": 1.5}, InvalidTypeError, "`k` must be an integer"),
        ({"k": True}, InvalidTypeError, "`k` must be an integer"),
        ({"threshold": 1.5}, InvalidParameterError, "`threshold` must be between 0 and 1, got 1.5"),
        ({"threshold": float("nan")}, InvalidParameterError, "`threshold` must be between 0 and 1"),
        ({"threshold": "0.5"}, InvalidTypeError, "`threshold` must be a number"),
        ({"pad": 0}, InvalidParameterError, "`pad` must be at least 1, got 0"),
        ({"pad": "5"}, InvalidTypeError, "`pad` must be an integer"),
        ({"dayfirst": "yes"}, InvalidParameterError, "`dayfirst` must be one of None, True, False, got 'yes'"),
        ({"indicator": "both"}, InvalidParameterError, "`indicator` must be one of True, False"),
        ({"max_expansion": 0.5}, InvalidParameterError, "`max_expansion` must be a number of at least 1, got 0.5"),
        ({"max_expansion": None}, InvalidParameterError, "`max_expansion` must be a number"),
        ({"max_expansion": float("nan")}, InvalidParameterError, "`max_expansion` must be a number"),
        ({"columns": 3}, InvalidTypeError, "`columns` must be"),
        ({"on_no_match": "shrug"}, InvalidParameterError, "`on_no_match` must be one of 'warn', 'raise', 'ignore'"),
        ({"on_stale": "shrug"}, InvalidParameterError, "`on_stale` must be one of 'error', 'warn', 'ignore'"),
        (
            {"k": 2, "how": "outer"},
            InvalidParameterError,
            r'`how` must be "left", "inner" or "asof" when several .*\(k=2\)',
        ),
        ({"on": "nope"}, ColumnNotFoundError, r"`on` must name a column of the frame \('name', 'land'\), got 'nope'"),
        ({"on": ["name", "name"]}, InvalidParameterError, "`on` must be at most 8 different columns"),
        ({"on": "land", "aggregate": "average"}, InvalidParameterError, "`aggregate` must be one of"),
        ({"on": "land", "aggregate": 5}, InvalidTypeError, "`aggregate` must be"),
    ],
)
def test_illegal_arguments_are_named_with_what_is_legal(people, lake, options, error, text):
    with pytest.raises(error, match=text):
        dfjoin.auto_join(people, lake, **options)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"right_on": "country"}, InvalidParameterError, "`on` must be given together with `right_on`"),
        ({"on": []}, InvalidParameterError, "`on` must name at least one column, got an empty list"),
        ({"on": "land"}, ColumnNotFoundError, "must name columns of both frames .*not 'land': pass `right_on`"),
        ({"on": "land", "right_on": "zip"}, ColumnNotFoundError, "`right_on` must name a column"),
        (
            {"on": "land", "right_on": ["country", "name"], "transform": False},
            InvalidParameterError,
            r"as many columns as `on` \(1\), got 2; a program may relate them, if you leave out transform=False",
        ),
        (
            {"on": ["land"] * 4, "right_on": "country"},
            InvalidParameterError,
            r"as many columns as `on` \(4\), got 1; a program relates at most 3",
        ),
        ({"on": "land", "right_on": "country", "columns": "zip"}, ColumnNotFoundError, "`columns` must name"),
        ({"on": "land", "right_on": "country", "aggregate": {"zip": "sum"}}, ColumnNotFoundError, "`aggregate` must"),
    ],
)
def test_illegal_keys_of_two_frames(people, frames, options, error, text):
    with pytest.raises(error, match=text):
        dfjoin.auto_join(people, frames["areas"], **options)


def test_several_picked_tables_join_left_or_inner_only(people, lake):
    hits = dfjoin.discover_joinable(people, "land", lake, rank="matched")
    with pytest.raises(InvalidParameterError, match=r'`how` must be "left", "inner" or "asof".*2 candidates'):
        dfjoin.auto_join(people, hits.iloc[:2], how="right")
    assert len(dfjoin.auto_join(people, hits.iloc[:1], how="right")) > 0


def test_a_picked_column_that_the_table_lacks_is_an_error(people, lake):
    hits = dfjoin.discover_joinable(people, "land", lake, rank="matched")
    with pytest.raises(ColumnNotFoundError, match="`columns` must name columns of"):
        dfjoin.auto_join(people, hits.iloc[[0]], columns="zip")


def test_a_path_without_an_index_is_an_error(people, tmp_path):
    with pytest.raises(dfjoin.errors.IndexNotFoundError):
        dfjoin.auto_join(people, tmp_path / "nothing")


@pytest.mark.parametrize("df", [None, {"a": [1]}, pd.Series([1])])
def test_the_frame_must_be_a_frame(df, lake):
    with pytest.raises(InvalidTypeError, match="`df` must be"):
        dfjoin.auto_join(df, lake, on="a")


def test_repeated_labels_of_the_other_frame_are_refused(people):
    other = pd.DataFrame([["Peru", 1, 2]], columns=["land", "v", "v"])
    with pytest.raises(InvalidParameterError, match=r"`other` has columns of the same name \('v'\); rename them"):
        dfjoin.auto_join(people, other, on="land")


# Frames of every kind -----------------------------------------------------------------------------------


def _kinds(lake, frames):
    return {"lake": lake, "frame": frames["areas"].rename(columns={"country": "land"}).astype({"name": object})}


@pytest.mark.parametrize("kind", ["lake", "frame"])
@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
def test_the_frame_is_never_modified(people, lake, frames, kind, how):
    other = _kinds(lake, frames)[kind]
    people.attrs["note"] = {"by": "me"}
    before, other_before = people.copy(deep=True), frames["areas"].copy(deep=True)
    wide = dfjoin.auto_join(people, other, on="land", how=how, indicator=True)
    wide.iloc[0, 0] = "changed"
    wide.attrs["note"]["more"] = 1
    pd.testing.assert_frame_equal(people, before)
    assert "dfjoin" not in people.attrs
    pd.testing.assert_frame_equal(frames["areas"], other_before)


def test_attrs_of_the_frame_are_kept(people, lake):
    people.attrs["source"] = "survey"
    wide = dfjoin.auto_join(people, lake, on="land", k=2)
    assert wide.attrs["source"] == "survey"
    assert set(wide.attrs) == {"source", "dfjoin"}
    again = dfjoin.auto_join(wide, lake, on="land", k=5, on_no_match="ignore")
    assert _report(again)["rows_in"] == 4
    assert not set(_tables(again)) & set(_tables(wide)), "what was joined already brings nothing new"


@pytest.mark.parametrize("how", ["left", "outer"])
def test_columns_of_several_levels(lake, people, how):
    df = people.set_axis(pd.MultiIndex.from_tuples([("who", "name"), ("who", "land")]), axis=1)
    wide = dfjoin.auto_join(df, lake, on=("who", "land"), how=how, columns="area", aggregate=None)
    assert list(wide)[:2] == list(df)
    assert list(wide)[2:] == [("area", "")]
    assert wide.columns.nlevels == 2
    assert wide["area"].tolist()[:3] == [1.5, 2.5, 1.5]


def test_repeated_labels_of_the_frame(lake):
    df = pd.DataFrame([["Peru", 1, 2], ["x", 3, 4]], columns=["land", "d", "d"])
    for how in ("left", "outer"):
        wide = dfjoin.auto_join(df, lake, on="land", how=how, columns="area", aggregate=None)
        assert list(wide) == ["land", "d", "d", "area"]
        assert wide.iloc[:2, 1:3].values.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(InvalidParameterError, match="2 columns of the frame are called 'd'; rename them"):
        dfjoin.auto_join(df, lake, on="d")


@pytest.mark.parametrize("dtype", [object, "str", "string", "category", "string[pyarrow]"])
def test_keys_of_every_text_dtype(lake, dtype):
    df = pd.DataFrame({"land": pd.Series(["peru", None, "CHAD", "x"], dtype=dtype)})
    wide = dfjoin.auto_join(df, lake, on="land", columns="area", aggregate=None)
    np.testing.assert_array_equal(wide["area"].to_numpy(), [1.5, np.nan, 2.5, np.nan])
    pd.testing.assert_series_equal(wide["land"], df["land"])


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64", "int8", object, "category", "int64[pyarrow]"])
def test_keys_of_every_number_dtype(dtype):
    df = pd.DataFrame({"n": pd.Series([70, 20, 90]).astype(dtype)})
    other = pd.DataFrame({"n": ["20", "70.0", "30"], "v": ["b", "a", "c"]})
    wide = dfjoin.auto_join(df, other, on="n", aggregate=None)
    assert wide["v"].tolist()[:2] == ["a", "b"]
    assert pd.isna(wide["v"][2])
    assert wide["n"].dtype == df["n"].dtype


@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
def test_zero_rows(frames, how):
    df = pd.DataFrame({"land": pd.Series([], dtype=object), "n": pd.Series([], dtype="int64")})
    other = frames["areas"].rename(columns={"country": "land"})
    wide = dfjoin.auto_join(df, other, on="land", how=how)
    assert len(wide) == (0 if how in ("left", "inner") else 5)
    assert list(wide) == ["land", "n", "area", "name"]
    wide = dfjoin.auto_join(other, df, on="land", how=how)
    assert len(wide) == (5 if how in ("left", "outer") else 0)
    assert list(wide) == ["land", "area", "name", "n"]


def test_zero_rows_over_a_lake_are_no_match(lake):
    df = pd.DataFrame({"land": pd.Series([], dtype=object)})
    with pytest.warns(DfjoinWarning):
        wide = dfjoin.auto_join(df, lake, on="land")
    pd.testing.assert_frame_equal(wide, df)


@pytest.mark.parametrize("null", [None, np.nan, pd.NaT, pd.NA])
def test_all_null_keys(lake, frames, null):
    df = pd.DataFrame({"land": [null, null], "n": [1, 2]})
    with pytest.warns(DfjoinWarning):
        assert list(dfjoin.auto_join(df, lake, on="land")) == ["land", "n"]
    wide = dfjoin.auto_join(df, frames["areas"], on="land", right_on="country")
    assert wide["area"].isna().all()
    assert _report(wide)["joined"][0]["coverage"] == 0


def test_integer_labels(lake):
    df = pd.DataFrame([["Peru", 5], ["Chad", 6]])
    wide = dfjoin.auto_join(df, lake, on=0, columns="area", aggregate=None)
    assert list(wide) == [0, 1, "area"]
    again = dfjoin.auto_join(df, json.loads(json.dumps(_report(wide)["plan"])))
    pd.testing.assert_frame_equal(again, wide)


# What is joined from a lake is what pandas would join --------------------------------------------------------


@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
def test_rows_of_a_lake_table_are_those_of_the_frame(people, lake, frames, how):
    hits = dfjoin.discover_joinable(people, "land", lake, rank="matched")
    picked = hits[hits["table"] == "trade"]
    from_lake = dfjoin.auto_join(people, picked, how=how, aggregate=None, indicator=True)
    from_frame = dfjoin.auto_join(
        people, frames["trade"], on="land", right_on="from", how=how, aggregate=None, indicator=True
    )
    pd.testing.assert_frame_equal(from_lake, from_frame, check_dtype=False)
    assert from_frame["goods"].dropna().tolist()[:3] == ["tin", "fish", "oil"]


def test_auto_aggregation_over_a_lake(people, lake):
    hits = dfjoin.discover_joinable(people, "land", lake)
    people = people.drop(2)
    wide = dfjoin.auto_join(people, hits[hits["table"] == "trade"])
    assert wide["goods"].isna().tolist() == [True, False, True] and wide["goods"][1] == "oil", "tin and fish disagree"
    assert wide["trade_rows"].tolist() == [2, 1, 0]
    assert len(wide) == len(people)
    for rows, counts in ((people.iloc[1:], [1, 0]), (people.iloc[[0, 0]], [2, 2])):
        again = dfjoin.auto_join(rows.reset_index(drop=True), _report(wide)["plan"])
        assert list(again) == list(wide) and again["trade_rows"].tolist() == counts, "the plan counts as the join did"


def test_many_to_many_is_refused_over_a_lake_and_warned_of_elsewhere(build, people, frames):
    lake = build({"trade": frames["trade"]})
    with pytest.warns(DfjoinWarning, match="m:m: keys stand in several rows on both sides"):
        wide = people.auto_join(lake, on="land")
    pd.testing.assert_frame_equal(wide, people)
    assert "pass aggregate=None for every pair" in _reasons(wide)["trade", "from"]
    warned = r"the join with trade on land = from is m:m: keys stand in several rows on both sides"
    with pytest.warns(DfjoinWarning, match=warned):
        assert len(people.auto_join(lake, on="land", aggregate=None)) == 6
    with pytest.warns(DfjoinWarning, match=warned):
        wide = people.auto_join(dfjoin.discover_joinable(people, "land", lake))
    assert list(wide) == ["name", "land", "goods"], "rows are counted on 1:m only"
    with pytest.warns(DfjoinWarning, match=warned):
        people.auto_join(_report(wide)["plan"])
    with pytest.warns(DfjoinWarning, match="the join with the other frame on land = from is m:m.*more columns"):
        people.auto_join(frames["trade"], on="land", right_on="from")


@pytest.mark.parametrize("aggregate", ["first", {"goods": "nunique"}])
def test_many_to_many_is_joined_with_a_table_that_is_named_with_a_rule(build, people, frames, aggregate):
    """As picked hits and frames are."""
    lake = build({"trade": frames["trade"]})
    warned = r"the join with trade on land = from is m:m: keys stand in several rows on both sides"
    with pytest.warns(DfjoinWarning, match=warned):
        wide = people.auto_join(lake, on="land", tables=["trade"], aggregate=aggregate)
    with pytest.warns(DfjoinWarning, match=warned):
        want = people.auto_join(people.discover_joinable("land", lake), aggregate=aggregate)
    pd.testing.assert_frame_equal(wide, want)
    assert len(wide) == len(people) and wide["goods"].notna().any()
    for options in ({"aggregate": aggregate}, {"tables": ["trade"]}):
        with pytest.warns(DfjoinWarning, match="name the table and a rule"):
            assert list(people.auto_join(lake, on="land", **options)) == list(people)


def test_names_say_what_a_table_is_about_where_days_or_years_are_the_key(build):
    days = pd.date_range("2021-03-01", periods=30)
    frame = pd.DataFrame({"day": days, "unit": "NA", "country": "Spain", "deaths": [i * 1.5 for i in range(30)]})
    lake = build({"covid": frame, "offices": frame.assign(day=[f"office {i}" for i in range(30)])})
    df = pd.DataFrame({"on": days[3:20], "v": 0.5})
    assert list(df.auto_join(lake, on="on")) == ["on", "v", "deaths__Spain"]
    df = pd.DataFrame({"office": [f"office {i}" for i in range(3, 20)]})
    assert list(df.auto_join(lake, on="office")) == ["office", "deaths"]


def test_columns_that_say_nothing_are_brought_only_when_named(build):
    frame = pd.DataFrame(
        {
            "rownames": range(11, 15), "k": list("pqrs"), "planet": ["Earth"] * 4, "none": [None] * 4,
            "some": ["yes", None, None, None], "v": [1.5, 2.5, 3.5, 4.5], "Unnamed: 0": list("abcd"),
        }
    )  # fmt: skip
    df, lake = pd.DataFrame({"a": list("pqr")}), build({"t": frame, "empty": frame[["k", "planet"]]})
    wide = df.auto_join(lake, on="a", k=2)
    assert list(wide) == ["a", "some", "v"]
    (step,) = _report(wide)["joined"]
    left_out = {"rownames": "row names", "planet": "one value, 'Earth'", "none": "no value", "Unnamed: 0": "row names"}
    assert step["left_out"] == left_out and _reasons(wide) == {("empty", "k"): "it has no other columns"}
    text = "  left out: rownames (row names), planet (one value, 'Earth'), none (no value), Unnamed: 0 (row names); name them"
    assert text in str(dfjoin.report(wide))
    pd.testing.assert_frame_equal(df.auto_join(_report(wide)["plan"]), wide)
    hits = df.discover_joinable("a", lake, tables="t")
    named = df.auto_join(hits, columns=["planet", "rownames"])
    assert list(named) == ["a", "planet", "rownames"] and "left_out" not in _report(named)["joined"][0]
    assert "planet" in df.auto_join(lake, on="a", aggregate={"planet": "first"})
    assert list(df.auto_join(frame, on="a", right_on="k")) == ["a", *frame.columns.drop("k")], "a given frame is whole"


def test_names_that_say_nothing_alone_get_the_stem_of_the_table(build):
    frame = pd.DataFrame({"k": list("pqr"), "1995": [1.5, 2.5, 3.5], "value": [4, 6, 9], "area": [5.5, 6.5, 7.5]})
    df, lake = pd.DataFrame({"a": list("pqr")}), build({"land/people.csv": frame})
    wide = df.auto_join(lake, on="a")
    assert list(wide) == ["a", "1995__people", "value__people", "area"]
    pd.testing.assert_frame_equal(df.auto_join(_report(wide)["plan"]), wide)
    assert list(df.auto_join(lake, on="a", columns=["value"])) == ["a", "value"], "as it was asked for"
    assert list(df.auto_join(frame, on="a", right_on="k"))[1:] == ["1995", "value", "area"], "a frame has no name"


def test_rules_are_told_where_something_was_made_one(build):
    df, lake = pd.DataFrame({"a": list("pqr")}), build({"t": pd.DataFrame({"k": list("pqr"), "v": [1, 2, 4]})})
    assert str(dfjoin.report(df.auto_join(lake, on="a"))).splitlines()[-1] == "  columns: v"


def test_keys_of_codes_keep_their_zeros(example_lake):
    df = pd.DataFrame({"zip": ["02108", "10001", "2108"]})
    hits = dfjoin.discover_joinable(df, "zip", example_lake, rank="matched")
    wide = dfjoin.auto_join(df, hits.iloc[[0]])
    found = wide.iloc[:, 1].notna().tolist()
    assert found == [True, True, False]


def test_padded_candidates_join_numbers_that_lost_their_zeros(example_lake):
    df = pd.DataFrame({"zip": [2108, 10001, 99999]})
    hits = dfjoin.discover_joinable(df, "zip", example_lake, pad=5, rank="matched")
    wide = dfjoin.auto_join(df, hits.iloc[[0]])
    assert wide.iloc[:, 1].notna().tolist() == [True, True, False]
    assert wide["zip"].tolist() == [2108, 10001, 99999]
    again = dfjoin.auto_join(df, _report(wide)["plan"])
    pd.testing.assert_frame_equal(again, wide)


@pytest.mark.parametrize("on", ["zip", None])
def test_pad_over_a_lake_is_in_the_plan_too(build, on):
    lake = build({"zips": pd.DataFrame({"code": ["00501", "02134", "10001"], "city": ["Holtsville", "Boston", "NY"]})})
    df = pd.DataFrame({"zip": [501, 2134, 99999]})
    with pytest.warns(DfjoinWarning, match="or pass `pad=5`"):
        df.auto_join(lake, on=on, on_no_match="ignore")
    wide = df.auto_join(lake, on=on, pad=5)
    assert wide["city"].tolist()[:2] == ["Holtsville", "Boston"] and wide["city"].isna().tolist()[2]
    plan = _report(wide)["plan"]
    assert plan["steps"][0]["pad"] == 5
    pd.testing.assert_frame_equal(df.auto_join(plan), wide)
    plan["steps"][0]["pad"] = "5"
    with pytest.raises(InvalidParameterError, match="`pad` of a step is a number of digits"):
        df.auto_join(plan)


@pytest.mark.parametrize("dayfirst", [True, False])
def test_dayfirst_over_a_lake_is_in_the_plan_too(build, dayfirst):
    days = ["2024-04-03", "2024-06-05", "2024-03-04", "2024-05-06"]
    lake = build({"days": pd.DataFrame({"day": days, "v": [1.5, 2.5, 3.5, 4.5]})})
    df = pd.DataFrame({"d": ["03/04/2024", "05/06/2024"]})
    wide = df.auto_join(lake, on="d", dayfirst=dayfirst)
    assert wide["v"].tolist() == ([1.5, 2.5] if dayfirst else [3.5, 4.5])
    pd.testing.assert_frame_equal(df.auto_join(_report(wide)["plan"]), wide)


def test_accessor_and_namespace_are_the_function(people, lake):
    expected = dfjoin.auto_join(people, lake, on="land")
    pd.testing.assert_frame_equal(people.auto_join(lake, on="land"), expected)
    pd.testing.assert_frame_equal(people.dfjoin.auto_join(lake, on="land"), expected)


def test_a_dict_of_frames_is_no_plan():
    df = pd.DataFrame({"code": ["a"]})
    text = (
        r"`other` must be one frame, .*got a dict of frames; pass the frame itself \(df.auto_join\(frames\['base'\]\)\)"
    )
    for arguments in ({}, {"on": "code"}):
        with pytest.raises(InvalidTypeError, match=text):
            df.auto_join({"base": df}, **arguments)


def test_a_frame_without_columns_has_none():
    df = pd.DataFrame({"code": ["a"]})
    with pytest.raises(ColumnNotFoundError, match=r"none.*'code'"):
        df.auto_join(df[[]], on="code")


def test_a_row_or_a_column_is_told_how_to_be_a_frame(people, lake):
    hits = people.discover_joinable("land", lake, min_score=0)
    with pytest.raises(InvalidTypeError, match=r"got a row of a result; pick it as a frame: hits.iloc\[\[0\]\] in the"):
        people.auto_join(hits.iloc[0])
    with pytest.raises(InvalidTypeError, match=r"got a Series; make it a frame with its key: series.reset_index\(\)"):
        people.auto_join(people["land"])
