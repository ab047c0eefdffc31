"""Precision and recall of the search for joinable columns: ``python -m tests.benchmarks.joinable_tables INDEX``.

Table IV of PEXESO (Dong et al., ICDE 2021) in shape; nobody labelled columns here. Query columns are drawn as in
`misspelled`, and a half of their values is changed: typos, other formats and abbreviations in turn, by a generator with a
seed. A column of the lake is joinable if it holds at least half of the values as they were. Columns that hold all of them
are left out: the query's own column, and copies of it. Each method reports the columns in which a share of the changed
query matches; the share is chosen by F1 on four fifths of the query columns, and measured on the others. An index that
has no vectors is measured without them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dfjoin
from tests.benchmarks.misspelled import CHANGES, name_columns

METHODS: dict[str, dict[str, Any]] = {
    "equality": {"mode": "exact", "rank": "matched"},
    "edit distance": {"mode": "fuzzy", "metric": "edit"},
    "3-grams": {"mode": "fuzzy", "metric": "jaccard"},
    "vectors": {"mode": "embedding"},
}
SHARES = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)
JOINABLE = 0.5


def change_half(values: list[str], seed: int) -> list[str]:
    """Change every other value, in turn by each kind of change."""
    rng = np.random.default_rng(seed)
    kinds = list(CHANGES.values())[:3]
    return [kinds[i // 2 % len(kinds)](v, rng) if i % 2 == 0 else v for i, v in enumerate(values)]


def shares_of(lake: dfjoin.Lake, values: list[str], least: float, how: dict[str, Any]) -> pd.Series:
    """List the columns in which at least a share of the values matches, with this share."""
    hits = pd.DataFrame({"q": values}).discover_joinable("q", lake, threshold=least, **how)
    return pd.Series(hits["containment"].to_numpy(), pd.MultiIndex.from_frame(hits[["table", "column"]]))


def measure(lake: dfjoin.Lake, n_columns: int) -> pd.DataFrame:
    """Count the right columns among those that each method finds, over query columns and shares."""
    methods = {m: how for m, how in METHODS.items() if how["mode"] != "embedding" or lake.manifest.embedder is not None}
    rows = []
    for number, values in enumerate(name_columns(lake.segments[0], n_columns)):
        plain = shares_of(lake, values, JOINABLE, METHODS["equality"])
        own, right = plain.index[plain >= 1], plain.index[plain < 1]
        if not len(right):
            continue
        query = change_half(values, number)
        for method, how in methods.items():
            found = shares_of(lake, query, SHARES[0], how).drop(own, errors="ignore")
            for share in SHARES:
                kept = found.index[found >= share]
                rows.append((method, share, number, len(kept), len(kept.intersection(right)), len(right)))
    return pd.DataFrame(rows, columns=["method", "share", "query", "found", "right", "joinable"])


def told(counts: pd.DataFrame) -> pd.Series:
    """Mean precision over the queries that find a column, and mean recall over all queries."""
    some = counts[counts["found"] > 0]
    precision = float((some["right"] / some["found"]).mean()) if len(some) else 0.0
    recall = float((counts["right"] / counts["joinable"]).mean())
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    return pd.Series({"precision": precision, "recall": recall, "F1": f1, "found": counts["found"].mean()})


def cross_validated(frame: pd.DataFrame, n_folds: int = 5) -> pd.DataFrame:
    """Choose the share of each method on other query columns than those it is measured on."""
    rows = {}
    for method, own in frame.groupby("method", sort=False):
        fold_of = own["query"].rank(method="dense").astype(int) % n_folds
        parts, chosen = [], []
        for fold in sorted(fold_of.unique()):
            is_test = fold_of == fold
            others = own[~is_test] if (~is_test).any() else own
            scores = pd.Series({share: told(counts)["F1"] for share, counts in others.groupby("share")})
            chosen.append(float(scores.idxmax()))
            parts.append(own[is_test & (own["share"] == chosen[-1])])
        rows[method] = told(pd.concat(parts)).astype(object)
        rows[method]["shares"] = sorted(set(chosen))
    return pd.DataFrame(rows).T


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--columns", type=int, default=60, help="query columns to draw, of different sources")
    options = parser.parse_args(arguments)
    frame = measure(dfjoin.open_lake(options.index), options.columns)
    print(f"{frame['query'].nunique()} query columns with joinable columns of the lake, "
          f"{frame.groupby('query')['joinable'].first().sum()} of them")  # fmt: skip
    shape = {"float_format": "{:.3f}".format}
    print(pd.DataFrame({k: told(v) for k, v in frame.groupby(["method", "share"], sort=False)}).T.to_string(**shape))
    print("\nShares chosen on other query columns:\n" + cross_validated(frame).to_string(**shape))


if __name__ == "__main__":
    main()
