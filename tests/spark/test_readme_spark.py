"""The lines of README.md for users of Spark run, and the example does."""

import re
import runpy
import shutil
import sys

import pytest

import dfjoin
import spark_ext
from tests.conftest import PROJECT

pytestmark = pytest.mark.spark


def test_each_line_for_users_of_spark_runs(spark, tmp_path, monkeypatch):
    shutil.copytree(PROJECT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    index = str(tmp_path / "example.dfjoin")
    dfjoin.build_lake("examples/lake", index, engine="inline", progress=False)
    sdf = spark.read.csv("file://" + str(tmp_path / "examples" / "facilities.csv"), header=True, inferSchema=True)
    sdf.createOrReplaceTempView("facilities")
    (text,) = re.findall(r"^```py\n(.*?)^```$", (PROJECT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    names = {"spark": spark, "sdf": sdf, "spark_ext": spark_ext}
    counts = []
    for line in text.replace("example.dfjoin", index).splitlines():
        if line.startswith("spark."):
            counts.append(eval(line, names).count())
        else:
            exec(line, names)
    assert names["hits"].count() == 3 and "iso2" in names["wide"].columns
    assert counts == [3, 98]


def test_the_example_runs(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["spark_frames.py"])
    runpy.run_path(str(PROJECT / "examples" / "spark_frames.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "geo/countries.csv" in out and "11 of 12 rows found a partner" in out
    assert "by name.split(', ')[1]" in out and "paris" in out
