"""Are the thresholds of learned joins the right ones on cases that did not choose them?
``python -m tests.benchmarks.thresholds CASES LAKE [--columns 60] [--only NAME ...]``.

Each threshold is set to other values, one at a time. A case scores its F1, and 0 < F1 only if something is joined; a
column of the lake that is dealt out to two frames (`halves`) scores 1 if nothing is joined. For each fold, cases drawn by
a hash of their names, the value is chosen that is best on the other folds (the present one, if it is as good), and scored
on the fold. Printed are the mean score of each value, the values that the folds chose, and the score of that choice on
cases that took no part in it: what to expect elsewhere.
"""

from __future__ import annotations

import argparse
import importlib
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pandas as pd

import dfjoin
from tests.benchmarks.halves import columns, joined
from tests.benchmarks.joins import joined_pairs
from tests.benchmarks.transform import Case, cases, score

_SETS = ("autojoin_web", "flashfill_spreadsheet", "sema_join")
_FOLDS = 6
_SEED = 3


class Threshold(NamedTuple):
    """A constant of a module, and other values for it."""

    module: str
    name: str
    others: tuple[float, ...]


THRESHOLDS = (
    Threshold("dfjoin.transform.accept", "MIN_BITS", (5.0, 20.0)),
    Threshold("dfjoin.transform.accept", "MIN_PRECISION", (0.8, 0.95)),
    Threshold("dfjoin.transform.accept", "MIN_COVERAGE", (0.15, 0.5)),
    Threshold("dfjoin.transform.accept", "MIN_SCORE", (0.3, 0.8)),
    Threshold("dfjoin.transform.accept", "_MIN_PART_SCORE", (0.5, 1.6)),
    Threshold("dfjoin.transform.accept", "_MORE_WHOLE", (0.05, 0.3)),
    Threshold("dfjoin.transform.accept", "_MIN_RELATIVE_SCORE", (0.2, 0.7)),
    Threshold("dfjoin.transform.outcome", "_MANY", (1.2, 2.5)),
    Threshold("dfjoin.join.key_evidence", "_MIN_AGREEING", (0.5, 0.95)),
    Threshold("dfjoin.join.key_evidence", "_MIN_BITS", (5.0, 20.0)),
    Threshold("dfjoin.join.relate", "_MIN_SHARE_ALIKE", (0.05, 0.4)),
    Threshold("dfjoin.join.frame_join", "_WIDER", (1.0, 1.5)),
)


def fold_of(name: str) -> int:
    """Draw the fold of a case by the hash of its name."""
    return zlib.crc32(name.encode()) % _FOLDS


def f1_of(case: Case) -> float:
    """Join the frames of a case as a user does; return F1."""
    try:
        found, _ = joined_pairs(case, known=False, fuzzy=True)
    except dfjoin.errors.InvalidParameterError:  # two pairs of columns join equally well
        found = set()
    return score(found, case.truth)[2]


def scores(folder: Path, halves: list[tuple[str, pd.Series]]) -> dict[str, float]:
    """Score all cases with the thresholds as they are now; of cases that need knowledge only the precision counts."""
    found = {f"halves {name}": float(not joined(values)) for name, values in halves}
    for name in _SETS:
        for case in cases(folder / name):
            if name == "sema_join":
                pairs, _ = joined_pairs(case, known=False, fuzzy=True)
                found[f"{name} {case.name}"] = score(pairs, case.truth)[0]
            else:
                found[f"{name} {case.name}"] = f1_of(case)
    return found


def mean_of_sets(found: dict[str, float]) -> float:
    """Average over the cases of each set, then over the sets."""
    frame = pd.Series(found)
    return float(frame.groupby([name.split(" ")[0] for name in frame.index]).mean().mean())


def cross_validate(by_value: dict[float, dict[str, float]], present: float) -> tuple[float, Counter[float]]:
    """Choose a value for each fold by the others; return the mean score of the choices, and how often each was made."""
    chosen: Counter[float] = Counter()
    held_out: dict[str, float] = {}
    for fold in range(_FOLDS):
        outside = {
            value: mean_of_sets({name: one for name, one in found.items() if fold_of(name) != fold})
            for value, found in by_value.items()
        }
        best = max(outside, key=lambda value: (round(outside[value], 6), value == present))
        chosen[best] += 1
        held_out |= {name: one for name, one in by_value[best].items() if fold_of(name) == fold}
    return mean_of_sets(held_out), chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--columns", type=int, default=60)
    parser.add_argument("--only", nargs="*", help="names of thresholds")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    halves = list(columns(options.lake, options.columns, _SEED))
    now = scores(options.cases, halves)
    print(f"as it is: {mean_of_sets(now):.4f} over {len(now)} cases", flush=True)
    for threshold in THRESHOLDS:
        if options.only and threshold.name not in options.only:
            continue
        module = importlib.import_module(threshold.module)
        present = getattr(module, threshold.name)
        by_value = {present: now}
        for value in threshold.others:
            setattr(module, threshold.name, value)
            by_value[value] = scores(options.cases, halves)
            setattr(module, threshold.name, present)
        held_out, chosen = cross_validate(by_value, present)
        means = ", ".join(f"{value:g}: {mean_of_sets(found):.4f}" for value, found in sorted(by_value.items()))
        print(f"{threshold.module} {threshold.name} = {present:g}: {means}; folds chose {dict(chosen)}, held out "
              f"{held_out:.4f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
