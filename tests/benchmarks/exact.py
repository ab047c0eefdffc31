"""Exact search against what a user would otherwise write, end to end from a pandas column to a frame."""

from __future__ import annotations

import csv
import gc
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin
from tests.benchmarks import contenders as rivals
from tests.benchmarks.generate import WIDTH, spell

STRATA = ("10-100", "100-1k", "1k-10k", "10k-100k")


def real_queries(lake_dir: Path, queries_csv: Path) -> list[tuple[str, pd.Series]]:
    """The query columns of a list, each with its stratum."""
    found = []
    with queries_csv.open(newline="") as stream:
        for q in csv.DictReader(stream):
            column = pd.read_csv(
                lake_dir / q["table_path"], dtype=str, keep_default_na=False, usecols=[int(q["column_index"])],
                encoding_errors="replace",
            ).iloc[:, 0]  # fmt: skip
            found.append((q["interval"], column))
    return found


def generated_queries(lake, per_stratum: int, seed: int = 3) -> list[tuple[str, pd.Series]]:
    """Columns of the first segment of a generated lake as queries, a tenth of their values replaced by ones that no column has."""
    segment = lake.segments[0]
    cardinality = segment.catalog.numbers["cardinality"]
    rng = np.random.default_rng(seed)
    found = []
    for low, name in zip((10, 100, 1000, 10_000), STRATA, strict=True):
        having = np.flatnonzero((cardinality >= low) & (cardinality < 10 * low))
        for column in rng.choice(having, min(per_stratum, having.size), replace=False).tolist():
            from dfjoin.index.column_values import tokens_of_column

            tokens = tokens_of_column(segment, column)
            values = segment.tokens.value_bytes[: segment.tokens.value_offsets[-1]].reshape(-1, WIDTH)[tokens]
            lost = rng.random(tokens.size) < 0.1
            values = np.where(lost[:, None], spell(rng.integers(10**10, 9 * 10**10, tokens.size)), values)
            found.append((name, pd.Series([row.tobytes().decode() for row in values])))
    return found


def check_rows(lake, queries, pairs) -> int:
    """Compare every plan with brute force over the pairs; return the number of queries that differ."""
    numbers = {value: i for i, value in enumerate(pairs.values)}
    (segment,) = lake.segments
    cardinality = segment.catalog.numbers["cardinality"]
    wrong = 0
    from dfjoin.search.query import make_query

    for _, column in queries:
        values = make_query(column, lake.settings, name="q").values.values()
        tokens = [numbers[v] for v in values if v in numbers]
        lists = [pairs.columns[pairs.indptr[t] : pairs.indptr[t + 1]] for t in tokens]
        counts = np.bincount(np.concatenate([*lists, np.empty(0, np.int32)]), minlength=pairs.n_columns)
        best = np.lexsort((np.arange(counts.size), cardinality, -counts))[:10]
        best = best[counts[best] > 0]
        expected = [
            (segment.catalog.table_name(c), segment.catalog.column_name(c), int(counts[c])) for c in best.tolist()
        ]
        for plan in (None, "mergelist", "probeset", "josie"):
            hits = dfjoin.discover_joinable_batch({"q": column}, lake, k=10, plan=plan, n_threads=1, rank="matched")
            got = list(zip(hits["table"], hits["column"], hits["matched"].tolist(), strict=True))
            wrong += got != expected
    return wrong


def measure(lake, queries, names: list[str], rounds: int, limits: dict[str, int]) -> pd.DataFrame:
    """Time all contenders interleaved; ms, p50 and p95 per stratum."""
    pairs = rivals.Pairs(lake)
    wrong = check_rows(lake, queries, pairs)
    print(f"rows that differ from brute force, over {len(queries)} queries and 4 plans: {wrong}", flush=True)
    known = {r.name: r for r in (rivals.Numpy, rivals.DuckDB, rivals.DuckDBKeys, rivals.Polars, rivals.SetSimilarity)}
    rng = np.random.default_rng(11)
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    ours = {"dfjoin": None, "dfjoin mergelist": "mergelist", "dfjoin probeset": "probeset", "dfjoin josie": "josie"}
    built = {}
    for name in names:
        if name in known:
            start = time.perf_counter()
            built[name] = known[name](pairs)
            print(f"built {name} in {time.perf_counter() - start:.1f} s", flush=True)
    del pairs
    gc.collect()
    gc.freeze()
    for turn in range(rounds + 1):
        for number, (stratum, column) in enumerate(queries):
            frame = pd.DataFrame({"q": column})
            for name in rng.permutation(names).tolist():  # whoever comes first finds the caches cold
                if number % limits.get(name, 1):
                    continue
                if name in ours:
                    start = time.perf_counter()
                    dfjoin.discover_joinable(frame, "q", lake, k=10, plan=ours[name], rank="matched")
                    spent = time.perf_counter() - start
                else:
                    rival = built[name]
                    given = rival.prepare(column) if hasattr(rival, "prepare") else column
                    start = time.perf_counter()
                    rival.query(given)
                    spent = time.perf_counter() - start
                if turn:
                    times[name, stratum].append(spent * 1e3)
    rows = []
    for name in names:
        row = {"contender": name}
        for stratum in STRATA:
            spent = times.get((name, stratum))
            if spent:
                row[f"{stratum} p50"], row[f"{stratum} p95"] = np.quantile(spent, [0.5, 0.95])
        rows.append(row)
    return pd.DataFrame(rows).set_index("contender")
