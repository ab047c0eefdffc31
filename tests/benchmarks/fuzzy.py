"""Fuzzy join against its rivals on public cases: ``python -m tests.benchmarks.fuzzy CASES_DIR``.

CASES_DIR holds one folder per benchmark, each with one folder per case: ``left.csv``, ``right.csv``,
``truth.csv`` (left_row, right_row, left_key, right_key) and ``meta.json`` (left_key, right_key,
truth_level, id_column). The right table is shuffled. The rivals get what they do not get in practice:
the threshold, one for all cases of a benchmark, that gives them the best mean F1. ``--scale N`` times, in their place, the
join of N generated addresses of about 30 characters with the same ones, each mistyped once.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from dfjoin.fuzzy.fuzzy_join import find_fuzzy
from dfjoin.fuzzy.match_problem import is_left_reference
from dfjoin.fuzzy.texts import fold_texts

SETS = ("autofj", "er_magellan", "autojoin_web", "sema_join", "dataxformer_kbwt")
WHOLE_ROWS = {"er_magellan"}
"""Benchmarks of records: all columns that both tables have, but the number, make up the text."""

Scored = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Left rows, right rows, and a distance by which they may be cut off."""


@dataclass(frozen=True)
class Case:
    """One pair of columns, the right one shuffled, with the pairs that should join."""

    name: str
    left: pd.Series
    right: pd.Series
    truth: set
    is_by_key: bool
    columns: tuple[pa.Array, pa.Array] | None = None
    test_pairs: dict | None = None

    def score_test_pairs(self, left_rows, right_rows) -> tuple[float, float, float]:
        """Return precision, recall and F1 over the labelled pairs of the published test split."""
        found = set(zip(left_rows.tolist(), right_rows.tolist(), strict=True))
        joined = [is_right for pair, is_right in self.test_pairs.items() if pair in found]
        n_right = sum(self.test_pairs.values())
        return (
            sum(joined) / len(joined) if joined else 1.0,
            sum(joined) / max(1, n_right),
            2 * sum(joined) / max(1, len(joined) + n_right),
        )

    def score(self, left_rows, right_rows) -> tuple[float, float, float]:
        """Return precision, recall and F1; the precision of no pair is one."""
        if self.is_by_key:
            pairs = set(zip(self.left.iloc[left_rows], self.right.iloc[right_rows], strict=True))
        else:
            pairs = set(zip(left_rows.tolist(), right_rows.tolist(), strict=True))
        n_right = len(pairs & self.truth)
        precision = n_right / len(pairs) if pairs else 1.0
        recall = n_right / len(self.truth) if self.truth else 1.0
        return precision, recall, 2 * precision * recall / max(precision + recall, 1e-12)


def load_case(folder: Path, whole_row: bool | list[str], seed: int) -> Case:
    """Read a case and shuffle its right table; of records all columns, or those that are named, make the text."""
    meta = json.loads((folder / "meta.json").read_text("utf-8"))
    left, right, truth = (
        pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False) for name in ("left", "right", "truth")
    )
    order = np.random.default_rng(seed).permutation(len(right))
    is_by_key = meta.get("truth_level") == "key"
    if is_by_key:
        pairs = set(zip(truth["left_key"], truth["right_key"], strict=True))
    else:
        place = np.argsort(order)
        pairs = set(zip(truth["left_row"].astype(int), place[truth["right_row"].astype(int)].tolist(), strict=True))
    structs, test_pairs = None, None
    if whole_row:
        shared = [name for name in left.columns if name in right.columns and name != meta.get("id_column")]
        shared = shared if whole_row is True else whole_row
        columns = [table[shared].agg(" ".join, axis=1) for table in (left, right)]
        ordered = left[shared], right[shared].iloc[order]
        structs = tuple(
            pa.StructArray.from_arrays([pa.array(table[name], pa.string()) for name in shared], shared)
            for table in ordered
        )
        labelled = pd.read_csv(folder / "labelled.csv")
        test = labelled[labelled["split"] == "test"]
        places = np.argsort(order)[test["right_row"]].tolist()
        test_pairs = dict(zip(zip(test["left_row"].tolist(), places, strict=True), test["label"].tolist(), strict=True))
    else:
        columns = [left[meta["left_key"]], right[meta["right_key"]]]
    right_texts = columns[1].iloc[order].reset_index(drop=True)
    return Case(folder.name, columns[0], right_texts, pairs, is_by_key, structs, test_pairs)


def join_ours(case: Case, precision: float) -> Scored:
    """Join with dfjoin, untuned; records by their columns."""
    sides = case.columns or (pa.array(case.left, pa.string()), pa.array(case.right, pa.string()))
    found = find_fuzzy(*sides, precision=precision)
    return found.left_rows, found.right_rows, np.zeros(len(found))


def _in_roles(case: Case) -> tuple[bool, pd.Series, pd.Series]:
    """Give rivals the reference that dfjoin would choose."""
    sides = [fold_texts(pa.array(side, pa.string())) for side in (case.left, case.right)]
    is_left = is_left_reference(*sides)
    return is_left, *((case.left, case.right) if is_left else (case.right, case.left))


def join_tfidf(case: Case) -> Scored:
    """Join each text to its nearest by the cosine of TF-IDF over 3-grams."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    is_left, reference, query = _in_roles(case)
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3)).fit(reference)
    likeness = (vectorizer.transform(query) @ vectorizer.transform(reference).T).tocsr()
    nearest = np.asarray(likeness.argmax(axis=1)).ravel()
    distances = 1.0 - np.asarray(likeness.max(axis=1).todense()).ravel()
    rows = np.arange(len(query))
    return (nearest, rows, distances) if is_left else (rows, nearest, distances)


def join_skrub(case: Case) -> Scored:
    """Join each text to its nearest with skrub's fuzzy_join."""
    from skrub import fuzzy_join

    is_left, reference, query = _in_roles(case)
    tables = pd.DataFrame({"key": query}), pd.DataFrame({"key": reference, "row": np.arange(len(reference))})
    try:
        joined = fuzzy_join(*tables, on="key", suffix="_r", add_match_info=True)
    except ValueError:  # it fails on a column without any token, such as one of signs only
        return np.empty(0, int), np.empty(0, int), np.empty(0)
    rows, nearest = np.arange(len(query)), joined["row_r"].to_numpy(np.int64)
    distances = joined["skrub_Joiner_distance"].to_numpy(float)
    return (nearest, rows, distances) if is_left else (rows, nearest, distances)


def best_cut(cases: list[Case], found: list[Scored]) -> tuple[float, np.ndarray]:
    """Cut all cases at the one distance that gives the best mean F1."""
    pooled = np.concatenate([distances for _, _, distances in found])
    best = (-1.0, np.inf, np.empty((0, 3)))
    for cut in np.unique(np.quantile(pooled, np.linspace(0, 1, 41))):
        scores = np.array([case.score(a[d <= cut], b[d <= cut]) for case, (a, b, d) in zip(cases, found, strict=True)])
        if scores[:, 2].mean() > best[0]:
            best = (scores[:, 2].mean(), float(cut), scores)
    return best[1], best[2]


def nearest_from_half(case: Case) -> Scored:
    """Join each text to its nearest by TF-IDF, if its cosine is 0.5 at least."""
    left_rows, right_rows, distances = join_tfidf(case)
    is_near = distances <= 0.5
    return left_rows[is_near], right_rows[is_near], distances[is_near]


def measure_test_pairs(cases: list[Case]) -> pd.DataFrame:
    """Return precision, recall and F1 over the published test pairs, by case."""
    rows = {}
    for case in cases:
        for name, join in (
            ("dfjoin, precision=0.95", lambda one: join_ours(one, 0.95)),
            ("dfjoin, precision=0.9", lambda one: join_ours(one, 0.9)),
            ("TF-IDF nearest at 0.5 or more", nearest_from_half),
        ):
            rows[case.name, name] = case.score_test_pairs(*join(case)[:2])
    return pd.DataFrame.from_dict(rows, "index", columns=["P", "R", "F1"])


def measure(cases: list[Case], rivals: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run everything on the cases of a benchmark: means per method, and our numbers per case."""
    methods: dict[str, Callable[[Case], Scored]] = {
        f"dfjoin, precision={p}": lambda case, p=p: join_ours(case, p) for p in (0.95, 0.9)
    }
    if rivals:
        methods |= {"TF-IDF nearest, best cut": join_tfidf, "skrub fuzzy_join, best cut": join_skrub}
    table, per_case = {}, {}
    for name, join in methods.items():
        start = time.perf_counter()
        found = [join(case) for case in cases]
        seconds = time.perf_counter() - start
        scores = np.array([case.score(a, b) for case, (a, b, _) in zip(cases, found, strict=True)])
        if name.startswith("dfjoin"):
            per_case[name] = [f"{p:.3f} / {r:.3f}" for p, r, _ in scores]
        else:
            _, scores = best_cut(cases, found)
        has_pairs = np.array([a.size > 0 for a, _, _ in found])
        where_joined = scores[has_pairs, 0].mean() if has_pairs.any() else np.nan
        table[name] = [*scores.mean(axis=0), has_pairs.mean(), where_joined, seconds]
    columns = ["P", "R", "F1", "cases joined", "P where joined", "seconds"]
    names = [case.name for case in cases]
    return pd.DataFrame.from_dict(table, "index", columns=columns), pd.DataFrame(per_case, index=names)


def addresses(n: int, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Generate addresses, and the same ones with a character dropped, doubled or exchanged, in another order."""
    letters = np.array(list("etaoinshrdlucmfwyp"))
    words = ["".join(rng.choice(letters, rng.integers(4, 11))).capitalize() for _ in range(5_000)]
    kinds = ("Street", "Road", "Avenue", "Lane", "Court")
    drawn = zip(rng.integers(1, 2_000, n), *rng.integers(0, len(words), (2, n)), rng.integers(0, 5, n), strict=True)
    left = [f"{number} {words[a]} {kinds[kind]}, {words[b]}" for number, a, b, kind in drawn]
    right = []
    for i in rng.permutation(n).tolist():
        text, at, change = left[i], int(rng.integers(1, len(left[i]) - 1)), int(rng.integers(3))
        put = ("", text[at] * 2, str(rng.choice(letters)))[change]
        right.append(text[:at] + put + text[at + 1 :])
    return left, right


def run_scale(n: int) -> None:
    """Time a join of generated addresses."""
    sides = [pa.array(side, pa.string()) for side in addresses(n, np.random.default_rng(1))]
    find_fuzzy(*(side[:100] for side in sides))  # kernels compile, or are read
    start, spent = time.perf_counter(), time.process_time()
    found = find_fuzzy(*sides)
    print(f"{n:,} texts on either side: {time.process_time() - spent:.1f} s of CPU time, "
          f"{time.perf_counter() - start:.1f} s; {len(found):,} pairs joined")  # fmt: skip


def main() -> None:
    """Run the benchmarks that the folder holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--scale", type=int, help="number of generated texts on either side, in place of the cases")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--seed", type=int, default=0, help="shuffles the right tables")
    parser.add_argument("--no-rivals", action="store_true")
    parser.add_argument("--per-case", action="store_true", help="also print precision / recall per case")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.scale:
        run_scale(options.scale)
        return
    for name in options.sets:
        folders = sorted(f for f in (options.cases / name).iterdir() if (f / "meta.json").exists())
        cases = [load_case(folder, name in WHOLE_ROWS, options.seed) for folder in folders]
        if name in WHOLE_ROWS:
            print(f"\n{name}, labelled pairs of the test split")
            print(measure_test_pairs(cases).to_string(float_format="{:.3f}".format), flush=True)
        means, per_case = measure(cases, not options.no_rivals)
        print(f"\n{name}, {len(cases)} cases")
        print(means.to_string(float_format="{:.3f}".format), flush=True)
        if options.per_case:
            print(per_case.to_string(), flush=True)


if __name__ == "__main__":
    main()
