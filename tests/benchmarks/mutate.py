"""Indexes with damaged files: ``python -m tests.benchmarks.mutate --n 10000`` and ``--hostile --n 5000``.

Plain damage changes bytes: every answer has to be right, an error of dfjoin, or known to verify(). Hostile damage has right
checksums, as an index from somebody else may have: every answer has to be one, or an error of dfjoin. A mutation runs in a
process forked from one whose kernels are compiled, with bounds of time and memory, over some of all modes and commands.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import uuid
import warnings
import zlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa

import dfjoin
from dfjoin.errors import DfjoinError
from dfjoin.index.catalog import COLUMN_FIELDS, TABLE_FIELDS, Catalog, write_catalog
from dfjoin.index.commit import commit_change
from dfjoin.index.manifest import seal
from dfjoin.search.params import PLANS

TIME_OUT = 20.0
_MEMORY = 2 << 30
"""Bytes that a mutation may take beyond what the process has."""
N_QUESTIONS = 2
_COMMAND_SHARE = 0.35
"""Of the mutations, after which a command changes the index."""
WORDS = [f"w{i}" for i in range(40)]
NAMES = [f"{a} {b}" for a in ("north", "south", "east", "upper", "old") for b in ("lima", "oslo", "paris", "bergen")]
CODES = [f"{name.split()[1].upper()}-{i:03d}" for i, name in enumerate(NAMES)]
PATHS = [
    "../../etc/passwd",
    "/etc/passwd",
    "..",
    ".",
    "",
    "/",
    "a\\..\\b",
    "x" * 5000,
    "a\0b",
    "\ud800",
    "x" * 1_000_000,
]
HOSTILE = [
    -1, 0, 1, 7, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, -(2**63), 10**30, 1.5, -0.0, 1e308, float("nan"),
    float("inf"), None, True, False, [], {}, [[]], [None], {"a": 1}, "x", "1", "é", "<u8", "|O", *PATHS,
]  # fmt: skip
QUIET = {"engine": "inline", "progress": False}


def make_index(index):
    """Write the index that is mutated; its names are always the same.

    It has all groups of components, two segments, and one table is deleted.
    """
    rng = random.Random(0)
    with mock.patch.object(uuid, "uuid4", lambda: uuid.UUID(int=rng.getrandbits(128), version=4)):
        _write_index(index)


def _write_index(index):
    rng = np.random.default_rng(0)
    places = {"lat": 50 + rng.random(20).round(3), "lon": 8 + rng.random(20).round(3)}
    frames = {
        "a": pd.DataFrame({"x": WORDS[:20], "y": WORDS[:10] * 2, "n": range(20)}),
        "b/ü": pd.DataFrame({"x": WORDS[5:25], "n": range(5, 25)}),
        "c": pd.DataFrame({"x": [f"own{i}" for i in range(12)], "day": pd.date_range("2024-01-01", periods=12)}),
        "gone": pd.DataFrame({"x": WORDS[:12]}),
        "towns": pd.DataFrame({"town": NAMES, "code": CODES, **places}),
    }
    more = {
        "d": pd.DataFrame({"x": WORDS[15:40], "f": [i + 0.5 for i in range(25)]}),
        "e": pd.DataFrame({"n": range(1000, 1010), "x": WORDS[1:11]}),
        "keys": pd.DataFrame({"word": WORDS[:10] * 2, "n": [0] * 10 + [1] * 10, "value": range(20)}),
    }
    settings = {"permutations": 16, "signature_min": 5, "patterns": True, "row_signatures": True}
    dfjoin.build_lake(frames, index, settings=settings, axes=[["lat", "lon"]], embedder="fasttext", **QUIET)
    dfjoin.open_lake(index).add(more, **QUIET).remove("gone")
    dfjoin.open_lake(index).vacuum(0)


QUERY = pd.DataFrame(
    {"q": ["w1", "W2", "w9", "w19", "w21", "w33", "own4", "none", "5", "5"], "n": [0, 1, 0, 1] + [7] * 6}
)
TOWNS = pd.DataFrame({"q": ["Nort Lima", "south oslo", "east paris", "old bergen", "upper limaa", "lower rome"]})
TOWN_CODES = pd.DataFrame({"q": [f"{code[-3:]}/{code[:-4].title()}" for code in CODES]})
PLACES = pd.DataFrame({"lat": [50.5, 50.2], "lon": [8.5, 8.1]})


def _found(df, on, lake, **options):
    """A search, with what explains each hit."""
    hits = df.discover_joinable(on, lake, **options)
    said = [hits.to_dict("list")]
    for i in range(min(1, len(hits))):
        said.append({**hits.explain(i).to_dict(), "found_by": 0})
        said.append(hits.pairs(i).to_dict("list"))
    return said


def _questions():
    """All that an index answers, by name."""
    asked = {
        "useful": lambda lake: _found(QUERY, "q", lake, min_score=0.0),
        "weighted": lambda lake: _found(QUERY, "q", lake, weighted=True),
        "numbers": lambda lake: _found(pd.DataFrame({"q": [3, 5, 8, 13, 21, 1000]}), "q", lake, rank="matched", k=2),
        "days": lambda lake: _found(pd.DataFrame({"q": ["2024-01-02", "2024-01-05"]}), "q", lake),
        "composite": lambda lake: QUERY.discover_joinable(["q", "n"], lake, min_score=0.0).to_dict("list"),
        "fuzzy": lambda lake: _found(TOWNS, "q", lake, mode="fuzzy"),
        "lsh": lambda lake: _found(QUERY, "q", lake, mode="lsh", threshold=0.5),
        "transform": lambda lake: _found(TOWN_CODES, "q", lake, mode="transform"),
        "embedding": lambda lake: _found(TOWNS, "q", lake, mode="embedding", radius=0.4),
        "pexeso": lambda lake: _found(TOWNS, "q", lake, mode="embedding", radius=0.4, plan="pexeso"),
        "places": lambda lake: _found(PLACES, ["lat", "lon"], lake, mode="embedding", radius=30, radius_unit="km"),
        "auto_join": lambda lake: QUERY.auto_join(lake, on="q").astype(str).to_dict("list"),
        "containment": lambda lake: lake.containment_join(0.8).to_frame().to_dict("list"),
        "graph": lambda lake: lake.join_graph(min_score=0.0).edges.astype(str).to_dict("list"),
        "paths": lambda lake: str(lake.paths(QUERY, "d", on="q", min_score=0.0).to_dict("list")),
        "words": lambda lake: lake.search("towns code").to_dict("list"),
        "tables": lambda lake: lake.tables.to_dict("list"),
        "columns": lambda lake: lake.columns.astype(str).to_dict("list"),
        "info": lambda lake: str({k: v for k, v in lake.info().items() if k in ("tables", "columns", "counts")}),
        "describe": lambda lake: str(lake.describe("towns")),
        "table": lambda lake: [lake.table(name).astype(str).to_dict("list") for name in ("a", "b/ü", "towns")],
        "versions": lambda lake: lake.versions()["operation"].tolist(),
        "check": lambda lake: lake.check().to_dict("list"),
    }
    for plan in PLANS:
        asked[plan] = lambda lake, plan=plan: _found(QUERY, "q", lake, plan=plan, k=50, rank="matched")
    return asked


def _without(lake, name):
    """The next version of a lake, without a group of components."""

    def change(latest):
        kept = [replace(s, groups=tuple(g for g in s.groups if g.name != name)) for s in latest.segments]
        return latest.next(f"drop {name}", segments=tuple(kept))

    commit_change(lake.path, change)
    return lake.refresh()


NEW = {"new": pd.DataFrame({"x": WORDS[3:9], "town": NAMES[:6]})}
QUESTIONS = _questions()
COMMANDS = {
    "compact": lambda lake: lake.compact(full=True),
    "add": lambda lake: lake.add(NEW, **QUIET),
    "replace": lambda lake: lake.replace({"a": NEW["new"]}, **QUIET),
    "remove": lambda lake: lake.remove("b/ü"),
    "restore": lambda lake: lake.restore(lake.version),
    "vacuum": lambda lake: lake.vacuum(0),
    "add_signatures": lambda lake: lake.add_signatures(permutations=8, signature_min=4),
    "add_patterns": lambda lake: _without(lake, "patterns").add_patterns(),
    "add_vectors": lambda lake: lake.add_vectors(_letters, progress=False),
    "add_axes": lambda lake: lake.add_axes([["n"]]),
    "add_row_signatures": lambda lake: _without(lake, "rows").add_row_signatures(),
    "repair": lambda lake: lake.repair() and lake.refresh(),
}
"""All that changes an index, by name; `check_change` tells what an index answers then."""


def _letters(texts):
    """An embedder: how often each letter stands in a text."""
    return np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts], np.float32)


def _plain(answer):
    """An answer that can be compared: missing values are equal."""
    return json.dumps(answer, default=str, sort_keys=True)


def ask(index, questions, command=None):
    """Answers of an index by question, and what it answers after a command; an error of dfjoin is an answer, too.

    `verify` is what the index says of itself, in the end.
    """
    found = {}

    def note(question, function):
        try:
            found[question] = _plain(function())
        except DfjoinError as error:
            found[question] = error

    try:
        lake = dfjoin.open_lake(index)
    except DfjoinError as error:
        found["open"] = error
        if command == "repair":
            note("repair", lambda: dfjoin.repair(index) and None)
        return {**found, "verify": error}
    for question in questions:
        note(question, lambda question=question: QUESTIONS[question](lake))
    known = []
    note("known", lambda: known.extend(lake.verify()))
    if command is not None:
        note(command, lambda: COMMANDS[command](lake) and None)
        if not isinstance(found[command], DfjoinError):
            lake = dfjoin.open_lake(index)
            note(f"{command} then", lambda: [QUESTIONS[name](lake) for name in ("mergelist", "columns", "fuzzy")])
    del found["known"]
    try:
        found["verify"] = lake.verify() or (known if command is None or command in ("vacuum", "repair") else [])
    except DfjoinError as error:
        found["verify"] = error
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


def _damage_array(rng, path):
    """Change entries, shape, dtype or length of a component; return what was done."""
    array = np.load(path)
    if array.dtype.kind == "f":
        values = [0.0, 1.0, -1.0, 1e30, -1e38, math.nan, math.inf, -math.inf]
    else:
        limits = np.iinfo(array.dtype)
        values = [0, 1, -1, 2, array.size - 1, array.size, array.size + 1, 2**31 - 1, 2**32 - 1, limits.min, limits.max]
        values = [min(max(value, limits.min), limits.max) for value in values]
    kind = rng.choice(
        ["entry", "entry", "entry", "entries", "random", "all", "shuffle", "shape", "dtype", "cut", "grow", "flip"]
    )
    flat = array.reshape(-1)
    if kind in ("entry", "entries") and flat.size:
        for _ in range(1 if kind == "entry" else rng.randint(2, 20)):
            flat[rng.randrange(flat.size)] = rng.choice(values)
    elif kind == "flip" and flat.size:
        flat.view(np.uint8)[rng.randrange(flat.nbytes)] ^= 1 << rng.randrange(8)
    elif kind == "random":
        flat.view(np.uint8)[:] = np.frombuffer(rng.randbytes(flat.nbytes), np.uint8)
    elif kind == "all":
        flat[:] = rng.choice(values)
    elif kind == "shuffle":
        flat[:] = flat[rng.sample(range(flat.size), flat.size)]
    elif kind == "shape":
        array = rng.choice([flat[:, None], flat[None], array[None], array.T, flat])
    elif kind == "dtype":
        array = array.astype(rng.choice(["<i8", "<u4", "<f8", "u1", "<i4", ">i8", "<M8[D]", "?"]))
    elif kind == "cut":
        array = array[: rng.randrange(max(1, len(array)))]
    else:
        array = np.concatenate([array, array[-1:]])
    with path.open("wb") as stream:
        np.save(stream, np.ascontiguousarray(array))
    return {"dtype": array.dtype.str, "shape": list(array.shape)}, kind


def _damage_records(rng, path):
    """Change a field of the records of a catalogue; return what was done."""
    catalog = Catalog(path)
    parts = [catalog.tables(), catalog.columns(), catalog.skipped()]
    which = rng.randrange(2)
    field = rng.choice(list((TABLE_FIELDS, COLUMN_FIELDS)[which]))
    values = parts[which].field(field.name).to_pylist()
    place = rng.randrange(len(values))
    if pa.types.is_integer(field.type):
        bits = field.type.bit_width
        choices = [0, 1, -1, 7, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 2**bits - 1]
        is_signed = pa.types.is_signed_integer(field.type)
        values[place] = rng.choice([v for v in choices if (v < 2 ** (bits - 1) if is_signed else v >= 0)])
    elif pa.types.is_string(field.type):
        values[place] = rng.choice(["", "x", "{}", "[]", '{"encoding": 1}', '{"delimiter": ""}', "../../x", "/etc/passwd",
                                    "a\0b", "x" * 100_000, "memory", None])  # fmt: skip
    else:
        values[place] = rng.choice([[], ["x"] * 1000, ["../x"], [""], None])
    array = pa.array(values, field.type)
    parts[which] = pa.StructArray.from_arrays(
        [
            array if one.name == field.name else own
            for one, own in zip(parts[which].type, parts[which].flatten(), strict=True)
        ],
        fields=list(parts[which].type),
    )
    path.write_bytes(write_catalog(*parts))
    return f"{field.name}[{place}] := {values[place]!r:.40}"


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


class _Copy:
    """A copy of an index to be damaged; its files are links until one is written."""

    def __init__(self, base, place):
        shutil.copytree(base, place, copy_function=os.link)
        self.base, self.place = base, place
        files = sorted(p.relative_to(place).as_posix() for p in place.rglob("*") if p.is_file())
        self.manifest = max(f for f in files if f.startswith("manifests/"))
        self.segments = [f for f in files if f.startswith("segments/")]
        self.catalogs = [f for f in self.segments if f.endswith(".arrow")]
        self.arrays = [f for f in files if f.startswith(("segments/", "models/")) and f.endswith(".npy")]
        self.marks = [f for f in files if f.startswith("tombstones/")]
        self.frames = [f for f in files if f.startswith("frames/")]
        self.files = files

    def read(self, name):
        return bytearray((self.base / name).read_bytes())

    def write(self, name, data):
        (self.place / name).unlink()  # the link, so that the base stays as it is
        (self.place / name).write_bytes(data)

    def reseal(self, name, changes):
        """Let the manifest say of a file what it holds now."""
        values = json.loads((self.place / self.manifest).read_text("utf-8"))
        data = (self.place / name).read_bytes()
        told = {"size": len(data), "crc32": zlib.crc32(data), **changes}
        for segment in values["segments"]:
            if segment["tombstones"] and segment["tombstones"]["file"] == name:
                segment["tombstones"]["crc32"] = told["crc32"]
            for component in (c for group in segment["groups"] for c in group["components"]):
                if f"segments/{segment['id']}/{component['file']}" == name:
                    component.update({**told, "shape": [len(data)]} if component["dtype"] == "arrow-ipc" else told)
        for component in values["embedder"]["components"]:
            if f"models/{component['file']}" == name:
                component.update(told)
        self.write(self.manifest, seal(values).encode())


def damage_plainly(copy, rng):
    """Change one file, or two, as a disk may; return what was done."""
    kind = rng.choices(["json", "component", "catalog", "tombstones", "manifest", "swap", "frame", "missing"],
                       [10, 60, 12, 3, 4, 6, 4, 1])[0]  # fmt: skip
    if kind == "json":
        text, shown = _damage_json(rng, copy.read(copy.manifest).decode())
        copy.write(copy.manifest, text.encode("utf-8", "surrogatepass"))
        return kind, shown
    if kind == "missing":
        name = rng.choice(copy.files)
        (copy.place / name).unlink()
        return kind, name
    if kind == "swap":
        one, other = rng.sample(copy.arrays + copy.catalogs + copy.marks, 2)
        copy.write(one, copy.read(other))
        copy.write(other, copy.read(one))
        return kind, f"{one} <-> {other}"
    chosen = {"component": copy.arrays, "catalog": copy.catalogs, "tombstones": copy.marks,
              "manifest": [copy.manifest], "frame": copy.frames}[kind]  # fmt: skip
    name = rng.choice(chosen)
    data, shown = _damage_bytes(rng, copy.read(name))
    copy.write(name, bytes(data))
    return kind, f"{name}: {shown}"


def damage_hostilely(copy, rng):
    """Change one file and all that is recorded of it; return what was done."""
    kind = rng.choices(["array", "json", "catalog", "records", "tombstones"], [50, 20, 10, 16, 4])[0]
    if kind == "json":
        text, shown = _damage_json(rng, copy.read(copy.manifest).decode())
        try:
            text = seal(json.loads(text))
        except RecursionError:
            kind = "json, no seal"
        copy.write(copy.manifest, text.encode("utf-8", "surrogatepass"))
        return kind, shown
    name = rng.choice({"array": copy.arrays, "tombstones": copy.marks}.get(kind, copy.catalogs))
    copy.write(name, bytes(copy.read(name)))
    changes = {}
    if kind in ("array", "tombstones"):
        changes, shown = _damage_array(rng, copy.place / name)
    elif kind == "records":
        shown = _damage_records(rng, copy.place / name)
    else:
        data, shown = _damage_bytes(rng, copy.read(name))
        copy.write(name, bytes(data))
    copy.reseal(name, changes)
    return kind, f"{name}: {shown}"


def judge(found, sound, is_hostile):
    """Say how a mutated index answered: right, error, detected (by verify), other (hostile) or silent; and what so."""
    wrong = [q for q, a in found.items() if q != "verify" and not isinstance(a, DfjoinError) and a != sound.get(q)]
    is_known = isinstance(found["verify"], DfjoinError) or bool(found["verify"])
    errors = [q for q, a in found.items() if isinstance(a, DfjoinError)]
    if wrong:
        return ("other" if is_hostile else "detected" if is_known else "silent"), wrong
    return ("error" if errors else "detected" if is_known else "right"), errors


def _ask_damaged(place, seed, number, is_hostile, sound):
    """Make a mutation, ask the index, and say how it answered."""
    rng = random.Random(f"{seed}-{number}")
    copy = _Copy(place / "base", place / f"copy-{number}")
    kind, shown = (damage_hostilely if is_hostile else damage_plainly)(copy, rng)
    questions = rng.sample(sorted(QUESTIONS), N_QUESTIONS)
    command = rng.choice(sorted(COMMANDS)) if rng.random() < _COMMAND_SHARE else None
    record = {"n": number, "kind": kind, "shown": shown, "asked": [*questions, command]}
    (place / "at.json").write_text(json.dumps(record))
    try:
        outcome, detail = judge(ask(copy.place, questions, command), sound, is_hostile)
    except BaseException as error:
        trace = traceback.extract_tb(error.__traceback__)
        ours = [f for f in trace if "/dfjoin/" in f.filename] or [trace[-1]]
        where = f"{ours[-1].filename.rpartition('/dfjoin/')[2]}:{ours[-1].lineno}"
        outcome, detail = "raised", [f"{type(error).__name__} in {where}: {error!s:.200}"]
    return {**record, "outcome": outcome, "detail": detail}


def _in_child(place, time_out, function):
    """Run a function in a forked process; return what it returned, or how the process ended."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            signal.alarm(math.ceil(2 * time_out))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (now + _MEMORY, now + _MEMORY))
            with os.fdopen(writer, "w") as stream:
                stream.write(json.dumps(function()))
        except BaseException:
            traceback.print_exc()
            os._exit(70)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        is_hung = not select.select([stream], [], [], time_out)[0]
        if is_hung:
            os.kill(pid, signal.SIGKILL)
        text = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if text and not code:
        return json.loads(text)
    record = json.loads((place / "at.json").read_text())
    return {**record, "outcome": "hung" if is_hung else f"died with {code}", "detail": []}


def prepare(place):
    """Make the index below a place; return what it answers undamaged, to every question and after every command."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make_index(place / "base")
        return _sound_answers(place)


def _sound_answers(place):
    sound = ask(place / "base", sorted(QUESTIONS))
    for command in COMMANDS:
        copy = place / f"copy-{command}"
        shutil.copytree(place / "base", copy)
        sound.update(ask(copy, [], command))
        shutil.rmtree(copy)
    errors = [f"{q}: {a}" for q, a in sound.items() if isinstance(a, DfjoinError)] or sound["verify"]
    if errors:
        raise SystemExit(f"the index is not sound to begin with: {errors}")
    return sound


def run_mutations(n, seed=0, *, is_hostile=False, place=None, sound=None, stop_after=None, time_out=TIME_OUT, start=0):
    """Ask `n` mutated copies of an index; return figures.

    Parameters
    ----------
    n : int
        Mutations.
    seed : int
        Mutation i is the same for every run with this seed.
    is_hostile : bool
        Checksums are right.
    place : path, optional
        Where to work.
    sound : dict, optional
        What `prepare` returned for this place.
    stop_after : float, optional
        Seconds after which the run ends.
    time_out : float
        Seconds that a mutation may take.
    start : int
        Number of the first mutation.
    """
    own = place is None
    place = Path(place or tempfile.mkdtemp(prefix="dfjoin-mutate-"))
    figures = {"mutations": 0, "outcomes": Counter(), "kinds": Counter(), "asked": Counter(), "failures": []}
    sound = prepare(place) if sound is None else sound
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.perf_counter()
        for number in range(start, start + n):
            if stop_after is not None and time.perf_counter() - begun > stop_after:
                break
            record = _in_child(
                place, time_out, lambda number=number: _ask_damaged(place, seed, number, is_hostile, sound)
            )
            shutil.rmtree(place / f"copy-{number}", ignore_errors=True)
            figures["mutations"] += 1
            figures["outcomes"][record["outcome"]] += 1
            figures["kinds"][record["kind"]] += 1
            figures["asked"].update(record["asked"])
            if record["outcome"] not in ("right", "error", "detected", "other"):
                figures["failures"].append({"seed": seed, **record})
    figures["seconds"] = round(time.perf_counter() - begun, 1)
    if own:
        shutil.rmtree(place, ignore_errors=True)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--stop-after", type=float, default=None)
    options = parser.parse_args()
    figures = run_mutations(
        options.n, options.seed, is_hostile=options.hostile, stop_after=options.stop_after, start=options.start
    )
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
