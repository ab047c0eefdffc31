"""Cases of feature augmentation cut from real tables, of which it is known what helps, what says nothing and what leaks.

`generated_cases` takes a directory of real tables. Of each directory in it one table is taken whose rows have names of their own.
One column becomes the target; the others are dealt out to the base table, to tables beside it and to one behind another. To them
come tables that say nothing, tables that say what the base table says, and tables that give the target away.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.augment.encoding import encode_column
from dfjoin.augment.screening import screening_reason
from tests.benchmarks.augmentation import encoded, is_regression

USEFUL, USELESS, VOID, LEAK, HONEST = "useful", "useless", "void", "leak", "honest"
"""Kinds of columns: real ones of the same table; shuffled ones; ids, constants and what the base table has; what gives the target away;
good predictors that do not: the target with noise of at least a tenth of its variance, or a tenth of the labels changed."""

_ROWS = (300, 900)
_COLUMNS = (5, 18)
_SKILL = (0.15, 0.9)
"""Share of the target's variance that the other columns explain on held-out rows."""

_BYTES = (10_000, 4_000_000)
_TABLES_A_DIRECTORY = 6


@dataclass
class GeneratedCase:
    """A base table with its target, a lake, and the kind of each column of the lake."""

    name: str
    base: pd.DataFrame
    target: str
    lake: dfjoin.Lake
    kinds: dict[tuple[str, str], str] = field(default_factory=dict)


def skill(X: pd.DataFrame, y: pd.Series, seed: int = 0) -> float:
    """Share of the target's variance (of classes: of its Brier score) that a forest explains on held-out rows."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.model_selection import cross_val_predict

    X = encoded(X, X)[0].fillna(-1e9)
    if is_regression(y):
        predicted = cross_val_predict(RandomForestRegressor(30, min_samples_leaf=3, random_state=seed), X, y, cv=3)
        return float(1 - ((predicted - y) ** 2).mean() / y.var(ddof=0))
    shares = pd.get_dummies(y).to_numpy(float)
    forest = RandomForestClassifier(30, min_samples_leaf=3, random_state=seed)
    predicted = cross_val_predict(forest, X, y, cv=3, method="predict_proba")
    return float(1 - ((predicted - shares) ** 2).mean() / ((shares - shares.mean(axis=0)) ** 2).mean())


def _usable(path: Path, rng: np.random.Generator) -> tuple[pd.DataFrame, str] | None:
    """Rows of a table that have names of their own, and the column of the names."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = pd.read_csv(path, low_memory=False, on_bad_lines="error", nrows=20_000)
    except (ValueError, OSError):
        return None
    frame = frame.loc[:, [c for c in frame if not str(c).startswith("Unnamed")]].dropna(axis=1, how="all")
    texts = [c for c in frame.select_dtypes(exclude="number") if frame[c].nunique() > 0.95 * len(frame)]
    texts = [c for c in texts if frame[c].astype(str).str.contains("[A-Za-z]{3}").mean() > 0.9]
    if not texts:
        return None
    key = texts[0]
    frame = frame[frame[key].notna() & ~frame[key].duplicated()]
    good = [c for c in frame if c != key and not screening_reason(encode_column(frame[c]))]
    if len(frame) < _ROWS[0] or len(good) < _COLUMNS[0]:
        return None
    good = sorted(rng.permutation(good)[: _COLUMNS[1]].tolist(), key=list(frame).index)
    return frame[[key, *good]].sample(min(len(frame), _ROWS[1]), random_state=0).reset_index(drop=True), key


def _target_of(frame: pd.DataFrame, key: str, rng: np.random.Generator) -> str | None:
    """A column that the others predict together, and none of them alone."""
    for target in rng.permutation([c for c in frame if c != key]).tolist():
        y = frame[target]
        if y.isna().any() or not (
            is_regression(y) or (2 <= y.nunique() <= 8 and y.value_counts().min() >= 0.1 * len(y))
        ):
            continue
        others = frame.drop(columns=[key, target])
        if not _SKILL[0] < skill(others, y) < _SKILL[1]:
            continue
        if max(skill(others[[c]], y) for c in others) < _SKILL[1]:
            return target
    return None


def leaks(y: pd.Series, rng: np.random.Generator) -> dict[str, pd.Series]:
    """Columns that give a target away."""
    if is_regression(y):
        noise = rng.normal(size=len(y)) * y.std()
        return {
            "moved": 2.54 * y + 17, "rounded": y.map(lambda v: float(f"{v:.2g}")), "ranked": y.rank() / 7,
            **{f"noise{100 * share:g}": y + noise * share**0.5 for share in (0.001, 0.005, 0.01)},
        }  # fmt: skip
    names = {label: f"class {number}" for number, label in enumerate(rng.permutation(y.unique()))}
    codes = {label: number for number, label in enumerate(rng.permutation(y.unique()))}
    return {"renamed": y.map(names), "coded": y.map(codes), "noise1": _flipped(y, 0.01, rng).map(names),
            "noise0.5": _flipped(y, 0.005, rng).map(codes)}  # fmt: skip


def honest(y: pd.Series, rng: np.random.Generator) -> dict[str, pd.Series]:
    """Good predictors of a target that do not give it away."""
    if is_regression(y):
        noise = rng.normal(size=len(y)) * y.std()
        return {f"near{100 * share:g}": y + noise * share**0.5 for share in (0.1, 0.15, 0.25, 0.5, 1.0)}
    names = {label: f"kind {number}" for number, label in enumerate(y.unique())}
    return {f"near{100 * share:g}": _flipped(y, share, rng).map(names) for share in (0.1, 0.15, 0.25)}


def _said_otherwise(column: pd.Series) -> pd.Series:
    """The same in another unit, or in other words."""
    if pd.api.types.is_bool_dtype(column.dtype) or not pd.api.types.is_numeric_dtype(column.dtype):
        return ("v " + column.astype(str).str.upper()).where(column.notna())
    return column * 1.8 + 32


def _flipped(y: pd.Series, share: float, rng: np.random.Generator) -> pd.Series:
    """Labels of which a share is drawn anew from the other ones."""
    labels = np.array(sorted(y.unique(), key=str), dtype=object)
    codes = pd.Categorical(y, labels).codes.astype(int)
    moved = (codes + rng.integers(1, len(labels), len(y))) % len(labels)
    return pd.Series(labels[np.where(rng.random(len(y)) < share, moved, codes)], y.index)


def cut_case(name: str, frame: pd.DataFrame, key: str, target: str, rng: np.random.Generator) -> GeneratedCase:
    """Deal a table out to a base table and a lake, and add what says nothing and what leaks."""
    n, keys, y = len(frame), frame[key], frame[target]
    columns = rng.permutation([c for c in frame if c not in (key, target)]).tolist()
    n_own = max(1, len(columns) // 4)
    n_near = n_own + (len(columns) - n_own) * 2 // 3
    own, near, far = columns[:n_own], columns[n_own:n_near], columns[n_near:]
    tables: dict[str, pd.DataFrame] = {}
    kinds: dict[tuple[str, str], str] = {}

    def put(table: str, by: pd.Series, values: dict[str, pd.Series], kind: str) -> None:
        rows = rng.permutation(n)[: int(n * 0.92)]
        tables[table] = pd.DataFrame({by.name: by, **values}).iloc[rows].reset_index(drop=True)
        kinds.update({(table, column): kind for column in values})

    code = pd.Series(
        [f"{''.join(rng.choice(list('QRSTVWXZ'), 3))}-{i:04d}" for i in rng.permutation(n)], name="register"
    )
    for number, part in enumerate(np.array_split(np.array(near, object), 2)):
        if len(part):
            put(f"beside{number}", keys, {c: frame[c] for c in part}, USEFUL)
    put("register", keys, {"register": code}, "key")
    put("behind", code, {c: frame[c] for c in far}, USEFUL)
    for number in range(4):
        drawn = rng.choice(columns, min(3, len(columns)), replace=False)
        put(f"shuffled{number}", keys, {c: pd.Series(frame[c].to_numpy()[rng.permutation(n)]) for c in drawn}, USELESS)
    serial = pd.Series(np.arange(n) + 1000)
    texts = pd.Series([f"{a:x}-{b:x}" for a, b in rng.integers(1 << 16, 1 << 30, (n, 2))])
    rare = pd.Series(np.where(rng.random(n) < 0.01, 1.5, np.nan))
    put("numbers", keys, {"record_no": serial, "tag": texts, "one": pd.Series([7.5] * n), "rare": rare}, VOID)
    put("same", keys, {f"{c} again": _said_otherwise(frame[c]) for c in own}, VOID)
    for column, values in leaks(y, rng).items():
        put(f"leak {column}", keys, {f"value {column}": values}, LEAK)
    copy = {f"c{number}": frame[c] for number, c in enumerate([*own, target, *columns[n_own : n_own + 2]])}
    put("copy", keys, copy, LEAK)
    put("sample", keys, {"result": y}, LEAK)
    tables["sample"] = tables["sample"].sample(frac=0.5, random_state=0)
    for column, values in honest(y, rng).items():
        put(f"honest {column}", keys, {f"value {column}": values}, HONEST)
    index = Path(tempfile.mkdtemp()) / "lake"
    lake = dfjoin.build_lake(tables, index, engine="inline", progress=False)
    return GeneratedCase(name, frame[[key, *own, target]], target, lake, kinds)


def generated_cases(directory: Path, n_cases: int, seed: int) -> Iterator[GeneratedCase]:
    """Cut cases from the tables below a directory, one of each directory in it; a seed gives the same ones."""
    rng = np.random.default_rng(seed)
    places = sorted(path for path in directory.iterdir() if path.is_dir())
    for number in rng.permutation(len(places)):
        if n_cases == 0:
            return
        paths = sorted(p for p in places[number].rglob("*.csv") if _BYTES[0] < p.stat().st_size < _BYTES[1])
        for path in rng.permutation(np.array(paths, object))[:_TABLES_A_DIRECTORY]:
            found = _usable(path, rng)
            target = None if found is None else _target_of(*found, rng)
            if found is not None and target is not None:
                yield cut_case(f"{path.relative_to(directory)}: {target}", *found, target, rng)
                n_cases -= 1
                break
