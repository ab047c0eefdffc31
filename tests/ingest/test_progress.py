"""The line that follows a build: what it says, where it is written, and when."""

import io
import json

import pytest

from dfjoin.ingest import progress as module
from dfjoin.ingest.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still; ``clock[0]`` sets it."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_the_line(clock):
    shown = Progress(False, 4, 8_000_000)
    clock[0] = 10
    shown.add(1500, 2_000_000)
    assert shown.line() == "dfjoin: reading 1/4 tables, 1,500 rows, 2/8 MB, 10 s, 30 s left"
    shown.stage("merging", 4, 6000, 8_000_000)
    assert shown.line() == "dfjoin: merging 4/4 tables, 6,000 rows, 8/8 MB, 10 s"


def test_nothing_is_written_unless_asked(clock):
    stream = Terminal()
    with Progress(False, 1, 1, stream=stream) as shown:
        shown.add(1, 1)
    assert stream.getvalue() == ""


def test_a_terminal_gets_one_line_that_is_wiped(clock):
    stream = Terminal()
    with Progress(True, 2, 10, stream=stream) as shown:
        shown.add(1, 5)
        clock[0] = 1
        shown.add(1, 5)
        shown.add(1, 5)  # at the same moment
    parts = stream.getvalue().split("\r")
    assert len(parts) == 3 and "2/2 tables" in parts[1] and parts[2] == "\033[K"


def test_a_log_gets_a_line_every_ten_seconds(clock):
    stream = io.StringIO()
    with Progress(True, 9, 10, stream=stream) as shown:
        for second in range(0, 25, 5):
            clock[0] = second
            shown.add(1, 1)
        shown.stage("merging", 9, 9, 10)
    lines = stream.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "dfjoin: reading 3/9 tables", "dfjoin: reading 5/9 tables", "dfjoin: merging 9/9 tables",
    ]  # fmt: skip


def test_counts_of_tasks_elsewhere_are_added_up(tmp_path, monkeypatch):
    (tmp_path / "progress-0.json").write_text(json.dumps([2, 20, 200]))
    (tmp_path / "progress-1.json").write_text(json.dumps([1, 10, 100]))
    (tmp_path / "progress-2.json").write_text("[1, 2")  # half written
    shown = Progress(False, 5, 1000, tmp_path)
    turns = iter([False, True])
    monkeypatch.setattr(shown._stopped, "wait", lambda _: next(turns))
    shown._watch()
    assert "3/5 tables, 30 rows" in shown.line()
