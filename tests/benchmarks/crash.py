"""Writers that are killed at random moments, again and again: ``python -m tests.benchmarks.crash --kills 5000``.

Three writers change one index at the same time, each in a process of its own, and are killed with SIGKILL: at a random
call that changes, syncs or opens a file, or after a random time. After each kill the index is compared with what their
journals say (crash_history), and whenever all are dead, all of it. Some rounds begin with a damaged index.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pandas as pd

import dfjoin
from dfjoin.errors import DfjoinError
from dfjoin.index.commit import list_versions
from tests import oracles
from tests.benchmarks.crash_history import Difference, History, count_outcomes
from tests.benchmarks.crash_writer import KINDS, NAMES, WORDS, Doom, carry_out, frames_of, propose, random_table, work

FILES = ("links", "claims", "mirror")
"""Where the index lies: where there are hard links; where there are none; on another file system."""

_LONGEST_LIFE = 1.5
_RARE = ["restore", "restore", "restore", "vacuum", "vacuum", "compact_full"]
"""Operations of few steps, or with often nothing to do, so that kills rarely hit them."""

_COLUMNS = ["begun", "committed", "nothing to do", "refused", "killed, not committed", "killed, committed"]


def contents(lake, names):
    """What some tables hold, as a dict of table -> column -> cells."""
    return {name: lake.table(name).to_dict("list") for name in names}


def ask(lake, query, k):
    """Search for values; return the rows found."""
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": query}), "q", lake, k=k, rank="matched")
    return list(zip(hits["table"].tolist(), hits["column"].tolist(), hits["matched"].tolist(), strict=True))


def check_answers(lake, tables, k):
    """Compare a search with brute force; the query has a value of each table that no other table has."""
    sets = {
        (table, column): found
        for table, columns in tables.items()
        for column, cells in columns.items()
        if len(found := oracles.value_set(cells)) >= 2
    }
    query = WORDS[:9] + [columns["x"][-1] for columns in tables.values()]
    found, expected = ask(lake, query, k), oracles.rank(oracles.value_set(query), sets, k)
    if found != expected:
        raise Difference(f"version {lake.version} answers {found}, not {expected}")


def orphans(index):
    """Entries below the index that its latest version does not need."""
    lake = dfjoin.open_lake(index)
    needed = {"tombstones": set(), "frames": set(), "runs": set(), "models": set()}
    needed["segments"] = {segment.meta.id for segment in lake.segments}
    if lake.manifest.embedder is not None:
        needed["models"].add(lake.manifest.embedder.model)
    for segment in lake.segments:
        needed[f"segments/{segment.meta.id}"] = {group.id for group in segment.meta.groups}
        if segment.meta.tombstones is not None:
            needed["tombstones"].add(Path(segment.meta.tombstones["file"]).name)
        needed["frames"].update(segment.catalog.tables().field("path").to_pylist())
    needed["manifests"] = {f"{version:020d}.json" for version in list_versions(Path(index))}
    found = []
    for directory, names in needed.items():
        place = Path(index) / directory
        found += [f"{directory}/{e.name}" for e in place.iterdir() if e.name not in names] if place.is_dir() else []
    return found


class _Writer(NamedTuple):
    pid: int
    deadline: float


class _Trial:
    """An index, the writers that change it, and what was counted.

    Parameters
    ----------
    place : Path
        Where to work.
    seed : int
        Of the operations and the moments.
    n_writers : int
    files : str
        One of `FILES`.
    """

    def __init__(self, place, seed, n_writers, files):
        self.place, self.n_writers, self.files = place, n_writers, files
        self.rng = random.Random(seed)
        self.figures = {"kills": 0, "rounds": 0, "damaged": 0, "orphans": 0, "versions": 0, "longest_operation_s": 0.0}
        self.figures["failures"] = []
        self.operations = {kind: Counter() for kind in KINDS}
        self.deaths = Counter()
        self._n_steps = dict.fromkeys(KINDS, (4, 12))
        self.build()

    def build(self):
        """Make the index anew."""
        n_before = len(list(self.place.glob("lake-*")))
        self.index = self.place / f"lake-{n_before}"
        self.given = f"local://{self.index}" if self.files == "mirror" else str(self.index)
        tables = {name: random_table(self.rng, f"first {name}") for name in NAMES[:3]}
        dfjoin.build_lake(frames_of(tables), self.index, engine="inline", progress=False)
        self.history = History(self.index, tables, self.files == "mirror")

    def warm_up(self):
        """Do each operation once, so that the writers, which are forked, need not compile anything."""
        lake = dfjoin.open_lake(self.index)
        for kind in ["add_vectors", "add_patterns", "add_row_signatures", "add_signatures", "add_axes", *KINDS]:
            given = propose(self.rng, kind, lake.tables["table"].tolist(), [lake.version], f"warm {kind}")
            with suppress(DfjoinError):
                carry_out(lake.refresh(), self.index, kind, given)
        ask(lake.refresh(), WORDS, 1)
        self.build()

    def _doom(self, kind):
        """Choose how the next writer dies: by its own hand at a step, or by time."""
        if kind is None and self.rng.random() < 0.3:
            return Doom(None, 0, 0, False), self.rng.random() * 0.2
        operation = 0 if kind else self.rng.randrange(2)
        kind = kind or self.rng.choice([*KINDS, *_RARE])
        counts_reads = self.rng.random() < 0.3
        return Doom(
            kind, operation, self.rng.randint(1, self._n_steps[kind][counts_reads]), counts_reads
        ), _LONGEST_LIFE

    def _start(self, number, kind):
        doom, life = self._doom(kind)
        seed = self.rng.getrandbits(32)
        pid = os.fork()
        if pid == 0:
            try:
                cache = self.place / f"cache-{number % self.n_writers}"
                work(self.given, self._journal(number), seed, doom, cache)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        return _Writer(pid, time.perf_counter() + life)

    def _journal(self, number):
        return self.place / "journals" / f"{number}.jsonl"

    def run_round(self, n_kills):
        """Let writers work and die, one started for each that died; check after each death, and in the end."""
        shutil.rmtree(self.place / "journals", ignore_errors=True)
        (self.place / "journals").mkdir()
        kind = None
        if self.rng.random() < 0.6:
            is_done = self.rng.random() < 0.2 and self.history.damage_manifest()
            is_done = is_done or self.history.damage_segment(self.rng)
            self.figures["damaged"] += is_done
            kind = "repair" if is_done else None
        first = self.history.latest
        living = [self._start(number, kind) for number in range(self.n_writers)]
        n_started = self.n_writers
        try:
            while living:
                for writer in list(living):
                    if time.perf_counter() > writer.deadline:
                        os.kill(writer.pid, signal.SIGKILL)
                    pid, status = os.waitpid(writer.pid, os.WNOHANG)
                    if pid == 0:
                        continue
                    living.remove(writer)
                    if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
                        raise Difference(f"a writer ended by itself with {os.waitstatus_to_exitcode(status)}")
                    self.figures["kills"] += 1
                    if n_started < n_kills:
                        living.append(self._start(n_started, None))
                        n_started += 1
                    self._follow(n_started)
                    self._check_latest(2)
                time.sleep(0.001)
        finally:
            for writer in living:
                os.kill(writer.pid, signal.SIGKILL)
                os.waitpid(writer.pid, 0)
        self._count(self._follow(n_started))
        self.figures["versions"] += self.history.latest - first
        self._check_at_rest()

    def _follow(self, n_started):
        return self.history.follow([self._journal(number) for number in range(n_started)])

    def _check_latest(self, n_tables):
        """Compare the latest version with the history: its tables, the cells of some, its answers, its files."""
        history = self.history
        if history.latest in history.unreadable:
            return
        lake, state = dfjoin.open_lake(self.index, version=history.latest), history.states[history.latest]
        problems = lake.verify()
        if not problems and state.damaged:
            history.see_healed()
            state = history.states[history.latest]
        if bool(problems) != bool(state.damaged):
            raise Difference(f"verify of version {lake.version}: {problems}; damaged: {state.damaged}")
        if state.damaged:
            return
        if sorted(lake.tables["table"]) != sorted(state.tables):
            raise Difference(f"version {lake.version} has {sorted(lake.tables['table'])}, not {sorted(state.tables)}")
        chosen = self.rng.sample(sorted(state.tables), min(n_tables, len(state.tables)))
        wanted = {name: state.tables[name] for name in chosen}
        if contents(lake, chosen) != wanted:
            raise Difference(f"version {lake.version} holds {contents(lake, chosen)}, not {wanted}")
        check_answers(lake, state.tables, self.rng.choice([1, 5, 100]))

    def _check_at_rest(self):
        """Check all that no writer may change meanwhile: older versions, repair, the next writer, vacuum."""
        history = self.history
        for claim in (self.index / "manifests").glob("*.claim"):
            os.utime(claim, (1, 1))  # as if later
        self._check_latest(len(NAMES))
        for version in self.rng.sample(history.existing(), min(2, len(history.existing()))):
            if not history.states[version].damaged:
                lake = dfjoin.open_lake(self.index, version=version)
                names = sorted(lake.tables["table"])
                if contents(lake, names) != history.states[version].tables or lake.verify():
                    raise Difference(f"version {version} is another than before: {contents(lake, names)}")
        if not history.is_sound:
            dfjoin.repair(self.index)
            history.take_own("repair", None)
            self._check_latest(len(NAMES))
        given = {self.rng.choice(NAMES): random_table(self.rng, f"rest {self.figures['rounds']}")}
        begun = time.perf_counter()
        dfjoin.open_lake(self.given).replace(frames_of(given), engine="inline", progress=False)
        self.figures["longest_operation_s"] = max(self.figures["longest_operation_s"], time.perf_counter() - begun)
        history.take_own("replace", given)
        if self.rng.random() < 0.4:
            self.figures["orphans"] += len(orphans(self.index))
            dfjoin.open_lake(self.index).vacuum(0)
            if left := orphans(self.index):
                raise Difference(f"orphans after vacuum: {left}")
            if list_versions(self.index) != [history.latest]:
                raise Difference(f"versions after vacuum: {list_versions(self.index)}")
            history.may_see_damage = False
        self._check_latest(len(NAMES))

    def _count(self, writers):
        for kind, counts in count_outcomes(writers).items():
            self.operations[kind] += counts
        for operations in writers:
            for operation in operations:
                if "end" in operation:
                    kind, found = operation["kind"], (operation["writes"], operation["writes"] + operation["opens"])
                    self._n_steps[kind] = tuple(max(pair) for pair in zip(self._n_steps[kind], found, strict=True))
                    longest = max(self.figures["longest_operation_s"], operation["seconds"])
                    self.figures["longest_operation_s"] = longest
                self.deaths[operation.get("died", "by time")] += "end" not in operation

    def run(self, kills, stop_after):
        """Run rounds until there were `kills` kills, or the time is over; keep the journals of those that fail."""
        begun, spent = time.perf_counter(), os.times()
        figures = self.figures
        while figures["kills"] < kills and (stop_after is None or time.perf_counter() - begun < stop_after):
            figures["rounds"] += 1
            try:
                self.run_round(min(self.rng.randint(4, 12), kills - figures["kills"]))
            except Exception as error:
                told = f"round {figures['rounds']}: {type(error).__name__}: {error}"
                told += "" if isinstance(error, Difference) else traceback.format_exc()
                print(told, file=sys.stderr, flush=True)
                figures["failures"].append(told)
                shutil.copytree(self.place / "journals", self.place / f"journals-{figures['rounds']}")
                self.build()
        figures["seconds"] = round(time.perf_counter() - begun, 1)
        figures["cpu_seconds_per_kill"] = round((sum(os.times()[:4]) - sum(spent[:4])) / max(1, figures["kills"]), 3)


def run_crashes(kills, seed=0, *, n_writers=3, files="links", place=None, stop_after=None):
    """Kill writers `kills` times; return figures, counts by operation, and counts by the step of death.

    Parameters
    ----------
    kills : int
        How often, at least.
    seed : int
        Of the operations and the moments.
    n_writers : int
        Writers at the same time.
    files : {"links", "claims", "mirror"}
        Where the index lies, see `FILES`.
    place : path, optional
        Where to work; what fails is kept there.
    stop_after : float, optional
        Seconds after which no further round is begun.
    """
    own = place is None
    place = Path(place or tempfile.mkdtemp(prefix="dfjoin-crash-"))
    with ExitStack() as stack:
        # Processes die here, the system does not: to sync would only cost time.
        stack.enter_context(mock.patch.object(os, "fsync"))
        trial = _Trial(place, seed, n_writers, files)
        trial.warm_up()
        if files == "claims":
            refuse = mock.Mock(side_effect=PermissionError("no hard links here"))
            stack.enter_context(mock.patch.object(os, "link", refuse))
        trial.run(kills, stop_after)
    figures = trial.figures
    if own and not figures["failures"]:
        shutil.rmtree(place, ignore_errors=True)
    operations = (
        pd.DataFrame.from_dict(trial.operations, orient="index").reindex(columns=_COLUMNS).fillna(0).astype(int)
    )
    operations["killed"] = operations["killed, not committed"] + operations["killed, committed"]
    return figures, operations, pd.Series(trial.deaths, dtype=int).sort_values(ascending=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--writers", type=int, default=3)
    parser.add_argument("--files", choices=FILES, default="links")
    parser.add_argument("--place", type=Path, default=None)
    parser.add_argument("--stop-after", type=float, default=None)
    options = parser.parse_args()
    figures, operations, deaths = run_crashes(
        options.kills, options.seed, n_writers=options.writers, files=options.files, place=options.place,
        stop_after=options.stop_after,
    )  # fmt: skip
    print(operations.to_string())
    print(deaths.to_string())
    print("\n".join(f"{name}: {value}" for name, value in figures.items()))
    return 1 if figures["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
