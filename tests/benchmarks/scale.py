"""A generated lake that grows to millions of columns: ``python -m tests.benchmarks.scale DIRECTORY --segments 1 3``.

Each segment has a million columns and a hundred million postings, drawn as the papers' lakes are distributed (Zipf
frequencies of values, power law of sizes, copies), all from one vocabulary, and is written by the writer of builds.
The same queries are timed at each number of segments: in memory, by CPU time, and cold, as the first query of a
process with nothing of the index in memory, by wall time. What each plan reads is told for the largest lake.
"""

from __future__ import annotations

import argparse
import gc
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dfjoin
from tests.benchmarks.exact import STRATA, generated_queries
from tests.benchmarks.generate import commit_segments, write_generated
from tests.benchmarks.plans import PLANS, cold_query, drop_from_cache
from tests.benchmarks.reads import measure_reads

__all__ = ["grow", "measure_warm_and_cold"]

Queries = list[tuple[str, pd.Series]]


def grow(index: Path, n_segments: int, n_columns: int, n_pairs: int) -> float:
    """Add generated segments to an index, until it has so many; return the CPU seconds of one.

    Most of them are drawing and sorting what a build reads from files.
    """
    segments = list(dfjoin.open_lake(index).snapshot.manifest.segments) if index.exists() else []
    index.mkdir(exist_ok=True, parents=True)
    start, before = time.process_time(), len(segments)
    while len(segments) < n_segments:
        segments.append(write_generated(index, n_columns, n_pairs, seed=len(segments) + 1))
        commit_segments(index, segments)
    return (time.process_time() - start) / max(1, n_segments - before)


def measure_warm_and_cold(index: Path, queries: Queries, rounds: int = 3) -> pd.DataFrame:
    """Time queries; one row a stratum: p50 and p95 of CPU ms in memory, of ms cold, and the MB that a cold one touches."""
    lake = dfjoin.open_lake(index)
    warm: dict[tuple[str, str], list[float]] = {}
    for turn in range(rounds + 1):
        for stratum, column in queries:
            frame = pd.DataFrame({"q": column})
            for rank in ("matched", "useful"):
                start = time.process_time()
                dfjoin.discover_joinable(frame, "q", lake, k=10, rank=rank)
                if turn:
                    warm.setdefault((stratum, rank), []).append((time.process_time() - start) * 1e3)
    del lake
    gc.collect()
    _compile_plans()
    cold: dict[tuple[str, str], list[dict[str, float]]] = {}
    for stratum, column in queries:
        for plan in PLANS:
            drop_from_cache(index)
            cold.setdefault((stratum, plan or "planner"), []).append(cold_query(index, column, plan))
    rows = []
    for stratum in (name for name in STRATA if (name, "matched") in warm):
        row: dict[str, Any] = {"stratum": stratum}
        for rank in ("matched", "useful"):
            row |= _quantiles(f"warm, {rank}, CPU ms", warm[stratum, rank])
        for plan in PLANS:
            found = cold[stratum, plan or "planner"]
            row |= _quantiles(f"cold, {plan or 'planner'}, ms", [1e3 * one["query"] for one in found])
            row[f"cold, {plan or 'planner'}, MB touched"] = np.median([one["touched MB"] for one in found])
        row["cold, open, ms"] = np.median([1e3 * one["open"] for one in cold[stratum, "planner"]])
        rows.append(row)
    return pd.DataFrame(rows).set_index("stratum")


def _quantiles(name: str, values: list[float]) -> dict[str, float]:
    return {f"{name}, p50": float(np.median(values)), f"{name}, p95": float(np.quantile(values, 0.95))}


def _compile_plans() -> None:
    """Load libraries and kernels on a small lake, so that a cold query is cold by its index alone."""
    with tempfile.TemporaryDirectory() as place:
        table = {"t": pd.DataFrame({"c": ["france", "peru", "chad"]})}
        small = dfjoin.build_lake(table, Path(place) / "warm.dfjoin", engine="inline", progress=False)
        for plan in PLANS:
            dfjoin.discover_joinable(pd.DataFrame({"q": ["france", "peru"]}), "q", small, plan=plan, rank="matched")


def main() -> None:
    """Grow the lake, and measure at each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, help="of the index, which is kept")
    parser.add_argument("--segments", type=int, nargs="+", default=[1, 3], help="sizes of the lake (1 3)")
    parser.add_argument("--columns", type=int, default=1_000_000, help="of a segment")
    parser.add_argument("--pairs", type=int, default=105_000_000, help="postings of a segment, about")
    parser.add_argument("--per-stratum", type=int, default=6, help="queries of each size (6)")
    options = parser.parse_args()
    for n_segments in options.segments:
        spent = grow(options.directory, n_segments, options.columns, options.pairs)
        lake = dfjoin.open_lake(options.directory)
        size = sum(file.stat().st_size for file in options.directory.rglob("*") if file.is_file()) / 1e6
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{lake.info()['counts']}, {size:,.0f} MB; a segment {spent:.0f} CPU s, peak {peak:,.0f} MB", flush=True)
        queries = generated_queries(lake, options.per_stratum)
        del lake
        gc.collect()
        table = measure_warm_and_cold(options.directory, queries)
        print(table.T.to_string(float_format="{:.3g}".format), flush=True)
    reads = measure_reads(dfjoin.open_lake(options.directory), queries, ks=(1, 10, 100))
    print(reads.T.to_string(float_format="{:.3g}".format))


if __name__ == "__main__":
    main()
