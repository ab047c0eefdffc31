"""The one task that looks at the workers: what it says, and what it refuses."""

import json

import pytest

from dfjoin.errors import DfjoinWarning, EngineError
from spark_ext import probe as module
from spark_ext.probe import cause_of, collect_or_explain, probe_workers

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def looked(spark, tmp_path_factory):
    """What the task found on a worker, as it is before it is judged."""
    found, tmp_path = [], tmp_path_factory.mktemp("place")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_fit", {})
        patch.setattr(module, "_require_fit", found.append)
        workers = probe_workers(spark, tmp_path, [str(tmp_path), "/no/such/place"])
    assert workers.shares_files and workers.sees == {str(tmp_path)}
    assert list(tmp_path.iterdir()) == []
    return found[0][0]


def test_a_worker_that_is_like_this_process_fits(looked):
    module._require_fit([looked])
    assert looked["problems"] == {} and looked["answer"]


@pytest.mark.parametrize(
    ("name", "version", "said"),
    [
        ("python", "3.9.7", "`python` is 3.9.7 there, and "),
        ("dfjoin", "0.0.1", "`dfjoin` is 0.0.1 there, and "),
        ("unicode", "9.0.0", "`unicode` is 9.0.0 there, and "),
        ("numba", "0.59.1", "`numba` is 0.59.1 there, and "),
        ("pyarrow", "17.0.0", "`pyarrow` is 17.0.0 there, and "),
    ],
)
def test_another_version_is_refused_with_the_table_and_the_remedy(looked, name, version, said):
    found = {**looked, "versions": {**looked["versions"], name: version}}
    with pytest.raises(EngineError) as caught:
        module._require_fit([looked, found])
    lines = str(caught.value).splitlines()
    assert lines[0] == "Spark's workers cannot do what dfjoin asks for:"
    assert any(line.split() == ["here", "on", looked["host"]] for line in lines)
    (row,) = (line.split() for line in lines if line.split()[:1] == [name])
    assert row[2] == version
    assert "spark.archives=environment.tar.gz" in str(caught.value) and "spark.addArtifact" in str(caught.value)
    assert 'install the library "dfjoin" on the cluster' in str(caught.value)
    assert lines[-1].startswith(f"on {looked['host']}: {said}")


def test_another_patch_of_python_and_of_numpy_is_no_matter(looked):
    versions = {**looked["versions"], "python": ".".join(looked["versions"]["python"].split(".")[:2]) + ".99"}
    module._require_fit([{**looked, "versions": {**versions, "numpy": "2.0.1"}}])


def test_what_is_missing_is_named(looked):
    versions = {name: text for name, text in looked["versions"].items() if name != "dfjoin"}
    problems = {"dfjoin": "ModuleNotFoundError: No module named 'dfjoin'"}
    with pytest.raises(EngineError) as caught:
        module._require_fit([looked, {**looked, "versions": versions, "problems": problems}])
    last = str(caught.value).splitlines()[-1]
    assert (
        last == f"on {looked['host']}: `dfjoin` cannot be imported there: ModuleNotFoundError: No module named 'dfjoin'"
    )
    assert any(line.split()[:3:2] == ["dfjoin", "missing"] for line in str(caught.value).splitlines())


def test_the_task_needs_nothing_of_dfjoin():
    """It is shipped by value: a worker without dfjoin can still say so."""
    from pyspark import cloudpickle

    shipped = cloudpickle.dumps(module._look({"note": "a", "answer": "b", "mark": "c", "paths": []}))
    assert b"spark_ext.probe" not in shipped.replace(b"spark_ext.probe\x94\x8c", b"")


def test_a_worker_whose_pyarrow_fails_still_answers(spark, tmp_path, monkeypatch):
    """A task of Arrow would fail there, and be repeated until it comes to another machine, which knows nothing of it."""
    look = module._look

    def without_pyarrow(asked):
        answer = look(asked)

        def run(task):
            import sys

            own = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "pyarrow"}
            sys.modules["pyarrow"] = None
            try:
                return answer(task)
            finally:
                sys.modules.update(own) if own else sys.modules.pop("pyarrow")

        return run

    monkeypatch.setattr(module, "_fit", {})
    monkeypatch.setattr(module, "_look", without_pyarrow)
    with pytest.raises(EngineError, match="`pyarrow` cannot be imported there: ModuleNotFoundError"):
        probe_workers(spark, tmp_path)


def test_a_place_that_workers_do_not_see(spark, tmp_path, monkeypatch):
    """Stands for a worker elsewhere: the place that it looks at is another one."""
    look = module._look
    monkeypatch.setattr(module, "_fit", {})
    monkeypatch.setattr(module, "is_local", lambda spark: False)
    monkeypatch.setattr(module, "_look", lambda asked: look({**asked, "note": asked["note"] + "-elsewhere"}))
    assert not probe_workers(spark, tmp_path).shares_files


def test_workers_on_other_machines_are_warned_of(spark, monkeypatch):
    monkeypatch.setattr(module, "_fit", {})
    module.warn_of_workers(spark)  # local: they run this Python
    monkeypatch.setattr(module, "is_local", lambda spark: False)
    monkeypatch.setattr(module, "__version__", "0.0.1")
    with pytest.warns(
        DfjoinWarning, match="fail on workers of this session .on .*`dfjoin` is .* there, and 0.0.1 here.; set"
    ):
        module.warn_of_workers(spark)


def test_a_local_session_is_looked_at_once(spark, tmp_path, monkeypatch):
    probe_workers(spark, tmp_path)
    monkeypatch.setattr(module, "collect", lambda *_: pytest.fail("a task ran"))
    assert probe_workers(spark, tmp_path, ["/x"]).sees == {"/x"}


def test_the_error_of_a_worker_is_the_last_line(spark):
    def fail(batches):
        raise KeyError("in the worker")
        yield

    with pytest.raises(EngineError) as caught:
        collect_or_explain(spark.range(1).mapInArrow(fail, "x string"), "do this")
    lines = str(caught.value).splitlines()
    assert lines == ["a task of Spark failed; its error is on the last line", "do this", "KeyError: 'in the worker'"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("[X] Traceback (most recent call last):\n  File 1\nValueError: a\n\nTraceback (most recent call last):\n"
         "  File 2\n    raise\nOSError: [Errno 28] b\n\n\tat org.apache", "OSError: [Errno 28] b"),
        ("Job aborted\njava.io.IOException: No space left on device\n\tat x", "java.io.IOException: No space left on device"),
        ("An error occurred while calling o1.getResult.\n: org.x.SparkException: Exception thrown in awaitResult:\n\tat org\n"
         "Caused by: org.x.SparkException: [FAILED_READ_FILE]\n\tat org\nCaused by: java.lang.RuntimeException: no Parquet",
         "java.lang.RuntimeException: no Parquet"),
        ("An error occurred while calling o1.collect.\n: java.lang.IllegalStateException: closed\n\tat org",
         "java.lang.IllegalStateException: closed"),
        ("\n  Job aborted due to stage failure\nDriver stacktrace:", "Job aborted due to stage failure"),
        ("", "RuntimeError"),
    ],
)  # fmt: skip
def test_the_cause_is_found(text, cause):
    assert cause_of(RuntimeError(text)) == cause


def test_facts_are_plain_text(looked):
    assert json.loads(json.dumps(looked)) == looked
