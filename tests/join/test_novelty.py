"""The frame's own table, and copies of it, are not joined to it."""

import tempfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import DfjoinWarning
from dfjoin.join.keys import KeyColumns
from dfjoin.join.lakes.lake_candidates import IndexedKey, adds_columns, adds_columns_by_index
from dfjoin.types import IndexSettings
from tests.oracles.join import adds_columns as oracle_adds_columns

SETTINGS = IndexSettings()


def _asks(df, right, left_codes=None, right_codes=None):
    left_codes = np.arange(len(df)) if left_codes is None else np.array(left_codes, np.int64)
    right_codes = np.arange(len(right)) if right_codes is None else np.array(right_codes, np.int64)
    return adds_columns(KeyColumns(df, SETTINGS), left_codes, right, right_codes)


def test_the_same_column_is_not_new_whatever_its_name_case_and_type():
    df = pd.DataFrame({"a": ["x", "Y", "z"], "n": [1, 2, 3]})
    assert not _asks(df, pd.DataFrame({"other": ["X", "y ", "Z"]}))
    assert not _asks(df, pd.DataFrame({"other": ["1", "2.0", "3"]}))


def test_one_other_column_is_enough():
    df = pd.DataFrame({"a": ["x", "y", "z"]})
    assert _asks(df, pd.DataFrame({"copy": ["x", "y", "z"], "new": [7, 8, 9]}))


def test_the_same_values_on_other_rows_are_new():
    df = pd.DataFrame({"a": ["x", "y", "z"]})
    assert _asks(df, pd.DataFrame({"b": ["z", "x", "y"]}))
    assert not _asks(df, pd.DataFrame({"b": ["z", "x", "y"]}), [0, 1, 2], [2, 0, 1])


def test_one_other_cell_is_enough():
    right = pd.DataFrame({"b": ["x", "y", "x"]})
    for order in ([0, 1, 2], [1, 0, 2], [2, 1, 0]):
        for place in range(3):
            cells = [right["b"][order.index(key)] for key in range(3)]
            assert not _asks(pd.DataFrame({"a": cells}), right, right_codes=order)
            cells[place] = "y" if cells[place] == "x" else "x"
            assert _asks(pd.DataFrame({"a": cells}), right, right_codes=order)


def test_flags_are_compared_row_by_row():
    df = pd.DataFrame({"a": ["yes", "no", "no"]})
    assert _asks(df, pd.DataFrame({"b": ["no", "yes", "no"]}))
    assert not _asks(df, pd.DataFrame({"b": ["Yes", "No", "No"]}))


def test_nothing_to_bring_is_nothing_new():
    df = pd.DataFrame({"a": ["x", "y"]})
    assert not _asks(df, pd.DataFrame({"b": [None, None]}))
    assert not _asks(df, pd.DataFrame(index=range(2)))


def test_only_rows_with_a_partner_are_compared():
    df = pd.DataFrame({"a": ["x", "y", "alone"]})
    assert not _asks(df, pd.DataFrame({"A": ["x", "y"]}), [0, 1, 2], [0, 1])
    assert not _asks(df, pd.DataFrame({"A": ["x", "y"]}), [0, 1, -1], [0, 1])


def test_several_rows_of_a_key_hold_the_frames_value():
    df = pd.DataFrame({"a": ["x", "y"]})
    right = pd.DataFrame({"a": ["x", "q", "y", "r"]})
    assert not _asks(df, right, [0, 1], [0, 0, 1, 1])
    assert _asks(pd.DataFrame({"a": ["q", "r"]}), right, [1, 0], [0, 0, 1, 1])


def test_values_of_one_or_two_keys_under_another_name_are_equal_by_accident(build):
    cities = pd.DataFrame({"city": ["Rome", "Oslo", "Lima", "Bonn"], "schools": [3, 4, 5, 6]})
    lake = build({"cities": cities})
    rooms = pd.DataFrame({"city": ["Lima", "Oslo", "Lima", "Rome"], "rooms": [5, 4, 5, 3]})
    for n_rows, n_keys in ((1, 1), (2, 2), (3, 2)):
        some = rooms.head(n_rows)
        assert some["city"].nunique() == n_keys
        pd.testing.assert_frame_equal(dfjoin.auto_join(some, lake, on="city"), some.merge(cities), check_dtype=False)
        same = some.rename(columns={"rooms": "Schools"})
        assert list(dfjoin.auto_join(same, lake, on="city", on_no_match="ignore")) == ["city", "Schools"]
    assert list(dfjoin.auto_join(rooms, lake, on="city", on_no_match="ignore")) == ["city", "rooms"], "three keys"


def test_lists_have_no_text_and_are_passed_over():
    df = pd.DataFrame({"a": ["x", "y"]})
    assert not _asks(df, pd.DataFrame({"b": [[1], [2]]}))


@pytest.fixture
def frame():
    return pd.DataFrame({"city": ["Rome", "Oslo", "Lima", "Bonn"], "people": [10, 20, 30, 40], "zone": list("abcd")})


def test_own_table_and_copies_drop_out_of_a_lake_join(build, frame):
    shuffled = frame.sample(frac=1, random_state=1)
    lake = build(
        {
            "own": frame,
            "copy": frame.rename(columns=str.upper),
            "shouted": frame.assign(city=frame["city"].str.upper()),
            "shuffled": shuffled,
            "part": frame[["city", "zone"]],
            "river": pd.DataFrame({"city": frame["city"], "river": ["Tiber", "Alna", "Rimac", "Rhine"]}),
        }
    )
    wide = dfjoin.auto_join(frame, lake, on="city", k=6)
    report = wide.attrs["dfjoin"]
    assert [step["table"] for step in report["joined"]] == ["river"]
    assert list(wide) == [*frame, "river"]
    reasons = {p["table"]: p["reason"] for p in report["passed_over"] if p["column"].casefold() == "city"}
    assert set(reasons) == {"own", "copy", "shouted", "shuffled", "part"}
    assert all("nothing new" in reason for reason in reasons.values())


def test_a_lake_of_copies_leaves_the_frame_unchanged(build, frame):
    lake = build({"own": frame, "again": frame})
    with pytest.warns(DfjoinWarning, match="brings nothing new"):
        wide = dfjoin.auto_join(frame, lake, on="city", k=3)
    pd.testing.assert_frame_equal(wide, frame)


def test_a_copy_of_a_table_that_was_just_joined_drops_out(build, frame):
    rivers = pd.DataFrame({"city": frame["city"], "river": ["Tiber", "Alna", "Rimac", "Rhine"]})
    lake = build({"one": rivers, "two": rivers, "three": rivers.assign(depth=[5.5, 6.5, 7.5, 8.5])})
    wide = dfjoin.auto_join(frame, lake, on="city", k=3, aggregate=None)
    assert len([c for c in wide if c.startswith("river")]) <= 2
    tables = [step["table"] for step in wide.attrs["dfjoin"]["joined"]]
    assert "three" in tables
    assert not {"one", "two"} <= set(tables)


def test_picked_candidates_are_joined_even_if_they_bring_nothing(build, frame):
    lake = build({"own": frame})
    hits = dfjoin.discover_joinable(frame, "city", lake, rank="matched")
    wide = dfjoin.auto_join(frame, hits.iloc[[0]], aggregate=None)
    assert list(wide) == [*frame, "people__own", "zone__own"]


def test_other_ranks_of_the_same_teams_are_joined(build):
    teams = [f"team {i}" for i in range(20)]
    now = pd.DataFrame({"team": teams, "rank": range(1, 21)})
    lake = build({"now": now, "before": pd.DataFrame({"team": teams, "rank": [*range(11, 21), *range(1, 11)]})})
    wide = dfjoin.auto_join(now, lake, on="team", k=2)
    assert [step["table"] for step in wide.attrs["dfjoin"]["joined"]] == ["before"]
    assert wide["rank__before"].tolist() == [*range(11, 21), *range(1, 11)]


# From the index alone ---------------------------------------------------------------------------------------

VALUES = st.sampled_from([None, "a", "B", "c", "d", "E", "f", "1", "2", "3", "4"])


@st.composite
def tables(draw, names):
    n_rows = draw(st.integers(1, 6))
    return {name: draw(st.lists(VALUES, min_size=n_rows, max_size=n_rows)) for name in names}


@given(tables("ab"), tables("xyz"), st.booleans(), st.sampled_from([[], ["x", "y"], ["x", "y", "z"]]))
def test_what_the_index_tells_is_what_the_rows_tell(left, right, keeps_all, copied):
    for own, other in zip("aba", copied, strict=False):  # columns of its own in the table are what this is about
        right[other] = (left[own] * 6)[: len(right["z"])]
    df, table = pd.DataFrame(left, dtype=object), pd.DataFrame(right, dtype=object)
    columns = KeyColumns(df, SETTINGS)
    values = columns.values(0)
    index = columns.index(["a"])
    with tempfile.TemporaryDirectory() as folder:
        lake = dfjoin.build_lake({"t": table}, f"{folder}/lake", engine="inline", progress=False)
        key = IndexedKey(lake.snapshot, "t", "x", values)
        told = adds_columns_by_index(columns, key, ["y", "z"], keeps_all) if len(values) else None
    parts = KeyColumns(table, SETTINGS).parts(["x"])
    codes = index.match_all(parts)[0] if keeps_all else index.match(parts)
    kept = np.arange(len(table)) if keeps_all else np.flatnonzero(codes >= 0)
    seen = adds_columns(columns, index.codes, table[["y", "z"]].iloc[kept], codes[kept])
    assert seen == oracle_adds_columns(left, right, ("a", "x"), keeps_all)
    has_partner = np.isin(index.codes, codes[codes >= 0]) & (index.codes >= 0)
    assert told in (None, seen) or not has_partner.any()


def _told(build, df, table, brought, keeps_all=False):
    columns = KeyColumns(df, SETTINGS)
    key = IndexedKey(build({"t": table}).snapshot, "t", "k", columns.values(0))
    return adds_columns_by_index(columns, key, brought, keeps_all)


def test_the_index_tells_of_new_values_and_not_of_their_rows(build):
    df = pd.DataFrame({"k": list("abcd"), "v": ["p", "q", "r", "s"]})
    table = pd.DataFrame({"k": list("abcd"), "same": ["P", "q", "R", "s"], "new": ["p", "q", "r", "t"]})
    assert _told(build, df, table, ["same"]) is None
    assert _told(build, df, table, ["same", "new"]) is True
    assert _told(build, df, table, ["new"]) is True


def test_the_index_leaves_open_what_only_rows_tell(build):
    df = pd.DataFrame({"k": list("abcd"), "v": ["p", "q", "r", "s"], "flag": ["x", "y", "y", "y"]})
    table = pd.DataFrame(
        {
            "k": list("abcde"),
            "same": ["p", "q", "r", "s", "s"],
            "more": ["p", "q", "r", "s", "t"],
            "float": [0.5, 1.5, 2.5, 3.5, 4.5],
            "gap": ["t", "u", None, None, None],
            "flag": list("xyyxx"),
            "nothing": [None] * 5,
        }
    )
    for name in ("same", "more", "float", "gap", "flag"):
        assert _told(build, df, table, [name]) is None, name
    assert _told(build, df, table.iloc[:4], ["gap"]) is True, "no row is without partner, so it has a value"
    assert _told(build, df, table.iloc[:4], ["flag"]) is None, "two values are the same two whatever the rows"
    assert _told(build, df, table, ["same"], keeps_all=True) is None, "the same values may stand on other rows"
    assert _told(build, df, table, ["nothing"]) is False
    assert _told(build, df, table.assign(k=["a", "b", "c", "d", None]), ["same"]) is None, "the last row has no partner"
