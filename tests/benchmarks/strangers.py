"""Tables that have nothing to do with each other: ``python -m tests.benchmarks.strangers LAKE [--pairs 400]``.

Pairs of real tables of different sources (15 to 3,000 rows), joined with default arguments. Each join is listed with
its evidence and some of its pairs, for a reader to judge: an accident, or a key that both sources know.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin
from tests.benchmarks.halves import tables

_FEWEST, _MOST = 15, 3_000
_SHOWN = 4


def drawn(lake: Path, n: int, seed: int) -> list[tuple[str, pd.DataFrame]]:
    """Draw tables of fitting size, at most a twentieth of them from one source."""
    found: list[tuple[str, pd.DataFrame]] = []
    sources: Counter[str] = Counter()
    for name, frame in tables(lake, np.random.default_rng(seed)):
        source = name.split("/")[0]
        if _FEWEST <= len(frame) <= _MOST and frame.shape[1] > 1 and sources[source] < max(2, n // 20):
            sources[source] += 1
            found.append((name, frame))
            if len(found) == n:
                break
    return found


Named = tuple[str, pd.DataFrame]


def stranger_pairs(lake: Path, n: int, seed: int) -> Iterator[tuple[Named, Named]]:
    """Draw pairs of tables of different sources."""
    rng = np.random.default_rng(seed)
    made = drawn(lake, 200, seed)
    while n:
        one, other = (made[i] for i in rng.choice(len(made), 2, replace=False))
        if one[0].split("/")[0] != other[0].split("/")[0]:
            n -= 1
            yield one, other


def evidence(wide: pd.DataFrame) -> str:
    """Return the report of a join without what was only tried, and some of its pairs."""
    (step,) = wide.attrs["dfjoin"]["joined"]
    lines = [line for line in str(dfjoin.report(wide)).split("\n") if not line.startswith(("tried", "passed"))]
    keys = [*step["on"], *[c["name"] for c in step["columns"] if c["column"] in step["right_on"]]]
    some = wide[[key for key in dict.fromkeys(keys) if key in wide]].drop_duplicates().head(_SHOWN)
    return "\n".join([*lines[1:], *("  " + " | ".join(map(str, row)) for row in some.values.tolist())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    spent, n_joined, kinds = [], 0, Counter()
    for (name, left), (other, right) in stranger_pairs(options.lake, options.pairs, options.seed):
        start = time.process_time()
        try:
            wide = dfjoin.auto_join(left, right, how="inner", aggregate=None, max_expansion=1e6, on_no_match="ignore")
        except dfjoin.errors.InvalidParameterError as error:
            print(f"{name} + {other}: {error}")
            continue
        spent.append(time.process_time() - start)
        if wide.attrs["dfjoin"]["joined"]:
            n_joined += 1
            relation = wide.attrs["dfjoin"]["joined"][0].get("relation", {})
            kinds["fuzzy" if "fuzzy" in relation else "program" if relation else "equal"] += 1
            print(f"{n_joined}. {name} + {other}\n    " + evidence(wide).replace("\n", "\n    "), flush=True)
    print(f"{n_joined} of {options.pairs} pairs joined: {dict(kinds)}; CPU p95 {np.quantile(spent, 0.95):.2f} s, "
          f"most {max(spent):.1f} s")  # fmt: skip


if __name__ == "__main__":
    main()
