import json
import sys

from tests.benchmarks import teach


def test_cases_are_solved_and_counted(tmp_path, monkeypatch, capsys):
    names = [("Lee, Ann", "Ann Lee"), ("Ray, Bob", "Bob Ray"), ("Poe, Cy", "Cy Poe"), ("Fox, Dee", "Dee Fox")]
    case = {"case": "swap", "examples": [{"input": [a], "output": b} for a, b in names]}
    (tmp_path / "names").mkdir()
    (tmp_path / "names" / "cases.jsonl").write_text(json.dumps(case) + "\n", "utf-8")
    monkeypatch.setattr(sys, "argv", ["teach", str(tmp_path), "names", "-k", "2", "--out", str(tmp_path / "rows.csv")])
    teach.main()
    assert "names 2 both 1 1.000" in " ".join(capsys.readouterr().out.split())
    assert "True" in (tmp_path / "rows.csv").read_text("utf-8")
