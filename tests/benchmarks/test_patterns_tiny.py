"""The benchmark of search by transformation runs, on a case of six rows."""

import json

import pandas as pd

from tests.benchmarks.patterns import measure, read_cases


def test_a_hidden_table_is_found(tmp_path, build):
    names = ["Obama, Barack", "Bush, George", "Clinton, Bill", "Carter, Jimmy", "Ford, Gerald", "Nixon, Richard"]
    case = tmp_path / "cases" / "presidents"
    case.mkdir(parents=True)
    pd.DataFrame({"name": names}).to_csv(case / "left.csv", index=False)
    pd.DataFrame({"who": [" ".join(n.split(", ")[::-1]) for n in names]}).to_csv(case / "right.csv", index=False)
    (case / "meta.json").write_text(json.dumps({"left_key": "name", "right_key": "who"}))
    cases = read_cases(tmp_path / "cases")
    lake = build({"hidden presidents": cases["presidents"][1]}, settings={"patterns": True})
    (row,) = measure(lake, cases).to_dict(orient="records")
    assert (row["transform rank"], row["matched"], row["exact rank"]) == (1, 6, 0)
