"""Joining tables of a lake: which candidates are taken, and what is read for that."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ColumnNotFoundError, DfjoinWarning, InvalidParameterError, InvalidTypeError, TableReadError
from dfjoin.join.lakes import lake_candidates, lake_join
from dfjoin.store.table import LakeTable

LAND = ["peru", "chad", "mali"]


def test_rules_for_columns_of_one_of_several_tables(build):
    lake = build(
        {
            "t": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "area": [1.5, 2.5, 3.5]}),
            "u": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "pop": [11, 12, 17]}),
        }
    )
    wide = dfjoin.auto_join(pd.DataFrame({"c": LAND}), lake, on="c", k=2, aggregate={"area": "max"})
    assert {"area", "pop"} <= set(wide)


def test_a_column_of_one_value_is_told_to_be_no_key_unless_it_is_named(build):
    lake = build({"t": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "area": [1.5, 2.5, 3.5]})})
    df = pd.DataFrame({"country": ["Peru", "Peru"]})
    with pytest.warns(DfjoinWarning, match="the first: column 'country' as a key: it has one value; name it by `on`"):
        assert list(dfjoin.auto_join(df, lake)) == ["country"]
    assert dfjoin.auto_join(df, lake, on="country")["area"].tolist() == [1.5, 1.5]


@pytest.mark.parametrize("is_picked", [False, True])
def test_a_rule_for_a_column_that_no_joined_table_has_is_an_error(build, is_picked):
    lake = build({"t": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "area": [1.5, 2.5, 3.5]})})
    df = pd.DataFrame({"c": LAND})
    other, on = (dfjoin.discover_joinable(df, "c", lake, rank="matched"), None) if is_picked else (lake, "c")
    text = r"`aggregate` must name columns of the joined tables \('t': 'area'\), got 'aera'; check the spelling"
    with pytest.raises(ColumnNotFoundError, match=text):
        dfjoin.auto_join(df, other, on=on, aggregate={"aera": "sum", "area": "sum"})
    with pytest.raises(InvalidParameterError, match=r"`aggregate` must be one of .*, got 'summ'"):
        dfjoin.auto_join(df, other, on=on, aggregate={"aera": "summ"})


def test_columns_of_a_lake_are_named_by_text(build):
    lake = build({"t": pd.DataFrame({"country": ["Peru", "Chad", "Mali"], "1": [1.5, 2.5, 3.5]})})
    with pytest.raises(InvalidTypeError, match="`columns` must name columns of the lake, which are text, got 1; write"):
        dfjoin.auto_join(pd.DataFrame({"c": LAND}), lake, on="c", columns=[1])


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


def test_a_picked_table_of_a_key_alone_is_counted(build):
    lake = build({"t": pd.DataFrame({"country": ["Peru", "Peru", "Mali"]})})
    df = pd.DataFrame({"c": LAND})
    wide = dfjoin.auto_join(df, dfjoin.discover_joinable(df, "c", lake, rank="matched"))
    assert wide["t_rows"].tolist() == [2, 0, 1]


def test_the_next_candidate_of_a_key_is_as_good_as_that_of_another_key(build):
    df = pd.DataFrame({"a": ["pp", "qq", "rr", "ss"], "b": ["ww", "xx", "yy", "zz"]})
    lake = build(
        {
            "copy": df,
            "first": pd.DataFrame({"k": ["pp", "qq", "rr", "ss", "tt"], "v": [1, 2, 3, 4, 5]}),
            "second": pd.DataFrame({"k": ["ww", "xx", "yy", "zz", "vv"], "v": [1, 2, 3, 4, 5]}),
        }
    )
    with pytest.raises(InvalidParameterError, match="the columns 'a', 'b' join equally well"):
        dfjoin.auto_join(df, lake)


def test_of_two_columns_that_play_roles_none_is_taken_silently(build):
    teams = ["Argentina", "Poland", "Croatia", "Mexico", "France", "Uruguay", "Portugal", "Denmark"]
    home = [*teams, "Senegal", "Tunisia"]  # one side is more useful: the other has teams that the table has not
    away = [*teams[3:], *teams[:3], "Scotland", "Wales"]
    lake = build({"lands": pd.DataFrame({"land": [*teams, "Senegal", "Tunisia", "Cuba"], "area": np.arange(11) * 1.5})})
    matches = pd.DataFrame({"home": home, "away": away, "goals": np.arange(10) * 0.5})
    with pytest.raises(InvalidParameterError, match=r"'home', 'away' hold the same things .* column 'land' of 'lands'"):
        dfjoin.auto_join(matches, lake)
    assert _joined(dfjoin.auto_join(matches, lake, on="away")) == [(["away"], "lands")]
    spelled = matches.assign(away=[*home[:9], "Tunisie"])  # the same in nearly all rows: one role
    assert _joined(dfjoin.auto_join(spelled, lake)) == [(["home"], "lands")]


FRUIT, TREES = ["pear", "quince", "rhubarb", "sloe"], ["willow", "hazel", "maple", "birch"]


@pytest.fixture
def on_disk(tmp_path):
    """A lake whose best table for `a` is better than that for `b`, and the folder of its files."""
    folder = tmp_path / "data"
    folder.mkdir()
    pd.DataFrame({"k": FRUIT, "v": [1, 2, 3, 4]}).to_csv(folder / "best.csv", index=False)
    pd.DataFrame({"k": TREES[:3], "w": [5, 6, 7]}).to_csv(folder / "second.csv", index=False)
    return folder, dfjoin.build_lake(folder, tmp_path / "lake", engine="inline", progress=False)


def _joined(wide):
    return [(step["on"], step["table"]) for step in wide.attrs["dfjoin"]["joined"]]


def test_a_changed_file_gives_way_to_the_best_of_another_key(on_disk):
    folder, lake = on_disk
    df = pd.DataFrame({"a": FRUIT, "b": TREES})
    assert _joined(dfjoin.auto_join(df, lake)) == [(["a"], "best.csv")]
    (folder / "best.csv").write_text("k,v\npear,1\n")
    assert _joined(dfjoin.auto_join(df, lake)) == [(["b"], "second.csv")]


def test_a_table_that_cannot_be_read_gives_way_as_well(on_disk, monkeypatch):
    _, lake = on_disk
    batches = LakeTable.batches

    def fail(self, *given):
        if self.name == "best.csv":
            raise TableReadError("torn")
        return batches(self, *given)

    monkeypatch.setattr(LakeTable, "batches", fail)
    df = pd.DataFrame({"a": FRUIT, "b": TREES})
    assert _joined(dfjoin.auto_join(df, lake)) == [(["b"], "second.csv")]
    wide = dfjoin.auto_join(df, lake, on="a", on_no_match="ignore")
    assert [p["reason"] for p in wide.attrs["dfjoin"]["passed_over"]] == ["it cannot be read: torn"]
    hits = dfjoin.discover_joinable(df, "a", lake, rank="matched")
    with pytest.raises(TableReadError, match=r"the table `best\.csv` cannot be read: torn"):
        dfjoin.auto_join(df, hits)


def test_what_is_told_of_a_changed_table_is_read_from_its_rows(on_disk):
    folder, lake = on_disk
    df = pd.DataFrame({"a": FRUIT, "n": [1, 2, 3, 4]})
    with pytest.warns(dfjoin.errors.DfjoinWarning, match="nothing new"):
        dfjoin.auto_join(df, lake, on="a")
    (folder / "best.csv").write_text("k,v\npear,9\nquince,2\nrhubarb,3\nsloe,4\n")
    assert dfjoin.auto_join(df, lake, on="a", on_stale="ignore", aggregate=None)["v"].tolist() == [9, 2, 3, 4]


def test_k_tables_are_joined_on_the_column_that_was_chosen(build):
    df = pd.DataFrame({"a": ["pp", "qq", "rr", "ss"], "b": ["ww", "xx", "yy", "zz"]})
    lake = build(
        {
            "one": pd.DataFrame({"k": ["pp", "qq", "rr", "ss"], "v": [1.5, 2.5, 3.5, 4.5]}),
            "two": pd.DataFrame({"k": ["pp", "qq", "rr"], "w": [6.5, 7.5, 8.5]}),
            "other": pd.DataFrame({"k": ["ww", "xx", "yy"], "u": [0.5, 0.25, 0.75]}),
        }
    )
    wide = dfjoin.auto_join(df, lake, k=5)
    assert _joined(wide) == [(["a"], "one"), (["a"], "two")]
    assert wide.attrs["dfjoin"]["n_passed_over"] == 0, "candidates of other columns are not told of"


def test_rows_that_an_earlier_table_dropped_have_no_part_in_a_later_one(build):
    df = pd.DataFrame({"a": FRUIT, "n": range(4)})
    lake = build(
        {
            "one": pd.DataFrame({"k": [*FRUIT[1:], "thyme"], "v": [1.5, 2.5, 3.5, 4.5]}),
            "two": pd.DataFrame({"k": ["pear", *FRUIT[:3], "yam", "zest"], "w": [6.5, 7.5, 8.5, 9.5, 0.5, 0.5]}),
        }
    )
    wide = dfjoin.auto_join(df, lake, on="a", k=2, how="inner", aggregate=None)
    assert _joined(wide) == [(["a"], "one"), (["a"], "two")]
    assert wide["n"].tolist() == [1, 2] and wide["w"].tolist() == [8.5, 9.5]
    first, second = wide.attrs["dfjoin"]["joined"]
    assert (first["matched"], first["containment"]) == (3, 0.75)
    assert (second["matched"], second["containment"]) == (2, 2 / 3), "of the three keys that were left"


@pytest.mark.parametrize("is_copy", [True, False])
def test_of_two_keys_that_tie_the_one_that_the_index_leaves_open_is_read(build, is_copy):
    numbers = [0.5, 1.5, 2.5, 3.5]
    df = pd.DataFrame({"a": ["pp", "qq", "rr", "ss"], "b": ["ww", "xx", "yy", "zz"], "n": numbers})
    lake = build(
        {
            "new": pd.DataFrame({"k": ["ww", "xx", "yy", "zz"], "v": [5.25, 6.25, 7.25, 8.25]}),
            "open": pd.DataFrame({"k": ["pp", "qq", "rr", "ss"], "m": numbers if is_copy else [9.5, *numbers[:3]]}),
        }
    )
    if is_copy:
        assert _joined(dfjoin.auto_join(df, lake)) == [(["b"], "new")]
    else:
        with pytest.raises(InvalidParameterError, match="the columns 'a', 'b' join equally well"):
            dfjoin.auto_join(df, lake)


def test_a_table_is_tried_on_its_first_column_only(build):
    df = pd.DataFrame({"a": list("pqrt"), "f": list("xyyx"), "h": list("rpqu"), "b": ["mist", "noon", "ore", "jade"]})
    copy = pd.DataFrame({"k": list("pqrt"), "k2": list("rpqu"), "g": list("xyyx")})
    lake = build({"copy": copy, "other": pd.DataFrame({"key": ["mist", "noon"], "d": [0.5, 1.5]})})
    hits = dfjoin.discover_joinable(df, "a", lake, rank="matched")
    assert hits["column"].tolist() == ["k", "k2"], "on the second column the flags are others, and thus new"
    assert _joined(dfjoin.auto_join(df, lake)) == [(["b"], "other")]
    wide = dfjoin.auto_join(df, lake, on="a", on_no_match="ignore")
    assert [(p["column"], p["table"]) for p in wide.attrs["dfjoin"]["passed_over"]] == [("k", "copy")]


# How far down the ranking -----------------------------------------------------------------------------------


def _days_and_useful(n_days, is_same=True):
    own = pd.DataFrame({"code": [f"C{i}" for i in range(30)], "v": range(30), "w": [i / 8 for i in range(30)]})
    day = own.rename(columns={"v": "value", "w": "weight"})  # under the frame's names it would come last
    days = {f"daily{i:04d}/t": day if is_same else day.sample(frac=1, random_state=i) for i in range(n_days)}
    useful = pd.DataFrame({"code": [f"C{i}" for i in range(40)], "region": [f"R{i}" for i in range(40)]})
    return own, days | {"useful": useful}


@pytest.fixture
def read_tables(monkeypatch):
    """The names of the tables that are read, in order."""
    names = []
    batches = LakeTable.batches
    monkeypatch.setattr(LakeTable, "batches", lambda self, *c: names.append(self.name) or batches(self, *c))
    return names


@pytest.mark.parametrize("on", ["code", None])
@pytest.mark.parametrize("is_same", [True, False])
def test_what_is_useful_is_joined_below_sixty_copies(build, read_tables, on, is_same):
    own, tables = _days_and_useful(60, is_same)
    wide = own.auto_join(build(tables), on=on)
    assert _joined(wide) == [(["code"], "useful")]
    assert wide.attrs["dfjoin"]["n_passed_over"] == 60
    if is_same:
        assert read_tables == ["daily0059/t", "useful"], "one of the copies, the last, tells of all"


def test_what_is_useful_is_joined_below_two_thousand_copies(build, read_tables):
    own, tables = _days_and_useful(2000)
    lake = build(tables)
    for on in ("code", None):
        assert _joined(own.auto_join(lake, on=on)) == [(["code"], "useful")]
        assert len(read_tables) == 2 and read_tables[1] == "useful", "one of the copies tells of all"
        read_tables.clear()


@pytest.mark.parametrize("on", ["code", None])
def test_after_its_time_a_join_says_what_it_did_not_look_at(build, monkeypatch, on):
    own, tables = _days_and_useful(60)
    monkeypatch.setattr(lake_candidates, "_SECONDS", -1.0)
    with pytest.warns(dfjoin.errors.DfjoinWarning, match="no acceptable candidate"):
        report = own.auto_join(build(tables), on=on).attrs["dfjoin"]
    assert not report["joined"] and report["n_passed_over"] == 51, "the first fifty are looked at in any case"
    monkeypatch.setattr(lake_join, "_FIRST_LOOK", 4)
    report = own.auto_join(build(tables), on=on, k=1, on_no_match="ignore").attrs["dfjoin"]
    assert report["n_passed_over"] == 11, "ten for each table that is wanted"
    first, *_, last = report["passed_over"]
    assert first["reason"] == "it brings nothing new: every column of it is in the frame already"
    assert last["reason"] == (
        "it and all below it were not looked at, since the join has looked for -1 s; "
        "search with discover_joinable(..., exclude=...), which leaves tables out, and join its result"
    )


def test_copies_whose_directories_differ_are_told_apart(tmp_path):
    for year in (2019, 2020):
        folder = tmp_path / "data" / f"t{year}" / f"year={year}"
        folder.mkdir(parents=True)
        pd.DataFrame({"k": list("pqrs"), "v": [1, 2, 3, 4]}).to_parquet(folder / "part.parquet")
    lake = dfjoin.build_lake(tmp_path / "data", tmp_path / "lake", engine="inline", progress=False)
    df = pd.DataFrame({"a": list("pqrs"), "n": [1, 2, 3, 4], "y": [2019] * 4})
    wide = dfjoin.auto_join(df, lake, on="a", columns=["v", "year"])
    assert wide["year"].tolist() == [2020] * 4


def test_a_joined_frame_gets_the_next_tables_and_never_the_same_again(build):
    lake = build(
        {
            "areas": pd.DataFrame({"country": LAND, "area": [1.25, 2.25, 3.25]}),
            "trade": pd.DataFrame({"country": LAND * 2, "value": range(6), "kind": list("aabbcd")}),
            "rivers": pd.DataFrame({"country": LAND, "river": ["Ene", "Chari", "Niger"]}),
        }
    )
    wide, joined = pd.DataFrame({"c": LAND}), []
    for _ in range(3):
        wide = wide.auto_join(lake, on="c")
        joined += [step["table"] for step in wide.attrs["dfjoin"]["joined"]]
    assert sorted(joined) == ["areas", "rivers", "trade"]
    with pytest.warns(DfjoinWarning, match="it was joined to the frame before; name the columns that you want of it"):
        assert list(wide.auto_join(lake, on="c")) == list(wide)
    assert "value" in wide.auto_join(lake, on="c", columns=["value"]), "other columns may be asked for"
