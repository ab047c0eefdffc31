"""`auto_join` of two frames against known truth: ``python -m tests.benchmarks.joins CASES_DIR [SET ...]``.

End to end, as a user calls it, with default arguments: the key columns unknown, the right rows shuffled by three
seeds. Precision, recall and F1, averaged over the cases of a set, and the share of cases solved (both are 1); the
spread over seeds; CPU time of a case.
``--settings`` measures given keys and programs alone beside, ``--precision`` asks likeness for another one than 0.95.
``--row-number`` adds a column ``id`` of row numbers to both frames, which relates nothing, in the place of one that they have. Truth is a set of row pairs, or of value pairs where a set says so.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin
from tests.benchmarks.transform import TABLES, Case, Pairs, cases, score

_ROW = "row number, and a half"  # no key: it is no whole number
_SETTINGS = {
    "default": (False, True),
    "programs": (False, False),
    "given": (True, True),
    "given, programs": (True, False),
}


def _frame(columns, row_number: bool) -> pd.DataFrame:
    frame = pd.DataFrame({name: array.to_pandas() for name, array in columns})
    if row_number:
        frame = frame.drop(columns="id", errors="ignore")
        frame.insert(0, "id", np.arange(len(frame)))
    return frame.assign(**{_ROW: np.arange(len(frame)) + 0.5})


def joined_pairs(
    case: Case, *, known: bool, fuzzy: bool, row_number: bool = False, precision: float = 0.95
) -> tuple[Pairs, str]:
    """Join the two frames of a case; return the pairs of the result, and how they were found."""
    wishes = {"on": case.keys[0], "right_on": case.keys[1]} if known else {}
    wide = dfjoin.auto_join(
        _frame(case.left, row_number), _frame(case.right, row_number), how="inner", aggregate=None, max_expansion=1e6,
        on_no_match="ignore", fuzzy=None if fuzzy else False, precision=precision, **wishes,
    )  # fmt: skip
    report = str(dfjoin.report(wide))
    if not wide.attrs["dfjoin"]["joined"]:
        return set(), report
    (added,) = [c for c in wide.columns if str(c).startswith(_ROW) and c != _ROW]
    rows = (wide[name].to_numpy().astype(np.int64) for name in (_ROW, added))
    return case.pairs(*rows), report


def measure(folder: Path, setting: str, options: argparse.Namespace) -> list[dict[str, object]]:
    """Score a set in one setting; one row for each case and seed."""
    known, fuzzy = _SETTINGS[setting]
    asked = {"row_number": options.row_number, "precision": options.precision}
    rows: list[dict[str, object]] = []
    for seed in options.seeds:
        for case in cases(folder, seed):
            spent = time.process_time()
            try:
                found, report = joined_pairs(case, known=known, fuzzy=fuzzy, **asked)
            except dfjoin.errors.InvalidParameterError as error:  # two pairs of columns join equally well
                found, report = set(), str(error)
            spent = time.process_time() - spent
            precision, recall, f1 = score(found, case.truth)
            rows.append({
                "set": folder.name, "setting": setting, "seed": seed, "case": case.name, "joined": bool(found),
                "P": precision, "R": recall, "F1": f1, "cpu": spent,
            })  # fmt: skip
            if options.verbose:
                print(f"  {seed} {case.name[:50]:50s} {precision:.3f} {recall:.3f} {f1:.3f} {spent:6.2f} s", flush=True)
            if options.verbose > 1 and f1 < 0.99:
                print("    " + report.replace("\n", "\n    "), flush=True)
    return rows


def summarise(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Average over the cases, then over the seeds; the spread is between the best seed and the worst."""
    frame = pd.DataFrame(rows)
    frame["P joined"] = frame["P"].where(frame["joined"])
    frame["solved"] = (frame["P"] == 1) & (frame["R"] == 1)
    grouped = frame.groupby(["set", "setting"], sort=False)
    by_seed = frame.groupby(["set", "setting", "seed"], sort=False)[["P", "R", "F1"]].mean()
    spread = by_seed.groupby(["set", "setting"], sort=False).agg(lambda values: values.max() - values.min())
    by_case = frame.groupby(["set", "setting", "case"], sort=False)["F1"].agg(
        lambda values: values.max() - values.min()
    )
    made = grouped[["joined", "P", "P joined", "R", "F1", "solved"]].mean()
    made.insert(0, "cases", grouped["case"].nunique())
    made["spread P"], made["spread R"], made["spread F1"] = spread["P"], spread["R"], spread["F1"]
    made["unstable"] = (by_case > 0.02).groupby(["set", "setting"], sort=False).sum()
    made["cpu p50"], made["cpu p95"] = grouped["cpu"].median(), grouped["cpu"].quantile(0.95)
    made["cpu max"] = grouped["cpu"].max()
    return made.reset_index()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("sets", nargs="*", default=list(TABLES))
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--settings", nargs="*", choices=list(_SETTINGS), default=["default"])
    parser.add_argument("--precision", type=float, default=0.95, help="asked of likeness")
    parser.add_argument("--row-number", action="store_true", help="add a column id, 0..n, to both frames")
    parser.add_argument("--verbose", action="count", default=0, help="a line a case; twice: the report of poor ones")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.sets[:1]:  # kernels compile, or are read from their cache, before the first case is timed
        joined_pairs(next(iter(cases(options.directory / name, 1))), known=False, fuzzy=True)
    rows = [
        row
        for name in options.sets
        for setting in options.settings
        for row in measure(options.directory / name, setting, options)
    ]
    print(summarise(rows).to_string(index=False, float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
