"""Keys of two and three columns cut from tables of a lake: is the right table found first, and how fast?

``python -m tests.benchmarks.composite INDEX [--queries 60] [--seed 1]``

A query is a table's rows, halved, on two or three columns that are no key alone and one together; the table is the right
answer, but for tables that hold as many of its tuples. k = 10. Times are of the process, so that other work on the machine
does not count, but for the two seconds after which a search is cut off.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.errors import DfjoinError


def make_queries(lake, n: int, seed: int) -> list[tuple[str, list[str], pd.DataFrame]]:
    """Table, key columns and half of the rows of each of some tables."""
    rng = np.random.default_rng(seed)
    tables = lake.tables
    tables = tables[tables["n_rows"].between(30, 20_000) & tables["n_columns"].between(3, 40)]
    columns = lake.columns
    columns = columns[columns["kind"].isin(["text", "integer", "date"]) & (columns["cardinality"] >= 3)]
    of_table = {name: own["column"].tolist() for name, own in columns.groupby("table")}
    found: list[tuple[str, list[str], pd.DataFrame]] = []
    sources: dict[str, int] = {}
    for name in rng.permutation(tables["table"].to_numpy(object)).tolist():
        source = name.split("/")[0]
        if len(found) == n:
            break
        if sources.get(source, 0) >= 4 or len(of_table.get(name, [])) < 3:
            continue
        try:
            frame = lake.table(name)
        except DfjoinError:
            continue
        size = 2 + len(found) % 2
        for _ in range(10):
            key = rng.permutation([c for c in of_table[name] if c in frame.columns])[:size].tolist()
            rows = frame[key].dropna()
            alone = max(rows[c].nunique() for c in key) if len(rows) else 0
            if len(key) == size and len(rows) >= 30 and alone < 0.9 * len(rows) and not rows.duplicated().any():
                half = rows.sample(frac=0.5, random_state=seed)
                found.append((name, key, half.rename(columns=dict(zip(key, "xyz", strict=False)))))
                sources[source] = sources.get(source, 0) + 1
                break
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lake = dfjoin.open_lake(options.index)
    rows = []
    for name, key, frame in make_queries(lake, options.queries, options.seed):
        for rank in ("matched", "useful"):
            on = list(frame.columns)
            start = time.process_time()
            hits = frame.discover_joinable(on, lake, rank=rank, k=10)
            seconds = time.process_time() - start
            told = hits.attrs["dfjoin"]
            is_first = len(hits) > 0 and hits["table"].iloc[0] == name
            own = hits[hits["table"] == name]
            ties = len(own) > 0 and own["matched"].iloc[0] == hits["matched"].max()
            is_right = len(own) > 0 and own["column"].iloc[0] == " + ".join(key)
            search = told["searches"][0]
            rest = (search["candidates"], search["n_read"], told["complete"], seconds)
            rows.append((rank, len(key), is_first, ties, is_right, *rest))
    names = ["rank", "columns", "first", "most", "own key", "compared", "read", "complete", "seconds"]
    table = pd.DataFrame(rows, columns=names)
    grouped = table.groupby(["rank", "columns"])
    summary = grouped[["first", "most", "own key", "complete"]].mean()
    summary["n"] = grouped.size()
    for name in ("compared", "read"):
        summary[f"{name}, p50"] = grouped[name].median()
    for quantile in (0.5, 0.95):
        summary[f"ms, p{quantile * 100:.0f}"] = 1e3 * grouped["seconds"].quantile(quantile)
    print(summary.to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
