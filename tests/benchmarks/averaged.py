"""Which columns of numbers are averaged in joins with a lake: to be looked at, since no code should be among them.

``python -m tests.benchmarks.averaged INDEX [--joins 200] [--seed 1]`` joins columns of tables of the lake with the lake
itself, repeated keys only, and prints each column of numbers whose mean was taken, with the facts that decided it.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.errors import DfjoinError
from dfjoin.index.catalog import KINDS
from dfjoin.store.table import LakeTable

_ROWS = 300
"""Rows of a table that are joined with the lake."""


def averaged_columns(lake: dfjoin.Lake, n_joins: int, seed: int) -> pd.DataFrame:
    """Join columns of a lake with other tables of it, and list the columns of numbers whose mean was taken.

    Parameters
    ----------
    lake : Lake
    n_joins : int
        Joins that average a column of numbers or treat one as a code.
    seed : int

    Returns
    -------
    DataFrame
        `table`, `column`, `rule`, and of the whole column: `kind`, `n_rows`, `cardinality`, `min`, `max`.
    """
    random = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    names = sorted(lake.tables["table"])
    n_done = 0
    for name in random.permutation(names):
        if n_done >= n_joins:
            break
        try:
            frame = lake.table(name)
            keys = [column for column in frame.columns if frame[column].nunique() >= 5]
            if not keys:
                continue
            key = str(random.choice(keys))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                own = frame[[key]].drop_duplicates().head(_ROWS)
                wide = own.auto_join(lake, on=key, k=3, exclude=[name], on_no_match="ignore")
        except DfjoinError:
            continue
        found = [step for step in wide.attrs["dfjoin"]["joined"] if step["relationship"].endswith("m")]
        n_done += bool(found)
        for step in found:
            table = LakeTable(lake.snapshot, step["table"])
            for column in step["columns"]:
                record = table.record(column["column"])
                if KINDS[record["kind"]] in ("integer", "float", "decimal"):
                    told = {field: record[field] for field in ("n_rows", "n_null", "cardinality", "min", "max")}
                    rule = {"table": step["table"], "column": column["column"], "rule": column["rule"]}
                    rows.append(rule | {"kind": KINDS[record["kind"]]} | told)
    return pd.DataFrame(rows).drop_duplicates(["table", "column"], ignore_index=True)


def main() -> None:
    """Print the columns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index")
    parser.add_argument("--joins", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = averaged_columns(dfjoin.open_lake(options.index), options.joins, options.seed)
    with pd.option_context("display.width", 250, "display.max_colwidth", 60):
        for rule, part in found.groupby("rule"):
            print(f"\n{rule}: {len(part)} columns of {part['table'].nunique()} tables")
            print(part.sort_values(["kind", "column"]).drop(columns="rule").to_string(index=False))


if __name__ == "__main__":
    main()
