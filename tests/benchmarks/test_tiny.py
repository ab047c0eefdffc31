"""A tiny run of every benchmark, so that the runner cannot rot."""

import importlib
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import dfjoin
from tests.benchmarks import exact, lsh, server
from tests.benchmarks.build import measure_build
from tests.benchmarks.capacity import measure_constants, measure_driver, on_paper
from tests.benchmarks.contenders import Pairs
from tests.benchmarks.counts import count_source
from tests.benchmarks.frames import differing, make_lake, measure_speed
from tests.benchmarks.generate import generate
from tests.benchmarks.plans import measure_cold, measure_warm
from tests.benchmarks.reads import measure_reads
from tests.benchmarks.scale import grow, measure_warm_and_cold
from tests.benchmarks.thresholds import THRESHOLDS
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


def test_a_generated_lake_grows_and_is_measured_at_each_size(tmp_path):
    index = tmp_path / "lake.dfjoin"
    for n_segments in (1, 2):
        assert grow(index, n_segments, 300, 20_000) >= 0
        lake = dfjoin.open_lake(index)
        assert lake.info()["counts"]["columns"] == 300 * n_segments and lake.verify() == []
    names = {segment.catalog.table_name(0) for segment in lake.segments}
    assert len(names) == 2, "each segment has tables of its own"
    queries = exact.generated_queries(lake, 1)[:2]
    reads = measure_reads(lake, queries, ks=(10,))
    assert (reads["kth/|Q|"] > 0).all(), "two segments give more hits than k"
    del lake
    table = measure_warm_and_cold(index, queries, rounds=1)
    assert len(table) == len({stratum for stratum, _ in queries}) and (table > 0).all().all()


def test_build_time_is_measured_against_the_bare_cost():
    table = measure_build(EXAMPLE_LAKE, "inline", [1.0])
    assert (table[["bare s", "build s", "MB/s", "peak MB"]] > 0).all().all()


class TestSignatures:
    @pytest.fixture(scope="class")
    @classmethod
    def signed(cls, tmp_path_factory):
        index = tmp_path_factory.mktemp("signed") / "lake.dfjoin"
        generate(index, 300, 20_000)
        return dfjoin.open_lake(index).add_signatures(signature_min=10)

    def test_the_shape_of_the_thesis(self, signed, tmp_path):
        """Partitions raise precision, recall stays near one, asymmetric hashing loses most."""
        by_threshold, by_size = lsh.measure_accuracy(signed, exact.generated_queries(signed, 6), (4, 16))
        means = by_threshold.groupby("method")[["precision", "recall"]].mean()
        assert means.loc["LSH Ensemble (16)", "precision"] > means.loc["MinHash LSH", "precision"]
        assert means.loc["dfjoin, recall 0.95", "recall"] > 0.9 > means.loc["asymmetric", "recall"]
        assert means.loc["dfjoin, unverified rows", "precision"] > means.loc["dfjoin, recall 0.95", "precision"]
        assert set(by_threshold["threshold"]) == set(lsh.THRESHOLDS) and len(by_size)
        pytest.importorskip("matplotlib")
        lsh.plot_accuracy(by_threshold, by_size, tmp_path / "plot.png")
        assert (tmp_path / "plot.png").stat().st_size > 10_000

    def test_costs_and_crossover(self, signed):
        costs = lsh.measure_costs(signed, 1)
        assert (costs > 0).all() and signed.version == dfjoin.open_lake(signed.path).version
        table = lsh.measure_crossover(signed, exact.generated_queries(signed, 2), (0.5,), 1)
        assert (table[["exact", "verified", "unverified"]] > 0).all().all()

    def test_rivals(self, signed):
        pytest.importorskip("datasketch")
        pytest.importorskip("rensa")
        table = lsh.measure_against_datasketch(signed, exact.generated_queries(signed, 2), (0.5,), 1)
        assert table["contender"].str.startswith(("datasketch", "dfjoin")).all() and (table["recall"] > 0).all()


def test_the_runner_teaches():
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", "--help"], capture_output=True, text=True, cwd=PROJECT, check=True
    )
    assert "generated" in done.stdout
    assert "compare" in done.stdout.partition("Modules of their own")[2]


def test_the_fuzzy_benchmark_prints_a_table_for_each_set(tmp_path):
    case = tmp_path / "autofj" / "Towns"
    case.mkdir(parents=True)
    names = [f"{a}{b}" for a in ("north", "south", "east", "west") for b in ("ham", "ford", "bury", "field", "dale")]
    (case / "left.csv").write_text("id,title\n" + "".join(f"{i},{name}\n" for i, name in enumerate(names)))
    (case / "right.csv").write_text("id,title\n" + "".join(f"{i},{name} town\n" for i, name in enumerate(names)))
    rows = "".join(f"{i},{i},{name},{name} town\n" for i, name in enumerate(names))
    (case / "truth.csv").write_text("left_row,right_row,left_key,right_key\n" + rows)
    (case / "meta.json").write_text('{"left_key": "title", "right_key": "title", "truth_level": "row"}')
    command = [sys.executable, "-m", "tests.benchmarks.fuzzy", str(tmp_path), "--sets", "autofj", "--no-rivals"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("dfjoin")]
    assert "autofj, 1 cases" in done.stdout
    assert [line.split()[:2] for line in lines] == [["dfjoin,", "precision=0.95"], ["dfjoin,", "precision=0.9"]]
    assert all(float(line.split()[2]) >= 0.9 for line in lines)


def test_costs_of_a_large_lake_are_computed_from_measured_ones():
    constants = measure_constants(EXAMPLE_LAKE, n_tiny=60)
    assert constants["build, s in all"] > 0 and constants["tokens, bytes per pair"] > 8
    paper = on_paper(constants, 100.0, 1e-6)["estimate"]
    tables = 100 / constants["columns per table"]
    assert paper["tables, millions"] == pytest.approx(tables)
    assert paper["driver, memory that grows, MB"] == pytest.approx(100 * tables)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="asks Linux for the peak of a process")
def test_memory_of_the_driver_is_measured():
    table = measure_driver([20, 60], "inline", PROJECT, per_directory=10)
    assert table.index.tolist() == [20, 60] and (table["peak MB"] >= 0).all()


def test_each_measured_threshold_is_a_constant_of_its_module():
    for one in THRESHOLDS:
        assert hasattr(importlib.import_module(one.module), one.name), one


def test_the_size_of_the_package_is_counted():
    module = '"""Text."""\n# why\nA = 2 * -3\nB = "b"\n\nclass C:\n    """Text.\n\n    More."""\n    D = """1\n2"""\n'
    expected = {"code lines": 5, "files": 1, "classes": 1, "numeric constants": 1}
    assert dict(count_source(module)) == expected


def test_frames_of_other_libraries_are_compared_and_timed():
    assert set(differing(8, make_lake(4)).values()) == {0}
    assert (measure_speed(1000) >= 0).all().all()


def test_searches_of_a_server_are_timed(example_lake, monkeypatch):
    monkeypatch.setattr(server, "SECONDS", 0.5)
    frames = [pd.DataFrame({"q": ["France", "Peru", "Chad"]})]
    frames[0].discover_joinable("q", example_lake)  # compiles
    assert all(0 < one < 5 for one in server.latencies_of_threads(example_lake, frames, 2))
    spent, refreshes = server.latencies_of_refreshing(example_lake.path, frames)
    assert min(len(spent), len(refreshes)) > 0 and len(example_lake.refresh().segments) == 1, "a copy is changed"
    n, whole, shared = server.measure_processes(example_lake.path, frames, 1)
    assert n > 0 and 0 < shared <= whole
