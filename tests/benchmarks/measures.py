"""Which columns of numbers are measures and which are codes, against labels: ``python -m tests.benchmarks.measures INDEX``.

``judged_measures.csv`` has columns of numbers of a lake, drawn by a seed: of each source up to six of whole numbers whose
header leaves it open, and one other; each of a table of its own, read by a person, labelled `code`, `measure` or `open`
(either would be right, or nothing tells), with the reason. Printed are the errors as they are; with each constant of
`dfjoin.values.profile` neutral; with what each source's constants would be if the other sources chose them; and with
evidence of the lake, that the values of a column lie in a key of another table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.join.rows.right_side import TableFacts
from dfjoin.store.table import LakeTable
from dfjoin.values import profile
from dfjoin.values.header_meaning import number_meaning
from tests.benchmarks.watched import setting

JUDGEMENTS = Path(__file__).with_name("judged_measures.csv")

CONSTANTS: dict[str, tuple[float, tuple[float, ...]]] = {
    "_FEW_ROWS": (10**9, (10, 20, 30, 60)),
    "_FEW_NUMBERED": (10**9, (3, 5, 20)),
    "_FIXED_FROM": (1e300, (100, 10_000)),
}
"""Constant → a value with which its rule decides nothing, and other values."""


class Labelled(NamedTuple):
    """A labelled column: its source, header and numbers, and whether it is a measure."""

    source: str
    table: str
    name: str
    numbers: profile.NumberColumn
    is_measure: bool


def labelled(lake: dfjoin.Lake) -> list[Labelled]:
    """The labelled columns, without those that may be either."""
    judged = pd.read_csv(JUDGEMENTS, dtype=str).query("label != 'open'")
    found = []
    for table, name, label in zip(judged["table"], judged["column"], judged["label"], strict=True):
        numbers = TableFacts(LakeTable(lake.snapshot, table)).numbers(name)
        found.append(Labelled(table.split("/")[0], table, name, numbers, label == "measure"))
    return found


def wrong(columns: list[Labelled], told: Callable[[Labelled], bool] | None = None) -> np.ndarray:
    """Tell of each column whether it is taken for the other; `told` may tell that a column is a code."""
    answers = [profile.is_measured(one.name, one.numbers) and not (told is not None and told(one)) for one in columns]
    return np.array([answer != one.is_measure for answer, one in zip(answers, columns, strict=True)])


def report(name: str, columns: list[Labelled], errors: np.ndarray) -> None:
    """Print the codes that would be averaged, and the measures that would not."""
    truth = np.array([one.is_measure for one in columns])
    open_ = np.array([number_meaning(one.name) in ("", "number", "axis") for one in columns])
    told = "".join(
        f"{int((errors & ~truth & part).sum()):4d} of {int((~truth & part).sum())} codes averaged, "
        f"{int((errors & truth & part).sum()):3d} of {int((truth & part).sum())} measures not; "
        for part in (truth | ~truth, open_)
    )
    print(f"{name:44s} {told} (all; header leaves it open)")


def cross_validated(columns: list[Labelled], name: str, values: tuple[float, ...]) -> np.ndarray:
    """The errors on each source with the value of a constant that costs least on the others; at a tie as it is."""
    present = getattr(profile, name)
    by_value = []
    for value in (present, *values):
        with setting([(profile, name)], value):
            by_value.append(wrong(columns))
    table = np.array(by_value)
    sources = np.array([one.source for one in columns])
    costs = table * np.where([one.is_measure for one in columns], 1, _MISSED_CODE)
    out = np.zeros(len(columns), bool)
    for source in np.unique(sources):
        here = sources == source
        out[here] = table[int(costs[:, ~here].sum(axis=1).argmin()), here]
    return out


_MISSED_CODE = 2
"""A false mean counts so many times a mean that is not taken: in doubt there is none."""


def keys_elsewhere(lake: dfjoin.Lake, columns: list[Labelled], least: float) -> Callable[[Labelled], bool]:
    """Tell that a column is a code if a key of another table, whose numbers leave gaps, holds its values.

    `least` is the share of the values that the key has to hold.
    """
    found: dict[tuple[str, str], bool] = {}
    for one in columns:
        frame = lake.table(one.table)[[one.name]]
        hits = frame.discover_joinable(
            one.name, lake, k=50, rank="matched", threshold=least, exclude=[one.table], kinds=["integer"]
        )
        found[one.table, one.name] = any(_is_key(lake, hit) for hit in hits.to_dict("records"))
    return lambda one: found[one.table, one.name]


def _is_key(lake: dfjoin.Lake, hit: dict[str, Any]) -> bool:
    record = LakeTable(lake.snapshot, hit["table"], "ignore").record(hit["column"])
    n_values = record["n_rows"] - record["n_null"]
    span = record["max_integer"] - record["min_integer"] + 1
    return bool(n_values >= 20 and record["cardinality"] == n_values and span >= 3 * n_values)


def main() -> None:
    """Print the errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index")
    options = parser.parse_args()
    lake = dfjoin.open_lake(options.index)
    columns = labelled(lake)
    now = wrong(columns)
    report("as it is", columns, now)
    for one, is_wrong in zip(columns, now, strict=True):
        if is_wrong:
            print(f"    {'measure' if one.is_measure else 'code':8s}{one.name} of {one.table}")
    for name, (neutral, others) in CONSTANTS.items():
        with setting([(profile, name)], neutral):
            report(f"{name} neutral", columns, wrong(columns))
        for value in others:
            with setting([(profile, name)], value):
                report(f"{name} = {value:g}", columns, wrong(columns))
        report(f"{name} chosen by other sources", columns, cross_validated(columns, name, (neutral, *others)))
    for least in (0.9, 1.0):
        told = keys_elsewhere(lake, [one for one in columns if number_meaning(one.name) in ("", "number")], least)
        report(
            f"with a key of another table, {least:g} of the values",
            columns,
            wrong(columns, lambda one, told=told: number_meaning(one.name) in ("", "number") and told(one)),
        )


if __name__ == "__main__":
    main()
