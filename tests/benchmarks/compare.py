"""Two checkouts of dfjoin against each other, in turns: ``python -m tests.benchmarks.compare OTHER INDEX LAKE``.

Each checkout runs in a process of its own. Every query, and every join of two frames, is timed in one process and
then in the other, in random order, `--rounds` times; what is reported are medians and the median of the ratios.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

PROJECT = Path(__file__).parents[2]


# In the process of a checkout ------------------------------------------------------------------------------


def _queries(lake_dir: Path, queries_csv: Path, every: int) -> list[tuple[str, pd.DataFrame]]:
    with queries_csv.open(newline="") as stream:
        rows = list(csv.DictReader(stream))[::every]
    found = []
    for row in rows:
        column = pd.read_csv(
            lake_dir / row["table_path"],
            dtype=str,
            keep_default_na=False,
            usecols=[int(row["column_index"])],
            encoding_errors="replace",
        ).iloc[:, 0]
        found.append((row["interval"], pd.DataFrame({"q": column})))
    return found


def _joins() -> list[tuple[str, pd.DataFrame, pd.DataFrame]]:
    rng = np.random.default_rng(5)
    made = []
    for n in (1_000, 100_000):
        names = [f"{a} {b}" for a, b in zip(rng.integers(0, n, n).tolist(), range(n), strict=True)]
        left = pd.DataFrame({"name": names, "x": rng.random(n)})
        right = pd.DataFrame({"name": rng.permutation(names), "y": rng.random(n)})
        made.append((f"join, {n:,} equal keys", left, right))
        first = rng.integers(0, 26, (n, 12))
        words = ["".join(chr(97 + c) for c in row) for row in first.tolist()]
        left = pd.DataFrame({"person": [f"{w[6:].title()}, {w[:6].title()}" for w in words], "x": rng.random(n)})
        right = pd.DataFrame({"who": [f"{w[:6]} {w[6:]}" for w in words], "y": rng.random(n)}).sample(
            frac=1.0, random_state=1
        )
        made.append((f"join, {n:,} keys by a program", left, right))
    return made


def work(options: argparse.Namespace) -> None:
    """Read numbers of tasks from standard input, carry each out, answer with milliseconds."""
    import warnings

    import dfjoin

    warnings.simplefilter("ignore")
    assert Path(dfjoin.__file__).is_relative_to(Path.cwd()), dfjoin.__file__
    lake = dfjoin.open_lake(options.index)
    has_rank = "rank" in inspect.signature(dfjoin.discover_joinable).parameters
    order = {"rank": options.rank} if has_rank else {}  # earlier versions know that of matched values alone
    tasks: list[tuple[str, object]] = [
        (stratum, lambda frame=frame: frame.discover_joinable("q", lake, k=10, **order))
        for stratum, frame in _queries(options.lake, options.queries, options.every)
    ]
    tasks += [(name, lambda left=left, right=right: left.auto_join(right)) for name, left, right in _joins()]
    print(json.dumps([name for name, _ in tasks]), flush=True)
    for line in sys.stdin:
        run = tasks[int(line)][1]
        start = time.perf_counter()
        run()  # type: ignore[operator]
        print((time.perf_counter() - start) * 1e3, flush=True)


# In the process that compares ------------------------------------------------------------------------------


class _Checkout:
    def __init__(self, place: Path, arguments: list[str]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(place.resolve())}
        command = [sys.executable, "-P", str(Path(__file__).resolve()), "--work", *arguments]
        self.process = subprocess.Popen(
            command, cwd=place, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.tasks: list[str] = json.loads(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def run(self, task: int) -> float:
        """Carry out a task; return milliseconds."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{task}\n")
        self.process.stdin.flush()
        return float(self._answer())


def compare(other: Path, arguments: list[str], rounds: int) -> pd.DataFrame:
    """Time all tasks in both checkouts; one row per stratum of queries and per join."""
    sides = {"other": _Checkout(other, arguments), "this": _Checkout(PROJECT, arguments)}
    rng = np.random.default_rng(3)
    names = sides["this"].tasks
    assert names == sides["other"].tasks
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    for turn in range(rounds + 1):
        for task, name in enumerate(names):
            if turn > 3 and name.startswith("join, 100"):
                continue  # seconds each
            for side in rng.permutation(list(sides)).tolist():
                spent = sides[side].run(task)
                if turn:
                    times[side, task].append(spent)
    rows = []
    for name in dict.fromkeys(names):
        tasks = [task for task, own in enumerate(names) if own == name]
        best = {side: [float(np.median(times[side, task])) for task in tasks] for side in sides}
        ratios = np.array(best["this"]) / np.array(best["other"])
        rows.append(
            {
                "task": name,
                "n": len(tasks),
                "other p50": np.median(best["other"]),
                "this p50": np.median(best["this"]),
                "p50 ratio": np.median(best["this"]) / np.median(best["other"]),
                "median of ratios": np.median(ratios),
                "p95 of ratios": np.quantile(ratios, 0.95),
            }
        )
    return pd.DataFrame(rows).set_index("task")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, nargs="?", help="directory of the other checkout")
    parser.add_argument("index", type=Path, help="an index that both can read")
    parser.add_argument("lake", type=Path, help="directory of the tables of the queries")
    parser.add_argument("--queries", type=Path, default=PROJECT.parent / "shared" / "lake" / "queries.csv")
    parser.add_argument("--every", type=int, default=1, help="take every n-th query")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rank", choices=("matched", "useful"), default="matched", help="order of the candidates")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.index, options.lake, options.queries = (
        path.resolve() for path in (options.index, options.lake, options.queries)
    )
    if options.work:
        work(options)
        return
    arguments = [str(options.index), str(options.lake), "--queries", str(options.queries), "--every"]
    arguments += [str(options.every), "--rank", options.rank]
    table = compare(options.other.resolve(), arguments, options.rounds)
    print(table.to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
