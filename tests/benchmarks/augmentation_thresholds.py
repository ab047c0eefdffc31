"""Thresholds of the augmenter, cross-validated over cases: ``python -m tests.benchmarks.augmentation_thresholds CASES LAKE [CASE ...]``.

Cases are those of `tests.benchmarks.augmentation`, and others cut from the tables of a lake (`tests.benchmarks.augmentation_cases`), where
it is known what leaks and what says nothing. Thresholds of leaks and of the screening are measured by what they refuse: shares of
leaks that are missed, of other columns that are refused, of useful columns that are left out, and of ids, constants and repetitions
that pass. Those of the selection are measured by the score on rows that are held out. What the other cases choose is measured on
each case in turn, so that the last line says what to expect of a threshold on a case that it was not chosen by.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import dfjoin
from dfjoin.augment import elimination, known_columns, leakage, screening, target_copies
from dfjoin.augment.budget import AugmentBudget
from dfjoin.augment.elimination import choose_tables
from dfjoin.augment.encoding import encode_target
from dfjoin.augment.find_features import FeatureSearch, _Finder
from dfjoin.augment.table_choice import SelectionTask
from dfjoin.join.plan import JoinPlan
from tests.benchmarks.augmentation import is_regression, score, tables_of
from tests.benchmarks.augmentation_cases import (
    HONEST,
    LEAK,
    USEFUL,
    USELESS,
    VOID,
    GeneratedCase,
    generated_cases,
)

REFUSALS: tuple[tuple[Any, str, tuple[float, ...]], ...] = (
    (leakage, "_EQUAL", (0.95, 0.9, 0.99)),
    (leakage, "_SKILL", (0.95, 0.9, 0.97, 0.99)),
    (leakage, "_INFORMED", (0.4, 0.0, 0.6)),
    (leakage, "_COPIED", (0.8, 0.6, 1.0)),
    (target_copies, "_SAME_ORDER", (0.999, 0.99, 0.9999)),
    (target_copies, "_AGREEMENT", (0.9, 0.8, 0.95)),
    (screening, "_LEAST_HELD", (0.02, 0.0, 0.1)),
    (screening, "_ID_SHARE", (0.9, 0.7, 0.98)),
    (known_columns, "_NEARLY_EQUAL", (0.9999, 0.999, 0.99)),
)
SELECTION: tuple[tuple[Any, str, tuple[float, ...]], ...] = (
    (elimination, "_SURE", (2.0, 1.5, 3.0)),
    (elimination, "_KEPT", (2 / 3, 0.5, 0.75)),
)
"""Module, threshold, and its values: the first one is in use."""


@dataclass
class Gathered:
    """A split of a case, with all tables that it reaches joined to its rows."""

    case: GeneratedCase
    finder: _Finder
    test: pd.DataFrame
    answers: tuple[pd.Series, pd.Series]


def benchmark_case(path: Path) -> GeneratedCase:
    """Read a case of the benchmark: of its columns it is known that those of the base table leak."""
    meta, place = json.loads((path / "meta.json").read_text()), Path(tempfile.mkdtemp())
    tables = tables_of(path, place)
    lake = dfjoin.build_lake(tables, place / "lake.dfjoin", engine="inline", progress=False)
    base = pd.read_csv(tables / meta["base_table"])
    kinds = {(meta["base_table"], str(column)): LEAK for column in base}
    return GeneratedCase(path.name, base, meta["target"], lake, kinds)


def gather(case: GeneratedCase) -> Gathered:
    """Reach the tables of a case from two thirds of its rows."""
    y = case.base[case.target]
    train, test = train_test_split(case.base, test_size=1 / 3, random_state=0, stratify=None if is_regression(y) else y)
    answers = train[case.target], test[case.target]
    train, test = (part.drop(columns=case.target).reset_index(drop=True) for part in (train, test))
    options = dfjoin.LakeAugmenter(case.lake)._path_options()
    target = encode_target(answers[0].to_numpy(), "auto")
    budget = AugmentBudget.of(None, False)
    finder = _Finder(FeatureSearch(train, target, None, case.lake.snapshot, options, "auto", None, (), 0, budget))
    finder.gather()
    return Gathered(case, finder, test, answers)


def refusals(split: Gathered) -> pd.Series:
    """Shares of columns that are refused or left out wrongly, or pass wrongly; NaN where a case has none of the kind."""
    is_wrong: dict[str, list[bool]] = {
        "leaks missed": [],
        "others refused": [],
        "others suspected": [],
        "useful left out": [],
        "void passes": [],
    }
    for candidate in split.finder._candidates:
        table, passed = candidate.joined.table, {feature.column for feature in candidate.features}
        refused, suspicious = (told.get(table, {}) for told in (split.finder._refused, split.finder._suspicious))
        for column in candidate.joined.new_columns:
            kind = split.case.kinds.get((table, column), "")
            if kind == LEAK:
                is_wrong["leaks missed"].append(column in passed and column not in suspicious)
            if kind in (HONEST, USEFUL, USELESS):
                is_wrong["others refused"].append(column in refused)
                is_wrong["others suspected"].append(column in suspicious)
            if kind == USEFUL:
                is_wrong["useful left out"].append(column in candidate.left_out and column not in refused)
            if kind == VOID:
                is_wrong["void passes"].append(column in passed)
    return pd.Series({what: np.mean(found) if found else np.nan for what, found in is_wrong.items()})


def selection(split: Gathered) -> pd.Series:
    """Choose without the columns that leak; return the mean score of two learners on the held-out rows, and tables."""
    finder, case = split.finder, split.case
    search = finder._search
    task = SelectionTask(search.target, finder._own, finder._groups_of, 0, AugmentBudget.of(None, False))
    odd = {table for (table, _), kind in case.kinds.items() if kind in (LEAK, HONEST)}
    candidates = [candidate for candidate in finder._candidates if candidate.joined.table not in odd]
    chosen = choose_tables(candidates, "auto", task, None).chosen
    frames = [search.frame], [split.test]
    for number, one in enumerate(chosen):
        names = [feature.name for feature in one.features]
        plan = JoinPlan(one.candidate.joined.steps, "left", str(search.snapshot.path))
        wide = split.test.auto_join(plan, on_no_match="ignore")
        frames[0].append(one.candidate.joined.frame[names].add_suffix(f"_{number}"))
        frames[1].append(wide[names].add_suffix(f"_{number}"))
    train, test = (pd.concat(part, axis=1) for part in frames)
    keys = [name for name in train if str(name).startswith("Key_")]
    scores = score(train.drop(columns=keys), test.drop(columns=keys), split.answers, 0)
    kinds = {one.candidate.joined.table for one in chosen if one.candidate.joined.table.startswith("shuffled")}
    n_tables = len({step.table for one in chosen for step in one.candidate.joined.steps})
    return pd.Series({"score": np.mean(scores), "tables": n_tables, "shuffled": len(kinds)})


@contextmanager
def threshold(module: Any, name: str, value: Any) -> Iterator[None]:
    """Set a threshold, or a function, for a while."""
    kept = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, kept)


def show(name: str, found: dict[str, pd.DataFrame], worth: dict[str, pd.Series], is_long: bool) -> None:
    """Print the means of each value, and what the choice by the other cases is worth on each case."""
    means = pd.DataFrame({value: frame.mean() for value, frame in found.items()}).T
    print(f"\n{name}\n{means.round(4).to_string()}", flush=True)
    table = pd.DataFrame(worth)
    gains = table.sub(table.iloc[:, 0], axis=0)
    if is_long:
        print(gains.round(3).to_string())
    left_out = {case: gains.loc[case, gains.drop(index=case).mean().idxmax()] for case in gains.index}
    values = pd.Series(left_out)
    chosen = gains.mean().idxmax()
    print(
        f"best on all cases {chosen}; chosen by the other cases, against the first value: mean {values.mean():+.4f}, "
        f"worst {values.min():+.4f}, best {values.max():+.4f}",
        flush=True,
    )


def refusals_of(splits: list[Gathered]) -> pd.DataFrame:
    """One row for each case, see `refusals`."""
    return pd.DataFrame({split.case.name: refusals(split) for split in splits}).T


def selection_of(splits: list[Gathered]) -> pd.DataFrame:
    """One row for each case, see `selection`."""
    return pd.DataFrame({split.case.name: selection(split) for split in splits}).T


def compare(
    thresholds: tuple[tuple[Any, str, tuple[float, ...]], ...],
    first: pd.DataFrame,
    measure: Callable[[], pd.DataFrame],
    worth: Callable[[pd.DataFrame], pd.Series],
    options: argparse.Namespace,
) -> None:
    """Measure each value of each threshold, the others as they are, and print what it gives."""
    for module, constant, values in thresholds:
        if options.only and constant not in options.only:
            continue
        found = {str(values[0]): first}
        for value in values[1:]:
            with threshold(module, constant, value):
                found[str(value)] = measure()
        show(constant, found, {value: worth(frame) for value, frame in found.items()}, options.long)


def main() -> None:
    """Print for each threshold and value what it gives, and what the choice by the other cases gives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=Path, help="directory of the cases")
    parser.add_argument("lake", type=Path, help="directory of tables from which further cases are cut")
    parser.add_argument("names", nargs="*", help="cases to measure; all by default")
    parser.add_argument("--generated", type=int, default=12, help="cases that are cut, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="thresholds to measure; all by default")
    parser.add_argument("--long", action="store_true", help="print each case")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = options.names or sorted(path.parent.name for path in options.cases.glob("*/meta.json"))
    cases = [benchmark_case(options.cases / name) for name in names]
    cases += generated_cases(options.lake, options.generated, options.seed)
    splits = [gather(case) for case in cases]
    first = refusals_of(splits)
    print(f"thresholds in use\n{first.round(3).to_string()}\nmeans\n{first.mean().round(4).to_string()}", flush=True)
    compare(
        REFUSALS,
        first,
        lambda: refusals_of([gather(case) for case in cases]),
        lambda frame: -frame.sum(axis=1),
        options,
    )
    if options.only and not set(options.only) & {constant for _, constant, _ in SELECTION}:
        return
    first = selection_of(splits)
    print(f"\nthresholds in use\n{first.round(3).to_string()}", flush=True)
    compare(SELECTION, first, lambda: selection_of(splits), lambda frame: frame["score"], options)


if __name__ == "__main__":
    main()
