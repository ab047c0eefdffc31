"""Time and memory of feature augmentation: ``python -m tests.benchmarks.augmentation_time [--budget SECONDS ...]``.

A frame of many rows and a lake of tables that share its key are drawn: each of the first six tables tells a part of the target in
two of its columns, whatever else is in them or in the other tables is noise. Each budget is measured in a process of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin

_HELPFUL = 6
"""Tables that tell something of the target."""

_NUMBERS = 8
"""Columns of numbers in a table, beside one of four labels."""


def drawn_lake(n_keys: int, n_tables: int, place: Path, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Build a lake; return its keys, and for each key what the helpful tables tell (with noise)."""
    keys = np.array([f"id{i * 7919 % 1_000_003:06d}x" for i in range(n_keys)])
    facts = rng.normal(size=(n_keys, _HELPFUL))
    frames = {}
    for number in range(n_tables):
        columns = rng.normal(size=(_NUMBERS, n_keys))
        if number < _HELPFUL:
            columns[:2] = facts[:, number] + 0.3 * columns[:2]
        frame = pd.DataFrame({"key": keys} | {f"c{number}_{i}": column for i, column in enumerate(columns)})
        frame[f"g{number}"] = rng.choice(list("abcd"), n_keys)
        frames[f"t{number:02d}"] = frame.sample(frac=0.94, random_state=number)
    dfjoin.build_lake(frames, place, engine="inline", progress=False)
    return keys, facts


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(lake: Path, X: pd.DataFrame, y: np.ndarray, budget: float | None) -> None:
    """Fit, and transform the same rows; print the seconds, the memory above that of the frame, and the tables."""
    warm = dfjoin.LakeAugmenter(dfjoin.open_lake(lake), budget={"tables": 2})
    warm.fit(X[:500], y[:500])  # kernels are compiled, libraries are loaded
    before, start, cpu = _peak_mb(), time.perf_counter(), time.process_time()
    augmenter = dfjoin.LakeAugmenter(dfjoin.open_lake(lake), budget=budget).fit(X, y)
    seconds, cpu, peak = time.perf_counter() - start, time.process_time() - cpu, _peak_mb()
    start = time.perf_counter()
    augmenter.transform(X)
    print(
        f"budget {budget}: fit {seconds:.1f} s, {cpu:.1f} s of CPU time, {peak - before:.0f} MB above what it began with; "
        f"transform {time.perf_counter() - start:.2f} s; {len(augmenter.tables_)} tables taken of "
        f"{augmenter.report_.n_read} that were read; {augmenter.report_.stopped or 'not stopped'}",
        flush=True,
    )


def main() -> None:
    """Print one line for each budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--budget", type=float, nargs="*", default=[], help="seconds; the default one is measured first"
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--keys", type=int, default=18_000)
    parser.add_argument("--tables", type=int, default=40)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "lake"
        keys, facts = drawn_lake(options.keys, options.tables, place, rng)
        rows = rng.integers(0, options.keys, options.rows)
        X = pd.DataFrame({"key": keys[rows], "own": rng.normal(size=options.rows)})
        y = facts[rows].sum(axis=1) + X["own"].to_numpy() + rng.normal(size=options.rows)
        for budget in (None, *options.budget):
            process = multiprocessing.get_context("spawn").Process(target=measure, args=(place, X, y, budget))
            process.start()
            process.join()
            if process.exitcode:
                sys.exit(process.exitcode)


if __name__ == "__main__":
    main()
