"""The quick command: which tests a changed file asks for, and that a failure is reported."""

import subprocess
import sys

import pytest

from tests import quick


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("dfjoin/join/rows/execute.py", "tests/join"),
        ("dfjoin/search/exact/exact_mode.py", "tests/search/exact"),
        ("dfjoin/errors.py", "tests/test_errors.py"),
        ("dfjoin/_validation.py", "tests/test_validation.py"),
        ("dfjoin/accessors.py", "tests/api/test_accessors.py"),
        ("dfjoin/fuzzy/match_model.json", "tests/fuzzy"),
        ("dfjoin/_version.py", None),
        ("spark_ext/join.py", "tests/spark/test_join.py"),
        ("spark_ext/py.typed", "tests/spark/test_spark_example.py"),
        ("examples/quickstart.py", "tests/test_examples.py"),
        ("examples/lake/geo/countries.csv", "tests/test_examples.py"),
        ("tests/join/test_execute.py", "tests/join/test_execute.py"),
        ("tests/join/test_that_was_removed.py", "tests/join"),
        ("tests/oracles/join.py", "tests/oracles"),
        ("tests/conftest.py", None),
        ("README.md", "tests/test_readme.py"),
        ("CHANGELOG.md", None),
        (".ci/run", None),
    ],
)
def test_a_changed_file_asks_for_the_tests_next_to_it(changed, tests):
    assert quick.tests_of(changed) == tests


def test_a_file_in_a_chosen_folder_is_not_run_twice():
    made = quick.commands(["dfjoin/join/plan.py", "tests/join/test_plan.py", "tests/test_errors.py"], 3)
    assert [" ".join(made)[-len("tests/join tests/test_errors.py") :]] == ["tests/join tests/test_errors.py"]
    (tests,) = [command for title, command in made.items() if title.startswith("pytest")]
    assert tests[tests.index("-n") + 1] == "3"
    assert tests[-5:] == [*quick.ALWAYS, "tests/join", "tests/test_errors.py"]


@pytest.mark.parametrize(
    ("changed", "marks"),
    [("dfjoin/join/plan.py", "not slow and not spark"), ("spark_ext/transfer.py", "not slow")],
)
def test_spark_is_started_for_its_own_package_alone(changed, marks):
    (tests,) = [command for title, command in quick.commands([changed], 2).items() if title.startswith("pytest")]
    assert marks in tests


def test_changed_files_are_those_of_git_with_new_ones(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(("git", *identity, *arguments), cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(quick, "PROJECT", tmp_path)
    for name in ("kept", "edited", "removed", "ignored"):
        (tmp_path / name).write_text(name)
    (tmp_path / ".gitignore").write_text("ignored\n")
    git("init")
    git("add", "-A")
    git("commit", "-m", "first")
    (tmp_path / "edited").write_text("other")
    (tmp_path / "removed").unlink()
    (tmp_path / "new").touch()
    assert sorted(quick.changed_files("HEAD")) == ["edited", "new", "removed"]


@pytest.mark.parametrize(("code", "word"), [(0, "passed"), (3, "failed")])
def test_a_check_that_fails_is_named_and_decides_the_exit_code(monkeypatch, capsys, code, word):
    check = [sys.executable, "-c", f"import sys; print('what it says'); sys.exit({code})"]
    monkeypatch.setattr(quick, "changed_files", lambda since: [])
    monkeypatch.setattr(quick, "commands", lambda files, workers: {"the check": check})
    assert quick.main([]) == int(code > 0)
    assert f"== the check: {word}" in (out := capsys.readouterr().out) and "what it says" in out
