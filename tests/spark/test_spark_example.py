"""The example for users of Spark runs."""

import runpy
import sys

import pytest

from tests.conftest import PROJECT

pytestmark = pytest.mark.spark


def test_the_example_runs(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["spark_frames.py"])
    runpy.run_path(str(PROJECT / "examples" / "spark_frames.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "geo/countries.csv" in out and "11 of 12 rows found a partner" in out
    assert "by name.split(', ')[1]" in out and "paris" in out
