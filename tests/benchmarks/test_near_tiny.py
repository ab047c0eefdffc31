"""Tiny runs of the benchmarks of joins by distance: prediction, joinable columns, true partners."""

import json

import numpy as np
import pandas as pd

import dfjoin
from tests.benchmarks import joinable_tables, prediction, true_partners

NAMES = [f"{a}{b} {c}" for a in ("north", "silver", "green", "stone") for b in ("bridge", "field", "haven", "moor", "wick")
         for c in ("station", "college", "hospital", "gardens", "theatre", "market")]  # fmt: skip


def test_a_join_by_spelling_predicts_what_the_base_table_cannot(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(prediction, "TREES", 20)
    for method in ("edit distance", "vectors"):
        monkeypatch.delitem(prediction.METHODS, method)
    n = len(NAMES)
    tables = tmp_path / "case" / "tables"
    tables.mkdir(parents=True)
    value = np.random.default_rng(0).permutation(n)
    base = pd.DataFrame(
        {"place": NAMES, "code": np.arange(n) + 500, "noise": np.arange(n) % 7, "answer": value > n / 2}
    )
    base.to_csv(tables / "base.csv", index=False)
    pd.DataFrame({"site": NAMES, "code": np.arange(n) + 500, "score": value * 3}).to_csv(
        tables / "other.csv", index=False
    )
    (tmp_path / "case" / "meta.json").write_text(json.dumps({"base_table": "base.csv", "target": "answer"}))
    arguments = [str(tmp_path / "case"), "place", "--identity", "code", "--misspelled", "0.8", "--fewest", "20"]
    prediction.main(arguments)
    lines = capsys.readouterr().out.splitlines()
    names = ["tables", "columns", "kept", "F1", "folds", "gain", "se", "P", "R"]
    rows = [line.rsplit(maxsplit=len(names)) for line in lines[1:]]
    scores = pd.DataFrame({row[0].strip(): row[1:] for row in rows}, index=names).T.astype(float)
    assert scores.loc["no join", "F1"] < 0.6 and scores.loc["3-grams", "F1"] > 0.7
    assert scores.loc["equality", "R"] < 0.4 < scores.loc["3-grams", "R"] and scores.loc["3-grams", "P"] > 0.9


def test_misspelled_columns_are_found_by_distance_and_not_by_equality(tmp_path):
    frames = {f"{i}/t{i}": pd.DataFrame({"name": NAMES[i * 2 : i * 2 + 104]}) for i in range(4)}
    lake = dfjoin.build_lake(frames, tmp_path / "lake", engine="inline", progress=False)
    frame = joinable_tables.measure(lake, 3)
    by = frame[frame["share"] == 0.6].groupby("method")[["found", "right", "joinable"]].sum()
    assert set(by.index) == {"equality", "edit distance", "3-grams"}
    assert by.loc["equality", "right"] == 0 < by.loc["edit distance", "right"] <= by.loc["edit distance", "joinable"]
    assert set(joinable_tables.cross_validated(frame)) == {"precision", "recall", "F1", "found", "shares"}


def test_a_half_of_the_values_is_changed():
    changed = joinable_tables.change_half(NAMES, 0)
    assert changed[1::2] == NAMES[1::2] and sum(a != b for a, b in zip(changed, NAMES, strict=True)) > 55


def test_the_true_partner_comes_first(tmp_path, capsys):
    database = tmp_path / "databases" / "one"
    (database / "tables").mkdir(parents=True)
    pd.DataFrame({"town": NAMES[:40] * 2}).to_csv(database / "tables" / "visits.csv", index=False)
    pd.DataFrame({"town": NAMES}).to_csv(database / "tables" / "towns.csv", index=False)
    truth = {"fk_table": "visits", "fk_column": "town", "pk_table": "towns", "pk_column": "town", "fk_distinct": 40}
    pd.DataFrame([truth]).to_csv(database / "truth.csv", index=False)
    pair = tmp_path / "pairs" / "two"
    pair.mkdir(parents=True)
    pd.DataFrame({"a": NAMES, "n": range(len(NAMES))}).to_csv(pair / "left.csv", index=False)
    pd.DataFrame({"b": NAMES, "m": range(len(NAMES))}).to_csv(pair / "right.csv", index=False)
    pd.DataFrame({"left_column": ["a"], "right_column": ["b"]}).to_csv(pair / "truth.csv", index=False)
    true_partners.main([str(tmp_path / "databases"), str(tmp_path / "pairs")])
    out = capsys.readouterr().out
    assert out.count("1 query columns") == 2 and out.count("   1.0") >= 12
