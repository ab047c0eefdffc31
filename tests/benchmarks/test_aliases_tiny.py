"""Tiny runs: the script that makes the table of names, and the measure of joins by it."""

import gzip
import json

import pandas as pd
import pytest

from dfjoin.programs.entity_operators import ENTITY_KINDS
from tests.benchmarks import aliases, entity_table


def test_the_table_is_made_of_cldr(tmp_path, monkeypatch, capsys):
    pytest.importorskip("babel", reason="the extra benchmark has it")
    monkeypatch.setattr(entity_table, "LANGUAGES", ["en", "de"])
    monkeypatch.setattr(entity_table, "ENTITIES", tmp_path / "table.gz")
    entity_table.main()
    lines = [line.split("\t") for line in gzip.decompress((tmp_path / "table.gz").read_bytes()).decode().splitlines()]
    assert {kind for kind, *_ in lines} <= set(ENTITY_KINDS) and "things" in capsys.readouterr().out
    names = {(kind, name): others.split("\x1f") for kind, name, others in lines}
    assert {"DE", "DEU", "Deutschland"} <= set(names["country", "Germany"])
    assert {"Mar", "März"} <= set(names["month", "March"]) and "Deutsch" in names["language", "German"]
    assert "Mars" not in str(names["month", "March"])  # no name of another language


def test_joins_by_the_table_are_measured(tmp_path, capsys):
    case = tmp_path / "cases" / "one"
    case.mkdir(parents=True)
    english, german = ["Germany", "France", "Spain", "Egypt"], ["Deutschland", "Frankreich", "Spanien", "Ägypten"]
    pd.DataFrame({"left": english}).to_csv(case / "left.csv", index=False)
    pd.DataFrame({"right": german}).to_csv(case / "right.csv", index=False)
    pd.DataFrame({"left_key": english, "right_key": german}).to_csv(case / "truth.csv", index=False)
    (case / "meta.json").write_text(json.dumps({"left_key": "left", "right_key": "right"}))
    aliases.main([str(tmp_path / "cases")])
    text = capsys.readouterr().out
    assert "cases/one: 4 of 4 right, 4 true" in text and "with names: precision 1.000, recall 1.000" in text
    assert "without names: precision 0.000" in text
