"""The commands that change an index: what they do and what they print."""

import json

import pandas as pd
import pytest

import dfjoin


@pytest.fixture
def index(tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("a", "b"):
        pd.DataFrame({"c": ["p", "q", name]}).to_csv(tmp_path / "data" / f"{name}.csv", index=False)
    dfjoin.build_lake(tmp_path / "data", tmp_path / "lake", engine="inline", progress=False)
    return tmp_path / "lake"


def names(index):
    return dfjoin.open_lake(index).tables["table"].tolist()


def test_add_reads_what_is_new(run, index, tmp_path):
    pd.DataFrame({"c": ["r", "s"]}).to_csv(tmp_path / "data" / "n.csv", index=False)
    status, out, err = run("add", index, tmp_path / "data", "--quiet")
    assert status == 0 and err == "" and "version 2: 3 tables" in out and names(index) == ["a.csv", "b.csv", "n.csv"]
    assert "version 2" in run("add", index, tmp_path / "data", "--quiet")[1]
    assert "version 3" in run("add", index, tmp_path / "data", "--quiet", "--full")[1]


def test_add_replaces_when_told(run, index, tmp_path):
    pd.DataFrame({"c": ["r", "s"], "d": [1, 2]}).to_csv(tmp_path / "data" / "a.csv", index=False)
    status, out, _ = run("add", index, tmp_path / "data" / "a.csv", "--replace", "--quiet", "--json")
    assert status == 0 and json.loads(out)["version"] == 2
    assert dfjoin.open_lake(index).table("a.csv")["d"].tolist() == [1, 2]


def test_add_raises_on_unreadable_tables_when_told(run, index, tmp_path):
    (tmp_path / "data" / "bad.parquet").write_bytes(b"no table")
    status, _, err = run("add", index, tmp_path / "data", "--quiet", "--on-error", "raise", "--engine", "inline")
    assert status == 2 and "the table `bad.parquet` cannot be read" in err
    assert run("add", index, tmp_path / "data", "--quiet")[0] == 0


def test_remove(run, index):
    status, out, _ = run("remove", index, "a*")
    assert status == 0 and "version 2: 1 tables" in out and names(index) == ["b.csv"]
    status, _, err = run("remove", index, "zz")
    assert status == 2 and "`tables` must name tables of the lake" in err


def test_compact(run, index, tmp_path):
    pd.DataFrame({"c": ["r", "s"]}).to_csv(tmp_path / "data" / "n.csv", index=False)
    run("add", index, tmp_path / "data", "--quiet")
    assert "version 2" in run("compact", index)[1]
    status, out, _ = run("compact", index, "--full")
    assert status == 0 and "version 3" in out and "1 segment(s)" in out


def test_vacuum(run, index):
    run("remove", index, "a.csv")
    status, out, _ = run("vacuum", index, "--retain", 0, "--dry-run")
    assert status == 0 and out.startswith("would remove 1 versions and 0 files")
    assert json.loads(run("vacuum", index, "--retain", 0, "--json")[1])["versions"] == [1]
    assert run("vacuum", index)[1].startswith("removed 0 versions and 0 files, 0.0 MB")
    status, _, err = run("vacuum", index, "--retain", -1)
    assert status == 2 and "`--retain` must not be negative" in err


def test_an_index_without_tables_works_in_every_command(run, index, tmp_path):
    mine = tmp_path / "mine.csv"
    mine.write_text("c,n\np,1\nq,2\n")
    status, out, err = run("remove", index, "*")
    assert (status, err) == (0, "") and "version 2: 0 tables, 0 columns (0 indexed)" in out
    commands = [
        ["info", index], ["info", index, "--tables", "--columns", "--skipped", "--versions", "--check"],
        ["info", index, "--verify"], ["discover", index, mine, "--on", "c"], ["discover", index, mine],
        ["discover", index, mine, "--on", "c", "--mode", "lsh"], ["compact", index, "--full"],
        ["vacuum", index, "--dry-run"], ["join", mine, index, "--on", "c", "-o", tmp_path / "out.csv"],
    ]  # fmt: skip
    for command in commands:
        for form in ([], ["--json"]):
            status, out, err = run(*command, *form)
            assert status == 0 and "Traceback" not in err and out
            if form:
                assert json.loads(out)
    assert pd.read_csv(tmp_path / "out.csv").equals(pd.read_csv(mine))
    assert "version 3: 2 tables" in run("add", index, tmp_path / "data", "--quiet")[1]


def test_replace_and_restore(run, index, tmp_path):
    pd.DataFrame({"c": ["new", "newer"]}).to_csv(tmp_path / "data" / "a.csv", index=False)
    status, out, _ = run("replace", index, tmp_path / "data", "--quiet")
    assert status == 0 and "version 2: 2 tables" in out
    status, out, _ = run("restore", index, 1)
    assert status == 0 and "version 3: 2 tables" in out and len(dfjoin.open_lake(index).versions()) == 3
    status, _, err = run("restore", index, 9)
    assert status == 2 and "`version` must be a version that the index has (3, 2, 1), got 9" in err


def test_verify_and_repair(run, index, tmp_path):
    assert run("verify", index)[:2] == (0, "every file is as it was written\n")
    assert json.loads(run("verify", index, "--json")[1])["problems"] == []
    assert run("repair", index)[:2] == (0, "nothing is damaged; version 1 is the latest\n")
    (part,) = [p for p in index.rglob("*.npy") if p.name.startswith("value_bytes")]
    data = bytearray(part.read_bytes())
    data[-1] ^= 1
    part.write_bytes(data)
    status, out, _ = run("verify", index)
    assert status == 1 and "value_bytes" in out
    assert json.loads(run("verify", index, "--json")[1])["problems"]
    status, out, _ = run("repair", index)
    assert status == 0 and "lost: a.csv\nlost: b.csv\n1 segment(s) were dropped; version 2 is sound" in out
    assert json.loads(run("repair", index, "--json")[1])["problems"] == [] and names(index) == []


def test_signatures_and_patterns(run, tmp_path):
    frame = pd.DataFrame({"c": [f"v{i}" for i in range(90)]})
    path = tmp_path / "lake"
    dfjoin.build_lake({"t": frame}, path, engine="inline", progress=False, settings={"permutations": 0})
    status, out, _ = run("add-signatures", path, "--permutations", 32, "--partitions", 2, "--signature-min", 50)
    assert status == 0 and "version 2: 1 tables" in out
    settings = dfjoin.open_lake(path).settings
    assert (settings.permutations, settings.signature_min, settings.partitions) == (32, 50, 2)
    assert "version 3" in run("add-patterns", path)[1] and dfjoin.open_lake(path).settings.patterns
    assert json.loads(run("add-patterns", path, "--json")[1])["version"] == 3


def test_vectors_are_added_where_it_is_said(run, index):
    status, out, err = run("add-vectors", index, "--engine", "inline", "--quiet")
    assert status == 0 and err == "" and "version 2" in out
    lake = dfjoin.open_lake(index)
    assert all(segment.meta.group("vectors") for segment in lake.segments)
    assert run("add-vectors", index, "--quiet")[0] == 0 and dfjoin.open_lake(index).version == 2
    status, _, err = run("add-vectors", index, "--embedder", "no such file")
    assert status != 0 and "which is no file" in err
