"""A writer that is killed: it changes an index until it dies, and notes what it does in a journal.

The journal says what was begun, each attempt to commit with the CRC-32 of its manifest, and what came of it. It is
written before the step that it announces: a killed process loses nothing that it handed to the system.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import zlib
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pandas as pd

import dfjoin
from dfjoin.errors import DfjoinError
from dfjoin.index import commit as commit_module
from dfjoin.index import mirror as mirror_module
from dfjoin.index.components import version_of
from dfjoin.index.file_store import FileStore

NAMES = ["a", "b", "c", "d", "e", "geo/x", "geo/y", "é"]
WORDS = [f"w{i}" for i in range(12)]
RETENTION = timedelta(seconds=12)
"""Above the longest life of a writer: what a living one writes is younger."""

KINDS = [
    "add", "replace", "remove", "build", "build_add", "restore", "repair", "compact", "compact_full", "vacuum",
    "add_signatures", "add_patterns", "add_vectors", "add_axes", "add_row_signatures",
]  # fmt: skip
_OPTIONS = {"engine": "inline", "progress": False}
_CHANGING = {"os.link", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.utime", "os.truncate"}


class Doom(NamedTuple):
    """When a writer kills itself: at a step of its n-th operation, or a later one; at none if `step` is 0.

    A step is a call that changes files or syncs one and, with `counts_reads`, one that opens a file.
    """

    kind: str | None
    operation: int
    step: int
    counts_reads: bool


def frames_of(tables):
    """The frames of a dict of table -> column -> cells."""
    return {name: pd.DataFrame(columns) for name, columns in tables.items()}


def random_table(rng, mark):
    """A tiny table as plain values; one of them is only there."""
    n = rng.randint(3, 6)
    columns = {"x": [*rng.sample(WORDS, n - 1), mark], "y": rng.sample(WORDS, n)}
    if rng.random() < 0.7:
        columns["n"] = rng.sample(range(40), n)
        columns["m"] = [number / 4 for number in rng.sample(range(40), n)]
    return columns


def propose(rng, kind, names, versions, mark):
    """Choose what an operation is called with; `mark` is a value that no other operation writes."""
    free = [name for name in NAMES if name not in names] or NAMES
    if kind in ("add", "build_add", "replace", "build"):
        pool = free if kind in ("add", "build_add") else NAMES
        chosen = rng.sample(pool, min(len(pool), rng.randint(1, 4 if kind == "build" else 2)))
        return {name: random_table(rng, f"{mark} {name}") for name in chosen}
    if kind == "remove":
        return rng.sample(sorted(names) or NAMES, min(len(names) or 1, rng.randint(1, 2)))
    if kind == "restore":
        return rng.choice(versions)
    if kind == "add_signatures":
        return rng.choice([16, 32])
    if kind == "add_axes":
        return rng.sample(["n", "m"], 2)
    return rng.choice(["north", "old", "road"]) if kind == "add_vectors" else None


def carry_out(lake, index, kind, given):
    """Do one operation; return the version that it reports."""
    if kind in ("add", "replace"):
        getattr(lake, kind)(frames_of(given), **_OPTIONS)
    elif kind in ("build", "build_add"):
        existing = "replace" if kind == "build" else "add"
        return dfjoin.build_lake(frames_of(given), index, if_exists=existing, **_OPTIONS).version
    elif kind in ("remove", "restore"):
        getattr(lake, kind)(given)
    elif kind == "repair":
        return dfjoin.repair(index)["version"]
    elif kind == "vacuum":
        lake.vacuum(RETENTION)
    elif kind.startswith("compact"):
        lake.compact(full=kind == "compact_full")
    elif kind == "add_signatures":
        lake.add_signatures(permutations=given, signature_min=2)
    elif kind == "add_axes":
        lake.add_axes([given])
    elif kind == "add_vectors":
        lake.add_vectors(abbreviations={"w": given}, **_OPTIONS)
    else:
        getattr(lake, kind)()
    return lake.version


class _Watch:
    """Counts the steps of an operation and kills the process at the one that was chosen."""

    def __init__(self, journal, doom):
        self._journal, self._doom = journal, doom
        self.n_writes = self.n_opens = self._left = 0
        self._is_armed = False
        sys.addaudithook(self._on_event)

    def begin(self, number):
        """Start counting anew; arm the watch when this is the operation that was chosen."""
        self.n_writes = self.n_opens = 0
        if number == self._doom.operation and self._doom.step:
            self._left, self._is_armed = self._doom.step, True

    def step(self, name, is_read=False):
        """Count a step, which is about to happen; die instead if it is the chosen one."""
        self.n_opens += is_read
        self.n_writes += not is_read
        if self._is_armed and (self._doom.counts_reads or not is_read):
            self._left -= 1
            if self._left == 0:
                self._journal.note(died=name)
                os.kill(os.getpid(), signal.SIGKILL)

    def _on_event(self, event, args):
        if event == "open" and isinstance(args[0], str):
            is_read = not (args[2] or 0) & (os.O_WRONLY | os.O_RDWR)
            self.step(f"open {_place_of(args[0])}", is_read)
        elif event in _CHANGING:
            self.step(f"{event} {_place_of(str(args[1 if event == 'os.link' else 0]))}")


def _place_of(path):
    """Name the part of the index that a path lies in."""
    parts = Path(path).parts
    found = [part for part in parts if part in ("manifests", "segments", "tombstones", "frames", "runs", "models")]
    suffix = "draft" if "draft" in path else Path(path).suffix.lstrip(".").partition("-")[0]
    return f"{found[0] if found else 'elsewhere'} {suffix}".strip()


class _Journal:
    def __init__(self, path):
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, **record):
        """Append a record in one call of the system."""
        os.write(self._descriptor, (json.dumps(record) + "\n").encode())


def _observe(journal, watch):
    """Note each attempt to commit before it is made, and its success; count syncs as steps."""
    real_link, real_publish = commit_module._link, mirror_module.Mirror.publish

    def attempt(version, text, commit):
        segments = [segment["id"] for segment in json.loads(text)["segments"]]
        journal.note(attempt=version, crc=zlib.crc32(text.encode()), segments=segments)
        watch.step("before the name is given")
        commit()
        watch.step("after the name was given")
        journal.note(made=version)

    def sync(_descriptor):  # as the system lives on, what was written is there without
        watch.step("sync")

    def link(draft, target):
        attempt(version_of(target.name), draft.read_text("utf-8"), lambda: real_link(draft, target))

    def publish(mirror, version, text, names):
        attempt(version, text, lambda: real_publish(mirror, version, text, names))

    def counted(real, name):
        def call(*args, **options):
            watch.step(name)
            return real(*args, **options)

        return call

    os.fsync, commit_module._link, mirror_module.Mirror.publish = sync, link, publish
    for name in ("write", "remove"):  # these are calls of Arrow, which tells no hook
        setattr(FileStore, name, counted(getattr(FileStore, name), f"store {name}"))


def _open(index):
    try:
        return dfjoin.open_lake(index)
    except DfjoinError:
        return None  # the latest manifest is damaged


def work(index, journal_path, seed, doom, cache):
    """Change an index for ever, or until the chosen step.

    Parameters
    ----------
    index : str
        A directory, or a URI.
    journal_path : path
    seed : int
        Of the operations.
    doom : Doom
        When to die by itself.
    cache : path
        Of the mirrors of an index at a URI, and of temporary files: as if the writer had a machine of its own.
    """
    rng = random.Random(seed)
    cache.mkdir(exist_ok=True)
    tempfile.tempdir = os.environ["DFJOIN_CACHE_DIR"] = str(cache)
    mirror_module._mirrors.clear()
    journal = _Journal(journal_path)
    watch = _Watch(journal, doom)
    _observe(journal, watch)
    number = 0
    while True:
        lake = _open(index)
        is_chosen = doom.kind is not None and number == doom.operation
        kind = doom.kind if is_chosen else rng.choice(KINDS)
        if lake is None:
            kind = "repair"
        names = [] if lake is None else _names(lake)
        versions = [] if lake is None else sorted(lake.versions()["version"].tolist())[-8:]
        given = propose(rng, kind, names, versions, f"{seed}-{number}")
        journal.note(kind=kind, given=given)
        watch.begin(number)
        begun = time.perf_counter()
        try:
            outcome, told = "ok", carry_out(lake, index, kind, given)
        except DfjoinError as error:
            outcome, told = type(error).__name__, str(error)
        except Exception:
            outcome, told = "raised", traceback.format_exc()
        seconds = round(time.perf_counter() - begun, 3)
        journal.note(end=outcome, told=told, seconds=seconds, writes=watch.n_writes, opens=watch.n_opens)
        number += 1


def _names(lake):
    """Names of the tables, or none where a damaged segment does not tell them."""
    try:
        return lake.tables["table"].tolist()
    except DfjoinError:
        return []
