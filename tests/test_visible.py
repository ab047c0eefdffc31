"""Names of others in every text: nothing that a terminal obeys, and no mark that turns a line around."""

import json
import re
import unicodedata
import warnings

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfjoin
from dfjoin import errors
from dfjoin._visible import visible, visible_lines
from dfjoin.cli.main import main
from dfjoin.cli.output import to_json
from dfjoin.search.candidates import _NO_WIDTH

CLIPBOARD, COLOUR, REVERSED = "\x1b]52;c;aGk=\x07", "\x9b31m", "\u202e"
HOSTILE = f"land{CLIPBOARD}\n{COLOUR}{REVERSED}"
DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def is_unseen(character):
    """Whether a terminal may obey a character, or turn the line around by it; from the tables of Unicode."""
    category = unicodedata.category(character)
    is_mark = character in "\u061c\u200e\u200f" or unicodedata.bidirectional(character) in DIRECTIONS
    return category in ("Cc", "Cs", "Zl", "Zp") or is_mark


def assert_is_seen(text):
    assert not [c for c in text if c != "\n" and is_unseen(c)]
    text.encode()


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_unseen_is_written_as_python_and_json_read_it(text):
    shown = visible(text)
    assert not any(map(is_unseen, shown))
    assert shown == text or any(map(is_unseen, text))
    if "\\" not in text:
        assert re.sub(r"\\u(....)|\\([nrt])", _read, shown) == text
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text


def _read(match):
    return chr(int(match[1], 16)) if match[1] else {"n": "\n", "r": "\r", "t": "\t"}[match[2]]


def test_every_code_point_is_told_as_unicode_tells_it():
    points = [chr(i) for i in range(0x110000)]
    assert [c for c in points if visible(c) != c] == [c for c in points if is_unseen(c)]


def test_a_name_makes_no_line_of_its_own():
    assert visible_lines(["a\nb", "c"]) == "a\\nb\nc"


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    values = [f"value {i}" for i in range(60)]
    data = pd.DataFrame(
        {HOSTILE: values, f"area{COLOUR}": range(60), f"text{REVERSED}": [f"x{COLOUR}{i}" for i in range(60)]}
    )
    data.to_csv(folder / f"data{HOSTILE}.csv", index=False)
    (folder / f"broken{HOSTILE}.parquet").write_bytes(b"no table")
    pd.DataFrame({HOSTILE: values * 2, "amount": range(120)}).to_csv(folder / "uses.csv", index=False)
    return dfjoin.build_lake(folder, folder / "lake.dfjoin", engine="inline", progress=False)


@pytest.fixture(scope="module")
def df():
    return pd.DataFrame({f"my{HOSTILE}": [f"value {i}" for i in range(0, 60, 2)] + [f"no{COLOUR}", f"none{CLIPBOARD}"]})


def test_results_explanations_and_reports_are_seen(lake, df, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(_NO_WIDTH))  # as in a pipe, whatever the terminal
    on = df.columns[0]
    hits = df.discover_joinable(on, lake, min_score=0)
    wide = df.auto_join(lake, on=on, min_score=0, columns=None)
    told = wide.attrs["dfjoin"]
    assert any(HOSTILE in step["table"] for step in told["joined"]), "plain values keep names as they are"
    texts = [repr(hits), repr(hits[["table", "column"]]), str(hits.explain(0)), str(dfjoin.report(wide)), repr(lake)]
    texts += [hits._repr_html_(), hits.explain(0)._repr_html_(), dfjoin.report(wide)._repr_html_()]
    for text in texts:
        assert_is_seen(text)
    assert all("\\u001b]52;c;" in text for text in texts[:4])
    report = str(dfjoin.report(wide)).splitlines()
    assert len(report) <= 6 and "\\n" in report[1], "a name makes no line of its own"


def test_programs_and_graphs_are_seen(lake):
    first, last = ["Ann", "Bo", "Cy", "Dee", "Eve", "Flo", "Gus", "Hal"], ["Smith", "Jones", "Miller", "Baker", "Young"]
    people = [f"{b}, {a}" for a in first for b in last]
    left = pd.DataFrame({HOSTILE: people})
    right = pd.DataFrame({f"full{HOSTILE}": [" ".join(reversed(p.split(", "))) for p in people], "v": range(40)})
    wide = left.auto_join(right)
    assert wide.attrs["dfjoin"]["joined"]
    assert_is_seen(str(dfjoin.report(wide)))
    graph = lake.join_graph(min_score=0)
    row = graph.candidates.iloc[0]
    assert_is_seen(graph.explain(row["table"], row["column"]))


def test_warnings_and_errors_are_seen():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        errors.warn(f"`{HOSTILE}` is left out")
    assert_is_seen(str(seen[0].message))
    for name in errors.__all__:
        kind = getattr(errors, name)
        if isinstance(kind, type) and issubclass(kind, errors.DfjoinError):
            assert str(kind(f"`{COLOUR}{REVERSED}` is\nwrong")) == "`\\u009b31m\\u202e` is\nwrong"


COMMANDS = [
    ["discover", "LAKE", "TABLE", "--on", "ref", "--min-score", "0"],
    ["discover", "LAKE", "TABLE", "--on", "ref", "--min-score", "0", "--explain", "0"],
    ["search", "LAKE", "land"],
    ["show", "LAKE", f"data{HOSTILE}.csv"],
    ["show", "LAKE", f"nothing{HOSTILE}"],
    ["info", "LAKE", "--tables", "--columns", "--skipped", "--versions"],
    ["graph", "LAKE", "--min-score", "0"],
    ["join", "TABLE", "LAKE", "--on", "ref", "-o", "OUT"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_shell_shows_names(lake, tmp_path, capsys, command, form):
    names = {"LAKE": str(lake.path), "TABLE": str(tmp_path / "mine.csv"), "OUT": str(tmp_path / "out.csv")}
    pd.DataFrame({"ref": [f"value {i}" for i in range(60)]}).to_csv(names["TABLE"], index=False)
    main([names.get(word, word) for word in command] + form)
    out, err = capsys.readouterr()
    assert out or err
    assert_is_seen(out)
    assert_is_seen(err)
    if form and out:
        assert json.loads(out)


def test_csv_is_data_in_a_pipe_and_seen_on_a_terminal(lake, capsys, monkeypatch):
    command = ["show", str(lake.path), f"data{HOSTILE}.csv", "--format", "csv"]
    main(command)
    assert CLIPBOARD in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    main(command)
    text = capsys.readouterr().out
    assert_is_seen(text)
    assert "\\u001b]52" in text


def test_json_keeps_names():
    assert json.loads(to_json({"name": HOSTILE})) == {"name": HOSTILE}
    assert_is_seen(to_json({"name": HOSTILE}))
