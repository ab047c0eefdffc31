"""Beside skrub and featuretools, which are told tables and keys: ``python -m tests.benchmarks.augmentation_rivals [--seeds 3]``.

The cases are those of `tests.benchmarks.augmentation_truth`. The others get the tables that help alone, with the columns to join on and
the order of the joins; the augmenter gets the whole lake with its tables of noise, and neither. R² on a third of the rows; lines are those of
the body of each contender's function below, without what all share.
"""

from __future__ import annotations

import argparse
import inspect
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import dfjoin
from tests.benchmarks.augmentation_truth import CASES, TruthCase, _r2, with_noise

_NAMES = (
    "parts",
    "weak",
    "snowflake, 2 levels",
    "two keys",
    "repeated rows",
    "spread of rows",
    "misspelled, a third",
    "misspelled, all",
    "two names",
)
_RULES = ["mean", "std", "min", "max"]

Frames = tuple[pd.DataFrame, pd.DataFrame]
Keys = list[tuple[str, list[str], list[str]]]


def keys_of(case: TruthCase) -> Keys:
    """Tell tables and keys by hand: table, columns of what is known until then, columns of the table."""
    special = {"name": (["person"], ["name"]), "given": (["first", "last"], ["given", "family"])}
    known, told = list(case.frame), []
    for name, table in case.tables.items():
        on, right_on = special.get(str(table.columns[0]), ([c for c in table if c in known],) * 2)
        told.append((name, on, right_on))
        known += [column for column in table if column not in known]
    return told


def with_dfjoin(case: TruthCase, frames: Frames, y: np.ndarray, lake: dfjoin.Lake, keys: Keys) -> list[pd.DataFrame]:
    """Told the lake."""
    augmenter = dfjoin.LakeAugmenter(lake).fit(frames[0], y)
    return [augmenter.transform(frame) for frame in frames]


def with_agg_joiner(
    case: TruthCase, frames: Frames, y: np.ndarray, lake: dfjoin.Lake, keys: Keys
) -> list[pd.DataFrame]:
    """Join by `AggJoiner`, one table after the other."""
    from skrub import AggJoiner

    wide = list(frames)
    for name, on, right_on in keys:
        table = case.tables[name]
        numbers = list(table.select_dtypes("number").columns.difference(right_on))
        codes = list(table.columns.difference([*numbers, *right_on]))
        joiners = [AggJoiner(table, _RULES, main_key=on, aux_key=right_on, cols=numbers)]
        joiners += [AggJoiner(table, "mode", main_key=on, aux_key=right_on, cols=codes)] if codes else []
        for joiner in joiners:
            wide = [joiner.fit(wide[0]).transform(frame) for frame in wide]
        wide = [frame.rename(columns={f"{c}_mode": c for c in codes}) for frame in wide]
    return wide


def with_joiner(case: TruthCase, frames: Frames, y: np.ndarray, lake: dfjoin.Lake, keys: Keys) -> list[pd.DataFrame]:
    """Join by `Joiner`, which takes the nearest row, with the distance that is usual."""
    from skrub import Joiner

    wide = list(frames)
    for name, on, right_on in keys:
        joiner = Joiner(
            case.tables[name], main_key=on, aux_key=right_on, suffix=f"_{name}", add_match_info=False, max_dist=0.8
        )
        wide = [joiner.fit(wide[0]).transform(frame) for frame in wide]
        wide = [
            frame.rename(columns={f"{c}_{name}": c for c in case.tables[name] if c.startswith("code")})
            for frame in wide
        ]
    return wide


def with_featuretools(
    case: TruthCase, frames: Frames, y: np.ndarray, lake: dfjoin.Lake, keys: Keys
) -> list[pd.DataFrame]:
    """Make features by deep feature synthesis; keys of several columns are written as one."""
    import featuretools as ft

    rows = pd.concat(frames, keys=[0, 1], names=["part", "row"]).reset_index()
    rows["row_id"] = np.arange(len(rows))
    tables, links = {"rows": (rows, "row_id")}, []
    owner = dict.fromkeys(case.frame, "rows")
    for name, on, right_on in keys:
        table, key = case.tables[name].copy(), f"{name}_key"
        parent, own = tables[owner[on[0]]][0], "rows" if owner[on[0]] == "rows" else owner[on[0]]
        parent[key] = parent[on].astype(str).agg("|".join, axis=1)
        table[key] = table[right_on].astype(str).agg("|".join, axis=1)
        table = table.drop(columns=right_on)
        if table[key].is_unique:
            lost = parent.loc[~parent[key].isin(table[key]), [key]].drop_duplicates()
            tables[name] = pd.concat([table, lost], ignore_index=True), key
            links.append((name, key, own, key))
        else:
            hub = f"{name}_keys"
            tables[hub] = pd.DataFrame({key: pd.unique(pd.concat([parent[key], table[key]]))}), key
            tables[name] = table.assign(line=np.arange(len(table))), "line"
            links += [(hub, key, own, key), (hub, key, name, key)]
        owner |= dict.fromkeys(table, name)
    entities = ft.EntitySet()
    for name, (table, key) in tables.items():
        entities.add_dataframe(dataframe_name=name, dataframe=table, index=key)
    for link in links:
        entities.add_relationship(*link)
    wide, _ = ft.dfs(
        entityset=entities, target_dataframe_name="rows", agg_primitives=_RULES, trans_primitives=[], max_depth=3
    )
    wide = wide.loc[rows["row_id"]].reset_index(drop=True)
    return [wide[(rows["part"] == part).to_numpy()].drop(columns=["part", "row"]) for part in (0, 1)]


CONTENDERS: dict[str, Callable[..., list[pd.DataFrame]]] = {
    "dfjoin": with_dfjoin,
    "skrub AggJoiner": with_agg_joiner,
    "skrub Joiner": with_joiner,
    "featuretools": with_featuretools,
}


def lines_of(contender: Callable[..., object]) -> int:
    """Count the lines of a function behind its documentation, without imports."""
    body = inspect.getsource(contender).split('"""')[2].splitlines()
    return sum(bool(line.strip()) and "import " not in line for line in body)


def _numbers(frames: list[pd.DataFrame]) -> list[pd.DataFrame]:
    """Keep the columns of numbers: what tells something in these cases."""
    kept = [c for c in frames[0].select_dtypes("number") if c in frames[1] and frames[0][c].notna().any()]
    return [frame[kept].astype("float64") for frame in frames]


def measure(name: str, seed: int, contenders: list[str]) -> list[dict[str, object]]:
    """Return score and time of each contender on one case."""
    from sklearn.model_selection import train_test_split

    rng = np.random.default_rng(seed)
    case = CASES[name](rng)
    index = Path(tempfile.mkdtemp()) / "lake"
    lake = dfjoin.build_lake(with_noise(case, rng), index, engine="inline", progress=False)
    rows = train_test_split(np.arange(len(case.frame)), test_size=1 / 3, random_state=seed)
    frames = tuple(case.frame.iloc[part].reset_index(drop=True) for part in rows)
    answers = [case.y[part] for part in rows]
    told, found = keys_of(case), []
    for contender in contenders:
        start, failed = time.process_time(), ""
        try:
            wide = CONTENDERS[contender](case, frames, answers[0], lake, told)
            with threadpool_limits(1):
                score = _r2(_numbers(wide), answers)
        except Exception as error:  # a rival that cannot do a case has no score there
            score, failed = np.nan, f"{type(error).__name__}: {error}"[:80]
        found.append(
            {"case": name, "contender": contender, "R²": score, "CPU s": time.process_time() - start, "failed": failed}
        )
    return found


def main() -> None:
    """Print scores and times by case, and their means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="cases; all by default")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [name for name in _NAMES if not options.only or name in options.only]
    found = pd.DataFrame(
        [row for name in names for seed in range(options.seeds) for row in measure(name, seed, list(CONTENDERS))]
    )
    print(found.pivot_table(index="case", columns="contender", values="R²", sort=False).round(3).to_string())
    means = found.groupby("contender", sort=False)[["R²", "CPU s"]].mean().round(3)
    print(means.assign(lines=[lines_of(CONTENDERS[name]) for name in means.index]).to_string())
    for row in found[found["failed"] != ""].drop_duplicates(["case", "contender"]).itertuples():
        print(row.case, row.contender, row.failed)


if __name__ == "__main__":
    main()
