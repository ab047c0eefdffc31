"""What a person leaves with: files that hold the table, and scripts that make it."""

import io
import json
import re

import openpyxl
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError
from dfjoin.page.leave_views import escaped_formulas, write_frame
from dfjoin.page.state_files import as_stored
from tests.page.conftest import PEOPLE

pytestmark = pytest.mark.usefixtures("own_temporary_files")  # of scripts


def run_script(text, folder, monkeypatch):
    """Run a script in a folder of its own; return its table."""
    monkeypatch.chdir(folder)
    names = {}
    exec(compile(text, "script.py", "exec"), names)
    return as_stored(names["df"])


@pytest.fixture
def parquet(client):
    return lambda state: pd.read_parquet(io.BytesIO(client.get(f"{state}/download/parquet").content))


@pytest.fixture(scope="module")
def long_way(client, wide):
    """A join, SQL and simple steps, one after the other."""
    state = client.post(f"{wide}/sql", data={"query": 'SELECT *,\n  2024 - born AS age -- """\nFROM t'}).url.path
    for form in (
        {"kind": "rename", "column": "continent", "name": "part of the 'world'"},
        {"kind": "filter", "column": "age", "operator": "≥", "value": "30"},
        {"kind": "retype", "column": "born", "type": "text"},
        {"kind": "sort", "columns": ["capital", "name"], "descending": "1"},
        {"kind": "drop", "columns": ["country"]},
    ):
        answer = client.post(f"{state}/change", data=form)
        assert answer.status_code == 200, answer.text
        state = answer.url.path
    return state


def test_the_script_makes_the_table(client, long_way, parquet, tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text(PEOPLE)
    table = parquet(long_way)
    assert table.columns.tolist() == ["name", "born", "capital", "part of the 'world'", "age"] and len(table) == 3
    assert table["capital"].tolist() == ["Tokyo", "Oslo", "Lima"]
    script = client.get(f"{long_way}/download/py").text
    pd.testing.assert_frame_equal(run_script(script, tmp_path, monkeypatch), table)
    imported = set(re.findall(r"^import (\w+)", script, re.MULTILINE))
    assert imported == {"tempfile", "duckdb", "pandas", "pyarrow", "dfjoin"}


def test_the_notebook_makes_the_table(client, long_way, parquet, tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text(PEOPLE)
    notebook = json.loads(client.get(f"{long_way}/download/ipynb").text)
    assert notebook["nbformat"] == 4 and all(cell["cell_type"] == "code" for cell in notebook["cells"])
    text = "\n".join("".join(cell["source"]) for cell in notebook["cells"])
    pd.testing.assert_frame_equal(run_script(text, tmp_path, monkeypatch), parquet(long_way))


def test_a_table_of_the_lake_and_reviewed_pairs_make_a_script(client, parquet, tmp_path, monkeypatch):
    start = client.post("/start", data={"table": "geo/capitals.csv"}).url.path
    form = {"on": "country", "table": "geo/countries.csv", "column": "country", "accept": "1"}
    state = client.post(f"{start}/review", data=form | {"left": "Chad", "right": "Chad", "answer.0": "no"}).url.path
    script = client.get(f"{state}/download/py").text
    table = parquet(state)
    assert table.loc[table["country"] == "Chad", "iso2"].isna().all() and table["iso2"].notna().sum() > 20
    pd.testing.assert_frame_equal(run_script(script, tmp_path, monkeypatch), table)


def test_an_uploaded_file_is_read_in_the_script_as_it_was_read_here(client, parquet, tmp_path, monkeypatch):
    content = "a;b\n1,5;x\n2,5;y\n"
    state = client.post("/upload", files={"file": ("odd name.csv", content.encode())}).url.path
    state = client.post(f"{state}/read", data={"delimiter": ";", "decimal": ",", "header": "1"}).url.path
    (tmp_path / "odd name.csv").write_bytes(client.get(f"{state}/download/source").content)
    table = parquet(state)
    assert table["a"].tolist() == [1.5, 2.5]
    pd.testing.assert_frame_equal(run_script(client.get(f"{state}/download/py").text, tmp_path, monkeypatch), table)


def test_there_is_a_script_for_spark_where_each_step_has_its_form(client, wide, long_way):
    text = client.get(f"{wide}/download/spark").text
    assert "spark_ext.enable(spark)" in text and "df.auto_join(plan | " in text
    compile(text, "spark.py", "exec")
    refused = client.get(f"{long_way}/download/spark")
    assert refused.status_code == 400 and "There is no script for Spark" in refused.text


@pytest.mark.spark
def test_the_script_for_spark_makes_the_table(client, wide, parquet, spark, tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text(PEOPLE)
    monkeypatch.chdir(tmp_path)
    state = client.post(f"{wide}/change", data={"kind": "rename", "column": "capital", "name": "seat"}).url.path
    names = {}
    exec(client.get(f"{state}/download/spark").text, names)
    made = names["df"].toPandas().sort_values("name", ignore_index=True)
    pd.testing.assert_frame_equal(made[parquet(state).columns], parquet(state), check_dtype=False)


ODD = pd.DataFrame(
    {
        "=header": ["=1+1", "+1", "-2", "@x", "\tx", "plain", None, "'quoted"],
        "n": [1, -2, 3, 4, 5, 6, 7, 8],
        "day": pd.to_datetime(["2024-01-02"] * 7 + [None]),
        "big": [2**60] * 8,
    }
)


def test_formulas_are_escaped_on_request_and_numbers_are_not():
    made = escaped_formulas(ODD)
    assert made.columns[0] == "'=header" and made["n"].tolist() == ODD["n"].tolist()
    assert made["'=header"].tolist()[:6] == ["'=1+1", "'+1", "'-2", "'@x", "'\tx", "plain"]
    assert made["'=header"].iloc[7] == "'quoted" and pd.isna(made["'=header"].iloc[6])


def here():
    return False


def test_excel_holds_texts_as_texts(tmp_path):
    write_frame(ODD, tmp_path / "t.xlsx", escapes=False, is_left=here)
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    cells = list(sheet.iter_rows(values_only=False))
    assert cells[0][0].value == "=header" and cells[0][0].data_type == "s"
    assert cells[1][0].value == "=1+1" and cells[1][0].data_type == "s" and cells[1][1].value == 1
    assert cells[1][2].value == pd.Timestamp("2024-01-02") and cells[8][2].value is None
    assert cells[1][3].value == str(2**60), "a number that Excel would round is a text"


def test_csv_and_parquet_hold_the_table(tmp_path):
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        write_frame(ODD, tmp_path / f"t.{ending}", escapes=False, is_left=here)
        assert read(tmp_path / f"t.{ending}")["n"].tolist() == ODD["n"].tolist()
    write_frame(ODD, tmp_path / "e.csv", escapes=True, is_left=here)
    assert (tmp_path / "e.csv").read_text().startswith("'=header,n,day,big\n'=1+1,1,")


def test_a_download_ends_when_the_person_leaves(tmp_path):
    for ending in ("csv", "xlsx"):
        with pytest.raises(InvalidParameterError, match="the download was cancelled"):
            write_frame(ODD, tmp_path / f"t.{ending}", escapes=False, is_left=lambda: True)


def test_excel_refuses_more_rows_than_it_has(tmp_path):
    many = pd.DataFrame({"a": range(1_048_576)})
    with pytest.raises(InvalidParameterError, match=r"Excel holds 1,048,575 rows .* take CSV or Parquet"):
        write_frame(many, tmp_path / "t.xlsx", escapes=False, is_left=here)


def test_other_formats_are_refused(client, wide):
    answer = client.get(f"{wide}/download/exe")
    assert answer.status_code == 400 and "`format` must be one of" in answer.text


def test_the_reviewed_pairs_decide_a_join_of_two_frames():
    left = pd.DataFrame({"a": ["Obama, Barack", "Bush, George", "Clinton, Bill", "Carter, Jimmy", "Ike"]})
    right = pd.DataFrame({"b": ["Bill Clinton", "Jimmy Carter", "George Bush", "Barack Obama", "D. Eisenhower"]})
    options = {"on": "a", "right_on": "b", "transform": True, "fuzzy": False}
    plain = dict(dfjoin.auto_join(left, right, **options)[["a", "b"]].itertuples(index=False))
    assert plain["Bush, George"] == "George Bush" and pd.isna(plain["Ike"])
    reviewed = [("Bush, George", "George Bush", False), ("Ike", "D. Eisenhower", True), ("nobody", "nothing", True)]
    made = dfjoin.auto_join(left, right, **options, reviewed=reviewed, indicator=True)
    after = dict(made[["a", "b"]].itertuples(index=False))
    assert pd.isna(after.pop("Bush, George")) and after.pop("Ike") == "D. Eisenhower"
    assert after == {key: plain[key] for key in after}
    assert made.set_index("a")["_match"]["Ike"] == "reviewed"
    assert made.attrs["dfjoin"]["joined"][0]["relation"]["n_keys"] == {
        "equal": 0, "program": 3, "fuzzy": 0, "reviewed": 1,
    }  # fmt: skip
    again = dfjoin.auto_join(left, right, **options, reviewed=[*reviewed, ("Bush, George", "George Bush", True)])
    assert dict(again[["a", "b"]].itertuples(index=False))["Bush, George"] == "George Bush", "the last answer counts"


def test_equal_keys_can_be_reviewed():
    left, right = pd.DataFrame({"a": ["x1", "y2", "z3"]}), pd.DataFrame({"b": ["x1", "y2", "z3"], "v": [1, 2, 3]})
    made = dfjoin.auto_join(left, right, on="a", right_on="b", reviewed=[("y2", "y2", False)])
    assert made["v"].isna().tolist() == [False, True, False]


def test_reviewed_pairs_need_single_keys_and_a_relation():
    people = (
        "Ada Lovelace,Alan Turing,Grace Hopper,Edsger Dijkstra,Barbara Liskov,Donald Knuth,Niklaus Wirth,Tony Hoare"
    )
    left = pd.DataFrame([name.split() for name in people.split(",")], columns=["a", "b"])
    with pytest.raises(
        dfjoin.errors.InvalidParameterError, match=r"`reviewed` needs keys of one column each, got a \+ b"
    ):
        dfjoin.auto_join(
            left,
            left.assign(b=left["b"] + "s"),
            on=["a", "b"],
            fuzzy=True,
            precision=0.5,
            reviewed=[("x1", "x1", False)],
        )
    other = pd.DataFrame({"c": ["quite", "another"], "v": [1, 2]})
    with pytest.warns(dfjoin.errors.DfjoinWarning, match="`reviewed` pairs are of keys that programs or similarity"):
        dfjoin.auto_join(left, other, on="a", right_on="c", reviewed=[("x1", "quite", True)], on_no_match="ignore")


@pytest.mark.parametrize("value", ["x", [("a", "b")], [("a", "b", 1)], [("a", 2, True)], [("\ud800", "b", True)]])
def test_reviewed_pairs_of_another_form_are_refused(value):
    frame = pd.DataFrame({"a": ["x"]})
    with pytest.raises(
        dfjoin.errors.InvalidTypeError, match=r"`reviewed` must be (a list of|triples of two texts and a bool,)"
    ):
        dfjoin.auto_join(frame, frame, on="a", reviewed=value)


def test_formulas_of_every_column_of_texts_are_escaped():
    frame = pd.DataFrame({"self": pd.Categorical(["=1+1", "x"]), "b": ["\n=1", "\uff1d1"]})
    assert escaped_formulas(frame).to_dict("list") == {"self": ["'=1+1", "x"], "b": ["'\n=1", "'\uff1d1"]}
