"""The examples run, and the example lake is what its README says."""

import csv
import gzip
import json
import os
import re
import subprocess
import sys

import pandas as pd
import pytest

from tests.conftest import EXAMPLE_LAKE, PROJECT

EXAMPLES = PROJECT / "examples"


def _run(name, tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), "--inline"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_explore(tmp_path):
    out, err = _run("explore.py", tmp_path)
    assert re.fullmatch(r"Open http://127\.0\.0\.1:\d+/s/[0-9a-f]{32}\?token=[\w-]{32}\n", out), err


def test_quickstart(tmp_path):
    out, err = _run("quickstart.py", tmp_path)
    assert "26 tables" in out
    blocks = re.split(r"\n(?=What joins|Why the|Joined:|The same join)", out)
    titles = [block.splitlines()[0] for block in blocks[1:]]
    assert titles == [
        "What joins with `Country`:",
        "Why the first one:",
        "Joined:",
        "The same join for new rows:",
        "What joins with `Postal`:",
    ]
    n_facilities = len(pd.read_csv(EXAMPLES / "facilities.csv"))
    assert f"{n_facilities} rows in, {n_facilities} rows out, how='left'" in out
    assert "found a partner" in out
    assert "usa/zip_codes.csv" in blocks[-1]
    assert "Traceback" not in err


def test_learned_join(tmp_path):
    out, err = _run("learned_join.py", tmp_path)
    assert "34 of 34 rows found a partner" in out
    assert "by city + ' (' + country + ')': 34 rows" in out, "the whole key, not its first part"
    assert "concat(nullif(`city`, ''), ' (', nullif(`country`, ''), ')')" in out
    source = out.split("The same as Python:\n\n")[1].split("\nThe same as Spark SQL")[0]
    made = {}
    exec(source, made)
    assert made["transform"]("Bern", "Switzerland") == "Bern (Switzerland)" and made["transform"]("Bern", "") is None
    assert "geo/capitals.csv" in out.split("What joins in the lake after a program")[1]
    assert "Traceback" not in err


def test_feature_augmentation_improves_the_score(tmp_path):
    pytest.importorskip("sklearn")
    out, _ = _run("feature_augmentation.py", tmp_path)
    before, after = map(float, re.search(r"R² before: (-?[\d.]+), after: (-?[\d.]+)", out).groups())
    assert after > before + 0.1
    assert "joined destination → geo/countries.csv (m:1, 100.0% of the rows" in out
    assert "destination → geo/countries.csv.capital → geo/capitals.csv" in out
    assert float(re.search(r"best of a grid: .* R² (-?[\d.]+)", out).group(1)) > before + 0.1


# The example lake -------------------------------------------------------------------------------------

TABLES = sorted(
    p.relative_to(EXAMPLE_LAKE).as_posix()
    for p in EXAMPLE_LAKE.rglob("*")
    if p.is_file() and p.suffix in (".csv", ".tsv", ".jsonl", ".parquet", ".gz")
)


def test_the_readme_counts_its_tables(example_lake):
    stated = int(re.search(r"^(\d+) small tables", (EXAMPLE_LAKE / "README.md").read_text("utf-8"), re.M).group(1))
    assert stated == len(TABLES) == len(example_lake.tables) == 26
    assert sorted(example_lake.tables["table"]) == TABLES
    assert example_lake.info()["skipped"] == []


def _records(name):
    """Rows of a table as the standard library reads them."""
    path = EXAMPLE_LAKE / name
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    delimiter = {"geo/mountains.csv": ";", "geo/lakes.tsv": "\t"}.get(name, ",")
    opened = (
        gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8", newline="")
    )
    with opened as file:
        return list(csv.DictReader(file, delimiter=delimiter))


@pytest.mark.parametrize("name", TABLES)
def test_every_table_can_be_read(example_lake, name):
    frame = example_lake.table(name)
    records = _records(name)
    assert len(frame) == len(records) > 0
    assert list(frame) == list(records[0])
    text = frame.select_dtypes(["object", "string"])
    for column in text:
        assert [None if pd.isna(v) else v for v in text[column]] == [r[column] or None for r in records]


def test_the_untidy_parts_are_as_the_readme_says(example_lake):
    assert ";" in (EXAMPLE_LAKE / "geo/mountains.csv").read_text("utf-8").splitlines()[0]
    assert "\t" in (EXAMPLE_LAKE / "geo/lakes.tsv").read_text("utf-8").splitlines()[0]
    for name in ("geo/countries.csv", "codes/domains.csv"):
        frame = example_lake.table(name)
        assert any((frame[column] == "NA").any() for column in frame), "Namibia's code is a text"
    states, zips = example_lake.table("usa/states.csv"), example_lake.table("usa/zip_codes.csv")
    assert any((states[c].astype(str) == "01").any() for c in states)
    assert any((zips[c].astype(str) == "02108").any() for c in zips)
    for name in ("economy/currencies.csv", "codes/official_languages.csv"):
        frame = example_lake.table(name)
        assert any(frame[c].duplicated().any() for c in frame)


def test_small_running_numbers_join_nothing_by_themselves(example_lake):
    df = pd.DataFrame({"staff": range(1, 100)})
    assert len(df.discover_joinable("staff", example_lake)) == 0, "chance explains all of them"
    hits = df.discover_joinable("staff", example_lake, tables=["science/elements.csv", "usa/presidents.csv"], k=9)
    assert sorted(hits["table"]) == ["science/elements.csv", "usa/presidents.csv"]
    assert (hits["score"] < 0.5).all()
    wide = df.auto_join(example_lake, on="staff", threshold=0.2, on_no_match="ignore")
    joined = {step["table"] for step in wide.attrs["dfjoin"]["joined"]}
    assert not joined & {"science/elements.csv", "usa/presidents.csv"}


def test_similar_names(tmp_path):
    out, _ = _run("similar_names.py", tmp_path)
    by_value, near = out.split("By values that lie near:")
    assert " 1       0.125" in by_value and " 8       1.000" in near
    assert "South Afrika    south africa" in near and "Germny         germany" in near
    assert "8 of 8 rows found a partner (100.0%)" in near and "by distance: the nearest key up to 0.4" in near
