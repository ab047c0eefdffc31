"""A writer that is killed at random moments, again and again: ``python -m tests.benchmarks.crash --kills 500``.

A child changes one index in an endless loop and writes what it is about to do into a journal, synced; the parent
kills it with SIGKILL and compares the index with the journal.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pandas as pd

import dfjoin
from dfjoin.index.versions import list_versions
from tests import oracles

NAMES = ["a", "b", "c", "geo/x", "é"]
WORDS = [f"w{i}" for i in range(12)]
QUERY = pd.DataFrame({"q": [*WORDS[:9], "none"]})
MAX_TABLES = 8


def frames_of(tables):
    """The frames of a dict of table -> column -> cells."""
    return {name: pd.DataFrame(columns) for name, columns in tables.items()}


def random_table(rng):
    """A tiny table as plain values."""
    n = rng.randint(2, 6)
    return {column: rng.sample(WORDS, n) for column in rng.sample("xyz", rng.randint(1, 3))}


def propose(rng, version, history):
    """Choose an operation: its name, what it is called with, and the tables and the version after it."""
    state = history[version]
    kinds = ["replace", "build", "compact", "restore", "vacuum"]
    kinds += ["add"] * 6 if len(state) < MAX_TABLES else []
    kinds += ["remove"] * 3 if len(state) > 1 else []
    kind = rng.choice(kinds)
    if kind == "add":
        free = [f"{name}{i}" for name in NAMES for i in range(4) if f"{name}{i}" not in state]
        new = {name: random_table(rng) for name in rng.sample(free, rng.randint(1, 2))}
        return kind, new, {**state, **new}, version + 1
    if kind == "replace":
        new = {name: random_table(rng) for name in rng.sample(sorted(state), 1)}
        return kind, new, {**state, **new}, version + 1
    if kind == "build":
        new = {name: random_table(rng) for name in rng.sample(NAMES, rng.randint(1, 4))}
        return kind, new, new, version + 1
    if kind == "remove":
        gone = rng.sample(sorted(state), rng.randint(1, min(2, len(state) - 1)))
        return kind, gone, {name: t for name, t in state.items() if name not in gone}, version + 1
    if kind == "restore":
        old = rng.choice(sorted(history))
        return kind, old, history[old], version + 1
    return kind, rng.random() < 0.5, state, version + (kind == "compact")


def carry_out(lake, kind, given):
    """Do one operation; return the lake at its version."""
    if kind == "add":
        return lake.add(frames_of(given), engine="inline", progress=False)
    if kind == "replace":
        return lake.replace(frames_of(given), engine="inline", progress=False)
    if kind == "build":
        return dfjoin.build_lake(
            frames_of(given), lake.path, engine="inline", if_exists="replace", progress=False, keep_data=True
        )
    if kind == "remove":
        return lake.remove(given)
    if kind == "restore":
        return lake.restore(given)
    if kind == "compact":
        return lake.compact(full=given)
    lake.vacuum(0)
    return lake


def work(index, journal, seed, state):
    """Change the index for ever; the journal has one line before each operation and one after it."""
    rng = random.Random(seed)
    with open(journal, "a", encoding="utf-8") as stream:

        def log(record):
            stream.write(json.dumps(record) + "\n")
            stream.flush()
            os.fsync(stream.fileno())

        lake = dfjoin.open_lake(index)
        history = {lake.version: state}
        while True:
            kind, given, after, version = propose(rng, lake.version, history)
            before = lake.version
            log({"kind": kind, "before": [before, history[before]], "after": [version, after]})
            lake = carry_out(lake, kind, given)
            history[lake.version] = after
            if kind == "vacuum":
                history = {lake.version: after}
            log({"done": kind, "version": lake.version})


def _start(index, journal, seed, state, is_fresh):
    """Start a child: forked from this process, or a new interpreter; return its process id and what waits for it."""
    scratch = Path(journal).parent / "tmp"  # what killed tasks leave in the system's directory for temporary files
    scratch.mkdir(exist_ok=True)
    if is_fresh:
        state_file = Path(journal).with_suffix(".state")
        state_file.write_text(json.dumps(state), "utf-8")
        command = [sys.executable, "-m", "tests.benchmarks.crash", "--child", str(index), str(journal), str(seed)]
        child = subprocess.Popen([*command, str(state_file)], env={**os.environ, "TMPDIR": str(scratch)})
        return child.pid, child.wait
    pid = os.fork()
    if pid == 0:
        try:
            tempfile.tempdir = str(scratch)
            work(index, journal, seed, state)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)
    return pid, lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _read(journal):
    """The records of a journal; a torn last line is of an operation that never began."""
    records = []
    for line in journal.read_text("utf-8").split("\n"):
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    return records


def contents(lake):
    """What the index holds, as a dict of table -> column -> cells."""
    return {name: lake.table(name).to_dict("list") for name in lake.tables["table"].tolist()}


def expected_answers(state, k):
    """What the oracle finds for `QUERY`."""
    sets = {
        (table, column): found
        for table, columns in state.items()
        for column, cells in columns.items()
        if len(found := oracles.value_set(cells)) >= 2
    }
    return oracles.rank(oracles.value_set(QUERY["q"].tolist()), sets, k)


def answers(lake, k, plan=None):
    """What the index finds for `QUERY`."""
    hits = dfjoin.discover_joinable(QUERY, "q", lake, k=k, plan=plan, rank="matched")
    return list(zip(hits["table"].tolist(), hits["column"].tolist(), hits["matched"].tolist(), strict=True))


def orphans(index):
    """Entries below the index that its latest version does not need."""
    lake = dfjoin.open_lake(index)
    needed = {"segments": set(), "tombstones": set(), "frames": set(), "runs": set()}
    for segment in lake.segments:
        needed["segments"].add(segment.meta.id)
        if segment.meta.tombstones is not None:
            needed["tombstones"].add(Path(segment.meta.tombstones["file"]).name)
        needed["frames"].update(segment.catalog.tables().field("path").to_pylist())
    found = []
    for directory, names in needed.items():
        place = Path(index) / directory
        found += [f"{directory}/{e.name}" for e in place.iterdir() if e.name not in names] if place.is_dir() else []
    allowed = {f"{version:020d}.json" for version in list_versions(Path(index))}
    found += [f"manifests/{e.name}" for e in (Path(index) / "manifests").iterdir() if e.name not in allowed]
    return found


def run_crashes(kills, seed=0, *, fresh=0.02, longest=0.4, place=None, stop_after=None):
    """Kill a writer `kills` times; return figures.

    Parameters
    ----------
    kills : int
        How often.
    seed : int
        Of the operations and the moments.
    fresh : float
        Share of the children that are new interpreters; the others are forks of this one.
    longest : float
        Longest life of a child, in seconds.
    place : path, optional
        Where to work; kept when something fails.
    stop_after : float, optional
        Seconds after which no further child is started.
    """
    rng = random.Random(seed)
    own = place is None
    place = Path(place or tempfile.mkdtemp(prefix="dfjoin-crash-"))
    index, journal = place / "lake.dfjoin", place / "journal.jsonl"
    state = {"a": {"x": ["w1", "w2"]}}
    lake = dfjoin.build_lake(frames_of(state), index, engine="inline", progress=False)
    answers(lake, 5)  # compiles what the children will need
    figures = {"kills": 0, "operations": 0, "interrupted": Counter(), "landed": Counter(), "orphans": 0, "failures": []}
    begun = time.perf_counter()
    for number in range(kills):
        if stop_after is not None and time.perf_counter() - begun > stop_after:
            break
        version = lake.version
        journal.write_text("", "utf-8")
        is_fresh = rng.random() < fresh
        pid, wait = _start(index, journal, rng.getrandbits(32), state, is_fresh)
        time.sleep(rng.random() * (2.5 if is_fresh else longest))
        os.kill(pid, signal.SIGKILL)
        code = wait()
        figures["kills"] += 1
        records = _read(journal)
        figures["operations"] += sum("done" in record for record in records)
        legal = {version: state}
        if records:
            last = next(record for record in reversed(records) if "kind" in record)
            legal = dict([last["before"], last["after"]])
            if last["before"][0] == last["after"][0] or "done" in records[-1]:
                legal = dict([last["after"]])
                if "done" in records[-1]:
                    legal = {records[-1]["version"]: last["after"][1]}
            else:
                figures["interrupted"][last["kind"]] += 1
            if last["kind"] == "compact" and "done" not in records[-1]:
                legal.setdefault(last["before"][0], last["before"][1])
        failure = ""
        try:
            if code != -signal.SIGKILL:
                raise AssertionError(f"the child ended by itself with {code}")
            lake = dfjoin.open_lake(index)
            if lake.version not in legal:
                raise AssertionError(f"version {lake.version} is none of {sorted(legal)}")
            if records and "kind" in records[-1]:
                figures["landed"]["after" if lake.version == records[-1]["after"][0] else "before"] += 1
            state = legal[lake.version]
            problems = lake.verify()
            if problems:
                raise AssertionError(f"verify: {problems}")
            if contents(lake) != state:
                raise AssertionError(f"the tables are {contents(lake)}, not {state}")
            k = rng.choice([1, 5, 100])
            if answers(lake, k) != expected_answers(state, k):
                raise AssertionError(f"answers {answers(lake, k)}, not {expected_answers(state, k)}")
            figures["orphans"] += len(orphans(index))
            lake.vacuum(0)
            left = orphans(index)
            if left:
                raise AssertionError(f"orphans after vacuum: {left}")
            if list_versions(index) != [lake.version] or contents(dfjoin.open_lake(index)) != state:
                raise AssertionError("vacuum changed the latest version")
        except Exception as error:
            failure = f"kill {number} of seed {seed}: {type(error).__name__}: {error}; last: {records[-1:]}"
        if failure:
            figures["failures"].append(failure)
            shutil.copytree(index, place / f"failed-{number}", dirs_exist_ok=True)
            shutil.rmtree(index)
            state = {"a": {"x": ["w1", "w2"]}}
            lake = dfjoin.build_lake(frames_of(state), index, engine="inline", progress=False)
    figures["scratch_left"] = sum(1 for _ in (place / "tmp").iterdir()) if kills else 0
    figures["seconds"] = round(time.perf_counter() - begun, 1)
    if own and not figures["failures"]:
        shutil.rmtree(place, ignore_errors=True)
    return figures


def main():
    if "--child" in sys.argv:
        index, journal, seed, state = sys.argv[2:]
        return work(index, journal, int(seed), json.loads(Path(state).read_text("utf-8")))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", type=float, default=0.02, help="share of children that are new interpreters")
    parser.add_argument("--stop-after", type=float, default=None)
    options = parser.parse_args()
    figures = run_crashes(options.kills, options.seed, fresh=options.fresh, stop_after=options.stop_after)
    for name, value in figures.items():
        print(f"{name}: {dict(value) if isinstance(value, Counter) else value}", flush=True)
    return 1 if figures["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
