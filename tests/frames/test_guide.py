"""The code of docs/frames.md runs, and does what it says."""

import re
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa

PROJECT = Path(__file__).parent.parent.parent


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (PROJECT / "docs/frames.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "examples").symlink_to(PROJECT / "examples")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(block, names)
    assert "geo/countries.csv" in capsys.readouterr().out
    assert isinstance(names["again"], pl.LazyFrame) and names["again"].collect().equals(names["wide"])
    assert isinstance(names["table"], pa.Table) and isinstance(names["wide_relation"], duckdb.DuckDBPyRelation)
    assert names["wide_relation"].columns[-1] == names["table"].column_names[-1]
