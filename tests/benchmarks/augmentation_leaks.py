"""Are leaks of the target told, and strong features let pass? ``python -m tests.benchmarks.augmentation_leaks [--seeds 3]``.

Sixteen designs of tables that are made of the target, and eight of strong features that were there before it, each for three kinds
of targets: numbers, two classes, four classes. A leak is missed if none of its columns is refused or told as suspicious; a strong feature
is wrongly refused if it is refused, and wrongly suspected if it is told as suspicious. All designs were seen in development.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import dfjoin

_ROWS = 900
_GROUPS = 150


class Rows(NamedTuple):
    """Rows with a target: what a design is made of."""

    frame: pd.DataFrame
    y: pd.Series
    latent: np.ndarray
    group: np.ndarray
    rng: np.random.Generator

    @property
    def is_number(self) -> bool:
        """Whether the target is a number."""
        return pd.api.types.is_float_dtype(self.y.dtype)

    def keyed(self, **columns: Any) -> pd.DataFrame:
        """Make a table with a row for each row of the frame."""
        return pd.DataFrame({"site": self.frame["site"], **columns})

    def mapped(self, to: dict[str, Any]) -> pd.Series:
        """Give each class another name."""
        return self.y.map(to)


_CLASSES = {"two": ["no", "yes"], "four": ["dry", "mild", "wet", "wild"]}


def rows_of(kind: str, rng: np.random.Generator) -> Rows:
    """Draw rows of a kind of target: numbers, two classes, or four; a group of six rows has an effect of its own."""
    group = np.repeat(np.arange(_GROUPS), _ROWS // _GROUPS)
    own, effect = rng.normal(size=_ROWS), rng.normal(size=_GROUPS)
    latent = own + effect[group] + rng.normal(size=_ROWS)
    days = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 300, _ROWS), unit="D")
    frame = pd.DataFrame(
        {
            "site": [f"s{n:06x}q" for n in rng.choice(1 << 24, _ROWS, replace=False)],
            "area": np.array([f"area {chr(65 + g // 26)}{chr(65 + g % 26)}x" for g in range(_GROUPS)])[group],
            "own": own,
            "day": days,
        }
    )
    if kind == "numbers":
        return Rows(frame, pd.Series(np.exp(4 + latent / 2).round(3), name="cost"), latent, group, rng)
    names = _CLASSES[kind]
    cuts = np.quantile(latent, np.arange(1, len(names)) / len(names))
    y = pd.Series(np.array(names)[np.searchsorted(cuts, latent)], name="outcome")
    return Rows(frame, y, latent, group, rng)


def _flipped(rows: Rows, share: float) -> pd.Series:
    """Give some rows the class of another row."""
    is_other = rows.rng.random(_ROWS) < share
    return rows.y.where(~is_other, rows.y.to_numpy()[rows.rng.permutation(_ROWS)])


def _noisy(rows: Rows, share: float) -> pd.Series:
    if rows.is_number:
        return rows.y + share**0.5 * rows.y.std() * rows.rng.normal(size=_ROWS)
    return _flipped(rows, share)


def _unit(rows: Rows) -> pd.DataFrame:
    names = dict(zip(_CLASSES["four"] + _CLASSES["two"], "3102ba", strict=True))
    return rows.keyed(value=2.54 * rows.y + 17 if rows.is_number else rows.mapped(names))


def _in_texts(rows: Rows) -> pd.DataFrame:
    return rows.keyed(value=rows.y.map(lambda v: f"$ {v:,.2f}" if rows.is_number else f"result: {v}"))


def _ranked(rows: Rows) -> pd.DataFrame:
    return rows.keyed(value=rows.y.rank(method="first" if rows.is_number else "dense"))


def _banded(rows: Rows, n: int) -> pd.DataFrame:
    if rows.is_number:
        return rows.keyed(value=pd.qcut(rows.y, n).map(lambda band: f"from {band.left:.0f}").astype(str))
    kind = rows.rng.integers(0, n // 5, _ROWS)  # each class in several kinds, or two classes in one
    return rows.keyed(
        value=[f"{v}{k}" for v, k in zip(rows.y, kind, strict=True)] if n > 5 else rows.y.isin(["yes", "dry", "mild"])
    )


def _part_of_rows(rows: Rows) -> pd.DataFrame:
    return rows.keyed(value=rows.y, other=rows.rng.normal(size=_ROWS)).iloc[: _ROWS * 6 // 10]


def _parts(rows: Rows) -> pd.DataFrame:
    if rows.is_number:
        shares = rows.rng.dirichlet([2, 2, 2], _ROWS) * rows.y.to_numpy()[:, None]
        return rows.keyed(material=shares[:, 0], wages=shares[:, 1], transport=shares[:, 2])
    last = _CLASSES["two"][1:] + _CLASSES["four"][2:]
    is_last, which = rows.y.isin(last).to_numpy(), rows.rng.integers(0, 2, _ROWS)
    odd = rows.y.isin(["mild", "wild"]).to_numpy() if rows.y.nunique() > 2 else which == 1
    return rows.keyed(first=is_last & odd, second=is_last & ~odd, third=odd if rows.y.nunique() > 2 else False)


def _group_mean(rows: Rows) -> pd.DataFrame:
    """Give each area the mean of the target over its rows."""
    share = rows.y if rows.is_number else (rows.y == rows.y.iloc[0]).astype(float)
    return share.groupby(rows.frame["area"]).mean().rename("typical").reset_index()


def _group_mean_of_more(rows: Rows) -> pd.DataFrame:
    """Give each area the mean over its rows and as many that the frame lacks."""
    share = rows.y if rows.is_number else (rows.y == rows.y.iloc[0]).astype(float)
    group = share.groupby(rows.frame["area"])
    spread = float(group.std().mean())
    more = (
        group.mean().mean()
        + (group.mean() - group.mean().mean()) * 0.7
        + spread * rows.rng.normal(size=_GROUPS) / 6**0.5
    )
    return ((2 * group.mean() + more) / 3).rename("typical").reset_index()


def _sibling(rows: Rows) -> pd.DataFrame:
    """Measure with the target what follows from it: the tax of a price, what is done after an outcome."""
    if rows.is_number:
        return rows.keyed(tax_of_cost=rows.y * rows.rng.choice([0.07, 0.19, 0.12], _ROWS))
    return rows.keyed(outcome_seen=_flipped(rows, 0.2))


def _filled_after(rows: Rows) -> pd.DataFrame:
    """Fill a column only where the target is what it is after the fact."""
    is_filled = rows.y > rows.y.median() if rows.is_number else rows.y.isin(["yes", "wet", "wild"])
    return rows.keyed(closed_by=pd.Series(rows.rng.choice(["ann", "bob", "cy"], _ROWS)).where(is_filled))


def _copy(rows: Rows) -> pd.DataFrame:
    return rows.frame.assign(target=rows.y, remark=rows.rng.choice(["a", "b", "c"], _ROWS))


LEAKS: dict[str, Callable[[Rows], pd.DataFrame]] = {
    "the target": lambda rows: rows.keyed(value=rows.y),
    "other unit or names": _unit,
    "within texts": _in_texts,
    "ranked": _ranked,
    "ten bands, kinds of classes": lambda rows: _banded(rows, 10),
    "five bands, joined classes": lambda rows: _banded(rows, 5),
    "noise of 0.1 %": lambda rows: rows.keyed(value=_noisy(rows, 0.001)),
    "noise of 1 %": lambda rows: rows.keyed(value=_noisy(rows, 0.01)),
    "noise of 4 %": lambda rows: rows.keyed(value=_noisy(rows, 0.04)),
    "some rows": _part_of_rows,
    "parts": _parts,
    "group means": _group_mean,
    "group means of more rows": _group_mean_of_more,
    "sibling": _sibling,
    "filled afterwards": _filled_after,
    "copy of the frame": _copy,
}


def _latent(rows: Rows, noise: float) -> np.ndarray:
    return rows.latent + noise * rows.rng.normal(size=_ROWS)


def _lag(rows: Rows, days: int) -> pd.DataFrame:
    """Measure nearly the same some days before."""
    when = rows.frame["day"] - pd.to_timedelta(days, unit="D")
    return rows.keyed(seen=when, value=_noisy(rows, 0.03))


def _last_year(rows: Rows) -> pd.DataFrame:
    """Give each area the mean of last year: the same effect, other rows."""
    effect = pd.Series(rows.latent - rows.frame["own"]).groupby(rows.frame["area"])
    other = effect.mean() + rows.rng.normal(size=_GROUPS) / 6**0.5
    return other.rename("typical").reset_index()


STRONG: dict[str, Callable[[Rows], pd.DataFrame]] = {
    "lag, as_of": lambda rows: _lag(rows, 30),
    "lag, dates": lambda rows: _lag(rows, 30),
    "lag of a day, as_of": lambda rows: _lag(rows, 1),
    "driver": lambda rows: rows.keyed(force=_latent(rows, 0.5)),
    "driver, other scale": lambda rows: rows.keyed(force=np.exp(_latent(rows, 0.6))),
    "levels": lambda rows: rows.keyed(level=pd.qcut(_latent(rows, 0.6), 4, labels=["low", "some", "much", "most"]).astype(str)),
    "area's own fact": lambda rows: pd.DataFrame(
        {"area": rows.frame["area"], "fact": (rows.latent - rows.frame["own"])}
    ).groupby("area", as_index=False).mean().assign(fact=lambda t: t["fact"] + 0.7 * rows.rng.normal(size=len(t))),
    "last year's mean": _last_year,
}  # fmt: skip


def measure(design: str, kind: str, seed: int) -> dict[str, Any]:
    """Fit to a lake of one design; say what was made of its columns."""
    rows = rows_of(kind, np.random.default_rng(seed))
    table = (LEAKS | STRONG)[design](rows)
    index = Path(tempfile.mkdtemp()) / "lake"
    lake = dfjoin.build_lake({"t": table}, index, engine="inline", progress=False)
    options = {"as_of": "day"} if "as_of" in design else {}
    start = time.process_time()
    found = dfjoin.LakeAugmenter(
        lake, on=["site"] if "site" in table else ["area"], max_hops=1, select=None, random_state=seed, **options
    )
    report = found.fit(rows.frame, rows.y).report_
    told = report.refused or report.suspicious
    why = next(iter(told.values()), next(iter(report.known_before.values()), ""))
    level = "refused" if report.refused else "suspicious" if report.suspicious else "passes"
    return {"design": design, "target": kind, "told": level, "why": why, "CPU s": time.process_time() - start}


def main() -> None:
    """Print what was made of each design, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="designs; all by default")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [name for name in LEAKS | STRONG if not options.only or name in options.only]
    kinds = ("numbers", "two", "four")
    found = pd.DataFrame([measure(n, kind, seed) for n in names for kind in kinds for seed in range(options.seeds)])
    shown = found.groupby(["design", "target"], sort=False).agg({"told": ", ".join, "why": "first"})
    print(shown.to_string(max_colwidth=110))
    is_leak = found["design"].isin(list(LEAKS))
    missed = (is_leak & (found["told"] == "passes")).sum()
    refused, suspected = ((~is_leak & (found["told"] == level)).sum() for level in ("refused", "suspicious"))
    print(
        f"{missed} of {is_leak.sum()} leaks missed; of {(~is_leak).sum()} strong features {refused} refused, {suspected} suspected; "
        f"{found['CPU s'].mean():.2f} CPU s each"
    )


if __name__ == "__main__":
    main()
