"""A tiny run of every benchmark, so that the runner cannot rot."""

import subprocess
import sys

import pandas as pd
import pytest

import dfjoin
from tests.benchmarks import exact
from tests.benchmarks.build import measure_build
from tests.benchmarks.contenders import Pairs
from tests.benchmarks.generate import generate
from tests.benchmarks.plans import measure_cold, measure_warm
from tests.conftest import EXAMPLE_LAKE, PROJECT

ALL = ["dfjoin", "dfjoin mergelist", "dfjoin probeset", "dfjoin josie", "numpy"]


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    index = tmp_path_factory.mktemp("generated") / "lake.dfjoin"
    generate(index, 300, 20_000)
    return dfjoin.open_lake(index)


def test_every_plan_gives_the_rows_of_brute_force_on_the_generated_lake(generated):
    queries = exact.generated_queries(generated, 4)
    assert len(queries) >= 8
    assert exact.check_rows(generated, queries, Pairs(generated)) == 0


def test_the_generated_lake_is_sound_and_as_large_as_asked_for(generated):
    counts = generated.info()["counts"]
    assert counts["columns"] == 300
    assert 14_000 < counts["pairs"] < 26_000
    assert generated.verify() == []


def test_the_table_has_a_row_for_each_contender(generated, capsys):
    table = exact.measure(generated, exact.generated_queries(generated, 2), ALL, 1, {})
    assert table.index.tolist() == ALL
    assert (table.dropna(axis=1) > 0).all().all()
    assert "brute force" in capsys.readouterr().out


def test_the_planner_is_measured_warm_and_cold(generated, tmp_path):
    queries = exact.generated_queries(generated, 2)
    warm = measure_warm(generated, queries, rounds=1)
    assert (warm["planner/best"] > 0).all() and len(warm) == 2 * len({stratum for stratum, _ in queries})
    small = tmp_path / "small"
    dfjoin.build_lake({"t": pd.DataFrame({"c": ["france", "peru"]})}, small, engine="inline", progress=False)
    cold = measure_cold(generated.path, small, queries[:2])
    assert (cold[["planner", "mergelist", "open ms", "touched MB"]] > 0).all().all()


def test_build_time_is_measured_against_the_bare_cost():
    table = measure_build(EXAMPLE_LAKE, "inline", [1.0])
    assert (table[["bare s", "build s", "MB/s", "peak MB"]] > 0).all().all()


def test_the_runner_teaches():
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", "--help"], capture_output=True, text=True, cwd=PROJECT, check=True
    )
    assert "generated" in done.stdout
