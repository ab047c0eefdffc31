"""What the first use costs: the tour of README in a fresh process, with no kernel compiled yet.

The packages are copied to a temporary directory, where numba finds no cache and leaves its own behind; the tour
is run there twice, cold and warm. ``python -m tests.benchmarks cold`` prints both.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd

__all__ = ["measure_cold_start", "run_tour"]

PROJECT = Path(__file__).parents[2]

TOUR = """
import json, sys, tempfile, time
from pathlib import Path

import pandas as pd

import dfjoin
from numba.core import event

examples, written = Path(sys.argv[1]), sys.argv[2]
assert Path(dfjoin.__file__).is_relative_to(Path.cwd()), dfjoin.__file__


class Compiled(event.Listener):
    \"\"\"Collects what is compiled, with the time of each function less that of the functions it calls.\"\"\"

    def __init__(self):
        self.rows, self.open = [], []

    def on_start(self, event):
        self.open.append([time.perf_counter(), 0.0])

    def on_end(self, event):
        start, within = self.open.pop()
        spent = time.perf_counter() - start
        if self.open:
            self.open[-1][1] += spent
        function = event.data["dispatcher"].py_func
        self.rows.append((function.__module__, function.__qualname__, str(event.data["args"]), spent - within))


compiled = Compiled()
event.register("numba:compile", compiled)
start = time.perf_counter()
marks = []


def mark(name):
    marks.append((name, time.perf_counter() - start))


index = Path(tempfile.mkdtemp()) / "example.dfjoin"
dfjoin.build_lake(examples / "lake", index, engine="inline", progress=False)
lake = dfjoin.open_lake(index)
mark("build")
df = pd.read_csv(examples / "facilities.csv")
hits = df.discover_joinable("Country", lake, k=5)
assert len(hits) == 5
mark("discover")
str(hits.explain(0))
mark("explain")
wide = df.auto_join(lake, on="Country")
assert "iso2" in wide.columns
mark("join the lake")
df.auto_join(hits.iloc[[0, 3]])
plan = wide.attrs["dfjoin"]["plan"]
again = pd.DataFrame({"Country": ["spain", "Kenya"]}).auto_join(plan)
assert again["iso2"].tolist() == ["ES", "KE"]
mark("join hits and plan")
left = pd.DataFrame({"name": [
    "Obama, Barack(1961-)", "Bush, George W.(1946-)", "Clinton, Bill(1946-)", "Carter, Jimmy(1924-)",
    "Ford, Gerald(1913-2006)",
]})
right = pd.DataFrame({
    "president": ["Bill Clinton", "Jimmy Carter", "Gerald Ford", "George W. Bush", "Barack Obama"],
    "party": ["D", "D", "R", "R", "D"],
})
learned = left.auto_join(right, aggregate=None)
assert learned["party"].tolist() == ["D", "R", "D", "D", "R"]
mark("learned join")
with open(written, "w") as stream:
    json.dump({"compiled": compiled.rows, "marks": marks}, stream)
"""


def _copy(project: Path, place: Path) -> None:
    """Copy the packages and the examples without anything compiled."""
    for name in ("dfjoin", "spark_ext"):
        shutil.copytree(project / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))


def run_tour(place: Path, is_own_cache: bool = False) -> dict[str, Any]:
    """Run the tour in a process of its own in a directory that holds the package.

    Parameters
    ----------
    place : Path
    is_own_cache : bool
        Look for compiled kernels beside the package, whatever NUMBA_CACHE_DIR says.

    Returns
    -------
    dict
        ``cpu`` and ``wall`` in seconds (children included), ``error`` (what stood on standard error), ``compiled``
        (module, function, signature, seconds of each) and ``marks`` (steps and when they ended).
    """
    environment = os.environ | {"PYTHONPATH": str(place)}
    if is_own_cache:
        environment.pop("NUMBA_CACHE_DIR", None)
    with tempfile.TemporaryDirectory() as scratch:
        return _measure(place, environment, Path(scratch) / "tour.json")


def _measure(place: Path, environment: dict[str, str], written: Path) -> dict[str, Any]:
    """Run the tour and read what it wrote."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    command = [sys.executable, "-c", TOUR, str(PROJECT / "examples"), str(written)]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    wall = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu": cpu, "wall": wall, "error": done.stderr, **json.loads(written.read_text())}


def measure_cold_start(project: Path = PROJECT) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run the tour cold and warm.

    Parameters
    ----------
    project : Path
        A checkout: this one, or an older one to compare with.

    Returns
    -------
    runs : DataFrame
        Indexed ``cold`` and ``warm``: seconds of CPU and on the clock, functions and specialisations compiled,
        seconds that compiling took, and when each step ended.
    compiled : DataFrame
        The specialisations of the cold run, the slowest first: module, function, signature, seconds.
    """
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        _copy(project, place)
        runs = {kind: run_tour(place, is_own_cache=True) for kind in ("cold", "warm")}
    compiled = pd.DataFrame(runs["cold"]["compiled"], columns=["module", "function", "signature", "seconds"])
    rows = {
        kind: {
            "CPU s": run["cpu"],
            "wall s": run["wall"],
            "functions": len({tuple(row[:2]) for row in run["compiled"]}),
            "specialisations": len(run["compiled"]),
            "compiling s": sum(row[3] for row in run["compiled"]),
            **{f"{step} at s": at for step, at in run["marks"]},
        }
        for kind, run in runs.items()
    }
    return pd.DataFrame(rows).T, compiled.sort_values("seconds", ascending=False, ignore_index=True)
