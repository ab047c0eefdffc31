"""Are the tables that help found, and no others? ``python -m tests.benchmarks.augmentation_truth [--seeds 5]``.

Each case is a frame with a target and a lake of which it is known which tables tell of the target: parts of it, two columns that tell
something only together, tables one to four joins away, keys of two columns, misspelled keys, keys in another form, rows of which only
those of before a date may be known, weak tables that help together, and noise beside all of them. The share of the gain is what the choice gains on held-out rows, divided by what all tables that tell of the target gain. By what share the loss
falls is claimed by the report, and reached on rows that it has not seen.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import dfjoin
from tests.benchmarks.augmentation import encoded

_ROWS = 1_000
_NOISE_TABLES = 10


@dataclass
class TruthCase:
    """A frame, its target, the tables of a lake, those that tell of the target, and the columns that they tell it by.

    `options` are those of the augmenter, `settings` those of the index.
    """

    frame: pd.DataFrame
    y: np.ndarray
    tables: dict[str, pd.DataFrame]
    useful: set[str]
    facts: np.ndarray
    options: dict[str, object] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)


def _names(rng: np.random.Generator, n: int, letter: str = "k") -> np.ndarray:
    return np.array([f"{letter}{number:06x}q" for number in rng.choice(1 << 24, n, replace=False)])


def _base(rng: np.random.Generator, own: np.ndarray) -> tuple[np.ndarray, pd.DataFrame]:
    keys = _names(rng, len(own))
    return keys, pd.DataFrame({"site": keys, "own": own + 0.1 * rng.normal(size=len(own))})


def parts(rng: np.random.Generator) -> TruthCase:
    """Two tables tell a part each."""
    a, b, w = rng.normal(size=(3, _ROWS))
    keys, frame = _base(rng, w)
    tables = {"alpha": pd.DataFrame({"site": keys, "a": a}), "beta": pd.DataFrame({"site": keys, "b": b})}
    return TruthCase(
        frame, a + 0.5 * b + w + 0.3 * rng.normal(size=_ROWS), tables, set(tables), np.column_stack([a, b])
    )


def together_in_one(rng: np.random.Generator) -> TruthCase:
    """Two columns of one table tell something only together."""
    a, b, w = rng.normal(size=(3, _ROWS))
    keys, frame = _base(rng, w)
    tables = {"both": pd.DataFrame({"site": keys, "a": a, "b": b})}
    return TruthCase(frame, 1.5 * np.sign(a) * np.sign(b) + w, tables, {"both"}, np.column_stack([a, b]))


def together_in_two(rng: np.random.Generator) -> TruthCase:
    """Columns of two tables tell something only together."""
    case = together_in_one(rng)
    both = case.tables["both"]
    tables = {"left": both[["site", "a"]], "right": both[["site", "b"]]}
    return TruthCase(case.frame, case.y, tables, {"left", "right"}, case.facts)


def nothing(rng: np.random.Generator) -> TruthCase:
    """No table tells of the target."""
    w = rng.normal(size=_ROWS)
    _, frame = _base(rng, w)
    return TruthCase(frame, w + 0.5 * rng.normal(size=_ROWS), {}, set(), np.empty((_ROWS, 0)))


def weak(rng: np.random.Generator) -> TruthCase:
    """Eight tables tell a little each."""
    facts, w = rng.normal(size=(8, _ROWS)), rng.normal(size=_ROWS)
    keys, frame = _base(rng, w)
    tables = {f"weak{i}": pd.DataFrame({"site": keys, f"v{i}": fact}) for i, fact in enumerate(facts)}
    return TruthCase(frame, 0.35 * facts.sum(axis=0) + w, tables, set(tables), facts.T)


def categories(rng: np.random.Generator) -> TruthCase:
    """A text of five values tells of the target, beside one of five values that does not."""
    codes, w = rng.integers(0, 5, _ROWS), rng.normal(size=_ROWS)
    keys, frame = _base(rng, w)
    soils = np.array(["clay", "sand", "loam", "peat", "rock"])
    tables = {"ground": pd.DataFrame({"site": keys, "soil": soils[codes], "colour": rng.choice(soils, _ROWS)})}
    worth = rng.permutation(5)[codes].astype(float)
    return TruthCase(frame, worth + w, tables, {"ground"}, worth[:, None])


def snowflake(rng: np.random.Generator, n_levels: int) -> TruthCase:
    """Tables one behind the other, each with a part of the target."""
    w = rng.normal(size=_ROWS)
    keys, frame = _base(rng, w)
    tables, facts, name, size = {}, [], "site", _ROWS
    place = np.arange(_ROWS)
    for level in range(1, n_levels + 1):
        below = max(60, size // 2)
        codes = _names(rng, below, "abcdefgh"[level])
        points = np.concatenate([np.arange(below), rng.integers(0, below, max(0, size - below))])[:size]
        fact = rng.normal(size=size)
        tables[f"level{level}"] = pd.DataFrame({name: keys, f"fact{level}": fact, f"code{level}": codes[points]})
        facts.append(fact[place])
        place, keys, name, size = points[place], codes, f"code{level}", below
    y = np.sum(facts, axis=0) + w + 0.3 * rng.normal(size=_ROWS)
    return TruthCase(frame, y, tables, set(tables), np.column_stack(facts))


def two_keys(rng: np.random.Generator) -> TruthCase:
    """A table is reached by a place and a year together."""
    places, years = _names(rng, 100, "p"), np.arange(2000, 2010)
    grid = pd.DataFrame({"place": np.repeat(places, 10), "year": np.tile(years, 100), "level": rng.normal(size=1000)})
    w = rng.normal(size=1000)
    frame = grid[["place", "year"]].assign(own=w)
    shuffled = grid.sample(frac=1, random_state=0).reset_index(drop=True)
    y = grid["level"].to_numpy() + w + 0.3 * rng.normal(size=1000)
    return TruthCase(frame, y, {"levels": shuffled}, {"levels"}, grid[["level"]].to_numpy())


def repeated_rows(rng: np.random.Generator) -> TruthCase:
    """A table has several rows for each key; their mean tells of the target."""
    a, w = rng.normal(size=(2, _ROWS))
    keys, frame = _base(rng, w)
    visits = pd.DataFrame({"site": np.repeat(keys, 4), "reading": np.repeat(a, 4) + 0.4 * rng.normal(size=4 * _ROWS)})
    return TruthCase(frame, a + w + 0.3 * rng.normal(size=_ROWS), {"visits": visits}, {"visits"}, a[:, None])


_FIRST = [
    "Anna",
    "Bernard",
    "Clara",
    "Dmitri",
    "Elena",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jakob",
    "Karim",
    "Lena",
    "Marco",
    "Nadia",
    "Oscar",
    "Petra",
    "Rosa",
    "Sven",
    "Tilda",
    "Ulla",
]
_LAST = [
    a + b
    for a in ["Ander", "Berg", "Castel", "Dorf", "Ek", "Falken", "Gar", "Holm", "Ivan", "Jans"]
    for b in ["son", "mann", "stein", "ov", "lund"]
]


def people(rng: np.random.Generator) -> pd.DataFrame:
    """Make 1,000 first and last names, each pair once."""
    pairs = [(first, last) for first in _FIRST for last in _LAST]
    return pd.DataFrame([pairs[i] for i in rng.permutation(len(pairs))], columns=["first", "last"])


def _mistyped(name: str, rng: np.random.Generator) -> str:
    """Leave out a letter, double one, or swap two."""
    at = int(rng.integers(1, len(name) - 1))
    return (
        name[:at] + name[at + 1 :],
        name[:at] + name[at] + name[at:],
        name[:at] + name[at + 1] + name[at] + name[at + 2 :],
    )[int(rng.integers(3))]


def misspelled(rng: np.random.Generator, share: float) -> TruthCase:
    """The names of the frame have typing errors, those of the table have none."""
    person = people(rng).agg(" ".join, axis=1)
    a, w = rng.normal(size=(2, _ROWS))
    typed = [_mistyped(name, rng) if rng.random() < share else name for name in person]
    frame = pd.DataFrame({"person": typed, "own": w})
    tables = {"facts": pd.DataFrame({"name": person, "a": a})}
    return TruthCase(frame, a + w + 0.3 * rng.normal(size=_ROWS), tables, {"facts"}, a[:, None])


def other_form(rng: np.random.Generator) -> TruthCase:
    """The table has the last name first; an index with patterns finds it."""
    named = people(rng)
    a, w = rng.normal(size=(2, _ROWS))
    frame = pd.DataFrame({"person": named["first"] + " " + named["last"], "own": w})
    tables = {"facts": pd.DataFrame({"name": named["last"] + ", " + named["first"], "a": a})}
    settings = {"patterns": True}
    return TruthCase(frame, a + w + 0.3 * rng.normal(size=_ROWS), tables, {"facts"}, a[:, None], settings=settings)


def two_names(rng: np.random.Generator) -> TruthCase:
    """First and last name are the key together, and neither alone."""
    named = people(rng)
    a, w = rng.normal(size=(2, _ROWS))
    tables = {
        "facts": named.assign(a=a).rename(columns={"first": "given", "last": "family"}).sample(frac=1, random_state=0)
    }
    return TruthCase(named.assign(own=w), a + w + 0.3 * rng.normal(size=_ROWS), tables, {"facts"}, a[:, None])


def log_of_two_keys(rng: np.random.Generator) -> TruthCase:
    """A table has several rows for each place and year; their mean tells of the target."""
    case = two_keys(rng)
    levels = case.tables["levels"]
    log = pd.concat([levels] * 4, ignore_index=True).sample(frac=1, random_state=1, ignore_index=True)
    log["level"] += 0.4 * rng.normal(size=len(log))
    return TruthCase(case.frame, case.y, {"log": log}, {"log"}, case.facts)


def months(rng: np.random.Generator) -> TruthCase:
    """Days of the frame lie in months of the table."""
    n_months = 120
    level, w = rng.normal(size=n_months), rng.normal(size=_ROWS)
    days = pd.Timestamp("2012-01-01") + pd.to_timedelta(rng.integers(0, 3650, _ROWS), unit="D")
    number = np.asarray((days.year - 2012) * 12 + days.month - 1)
    spelled = pd.period_range("2012-01", periods=n_months, freq="M").strftime("%Y-%m")
    frame = pd.DataFrame({"site": _names(rng, _ROWS), "day": days.strftime("%Y-%m-%d"), "own": w})
    tables = {"rates": pd.DataFrame({"month": spelled, "rate": level})}
    return TruthCase(frame, level[number] + w + 0.3 * rng.normal(size=_ROWS), tables, {"rates"}, level[number][:, None])


def before_a_date(rng: np.random.Generator) -> TruthCase:
    """Readings of before the day of each row tell of the target; later ones tell of it, too, and may not be known."""
    a, w = rng.normal(size=(2, _ROWS))
    keys, frame = _base(rng, w)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(100, 200, _ROWS), unit="D")
    y = a + w + 0.3 * rng.normal(size=_ROWS)
    before = [
        (k, d - pd.Timedelta(days=int(n)), v)
        for k, d, v in zip(keys, day, a, strict=True)
        for n in rng.integers(1, 90, 4)
    ]
    log = pd.DataFrame(before, columns=["site", "seen", "reading"])
    log["reading"] += 0.4 * rng.normal(size=len(log))
    later = pd.DataFrame({"site": keys, "seen": day + pd.Timedelta(days=5), "reading": 9 * rng.normal(size=_ROWS)})
    tables = {"log": pd.concat([log, later], ignore_index=True)}
    return TruthCase(frame.assign(day=day), y, tables, {"log"}, a[:, None], options={"as_of": "day", "allow": "noise*"})


def spread_of_rows(rng: np.random.Generator) -> TruthCase:
    """A table has several rows for each key, all around 0; how far they spread tells of the target."""
    size, w = rng.uniform(0.2, 3, _ROWS), rng.normal(size=_ROWS)
    keys, frame = _base(rng, w)
    log = pd.DataFrame({"site": np.repeat(keys, 8), "reading": np.repeat(size, 8) * rng.normal(size=8 * _ROWS)})
    log = log.sample(frac=1, random_state=0, ignore_index=True)
    return TruthCase(frame, 1.5 * size + w + 0.3 * rng.normal(size=_ROWS), {"log": log}, {"log"}, size[:, None])


def last_rows(rng: np.random.Generator) -> TruthCase:
    """What was read in the last 30 days tells of the target; what was read before that does not."""
    a, w = rng.normal(size=(2, _ROWS))
    keys, frame = _base(rng, w)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(400, 500, _ROWS), unit="D")
    ages = np.concatenate([rng.integers(1, 31, (_ROWS, 3)), rng.integers(40, 300, (_ROWS, 6))], axis=1).ravel()
    readings = np.column_stack(
        [np.repeat(a[:, None], 3, 1) + 0.4 * rng.normal(size=(_ROWS, 3)), 2 * rng.normal(size=(_ROWS, 6))]
    )
    seen = np.repeat(day, 9) - pd.to_timedelta(ages, unit="D")
    log = pd.DataFrame({"site": np.repeat(keys, 9), "seen": seen, "reading": readings.ravel()})
    log = log.sample(frac=1, random_state=0, ignore_index=True)
    options = {"as_of": "day", "windows": [30], "allow": "noise*"}
    y = a + w + 0.3 * rng.normal(size=_ROWS)
    return TruthCase(frame.assign(day=day), y, {"log": log}, {"log"}, a[:, None], options=options)


CASES: dict[str, Callable[[np.random.Generator], TruthCase]] = {
    "parts": parts,
    "together, one table": together_in_one,
    "together, two tables": together_in_two,
    "nothing": nothing,
    "weak": weak,
    "categories": categories,
    "snowflake, 1 level": lambda rng: snowflake(rng, 1),
    "snowflake, 2 levels": lambda rng: snowflake(rng, 2),
    "snowflake, 3 levels": lambda rng: snowflake(rng, 3),
    "snowflake, 4 levels": lambda rng: snowflake(rng, 4),
    "two keys": two_keys,
    "repeated rows": repeated_rows,
    "misspelled, a third": lambda rng: misspelled(rng, 0.3),
    "misspelled, all": lambda rng: misspelled(rng, 1.0),
    "other form": other_form,
    "two names": two_names,
    "two keys, repeated rows": log_of_two_keys,
    "months": months,
    "before a date": before_a_date,
    "spread of rows": spread_of_rows,
    "last rows": last_rows,
}


def with_noise(case: TruthCase, rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """Put tables of noise beside the tables of a case."""
    key = case.frame.columns[0]
    keys = case.frame[key].unique()
    noise = {
        f"noise{i}": pd.DataFrame({key: keys} | {f"n{i}{j}": rng.normal(size=keys.size) for j in range(4)})
        for i in range(_NOISE_TABLES)
    }
    return case.tables | noise


def _r2(parts: list[pd.DataFrame], answers: list[np.ndarray]) -> float:
    from sklearn.ensemble import HistGradientBoostingRegressor

    train, test = encoded(*parts)
    return HistGradientBoostingRegressor(random_state=0).fit(train, answers[0]).score(test, answers[1])


def measure(name: str, seed: int) -> dict[str, float | str]:
    """Fit to two thirds of the rows; score on the others, and compare the tables with the truth."""
    from sklearn.model_selection import train_test_split

    rng = np.random.default_rng(seed)
    case = CASES[name](rng)
    index = Path(tempfile.mkdtemp()) / "lake"
    lake = dfjoin.build_lake(with_noise(case, rng), index, engine="inline", progress=False, settings=case.settings)
    rows = train_test_split(np.arange(len(case.frame)), test_size=1 / 3, random_state=seed)
    frames = [case.frame.iloc[part].reset_index(drop=True) for part in rows]
    answers = [case.y[part] for part in rows]
    start = time.process_time()
    augmenter = dfjoin.LakeAugmenter(lake, random_state=seed, **case.options).fit(frames[0], answers[0])
    seconds = time.process_time() - start
    keys = [name for name in case.frame if not pd.api.types.is_numeric_dtype(case.frame[name].dtype)]
    wide = [augmenter.transform(frame).drop(columns=keys) for frame in frames]
    facts = pd.DataFrame(case.facts).add_prefix("fact")
    known = [frame.drop(columns=keys) for frame in frames]
    truth = [
        pd.concat([own, facts.iloc[part].reset_index(drop=True)], axis=1) for own, part in zip(known, rows, strict=True)
    ]
    with threadpool_limits(1):
        base, found, best = (_r2(parts, answers) for parts in (known, wide, truth))
    taken = set(augmenter.tables_)
    return {
        "case": name, "base": base, "found": found, "all useful": best, "CPU s": seconds,
        "share": (found - base) / (best - base) if case.useful else np.nan,
        "recall": len(taken & case.useful) / len(case.useful) if case.useful else np.nan,
        "precision": len(taken & case.useful) / len(taken) if taken else np.nan,
        "noise": len(taken - case.useful),
        "claimed": augmenter.report_.gain or 0.0, "reached": (found - base) / (1 - base),
    }  # fmt: skip


def main() -> None:
    """Print a table of means over seeds, and their means over cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="cases; all by default")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [name for name in CASES if not options.only or name in options.only]
    rows = []
    for name in names:
        rows += [measure(name, seed) for seed in range(options.seeds)]
        print(pd.DataFrame(rows[-options.seeds :]).groupby("case").mean().round(3).to_string(), flush=True)
    table = pd.DataFrame(rows)
    print(table.groupby("case", sort=False).mean().round(3).to_string())
    print(table.drop(columns="case").mean().round(3).to_string())


if __name__ == "__main__":
    main()
