"""Thresholds of the selection, cross-validated over cases: ``python -m tests.benchmarks.augmentation_thresholds CASES [CASE ...]``.

Tables are reached and joined once for each case and split; the selection is repeated with each threshold at a time. What
is chosen by all other cases is measured on the one that is left out, so that the last column says what to expect of a
threshold on a case that it was not chosen by.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import dfjoin
from dfjoin.augment import greedy_choice, leakage, relevance, screening, table_choice
from dfjoin.augment.budget import AugmentBudget
from dfjoin.augment.choose_tables import choose_tables
from dfjoin.augment.encoding import encode_target
from dfjoin.augment.find_features import FeatureSearch, _Finder
from dfjoin.augment.table_choice import SelectionTask
from dfjoin.join.plan import JoinPlan
from tests.benchmarks.augmentation import score, tables_of

GRIDS: tuple[tuple[Any, str, tuple[float, ...]], ...] = (
    (greedy_choice, "_SURE", (2.0, 1.0, 1.5, 3.0)),
    (greedy_choice, "_LEAST_GAIN", (0.005, 0.0, 0.01, 0.02)),
    (greedy_choice, "_BEYOND_NOISE", (0.75, 0.25, 0.5, 1.0)),
    (table_choice, "_RELEVANT", (2.0, 0.0, 1.0, 3.0)),
    (table_choice, "_COLUMNS_A_TABLE", (12, 6, 24)),
    (relevance, "_DETERMINED", (0.9, 0.7, 0.99)),
    (screening, "_NEARLY_EQUAL", (0.9999, 0.99, 0.95)),
    (leakage, "_SKILL", (0.95, 0.9, 0.99)),
    (leakage, "_COPIED", (0.8, 0.6, 1.0)),
)
"""Module, threshold, and its values: the first one is in use."""


@dataclass
class Gathered:
    """A split of a case, with all tables that it reaches joined to its rows."""

    finder: _Finder
    test: pd.DataFrame
    answers: tuple[pd.Series, pd.Series]
    seed: int


@dataclass
class Case:
    """A case, and the index of its tables."""

    meta: dict[str, str]
    base: pd.DataFrame
    lake: dfjoin.Lake

    @classmethod
    def of(cls, case: Path) -> Case:
        """Read a case."""
        meta, place = json.loads((case / "meta.json").read_text()), Path(tempfile.mkdtemp())
        tables = tables_of(case, place)
        lake = dfjoin.build_lake(tables, place / "lake.dfjoin", engine="inline", progress=False)
        return cls(meta, pd.read_csv(tables / meta["base_table"]), lake)


def gather(case: Case, seeds: int) -> Iterator[Gathered]:
    """Reach the tables of a case, once for each split."""
    base, meta, lake = case.base, case.meta, case.lake
    for seed in range(seeds):
        y = base[meta["target"]]
        is_class = not (pd.api.types.is_float_dtype(y.dtype) and y.nunique() > 20)
        train, test = train_test_split(base, test_size=1 / 3, random_state=seed, stratify=y if is_class else None)
        answers = train[meta["target"]], test[meta["target"]]
        train, test = (part.drop(columns=meta["target"]).reset_index(drop=True) for part in (train, test))
        paths, budget = dfjoin.LakeAugmenter(lake)._path_options(), AugmentBudget.of(None, False)
        target = encode_target(answers[0].to_numpy(), "auto")
        finder = _Finder(FeatureSearch(train, target, None, lake.snapshot, paths, "auto", 5, (), 0, budget))
        finder.gather()
        yield Gathered(finder, test, answers, seed)


def held_out_score(split: Gathered, k: int) -> tuple[float, int]:
    """Choose with the thresholds as they are; return the mean score of two learners on the held-out rows, and tables."""
    finder = split.finder
    search = finder._search
    task = SelectionTask(search.target, finder._own, finder._groups_of, 0, AugmentBudget.of(None, False))
    chosen = choose_tables(finder._candidates, "auto", task, k).chosen
    frames = [search.frame], [split.test]
    for number, one in enumerate(chosen):
        names = [feature.name for feature in one.features]
        plan = JoinPlan(one.candidate.reached.steps, "left", str(search.snapshot.path))
        wide = split.test.auto_join(plan, on_no_match="ignore")
        frames[0].append(one.candidate.reached.frame[names].add_suffix(f"_{number}"))
        frames[1].append(wide[names].add_suffix(f"_{number}"))
    train, test = (pd.concat(part, axis=1) for part in frames)
    keys = [name for name in train if str(name).startswith("Key_")]
    scores = score(train.drop(columns=keys), test.drop(columns=keys), split.answers, split.seed)
    n_tables = len({step.table for one in chosen for step in one.candidate.reached.steps})
    return float(np.mean(scores)), n_tables


@contextmanager
def threshold(module: Any, name: str, value: float) -> Iterator[None]:
    """Set a threshold for a while."""
    kept = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, kept)


def main() -> None:
    """Print for each threshold and value the score of each case, and what the choice by the other cases gives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=Path, help="directory of the cases")
    parser.add_argument("names", nargs="*", help="cases to measure; all by default")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="thresholds to measure; all by default")
    parser.add_argument("-k", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = options.names or sorted(path.parent.name for path in options.cases.glob("*/meta.json"))
    cases = {name: Case.of(options.cases / name) for name in names}
    splits = {name: list(gather(case, options.seeds)) for name, case in cases.items()}
    for module, constant, values in GRIDS:
        if options.only and constant not in options.only:
            continue
        found = pd.DataFrame(index=[str(value) for value in values], columns=names, dtype=float)
        for value in values:
            with threshold(module, constant, value):
                for name in names:
                    is_early = module in (screening, leakage)  # before the selection
                    own = list(gather(cases[name], options.seeds)) if is_early else splits[name]
                    results = [held_out_score(split, options.k) for split in own]
                    found.loc[str(value), name] = np.mean([result[0] for result in results])
        gains = found - found.iloc[0]
        left_out = {name: gains.loc[gains.drop(columns=name).mean(axis=1).idxmax(), name] for name in names}
        print(f"\n{constant}\n{found.round(3).to_string()}", flush=True)
        told = ", ".join(f"{name} {gain:+.3f}" for name, gain in left_out.items())
        print(f"chosen by the other cases, against the first value: {told}", flush=True)


if __name__ == "__main__":
    main()
