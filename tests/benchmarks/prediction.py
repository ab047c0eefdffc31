"""Do joins by similar keys help to predict? ``python -m tests.benchmarks.prediction CASE KEY [--identity COLUMN]``.

The experiment of section VI-C of PEXESO (Dong et al., ICDE 2021), as far as the data allow. A case is as in
`augmentation`. Its base table is joined with each table that a method finds for the column KEY: by none, by equal keys, by
edit distance, by shared 3-grams, and by vectors of n-grams, each at its default radius. A joined column with fewer than
200 values is dropped. Features are eliminated within the training rows alone: a forest drops the third that is least
important, again and again, and the set with the best score out of bag is kept. A forest of those is scored on the rows of
the fold that is left out: accuracy, which is micro-F1 where each row has one class.

``--identity`` names a column that tells right rows from wrong ones. It is neither a key nor a feature. ``--misspelled`` is
the share of keys of the base table that get typos (`misspelled.mistype`); its generator has the seed 0.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import dfjoin
from tests.benchmarks.augmentation import tables_of
from tests.benchmarks.joinable_tables import METHODS as SEARCHES
from tests.benchmarks.misspelled import mistype

METHODS: dict[str, dict[str, Any] | None] = {"no join": None, **SEARCHES}
_FEWEST_VALUES = 200
_FEWEST_FEATURES = 5
_MOST_CATEGORIES = 50
TREES = 100


def misspell(keys: pd.Series, share: float, seed: int = 0) -> pd.Series:
    """Put typos into a share of the keys."""
    rng = np.random.default_rng(seed)
    changed = rng.random(len(keys)) < share
    texts = [mistype(k, rng) if c else k for k, c in zip(keys.astype(str), changed.tolist(), strict=True)]
    return pd.Series(texts, keys.index)


def find_tables(
    base: pd.DataFrame, key: str, lake: dfjoin.Lake, exclude: list[str], how: dict
) -> dfjoin.JoinCandidates:
    """Find the tables for at most 1,000 rows, as the paper does; the column that matches best of each."""
    sample = base.sample(min(1000, len(base)), random_state=0)
    hits = sample.discover_joinable(key, lake, threshold=0.01, exclude=exclude, **how)
    return hits[~hits.duplicated("table")]


def features_of(wide: pd.DataFrame, left_out: list[str], fewest: int) -> pd.DataFrame:
    """Numbers as they are, and texts of few values as codes; texts of many values name a row, and are left out."""
    found = {}
    for name in wide.columns.difference(left_out, sort=False):
        column = wide[name]
        if column.notna().sum() < fewest:
            continue
        numbers = pd.to_numeric(column, errors="coerce")
        if numbers.notna().sum() >= fewest:
            found[name] = numbers.astype("float64")
        elif column.nunique() <= _MOST_CATEGORIES:
            found[name] = pd.Series(pd.Categorical(column.astype(str)).codes, column.index)
    return pd.DataFrame(found, index=wide.index)


def eliminate(x: pd.DataFrame, y: pd.Series, seed: int) -> list[str]:
    """Drop the least important third of the features again and again; return those with the best score out of bag."""
    from sklearn.ensemble import RandomForestClassifier

    names, best, chosen = list(x), -1.0, list(x)
    while True:
        forest = RandomForestClassifier(TREES, oob_score=True, random_state=seed).fit(x[names], y)
        if forest.oob_score_ >= best:
            best, chosen = forest.oob_score_, names
        if len(names) <= _FEWEST_FEATURES:
            return chosen
        n_kept = max(_FEWEST_FEATURES, len(names) * 2 // 3)
        names = [names[i] for i in np.sort(np.argsort(-forest.feature_importances_, kind="stable")[:n_kept])]


def cross_validate(x: pd.DataFrame, y: pd.Series, n_seeds: int, n_folds: int = 4) -> pd.DataFrame:
    """Score each fold with the features and the forest that the other folds give."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold

    rows = []
    for seed in range(n_seeds):
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        for fold, (train, test) in enumerate(folds.split(x, y)):
            names = eliminate(x.iloc[train], y.iloc[train], seed)
            forest = RandomForestClassifier(2 * TREES, random_state=seed).fit(x.iloc[train][names], y.iloc[train])
            rows.append((seed, fold, forest.score(x.iloc[test][names], y.iloc[test]), len(names)))
    return pd.DataFrame(rows, columns=["seed", "fold", "F1", "features"])


def row_pairs(base: pd.DataFrame, hits: dfjoin.JoinCandidates, key: str, identity: str) -> dict[str, tuple[int, int]]:
    """Count the rows that each table joins with a row of one identity, and those of them whose own identity it is."""
    counts = {}
    for i in range(len(hits)):
        held = base[[key]].auto_join(hits.iloc[[i]], columns=[identity])[identity]
        counts[str(hits["table"].iloc[i])] = int(held.notna().sum()), int((held == base[identity]).sum())
    return counts


def measure(case: Path, key: str, options: argparse.Namespace) -> pd.DataFrame:
    """One row for each method: tables, rows joined, right pairs of rows, F1 and its difference to no join."""
    meta = json.loads((case / "meta.json").read_text())
    with tempfile.TemporaryDirectory() as place:
        tables = tables_of(case, Path(place))
        base = pd.read_csv(tables / meta["base_table"])
        base[key] = misspell(base[key], options.misspelled)
        index = Path(place) / "lake.dfjoin"
        lake = dfjoin.build_lake(tables, index, engine="inline", embedder="ngrams", progress=False)
        exclude = [meta["base_table"], *options.exclude]
        plain = base.drop(columns=[meta["target"], *options.drop])
        rows, pairs, folds = {}, {}, {}
        for name, how in METHODS.items():
            wide, n_tables = plain, 0
            if how is not None:
                hits = find_tables(plain, key, lake, exclude, how)
                wide, n_tables = plain.auto_join(hits, on_no_match="ignore"), len(hits)
                if options.identity:
                    held = hits[
                        [lake.describe(t)["columns"]["column"].eq(options.identity).any() for t in hits["table"]]
                    ]
                    pairs[name] = row_pairs(base, held, key, options.identity)
            hidden = [key, *(c for c in wide if options.identity and str(c).startswith(options.identity))]
            x = features_of(wide, hidden, options.fewest)
            folds[name] = cross_validate(x, base[meta["target"]], options.seeds)
            rows[name] = {"tables": n_tables, "columns": x.shape[1], "kept": folds[name]["features"].mean()}
        found = pd.DataFrame(rows).T
        scores = pd.DataFrame({name: one["F1"] for name, one in folds.items()})
        found["F1"], found["± folds"] = scores.mean(), scores.std()
        found["gain"] = scores.sub(scores["no join"], axis=0).mean()
        found["± gain"] = scores.sub(scores["no join"], axis=0).std() / np.sqrt(len(scores))
        return found.join(told(pairs, base, lake, options.identity)) if pairs else found


def told(pairs: dict[str, dict], base: pd.DataFrame, lake: dfjoin.Lake, identity: str) -> pd.DataFrame:
    """Compute precision and recall of the joined rows over all tables that some method found."""
    pool = sorted({table for counts in pairs.values() for table in counts})
    possible = sum(int(base[identity].isin(lake.table(table, identity)[identity]).sum()) for table in pool)
    totals = {name: np.sum(list(counts.values()), axis=0) for name, counts in pairs.items()}
    return pd.DataFrame(
        {name: {"rows P": right / max(1, n), "rows R": right / max(1, possible)} for name, (n, right) in totals.items()}
    ).T


def main(arguments: list[str] | None = None) -> None:
    """Measure and print; ± folds is the deviation over folds, ± gain the standard error of the mean difference."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("case", type=Path)
    parser.add_argument("key", help="the query column of the base table")
    parser.add_argument("--identity", default="", help="a column that tells right rows from wrong ones")
    parser.add_argument("--exclude", nargs="*", default=[], help="tables to leave out: those that hold the target")
    parser.add_argument("--drop", nargs="*", default=[], help="columns of the base table that are no features")
    parser.add_argument("--misspelled", type=float, default=0.0, help="share of keys with typos")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--fewest", type=int, default=_FEWEST_VALUES, help="values of a feature")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        print(measure(options.case, options.key, options).round(3).to_string(), flush=True)


if __name__ == "__main__":
    main()
