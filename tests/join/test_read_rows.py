"""Reading the rows of a lake's table that join: in batches of any size the same."""

import datetime
import decimal
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dfjoin
from dfjoin.join.keys import KeyColumns
from dfjoin.join.plan import JoinStep
from dfjoin.join.rows.read_rows import link_keys, read_rows
from dfjoin.programs.program import Program
from dfjoin.store.table import LakeTable
from dfjoin.transform.evidence.transform_join import RankedProgram, TransformJoin
from dfjoin.transform.find_programs import find_programs

NAMES = ["Adler, Ann", "Brook, Bea", "Crane, Cid", "Drake, Dan", "Eagle, Eve", "Finch, Fay", "Goose, Gus", "Heron, Hal"]
PEOPLE = [" ".join(name.split(", ")[::-1]) for name in NAMES]


@pytest.fixture
def small_batches(monkeypatch):
    """Let every file be read in batches of three rows, from here on."""
    batches = LakeTable.batches

    def cut(self, columns, *rows):
        for batch in batches(self, columns, *rows):
            yield from (batch.slice(begin, 3) for begin in range(0, batch.num_rows, 3))

    return lambda: monkeypatch.setattr(LakeTable, "batches", cut)


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    keys = ["Peru", "Togo", None, "peru", "Chad", "Oman", "Togo", "Mali", "chad", "PERU", "Fiji"]
    areas = pd.DataFrame({"country": keys, "n": np.arange(11) * 1.5, "note": ["x", None] * 5 + ["y"]})
    areas.to_csv(folder / "areas.csv", index=False)
    areas.to_parquet(folder / "areas.parquet", index=False)
    staff = pd.DataFrame({"person": [*PEOPLE, PEOPLE[2], None, "Zoe Zander"], "wage": range(11)})
    staff.sample(frac=1, random_state=3).to_csv(folder / "staff.csv", index=False)
    index = tmp_path / "lake.dfjoin"
    return dfjoin.build_lake(folder, index, engine="inline", progress=False, settings={"patterns": True})


@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
@pytest.mark.parametrize("aggregate", ["auto", "first", None])
@pytest.mark.parametrize("table", ["areas.csv", "areas.parquet"])
def test_equal_keys(lake, small_batches, table, how, aggregate):
    df = pd.DataFrame({"land": ["chad", "mali", None, "PERU", "Narnia"]})
    hits = dfjoin.discover_joinable(df, "land", lake, rank="matched")
    picked = hits[hits["table"] == table]
    options = {"how": how, "aggregate": aggregate, "max_expansion": 100}
    whole = dfjoin.auto_join(df, picked, **options)
    small_batches()
    pd.testing.assert_frame_equal(dfjoin.auto_join(df, picked, **options), whole)
    assert whole["n"].notna().sum() >= 3


@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
@pytest.mark.parametrize("aggregate", ["first", None])
def test_keys_that_a_program_relates(lake, small_batches, how, aggregate):
    df = pd.DataFrame({"name": [*NAMES, "Nobody, At All", None]})
    hits = dfjoin.discover_joinable(df, "name", lake, mode="transform", rank="matched").iloc[[0]]
    whole = dfjoin.auto_join(df, hits, how=how, aggregate=aggregate)
    small_batches()
    pd.testing.assert_frame_equal(dfjoin.auto_join(df, hits, how=how, aggregate=aggregate), whole)
    n_rows = {"left": 10, "inner": 8, "right": 10, "outer": 12}[how] + (aggregate is None)
    assert len(whole) == n_rows


def test_dates_are_read_as_the_whole_column_was(tmp_path, small_batches):
    folder = tmp_path / "data"
    folder.mkdir()
    days = ["31/12/2020", "30/11/2020", "29/10/2020", "unknown", "01/02/2020"]
    pd.DataFrame({"day": days, "n": range(5)}).to_csv(folder / "t.csv", index=False)
    lake = dfjoin.build_lake(folder, tmp_path / "lake", engine="inline", progress=False)
    df = pd.DataFrame({"when": ["unknown", "31/12/2020", "29/10/2020"]})
    small_batches()
    assert dfjoin.auto_join(df, lake, on="when", aggregate=None)["n"].tolist() == [3, 0, 2]


def _read(lake, links, keeps_all=False):
    df = pd.DataFrame({"land": ["chad", "Narnia"], "note": ["y", "none"]})
    left, table = KeyColumns(df, lake.snapshot.settings), LakeTable(lake.snapshot, "areas.csv")
    made = [link_keys(left, table, JoinStep([own], "areas.csv", [name], ["n"])) for own, name in links]
    return made, read_rows(table, made, keeps_all)


def test_only_rows_that_join_are_kept(lake):
    (link,), rows = _read(lake, [("land", "country")])
    assert [batch.num_rows for batch in rows.batches] == [2]
    assert rows.columns == ["country", "n"]
    assert rows.keys["country"].values() == ["chad"], "values of other rows are not held"
    right = link.right_side(rows, keeps_all=False)
    assert right.frame.to_dict("list") == {"n": [6.0, 12.0]}
    assert right.codes.tolist() == [0, 0] and right.n_keys == 2


def test_several_keys_are_read_at_once(lake, small_batches):
    small_batches()
    links, rows = _read(lake, [("land", "country"), ("note", "note")])
    by_land, by_note = (link.right_side(rows, keeps_all=False) for link in links)
    np.testing.assert_array_equal(by_land.frame["n"], [6.0, 12.0])
    np.testing.assert_array_equal(by_note.frame["n"], [15.0])


def test_all_rows_are_kept_when_the_right_side_is(lake):
    (link,), rows = _read(lake, [("land", "country")], keeps_all=True)
    right = link.right_side(rows, keeps_all=True)
    assert len(right.frame) == 11 and right.codes[2] == -1
    assert right.n_keys == 2 + 5, "peru, togo, oman, mali and fiji are new"


@pytest.mark.parametrize("direction", ["left_to_right", "right_to_left"])
def test_rows_of_every_program_are_kept(lake, direction):
    source, target = ("own", "person") if direction == "left_to_right" else ("person", "own")
    own, theirs = (NAMES, PEOPLE) if direction == "left_to_right" else (PEOPLE, NAMES)
    examples = list(zip(own, theirs, strict=True))[:3]
    found = find_programs({source: pa.array(own)}, {target: pa.array(theirs)}, examples=examples)
    assert found.source_columns == (source,)
    programs = [found.programs[0].program, Program.identity(source)]
    df = pd.DataFrame({"own": [NAMES[0], PEOPLE[1]]})
    ranked = tuple(RankedProgram(program, 1, 0.5, 1.0, 20.0) for program in programs)
    join = TransformJoin(direction, (source,), (target,), Program.identity(target), ranked)
    for relation in (join, replace(join, programs=ranked[::-1])):
        step = JoinStep(["own"], "staff.csv", ["person"], ["wage"], relation=relation.to_dict())
        wide = dfjoin.auto_join(df, dfjoin.JoinPlan((replace(step, aggregate="first"),), index=str(lake.path)))
        assert wide["wage"].tolist() == [0, 1]


@pytest.mark.parametrize("keys", [["k1", "k2"], ["k1"], ["other"]], ids=["two", "one null", "none"])
def test_dtypes_are_those_of_the_columns_whichever_rows_match(tmp_path, keys):
    table = pa.table(
        {
            "k": ["k1", "k2", "k3", "k4"],
            "price": pa.array([None, 2, 3, 4], pa.decimal128(9, 2)),
            "day": pa.array([None, 1, 2, 3], pa.date32()),
            "count": pa.array([None, 1, 2, 3], pa.int64()),
        }
    )
    (tmp_path / "tables").mkdir()
    pq.write_table(table, tmp_path / "tables" / "t.parquet")
    made = dfjoin.build_lake(tmp_path / "tables", tmp_path / "index", engine="inline", progress=False)
    wide = pd.DataFrame({"k": ["k1", "k2", "k3"]}).auto_join(made, on="k", columns=["price", "day", "count"])
    plan = wide.attrs["dfjoin"]["plan"]
    again = pd.DataFrame({"k": keys}).auto_join(plan, on_no_match="ignore")
    assert again.dtypes.equals(wide.dtypes)
    assert wide.dtypes[["price", "day", "count"]].astype(str).tolist() == ["object", "object", "Int64"]
    assert wide["price"][1] == decimal.Decimal("2.00") and wide["day"][1] == datetime.date(1970, 1, 2)
