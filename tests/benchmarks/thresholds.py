"""Are the thresholds of joins the right ones on cases that did not choose them?
``python -m tests.benchmarks.thresholds CASES LAKE [--sets ...] [--rows 1500] [--most 8] [--columns 60] [--group ...]``.

Each threshold is set to other values, one at a time. A case of tables scores its F1, of cases that need knowledge of the
world its precision; two tables of a database score 1 if a declared key is joined; two that have nothing to do with each
other, and a column of the lake that is dealt out to two frames (`halves`), score 1 if nothing is joined.

All cases are joined once with all thresholds watched (`tests.benchmarks.watched`), and again with another value only where
a decision would have been another one. For each fold, cases drawn by a hash of their names, the value is chosen that is
best on the other folds (the present one, if it is as good), and scored on the fold. Printed are, of each value, in how many
cases it decides otherwise and the mean score of the sets; the values that the folds chose; and the score of that choice on
cases that took no part in it: what to expect elsewhere.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pandas as pd

import dfjoin
from tests.benchmarks.fuzzy import join_ours, load_case
from tests.benchmarks.halves import columns, joined
from tests.benchmarks.joins import joined_pairs
from tests.benchmarks.strangers import stranger_pairs
from tests.benchmarks.transform import Case, cases, score
from tests.benchmarks.watched import Watched, setting

_FOLDS = 6
_SEED = 3
_ASKED = 0.9
"""Precision that is asked of likeness."""


class Threshold(NamedTuple):
    """A constant of a module, and other values for it; `reaches` names the sets that one reaches that cannot be watched."""

    module: str
    name: str
    others: tuple[float, ...]
    reaches: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The layer and the module."""
        return self.module.removeprefix("dfjoin.")


_BY_COLUMN = ("er_magellan",)
THRESHOLDS = (
    Threshold("dfjoin.values.shares", "NEARLY_ALL", (0.8, 0.97)),
    Threshold("dfjoin.values.shares", "MOST", (0.6, 0.95)),
    Threshold("dfjoin.values.shares", "HALF", (0.3, 0.75)),
    Threshold("dfjoin.values.shares", "SOME", (0.1, 0.4)),
    Threshold("dfjoin.values.shares", "HARDLY_ANY", (0.05, 0.3)),
    Threshold("dfjoin.values.shares", "FEW", (2, 6)),
    Threshold("dfjoin.values.shares", "ENOUGH", (5, 20)),
    Threshold("dfjoin.values.shares", "MANY", (10, 40)),
    Threshold("dfjoin.join.relation.pair_keys", "_MANY_SHAPES", (50, 200)),
    Threshold("dfjoin.join.relation.pair_keys", "_MIN_LENGTH", (2, 4)),
    Threshold("dfjoin.join.relation.pair_keys", "_ALIKE", (0.6, 0.8)),
    Threshold("dfjoin.join.relation.break_ties", "_MARGIN", (1.0, 4.0)),
    Threshold("dfjoin.join.keys", "_MIN_LISTS", (3, 10)),
    Threshold("dfjoin.join.relation.frame_relation", "_LEFT_OVER", (0.0, 0.1)),
    Threshold("dfjoin.join.relation.key_evidence", "_SHORT", (2.5, 5.0)),
    Threshold("dfjoin.join.relation.key_evidence", "_MIN_ROWS", (4, 16)),
    Threshold("dfjoin.fuzzy.accept_matches", "MIN_CHANCE", (0.3, 0.5)),
    Threshold("dfjoin.fuzzy.accept_matches", "_USUAL_SHARE", (0.3, 0.5)),
    Threshold("dfjoin.fuzzy.accept_matches", "_SHIFT", (0.0, 0.4)),
    Threshold("dfjoin.fuzzy.column_weights", "_NUMBER_SCALE", (1.0, 4.0), _BY_COLUMN),
    Threshold("dfjoin.fuzzy.column_weights", "MAX_WEIGHT", (3.0, 6.0), _BY_COLUMN),
    Threshold("dfjoin.fuzzy.column_weights", "_MAX_SUM", (4.0, 9.0), _BY_COLUMN),
    Threshold("dfjoin.fuzzy.column_weights", "_PRIOR_COUNT", (1.0, 5.0), _BY_COLUMN),
    Threshold("dfjoin.fuzzy.column_weights", "_MIN_MATCHES", (2.0, 10.0)),
    Threshold("dfjoin.fuzzy.column_weights", "_RIVAL_LOG_ODDS", (-6.0, -2.0), _BY_COLUMN),
    Threshold("dfjoin.transform.evidence.chance", "MIN_PRECISION", (0.8, 0.95)),
    Threshold("dfjoin.transform.pairs.accept", "MIN_COVERAGE", (0.15, 0.5)),
    Threshold("dfjoin.transform.pairs.accept", "MIN_SCORE", (0.3, 0.8)),
    Threshold("dfjoin.transform.pairs.accept", "_MIN_PART_SCORE", (0.5, 1.6)),
    Threshold("dfjoin.transform.pairs.accept", "_MORE_WHOLE", (0.05, 0.3)),
    Threshold("dfjoin.transform.pairs.accept", "_MIN_REWRITTEN_LETTERS", (3, 8)),
    Threshold("dfjoin.transform.evidence.chance", "MIN_BITS", (5.0, 20.0)),
    Threshold("dfjoin.transform.evidence.chance", "_PRIOR_WEIGHT", (1.0, 10.0)),
    Threshold("dfjoin.transform.evidence.chance", "_MIN_SHAPED_VALUES", (2, 8)),
    Threshold("dfjoin.transform.evidence.outcome", "FULL_COVERAGE", (0.9, 0.99)),
    Threshold("dfjoin.transform.evidence.outcome", "_MANY", (1.2, 2.5)),
    Threshold("dfjoin.transform.evidence.outcome", "_PRIOR", (2.0, 8.0)),
    Threshold("dfjoin.values.shares", "KEY_UNIQUENESS", (0.6, 0.95)),
    Threshold("dfjoin.values.shares", "NEARLY_EVERY", (0.9, 0.99)),
    Threshold("dfjoin.transform.pairs.composite", "_MIN_WORDED_VALUES", (20, 100)),
    Threshold("dfjoin.transform.pairs.pair_signatures", "_MIN_SHARE", (0.02, 0.15)),
    Threshold("dfjoin.transform.relations.relate_numbers", "_MIN_BITS_GIVEN", (3.0, 10.0)),
    Threshold("dfjoin.transform.relations.relate_numbers", "_FALLING_SCORE", (1.0, 1.8)),
    Threshold("dfjoin.transform.relations.linear_search", "_CHOICE_BITS", (0.0, 5.0)),
    Threshold("dfjoin.transform.relations.number_columns", "_STEP_BITS", (1.0, 6.0)),
)


# The cases ------------------------------------------------------------------------------------------------


class Trial(NamedTuple):
    """Something to join, and how well it went: from 0 to 1."""

    set: str
    name: str
    run: Callable[[], float]

    @property
    def fold(self) -> int:
        """Draw a fold by the hash of the names."""
        return zlib.crc32(f"{self.set} {self.name}".encode()) % _FOLDS


def score_case(case: Case, *, known: bool = False, figure: int = 2, precision: float = 0.95) -> float:
    """Join the frames of a case as a user does; return precision, recall or F1."""
    try:
        found, _ = joined_pairs(case, known=known, fuzzy=True, precision=precision)
    except dfjoin.errors.InvalidParameterError:  # two pairs of columns join equally well
        found = set()
    return score(found, case.truth)[figure]


def _case_trials(folder: Path, most_rows: int, **how: float) -> Iterator[Trial]:
    for case in cases(folder):
        if max(len(side[0][1]) for side in (case.left, case.right)) <= most_rows:
            yield Trial(folder.name, case.name, lambda case=case: score_case(case, **how))


def _records(folder: Path) -> Iterator[Trial]:
    """Pairs of tables whose columns are compared one by one; F1 over the labelled pairs."""
    for place in sorted(path for path in folder.iterdir() if (path / "meta.json").exists()):
        case = load_case(place, True, _SEED)
        yield Trial(folder.name, case.name, lambda c=case: c.score_test_pairs(*join_ours(c, _ASKED)[:2])[2])


def _databases(folder: Path, most_rows: int) -> Iterator[Trial]:
    """Two tables of a database that a declared key relates, names of columns and all."""
    for place in sorted(path.parent for path in folder.glob("*/truth.csv")):
        truth = pd.read_csv(place / "truth.csv")
        truth = truth[(truth["fk_arity"] == 1) & (truth["fk_distinct"] > 0)]
        for (table, other), keys in truth.groupby(["fk_table", "pk_table"]):
            frames = [pd.read_csv(place / "tables" / f"{name}.csv", low_memory=False) for name in (table, other)]
            right = set(zip(keys["fk_column"], keys["pk_column"], strict=True))
            if table != other and max(map(len, frames)) <= most_rows:
                name = f"{place.name} {table} {other}"
                yield Trial("databases", name, lambda f=frames, right=right: _score_keys(*f, right))


def _score_keys(left: pd.DataFrame, right: pd.DataFrame, keys: set[tuple[str, str]]) -> float:
    """Join two tables; 1 if the key is a declared one."""
    try:
        wide = dfjoin.auto_join(left, right, on_no_match="ignore", aggregate=None, how="inner", max_expansion=1e6)
    except dfjoin.errors.InvalidParameterError:
        return 0.0
    steps = wide.attrs["dfjoin"]["joined"]
    return float(bool(steps) and (*steps[0]["on"], *steps[0]["right_on"]) in keys)


def _is_apart(left: pd.DataFrame, right: pd.DataFrame) -> float:
    try:
        wide = dfjoin.auto_join(left, right, on_no_match="ignore", aggregate=None, how="inner", max_expansion=1e6)
    except dfjoin.errors.InvalidParameterError:
        return 1.0
    return float(not wide.attrs["dfjoin"]["joined"])


def trials(folder: Path, lake: Path, n: int, most_rows: int) -> dict[str, Callable[[], Iterator[Trial]]]:
    """Return the sets of trials by name: `n` of the lake, and cases whose tables have at most some rows."""
    return {
        "autojoin_web": lambda: _case_trials(folder / "autojoin_web", most_rows),
        "flashfill_spreadsheet": lambda: _case_trials(folder / "flashfill_spreadsheet", most_rows),
        "tde": lambda: _case_trials(folder / "tde", most_rows, known=True),
        "sema_join": lambda: _case_trials(folder / "sema_join", most_rows, figure=0),
        "dataxformer_kbwt": lambda: _case_trials(folder / "dataxformer_kbwt", most_rows, figure=0),
        "autofj": lambda: _case_trials(folder / "autofj", most_rows, precision=_ASKED),
        "er_magellan": lambda: _records(folder / "er_magellan"),
        "databases": lambda: _databases(folder / "fk_lakes", most_rows),
        "halves": lambda: (
            Trial("halves", name, lambda values=values: float(not joined(values)))
            for name, values in columns(lake, n, _SEED)
        ),
        "strangers": lambda: (
            Trial("strangers", f"{name} + {other}", lambda a=left, b=right: _is_apart(a, b))
            for (name, left), (other, right) in stranger_pairs(lake, n, _SEED)
        ),
    }


# The thresholds -------------------------------------------------------------------------------------------


def places_of(threshold: Threshold) -> list[tuple[ModuleType, str]]:
    """Return the modules that hold a constant: its own, and those that import it."""
    importlib.import_module("dfjoin.join.auto")  # which a join imports late, and with it all that decides
    home = importlib.import_module(threshold.module)
    held = getattr(home, threshold.name)
    others = [] if threshold.name.startswith("_") else [m for n, m in sys.modules.items() if n.startswith("dfjoin.")]
    return [(home, threshold.name)] + [
        (module, threshold.name) for module in others if module is not home and vars(module).get(threshold.name) is held
    ]


Setting = tuple[Threshold, float]
Scores = dict[Trial, float]


def watch(all_trials: list[Trial], thresholds: list[Threshold]) -> tuple[Scores, dict[Trial, set[Setting]]]:
    """Run all trials as things are; return their scores, and the settings in which each may be scored otherwise."""
    noted: set[Setting] = set()
    found, affected = {}, {}
    with ExitStack() as stack:
        for one in thresholds:
            if not one.reaches:
                places = places_of(one)
                present = getattr(*places[0])
                others = {(one, value): value for value in one.others}
                stack.enter_context(setting(places, Watched(present, others, noted)))
        for trial in all_trials:
            noted.clear()
            noted.update((one, value) for one in thresholds if trial.set in one.reaches for value in one.others)
            found[trial] = trial.run()
            affected[trial] = set(noted)
    return found, affected


def scores_with(one: Setting, now: Scores, affected: dict[Trial, set[Setting]]) -> Scores:
    """Return the scores with another value of a threshold, of trials whose present scores are known."""
    threshold, value = one
    with setting(places_of(threshold), value):
        return now | {trial: trial.run() for trial in now if one in affected[trial]}


def without_some(
    threshold: Threshold, now: Scores, affected: dict[Trial, set[Setting]], most: int
) -> dict[Trial, float]:
    """Leave out trials in which a threshold decides otherwise, all but some that are drawn by a hash of their names."""
    decided = [trial for trial in now if any(one is threshold for one, _ in affected[trial])]
    decided.sort(key=lambda trial: zlib.crc32(f"{trial.name} {threshold.name}".encode()))
    return {trial: one for trial, one in now.items() if trial not in decided[most:]}


def mean_of_sets(found: Scores) -> float:
    """Average over the trials of each set, then over the sets."""
    frame = pd.Series([*found.values()])
    return float(frame.groupby([trial.set for trial in found]).mean().mean())


def cross_validate(by_value: dict[float, Scores], present: float) -> tuple[float, Counter[float]]:
    """Choose a value for each fold by the others; return the mean score of the choices, and how often each was made."""
    chosen: Counter[float] = Counter()
    held_out: Scores = {}
    for fold in range(_FOLDS):
        outside = {
            value: mean_of_sets({trial: one for trial, one in found.items() if trial.fold != fold})
            for value, found in by_value.items()
        }
        best = max(outside, key=lambda value: (round(outside[value], 6), value == present))
        chosen[best] += 1
        held_out |= {trial: one for trial, one in by_value[best].items() if trial.fold == fold}
    return mean_of_sets(held_out), chosen


def report(threshold: Threshold, now: Scores, affected: dict[Trial, set[Setting]], options: argparse.Namespace) -> str:
    """Measure all values of a threshold; return a row of a table."""
    present = getattr(*places_of(threshold)[0])
    now = without_some(threshold, now, affected, options.most)
    by_value, n_decided = {present: now}, {}
    for value in threshold.others:
        by_value[value] = scores_with((threshold, value), now, affected)
        n_decided[value] = sum((threshold, value) in settings for settings in affected.values())
        if options.verbose:
            for trial, one in by_value[value].items():
                if abs(one - now[trial]) > 1e-3:
                    print(f"    {threshold.name} = {value:g}: {trial.set} {trial.name}: {now[trial]:.3f}, {one:.3f}")
    held_out, chosen = cross_validate(by_value, present)
    base = mean_of_sets(now)
    others = ", ".join(
        f"{value:g}: " + (f"{mean_of_sets(by_value[value]) - base:+.4f} ({n})" if n else "–")
        for value, n in sorted(n_decided.items())
    )
    folds = ", ".join(f"{value:g} ({n})" for value, n in sorted(chosen.items()))
    return f"| `{threshold.group}` `{threshold.name}` | {present:g} | {others} | {folds} | {held_out - base:+.4f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--columns", type=int, default=60, help="columns in halves, and pairs of strangers")
    parser.add_argument("--rows", type=int, default=1 << 30, help="leaves out cases with a larger table")
    parser.add_argument("--most", type=int, default=1 << 30, help="cases run again for each threshold, drawn by a hash")
    parser.add_argument("--sets", nargs="*", help="names of sets; all by default")
    parser.add_argument("--group", nargs="*", help="parts of module names")
    parser.add_argument("--only", nargs="*", help="names of thresholds")
    parser.add_argument("--verbose", action="store_true", help="each trial that another value changes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    thresholds = [
        one
        for one in THRESHOLDS
        if (not options.only or one.name in options.only)
        and (not options.group or any(part in one.group for part in options.group))
    ]
    sets = trials(options.cases, options.lake, options.columns, options.rows)
    now: Scores = {}
    affected: dict[Trial, set[Setting]] = {}
    for name in options.sets or sets:
        start = time.process_time()
        found, noted = watch(list(sets[name]()), thresholds)
        now, affected = now | found, affected | noted
        print(
            f"{name}: {mean_of_sets(found):.4f} of {len(found)} cases, {time.process_time() - start:.0f} s", flush=True
        )
    print(f"all sets: {mean_of_sets(now):.4f} of {len(now)} cases\n")
    print("| constant | value | others: change of the score (cases it decides otherwise) | folds choose | held out |")
    print("|---|---|---|---|---|", flush=True)
    for threshold in thresholds:
        print(report(threshold, now, affected, options), flush=True)


if __name__ == "__main__":
    main()
