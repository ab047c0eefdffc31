"""Does augmentation help, and how much of it is taken? ``python -m tests.benchmarks.augmentation CASES [CASE ...]``.

A case is a directory with ``meta.json`` (``base_table``, ``target``, ``task``), ``truth.csv`` (true joins) and ``tables/*.csv``
or ``tables.tar.gz``. A third of the rows of the base table is held out; the same learners score each contender on it.
"""

from __future__ import annotations

import argparse
import json
import tarfile
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import dfjoin

CONTENDERS = ("base", "all joins", "5 best by overlap", "select=None", 'select="relevance"', 'select="auto"')


def tables_of(case: Path, place: Path) -> Path:
    """The directory with the tables of a case."""
    if (case / "tables").exists():
        return case / "tables"
    with tarfile.open(case / "tables.tar.gz") as archive:
        archive.extractall(place, filter="data")
    return place / "tables"


def encoded(train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Numbers as they are, other values as codes that the training rows give them."""
    parts: tuple[dict, dict] = ({}, {})
    for name in train:
        if pd.api.types.is_numeric_dtype(train[name].dtype):
            columns = [frame[name].astype("float64") for frame in (train, test)]
        else:
            categories = sorted(train[name].dropna().astype(str).unique())
            columns = [
                pd.Series(pd.Categorical(frame[name].astype(str), categories).codes, frame.index)
                for frame in (train, test)
            ]
        for part, column in zip(parts, columns, strict=True):
            part[name] = column
    return pd.DataFrame(parts[0], index=train.index), pd.DataFrame(parts[1], index=test.index)


def is_regression(y: pd.Series) -> bool:
    """Numbers of more than 20 values are predicted as numbers."""
    return pd.api.types.is_numeric_dtype(y.dtype) and y.nunique() > 20


def score(train: pd.DataFrame, test: pd.DataFrame, y: tuple[pd.Series, pd.Series], seed: int) -> list[float]:
    """Accuracy (of a regression R²) of gradient boosting and of a random forest."""
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )

    train, test = encoded(train, test)
    held = train.columns[train.notna().any()]
    train, test = train[held], test[held]
    models = (
        (HistGradientBoostingRegressor(random_state=seed), RandomForestRegressor(200, random_state=seed))
        if is_regression(y[0])
        else (HistGradientBoostingClassifier(random_state=seed), RandomForestClassifier(200, random_state=seed))
    )
    with threadpool_limits(1):  # threads that wait for each other would be measured on a shared machine
        return [model.fit(train, y[0]).score(test, y[1]) for model in models]


def join_all(frame: pd.DataFrame, case: Path, lake: dfjoin.Lake, meta: dict) -> tuple[pd.DataFrame, int]:
    """Follow the true joins from the base table as far as they lead; one row for each key."""
    edges = pd.read_csv(case / "truth.csv")
    joined, wide = {meta["base_table"]}, frame
    is_open = True
    while is_open:
        is_open = False
        for edge in edges.itertuples(index=False):
            if edge.left_table in joined and edge.right_table not in joined and edge.left_column in wide:
                right = lake.table(edge.right_table)
                kept = [c for c in right if c == edge.right_column or (c not in wide and c != meta["target"])]
                wide = wide.auto_join(
                    right[kept], on=edge.left_column, right_on=edge.right_column, transform=False, fuzzy=False,
                    on_no_match="ignore",
                )  # fmt: skip
                joined.add(edge.right_table)
                is_open = True
    return wide, len(joined) - 1


def augmented(name: str, parts: list[pd.DataFrame], y: pd.Series, context: dict) -> tuple[list[pd.DataFrame], dict]:
    """Training and test rows as a contender makes them, and what it did."""
    lake, meta = context["lake"], context["meta"]
    if name == "base":
        return parts, {"tables": 0, "features": 0}
    if name == "all joins":
        wide, n_tables = join_all(pd.concat(parts), context["case"], lake, meta)
        both = [wide.iloc[: len(parts[0])], wide.iloc[len(parts[0]) :]]
        return both, {"tables": n_tables, "features": wide.shape[1] - parts[0].shape[1]}
    if name == "5 best by overlap":
        hits = parts[0].discover_joinable(None, lake, rank="matched", k=50, exclude=meta["base_table"])
        hits = hits.sort_values("matched", ascending=False, kind="stable")
        hits = hits[~hits.duplicated("table")].head(context["k"] or 5)
        wide = parts[0].auto_join(hits)
        both = [wide, parts[1].auto_join(wide.attrs["dfjoin"]["plan"], on_no_match="ignore")]
        return both, {"tables": len(hits), "features": wide.shape[1] - parts[0].shape[1]}
    select = {"select=None": None, 'select="relevance"': "relevance", 'select="auto"': "auto"}[name]
    augmenter = dfjoin.LakeAugmenter(lake, select=select, k=context["k"], max_hops=context["max_hops"])
    augmenter.fit(parts[0], y)
    done = {
        "tables": len(augmenter.plan_.steps),
        "bring columns": len(augmenter.tables_),
        "features": len(augmenter.features_),
        "report": augmenter.report_,
    }
    return [augmenter.transform(part) for part in parts], done


def measure(case: Path, contenders: list[str], seeds: int, k: int | None, max_hops: int) -> pd.DataFrame:
    """One row for each contender and seed."""
    from sklearn.model_selection import train_test_split

    meta = json.loads((case / "meta.json").read_text())
    place = Path(tempfile.mkdtemp())
    tables = tables_of(case, place)
    lake = dfjoin.build_lake(tables, place / "lake.dfjoin", engine="inline", progress=False)
    base = pd.read_csv(tables / meta["base_table"])
    context = {"lake": lake, "meta": meta, "case": case, "k": k, "max_hops": max_hops}
    rows = []
    for seed in range(seeds):
        y = base[meta["target"]]
        parts = train_test_split(base, test_size=1 / 3, random_state=seed, stratify=None if is_regression(y) else y)
        answers = tuple(part[meta["target"]] for part in parts)
        parts = [part.drop(columns=meta["target"]) for part in parts]
        for name in contenders:
            start = time.perf_counter()
            wide, done = augmented(name, parts, answers[0], context)
            seconds = time.perf_counter() - start
            wide = [frame.drop(columns=[c for c in frame if str(c).startswith("Key_")]) for frame in wide]
            boosting, forest = score(*wide, answers, seed)
            rows.append(
                {"case": case.name, "contender": name, "seed": seed, "boosting": boosting, "forest": forest,
                 "tables": done["tables"], "bring columns": done.get("bring columns", done["tables"]),
                 "features": done["features"], "seconds": seconds}
            )  # fmt: skip
            if seed == 0 and "report" in done and name.endswith('"auto"'):
                print(done["report"], flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    """Measure cases, and print a table of means; ± is the standard error of the difference to the base over seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=Path, help="directory of the cases")
    parser.add_argument("names", nargs="*", help="cases to measure; all by default")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("-k", type=int, help="most tables; by default those of each contender")
    parser.add_argument("--max-hops", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], help="contenders beside the base table; all by default")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = options.names or sorted(path.parent.name for path in options.cases.glob("*/meta.json"))
    contenders = [name for name in CONTENDERS if not options.only or name in ("base", *options.only)]
    for name in names:
        rows = measure(options.cases / name, contenders, options.seeds, options.k, options.max_hops)
        base = rows[rows["contender"] == "base"].set_index("seed")
        shown = rows.groupby("contender")[
            ["boosting", "forest", "tables", "bring columns", "features", "seconds"]
        ].mean()
        for learner in ("boosting", "forest"):
            gains = rows.assign(gain=rows[learner] - rows["seed"].map(base[learner])).groupby("contender")["gain"]
            shown[f"± {learner}"] = gains.std() / np.sqrt(options.seeds)
        print(f"\n{name}\n{shown.loc[contenders].round(3).to_string()}\n", flush=True)


if __name__ == "__main__":
    main()
