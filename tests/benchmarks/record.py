"""Measure what README and the pages of measurements say, and store it with commit, machine, load and date.

``python -m tests.benchmarks.record search LAKE --index INDEX`` writes docs/measurements/data/search.json and the page
that shows it. Times are CPU times of this process, which a busy machine changes little.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import resource
import shutil
import subprocess
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dfjoin
from tests.benchmarks import exact, foreign_keys, fuzzy, joins, recordings, server
from tests.benchmarks.cold_start import measure_cold_start
from tests.benchmarks.contenders import Numpy, Pairs

QUERIES = Path(__file__).parents[3] / "shared" / "lake" / "queries.csv"
ROUNDS = 3
_LONG = {
    "P": "precision", "R": "recall", "P where joined": "precision where joined", "cases joined": "share of cases joined",
}  # fmt: skip
"""Names of columns of tables of figures."""

_BUILT = ("input MB", "CPU s", "MB a CPU second", "index, MB", "peak memory, MB")


def _spent(call: Callable[[], Any]) -> float:
    """CPU milliseconds of a call."""
    start = time.process_time()
    call()
    return 1e3 * (time.process_time() - start)


def _index(place: Path, index: Path | None) -> dfjoin.Lake:
    """Open an index of a lake, made first where there is none."""
    index = index or Path(tempfile.mkdtemp()) / "lake.dfjoin"
    if not (index / "manifests").exists():
        dfjoin.build_lake(place, index, engine="inline", progress=False)
    return dfjoin.open_lake(index)


def _timed(calls: dict[str, Callable[[pd.DataFrame], Any]], queries: list) -> list[list[Any]]:
    """CPU ms of calls over query columns, in random order; p50 / p95 by stratum."""
    rng = np.random.default_rng(11)
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for turn in range(ROUNDS + 1):
        for stratum, column in queries:
            frame = pd.DataFrame({"q": column})
            for name in rng.permutation(list(calls)).tolist():  # whoever comes first finds the caches cold
                spent = _spent(lambda call=calls[name], frame=frame: call(frame))
                if turn:
                    times[name, stratum].append(spent)

    def shown(name: str, stratum: str) -> str:
        spent = times[name, stratum]
        return " / ".join(recordings.cell(q) for q in np.quantile(spent, [0.5, 0.95])) if spent else ""

    return [[name, *(shown(name, stratum) for stratum in exact.STRATA)] for name in calls]


def search(options: argparse.Namespace) -> dict[str, Any]:
    """Search for one column in the real lake, with default arguments, by matched values, and by numpy."""
    lake = _index(options.place, options.index)
    numpy = Numpy(Pairs(lake))
    calls = {
        "`df.discover_joinable(on, lake)`": lambda df: df.discover_joinable("q", lake),
        '`df.discover_joinable(on, lake, rank="matched", k=10)`': lambda df: df.discover_joinable(
            "q", lake, rank="matched", k=10
        ),
        "numpy: CSR and bincount, k = 10": lambda df: numpy.query(df["q"]),
    }
    counts = lake.info()["counts"]
    return {
        "call": "df.discover_joinable(on, lake)",
        "columns": ["CPU ms, p50 / p95, by distinct values of the query", *exact.STRATA],
        "rows": _timed(calls, exact.real_queries(options.place, QUERIES)[:: options.every]),
        "unit": "CPU ms, p50",
        "note": f"{counts['indexed_columns']:,} indexed columns of {counts['tables']:,} tables.",
    }


def lake_join(options: argparse.Namespace) -> dict[str, Any]:
    """Join a column of the real lake with the best table of the lake, default arguments, reading included."""
    lake = _index(options.place, options.index)
    calls = {"`df.auto_join(lake, on=on)`": lambda df: df.auto_join(lake, on="q", on_no_match="ignore")}
    return {
        "call": "df.auto_join(lake, on=on)",
        "columns": ["CPU ms, p50 / p95, by distinct values of the query", *exact.STRATA],
        "rows": _timed(calls, exact.real_queries(options.place, QUERIES)[:: options.every]),
        "unit": "CPU ms, p50",
        "note": "The table is read from its CSV file in each call.",
    }


def build(options: argparse.Namespace) -> dict[str, Any]:
    """Index the real lake in this process; the index is kept where `--index` says."""
    size = sum(path.stat().st_size for path in options.place.rglob("*.csv"))
    index = options.index or Path(tempfile.mkdtemp()) / "lake.dfjoin"
    shutil.rmtree(index, ignore_errors=True)
    dfjoin.build_lake({"t": pd.DataFrame({"c": ["a"]})}, Path(tempfile.mkdtemp()) / "warm", engine="inline")
    spent = _spent(lambda: dfjoin.build_lake(options.place, index, engine="inline", progress=False)) / 1e3
    info = dfjoin.open_lake(index).info()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    files, columns = info["counts"]["tables"], info["counts"]["indexed_columns"]
    call = 'dfjoin.build_lake(folder, engine="inline")'
    return {
        "call": call,
        "columns": ["build", "tables", "indexed columns", *_BUILT],
        "rows": [[f"`{call}`", files, columns, size / 1e6, spent, size / 1e6 / spent, info["bytes"] / 1e6, peak]],
        "plotted": [],
    }


def first_use(_: argparse.Namespace) -> dict[str, Any]:
    """The tour of README in a fresh process, with and without compiled kernels."""
    runs, compiled = measure_cold_start()
    return {
        "call": "the tour of README",
        "columns": ["tour in a fresh process", "CPU s"],
        "rows": [[f"kernels {name}", float(row["CPU s"])] for name, row in runs.iterrows()],
        "unit": "CPU s",
        "note": f"{len(compiled)} specialisations of kernels are compiled.",
    }


def serve(options: argparse.Namespace) -> dict[str, Any]:
    """Searches by default in threads and processes, and beside a writer; times are on the clock."""
    lake = _index(options.place, options.index)
    by_stratum: dict[str, list[pd.DataFrame]] = defaultdict(list)
    for stratum, column in exact.real_queries(options.place, QUERIES)[:: options.every]:
        by_stratum[stratum].append(pd.DataFrame({"q": column}))
    rows: dict[str, list[Any]] = defaultdict(list)
    for stratum in exact.STRATA:
        frames = by_stratum[stratum]
        for frame in frames:  # into memory
            dfjoin.discover_joinable(frame, "q", lake)
        one, four = (server.latencies_of_threads(lake, frames, n) for n in (1, 4))
        n_found, whole, shared = server.measure_processes(lake.path, frames, 4)
        rows["one thread, searches a second"].append(round(len(one) / server.SECONDS))
        rows["four threads"].append(round(len(four) / server.SECONDS))
        rows["four processes"].append(round(n_found / server.SECONDS))
        rows["one thread, ms, p50 / p99"].append(server.quantiles(one))
        rows["four threads, ms, p50 / p99"].append(server.quantiles(four))
        spent, refreshed = server.latencies_of_refreshing(lake.path, frames)
        rows["beside a writer, ms, p50 / p99"].append(server.quantiles(spent))
        rows["`lake.refresh()`, ms, p50 / p99"].append(server.quantiles(refreshed))
        rows["index in memory, MB: a process / four together"].append(f"{whole:.0f} / {shared:.0f}")
    return {
        "call": "df.discover_joinable(on, lake)",
        "columns": ["two cores, by distinct values of the query", *exact.STRATA],
        "rows": [[name, *cells] for name, cells in rows.items()],
        "plotted": [],
        "note": "A table is added and the reader refreshed twice a second beside the searches of the last lines.",
    }


def web_joins(options: argparse.Namespace) -> dict[str, Any]:
    """Join the web tables of Auto-Join, columns unknown, default arguments."""
    asked = argparse.Namespace(row_number=False, precision=0.95, seeds=[1], verbose=0)
    one = next(iter(joins.cases(options.place, 1)))
    joins.joined_pairs(one, known=False, fuzzy=True)  # compiles
    made = joins.summarise(joins.measure(options.place, "default", asked)).iloc[0]
    published = "Auto-Join as published, 31 cases"
    return {
        "call": "df.auto_join(other)",
        "columns": [f"{int(made['cases'])} pairs of web tables", "precision", "recall", "F1", "CPU s, p50"],
        "rows": [
            [
                "`df.auto_join(other)`",
                *(round(float(made[c]), 3) for c in ("P", "R", "F1")),
                round(float(made["cpu p50"]), 2),
            ],
            [published, 0.950, 0.884, None, None],
        ],
        "plotted": ["precision", "recall", "F1"],
        "unit": "share",
        "note": "All cases were seen in development: on unseen ones expect a precision of 0.96 to 0.98.",
    }


def keys(options: argparse.Namespace) -> dict[str, Any]:
    """Foreign keys of databases, each scored by a model that was fitted to the others."""
    table = foreign_keys.run_foreign_keys(options.place, False, options.index)
    columns = [_LONG.get(str(name), str(name)) for name in table.columns]
    rows = [[f"`lake.join_graph()`, {name}", *(round(float(x), 3) for x in row)] for name, row in table.iterrows()]
    return {
        "call": "lake.join_graph()",
        "columns": ["database", *columns],
        "rows": rows,
        "plotted": columns[-3:],
        "unit": "share",
    }


def misspelled_joins(options: argparse.Namespace) -> dict[str, Any]:
    """Auto-FuzzyJoin at a precision of 0.9, key columns named."""
    folders = sorted(f for f in options.place.iterdir() if (f / "meta.json").exists())
    means, _ = fuzzy.measure([fuzzy.load_case(folder, False, 0) for folder in folders], False)
    return {
        "call": "df.auto_join(other, on=on, right_on=right_on, precision=0.9)",
        "columns": [f"{len(folders)} cases", *(_LONG.get(str(name), str(name)) for name in means.columns)],
        "rows": [[str(name), *(round(float(x), 3) for x in row)] for name, row in means.iterrows()],
        "plotted": ["precision", "recall", "F1"],
        "unit": "share",
    }


RUNS = {run.__name__: run for run in (build, search, lake_join, serve, first_use, web_joins, keys, misspelled_joins)}
PLACES = dict.fromkeys(("build", "search", "lake_join", "serve"), "LAKE") | {"keys": "DATABASES --index INDEX"}
"""What the page calls what is measured."""


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=Path(__file__).parent)
    return done.stdout.strip()


def record(name: str, options: argparse.Namespace) -> recordings.Recording:
    """Measure, and store the result."""
    before = os.getloadavg()[0]
    with contextlib.redirect_stdout(None):
        made = RUNS[name](options)
    loads = sorted({round(before), round(os.getloadavg()[0])})
    is_changed = bool(_git("status", "--porcelain", "--", "dfjoin"))
    found = recordings.Recording(
        name=name.replace("_", "-"),
        command=f"python -m tests.benchmarks.record {name}"
        + (f" {PLACES.get(name, 'CASES')}" if options.place else ""),
        commit=_git("rev-parse", "--short", "HEAD") + (" with changes" if is_changed else ""),
        date=date.today().isoformat(),
        machine=f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}",
        load=" to ".join(map(str, loads)),
        **{"plotted": made["columns"][1:5], "note": ""} | made,
    )
    found.write()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=list(RUNS), help="; ".join(f"{n}: {run.__doc__}" for n, run in RUNS.items()))
    parser.add_argument("place", type=Path, nargs="?", help="lake, or folder of cases")
    parser.add_argument("--index", type=Path, help="index of the lake to use, or to make and keep")
    parser.add_argument("--every", type=int, default=1, help="take every n-th query")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(record(options.name, options).table())
    recordings.main()


if __name__ == "__main__":
    main()
