"""Frames of other libraries beside pandas: ``python -m tests.benchmarks.frames [--cases N] [--rows N]``.

First random searches and joins, the same in pandas, polars, Arrow and DuckDB: of four cases two join frames, one searches a lake
and one joins it. Then joins of two frames of a million rows, polars in and out, beside the pandas path and polars' own join on the
key that is given; CPU seconds, the fastest of three.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl

import dfjoin
from tests.benchmarks.frame_cases import in_kind, make_case, outcome

KINDS = ("polars", "lazy", "arrow", "duckdb")
_LAKE_SEED = 1 << 40


def make_lake(n_tables: int = 20) -> dfjoin.Lake:
    """Make a lake of the right sides of cases that nothing else uses."""
    tables = {f"t{i:02d}": make_case(_LAKE_SEED + i).right for i in range(n_tables)}
    return dfjoin.build_lake(tables, tempfile.mkdtemp() + "/lake", engine="inline", progress=False)


def searched(frame: Any, lake: dfjoin.Lake) -> Any:
    """Search with every column of a frame; return what is found, and the pairs of the first candidate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hits = dfjoin.discover_joinable(frame, lake=lake, k=5)
    pairs = hits.pairs(0)[["candidate_value", "query_rows"]].to_numpy().tolist() if len(hits) else []
    return hits.to_arrow().to_pylist(), pairs


def differing(n_cases: int, lake: dfjoin.Lake, first: int = 0) -> dict[str, int]:
    """Count the cases in which a library gives another answer than pandas."""
    counts = dict.fromkeys(KINDS, 0)
    with duckdb.connect(config={"threads": 1}) as connection:
        for seed in range(first, first + n_cases):
            case = make_case(seed)

            def answer(kind: str, case: Any = case, number: int = seed % 4) -> Any:
                left = in_kind(case.left, kind, connection)
                if number == 2:
                    return searched(left, lake)
                if number == 3:
                    options = {k: case.options[k] for k in ("indicator", "aggregate", "max_expansion")}
                    return outcome(left, lake, {**options, "on": "akey", "min_score": 0.0, "threshold": 0.2, "k": 2})
                return outcome(left, in_kind(case.right, kind, connection), case.options)

            wanted = answer("pandas")
            for kind in KINDS:
                is_other = answer(kind) != wanted
                counts[kind] += is_other
                if is_other:
                    print(f"case {seed} in {kind}: {case}", flush=True)
    return counts


def _seconds(run: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def measure_speed(n_rows: int) -> pd.DataFrame:
    """Measure left joins of two frames in which every row finds a partner."""
    rng = np.random.default_rng(0)
    numbers, theirs = rng.integers(0, n_rows, n_rows), rng.permutation(n_rows)
    rows = {}
    for name, key in (
        ("whole numbers", pl.Series),
        ("texts", lambda values: "id-" + pl.Series(values).cast(pl.String)),
    ):
        left = pl.DataFrame({"id": key(numbers), "a": rng.random(n_rows), "c": rng.integers(0, 9, n_rows)})
        words = pl.Series(rng.integers(0, 999, n_rows)).cast(pl.String)
        right = pl.DataFrame({"id": key(theirs), "b": rng.random(n_rows), "name": words})
        own, other = left.to_pandas(), right.to_pandas()
        rows[name] = {
            "dfjoin, polars": _seconds(lambda left=left, right=right: dfjoin.auto_join(left, right, on="id")),
            "dfjoin, pandas": _seconds(lambda own=own, other=other: own.auto_join(other, on="id")),
            "polars": _seconds(
                lambda left=left, right=right: left.join(right, on="id", how="left", maintain_order="left")
            ),
            "pandas": _seconds(lambda own=own, other=other: own.merge(other, on="id", how="left")),
        }
    return pd.DataFrame(rows).T


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.cases:
        counts = differing(options.cases, make_lake(), options.first)
        print(f"{options.cases:,} cases, of which differ from pandas:", counts, flush=True)
    if options.rows:
        print(measure_speed(options.rows).to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
