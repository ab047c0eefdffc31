"""Joining tables of a lake: which candidates are taken, and what is read for that."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError, TableReadError
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
    wide = dfjoin.auto_join(df, dfjoin.discover_joinable(df, "c", lake))
    assert wide["t_rows"].tolist() == [2, 0, 1]


def test_the_next_candidate_of_a_key_is_as_good_as_that_of_another_key(build):
    df = pd.DataFrame({"a": list("pqrs"), "b": list("wxyz")})
    lake = build(
        {
            "copy": df,
            "first": pd.DataFrame({"k": list("pqrst"), "v": [1, 2, 3, 4, 5]}),
            "second": pd.DataFrame({"k": list("wxyzv"), "v": [1, 2, 3, 4, 5]}),
        }
    )
    with pytest.raises(InvalidParameterError, match="the columns 'a', 'b' join equally well"):
        dfjoin.auto_join(df, lake)


@pytest.fixture
def on_disk(tmp_path):
    """A lake whose best table for `a` is better than that for `b`, and the folder of its files."""
    folder = tmp_path / "data"
    folder.mkdir()
    pd.DataFrame({"k": list("pqrs"), "v": [1, 2, 3, 4]}).to_csv(folder / "best.csv", index=False)
    pd.DataFrame({"k": list("wxy"), "w": [5, 6, 7]}).to_csv(folder / "second.csv", index=False)
    return folder, dfjoin.build_lake(folder, tmp_path / "lake", engine="inline", progress=False)


def _joined(wide):
    return [(step["on"], step["table"]) for step in wide.attrs["dfjoin"]["joined"]]


def test_a_changed_file_gives_way_to_the_best_of_another_key(on_disk):
    folder, lake = on_disk
    df = pd.DataFrame({"a": list("pqrs"), "b": list("wxyz")})
    assert _joined(dfjoin.auto_join(df, lake)) == [(["a"], "best.csv")]
    (folder / "best.csv").write_text("k,v\np,1\n")
    assert _joined(dfjoin.auto_join(df, lake)) == [(["b"], "second.csv")]


def test_a_table_that_cannot_be_read_gives_way_as_well(on_disk, monkeypatch):
    _, lake = on_disk
    batches = LakeTable.batches

    def fail(self, columns):
        if self.name == "best.csv":
            raise TableReadError("torn")
        return batches(self, columns)

    monkeypatch.setattr(LakeTable, "batches", fail)
    df = pd.DataFrame({"a": list("pqrs"), "b": list("wxyz")})
    assert _joined(dfjoin.auto_join(df, lake)) == [(["b"], "second.csv")]
    wide = dfjoin.auto_join(df, lake, on="a", on_no_match="ignore")
    assert [p["reason"] for p in wide.attrs["dfjoin"]["passed_over"]] == ["it cannot be read: torn"]
    hits = dfjoin.discover_joinable(df, "a", lake)
    with pytest.raises(TableReadError, match=r"the table `best\.csv` cannot be read: torn"):
        dfjoin.auto_join(df, hits)


def test_what_is_told_of_a_changed_table_is_read_from_its_rows(on_disk):
    folder, lake = on_disk
    df = pd.DataFrame({"a": list("pqrs"), "n": [1, 2, 3, 4]})
    with pytest.warns(dfjoin.errors.DfjoinWarning, match="nothing new"):
        dfjoin.auto_join(df, lake, on="a")
    (folder / "best.csv").write_text("k,v\np,9\nq,2\nr,3\ns,4\n")
    assert dfjoin.auto_join(df, lake, on="a", on_stale="ignore", aggregate=None)["v"].tolist() == [9, 2, 3, 4]


def test_k_tables_are_joined_on_the_column_that_was_chosen(build):
    df = pd.DataFrame({"a": list("pqrs"), "b": list("wxyz")})
    lake = build(
        {
            "one": pd.DataFrame({"k": list("pqrs"), "v": [1.5, 2.5, 3.5, 4.5]}),
            "two": pd.DataFrame({"k": list("pqr"), "w": [6.5, 7.5, 8.5]}),
            "other": pd.DataFrame({"k": list("wxy"), "u": [0.5, 0.25, 0.75]}),
        }
    )
    wide = dfjoin.auto_join(df, lake, k=5)
    assert _joined(wide) == [(["a"], "one"), (["a"], "two")]
    assert wide.attrs["dfjoin"]["n_passed_over"] == 0, "candidates of other columns are not told of"


def test_rows_that_an_earlier_table_dropped_have_no_part_in_a_later_one(build):
    df = pd.DataFrame({"a": list("pqrs"), "n": range(4)})
    lake = build(
        {
            "one": pd.DataFrame({"k": list("qrst"), "v": [1.5, 2.5, 3.5, 4.5]}),
            "two": pd.DataFrame({"k": list("ppqrxy"), "w": [6.5, 7.5, 8.5, 9.5, 0.5, 0.5]}),
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
    df = pd.DataFrame({"a": list("pqrs"), "b": list("wxyz"), "n": numbers})
    lake = build(
        {
            "new": pd.DataFrame({"k": list("wxyz"), "v": list("abcd")}),
            "open": pd.DataFrame({"k": list("pqrs"), "m": numbers if is_copy else [9.5, *numbers[:3]]}),
        }
    )
    if is_copy:
        assert _joined(dfjoin.auto_join(df, lake)) == [(["b"], "new")]
    else:
        with pytest.raises(InvalidParameterError, match="the columns 'a', 'b' join equally well"):
            dfjoin.auto_join(df, lake)


def test_a_table_is_tried_on_its_first_column_only(build):
    df = pd.DataFrame({"a": list("pqr"), "f": list("xyy"), "b": list("uvw")})
    copy = pd.DataFrame({"k": list("pqr"), "k2": list("rpq"), "g": list("xyy")})
    lake = build({"copy": copy, "other": pd.DataFrame({"key": list("uv"), "d": [0.5, 1.5]})})
    hits = dfjoin.discover_joinable(df, "a", lake)
    assert hits["column"].tolist() == ["k", "k2"], "on the second column the flags are others, and thus new"
    assert _joined(dfjoin.auto_join(df, lake)) == [(["b"], "other")]
    wide = dfjoin.auto_join(df, lake, on="a", on_no_match="ignore")
    assert [(p["column"], p["table"]) for p in wide.attrs["dfjoin"]["passed_over"]] == [("k", "copy")]
