"""`auto_join` of two frames against known truth: ``python -m tests.benchmarks.joins CASES_DIR [SET ...]``.

End to end, as a user calls it: the right rows shuffled, the key columns given and unknown, programs alone and
with the fuzzy join. Precision, recall and F1, averaged over the cases of a set.
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


def _frame(columns) -> pd.DataFrame:
    frame = pd.DataFrame({name: array.to_pandas() for name, array in columns})
    return frame.assign(**{_ROW: np.arange(len(frame)) + 0.5})


def joined_pairs(case: Case, *, known: bool, fuzzy: bool) -> Pairs:
    """Join the two frames of a case; return the pairs of the result."""
    wishes = {"on": case.keys[0], "right_on": case.keys[1]} if known else {}
    wide = dfjoin.auto_join(
        _frame(case.left), _frame(case.right), how="inner", aggregate=None, max_expansion=1e6, on_no_match="ignore",
        fuzzy=None if fuzzy else False, **wishes,
    )  # fmt: skip
    if not wide.attrs["dfjoin"]["joined"]:
        return set()
    (added,) = [c for c in wide.columns if str(c).startswith(_ROW) and c != _ROW]
    rows = (wide[name].to_numpy().astype(np.int64) for name in (_ROW, added))
    return case.pairs(*rows)


def measure(folder: Path, verbose: bool = False) -> list[dict[str, object]]:
    """Score a set in the four settings."""
    rows: list[dict[str, object]] = []
    made = list(cases(folder))
    for known in (False, True):
        for fuzzy in (False, True):
            scores, spent = [], time.perf_counter()
            for case in made:
                try:
                    found = joined_pairs(case, known=known, fuzzy=fuzzy)
                except dfjoin.errors.InvalidParameterError as error:  # two pairs of columns join equally well
                    print(f"  {case.name}: {error}")
                    found = set()
                scores.append((*score(found, case.truth), bool(found)))
                if verbose:
                    print(f"  {case.name}: " + " ".join(f"{v:.3f}" for v in scores[-1][:3]), flush=True)
            precision, recall, f1, joined = np.mean(scores, axis=0)
            rows.append({
                "set": folder.name, "keys": "given" if known else "unknown", "join": "with fuzzy" if fuzzy else "programs",
                "cases": len(made), "joined": joined, "P": precision, "R": recall, "F1": f1,
                "s": time.perf_counter() - spent,
            })  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("sets", nargs="*", default=list(TABLES))
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [row for name in options.sets for row in measure(options.directory / name, options.verbose)]
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
