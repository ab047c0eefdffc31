"""Texts that stand for nulls: one rule for the lake, for queries and for joins."""

import json

import numpy as np
import pandas as pd
import pytest

import dfjoin

LANDS = pd.DataFrame(
    {
        "iso": ["NA", "DE", "FR", "IT", "ES", "PT"],
        "area": ["825615", "357592", "-", "301340", "NA", "92230"],
        "head": ["Ada", "Bo", "NA", "Cy", "None", "Di"],
    }
)


@pytest.fixture
def lake(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    LANDS.to_csv(folder / "lands.csv", index=False)
    return dfjoin.build_lake(folder, tmp_path / "lake", engine="inline", progress=False)


def test_the_catalogue_shows_what_each_column_decided(lake):
    columns = lake.columns.set_index("column")
    assert {name: list(nulls) for name, nulls in columns["null_spellings"].items()} == {
        "area": ["-", "na"], "head": ["na", "none"], "iso": [],
    }  # fmt: skip
    assert columns.loc["area", ["kind", "n_null", "cardinality"]].tolist() == ["integer", 2, 4]
    assert list(columns.loc["area", "samples"]) == ["825615", "357592", "301340", "92230"]


def test_a_null_is_no_hit_and_a_code_is_one(lake):
    df = pd.DataFrame({"code": ["NA", "DE", "AT"], "text": ["NA", "x", "None"], "n": ["NA", "-", "7"]})
    assert (
        dfjoin.discover_joinable(df, "text", lake, rank="matched").empty
        and dfjoin.discover_joinable(df, "n", lake, rank="matched").empty
    )
    (hit,) = dfjoin.discover_joinable(df, "code", lake, rank="matched").itertuples()
    assert (hit.column, hit.matched, hit.query_cardinality) == ("iso", 2, 3)


def test_joined_columns_are_numbers_with_nulls(lake):
    df = pd.DataFrame({"code": ["NA", "FR", "ES", "PT"]})
    wide = df.auto_join(lake, on="code")
    assert str(wide["area"].dtype) == "float64" or str(wide["area"].dtype) == "Int64"
    np.testing.assert_array_equal(wide["area"].to_numpy(np.float64, na_value=np.nan), [825615, np.nan, np.nan, 92230])
    assert wide["head"].fillna("-").tolist() == ["Ada", "-", "-", "Di"]
    assert lake.table("lands.csv")["area"].isna().sum() == 2


def test_two_frames_follow_the_rule_too():
    left = pd.DataFrame({"k": ["a1", "NA", "b2"]})
    right = pd.DataFrame({"k": ["NA", "a1", "c3"], "v": [1.5, 2.5, 3.5]})
    assert left.auto_join(right, on="k")["v"].tolist()[0] == 2.5
    assert left.auto_join(right, on="k")["v"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize("spellings", [[""], ["", "NA"]])
def test_given_spellings_override_it(build, spellings):
    lake = build({"lands": LANDS}, settings={"null_spellings": spellings})
    assert not lake.info()["settings"]["null_evidence"] and not lake.columns["null_spellings"].map(len).any()
    is_null = "NA" in spellings
    assert len(dfjoin.discover_joinable(pd.DataFrame({"x": ["NA", "None"]}), "x", lake, k=9, rank="matched")) == (
        1 if is_null else 3
    )
    more = {"if_exists": "add", "engine": "inline", "progress": False}
    with pytest.raises(dfjoin.errors.IncompatibleSettingsError, match="null_spellings"):
        dfjoin.build_lake({"more": LANDS}, lake.path, settings={"null_spellings": ["", "x"]}, **more)
    dfjoin.build_lake({"more": LANDS}, lake.path, settings={"samples": 5, "null_spellings": spellings}, **more)


def test_an_index_of_before_keeps_its_rule(build):
    from dfjoin.index.components import manifest_path
    from dfjoin.index.manifest import seal

    lake = build({"lands": LANDS}, settings={"null_spellings": [""]})
    path = manifest_path(lake.path, 1)
    values = json.loads(path.read_text("utf-8"))
    del values["settings"]["null_evidence"], values["crc32"]
    path.write_text(seal(values), "utf-8")
    older = dfjoin.open_lake(lake.path)
    options = {"if_exists": "add", "settings": {"samples": 5}, "engine": "inline", "progress": False}
    older = dfjoin.build_lake({"more": LANDS}, lake.path, **options)
    assert not older.columns["null_spellings"].map(len).any()
    assert len(dfjoin.discover_joinable(pd.DataFrame({"x": ["NA", "None"]}), "x", older, k=9, rank="matched")) == 6


def test_a_table_of_several_batches_decides_once(build, monkeypatch):
    frame = pd.DataFrame({"k": [f"k{i}" for i in range(3000)], "n": ["NA"] * 1500 + [str(i) for i in range(1500)]})
    lake = build({"t": frame}, settings={"task_bytes": 1000})
    (column,) = lake.columns[lake.columns["column"] == "n"].itertuples()
    assert (column.kind, column.n_null, list(column.null_spellings)) == ("integer", 1500, ["na"])
    assert dfjoin.discover_joinable(pd.DataFrame({"q": ["NA", "x1", "x2"]}), "q", lake, rank="matched").empty
