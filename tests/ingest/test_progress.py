"""The line that follows a build: what it says, where it is written, and when."""

import io
import json
import threading

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IndexNotFoundError
from dfjoin.ingest import driver
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
    assert shown.line() == "dfjoin: reading 1/4 tables, 1,500 rows, 2/8 MB, 10 s"
    clock[0] = 14
    shown.add(500, 2_000_000)
    assert shown.line() == "dfjoin: reading 2/4 tables, 2,000 rows, 4/8 MB, 14 s, about 8 s left"
    shown.begin("merging", 12_500_000)
    assert shown.line() == "dfjoin: merging 0/12.5 MB, 14 s"
    shown.add(10, 2_500_000)
    clock[0] = 16
    shown.add(10, 5_000_000)
    assert shown.line() == "dfjoin: merging 7.5/12.5 MB, 16 s, about 2 s left"
    shown.add(10, 5_000_000)
    assert shown.line() == "dfjoin: merging 12.5/12.5 MB, 16 s"


def test_counts_are_what_a_function_is_given(clock):
    shown = Progress(False, 4, 8_000_000)
    clock[0] = 10
    shown.add(1500, 2_000_000)
    assert shown.counts()["seconds_left"] is None
    clock[0] = 14
    shown.add(500, 2_000_000)
    known = {"stage": "reading", "tables": 2, "n_tables": 4, "rows": 2000, "done": 4_000_000, "n": 8_000_000}
    assert shown.counts() == known | {"seconds": 14.0, "seconds_left": 8.0}
    shown.tell("training", 0.25)
    told = shown.counts()
    assert (told["stage"], told["done"], told["n"]) == ("training", 0.25, 1)


def test_a_function_is_called_at_both_ends_and_by_another_thread_between(monkeypatch, tmp_path):
    told = []
    turns, seen = threading.Event(), threading.Event()

    def report(counts):
        told.append((counts["tables"], threading.current_thread() is threading.main_thread()))
        if told[-1][1] is False:
            seen.set()
            turns.wait(10)  # the work goes on meanwhile

    monkeypatch.setattr(module, "_SECONDS", 0.01)
    with Progress(report, 300, 300) as shown:
        assert seen.wait(10)
        for _ in range(300):
            shown.add(1, 1)
        monkeypatch.setattr(module, "_SECONDS", 60)
        turns.set()
    assert told == [(0, True), (0, False), (300, True)]
    named = []
    dfjoin.build_lake({"a": pd.DataFrame({"k": ["x"]})}, tmp_path / "i", engine="inline", progress=named.append)
    assert named[0]["stage"] == "reading" and named[-1]["stage"] == "merging" and named[-1]["n_tables"] == 1


def raising_in_the_other_thread(counts):
    if threading.current_thread() is not threading.main_thread():
        raise KeyError("mine")


def raising_at_once(counts):
    raise KeyError("mine")


@pytest.mark.parametrize(
    "act", [lambda shown: shown.add(1, 1), lambda shown: shown.begin("merging", 1), lambda shown: shown.tell("x", 0.5),
            lambda shown: shown.__exit__(None, None, None)]
)  # fmt: skip
def test_what_the_function_raises_in_the_other_thread_the_work_raises(monkeypatch, act):
    monkeypatch.setattr(module, "_SECONDS", 0.001)
    with pytest.raises(KeyError, match="mine"), Progress(raising_in_the_other_thread, 3, 3) as shown:
        shown._thread.join(10)
        act(shown)
        pytest.fail("the work went on")


@pytest.mark.parametrize("report", [raising_at_once, raising_in_the_other_thread])
def test_what_the_function_raises_ends_the_build(tmp_path, monkeypatch, report):
    monkeypatch.setattr(module, "_SECONDS", 0.001)
    frames = {f"t{n}": pd.DataFrame({"k": range(5000)}) for n in range(20)}
    with pytest.raises(KeyError, match="mine"):
        dfjoin.build_lake(frames, tmp_path / "i", engine="inline", progress=report)
    with pytest.raises(IndexNotFoundError):
        dfjoin.open_lake(tmp_path / "i")


@pytest.mark.parametrize(
    ("total", "done", "said"),
    [
        (14_683, 2_000, "2/14.7 kB"), (480_000, 0, "0/480 kB"), (900, 30, "30/900 bytes"),
        (2_500_000_000, 1_234_567_890, "1.2/2.5 GB"), (0, 3_000_000, "3 MB"),
    ],
)  # fmt: skip
def test_bytes_have_the_unit_of_their_total(clock, total, done, said):
    shown = Progress(False, 3, total)
    shown.add(5, done)
    assert shown.line() == f"dfjoin: reading 1/3 tables, 5 rows, {said}, 0 s"


def test_totals_that_are_not_known_are_left_out(clock):
    shown = Progress(False, 0, 0)
    assert shown.line() == "dfjoin: reading 0 tables, 0 rows, 0 s"
    clock[0] = 9
    shown.add(3, 0)
    assert shown.line() == "dfjoin: reading 1 tables, 3 rows, 9 s"


def test_the_time_left_is_told_only_when_the_rate_is_known(clock):
    shown = Progress(False, 100, 1000)
    clock[0] = 60  # a session started, kernels were compiled
    shown.add(1, 10)
    assert "left" not in shown.line()
    clock[0] = 61
    shown.add(1, 49)
    assert "left" not in shown.line()
    shown.add(1, 1)
    assert shown.line().endswith("61 s, about 19 s left")


def test_work_that_is_not_counted_tells_the_time(clock):
    shown = Progress(False, 0, 0, stage="starting Spark")
    clock[0] = 7
    assert shown.line() == "dfjoin: starting Spark, 7 s"


def test_workers_start_until_the_first_of_them_counts(clock, tmp_path):
    shown = Progress(False, 5, 1000, tmp_path)
    assert shown.line() == "dfjoin: starting workers, 0/5 tables, 0 s"
    (tmp_path / "progress-0.json").write_text("[0, 0, 0]")
    shown._set(shown._counts_of_tasks(tmp_path))
    assert shown.line() == "dfjoin: reading 0/5 tables, 0 rows, 0/1 kB, 0 s"


def test_nothing_is_written_unless_asked(clock):
    stream = Terminal()
    with Progress(False, 1, 1, stream=stream) as shown:
        clock[0] = 100
        shown.add(1, 1)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "log"])
def test_work_below_two_seconds_is_silent(clock, stream):
    with Progress(True, 2, 10, stream=stream) as shown:
        shown.add(1, 5)
        clock[0] = 1.9
        shown.add(1, 5)
        shown.begin("merging", 10)
    assert stream.getvalue() == ""


def test_a_terminal_gets_one_line_that_is_wiped(clock):
    stream = Terminal()
    with Progress(True, 2, 10, stream=stream) as shown:
        shown.add(1, 5)
        clock[0] = 3
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
        shown.begin("merging", 10)
    lines = stream.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "dfjoin: reading 3/9 tables", "dfjoin: reading 5/9 tables", "dfjoin: merging 0/10 bytes",
    ]  # fmt: skip


def test_one_long_table_does_not_keep_the_line_from_moving(monkeypatch):
    monkeypatch.setattr(module, "_SILENT_SECONDS", 0.0)
    stream = Terminal()
    with Progress(True, 1, 10, stream=stream) as shown:
        deadline = module.time.monotonic() + 20
        while "reading 0/1 tables" not in stream.getvalue() and module.time.monotonic() < deadline:
            module.time.sleep(0.05)
        assert shown.line().startswith("dfjoin: reading 0/1 tables, 0 rows, 0/10 bytes")
    assert "reading 0/1 tables" in stream.getvalue()


def test_counts_of_tasks_elsewhere_are_added_up(tmp_path, monkeypatch):
    (tmp_path / "progress-0.json").write_text(json.dumps([2, 20, 200]))
    (tmp_path / "progress-1.json").write_text(json.dumps([1, 10, 100]))
    (tmp_path / "progress-2.json").write_text("[1, 2")  # half written
    shown = Progress(False, 5, 1000, tmp_path)
    turns = iter([False, True])
    monkeypatch.setattr(shown._stopped, "wait", lambda _: next(turns))
    shown._watch()
    assert "3/5 tables, 30 rows" in shown.line()


def test_counts_of_merging_tasks_have_files_of_their_own(tmp_path, monkeypatch):
    (tmp_path / "progress-0.json").write_text(json.dumps([2, 20, 200]))
    (tmp_path / "merging-0.json").write_text(json.dumps([4, 7, 500]))
    shown = Progress(False, 5, 1000, tmp_path)
    shown.begin("merging", 2000)
    turns = iter([False, True])
    monkeypatch.setattr(shown._stopped, "wait", lambda _: next(turns))
    shown._watch()
    assert "merging 0.5/2 kB" in shown.line()


@pytest.mark.parametrize("segment_bytes", [1 << 16, 512 << 20])
def test_a_build_merges_as_many_bytes_as_it_announced(tmp_path, monkeypatch, segment_bytes):
    made = []

    class Kept(Progress):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(driver, "Progress", Kept)
    frames = {f"t{n}": pd.DataFrame({"c": [f"{n}-{i}" for i in range(3000)]}) for n in range(4)}
    settings = {"segment_bytes": segment_bytes, "task_bytes": 1 << 16}
    dfjoin.build_lake(frames, tmp_path / "i", engine="inline", settings=settings)
    (shown,) = made
    assert shown._stage == "merging" and shown._counts[2] == shown._total > 0
