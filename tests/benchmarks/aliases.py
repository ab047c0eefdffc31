"""Joins of names of one thing: ``python -m tests.benchmarks.aliases CASES [CASES …]``.

Every case of `sema_join` and `dataxformer_kbwt` is joined twice with its key columns named: with the table of names, and without it
(``aliases=False``). A pair of values is right if the truth has it. Cases that the table relates are listed.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import pandas as pd

import dfjoin


def joined_pairs(case: Path, aliases: bool) -> tuple[set[tuple[str, str]], set[tuple[str, str]], str]:
    """Join a case; return its pairs of values, the true ones, and what the report says of the relation."""
    meta = json.loads((case / "meta.json").read_text())
    left, right, truth = (
        pd.read_csv(case / f"{name}.csv", dtype=str, keep_default_na=False) for name in ("left", "right", "truth")
    )
    own, theirs = meta["left_key"], meta["right_key"]
    right = right.sample(frac=1, random_state=0).rename(columns={theirs: "their key"})
    wide = dfjoin.auto_join(
        left[[own]].drop_duplicates(), right[["their key"]].drop_duplicates(), on=own, right_on="their key",
        aliases=aliases, aggregate=None, max_expansion=1e6, on_no_match="ignore",
    )  # fmt: skip
    pairs = (
        set() if "their key" not in wide else set(wide[[own, "their key"]].dropna().itertuples(index=False, name=None))
    )
    shown = "; ".join(line.strip() for line in str(dfjoin.report(wide)).split("\n") if line.startswith("  by "))
    return pairs, set(truth[["left_key", "right_key"]].itertuples(index=False, name=None)), shown


def main(arguments: list[str] | None = None) -> None:
    """Join all cases, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    for folder in options.cases:
        counts = {aliases: [0, 0, 0, 0] for aliases in (False, True)}
        spent = dict.fromkeys(counts, 0.0)
        cases = sorted(path.parent for path in folder.glob("*/meta.json"))
        for case in cases:
            for aliases, own in counts.items():
                start = time.process_time()
                pairs, truth, shown = joined_pairs(case, aliases)
                spent[aliases] += time.process_time() - start
                right = len(pairs & truth)
                for i, n in enumerate((right, len(pairs), len(truth), bool(pairs))):
                    own[i] += n
                if aliases and "entity(" in shown:
                    print(
                        f"{folder.name}/{case.name}: {right} of {len(pairs)} right, {len(truth)} true: {shown}",
                        flush=True,
                    )
        for aliases, (right, n, true, n_joined) in counts.items():
            print(f"{folder.name}, {'with' if aliases else 'without'} names: precision {right / max(1, n):.3f}, "
                  f"recall {right / true:.3f}, {n_joined} of {len(cases)} cases joined, {spent[aliases]:.0f} CPU s")  # fmt: skip


if __name__ == "__main__":
    main()
