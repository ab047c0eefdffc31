"""README.md is true: its tour prints what it says, its commands are legal, and it stays short."""

import ast
import re
import shlex
import shutil

import pandas as pd
import pytest

from dfjoin.cli.main import main as run_shell
from dfjoin.search.candidates import _NO_WIDTH
from tests.benchmarks import recordings
from tests.conftest import PROJECT

README = (PROJECT / "README.md").read_text("utf-8")
MAX_LINES, WIDEST = 80, 120


def _blocks():
    """Fenced blocks in order: language, text."""
    return [(m[1], m[2]) for m in re.finditer(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)]


def _run(source, names, capsys):
    """Run a block as a notebook does: what it prints, then the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "README.md", "exec"), names)
    value = eval(compile(ast.Expression(last.value), "README.md", "eval"), names) if last is not None else None
    printed = capsys.readouterr().out
    return printed if value is None else printed + repr(value) + "\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A directory with the examples, to run the tour in."""
    shutil.copytree(PROJECT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(_NO_WIDTH))  # as in a pipe, whatever the terminal
    return tmp_path


def test_the_tour_prints_what_it_says(project, capsys):
    blocks = _blocks()
    names, n_compared = {}, 0
    for (language, text), (next_language, output) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language != "python":
            continue
        printed = _run(text, names, capsys)
        if not next_language and output:
            assert printed == output
            n_compared += 1
    assert n_compared == 2


def test_the_shell_commands_run(project, capsys):
    tour = next(text for language, text in _blocks() if language == "python")
    _run(tour, {}, capsys)  # makes the index that the commands read
    (text,) = [text for language, text in _blocks() if language == "sh" and "dfjoin discover" in text]
    for line in text.splitlines():
        for command in line.split("&&"):
            words = shlex.split(command, comments=True)
            assert words.pop(0) == "dfjoin"
            assert run_shell(words) == 0, command
    assert len(pd.read_csv(project / "wide.csv")) == 12
    capsys.readouterr()


def test_it_opens_with_what_it_is_and_two_commands():
    head, _, rest = README.partition("## ")
    assert head.startswith("# dfjoin\n\ndfjoin finds ")
    assert head.count("```sh") == 2 and re.findall(r"<!-- command: (\w+) -->\n```sh\n", head) == ["main", "tests"]
    assert rest.startswith("Five minutes")


def test_it_is_short():
    lines = README.splitlines()
    assert len(lines) <= MAX_LINES
    commands = [line for line in lines if line.startswith("python3 -m venv ")]
    assert len(commands) == 2 and [line for line in lines if len(line) > WIDEST and line not in commands] == []
    picture = PROJECT / re.search(r"!\[[^\]]+\]\(([^)]+)\)", README)[1]
    assert picture.stat().st_size < 150_000


def test_each_figure_is_recorded_for_the_call_that_it_names():
    """A row of the table has a call with its description, figures, and the name of the recording that has them."""
    table = README.partition("## Measured\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert len(rows) >= 4
    for call, figures, link in rows:
        name, page = re.fullmatch(r"\[`([\w-]+)`\]\((docs/measurements/\w+\.md)\)", link).groups()
        recording = recordings.read(name)
        assert f"<!-- measured: {name} -->" in (PROJECT / page).read_text("utf-8")
        assert recording.call in re.findall("`([^`]+)`", call), name
        assert _are_of_the_call(call, figures, recording), name
    elsewhere = re.sub("`[^`]+`", "", README.replace(table, "").partition("## What it is for")[2])
    assert not re.search(r"[ (]\d+\.\d|\d ?(%|ms|MB|s\b)", elsewhere), "a figure outside of the table"


def _are_of_the_call(call, figures, recording):
    """Whether one row of a recording that names the call has all figures; those in brackets are of its note."""
    figures, _, more = figures.partition("(")
    rows = [row for row in recording.rows if f"`{recording.call}`" in str(row[0])]
    found = [_numbers(" ".join(map(recordings.cell, row))) for row in rows]
    told = _numbers(re.sub("`[^`]+`", "", f"{call} {more}"))
    known = set().union(*found) | _numbers(f"{recording.columns} {recording.note}")
    return any(_numbers(figures) <= row for row in found) and bool(_numbers(figures)) and told <= known


def _numbers(text):
    return set(recordings.numbers_of(text))


def test_a_figure_of_another_row_is_refused():
    recording = recordings.read("web-joins")
    assert _are_of_the_call("`df.auto_join(other)`", "0.994, 0.975 (0.96)", recording)
    assert not _are_of_the_call("`df.auto_join(other)`", "0.994, 0.884", recording)  # of Auto-Join
    assert not _are_of_the_call("`df.auto_join(other)`", "0.994 (0.5)", recording)


def test_its_links_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (PROJECT / target).exists(), target


def test_the_story_of_the_code_names_files_that_exist():
    """ARCHITECTURE.md and its kin speak of files below the package; a file that moves is moved there, too."""
    names = ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/decisions.md")
    story = "".join((PROJECT / name).read_text("utf-8") for name in names)
    named = set(re.findall(r"`(spark_ext/[a-z_]+\.py|[a-z_]+(?:/[a-z_]+)*/[a-z_]+\.py)`", story))
    assert len(named) > 20
    missing = [name for name in named if not ((PROJECT / name).is_file() or (PROJECT / "dfjoin" / name).is_file())]
    assert not missing
