"""What a large lake costs, from measured constants: ``python -m tests.benchmarks.capacity tables | lake``.

``tables N …`` builds lakes of N tiny tables and prints what the process that drives the build holds at its peak.
``lake DIRECTORY`` builds a lake, prints cost per column and per pair of value and column, and what follows from these
for 100 million columns, 10 billion pairs and 100 machines.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

PROJECT = Path(__file__).parents[2]

COLUMNS, PAIRS, SLOTS = 100e6, 10e9, 400
"""The lake on paper, and the cores of 100 machines."""

_CHILD = """
import json, re, resource, sys, time
import dfjoin
source, index, engine = sys.argv[1:]
spark = None
if engine == "spark":
    from spark_ext.session import start_session
    spark = start_session(**{"spark.master": "local[2]"})
import pandas as pd
small = index + "-small"
dfjoin.build_lake({"t": pd.DataFrame({"a": ["x", "y"]})}, small, engine="inline", progress=False)
with open("/proc/self/clear_refs", "w") as f:
    f.write("5")  # the peak starts anew
def held(name):
    return 1024 * int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
before, start, cpu = held("VmRSS"), time.perf_counter(), time.process_time()
lake = dfjoin.build_lake(source, index, engine=engine, spark=spark, progress=False, settings={"segment_bytes": 8 << 20})
spent = time.perf_counter() - start, time.process_time() - cpu
counts = lake.manifest.counts
print(json.dumps({"tables": counts["tables"], "segments": len(lake.segments), "peak MB": (held("VmHWM") - before) / 1e6,
                  "seconds": spent[0], "CPU seconds of the driver": spent[1],
                  "manifest kB": sum(p.stat().st_size for p in (lake.path / "manifests").iterdir()) / 1e3}))
"""


def make_tables(place: Path, n: int, per_directory: int = 1000) -> Path:
    """Write `n` tiny tables of two columns and three rows each."""
    for number in range(n):
        directory = place / f"d{number // per_directory:04d}"
        if number % per_directory == 0:
            directory.mkdir(parents=True)
        rows = "\n".join(f"v{number + i},{number * i}" for i in range(3))
        (directory / f"t{number:06d}.csv").write_text(f"key,number\n{rows}\n")
    return place


def make_wide_tables(place: Path, n: int) -> Path:
    """Write `n` tables of 100 columns and three rows each."""
    place.mkdir(parents=True)
    for number in range(n):
        names = ",".join(f"c{i}" for i in range(100))
        rows = "\n".join(",".join(f"v{number + i * row}" for i in range(100)) for row in range(3))
        (place / f"w{number:04d}.csv").write_text(f"{names}\n{rows}\n")
    return place


def measure_driver(sizes: list[int], engine: str, project: Path, per_directory: int = 1000) -> pd.DataFrame:
    """Build lakes of tiny tables, each in a new process; return what the driving process held and took."""
    found = []
    for n in sizes:
        with tempfile.TemporaryDirectory(prefix="dfjoin-capacity-") as scratch:
            source = make_tables(Path(scratch) / "lake", n, per_directory)
            environment = {**os.environ, "PYTHONPATH": str(project)}
            command = [sys.executable, "-c", _CHILD, str(source), str(Path(scratch) / "index"), engine]
            done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=project, check=False)
            if done.returncode:
                raise RuntimeError(done.stderr[-2000:])
            found.append(json.loads(done.stdout.splitlines()[-1]))
    frame = pd.DataFrame(found).set_index("tables")
    if len(frame) > 1:
        steps = frame["peak MB"].diff() * 1e6 / np.append(np.nan, np.diff(frame.index))
        frame["bytes per further table"] = steps
    return frame


def measure_constants(lake_dir: Path, n_tiny: int = 4000) -> dict[str, float]:
    """Measure what a column, a pair of value and column and a query cost; one core, one process."""
    import dfjoin

    with tempfile.TemporaryDirectory(prefix="dfjoin-capacity-") as scratch:
        tiny, wide = make_tables(Path(scratch) / "tiny", n_tiny), make_wide_tables(Path(scratch) / "wide", n_tiny // 10)
        dfjoin.build_lake(make_tables(Path(scratch) / "warm", 50), Path(scratch) / "w", engine="inline", progress=False)
        costs, counts, lakes = [], [], []
        for number, source in enumerate((lake_dir, tiny, wide)):
            start = time.process_time()
            lakes.append(
                dfjoin.build_lake(source, Path(scratch) / str(number), engine="inline", axes=None, progress=False)
            )
            costs.append(time.process_time() - start)
            counts.append(lakes[-1].manifest.counts)
        parts = ("tables", "columns", "pairs")
        per_table, per_column, per_pair = np.linalg.solve([[c[part] for part in parts] for c in counts], costs)
        lake, total = lakes[0], counts[0]
        bytes_of = _bytes_of_groups(lake)
        return {
            "columns per table": total["columns"] / total["tables"],
            "columns indexed, share": total["indexed_columns"] / total["columns"],
            "build, s in all": costs[0],
            "build, s per table": per_table,
            "build, s per column": per_column,
            "build, s per pair": per_pair,
            "input, bytes per pair": float(lake.tables["size"].sum()) / total["pairs"],
            "tokens, bytes per pair": bytes_of["tokens"] / total["pairs"],
            "catalog, bytes per column": bytes_of["catalog"] / total["columns"],
            "signatures, bytes per indexed column": bytes_of.get("signatures", 0) / total["indexed_columns"],
            "manifest, bytes per segment": _manifest_bytes(lake) / len(lake.segments),
            "query, s per segment": _query_seconds(lake),
            "segment, MB": sum(s.meta.size for s in lake.segments) / len(lake.segments) / 1e6,
        }


def _bytes_of_groups(lake: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for segment in lake.segments:
        for group in segment.meta.groups:
            found[group.name] = found.get(group.name, 0) + sum(c.size for c in group.components)
    return found


def _manifest_bytes(lake: Any) -> int:
    return sum(path.stat().st_size for path in (lake.path / "manifests").iterdir())


def _query_seconds(lake: Any) -> float:
    """Median time to search one segment for the best columns, for queries of 1,000 to 10,000 values."""
    from dfjoin import discover_joinable

    times = []
    for name, column in _large_columns(lake):
        frame = lake.table(name, columns=[column])
        for _ in range(2):
            start = time.perf_counter()
            discover_joinable(frame, column, lake, k=10, rank="matched")
            spent = time.perf_counter() - start
        times.append(spent)
    return float(np.median(times)) / len(lake.segments) if times else float("nan")


def _large_columns(lake: Any) -> Iterator[tuple[str, str]]:
    columns = lake.columns
    chosen = columns[columns["is_indexed"] & columns["cardinality"].between(1000, 10_000)]
    for row in chosen.iloc[:: max(1, len(chosen) // 20)].itertuples():
        yield row.table, row.column


def on_paper(c: dict[str, float], driver_bytes: float, driver_seconds: float) -> pd.DataFrame:
    """Return what the lake on paper costs, by the measured constants.

    Parameters
    ----------
    c : dict
        From `measure_constants`.
    driver_bytes, driver_seconds : float
        Of the driving process, for each table.
    """
    tables = COLUMNS / c["columns per table"]
    work = tables * c["build, s per table"] + COLUMNS * c["build, s per column"] + PAIRS * c["build, s per pair"]
    stored = {
        "tokens": PAIRS * c["tokens, bytes per pair"],
        "catalog": COLUMNS * c["catalog, bytes per column"],
        "signatures": COLUMNS * c["columns indexed, share"] * c["signatures, bytes per indexed column"],
    }
    total = sum(stored.values())
    segments = total / (512 << 20)
    read = PAIRS * c["input, bytes per pair"]
    rows = {
        "tables, millions": tables / 1e6,
        "files read, GB": read / 1e9,
        "build, core hours": work / 3600,
        f"build on {SLOTS} cores, s": work / SLOTS,
        "runs written and read again, GB": 2 * stored["tokens"] / 1e9,
        "index, GB": total / 1e9,
        "index per machine, GB": total / 1e9 / 100,
        "segments of 512 MiB": segments,
        "manifest, MB": segments * c["manifest, bytes per segment"] / 1e6,
        "driver, listing and requests, s": tables * driver_seconds,
        "driver, memory that grows, MB": tables * driver_bytes / 1e6,
        "query: work in tasks, ms": 1e3
        * segments
        * c["query, s per segment"]
        * (512 << 20)
        / 1e6
        / c["segment, MB"]
        / SLOTS,
    }
    return pd.DataFrame({"estimate": rows})


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.capacity")
    commands = parser.add_subparsers(dest="command", required=True)
    tables = commands.add_parser("tables", help="memory of the driver by the number of tables")
    tables.add_argument("sizes", nargs="+", type=int)
    tables.add_argument("--engine", default="spark", choices=("spark", "inline"))
    tables.add_argument("--project", type=Path, default=PROJECT, help="another checkout to measure")
    tables.add_argument("--per-directory", type=int, default=1000)
    lake = commands.add_parser("lake", help="constants of a lake, and the lake on paper")
    lake.add_argument("lake", type=Path)
    lake.add_argument("--driver-bytes", type=float, default=0.0, help="from the other command")
    lake.add_argument("--driver-seconds", type=float, default=0.0)
    options = parser.parse_args()
    if options.command == "tables":
        print(measure_driver(options.sizes, options.engine, options.project, options.per_directory).to_string())
        return
    constants = measure_constants(options.lake)
    print(pd.Series(constants).to_string(float_format="{:.4g}".format))
    paper = on_paper(constants, options.driver_bytes, options.driver_seconds)
    print(paper.to_string(float_format="{:.4g}".format))


if __name__ == "__main__":
    main()
