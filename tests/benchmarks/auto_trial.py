"""What `auto_join(lake)` does without `on`: a seeded sample of tables, each outcome printed with its evidence.

``python -m tests.benchmarks.auto_trial INDEX [--tables 40] [--seed 1]``
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import dfjoin
from dfjoin.errors import DfjoinError


def sample_tables(lake, n: int, seed: int) -> list[str]:
    """Tables of 5 to 20,000 rows and 2 to 60 columns, at most two of one source."""
    tables = lake.tables
    tables = tables[tables["n_rows"].between(5, 20_000) & tables["n_columns"].between(2, 60)]
    names = tables["table"].to_numpy(object)
    np.random.default_rng(seed).shuffle(names)
    chosen: list[str] = []
    sources: dict[str, int] = {}
    for name in names.tolist():
        source = name.split("/")[0]
        if sources.get(source, 0) < 2:
            sources[source] = sources.get(source, 0) + 1
            chosen.append(name)
        if len(chosen) == n:
            break
    return chosen


def try_table(lake, name: str) -> str:
    """Join one table of the lake with the others, and say what came of it."""
    frame = lake.table(name)
    start = time.perf_counter()
    try:
        wide = dfjoin.auto_join(frame, lake, exclude=name, on_no_match="ignore")
    except DfjoinError as error:
        return f"STOPPED {time.perf_counter() - start:.1f} s: {error}"
    seconds = time.perf_counter() - start
    report = wide.attrs["dfjoin"]
    if not report["joined"]:
        reasons = "; ".join(f"{p['table']} {p['column']}: {p['reason']}" for p in report["passed_over"][:3])
        return f"NOTHING {seconds:.1f} s: {reasons}"
    step = report["joined"][0]
    key = step["on"][0]
    right_key = " + ".join(step["right_on"])
    if len(step["on"]) > 1:
        key = step["on"]
    hits = frame.discover_joinable(key, lake, k=200, families=False, exclude=name, tables=step["table"])
    row = hits[(hits["table"] == step["table"]) & (hits["column"] == right_key)].iloc[0]
    return (
        f"JOINED {seconds:.1f} s: {key!r} = {step['table']} {right_key!r}, {step['relationship']}, score "
        f"{row['score']:.2f}, usefulness {row['usefulness']:.2f}, {row['matched']} of {row['query_cardinality']} values, "
        f"{step['coverage']:.0%} of rows; brings {row['brings'][:100]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index")
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lake = dfjoin.open_lake(options.index)
    outcomes: dict[str, int] = {}
    for name in sample_tables(lake, options.tables, options.seed):
        told = try_table(lake, name)
        outcomes[told.split()[0]] = outcomes.get(told.split()[0], 0) + 1
        print(f"{name}\n  {told}", flush=True)
    print(outcomes)


if __name__ == "__main__":
    main()
