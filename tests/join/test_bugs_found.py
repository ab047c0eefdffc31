"""The shell."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.cli.main import main


@pytest.fixture
def index(build):
    lands = pd.DataFrame({"country": ["Peru", "Chad", "Mali", "Oman"], "area": [1.5, 2.5, 3.5, 4.5]})
    return str(build({"lands": lands}).path)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("who,land\nAnn,peru\nBo,CHAD\nCy,Narnia\n")
    return str(path)


@pytest.fixture
def run(capsys):
    def run(*argv):
        status = main([str(a) for a in argv])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def flip_a_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.chmod(0o644)
    path.write_bytes(bytes(data))


def test_info_verify_lists_a_damaged_catalogue_too(run, index):
    (catalog,) = dfjoin.open_lake(index).path.rglob("catalog.arrow")
    catalog.chmod(0o644)
    catalog.write_bytes(catalog.read_bytes()[:-64] + b"\0" * 64)
    status, out, err = run("info", index, "--verify")
    assert (status, err) == (1, "")
    assert "component `catalog`" in out


@pytest.mark.parametrize("content", ["half", "bytes", "empty"])
def test_a_damaged_manifest_is_one_line(run, index, table, content):
    (manifest,) = dfjoin.open_lake(index).path.joinpath("manifests").glob("*.json")
    if content == "bytes":
        flip_a_byte(manifest)
    else:
        data = manifest.read_bytes()
        manifest.chmod(0o644)
        manifest.write_bytes(data[: len(data) // 2] if content == "half" else b"")
    status, _, err = run("discover", index, table, "--on", "land")
    assert status == 2
    assert err.count("\n") == 1
    assert manifest.name in err


@pytest.mark.parametrize("plan", ["no json", "[1, 2]", "{}", '{"plan_version": 1, "steps": [3]}'])
def test_a_file_that_holds_no_plan_is_one_line(run, index, table, tmp_path, plan):
    path = tmp_path / "plan.json"
    path.write_text(plan)
    status, _, err = run("join", table, index, "--plan", path)
    assert status == 2
    assert err.count("\n") == 1
    assert "plan" in err


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_an_output_place_that_is_missing_is_one_line(run, index, table, tmp_path, ending):
    status, _, err = run("join", table, index, "--on", "land", "-o", tmp_path / "nowhere" / f"wide.{ending}")
    assert status == 2
    assert err.count("\n") == 1


def test_options_that_a_plan_replaces_are_refused(run, index, table, tmp_path):
    plan = tmp_path / "plan.json"
    _, out, _ = run("join", table, index, "--on", "land", "-o", tmp_path / "wide.csv", "--json")
    plan.write_text(out)
    status, _, err = run("join", table, index, "--plan", plan, "--how", "inner", "-o", tmp_path / "again.csv")
    assert status == 2
    assert "how" in err
