"""Quality of search by distance under changes of spelling: ``python -m tests.benchmarks.misspelled INDEX``.

Half of the values of columns of names are changed by a generator with a seed: typos (one to three edits), formats (order of words,
what stands between them), abbreviations (a word cut to its first letters) and orders (words in any order). A pair is right if the value is the one that was
changed; other values that mean the same count as wrong. Radii are chosen on four fifths of the columns, by F1 of all pairs, and
measured on the others. ``auto_join`` joins two frames by their keys, with nothing else given, and ``precision`` is a join by distance at a
precision (`auto_join(precision=)`), beside it the precision that was asked for. ``--embedder`` says whose vectors are measured, ``index`` those that the index has.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

import dfjoin
from dfjoin.fuzzy.fuzzy_join import find_fuzzy
from dfjoin.index.catalog import KINDS
from dfjoin.index.column_values import tokens_of_column, value_of_token
from dfjoin.index.segment import Segment
from dfjoin.ingest.chosen_embedder import training_texts
from dfjoin.search.embedding.near_join import pairs_within
from dfjoin.search.embedding.near_search import embedder_of, vector_radius
from dfjoin.search.fuzzy.similar_texts import SimilarTexts, SpellingRadius
from dfjoin.search.params import search_params
from dfjoin.vectors.abbreviations import abbreviations_for, expanding
from dfjoin.vectors.embedders import Embedder, FastTextEmbedder, choose_embedder, to_texts, unit_rows
from dfjoin.vectors.fasttext_model import TrainingOptions, train_fasttext

RADII = {
    "vectors": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45),
    "by length": (0.2, 0.25, 0.27, 0.28, 0.29, 0.3, 0.31, 0.32, 0.33, 0.35, 0.4),
    "edit": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4),
    "tokens": (0.1, 0.15, 0.2, 0.25, 0.3),
    "jaccard": (0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7),
}
PRECISIONS = (0.8, 0.9, 0.95)
"""Asked for; which texts are joined then does not depend on a radius, nor on vectors."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def mistype(text: str, rng: np.random.Generator) -> str:
    """Make one edit for every eight characters, at least one and at most three."""
    for _ in range(min(3, max(1, len(text) // 8))):
        i, letter = int(rng.integers(len(text))), _LETTERS[int(rng.integers(26))]
        kind = rng.integers(4)
        if kind == 0:
            text = text[:i] + letter + text[i:]
        elif kind == 1 and len(text) > 1:
            text = text[:i] + text[i + 1 :]
        elif kind == 2:
            text = text[:i] + letter + text[i + 1 :]
        else:
            text = text[:i] + text[i : i + 2][::-1] + text[i + 2 :]
    return text


def reformat(text: str, rng: np.random.Generator) -> str:
    """Change the order of words, or what stands between them."""
    words = text.split()
    if len(words) > 1 and rng.random() < 0.5:
        return f"{words[-1]}, {' '.join(words[:-1])}"
    return "-".join(words) if rng.random() < 0.5 else text.replace(" ", "") + "."


def abbreviate(text: str, rng: np.random.Generator) -> str:
    """Cut a word of four letters or more to its first ones."""
    words = text.split()
    long = [i for i, word in enumerate(words) if len(word) >= 4]
    if long:
        i = long[int(rng.integers(len(long)))]
        words[i] = words[i][: int(rng.integers(1, 4))] + "."
    return " ".join(words)


def reorder(text: str, rng: np.random.Generator) -> str:
    """Put the words in any order."""
    words = text.split()
    return " ".join(words[i] for i in rng.permutation(len(words)).tolist())


CHANGES: dict[str, Callable[[str, np.random.Generator], str]] = {
    "typos": mistype,
    "formats": reformat,
    "abbreviations": abbreviate,
    "orders": reorder,
}


def name_columns(segment: Segment, n: int, seed: int = 0) -> Iterator[list[str]]:
    """Draw columns of 100 to 5,000 texts that are mostly letters, of different tables; at most 500 values of each."""
    numbers = segment.catalog.numbers
    is_wanted = (numbers["kind"] == KINDS.index("text")) & (numbers["is_indexed"] > 0)
    is_wanted &= (numbers["cardinality"] >= 100) & (numbers["cardinality"] <= 5000)
    columns = np.flatnonzero(is_wanted)
    rng = np.random.default_rng(seed)
    seen: set[str] = set()
    for column in rng.permutation(columns).tolist():
        table = segment.catalog.table_name(column).split("/")[0]
        if table in seen:
            continue
        values = [value_of_token(segment, token) for token in tokens_of_column(segment, column).tolist()]
        values = [v for v in values if 4 <= len(v) <= 60]
        letters = np.mean([sum(c.isalpha() or c == " " for c in v) / len(v) for v in values]) if values else 0
        if len(values) < 100 or letters < 0.9:
            continue
        seen.add(table)
        yield [values[i] for i in rng.permutation(len(values))[:500].tolist()]
        if len(seen) == n:
            return


def pairs_of(
    method: str, query: list[str], values: list[str], embedder: Embedder
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List the pairs of a method at its largest radius: numbers of the query value and of the value, and distances."""
    radius = RADII[method][-1]
    if method in ("vectors", "by length"):
        unit = "by_length" if method == "by length" else "fraction"
        reach = vector_radius(search_params(mode="embedding", radius=radius, radius_unit=unit))
        one, other = (unit_rows(embedder.embed(to_texts(texts))) for texts in (query, values))
        shares = reach.shares(to_texts(query))
        i, j, chords = pairs_within(one, other, reach, shares)
        return i, j, chords / 2 / shares[i]
    spelling = SpellingRadius(method, radius, "fraction")
    left, right = (SimilarTexts.of(to_texts(texts), method) for texts in (query, values))
    return right.pairs(left, spelling)


def joined_plainly(query: list[str], values: list[str], own: np.ndarray) -> tuple[int, int]:
    """Join two frames with their keys named and nothing else given; return the right rows, and those with a partner."""
    left, right = pd.DataFrame({"key": query, "own": own}), pd.DataFrame({"key": values, "partner": range(len(values))})
    joined = left.auto_join(right, on="key").reindex(columns=["own", "partner"])
    return int((joined["partner"] == joined["own"]).sum()), int(joined["partner"].notna().sum())


def measure(index: Path, n_columns: int, named: str) -> pd.DataFrame:
    """Count the right and wrong pairs of each method, radius, change and column, and those with the nearest value."""
    lake = dfjoin.open_lake(index)
    chosen = embedder_of(lake.snapshot) if named == "index" else choose_embedder(named)
    if chosen is None:
        chosen = FastTextEmbedder(train_fasttext(training_texts(lake.segments), TrainingOptions()), named)
    embedder = chosen if named == "index" else expanding(chosen, abbreviations_for(chosen, None))
    found = []
    for column, values in enumerate(name_columns(lake.segments[0], n_columns)):
        rng = np.random.default_rng(column)
        known = {value: i for i, value in enumerate(values)}
        own = np.arange(len(values))[::2]
        for change, make in CHANGES.items():
            query = [make(values[i], rng) for i in own.tolist()]
            equal = np.array([known.get(q, -1) for q in query])
            right, n_found = int((equal == own).sum()), int((equal >= 0).sum())
            found.append(("equality", 0.0, change, column, len(own), right, n_found, right, n_found))
            found.append(("auto_join", 0.0, change, column, len(own), *(2 * joined_plainly(query, values, own))))
            for precision in PRECISIONS:
                joined = find_fuzzy(pa.array(query), pa.array(values), precision=precision)
                right, n_found = int((joined.right_rows == own[joined.left_rows]).sum()), len(joined)
                found.append(("precision", precision, change, column, len(own), right, n_found, right, n_found))
            for method, radii in RADII.items():
                i, j, d = pairs_of(method, query, values, embedder)
                order = np.lexsort((j, d, i))
                i, j, d = i[order], j[order], d[order]
                is_nearest = np.append(True, i[1:] != i[:-1])[: i.size]
                is_right = j == own[i]
                for radius in radii:
                    near = d <= radius
                    best = near & is_nearest
                    counts = (
                        int((is_right & near).sum()),
                        int(near.sum()),
                        int((is_right & best).sum()),
                        int(best.sum()),
                    )
                    found.append((method, radius, change, column, len(own), *counts))
    names = ["method", "radius", "change", "column", "queries", "right", "pairs", "right_nearest", "nearest"]
    return pd.DataFrame(found, columns=names)


def told(counts: pd.DataFrame) -> pd.DataFrame:
    """Compute precision and recall of all pairs, and of the pairs with the nearest value."""
    return pd.DataFrame(
        {
            "precision": counts["right"] / counts["pairs"].clip(lower=1),
            "recall": counts["right"] / counts["queries"],
            "F1": 2 * counts["right"] / (counts["pairs"] + counts["queries"]),
            "nearest precision": counts["right_nearest"] / counts["nearest"].clip(lower=1),
            "nearest recall": counts["right_nearest"] / counts["queries"],
        }
    )


def cross_validated(frame: pd.DataFrame, n_folds: int = 5) -> pd.DataFrame:
    """Choose the radius of each method on other columns than those it is measured on."""
    rows = []
    for method in RADII:
        own = frame[frame["method"] == method].drop(columns=["method", "change"])
        chosen, parts = [], []
        for fold in range(n_folds):
            is_test = own["column"] % n_folds == fold
            best = told(own[~is_test].groupby("radius").sum())["F1"].idxmax()
            chosen.append(float(best))
            parts.append(own[is_test & (own["radius"] == best)])
        counts = pd.concat(parts).drop(columns=["radius", "column"]).sum().to_frame().T
        rows.append(told(counts).assign(method=method, radii=str(sorted(set(chosen)))))
    return pd.concat(rows).set_index("method")


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--embedder", default="ngrams", help="ngrams, fasttext, the file of a model, or index")
    parser.add_argument("--columns", type=int, default=30, help="columns of names, of different sources")
    options = parser.parse_args(arguments)
    frame = measure(options.index, options.columns, options.embedder)
    print(told(frame.groupby(["change", "method", "radius"]).sum()).round(3).to_string())
    print("\nAll changes together:")
    print(told(frame.drop(columns="change").groupby(["method", "radius"]).sum()).round(3).to_string())
    print("\nRadii chosen on other columns, all changes together:")
    print(cross_validated(frame).round(3).to_string())


if __name__ == "__main__":
    main()
