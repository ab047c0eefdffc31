"""The shell, in process: what it prints, writes and returns."""

import errno
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import dfjoin
from dfjoin.cli import main as main_module
from dfjoin.cli.command import in_shell_words
from dfjoin.cli.main import main

COMMANDS = ["build", "discover", "join", "info"]


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    lands = {
        "country": ["Peru", "Chad", "Mali", "Oman"],
        "area": [1.5, 2.5, 3.5, 4.5],
        "code": ["01", "02", "03", "04"],
    }
    pd.DataFrame(lands).to_csv(data / "lands.csv", index=False)
    pd.DataFrame({"from": ["Peru", "Peru", "Chad"], "goods": ["tin", "fish", "oil"]}).to_csv(
        data / "trade.tsv", index=False, sep="\t"
    )
    (data / "broken.parquet").write_bytes(b"this is no parquet file")
    return data


@pytest.fixture
def index(folder, tmp_path):
    path = tmp_path / "lake.dfjoin"
    dfjoin.build_lake(folder, path, engine="inline", progress=False)
    return str(path)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("who,land,zip\nAnn,peru,007\nBo,CHAD,010\nCy,Narnia,011\n")
    return str(path)


def test_without_a_command_the_help_is_printed(run):
    status, out, err = run()
    assert (status, err) == (0, "") and out.startswith("usage: dfjoin") and "Build an index" in out


# build ----------------------------------------------------------------------------------------------


def test_build_makes_an_index_and_says_what_is_in_it(run, folder, tmp_path):
    path = tmp_path / "new.dfjoin"
    status, out, err = run("build", folder, path, "--engine", "inline", "--quiet")
    assert (status, err) == (0, "")
    assert out.startswith(f"{path}, version 1: 2 tables, 5 columns")
    assert "skipped 1 files:" in out
    assert sorted(dfjoin.open_lake(path).tables["table"]) == ["lands.csv", "trade.tsv"]


def test_build_as_json(run, folder, tmp_path):
    status, out, _ = run("build", folder, tmp_path / "new", "--engine", "inline", "--quiet", "--json")
    values = json.loads(out)
    assert status == 0
    assert set(values) == {"index", "version", "counts", "bytes", "skipped_reasons"}
    assert values["counts"]["tables"] == 2
    assert sum(values["skipped_reasons"].values()) == 1


def test_build_options_reach_the_index(run, folder, tmp_path):
    path = tmp_path / "new"
    status, _, _ = run(
        "build", folder, path, "--engine", "inline", "--quiet", "--exclude", "*/code", "--null", "NA", "--samples", 0
    )
    lake = dfjoin.open_lake(path)
    columns = lake.columns.set_index("column")
    assert status == 0
    assert not columns.loc["code", "is_indexed"]
    assert columns.loc["country", "is_indexed"]
    assert lake.settings.null_spellings == ("", "NA")
    assert lake.settings.samples == 0


def test_the_number_of_workers_reaches_builds_and_additions(run, folder, tmp_path):
    path = tmp_path / "new"
    for command in (("build", folder, path), ("add", path, folder), ("replace", path, folder)):
        status, _, err = run(*command, "--workers", 0, "--quiet")
        assert status == 2 and "`--workers` must be at least 1, got 0" in err
        assert run(*command, "--workers", 2, "--quiet")[0] == 0


def test_build_over_an_index_is_an_error_that_names_the_choices(run, folder, index):
    status, out, err = run("build", folder, index, "--engine", "inline", "--quiet")
    assert (status, out) == (2, "")
    assert err.startswith("dfjoin: ")
    assert err.count("\n") == 1
    assert "replace" in err
    assert "add" in err
    assert run("build", folder, index, "--engine", "inline", "--quiet", "--if-exists", "replace")[0] == 0
    assert dfjoin.open_lake(index).version == 2


def test_build_raises_on_unreadable_tables_when_told(run, folder, tmp_path):
    path = tmp_path / "new"
    status, _, err = run("build", folder, path, "--engine", "inline", "--quiet", "--on-error", "raise")
    assert status == 2
    assert "broken.parquet" in err
    assert not (path / "manifests").exists() or not list((path / "manifests").iterdir())


# discover ---------------------------------------------------------------------------------------------


def test_discover_by_signatures(run, folder, table, tmp_path):
    path = tmp_path / "signed"
    dfjoin.build_lake(folder, path, engine="inline", progress=False, settings={"signature_min": 2})
    wish = (
        "discover",
        path,
        table,
        "--on",
        "land",
        "--mode",
        "lsh",
        "--threshold",
        "0.5",
        "--json",
        "--rank",
        "matched",
    )
    status, out, _ = run(*wish)
    values = json.loads(out)
    assert status == 0 and values["mode"] == "lsh" and values["complete"], "exact search answers in so small a lake"
    assert [(h["table"], h["matched"], h["exact"]) for h in values["hits"]] == [
        ("trade.tsv", 2, True),
        ("lands.csv", 2, True),
    ]
    status, out, _ = run(*wish, "--no-verify", "--recall", "1")
    assert not any(h["exact"] for h in json.loads(out)["hits"])
    status, _, err = run("discover", path, table, "--on", "land", "--recall", "0.5")
    assert status == 2 and "`--recall` belongs to --mode lsh" in err


def test_discover_by_transformation(run, tmp_path):
    names = ["Obama, Barack", "Bush, George", "Clinton, Bill", "Carter, Jimmy", "Ford, Gerald", "Nixon, Richard"]
    (tmp_path / "lake").mkdir()
    pd.DataFrame({"who": [" ".join(n.split(", ")[::-1]) for n in names]}).to_csv(tmp_path / "lake" / "p.csv")
    pd.DataFrame({"name": names, "no": range(6)}).to_csv(tmp_path / "mine.csv")
    index = tmp_path / "index"
    lake = dfjoin.build_lake(tmp_path / "lake", index, engine="inline", progress=False)
    wish = ("discover", index, tmp_path / "mine.csv", "--on", "name", "--mode", "transform")
    status, _, err = run(*wish)
    assert status == 2 and "`dfjoin add-patterns INDEX`" in err
    lake.add_patterns()
    status, out, _ = run(*wish, "--json")
    (hit,) = json.loads(out)["hits"]
    assert status == 0 and (hit["table"], hit["column"], hit["matched"]) == ("p.csv", "who", 6)
    assert json.loads(hit["program"])["programs"][0]["support"] == 6
    status, out, _ = run(*wish, "--explain", "0")
    assert status == 0 and "by name.split(', ')[1] + ' ' + name.split(', ')[0] = who: 6 rows" in out
    status, out, _ = run(*wish, "--exclude", "*")
    assert status == 0 and out == "no column of the lake joins after a program, given `exclude`\n"


def test_discover_lists_the_candidates(run, index, table):
    status, out, err = run("discover", index, table, "--on", "land")
    assert (status, err) == (0, "")
    assert "lands.csv" in out
    assert "trade.tsv" in out
    assert out.index("lands.csv") < out.index("trade.tsv"), "equal overlap: the one that brings more first"


def test_discover_as_json(run, index, table):
    status, out, _ = run("discover", index, table, "--on", "land", "--json", "-k", 1)
    values = json.loads(out)
    assert status == 0
    (hit,) = values["hits"]
    assert (hit["table"], hit["column"], hit["matched"], hit["query_cardinality"]) == ("lands.csv", "country", 2, 3)
    assert values["mode"] == "exact"


def test_discover_keeps_the_zeros_of_codes(run, index, tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("c\n01\n02\n3\n")
    _, out, _ = run("discover", index, path, "--on", "c", "--min-score", "0", "--json")
    (hit,) = json.loads(out)["hits"]
    assert (hit["column"], hit["matched"]) == ("code", 2)


def test_discover_filters(run, index, table):
    for options, tables in (
        (["--tables", "lands*"], ["lands.csv"]),
        (["--exclude", "lands*"], ["trade.tsv"]),
        (["--threshold", 0.9], []),
        (["--kinds", "date"], []),
        (["--weighted"], ["trade.tsv", "lands.csv"]),
    ):
        status, out, _ = run("discover", index, table, "--on", "land", "--json", *options)
        assert status == 0
        assert [hit["table"] for hit in json.loads(out)["hits"]] == tables


def test_discover_says_when_there_is_nothing(run, index, table):
    assert run("discover", index, table, "--on", "who") == (0, "no column of the lake shares a value\n", "")


def test_discover_explains(run, index, table):
    status, out, _ = run("discover", index, table, "--on", "land", "--explain", 0)
    assert status == 0
    assert "lands.csv" in out and "strong: score" in out and "rows that join" in out
    status, out, _ = run("discover", index, table, "--on", "land", "--explain", 0, "--json")
    assert status == 0
    assert isinstance(json.loads(out), dict)


# join -------------------------------------------------------------------------------------------------

READERS = {
    "csv": pd.read_csv,
    "tsv": lambda path: pd.read_csv(path, sep="\t"),
    "parquet": pd.read_parquet,
    "jsonl": lambda path: pd.read_json(path, lines=True),
}


@pytest.mark.parametrize("ending", READERS)
def test_join_writes_every_format(run, index, table, tmp_path, ending):
    path = tmp_path / f"wide.{ending}"
    status, out, err = run("join", table, index, "--on", "land", "--columns", "area", "-o", path)
    assert (status, err) == (0, "")
    assert out.startswith("3 rows in, 3 rows out, how='left'\njoined lands.csv on land = country, 1:1: 2 of 3 rows")
    wide = READERS[ending](path)
    assert list(wide) == ["who", "land", "zip", "area"]
    assert wide["area"].tolist()[:2] == [1.5, 2.5]
    assert wide["who"].tolist() == ["Ann", "Bo", "Cy"]
    if ending == "parquet":
        assert wide["zip"].tolist() == ["007", "010", "011"]


def test_join_to_standard_output_reports_on_standard_error(run, index, table):
    status, out, err = run("join", table, index, "--on", "land", "--columns", "area")
    assert status == 0
    assert pd.read_csv(io.StringIO(out))["area"].tolist()[:2] == [1.5, 2.5]
    assert "joined lands.csv on land = country" in err


def _standard_input(monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_join_reads_standard_input(run, index, monkeypatch):
    _standard_input(monkeypatch, "land\nMali\nZZ\n")
    status, out, _ = run("join", "-", index, "--on", "land", "--columns", "area", "--threshold", 0.1)
    assert status == 0
    assert out.splitlines()[1] == "Mali,3.5"


def test_discover_reads_standard_input(run, index, monkeypatch):
    _standard_input(monkeypatch, "land\nMali\nZZ\n")
    status, out, _ = run("discover", index, "-", "--on", "land", "--json")
    assert (status, json.loads(out)["hits"][0]["table"]) == (0, "lands.csv")


def test_join_json_is_the_report_and_its_plan_joins_again(run, index, table, folder, tmp_path):
    wide, plan, again = tmp_path / "wide.csv", tmp_path / "plan.json", tmp_path / "again.csv"
    status, out, _ = run("join", table, index, "--on", "land", "-k", 2, "-o", wide, "--json")
    report = json.loads(out)
    assert status == 0
    assert [step["table"] for step in report["joined"]] == ["lands.csv", "trade.tsv"]
    for text in (out, json.dumps(report["plan"])):
        plan.write_text(text)
        status, _, _ = run("join", table, index, "--plan", plan, "-o", again)
        assert status == 0
        assert again.read_text() == wide.read_text()
    two, trade = tmp_path / "two.json", folder / "trade.tsv"
    two.write_text(run("join", table, trade, "-o", wide, "--json")[1])
    assert run("join", table, trade, "--plan", two, "-o", again)[0] == 0 and again.read_text() == wide.read_text()
    for other, path, text in (
        (trade, plan, "must be one that auto_join made of two frames, got one of the lake"),
        (
            index,
            two,
            "the plan is of two frames, and holds no rows: pass the other frame as `other`, and this as `--pl",
        ),
    ):
        status, _, err = run("join", table, other, "--plan", path)
        assert status == 2 and text in err


def test_the_report_of_a_join_speaks_as_the_shell_does(run, index, table):
    _, _, err = run("join", table, index, "--on", "land", "--threshold", 1)
    assert "passed over lands.csv column 'country': containment" in err and "pass a lower `--threshold` if" in err


def test_join_with_another_table(run, table, folder, tmp_path):
    path = tmp_path / "wide.csv"
    status, out, _ = run(
        "join",
        table,
        folder / "trade.tsv",
        "--on",
        "land",
        "--right-on",
        "from",
        "--keep-rows",
        "--how",
        "outer",
        "-o",
        path,
    )
    assert status == 0
    assert "joined the other frame on land = from, 1:m" in out
    wide = pd.read_csv(path)
    assert wide["goods"].tolist()[:3] == ["tin", "fish", "oil"]
    assert wide["who"].tolist() == ["Ann", "Ann", "Bo", "Cy"]


def test_join_with_composite_keys(run, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n1,b\n")
    (tmp_path / "b.csv").write_text("p,q,v\n1,A,10\n2,b,20\n")
    status, out, _ = run(
        "join", tmp_path / "a.csv", tmp_path / "b.csv",
        "--on", "x", "--on", "y", "--right-on", "p", "--right-on", "q", "--keep-rows",
    )  # fmt: skip
    assert status == 0
    assert out.splitlines() == ["x,y,v", "1,a,10", "1,b,"]


def test_join_stops_at_the_expansion(run, tmp_path):
    (tmp_path / "a.csv").write_text("k\na\nb\n")
    (tmp_path / "b.csv").write_text("k,v\n" + "a,1\n" * 30)
    status, out, err = run(
        "join", tmp_path / "a.csv", tmp_path / "b.csv", "--on", "k", "--keep-rows", "--max-expansion", 3
    )
    assert (status, out) == (2, "")
    assert "the worst key, 'a'" in err


def test_join_without_a_match_notes_it_and_writes_the_table(run, index, table, tmp_path):
    path = tmp_path / "wide.csv"
    status, out, err = run("join", table, index, "--on", "who", "-o", path)
    assert status == 0
    assert "nothing was joined" in out
    assert err.startswith("dfjoin: note: no candidate shares a value")
    assert path.read_text().splitlines()[0] == "who,land,zip"


def test_a_note_of_a_join_speaks_of_the_report_that_is_printed(run, tmp_path):
    (tmp_path / "a.csv").write_text("k,v\na,1\nb,2\nc,3\n")
    (tmp_path / "b.csv").write_text("k,w\na,1\nx,2\ny,3\n")
    status, _, err = run("join", tmp_path / "a.csv", tmp_path / "b.csv")
    assert status == 0
    note, *report = err.splitlines()
    assert "k = k: containment 0.333" in note
    assert note.endswith("the frame is unchanged, the report lists what was passed over")
    assert any(line.startswith("passed over k = k: containment 0.333") for line in report)


# info -------------------------------------------------------------------------------------------------


def test_info_summarises_and_lists(run, index):
    status, out, _ = run("info", index)
    assert status == 0
    assert "version 1: 2 tables, 5 columns" in out
    _, out, _ = run("info", index, "--tables")
    assert "lands.csv" in out
    _, out, _ = run("info", index, "--columns")
    assert all(name in out for name in ("country", "goods", "cardinality"))
    _, out, _ = run("info", index, "--skipped")
    assert [line for line in out.splitlines() if line.startswith("broken.parquet: ")]


def test_info_as_json(run, index):
    _, out, _ = run("info", index, "--json", "--tables", "--columns", "--verify")
    values = json.loads(out)
    assert [t["table"] for t in values["tables"]] == ["lands.csv", "trade.tsv"]
    assert len(values["columns"]) == 5
    assert values["problems"] == []
    assert values["skipped"][0]["name"] == "broken.parquet"
    _, out, _ = run("info", index, "--json")
    assert not {"tables", "columns", "problems"} & set(json.loads(out))


def flip_a_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.chmod(0o644)
    path.write_bytes(bytes(data))


def test_info_verify_finds_damage_with_status_1(run, index):
    assert run("info", index, "--verify")[:2][0] == 0
    lake = dfjoin.open_lake(index)
    (damaged,) = lake.path.rglob("list_columns.npy")
    flip_a_byte(damaged)
    status, out, _ = run("info", index, "--verify")
    assert status == 1
    assert damaged.name in out
    status, out, _ = run("info", index, "--verify", "--json")
    assert status == 1
    assert json.loads(out)["problems"]


# help and errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_an_example(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        main([command, "--help"])
    out = capsys.readouterr().out
    assert exit_.value.code == 0
    assert f"  dfjoin {command} " in out
    assert "lake.dfjoin" in out
    assert "--json" in out


def test_help_lists_the_commands(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    assert all(command in out for command in COMMANDS)


def test_version(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out.strip() == f"dfjoin {dfjoin.__version__}"


@pytest.mark.parametrize("argv", [["fly"], ["join", "a.csv"], ["join", "a", "b", "--how", "cross"]])
def test_wrong_usage_is_status_2(argv, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(argv)
    assert exit_.value.code == 2
    assert "usage: dfjoin" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["discover", "{index}", "{table}", "--on", "nope"], "`--on` must name a column of the frame ('who', "),
        (["discover", "{index}", "{table}", "--on", "land", "-k", "0"], "`-k` must be at least 1, got 0"),
        (
            ["discover", "{index}", "{table}", "--on", "land", "--threshold", "2"],
            "`--threshold` must be between 0 and 1",
        ),
        (["discover", "{index}", "{table}", "--on", "land", "--plan", "magic"], "`--plan` must be one of"),
        (
            ["discover", "{index}", "{table}", "--on", "land", "--explain", "99"],
            "`--explain` must be the number of a result, got 99 of 2 results, from 0",
        ),
        (
            ["discover", "{index}", "{table}", "--on", "who", "--explain", "0"],
            "got 0 of no result: no column of the lake shares a value",
        ),
        (["discover", "{index}", "{missing}", "--on", "land"], "missing"),
        (["discover", "{missing}", "{table}", "--on", "land"], "`dfjoin build SOURCE INDEX`"),
        (["discover", "{table}", "{index}"], "must be a file with a table, got the index '"),
        (["join", "{index}", "{table}"], "lake.dfjoin'; exchange the two arguments"),
        (["join", "{table}", "{missing}", "--on", "land"], "missing"),
        (["join", "{table}", "file://{missing}", "--on", "land"], "there is no dfjoin index at"),
        (["join", "{table}", "{index}", "--on", "land", "--right-on", "country"], "`--right-on` does not apply"),
        (
            ["join", "{table}", "{index}", "--on", "land", "-k", "2", "--how", "outer"],
            '`--how` must be "left", "inner" or "asof" when several tables are joined (-k 2)',
        ),
        (["join", "{table}", "{index}", "--on", "land", "-o", "{tmp}/wide.xlsx"], "must end in .csv, .tsv, .parquet"),
        (
            ["join", "{table}", "{index}", "--on", "land", "-o", "{missing}/wide.csv"],
            "`--output` must lie in an existing directory",
        ),
        (
            ["join", "{table}", "{index}", "--on", "land", "-o", "{tmp}/folder.csv"],
            "folder.csv' cannot (Is a directory)",
        ),
        (["join", "{table}", "{index}", "--plan", "{missing}"], "missing' cannot be read (No such file or directory)"),
        (["info", "{missing}"], "missing"),
        (["build", "{missing}", "{tmp}/new", "--engine", "inline", "--quiet"], "missing"),
    ],
)
def test_errors_are_one_line_with_the_remedy_and_status_2(run, index, table, tmp_path, argv, text):
    places = {"index": index, "table": table, "missing": tmp_path / "missing", "tmp": tmp_path}
    (tmp_path / "folder.csv").mkdir()
    status, out, err = run(*(a.format(**places) for a in argv))
    assert (status, out) == (2, "")
    assert err.startswith("dfjoin: ")
    assert err.count("\n") == 1
    assert text in err


def test_a_result_is_read_by_those_who_may_read_the_earlier_file(run, index, table):
    Path(table).chmod(0o600)
    assert run("join", table, index, "--on", "land", "-o", table)[0] == 0
    assert Path(table).stat().st_mode & 0o777 == 0o600


def test_a_result_that_cannot_be_written_leaves_the_earlier_file(run, index, table, monkeypatch):
    def fill(frame, path, **options):
        path.write_text("half of")
        raise OSError(errno.ENOSPC, "x")

    own = Path(table)
    before, beside = own.read_bytes(), set(own.parent.iterdir())
    monkeypatch.setattr(pd.DataFrame, "to_csv", fill)
    status, _, err = run("join", table, index, "--on", "land", "-o", table)
    assert status == 2 and "csv' cannot (No space left on device)" in err
    assert (own.read_bytes(), set(own.parent.iterdir())) == (before, beside)


def test_an_encoding_that_lacks_a_letter_is_one_line(capsys, monkeypatch, index, tmp_path):
    (tmp_path / "t.csv").write_text("Länder\nMali\nCuba\n", "utf-8")
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    assert main(["join", str(tmp_path / "t.csv"), str(index)]) == 2
    told = "dfjoin: standard output has the encoding ascii, which lacks 'ä'; set PYTHONUTF8=1"
    assert capsys.readouterr().err.splitlines()[-1] == told


def test_module_runs_as_a_program(index):
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-m", "dfjoin", "info", index], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 tables" in done.stdout


# Damage and wrong arguments are one line --------------------------------------------------------------------


def _flip_a_byte(path):
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
        _flip_a_byte(manifest)
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


# the words of the shell ------------------------------------------------------------------------------


def words(text, command="build"):
    return in_shell_words(text, main_module._parsers()[1], command)


@pytest.mark.parametrize(
    ("command", "said", "shell"),
    [
        ("build", 'pass if_exists="replace" to build it anew', "pass --if-exists replace to build it anew"),
        ("build", "`keep_data` must be", "`keep_data` must be"),
        ("build", "(keep_sets=False)", "(--drop-sets)"),
        ("build", "`settings['samples']` must be", "`--samples` must be"),
        ("discover", 'settings={"patterns": True}', "dfjoin build --patterns"),
        ("discover", "pass `pad=5`", "pass `--pad 5`"),
        ("discover", "leave out verify=False", "leave out --no-verify"),
        ("discover", 'or pass `mode="lsh"`', "or pass `--mode lsh`"),
        ("join", "leave out transform=False", "leave out --no-transform"),
        ("join", "pass transform=True", "pass --transform"),
        ("join", "pass aggregate=None", "pass --keep-rows"),
        ("join", "`examples` must be", "`--example` must be"),
        ("join", "`right_on` does not apply when `other` is", "`--right-on` does not apply when `other` is"),
        ("join", 'pass on_stale="warn" to go on', "pass --on-stale warn to go on"),
        ("discover", "add them with `lake.add_patterns()`", "add them with `dfjoin add-patterns INDEX`"),
        ("add", "use `Lake.replace(source)` to put", "use `dfjoin replace INDEX SOURCE` to put"),
        ("info", "call dfjoin.repair, or", "call `dfjoin repair INDEX`, or"),
        ("compact", "call compact() again", "run `dfjoin compact INDEX` again"),
        ("remove", "`tables` must name tables", "`tables` must name tables"),
        ("join", "unchanged, dfjoin.report(result) lists", "unchanged, the report lists"),
        ("join", "see `dfjoin.report(wide)`", "see the report"),
    ],
)  # fmt: skip
def test_a_message_of_the_library_is_said_in_the_words_of_the_shell(command, said, shell):
    assert words(said, command) == shell


def test_an_index_that_exists_names_the_option(run, folder, index):
    status, _, err = run("build", folder, index, "--engine", "inline", "--quiet")
    assert status == 2 and "pass --if-exists replace to build it anew, or --if-exists add" in err


def test_a_note_names_the_option(run, tmp_path, folder):
    (folder / "zips.csv").write_text("zip,place\n" + "".join(f"{i:05d},p{i}\n" for i in range(500, 540)))
    (tmp_path / "ints.csv").write_text("zip\n" + "".join(f"{i}\n" for i in range(500, 540)))
    run("build", folder, tmp_path / "i", "--engine", "inline", "--quiet")
    status, _, err = run("discover", tmp_path / "i", tmp_path / "ints.csv", "--on", "zip")
    assert status == 0 and "dfjoin: note: " in err and "--pad 5" in err and "pad=5" not in err


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["discver", "i", "t"], "did you mean discover?"), (["add-signature", "i"], "did you mean add-signatures?"),
        (["discover", "i", "t", "--treshold", "1"], "did you mean --threshold?"),
        (["discover", "i", "t", "--plans=x"], "did you mean --plan?"),
    ],
)  # fmt: skip
def test_a_mistyped_word_gets_a_hint(capsys, argv, hint):
    with pytest.raises(SystemExit) as ended:
        main(argv)
    err = capsys.readouterr().err
    assert ended.value.code == 2 and err.rstrip().endswith(hint)


def test_a_word_that_is_like_nothing_gets_no_hint(capsys):
    with pytest.raises(SystemExit):
        main(["qqq"])
    assert "did you mean" not in capsys.readouterr().err


# completion ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_its_options(capsys, shell):
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit) as ended:
        main(["--print-completion", shell])
    text = capsys.readouterr().out
    commands = main_module._parsers()[1]
    assert ended.value.code == 0 and {"restore", "repair", "verify", "add-signatures", "add-patterns"} <= set(commands)
    assert all(name in text for name in commands) and "threshold" in text and "if-exists" in text


def test_bash_takes_the_completion(capsys, tmp_path):
    pytest.importorskip("shtab")
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    with pytest.raises(SystemExit):
        main(["--print-completion", "bash"])
    (tmp_path / "c.sh").write_text(capsys.readouterr().out)
    done = subprocess.run([bash, "-c", f". {tmp_path / 'c.sh'}; complete -p dfjoin"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("complete ") and done.stderr == ""


def test_completion_without_its_library_names_the_extra(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(SystemExit) as ended:
        main(["--print-completion", "bash"])
    err = capsys.readouterr().err
    assert ended.value.code == 2 and err.count("\n") == 1 and 'pip install "dfjoin[completion]"' in err


# what is written -------------------------------------------------------------------------------------


def strict(text):
    """Read JSON as its definition says, which knows neither NaN nor Infinity."""
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def test_json_has_no_nan(run, tmp_path):
    names = [f"{a} {b}" for a in ("Ann", "Bob", "Cem", "Dan", "Eva") for b in ("Ray", "Sol", "Tun", "Uri", "Voss")]
    frames = {"people": pd.DataFrame({"person": [f"{n.split()[1]}, {n.split()[0]}" for n in names]})}
    path = tmp_path / "i"
    dfjoin.build_lake(frames, path, engine="inline", progress=False, settings={"patterns": True})
    pd.DataFrame({"name": names}).to_csv(tmp_path / "n.csv", index=False)
    status, out, _ = run("discover", path, tmp_path / "n.csv", "--on", "name", "--mode", "transform", "--json")
    (hit,) = strict(out)["hits"]
    assert status == 0 and hit["jaccard"] is None and hit["matched"] == 25


def test_the_other_file_of_a_join_has_numbers(run, tmp_path):
    (tmp_path / "a.csv").write_text("k,code\nx,01\ny,02\n")
    (tmp_path / "b.csv").write_text("k,amount,code,flag\nx,1.5,007,true\nx,2.5,007,true\ny,4,010,false\n")
    status, out, _ = run("join", tmp_path / "a.csv", tmp_path / "b.csv", "--on", "k", "-o", tmp_path / "w.parquet")
    wide = pd.read_parquet(tmp_path / "w.parquet")
    assert status == 0 and "amount (mean; 2 rows disagree)" in out and wide["amount"].tolist() == [2.0, 4.0]
    (brought,) = [name for name in wide if name.startswith("code") and name != "code"]
    assert wide[brought].tolist() == ["007", "010"]
    assert wide["code"].tolist() == ["01", "02"] and wide["flag"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("other", ["missing", "directory"])
def test_the_other_table_of_a_join_is_named(run, table, tmp_path, other):
    (tmp_path / "directory").mkdir()
    status, _, err = run("join", table, tmp_path / other, "--on", "land")
    assert status == 2 and "`other` must be an index or " in err
    assert ("dfjoin build" in err) == (other == "directory")


def test_a_weighted_search_prints_rows(run, index, table):
    status, out, _ = run("discover", index, table, "--on", "land", "--weighted")
    assert status == 0 and "matched_rows" in out and "row_containment" in out


def test_a_join_pads_codes_and_reads_the_day_first(run, tmp_path):
    (tmp_path / "l.csv").write_text("zip,day\n501,03/04/2024\n7001,05/06/2024\n")
    (tmp_path / "r.csv").write_text("code,place,date\n00501,Holtsville,2024-04-03\n07001,Avenel,2024-06-05\n")
    (tmp_path / "lake").mkdir()
    shutil.copy(tmp_path / "r.csv", tmp_path / "lake")
    run("build", tmp_path / "lake", tmp_path / "i", "--engine", "inline", "--quiet")
    for option, on, right_on in (("--pad", "zip", "code"), ("--dayfirst", "day", "date")):
        given = [option, "5"] if option == "--pad" else [option]
        for other in ([tmp_path / "r.csv", "--right-on", right_on], [tmp_path / "i"]):
            status, _, _ = run("join", tmp_path / "l.csv", *other, "--on", on, *given, "-o", tmp_path / "w.csv")
            assert status == 0 and pd.read_csv(tmp_path / "w.csv")["place"].tolist() == ["Holtsville", "Avenel"]


def test_a_join_by_other_names_of_the_same_things(run, tmp_path):
    (tmp_path / "l.csv").write_text("land\nDeutschland\nFrankreich\nSpanien\nJapan\n")
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "r.csv").write_text("iso,n\nDE,1\nFR,2\nES,3\nJP,4\n")
    run("build", tmp_path / "lake", tmp_path / "i", "--engine", "inline", "--quiet")
    status, out, _ = run("discover", tmp_path / "i", tmp_path / "l.csv", "--on", "land", "--aliases", "-k", "3")
    assert status == 0 and "country" in out
    status, _, _ = run(
        "join", tmp_path / "l.csv", tmp_path / "i", "--on", "land", "--aliases", "-o", tmp_path / "w.csv"
    )
    assert status == 0 and pd.read_csv(tmp_path / "w.csv")["n"].tolist() == [1, 2, 3, 4]
