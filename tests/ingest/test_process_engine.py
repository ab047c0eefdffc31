"""Builds in several processes: the index of one process, and its errors."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import pytest
from pyarrow import fs

import dfjoin
from dfjoin.errors import EngineError, InvalidParameterError, TableReadError
from dfjoin.ingest import driver, process_engine
from dfjoin.ingest.build_options import BuildOptions
from dfjoin.ingest.requests import run_request
from dfjoin.sources import roots
from dfjoin.types import IndexSettings, Root, TableSource

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals end the workers here")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Make a lake of twelve tables, one of which cannot be read, that is cut into six tasks."""
    monkeypatch.setattr(driver, "_TASK_INPUT_BYTES", 2 * (32 << 10))
    lake = tmp_path / "files"
    lake.mkdir()
    for number in range(11):
        rows = "".join(f"{i},town {i * number},{i % 7}\n" for i in range(number, 60))
        (lake / f"t{number:02d}.csv").write_text(f"id,town,day\n{rows}")
    (lake / "t05.parquet").write_bytes(b"no table")
    return lake


def build(files, index, workers, **options):
    return dfjoin.build_lake(files, index, workers=workers, engine="inline", progress=False, **options)


def content(index):
    """Return the files of the segments of an index, but for their own names."""
    paths = sorted(path for path in (index / "segments").rglob("*") if path.is_file())
    return [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in paths]


def started(monkeypatch):
    """Return the processes that an engine starts, as it does."""
    found = []

    class Noted(subprocess.Popen):
        def __init__(self, *args, **kws):
            super().__init__(*args, **kws)
            found.append(self)

    monkeypatch.setattr(process_engine.subprocess, "Popen", Noted)
    return found


def test_the_index_does_not_depend_on_the_number_of_processes(files, tmp_path, monkeypatch):
    lakes = [build(files, tmp_path / "1", 1)]
    workers = started(monkeypatch)
    for n in (2, 3):
        workers.clear()
        lakes.append(build(files, tmp_path / str(n), n))
        assert len(workers) == n - 1 and all(worker.returncode == 0 for worker in workers)
        assert not list((tmp_path / str(n)).glob("runs/*"))
    assert content(tmp_path / "1") == content(tmp_path / "2") == content(tmp_path / "3")
    for lake in lakes:
        assert [record["name"] for record in lake.info()["skipped"]] == ["t05.parquet"]
        assert len(lake.tables) == 11 and lake.check().empty


def test_the_first_table_that_cannot_be_read_is_the_error(files, tmp_path):
    (files / "t10.csv").unlink()
    (files / "t10.parquet").write_bytes(b"no table")
    for workers in (1, 2):
        with pytest.raises(TableReadError, match=r"the table `t05\.parquet` cannot be read"):
            build(files, tmp_path / "index", workers, on_error="raise")
        assert not (tmp_path / "index").exists()


def test_tables_that_are_added(files, tmp_path):
    late = files / "t10.csv"
    late.rename(tmp_path / "late.csv")
    lake = build(files, tmp_path / "index", 2)
    (tmp_path / "late.csv").rename(late)
    assert lake.add(files, workers=2, progress=False).version == 2
    assert len(lake.tables) == 11


def test_a_worker_that_is_killed_is_an_error_and_leaves_nothing(files, tmp_path, monkeypatch):
    workers = started(monkeypatch)

    def kill():
        while not workers:
            time.sleep(0.01)
        workers[0].kill()

    threading.Thread(target=kill).start()
    text = (
        "a worker process of the build was killed by signal 9; if memory was short, pass fewer `workers` or a smaller "
        "settings['task_bytes']"
    )
    with pytest.raises(EngineError, match=re.escape(text)):
        build(files, tmp_path / "index", 2)
    assert not (tmp_path / "index").exists()
    assert all(worker.returncode is not None for worker in workers)


@pytest.mark.parametrize("ends", ["a worker", "Ctrl-C"])
def test_segments_of_a_change_that_fails_are_removed_from_the_index(files, tmp_path, monkeypatch, ends):
    late = files / "t10.csv"
    late.rename(tmp_path / "late.csv")
    lake = build(tmp_path / "late.csv", tmp_path / "index", 1, settings={"segment_bytes": 10_000})
    before = sorted((lake.path / "segments").iterdir())
    workers, n_merged = started(monkeypatch), []

    def execute_and_end(request, *report):
        result = execute(request, *report)
        if json.loads(request)["task"] == "merge":
            n_merged.append(len(list((lake.path / "segments").iterdir())) - len(before))
            assert not any(Path(run).exists() for run in json.loads(request)["runs"])
            if ends == "Ctrl-C":
                raise KeyboardInterrupt
            workers[-1].kill()
        return result

    execute = process_engine.execute
    monkeypatch.setattr(process_engine, "execute", execute_and_end)
    with pytest.raises(EngineError if ends == "a worker" else KeyboardInterrupt):
        lake.add(files, workers=2, progress=False)
    assert n_merged and n_merged[0] >= 1
    assert sorted((lake.path / "segments").iterdir()) == before
    assert not list((lake.path / "runs").iterdir()) and dfjoin.open_lake(lake.path).version == 1


def read_request(work):
    """Return the request to read a table that is not there."""
    (work / "runs").mkdir(exist_ok=True)
    table = TableSource("t", Root(0, "r", str(work)), "t.csv", "delimited", 10, 0)
    return run_request(work, IndexSettings(), [table], "raise", None)


def test_what_a_worker_raises_is_raised_here():
    requests = process_engine._Requests(['{"task": "no such task", "progress": null}'] * 2)
    with pytest.raises(KeyError, match="no such task"), process_engine._Workers(requests) as workers:
        workers.start(*requests.take())
        workers.wait()
    assert requests.take() is None


AT = '{"task": "run", "roots": [{"kind": "%s", "uri": "%s"}], "sources": [{}]}'


def test_databases_are_read_here_and_in_order():
    requests = process_engine._Requests([AT % (kind, "") for kind in ("database", "files") * 3])
    assert requests.take()[0] == 1 and requests.take()[0] == 3
    assert [requests.take(is_here=True)[0] for _ in range(3)] == [0, 2, 4]
    assert requests.take()[0] == 5 and requests.take() is None and requests.take(is_here=True) is None


def test_what_is_opened_with_credentials_is_read_here(monkeypatch):
    opened = types.SimpleNamespace(from_uri=lambda uri: (fs.LocalFileSystem(), "bucket/lake"))
    monkeypatch.setattr(roots.fs, "FileSystem", opened)
    for name in ("_opened", "_with_credentials"):
        monkeypatch.setattr(roots, name, type(getattr(roots, name))())
    roots.open_root("s3://key:secret@bucket/lake")
    roots.open_root("s3://public/lake")
    requests = process_engine._Requests([AT % ("files", f"s3://{place}/lake") for place in ("bucket", "public")])
    assert requests.take()[0] == 1 and requests.take() is None
    assert requests.take(is_here=True)[0] == 0


def test_a_table_that_comes_before_one_that_failed_is_read_all_the_same():
    """The error of a build is that of its first table, whichever process reads it."""
    requests = process_engine._Requests([AT % (kind, "") for kind in ("database", "files", "database", "files")])
    assert requests.take()[0] == 1
    assert requests.take()[0] == 3
    requests.add(3, '{"error": "damaged"}')
    requests.add(1, '{"error": "damaged"}')
    assert requests.take(is_here=True)[0] == 0
    assert requests.take(is_here=True) is None and requests.take() is None


def test_no_worker_is_started_that_nothing_waits_for(tmp_path, monkeypatch):
    workers = started(monkeypatch)
    for n in (0, 1, 2):
        requests = iter([read_request(tmp_path)] * n)
        results = process_engine.ProcessEngine(9).run(requests, tmp_path, None)
        assert len(results) == n and all("cannot be read" in json.loads(result)["error"] for result in results)
        assert len(workers) == max(0, n - 1)


@pytest.fixture
def at_start(tmp_path, monkeypatch):
    """Return a function that lets every Python that starts run some code before anything else."""

    def set_code(code):
        (tmp_path / "start").mkdir()
        (tmp_path / "start" / "sitecustomize.py").write_text(code)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "start"))

    return set_code


def test_what_python_prints_when_it_starts_is_no_answer(at_start, tmp_path, monkeypatch):
    at_start(r"import os; os.write(1, b'{}\nready? \xff\nhello')")
    monkeypatch.setattr(sys, "path", [tmp_path, *sys.path])  # nothing is imported from a Path
    results = process_engine.ProcessEngine(2).run([read_request(tmp_path)] * 2, tmp_path, None)
    assert ["error" in json.loads(result) for result in results] == [True, True]


def test_a_worker_that_ends_by_itself_is_an_error(at_start, tmp_path):
    at_start("import os; os._exit(3)")
    text = (
        "a worker process of the build ended with status 3; standard error has what it wrote; without `workers` this "
        "process reads all tables"
    )
    with pytest.raises(EngineError, match=f"^{re.escape(text)}$"):
        process_engine.ProcessEngine(2).run([read_request(tmp_path)] * 2, tmp_path, None)


@pytest.mark.parametrize("python", ["", None])
def test_a_python_that_is_not_known(python, files, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", python)
    text = "`workers` are started by the Python at sys.executable, which is empty here; set it, or leave out `workers`"
    with pytest.raises(EngineError, match=re.escape(text)):
        build(files, tmp_path / "index", 2)
    assert not (tmp_path / "index").exists()


def test_a_python_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    text = (
        f"a worker process of the build cannot be started by '{tmp_path / 'python'}': No such file or directory; pass "
        "fewer `workers`, or leave them out"
    )
    with pytest.raises(EngineError, match=re.escape(text)):
        process_engine.ProcessEngine(2).run([read_request(tmp_path)] * 2, tmp_path, None)


def test_a_worker_that_nobody_waits_for_ends_without_a_word():
    command = [sys.executable, "-c", "from dfjoin.ingest.process_engine import serve; serve()"]
    environment = os.environ | {"PYTHONPATH": str(Path(dfjoin.__file__).parents[1])}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == "" and process.wait() == 0


SCRIPT = """
import sys
from pathlib import Path
import dfjoin
from dfjoin.ingest import driver

driver._TASK_INPUT_BYTES = 2 * (32 << 10)
print("began", flush=True)
lake = dfjoin.build_lake(sys.argv[1], sys.argv[2], workers=3, progress=False)
print(len(lake.tables))
"""


def test_a_script_needs_no_guard(files, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, tmp_path / "script.py", files, tmp_path / "index"]
    environment = os.environ | {"PYTHONPATH": str(Path(dfjoin.__file__).parents[1])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["began", "11"], done.stderr


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def stop_a_build(files, index, sent):
    """Send a signal to a build with two workers; return its process, what it wrote and its workers."""
    command = [sys.executable, "-c", SCRIPT, files, index]
    environment = os.environ | {"PYTHONPATH": str(Path(dfjoin.__file__).parents[1])}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, start_new_session=True, **pipes) as process:
        assert process.stdout.readline() == "began\n"
        while len(children := children_of(process.pid)) < 2:
            time.sleep(0.01)
        if sent == signal.SIGINT:
            os.killpg(process.pid, sent)  # as a terminal does
        else:
            process.kill()
        return process, process.communicate(timeout=120)[1], children


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells the children of a process")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_process_that_started_them(files, tmp_path, sent):
    for attempt in range(3):  # Python drops an interrupt that arrives in a callback of a weak reference
        index = tmp_path / f"index{attempt}"
        process, written, children = stop_a_build(files, index, sent)
        if process.returncode != 0:
            break
    until = time.monotonic() + 60
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    assert process.returncode == -sent
    if sent == signal.SIGINT:
        assert not index.exists()
        ends = [line for line in written.splitlines() if line.startswith("KeyboardInterrupt")]
        assert len(ends) == 1, written  # of one process; Arrow may have raised something else before it
        assert written.endswith("KeyboardInterrupt\n")


def test_wrong_numbers_of_workers():
    with pytest.raises(InvalidParameterError, match=r"`workers` must be at least 1, got 0"):
        BuildOptions("data", workers=0)
    text = '`workers` are processes of engine="inline", and Spark has its own; leave out workers=2'
    for spark in ({"engine": "spark"}, {"spark": object()}):
        with pytest.raises(InvalidParameterError, match=re.escape(text)):
            BuildOptions("data", workers=2, **spark)
    assert BuildOptions("data", workers=2).engine == "inline"
