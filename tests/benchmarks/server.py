"""Searches of a server: threads of one process, several processes, and a reader that takes in new versions.

``python -m tests.benchmarks.record serve LAKE --index INDEX`` runs all of it and stores the table. Times are on the clock,
so that the machine has to be quiet: what is measured is how much of two cores threads and processes can use.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import shutil
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin

__all__ = ["latencies_of_refreshing", "latencies_of_threads", "measure_processes"]

SECONDS = 4.0


def _search_until(lake: dfjoin.Lake, frames: list[pd.DataFrame], until: float, first: int) -> list[float]:
    """Search one frame after the other, with default arguments; return the seconds of each search."""
    spent, at = [], first
    while (start := time.perf_counter()) < until:
        dfjoin.discover_joinable(frames[at % len(frames)], "q", lake)
        spent.append(time.perf_counter() - start)
        at += 1
    return spent


def latencies_of_threads(lake: dfjoin.Lake, frames: list[pd.DataFrame], n_threads: int) -> list[float]:
    """Seconds of each search, where so many threads of this process search for `SECONDS`."""
    until = time.perf_counter() + SECONDS
    with ThreadPoolExecutor(n_threads) as pool:
        parts = pool.map(lambda first: _search_until(lake, frames, until, first), range(n_threads))
        return [one for part in parts for one in part]


def _search_here(index: Path, frames: list[pd.DataFrame], barrier, answers) -> None:
    lake = dfjoin.open_lake(index)
    for frame in frames:
        dfjoin.discover_joinable(frame, "q", lake)
    barrier.wait()
    n = len(_search_until(lake, frames, time.perf_counter() + SECONDS, 0))
    answers.put((n, _mapped(index)))
    with contextlib.suppress(threading.BrokenBarrierError):
        barrier.wait()  # until all have answered: what is shared is divided by those that live


def _mapped(index: Path) -> tuple[float, float]:
    """MB of the files of an index that this process has mapped in memory, and its share of them, as Linux divides it."""
    whole = share = 0
    is_of_index = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ", 1)[0]:
            is_of_index = str(index) in line
        elif is_of_index and line.startswith("Rss:"):
            whole += int(line.split()[1])
        elif is_of_index and line.startswith("Pss:"):
            share += int(line.split()[1])
    return whole / 1e3, share / 1e3


def measure_processes(index: Path, frames: list[pd.DataFrame], n_processes: int) -> tuple[int, float, float]:
    """Search in several processes at once; return the searches, and the MB of the index that they hold, each and in all."""
    spawn = multiprocessing.get_context("spawn")
    barrier, answers = spawn.Barrier(n_processes), spawn.Queue()
    children = [spawn.Process(target=_search_here, args=(index, frames, barrier, answers)) for _ in range(n_processes)]
    for child in children:
        child.start()
    try:
        found = [answers.get(timeout=120) for _ in children]
    finally:
        barrier.abort()
        for child in children:
            child.join()
    return sum(n for n, _ in found), max(whole for _, (whole, _) in found), sum(share for _, (_, share) in found)


def latencies_of_refreshing(index: Path, frames: list[pd.DataFrame]) -> tuple[list[float], list[float]]:
    """Seconds of each search, and of each `refresh`, while a table is added to a copy of the index every half second."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(shutil.copytree(index, Path(place) / "copy.dfjoin"))
        lake, writer = dfjoin.open_lake(copy), dfjoin.open_lake(copy)
        until, refreshes = time.perf_counter() + SECONDS, []

        def change() -> None:
            nonlocal lake
            for number in range(int(2 * SECONDS)):
                writer.add(
                    {f"new{number}": pd.DataFrame({"c": [f"value {number} {n}" for n in range(9)]})}, progress=False
                )
                start = time.perf_counter()
                lake = lake.refresh()
                refreshes.append(time.perf_counter() - start)
                time.sleep(0.3)

        changing = threading.Thread(target=change)
        changing.start()
        spent, at = [], 0
        while (start := time.perf_counter()) < until:
            dfjoin.discover_joinable(frames[at % len(frames)], "q", lake)
            spent.append(time.perf_counter() - start)
            at += 1
        changing.join()
        return spent, refreshes


def quantiles(seconds: list[float]) -> str:
    """p50 and p99 in milliseconds."""
    return " / ".join(f"{1e3 * q:.3g}" for q in np.quantile(seconds, [0.5, 0.99]))
