"""``dfjoin search`` and ``dfjoin show``, and the formats of tables that commands print."""

import csv
import io
import json

import pandas as pd
import pytest

import dfjoin

LONG = "a/very/long/path/to/" + "x" * 80 + "/county_population"


@pytest.fixture
def index(build):
    counties = pd.DataFrame(
        {"county": ["Ada", "Bay", None], "people": ["5", "7", "NA"], "note, long": ["p" * 90, "q", "r"]}
    )
    return str(build({LONG: counties, "medals": pd.DataFrame({"country": ["Peru", "Chad"], "gold": [1, 2]})}).path)


def test_search_prints_whole_names(run, index):
    status, out, _ = run("search", index, "population", "by", "county")
    head, row = out.splitlines()
    assert status == 0 and head.split() == ["table", "score", "words", "columns", "n_rows", "n_columns"]
    assert row.startswith(LONG + " ") and row.split()[-3:] == ["county", "3", "3"]
    assert run("search", index, "xyzzy")[1] == "no table holds one of these words\n"


@pytest.mark.parametrize("flags", [["--json"], ["--format", "json"]])
def test_search_as_json(run, index, flags):
    (table,) = json.loads(run("search", index, "county", *flags)[1])["tables"]
    assert table["table"] == LONG and table["columns"] == ["county"] and table["score"] > 0


def test_csv_is_csv(run, index, tmp_path):
    rows = list(csv.DictReader(io.StringIO(run("search", index, "county", "--format", "csv")[1])))
    assert rows[0]["table"] == LONG
    rows = list(csv.DictReader(io.StringIO(run("show", index, LONG, "--format", "csv")[1])))
    assert [row["column"] for row in rows] == ["county", "people", "note, long"]
    pd.DataFrame({"land": ["peru", "chad"]}).to_csv(tmp_path / "t.csv", index=False)
    rows = list(
        csv.DictReader(io.StringIO(run("discover", index, tmp_path / "t.csv", "--on", "land", "--format", "csv")[1]))
    )
    assert [(row["table"], row["matched"]) for row in rows] == [("medals", "2")]
    rows = list(csv.DictReader(io.StringIO(run("info", index, "--tables", "--format", "csv")[1])))
    assert [row["table"] for row in rows] == [LONG, "medals"]


def test_show_tells_what_the_catalogue_says(run, index):
    status, out, _ = run("show", index, LONG)
    lines = out.splitlines()
    assert status == 0 and lines[0].startswith(f"{LONG}: 3 rows, 3 columns, ")
    assert lines[1].split() == ["column", "kind", "n_null", "cardinality", "min", "max", "samples"]
    assert lines[2].split() == ["county", "text", "1", "2", "ada", "bay", "Ada,", "Bay"]
    assert lines[3].split() == ["people", "integer", "1", "2", "5", "7", "5,", "7"]
    shown = json.loads(run("show", index, "medals", "--json")[1])
    assert shown["n_rows"] == 2 and [c["column"] for c in shown["columns"]] == ["country", "gold"]
    assert dfjoin.open_lake(index).describe("medals")["columns"]["cardinality"].tolist() == [2, 2]


def test_a_mistyped_table_gets_the_nearest_name_and_the_true_number(run, build):
    lake = build({f"t{i}/countries": pd.DataFrame({"a": ["x", f"{i}"]}) for i in range(9)})
    status, _, err = run("show", lake.path, "countires")
    assert status == 2 and "(9 in all)" in err and "did you mean 't0/countries'" in err
    with pytest.raises(dfjoin.errors.ColumnNotFoundError, match="did you mean 'country'"):
        pd.DataFrame({"country": ["a"]}).discover_joinable("contry", lake)
    with pytest.raises(dfjoin.errors.ColumnNotFoundError, match=r"got 'b'$"):
        lake.table("t0/countries", columns="b")
    assert "did you mean" not in run("show", lake.path, "qqqq")[2]
