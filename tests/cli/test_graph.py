"""``dfjoin graph``: edges, paths, explanations and files."""

import csv
import io
import json

import pandas as pd
import pytest


@pytest.fixture
def index(build):
    cities = pd.DataFrame({"city_id": range(10, 40), "country_id": [i % 8 + 3 for i in range(30)]})
    shops = pd.DataFrame({"shop": [f"s{i}" for i in range(90)], "city_id": [10 + i % 30 for i in range(90)]})
    countries = pd.DataFrame({"country_id": range(3, 11), "name": list("abcdefgh")})
    return str(build({"city": cities, "shop": shops, "country": countries}).path)


def test_edges_are_printed_in_every_format(run, index):
    status, out, _ = run("graph", index)
    assert status == 0 and out.splitlines()[0].split()[:5] == ["table", "column", "key_table", "key_column", "score"]
    edges = json.loads(run("graph", index, "--json")[1])["edges"]
    assert {(e["table"], e["column"], e["key_table"], e["key_column"]) for e in edges} == {
        ("city", "country_id", "country", "country_id"), ("shop", "city_id", "city", "city_id"),
    }  # fmt: skip
    assert len(list(csv.reader(io.StringIO(run("graph", index, "--format", "csv")[1])))) == 3
    assert run("graph", index, "--min-score", "1")[1] == "no edge\n"


def test_paths_and_explanations(run, index):
    out = run("graph", index, "--from", "shop", "--to", "country")[1]
    assert [line.split()[2] for line in out.splitlines()[1:]] == ["shop", "city"]
    assert "refers to city.city_id" in run("graph", index, "--explain", "shop", "city_id")[1]
    assert run("graph", index, "--from", "shop", "--to", "country", "--min-score", "1")[1].startswith("no path")


def test_the_graph_is_written(run, index, tmp_path):
    assert run("graph", index, "-o", tmp_path / "g.graphml")[1].startswith("2 edges written to")
    assert (tmp_path / "g.graphml").read_text("utf-8").count("<edge") == 2
    run("graph", index, "-o", tmp_path / "g.csv")
    assert len(pd.read_csv(tmp_path / "g.csv")) == 2
    pytest.importorskip("matplotlib").use("Agg")
    run("graph", index, "-o", tmp_path / "g.png")
    assert (tmp_path / "g.png").stat().st_size > 1000
    near = run("graph", index, "--around", "country", "-o", tmp_path / "near.png")[1]
    assert near.startswith("1 edges written to") and (tmp_path / "near.png").stat().st_size > 1000
    assert run("graph", index, "--around", "countri")[0] == 2


def test_wrong_arguments_are_told(run, index):
    status, _, err = run("graph", index, "--from", "shop")
    assert status == 2 and "--from and --to" in err.replace("`", "")
    status, _, err = run("graph", index, "-o", "g.doc")
    assert status == 2 and "must end in .graphml, .csv, .png, .svg or .pdf, got 'g.doc'" in err
