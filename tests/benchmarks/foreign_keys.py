"""Foreign keys of relational databases, each a lake of its own: the join graph against plain containment.

The truth is a directory with a folder for each database: ``tables/*.csv`` and ``truth.csv``. Every figure is of a database
that the model has not seen.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.containment.join_graph import choose_edges
from dfjoin.containment.key_features import KEY_FEATURES, KeyCandidates, LakeColumns, find_key_pairs, key_features
from dfjoin.containment.key_model import KEY_MODEL_FILE, KeyModel
from tests.benchmarks.relevance import fit_logistic

RIDGE = 4.0
THRESHOLD = 0.9


@dataclass(frozen=True)
class Database:
    """The candidates of one database, which of them are declared, and how many keys are declared with a value."""

    name: str
    columns: LakeColumns
    pairs: KeyCandidates
    features: np.ndarray
    is_true: np.ndarray
    n_true: int


def read_database(directory: Path, index: Path) -> Database:
    """Index the tables of a database and find its candidates."""
    lake = dfjoin.build_lake(directory / "tables", index, engine="inline", progress=False)
    truth = pd.read_csv(directory / "truth.csv")
    truth = truth[truth["fk_distinct"] > 0]
    columns = LakeColumns(lake.snapshot)
    pairs = find_key_pairs(columns, THRESHOLD)
    wanted = {(f"{r.fk_table}.csv", r.fk_column, f"{r.pk_table}.csv", r.pk_column) for r in truth.itertuples()}
    names = [columns.name(c) for c in range(int(columns.offsets[-1]))]
    found = [(*names[a], *names[b]) in wanted for a, b in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)]
    return Database(directory.name, columns, pairs, key_features(columns, pairs), np.array(found, bool), len(wanted))


def fit(databases: list[Database]) -> KeyModel:
    """Fit the model to the candidates of some databases."""
    x = np.concatenate([one.features for one in databases])
    y = np.concatenate([one.is_true for one in databases]).astype(float)
    means, scales = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-6)
    found = fit_logistic(np.clip((x - means) / scales, -5, 5), y, np.ones(len(y)), RIDGE)
    return KeyModel(KEY_FEATURES, means, scales, found[1:], float(found[0]))


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


def run_foreign_keys(directory: Path, writes: bool) -> pd.DataFrame:
    """Print the measures, each database held out; with `writes` fit the published model to all of them."""
    with tempfile.TemporaryDirectory() as place:
        folders = sorted(path.parent for path in directory.glob("*/truth.csv"))
        databases = [read_database(folder, Path(place) / folder.name) for folder in folders]
        plain = {
            one.name: measure(one, one.pairs.matched / np.maximum(1, one.columns.cardinality[one.pairs.left]) * 0.99)
            for one in databases
        }
        held = {}
        for one in databases:
            model = fit([other for other in databases if other is not one])
            held[one.name] = measure(one, model.probabilities(one.features))
        table = pd.DataFrame(held).T
        table.loc["all"] = pooled(table)
        first = pd.DataFrame(plain).T
        first.loc["all"] = pooled(first)
        print("ranked by containment, then the smaller key:\n" + first.to_string(float_format="{:.3f}".format))
        print("join graph, each database held out:\n" + table.to_string(float_format="{:.3f}".format))
        if writes:
            write_model(fit(databases), table.loc["all"], databases)
    return table


def write_model(model: KeyModel, figures: pd.Series, databases: list[Database]) -> None:
    """Write the model as the package's."""
    n = sum(one.is_true.size for one in databases)
    columns = zip(model.names, model.means.tolist(), model.scales.tolist(), model.weights.tolist(), strict=True)
    text = {
        "what": "probability that a column refers to a key that holds its values",
        "command": "python -m tests.benchmarks foreign-keys DATABASES --fit",
        "data": f"{n} candidates of {len(databases)} relational databases, {int(figures['keys'])} declared keys; all were "
        "seen in development",
        "held_out": {k: round(float(figures[k]), 3) for k in ("recall@1", "P", "R", "F1")},
        "bias": round(model.bias, 4),
        "features": {
            name: {"mean": float(f"{m:.4g}"), "scale": float(f"{s:.4g}"), "weight": float(f"{w:.4g}")}
            for name, m, s, w in columns
        },
    }
    KEY_MODEL_FILE.write_text(json.dumps(text, indent=1).replace("\n   ", " ").replace("\n  }", " }") + "\n")
