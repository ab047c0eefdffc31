"""Two checkouts of dfjoin against each other, in turns: ``python -m tests.benchmarks.compare OTHER INDEX LAKE``.

What users call by default is timed: searches by size of the query in both ranks, for whole numbers, days and a whole
frame, joins of the lake, joins of small and large frames by equal keys and by a program, with and without `on`, a small
build; and in processes of their own the import, a command
of the shell and the tour without a compile cache. Each checkout runs in a process of its own, by the benchmarks of
this one. A task runs in one checkout and then in the other, in random order, as often as its share of `--minutes`
allows. Reported are medians, the median of the ratios, and the ratio of CPU times, which other work on the machine
disturbs less.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import runpy
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

PROJECT = Path(__file__).parents[2]
EXAMPLES = PROJECT / "examples"
RANKS = ("matched", "useful")
JOINED_ROWS = (10, 1_000, 100_000)
LEAST_ROUNDS, MOST_ROUNDS = 2, 25

Task = tuple[str, Callable[[], object]]


# In the process of a checkout ------------------------------------------------------------------------------


def _searches(options: argparse.Namespace) -> Iterator[Task]:
    """Yield a search for each query column and each rank."""
    import dfjoin

    lake = dfjoin.open_lake(options.index)
    with options.queries.open(newline="") as stream:
        rows = list(csv.DictReader(stream))[:: options.every]
    for row in rows:
        column = pd.read_csv(
            options.lake / row["table_path"],
            dtype=str,
            keep_default_na=False,
            usecols=[int(row["column_index"])],
            encoding_errors="replace",
        ).iloc[:, 0]
        frame = pd.DataFrame({"q": column})
        for rank in RANKS:
            name = f"search, {row['interval']} values, rank={rank}"
            yield name, lambda frame=frame, rank=rank: frame.discover_joinable("q", lake, k=10, rank=rank)


def _calls(index: Path) -> Iterator[Task]:
    """Yield what a user calls with a frame: the queries above are texts under one header, as these are not."""
    import dfjoin

    lake, facilities = dfjoin.open_lake(index), pd.read_csv(EXAMPLES / "facilities.csv")
    numbers = pd.DataFrame({"id": range(101, 401)})
    days = pd.DataFrame({"date": pd.date_range("2019-01-01", periods=365).astype(str)})
    yield "discover, 300 whole numbers", lambda: numbers.discover_joinable("id", lake)
    yield "discover, 365 days", lambda: days.discover_joinable("date", lake)
    yield "discover, every column of a frame", lambda: facilities.discover_joinable(lake=lake)
    yield "join of the lake", lambda: facilities.auto_join(lake)
    yield "join of the lake, on", lambda: facilities.auto_join(lake, on="Country")


def _joins() -> Iterator[Task]:
    """Yield joins of two frames that need a choice of columns, and the same ones with `on`."""
    rng = np.random.default_rng(5)
    for n in JOINED_ROWS:
        names = [f"{a} {b}" for a, b in zip(rng.integers(0, n, n).tolist(), range(n), strict=True)]
        left = pd.DataFrame({"name": names, "x": rng.random(n)})
        right = pd.DataFrame({"name": rng.permutation(names), "y": rng.random(n)})
        yield f"join, {n:,} equal keys", lambda a=left, b=right: a.auto_join(b)
        yield f"join, {n:,} equal keys, on", lambda a=left, b=right: a.auto_join(b, on="name")
        letters = rng.integers(0, 26, (n, 12))
        words = ["".join(chr(97 + c) for c in row) for row in letters.tolist()]
        left = pd.DataFrame({"person": [f"{w[6:].title()}, {w[:6].title()}" for w in words], "x": rng.random(n)})
        right = pd.DataFrame({"who": [f"{w[:6]} {w[6:]}" for w in words], "y": rng.random(n)})
        right = right.sample(frac=1.0, random_state=1)
        yield f"join, {n:,} keys by a program", lambda a=left, b=right: a.auto_join(b)
        yield f"join, {n:,} keys by a program, on", lambda a=left, b=right: a.auto_join(b, on="person", right_on="who")


def _build() -> None:
    """Index the example lake."""
    import dfjoin

    with tempfile.TemporaryDirectory() as place:
        dfjoin.build_lake(EXAMPLES / "lake", Path(place) / "index", engine="inline", progress=False)


def _processes(index: Path) -> Iterator[Task]:
    """Yield what runs in a process of its own, in the working directory, which is that of the checkout."""
    tour = runpy.run_path(str(Path(__file__).with_name("cold_start.py")))["TOUR"]  # of this checkout, for both

    def run(*arguments: str | Path) -> None:
        subprocess.run([sys.executable, *map(str, arguments)], check=True, capture_output=True)

    def take_tour() -> None:
        with tempfile.TemporaryDirectory() as place:
            cache = {**os.environ, "NUMBA_CACHE_DIR": place}
            command = [sys.executable, "-c", tour, str(EXAMPLES), str(Path(place) / "tour.json")]
            subprocess.run(command, env=cache, check=True, capture_output=True)

    query = ("--on", "Country", "-k", "5")
    yield "process, import", lambda: run("-c", "import dfjoin")
    yield "process, dfjoin --help", lambda: run("-m", "dfjoin", "--help")
    yield (
        "process, dfjoin discover",
        lambda: run("-m", "dfjoin", "discover", index, EXAMPLES / "facilities.csv", *query),
    )
    yield "process, tour without a compile cache", take_tour


def _tasks(options: argparse.Namespace) -> list[Task]:
    tasks = [*_searches(options), *_calls(options.index), *_joins(), ("build, example lake", _build)]
    tasks += _processes(options.index)
    return [(name, run) for name, run in tasks if any(part in name for part in options.only)]


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of the children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def work(options: argparse.Namespace) -> None:
    """Read numbers of tasks from standard input, carry each out, answer with milliseconds and those of the CPU."""
    import warnings

    import dfjoin

    warnings.simplefilter("ignore")
    assert Path(dfjoin.__file__).is_relative_to(Path.cwd()), dfjoin.__file__
    tasks = _tasks(options)
    print(json.dumps([name for name, _ in tasks]), flush=True)
    for line in sys.stdin:
        run = tasks[int(line)][1]
        start, cpu = time.perf_counter(), _cpu_seconds()
        run()
        print(json.dumps([(time.perf_counter() - start) * 1e3, (_cpu_seconds() - cpu) * 1e3]), flush=True)


# In the process that compares ------------------------------------------------------------------------------


class _Checkout:
    def __init__(self, place: Path, arguments: list[str]) -> None:
        self._place = place
        environment = {**os.environ, "PYTHONPATH": str(place.resolve())}
        command = [sys.executable, "-P", str(Path(__file__).resolve()), "--work", *arguments]
        self.process = subprocess.Popen(
            command, cwd=place, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.tasks: list[str] = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process in {self._place} ended; its last words stand above")
        return json.loads(line)

    def run(self, task: int) -> tuple[float, float]:
        """Carry out a task; return milliseconds, and those of the CPU."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{task}\n")
        self.process.stdin.flush()
        return tuple(self._answer())

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compare(other: Path, arguments: list[str], minutes: float) -> pd.DataFrame:
    """Time all tasks in both checkouts; one row per group of tasks of one name."""
    sides = {"other": _Checkout(other, arguments), "this": _Checkout(PROJECT, arguments)}
    rng = np.random.default_rng(3)
    names = sides["this"].tasks
    assert names == sides["other"].tasks
    groups = {name: [task for task, own in enumerate(names) if own == name] for name in dict.fromkeys(names)}
    share = minutes * 60 / len(groups)
    rounds = {}
    for name, tasks in groups.items():
        for run in sides.values():  # compiles, and reads the index
            run.run(tasks[0])
        spent = sum(run.run(task)[0] for task in tasks for run in sides.values())
        rounds[name] = int(np.clip(share / (spent / 1e3), LEAST_ROUNDS, MOST_ROUNDS))
    times: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    for turn in range(max(rounds.values())):
        for name in rng.permutation([name for name in groups if turn < rounds[name]]).tolist():
            for task in groups[name]:
                for side in rng.permutation(list(sides)).tolist():
                    times[side, task].append(sides[side].run(task))
    for run in sides.values():
        run.close()
    return pd.DataFrame([_row(name, tasks, times) for name, tasks in groups.items()]).set_index("task")


def _row(name: str, tasks: list[int], times: dict[tuple[str, int], list[tuple[float, float]]]) -> dict[str, Any]:
    """Return medians and ratios of a group of tasks."""
    wall, cpu = (
        {
            side: np.array([np.median([run[kind] for run in times[side, task]]) for task in tasks])
            for side in ("other", "this")
        }
        for kind in (0, 1)
    )
    ratios = wall["this"] / wall["other"]
    return {
        "task": name,
        "n": len(tasks),
        "rounds": len(times["this", tasks[0]]),
        "other ms": np.median(wall["other"]),
        "this ms": np.median(wall["this"]),
        "median ratio": np.median(ratios),
        "p95 ratio": np.quantile(ratios, 0.95),
        "ratio of CPU": cpu["this"].sum() / max(cpu["other"].sum(), 1e-3),
    }


def main() -> None:
    """Compare, or work for the process that compares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, nargs="?", help="directory of the other checkout")
    parser.add_argument("index", type=Path, help="an index that both can read")
    parser.add_argument("lake", type=Path, help="directory of the tables of the queries")
    parser.add_argument("--queries", type=Path, default=PROJECT.parent / "shared" / "lake" / "queries.csv")
    parser.add_argument("--every", type=int, default=4, help="take every n-th query (4)")
    parser.add_argument("--minutes", type=float, default=8.0, help="time for all rounds, warming up apart (8)")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="tasks whose names hold one of these texts: search join …"
    )
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.index, options.lake, options.queries = (
        path.resolve() for path in (options.index, options.lake, options.queries)
    )
    if options.work:
        work(options)
        return
    arguments = [str(options.index), str(options.lake), "--queries", str(options.queries), "--every"]
    arguments += [str(options.every), "--only", *options.only]
    table = compare(options.other.resolve(), arguments, options.minutes)
    print(table.to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
