"""Is what is claimed what is reached? ``python -m tests.benchmarks.claims [--relations 200] [--gains SEEDS] [--asked CASES]``.

The precision of joins, and with ``--gains`` by what share augmentation lowers the loss, on the cases of
`tests.benchmarks.augmentation_truth` that have something to be found. With ``--asked``: the precision that is asked for,
and the one that is reached, of joins of records with the key named, among the pairs that the case judges.

Generated relations of names and codes: two tables of which a part is the same persons or parts, in two spellings, some of
which do not tell everybody apart (initials, user names, cut codes). Printed are the mean claim and the mean truth of
the relations that were joined, by kind and in all; the claims of programs and of likeness are weighed by their rows.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin
from tests.benchmarks import augmentation_truth

_LETTERS = np.array(list("abcdeghiklmnoprstuvw"))


def _words(rng: np.random.Generator, n: int) -> list[str]:
    lengths = rng.integers(3, 9, n)
    return ["".join(rng.choice(_LETTERS, length)).capitalize() for length in lengths]


def _persons(rng: np.random.Generator, n: int) -> list[tuple[str, ...]]:
    drawn = []
    for offset in (n / 20, n / 5):
        weights = 1 / (np.arange(2 * n) + offset)
        drawn.append(rng.choice(_words(rng, 2 * n), 3 * n, p=weights / weights.sum()).tolist())
    return list(dict.fromkeys(zip(*drawn, strict=True)))[:n]


def _codes(rng: np.random.Generator, n: int) -> list[tuple[str, ...]]:
    makers = [word[:3].upper() for word in _words(rng, 12)]
    found = {
        (makers[rng.integers(12)], f"{rng.integers(10**5):05d}", str(rng.integers(1, 5))): None for _ in range(3 * n)
    }
    return list(found)[:n]


_Spelling = Callable[..., str]
KINDS: dict[str, tuple[Callable[..., list[tuple[str, ...]]], _Spelling, _Spelling]] = {
    "last, first": (_persons, lambda a, b: f"{b}, {a}", lambda a, b: f"{a} {b}"),
    "initial": (_persons, lambda a, b: f"{a[0]}. {b}", lambda a, b: f"{a} {b}"),
    "user name": (_persons, lambda a, b: f"{a[0]}{b[:7]}".lower(), lambda a, b: f"{a} {b}"),
    "e-mail": (_persons, lambda a, b: f"{a}.{b}@example.org".lower(), lambda a, b: f"{b} {a}"),
    "code, spaced": (_codes, lambda a, b, c: f"{a} {b} {c}", lambda a, b, c: f"{a}{b}-{c}"),
    "code, cut": (_codes, lambda a, b, _: f"{a}-{b[1:]}", lambda a, b, c: f"{a}/{b}/{c}"),
    "number of a code": (_codes, lambda _a, b, _c: f"no. {b}", lambda a, b, c: f"{a}-{b}-{c}"),
}


def relation(kind: str, seed: int) -> tuple[float, float] | None:
    """Generate one relation, join it; return claim and truth, or None if nothing was joined."""
    rng = np.random.default_rng(seed)
    things, own, theirs = KINDS[kind]
    n, overlap = int(rng.choice([60, 150, 400, 1000])), float(rng.uniform(0.25, 0.95))
    made = things(rng, int(n * (2 - overlap)))
    start = n - int(n * overlap)
    left = pd.DataFrame({"own": [own(*thing) for thing in made[:n]], "thing": range(n)})
    right = pd.DataFrame({"theirs": [theirs(*thing) for thing in made[start : start + n]]})
    right = right.assign(thing_there=range(start, start + len(right))).sample(frac=1, random_state=seed)
    wide = dfjoin.auto_join(
        left, right, on="own", right_on="theirs", how="inner", aggregate=None, max_expansion=1e6, on_no_match="ignore"
    )
    joined = wide.attrs["dfjoin"]["joined"]
    if not joined or not len(wide) or "thing_there" not in wide or "relation" not in joined[0]:
        return None
    found = joined[0]["relation"]
    claims = [(p["support"], p["precision"]) for p in found.get("transform", {}).get("programs", [])]
    if "fuzzy" in found:
        claims.append((found["fuzzy"]["n_pairs"], found["fuzzy"]["estimated_precision"]))
    weights = np.array([weight for weight, _ in claims], float)
    claim = float(np.average([claim for _, claim in claims], weights=weights)) if weights.sum() else 1.0
    return claim, float((wide["thing"] == wide["thing_there"]).mean())


def measure(n: int) -> pd.DataFrame:
    """Claims and truths of n relations, those kinds in turn; one row each that was joined."""
    rows = []
    for number in range(n):
        kind = list(KINDS)[number % len(KINDS)]
        found = relation(kind, number)
        if found is not None:
            rows.append({"kind": kind, "claim": found[0], "truth": found[1]})
    return pd.DataFrame(rows, columns=["kind", "claim", "truth"])


def measure_gains(seeds: int) -> pd.DataFrame:
    """Return for each case and seed by what share the loss falls, as claimed by the report and as reached on other rows."""
    rows = [augmentation_truth.measure(name, seed) for name in augmentation_truth.CASES for seed in range(seeds)]
    found = pd.DataFrame(rows)
    return found.loc[found["share"].notna(), ["case", "claimed", "reached", "share"]]


def measure_asked(folder: Path) -> pd.DataFrame:
    """Join the two tables of each case on its key, at several precisions; a row for each."""
    rows = []
    for place in sorted(path.parent for path in folder.glob("*/meta.json")):
        keys = json.loads((place / "meta.json").read_text("utf-8"))
        left, right = (
            pd.read_csv(place / f"{side}.csv").reset_index(names=f"{side}_row") for side in ("left", "right")
        )
        right = right.sample(frac=1, random_state=0)
        judged = pd.read_csv(place / "labelled.csv")
        for asked in (0.8, 0.9, 0.95, 0.98):
            wide = dfjoin.auto_join(
                left, right, on=keys["left_key"], right_on=keys["right_key"], how="inner", aggregate=None,
                max_expansion=1e6, on_no_match="ignore", precision=asked,
            )  # fmt: skip
            labels = judged.merge(wide[["left_row", "right_row"]])["label"]
            found = int(judged["label"].sum())
            rows.append((place.name, asked, len(wide), labels.mean(), labels.sum() / found))
    return pd.DataFrame(rows, columns=["case", "asked", "joined", "reached", "recall"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--relations", type=int, default=200)
    parser.add_argument("--gains", type=int, metavar="SEEDS", help="measure gains in place of precisions")
    parser.add_argument("--asked", type=Path, metavar="CASES", help="folder of er_magellan: precisions asked for")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.asked:
        print(measure_asked(options.asked).to_string(index=False, float_format="{:.3f}".format))
        return
    if options.gains:
        found = measure_gains(options.gains)
        print(found.groupby("case", sort=False).mean().to_string(float_format="{:.3f}".format))
        gap = (found["claimed"] - found["reached"]).abs().mean()
        print(f"mean claim {found['claimed'].mean():.3f}, reached {found['reached'].mean():.3f}, mean difference {gap:.3f}; "
              f"of what all useful columns give {found['share'].mean():.3f}, at least {found['share'].min():.3f}")  # fmt: skip
        return
    made = measure(options.relations)
    by_kind = made.groupby("kind", sort=False).agg(
        joined=("claim", "size"), claim=("claim", "mean"), truth=("truth", "mean")
    )
    print(by_kind.to_string(float_format="{:.3f}".format))
    print(f"all: {len(made)} of {options.relations} joined, mean claim {made['claim'].mean():.3f}, mean truth "
          f"{made['truth'].mean():.3f}, mean difference {(made['claim'] - made['truth']).abs().mean():.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
