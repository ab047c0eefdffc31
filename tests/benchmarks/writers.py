"""Processes that add to one index at the same time: ``python -m tests.benchmarks.writers --writers 8 --adds 1000``."""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pandas as pd

import dfjoin
from dfjoin.errors import ConcurrentCommitError
from dfjoin.index.commit import list_versions
from tests import oracles

WORDS = [f"w{i}" for i in range(50)]
QUERY = pd.DataFrame({"q": [*WORDS[:20], "none"]})


def cells(writer, number):
    """The column of one table, the same wherever it is asked for."""
    rng = random.Random(f"{writer}-{number}")
    return rng.sample(WORDS, rng.randint(2, 8))


def write(index, writer, n_adds):
    """Add tables one by one; the last line tells how often others came first and the longest add."""
    lake = dfjoin.open_lake(index)
    n_lost, longest = 0, 0.0
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(n_adds):
        frame = pd.DataFrame({"x": cells(writer, number)})
        while True:
            begun = time.perf_counter()
            try:
                lake.add({f"t{writer}-{number}": frame}, progress=False)
            except ConcurrentCommitError:
                n_lost += 1
                continue
            longest = max(longest, time.perf_counter() - begun)
            break
    print(f"{n_lost} {longest:.3f}", flush=True)


def run_writers(n_writers, n_adds, *, place=None):
    """Let `n_writers` processes add `n_adds` tables in all; check the index and return figures.

    Parameters
    ----------
    n_writers : int
    n_adds : int
        Adds of all writers together; shared out evenly.
    place : path, optional
        Where to work.

    Raises
    ------
    AssertionError
        If a table or version is missing or there twice, or an answer is wrong.
    """
    own = place is None
    place = Path(place or tempfile.mkdtemp(prefix="dfjoin-writers-"))
    index = place / "lake.dfjoin"
    dfjoin.build_lake({"first": pd.DataFrame({"x": WORDS[:3]})}, index, engine="inline", progress=False)
    shares = [n_adds // n_writers + (w < n_adds % n_writers) for w in range(n_writers)]
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.writers", "--child", str(index), str(writer), str(share)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for writer, share in enumerate(shares)
    ]  # fmt: skip
    for child in children:
        assert child.stdout.readline() == "ready\n"
    begun = time.perf_counter()
    for child in children:  # all at once
        child.stdin.write("go\n")
        child.stdin.flush()
    reports = [child.communicate()[0].split() for child in children]
    seconds = time.perf_counter() - begun
    assert [child.returncode for child in children] == [0] * n_writers
    lake = dfjoin.open_lake(index)
    expected = {"first": WORDS[:3]}
    expected |= {f"t{w}-{n}": cells(w, n) for w, share in enumerate(shares) for n in range(share)}
    names = Counter(lake.tables["table"].tolist())
    missing, twice = sorted(set(expected) - set(names)), sorted(n for n, count in names.items() if count > 1)
    assert not missing and not twice and set(names) == set(expected), (missing, twice)
    assert list_versions(index) == list(range(1, n_adds + 2)), "the versions have gaps"
    assert lake.verify() == []
    for name in random.Random(0).sample(sorted(expected), min(20, len(expected))):
        assert lake.table(name)["x"].tolist() == expected[name]

    def check(opened):
        sets = {(name, "x"): set(values) for name, values in expected.items()}
        for k in (1, 10, 10 * n_adds):
            hits = dfjoin.discover_joinable(QUERY, "q", opened, k=k, rank="matched")
            found = list(zip(hits["table"].tolist(), hits["column"].tolist(), hits["matched"].tolist(), strict=True))
            assert found == oracles.rank(oracles.value_set(QUERY["q"].tolist()), sets, k), f"k = {k}"

    check(lake)
    n_segments = len(lake.segments)
    compacting = time.perf_counter()
    check(lake.compact(full=True))
    compacting = time.perf_counter() - compacting
    assert lake.verify() == []
    figures = {
        "writers": n_writers,
        "adds": n_adds,
        "seconds": round(seconds, 1),
        "adds_per_second": round(n_adds / seconds, 1),
        "gave_up_and_repeated": sum(int(lost) for lost, _ in reports),
        "longest_add_s": max(float(longest) for _, longest in reports),
        "segments": n_segments,
        "compact_s": round(compacting, 2),
    }
    if own:
        shutil.rmtree(place, ignore_errors=True)
    return figures


def main():
    if "--child" in sys.argv:
        index, writer, n_adds = sys.argv[2:]
        return write(Path(index), int(writer), int(n_adds))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--adds", type=int, default=1000, help="of all writers together")
    options = parser.parse_args()
    for name, value in run_writers(options.writers, options.adds).items():
        print(f"{name}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
