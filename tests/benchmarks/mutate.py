"""Indexes with damaged files: ``python -m tests.benchmarks.mutate --n 10000``.

Every answer of a damaged index must be right, an error of dfjoin, or known to verify(). A child runs many
mutations; when it dies or hangs, the mutation it was at is a failure, and another child goes on behind it.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import warnings
from collections import Counter
from pathlib import Path
from unittest import mock

import pandas as pd

import dfjoin
from dfjoin.errors import DfjoinError
from dfjoin.search.params import PLANS

TIME_OUT = 20.0
_MEMORY = 16 << 30
WORDS = [f"w{i}" for i in range(40)]
QUERIES = [
    pd.DataFrame({"q": ["w1", "W2", "w9", "w19", "w21", "w33", "own4", "none", "5", "5"]}),
    pd.DataFrame({"q": [3, 5, 8, 13, 21, 1000, 1007]}),
]
PATHS = ["../../etc/passwd", "/etc/passwd", "..", ".", "", "/", "a\\..\\b", "x" * 5000, "a\0b", "\ud800"]
HOSTILE = [
    -1, 0, 1, 7, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, -(2**63), 10**30, 1.5, -0.0, 1e308, float("nan"),
    float("inf"), None, True, False, [], {}, [[]], [None], {"a": 1}, "x", "1", "é", "<u8", "|O", *PATHS,
]  # fmt: skip


def make_index(index):
    """Write the index that is mutated: two segments, one of them with a deleted table; its names are always the same."""
    rng = random.Random(0)
    with mock.patch.object(uuid, "uuid4", lambda: uuid.UUID(int=rng.getrandbits(128), version=4)):
        _write_index(index)


def _write_index(index):
    frames = {
        "a": pd.DataFrame({"x": WORDS[:20], "y": WORDS[:10] * 2, "n": range(20)}),
        "b/ü": pd.DataFrame({"x": WORDS[5:25], "n": range(5, 25)}),
        "c": pd.DataFrame({"x": [f"own{i}" for i in range(12)], "day": pd.date_range("2024-01-01", periods=12)}),
        "gone": pd.DataFrame({"x": WORDS[:12]}),
    }
    more = {
        "d": pd.DataFrame({"x": WORDS[15:40], "f": [i + 0.5 for i in range(25)]}),
        "e": pd.DataFrame({"n": range(1000, 1010), "x": WORDS[1:11]}),
    }
    dfjoin.build_lake(frames, index, engine="inline", progress=False)
    dfjoin.open_lake(index).add(more, engine="inline", progress=False).remove("gone")
    dfjoin.open_lake(index).vacuum(0)


def ask(index):
    """Everything that an index answers, by question; an error of dfjoin is an answer too."""
    found = {}

    def note(question, function):
        try:
            found[question] = function()
        except DfjoinError as error:
            found[question] = error

    try:
        lake = dfjoin.open_lake(index)
    except DfjoinError as error:
        return {"open": error, "verify": error}
    found["version"] = lake.version
    for number, query in enumerate(QUERIES):
        for plan in (None, *PLANS):
            k = 2 if plan is None else 50

            def search(query=query, plan=plan, k=k):
                return dfjoin.discover_joinable(
                    query, "q", lake, k=k, plan=plan, weighted=number == 0 and k == 50, rank="matched"
                )

            note(f"search {number} {plan}", lambda search=search: search().to_dict("list"))
            if plan is None and not isinstance(found[f"search {number} None"], DfjoinError):
                hits = search()
                for i in range(len(hits)):
                    note(f"explain {number} {i}", lambda i=i, hits=hits: {**hits.explain(i).to_dict(), "found_by": 0})
                    note(f"pairs {number} {i}", lambda i=i, hits=hits: hits.pairs(i).to_dict("list"))
    note("tables", lambda: lake.tables.to_dict("list"))
    note("columns", lambda: lake.columns.astype(str).to_dict("list"))
    note("info", lambda: len(lake.info()["segments"]))
    for name in ("a", "b/ü", "c", "d", "e"):
        note(f"table {name}", lambda name=name: lake.table(name).astype(str).to_dict("list"))
    note("gone", lambda: lake.has_table("gone"))
    note("verify", lake.verify)
    return found


def _damage_bytes(rng, data):
    """Change the bytes of a file; return them and what was done."""
    kind = rng.choice(["flip", "flip", "flip", "bytes", "truncate", "extend", "zero", "ones", "move"])
    size = len(data)
    where = rng.randrange(size) if size else 0
    if kind == "flip" and size:
        data[where] ^= 1 << rng.randrange(8)
    elif kind == "bytes" and size:
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(size)] = rng.randrange(256)
    elif kind == "truncate":
        data = data[:where]
    elif kind == "extend":
        data += bytes(rng.randrange(256) for _ in range(rng.choice([1, 8, 64, 4096])))
    elif kind in ("zero", "ones"):
        n = min(rng.choice([1, 4, 8, 64, 1 << 20]), size - where)
        data[where : where + n] = (b"\0" if kind == "zero" else b"\xff") * n
    else:
        n = min(rng.choice([4, 8, 16]), size - where)
        other = rng.randrange(max(1, size - n))
        data[where : where + n] = data[other : other + n]
    return data, f"{kind} at {where} of {size}"


def _places(values, path=()):
    """Every place of a JSON value."""
    yield path
    if isinstance(values, dict):
        for key, value in values.items():
            yield from _places(value, (*path, key))
    elif isinstance(values, list):
        for number, value in enumerate(values):
            yield from _places(value, (*path, number))


def _damage_json(rng, text):
    """Edit a manifest as JSON; return its text and what was done."""
    values = json.loads(text)
    path = rng.choice([p for p in _places(values) if p])
    parent = values
    for key in path[:-1]:
        parent = parent[key]
    key = path[-1]
    kind = rng.choice(["set", "set", "set", "delete", "near", "path", "repeat", "swap", "nest", "twice"])
    shown = f"{kind} {'/'.join(map(str, path))}"
    if kind == "delete":
        del parent[key]
    elif kind == "near" and isinstance(parent[key], int):
        parent[key] += rng.choice([-1, 1, 8, -8, 1 << 20])
    elif kind == "path" and isinstance(parent[key], str):
        parent[key] = rng.choice([p + parent[key] for p in ("../", "/", "x/../", "./")] + PATHS)
    elif kind == "repeat" and isinstance(parent, list):
        parent.insert(key, parent[key])
    elif kind == "swap" and isinstance(parent, list):
        other = rng.randrange(len(parent))
        parent[key], parent[other] = parent[other], parent[key]
    elif kind == "nest":
        parent[key] = "@NEST@"
        depth = rng.choice([50, 5000, 200_000])
        return json.dumps(values).replace('"@NEST@"', "[" * depth + "]" * depth), f"{shown} {depth} deep"
    elif kind == "twice" and isinstance(parent, dict):
        value = rng.choice(HOSTILE)
        parent["@TWICE@"] = value
        return json.dumps(values).replace('"@TWICE@"', json.dumps(str(key))), f"{shown} := {value!r:.60}"
    else:
        value = rng.choice(HOSTILE)
        parent[key] = value
        shown += f" := {value!r:.60}"
    return json.dumps(values), shown


def mutate(base, copy, rng):
    """Make a copy of an index with one change; return what was changed."""
    shutil.copytree(base, copy, copy_function=os.link)
    files = sorted(p.relative_to(copy).as_posix() for p in copy.rglob("*") if p.is_file())
    (manifest,) = [f for f in files if f.startswith("manifests/")]
    segments = [f for f in files if f.startswith("segments/")]
    catalogs = [f for f in segments if f.endswith(".arrow")]
    marks = [f for f in files if f.startswith("tombstones/")]
    kind = rng.choices(["json", "component", "catalog", "tombstones", "manifest", "swap", "frame", "missing"],
                       [30, 30, 18, 6, 6, 6, 3, 1])[0]  # fmt: skip

    def write(name, data):
        (copy / name).unlink()  # the link, so that the base stays as it is
        (copy / name).write_bytes(data)

    if kind == "json":
        text, shown = _damage_json(rng, (base / manifest).read_text("utf-8"))
        write(manifest, text.encode("utf-8", "surrogatepass"))
        return kind, shown
    if kind == "missing":
        name = rng.choice(files)
        (copy / name).unlink()
        return kind, name
    if kind == "swap":
        one, other = rng.sample(segments + marks, 2)
        first, second = (base / one).read_bytes(), (base / other).read_bytes()
        write(one, second)
        write(other, first)
        return kind, f"{one} <-> {other}"
    chosen = {
        "component": [f for f in segments if f not in catalogs],
        "catalog": catalogs,
        "tombstones": marks,
        "manifest": [manifest],
        "frame": [f for f in files if f.startswith("frames/")],
    }[kind]
    name = rng.choice(chosen)
    data, shown = _damage_bytes(rng, bytearray((base / name).read_bytes()))
    write(name, bytes(data))
    return kind, f"{name}: {shown}"


def judge(found, sound):
    """Say how a mutated index answered: right, error, detected (by verify) or silent; and what was wrong."""
    wrong = [q for q, a in found.items() if q != "verify" and not isinstance(a, DfjoinError) and a != sound.get(q)]
    is_known = isinstance(found["verify"], DfjoinError) or found["verify"] != []
    errors = [q for q, a in found.items() if isinstance(a, DfjoinError)]
    if wrong:
        return ("detected" if is_known else "silent"), wrong
    return ("error" if errors else "detected" if is_known else "right"), errors


def _child(base, work, seed, start, stop):
    """Run mutations `start` to `stop`; one line before each and one after it."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    base, work = Path(base), Path(work)
    sound = ask(base)
    if errors := [f"{q}: {a}" for q, a in sound.items() if isinstance(a, DfjoinError)] or sound["verify"]:
        raise SystemExit(f"the index is not sound to begin with: {errors}")
    for number in range(start, stop):
        copy = work / f"copy-{number}"
        rng = random.Random(f"{seed}-{number}")
        kind, shown = mutate(base, copy, rng)
        print(json.dumps({"n": number, "kind": kind, "shown": shown}), flush=True)
        outcome, detail = "", []
        try:
            outcome, detail = judge(ask(copy), sound)
        except BaseException as error:
            import traceback

            last = traceback.extract_tb(error.__traceback__)[-1]
            ours = [f for f in traceback.extract_tb(error.__traceback__) if "/dfjoin/" in f.filename]
            place = f"{ours[-1].filename.rpartition('/dfjoin/')[2]}:{ours[-1].lineno}" if ours else str(last)
            outcome, detail = "raised", [f"{type(error).__name__} in {place}: {error!s:.200}"]
        # Damage that writes beyond its arrays may show later, in answers of a sound index.
        if outcome == "silent" and judge(ask(base), sound)[0] != "right":
            outcome = "polluted"
        print(json.dumps({"n": number, "outcome": outcome, "detail": detail}), flush=True)
        shutil.rmtree(copy, ignore_errors=True)
        if outcome == "polluted":
            return


def run_mutations(n, seed=0, *, place=None, stop_after=None, time_out=TIME_OUT, start=0):
    """Ask `n` mutated copies of an index; return figures.

    Parameters
    ----------
    n : int
        Mutations.
    seed : int
        Mutation i is the same for every run with this seed.
    place : path, optional
        Where to work.
    stop_after : float, optional
        Seconds after which the run ends.
    time_out : float
        Seconds without a sign of life after which a child hangs.
    start : int
        Number of the first mutation.
    """
    own = place is None
    place = Path(place or tempfile.mkdtemp(prefix="dfjoin-mutate-"))
    base, work = place / "base", place / "work"
    work.mkdir(parents=True)
    make_index(base)
    figures = {"mutations": 0, "outcomes": Counter(), "kinds": Counter(), "failures": [], "children": 0}
    begun = time.perf_counter()
    at, end = start, start + n
    while at < end and (stop_after is None or time.perf_counter() - begun < stop_after):
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.benchmarks.mutate", "--child", str(base),
                   str(work), str(seed), str(at), str(end)]  # fmt: skip
        log = place / "stderr.txt"
        with log.open("w") as errors:
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        figures["children"] += 1
        lines: queue.Queue = queue.Queue()

        def pump(stream=child.stdout, lines=lines):
            for line in stream:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=pump, daemon=True).start()
        doing = None
        is_hung = is_over = False
        while True:
            if stop_after is not None and time.perf_counter() - begun > stop_after and doing is None:
                is_over = True
                break
            try:
                line = lines.get(timeout=time_out if figures["mutations"] else 120)
            except queue.Empty:
                is_hung = True
                break
            if line is None:
                break
            record = json.loads(line)
            if "kind" in record:
                doing = record
                continue
            at = record["n"] + 1
            figures["mutations"] += 1
            figures["outcomes"][record["outcome"]] += 1
            figures["kinds"][doing["kind"]] += 1
            if record["outcome"] in ("silent", "raised", "polluted"):
                figures["failures"].append({"seed": seed, **doing, **record})
            doing = None
        child.kill() if is_hung or is_over else None
        code = child.wait()
        if is_over:
            break
        if doing is not None:
            outcome = "hung" if is_hung else f"died with {code}"
            trace = [line.strip() for line in log.read_text(errors="replace").splitlines() if "File" in line][:4]
            figures["mutations"] += 1
            figures["outcomes"][outcome] += 1
            figures["kinds"][doing["kind"]] += 1
            figures["failures"].append({"seed": seed, **doing, "outcome": outcome, "detail": trace})
            at = doing["n"] + 1
        elif code != 0:
            raise RuntimeError(f"the child ended with {code} outside a mutation: {log.read_text()[-2000:]}")
    figures["seconds"] = round(time.perf_counter() - begun, 1)
    if own:
        shutil.rmtree(place, ignore_errors=True)
    return figures


def main():
    if "--child" in sys.argv:
        base, work, seed, start, stop = sys.argv[2:]
        return _child(base, work, int(seed), int(start), int(stop))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--stop-after", type=float, default=None)
    options = parser.parse_args()
    figures = run_mutations(options.n, options.seed, stop_after=options.stop_after, start=options.start)
    failures = figures.pop("failures")
    for failure in failures:
        print(json.dumps(failure), flush=True)
    for name, value in figures.items():
        print(f"{name}: {dict(value) if isinstance(value, Counter) else value}", flush=True)
    alike = Counter((f["outcome"], f["kind"], (f["detail"] or [""])[0][:90]) for f in failures)
    for (outcome, kind, detail), count in alike.most_common():
        print(f"{count:6d}  {outcome:18s} {kind:10s} {detail}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
