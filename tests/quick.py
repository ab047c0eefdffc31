"""Check a small change: ``python -m tests.quick``: linters, types, architecture, docstrings and what tests the changed files.

Changed is what differs from the last commit, or from ``--since main``. Tests that are marked `slow` are left to the
whole suite, and so are those that are marked `spark`, unless `spark_ext` or a test of it changed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).parent.parent
ALWAYS = ("tests/test_architecture.py", "tests/test_docstrings.py", "tests/test_public_api.py")
DOCUMENTS = {"README.md": "tests/test_readme.py", "dfjoin/accessors.py": "tests/api/test_accessors.py"}
"""Files outside of a package → the tests that read them; `accessors` is tested beside the functions that it calls."""
SPARK = "tests/spark"
SPARK_EXAMPLE = "tests/spark/test_spark_example.py"
"""Builds, searches and joins by Spark in a few seconds: what is run for a file of `spark_ext` without tests of its name."""


def changed_files(since: str) -> list[str]:
    """Return the files that differ from a commit, new ones too, as paths from the project."""
    changed = ("git", "diff", "--name-only", since)
    new = ("git", "ls-files", "--others", "--exclude-standard")
    runs = [
        subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True) for command in (changed, new)
    ]
    return [name for run in runs for name in run.stdout.splitlines()]


def tests_of(name: str) -> str | None:
    """Return the file or folder of tests for a changed file: the innermost that exists; None for those without one."""
    if name in DOCUMENTS:
        return DOCUMENTS[name]
    path = Path(name)
    root, *folders = path.parent.parts or ("",)
    if root == "tests":
        is_tested = path.name.startswith("test_") and (PROJECT / path).exists()
        return name if is_tested else path.parent.as_posix() if folders else None
    if root == "examples":
        return "tests/test_examples.py"
    if root == "docs":
        return "tests/docs"
    if root == "spark_ext":
        own = f"{SPARK}/test_{path.stem}.py"
        return own if (PROJECT / own).exists() else SPARK_EXAMPLE
    if root != "dfjoin":
        return None
    if not folders:
        own = f"tests/test_{path.stem.lstrip('_')}.py"
        return own if (PROJECT / own).exists() else None
    inner = ["/".join(("tests", *folders[:depth])) for depth in range(len(folders), 0, -1)]
    return next((folder for folder in inner if (PROJECT / folder).is_dir()), None)


def commands(files: list[str], workers: int) -> dict[str, list[str]]:
    """Return the commands that check changed files, by title."""
    tests = {found for name in files if (found := tests_of(name)) is not None}
    outer = [test for test in tests if not any(other != test and Path(test).is_relative_to(other) for other in tests)]
    chosen = [*ALWAYS, *sorted(set(outer) - set(ALWAYS))]
    by_python = [sys.executable, "-m"]
    uses_spark = any(Path(test).is_relative_to(SPARK) for test in chosen)
    marks = ["-m", "not slow" if uses_spark else "not slow and not spark"]
    return {
        "ruff check": [*by_python, "ruff", "check", "-q", "."],
        "ruff format": [*by_python, "ruff", "format", "-q", "--check", "."],
        "mypy": [*by_python, "mypy"],
        "codespell": [*by_python, "codespell_lib"],
        f"pytest {' '.join(chosen)}": [
            *by_python,
            "pytest",
            "-q",
            "-n",
            str(workers),
            "--dist",
            "worksteal",
            *marks,
            *chosen,
        ],
    }


def main(arguments: list[str] | None = None) -> int:
    """Run all checks side by side; return 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.quick", description=__doc__)
    parser.add_argument("--since", default="HEAD", help="commit that the change is compared with (HEAD)")
    parser.add_argument("-n", "--workers", type=int, default=2, help="processes that run tests (2)")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    runs = {
        title: subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for title, command in commands(changed_files(options.since), options.workers).items()
    }
    failed = []
    for title, run in runs.items():
        output, _ = run.communicate()
        failed += [title] * (run.returncode != 0)
        print(f"== {title}: {'failed' if run.returncode else 'passed'}, {time.perf_counter() - start:.0f} s")
        print("\n".join(output.rstrip().splitlines()[-200 if run.returncode else -1 :]), flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
