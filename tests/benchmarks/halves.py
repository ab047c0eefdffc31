"""Columns that share nothing must not be joined: ``python -m tests.benchmarks.halves LAKE [--columns 1000]``.

The distinct values of one real column are dealt out to two frames at random, so that no value is in both and every
pair that is joined is wrong. Columns of all kinds, from tables drawn at random; dates are also given as datetimes.
Printed is each join with its report, and the share of joined columns by kind.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin

_MOST = 5_000
_FEWEST = 10


def tables(lake: Path, rng: np.random.Generator) -> Iterator[tuple[str, pd.DataFrame]]:
    """Read the tables of a lake in random order, at most 20,000 rows of each."""
    paths = sorted(path for path in lake.rglob("*") if path.suffix.lower() in (".csv", ".tsv") and path.is_file())
    for number in rng.permutation(len(paths)).tolist():
        try:
            frame = (
                pd.read_csv(paths[number], sep=None, engine="python", nrows=20_000)
                if (paths[number].stat().st_size < 200_000)
                else pd.read_csv(paths[number], nrows=20_000)
            )
        except Exception:  # what is odd or broken in a lake is not measured here
            continue
        yield str(paths[number].relative_to(lake)), frame.loc[:, ~frame.columns.duplicated()]


def kind(column: pd.Series) -> str:
    """Tell what a column holds."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return "datetime"
    if pd.api.types.is_integer_dtype(column):
        return "integer"
    if pd.api.types.is_float_dtype(column):
        return "float"
    digits = column.astype(str).str.fullmatch(r"[\d\s:/.,TZ+-]+").mean()
    return "text of digits" if digits > 0.9 else "text"


def columns(lake: Path, n: int, seed: int) -> Iterator[tuple[str, pd.Series]]:
    """Draw columns with enough distinct values, one of each table."""
    rng = np.random.default_rng(seed)
    for name, frame in tables(lake, rng):
        fitting = [label for label in frame if frame[label].nunique() >= _FEWEST * 2]
        if not fitting:
            continue
        label = fitting[int(rng.integers(len(fitting)))]
        values = pd.Series(frame[label].dropna().unique()).infer_objects()
        if values.dtype == bool or values.map(type).nunique() > 1:
            continue
        if kind(values) == "text of digits" and rng.random() < 0.5:
            parsed = pd.to_datetime(values, errors="coerce", format="mixed")
            if parsed.notna().all() and parsed.dt.year.between(1900, 2100).all():
                values = pd.Series(parsed.unique())
        yield f"{name} {label}", values.sample(min(len(values), _MOST), random_state=seed, ignore_index=True)
        n -= 1
        if n == 0:
            return


def joined(values: pd.Series) -> str:
    """Join the two halves of a column; return the report, empty if nothing was joined."""
    half = len(values) // 2
    left, right = values[:half], values[half:]
    canonical = [set(side.astype(str).str.casefold().str.strip()) for side in (left, right)]
    right = right[~right.astype(str).str.casefold().str.strip().isin(canonical[0])]
    wide = dfjoin.auto_join(
        pd.DataFrame({"a": left}), pd.DataFrame({"b": right.reset_index(drop=True)}), on_no_match="ignore",
        aggregate=None, max_expansion=1e6,
    )  # fmt: skip
    return str(dfjoin.report(wide)) if wide.attrs["dfjoin"]["joined"] else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--columns", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, values in columns(options.lake, options.columns, options.seed):
        spent = time.process_time()
        try:
            report = joined(values)
        except Exception as error:  # a crash counts as a failure of its own
            report = f"{type(error).__name__}: {error}"
        spent = time.process_time() - spent
        rows.append({"kind": kind(values), "joined": bool(report), "cpu": spent})
        if report:
            print(f"{name} ({len(values)} values, {kind(values)})\n    " + report.replace("\n", "\n    "), flush=True)
        if spent > 5:
            print(f"{name}: {spent:.1f} s", flush=True)
    frame = pd.DataFrame(rows)
    made = frame.groupby("kind").agg(columns=("joined", "size"), joined=("joined", "sum"), cpu_max=("cpu", "max"))
    print(made.to_string(float_format="{:.2f}".format))
    print(f"all: {frame['joined'].sum()} of {len(frame)} ({frame['joined'].mean():.2%}), CPU p95 "
          f"{frame['cpu'].quantile(0.95):.2f} s")  # fmt: skip


if __name__ == "__main__":
    main()
