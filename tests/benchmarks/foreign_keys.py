"""Foreign keys of relational databases, each a lake of its own: the join graph against plain containment.

The truth is a directory with a folder for each database: ``tables/*.csv`` and ``truth.csv``. Every figure is of a database
that the model has not seen. With an index of a large lake the databases are put beside its tables, and edges of the lake
that were read and labelled (``judged_references.csv``) are fitted to, too.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.containment.foreign_keys import choose_edges
from dfjoin.containment.key_features import KEY_FEATURES, KeyCandidates, find_key_pairs, key_features
from dfjoin.containment.key_model import KEY_MODEL_FILE, KeyModel
from dfjoin.containment.lake_columns import LakeColumns
from tests.benchmarks.relevance import fit_logistic

RIDGE = 4.0
THRESHOLD = 0.9
DEALT_WEIGHT = 0.5
JUDGEMENTS = Path(__file__).with_name("judged_references.csv")
FOLDS = 10


@dataclass(frozen=True)
class Database:
    """The candidates of one database, which of them are declared, and how many keys are declared with a value."""

    name: str
    columns: LakeColumns
    pairs: KeyCandidates
    features: np.ndarray
    is_true: np.ndarray
    n_true: int


def _declared(directory: Path) -> set[tuple[str, str, str, str]]:
    """The declared keys of a database that have a value."""
    truth = pd.read_csv(directory / "truth.csv")
    truth = truth[truth["fk_distinct"] > 0]
    return {(f"{r.fk_table}.csv", r.fk_column, f"{r.pk_table}.csv", r.pk_column) for r in truth.itertuples()}


def _database(
    name: str, columns: LakeColumns, pairs: KeyCandidates, names: list[tuple[str, str]], wanted: set
) -> Database:
    found = [(*names[a], *names[b]) in wanted for a, b in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)]
    return Database(name, columns, pairs, key_features(columns, pairs), np.array(found, bool), len(wanted))


def read_database(directory: Path, index: Path) -> Database:
    """Index the tables of a database and find its candidates."""
    lake = dfjoin.build_lake(directory / "tables", index, engine="inline", progress=False)
    columns = LakeColumns(lake.snapshot)
    pairs = find_key_pairs(columns, THRESHOLD).keys
    names = [columns.name(c) for c in range(int(columns.offsets[-1]))]
    return _database(directory.name, columns, pairs, names, _declared(directory))


@dataclass(frozen=True)
class LargeLake:
    """Databases beside the tables of a large lake.

    Parameters
    ----------
    databases : dict of str to Database
        The candidates of the columns of each.
    features, is_true, sources : ndarray
        Of the labelled candidates of other columns; the source is the first folder of the column.
    """

    databases: dict[str, Database]
    features: np.ndarray
    is_true: np.ndarray
    sources: np.ndarray


def read_large_lake(folders: list[Path], index: Path, place: Path) -> LargeLake:
    """Put databases beside the tables of a copy of an index, and find their candidates and the labelled ones."""
    shutil.copytree(index, place)
    lake = dfjoin.open_lake(place)
    lake.add(
        {
            f"{f.name}/{t.name}": pd.read_csv(t, dtype=str)
            for f in folders
            for t in sorted((f / "tables").glob("*.csv"))
        },
        engine="inline",
        progress=False,
    )
    columns = LakeColumns(lake.snapshot)
    names = [columns.name(column) for column in range(int(columns.offsets[-1]))]
    pairs = find_key_pairs(columns, THRESHOLD).keys
    databases = {}
    for folder in folders:
        prefix = f"memory/{folder.name}/"
        is_own = np.array([table.startswith(prefix) for table, _ in names], bool)
        own = KeyCandidates(*(array[is_own[pairs.left]] for array in pairs))
        wanted = {(prefix + a, b, prefix + c, d) for a, b, c, d in _declared(folder)}
        databases[folder.name] = _database(folder.name, columns, own, names, wanted)
    judged = pd.read_csv(JUDGEMENTS)
    labels = {(r.table, r.column, r.key_table, r.key_column): r.label for r in judged.itertuples()}
    is_judged = np.zeros(len(names), bool)
    is_judged[[i for i, name in enumerate(names) if name in {key[:2] for key in labels}]] = True
    own = KeyCandidates(*(array[is_judged[pairs.left]] for array in pairs))
    features = key_features(columns, own)
    found = [labels.get((*names[a], *names[b]), -1) for a, b in zip(own.left.tolist(), own.right.tolist(), strict=True)]
    label = np.array(found, int)
    sources = np.array([names[a][0].split("/")[0] for a in own.left[label >= 0].tolist()], object)
    return LargeLake(databases, features[label >= 0], label[label >= 0] > 0, sources)


def fit(databases: list[Database], features: np.ndarray | None = None, is_true: np.ndarray | None = None) -> KeyModel:
    """Fit the model to the candidates of some databases, once more with their tables dealt to two folders, and to others."""
    x, y, weights = [], [], []
    for one in databases:
        x += [one.features, _dealt(one)]
        y += [one.is_true, one.is_true]
        weights += [np.ones(len(one.is_true)), np.full(len(one.is_true), DEALT_WEIGHT)]
    if features is not None and is_true is not None:
        x, y, weights = [*x, features], [*y, is_true], [*weights, np.ones(len(is_true))]
    rows, truth, weight = np.concatenate(x), np.concatenate(y).astype(float), np.concatenate(weights)
    means, scales = rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-6)
    found = fit_logistic(np.clip((rows - means) / scales, -5, 5), truth, weight, RIDGE)
    return KeyModel(KEY_FEATURES, means, scales, found[1:], float(found[0]))


def _dealt(one: Database) -> np.ndarray:
    """The features of candidates as if the tables of a database lay in two folders."""
    folder = np.random.default_rng(0).integers(0, 2, int(one.columns.table_of.max()) + 1)[one.columns.table_of]
    features = one.features.copy()
    features[:, KEY_FEATURES.index("same_folder")] = folder[one.pairs.left] == folder[one.pairs.right]
    return features


def measure(one: Database, score: np.ndarray, threshold: float = 0.5) -> dict[str, float]:
    """Recall of the first candidate of each declared key, and precision, recall and F1 of the graph."""
    chosen = choose_edges(one.columns, one.pairs, score, threshold)
    n_right, n_edges = int(one.is_true[chosen].sum()), chosen.size
    order = np.lexsort((one.columns.cardinality[one.pairs.right], -score, one.pairs.left))
    is_first = np.append(True, one.pairs.left[order][1:] != one.pairs.left[order][:-1])[: order.size]
    n_first = int(one.is_true[order[is_first]].sum())
    found = {"keys": one.n_true, "recall@1": n_first / one.n_true, "edges": n_edges, "right": n_right}
    precision, recall = n_right / max(1, n_edges), n_right / one.n_true
    return found | {"P": precision, "R": recall, "F1": 2 * precision * recall / max(1e-9, precision + recall)}


def pooled(rows: pd.DataFrame) -> pd.Series:
    """The measures over all keys of all databases."""
    keys, edges, right = rows["keys"].sum(), rows["edges"].sum(), rows["right"].sum()
    first = (rows["recall@1"] * rows["keys"]).sum() / keys
    precision, recall = right / edges, right / keys
    f1 = 2 * precision * recall / (precision + recall)
    return pd.Series([keys, first, edges, right, precision, recall, f1], rows.columns)


def run_foreign_keys(directory: Path, writes: bool, index: Path | None = None) -> pd.DataFrame:
    """Print the measures, each database held out; with `writes` fit the published model to all of them."""
    with tempfile.TemporaryDirectory() as place:
        folders = sorted(path.parent for path in directory.glob("*/truth.csv"))
        databases = [read_database(folder, Path(place) / folder.name) for folder in folders]
        large = None if index is None else read_large_lake(folders, index, Path(place) / "large lake")
        more = () if large is None else (large.features, large.is_true)
        plain = {
            one.name: measure(one, one.pairs.matched / np.maximum(1, one.columns.cardinality[one.pairs.left]) * 0.99)
            for one in databases
        }
        held, inside = {}, {}
        for one in databases:
            model = fit([other for other in databases if other is not one], *more)
            held[one.name] = measure(one, model.probabilities(one.features))
            if large is not None:
                there = large.databases[one.name]
                inside[one.name] = measure(there, model.probabilities(there.features))
        table = _with_all(held)
        print("ranked by containment, then the smaller key:\n" + _text(_with_all(plain)))
        print("join graph, each database held out:\n" + _text(table))
        if large is not None:
            print("inside the large lake, each database held out:\n" + _text(_with_all(inside)))
            print_judged(databases, large)
        if writes:
            write_model(fit(databases, *more), table.loc["all"], databases, 0 if large is None else len(large.is_true))
    return table


def print_judged(databases: list[Database], large: LargeLake) -> None:
    """Print how many of the labelled edges are kept, cross-validated by source, and how many of these are right."""
    score = np.zeros(len(large.is_true))
    groups = np.unique(large.sources)
    np.random.default_rng(0).shuffle(groups)
    for fold in range(FOLDS):
        is_held = np.isin(large.sources, groups[fold::FOLDS])
        if is_held.any():
            model = fit(databases, large.features[~is_held], large.is_true[~is_held])
            score[is_held] = model.probabilities(large.features[is_held])
    kept = score >= 0.5
    right = int(large.is_true[kept].sum())
    print(
        f"labelled edges, by source: {len(kept)}, right {int(large.is_true.sum())}; at 0.5 {int(kept.sum())}, right {right}"
    )


def _with_all(measures: dict[str, dict[str, float]]) -> pd.DataFrame:
    table = pd.DataFrame(measures).T
    table.loc["all"] = pooled(table)
    return table


def _text(table: pd.DataFrame) -> str:
    return table.to_string(float_format="{:.3f}".format)


def write_model(model: KeyModel, figures: pd.Series, databases: list[Database], n_judged: int) -> None:
    """Write the model as the package's."""
    n = sum(one.is_true.size for one in databases)
    columns = zip(model.names, model.means.tolist(), model.scales.tolist(), model.weights.tolist(), strict=True)
    text = {
        "what": "probability that a column refers to a key that holds its values",
        "command": "python -m tests.benchmarks foreign-keys DATABASES --index INDEX --fit",
        "data": f"{n} candidates of {len(databases)} relational databases, {int(figures['keys'])} declared keys, and "
        f"{n_judged} labelled edges of a lake; all were seen in development",
        "held_out": {k: round(float(figures[k]), 3) for k in ("recall@1", "P", "R", "F1")},
        "bias": round(model.bias, 4),
        "features": {
            name: {"mean": float(f"{m:.4g}"), "scale": float(f"{s:.4g}"), "weight": float(f"{w:.4g}")}
            for name, m, s, w in columns
        },
    }
    KEY_MODEL_FILE.write_text(json.dumps(text, indent=1).replace("\n   ", " ").replace("\n  }", " }") + "\n")
