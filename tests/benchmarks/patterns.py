"""Search by transformation against known truth: ``python -m tests.benchmarks.patterns CASES_DIR LAKE``.

``CASES_DIR`` holds one folder for each case (``left.csv``, ``right.csv``, ``meta.json`` with the key columns). The right
tables are hidden among the tables of LAKE, and each left key column is searched with: is the right key column among
the first ten, at what rank, in what time. Beside it stands what exact search finds of it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

import pandas as pd

import dfjoin

K = 10


def read_cases(folder: Path) -> dict[str, tuple[pd.Series, pd.DataFrame, str]]:
    """Read the cases: name → left key column, right table, name of its key column."""
    found = {}
    for path in sorted(p for p in folder.iterdir() if (p / "meta.json").exists()):
        meta = json.loads((path / "meta.json").read_text("utf-8"))
        left, right = (
            pd.read_csv(path / f"{side}.csv", dtype=str, keep_default_na=False) for side in ("left", "right")
        )
        found[path.name] = left[meta["left_key"]], right, meta["right_key"]
    return found


def measure(lake: dfjoin.Lake, cases: dict[str, tuple[pd.Series, pd.DataFrame, str]]) -> pd.DataFrame:
    """Search with each left key column; one row for each case."""
    rows = []
    for name, (column, right, key) in cases.items():
        row = {"case": name, "left": column.nunique(), "right": right[key].nunique()}
        for mode in ("transform", "exact"):
            start = time.perf_counter()
            hits = dfjoin.discover_joinable(column.to_frame(), column.name, lake, mode=mode, k=K, rank="matched")
            seconds = time.perf_counter() - start
            at = hits.index[hits["table"].str.endswith(f"hidden {name}") & (hits["column"] == key)]
            row |= {f"{mode} rank": at[0] + 1 if len(at) else 0, f"{mode} rows": len(hits), f"{mode} s": seconds}
            if mode == "transform":
                row |= {
                    "matched": hits["matched"][at[0]] if len(at) else 0,
                    "learned": hits.context.stats[column.name].candidates,
                }
        rows.append(row)
        print(
            pd.DataFrame([row]).to_string(index=False, header=len(rows) == 1, float_format="{:.2f}".format), flush=True
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Build the index, hide the right tables, search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path, help="directory of the cases")
    parser.add_argument("lake", type=Path, help="directory of tables, or an index of them (which is copied)")
    options = parser.parse_args()
    cases = read_cases(options.cases)
    index = Path(tempfile.mkdtemp()) / "lake.dfjoin"
    if (options.lake / "manifests").exists():
        shutil.copytree(options.lake, index)
        lake = dfjoin.open_lake(index)
    else:
        lake = dfjoin.build_lake(options.lake, index, engine="inline", progress=False)
    before, start = lake.info()["bytes"], time.perf_counter()
    lake.add_patterns()
    size = lake.info()["bytes"] - before
    print(f"pattern tokens: {time.perf_counter() - start:.1f} s, {size / 1e6:.1f} MB on {before / 1e6:.1f} MB")
    lake.add({f"hidden {name}": right for name, (_, right, _) in cases.items()}, engine="inline", progress=False)
    table = measure(lake, cases)
    shutil.rmtree(index.parent)
    for mode in ("transform", "exact"):
        found, seconds = (table[f"{mode} rank"] > 0).mean(), table[f"{mode} s"]
        print(f"{mode}: recall@{K} {found:.3f}, {seconds.median():.2f} s median, {seconds.max():.2f} s at most")


if __name__ == "__main__":
    main()
