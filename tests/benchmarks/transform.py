"""Joins by programs against known truth: ``python -m tests.benchmarks.transform CASES_DIR [SET ...]``.

``CASES_DIR`` holds one folder for each set, with a README that says what its files mean. Sets of two tables
are joined with the key columns given and unknown, right rows shuffled; a TF-IDF nearest neighbour at its
best threshold (chosen for each case with the truth in hand) stands beside. Sets of examples are solved from
their first examples. ``--scale`` measures a generated table of authors, title and year against its concatenation.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from dfjoin.transform.compose.by_example import learn_from_examples
from dfjoin.transform.evidence.transform_join import join_rows
from dfjoin.transform.find_programs import find_programs

TABLES = ("autojoin_web", "flashfill_spreadsheet", "tde", "sema_join", "dataxformer_kbwt")
"""Sets of two tables."""
EXAMPLES = ("tde", "prose_transformation_text", "sygus_slia")
"""Sets that are solved from examples."""
SEED = 1
Pairs = set[tuple[object, object]]


@dataclass
class Case:
    """Two tables, the right one shuffled, and the pairs that belong together."""

    name: str
    left: list[tuple[str, pa.Array]]
    right: list[tuple[str, pa.Array]]
    keys: tuple[str, str]
    truth: Pairs
    by_row: bool

    def pairs(self, left_rows: np.ndarray, right_rows: np.ndarray) -> Pairs:
        """Write joined rows as pairs of rows, or of key values where truth is at that level."""
        if self.by_row:
            return set(zip(left_rows.tolist(), right_rows.tolist(), strict=True))
        lefts, rights = dict(self.left)[self.keys[0]], dict(self.right)[self.keys[1]]
        taken = lefts.take(pa.array(left_rows)).to_pylist(), rights.take(pa.array(right_rows)).to_pylist()
        return set(zip(*taken, strict=True))


def _read(path: Path) -> list[tuple[str, pa.Array]]:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    names: list[str] = []
    for name in header:
        while name in names:
            name += "_"
        names.append(name)
    return [(n, pa.array([row[i] if i < len(row) else None for row in rows], pa.string())) for i, n in enumerate(names)]


def cases(folder: Path, seed: int = SEED) -> Iterator[Case]:
    """Read the cases of a set of two tables."""
    for path in sorted(p for p in folder.iterdir() if (p / "truth.csv").exists()):
        meta = json.loads((path / "meta.json").read_text("utf-8"))
        left, right = _read(path / "left.csv"), _read(path / "right.csv")
        order = np.random.default_rng(seed).permutation(len(right[0][1]))
        place = np.argsort(order)
        right = [(name, array.take(pa.array(order))) for name, array in right]
        with (path / "truth.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        by_row = meta["truth_level"] == "row" and folder.name == "autojoin_web"
        if by_row:
            truth: Pairs = {(int(r["left_row"]), int(place[int(r["right_row"])])) for r in rows}
        else:
            truth = {(r["left_key"], r["right_key"]) for r in rows}
        yield Case(meta["case"], left, right, (meta["left_key"], meta["right_key"]), truth, by_row)


def score(found: Pairs, truth: Pairs) -> tuple[float, float, float]:
    """Return precision, recall and F1; precision of nothing is 1."""
    n_right = len(found & truth)
    precision = n_right / len(found) if found else 1.0
    recall = n_right / len(truth) if truth else 1.0
    return precision, recall, 2 * precision * recall / (precision + recall) if n_right else 0.0


def by_program(case: Case, *, known: bool) -> Pairs:
    """Join by learned programs."""
    given = {"on": case.keys[0], "right_on": case.keys[1]} if known else {}
    joined = join_rows(find_programs(case.left, case.right, **given), case.left, case.right)
    return case.pairs(joined.left_rows, joined.right_rows)


def by_nearest(case: Case) -> Pairs:
    """Join each left key with its TF-IDF nearest neighbour, at the threshold of the best F1."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.neighbors import NearestNeighbors

    lefts = pd.Series(dict(case.left)[case.keys[0]].to_pylist()).fillna("").str.lower()
    rights = pd.Series(dict(case.right)[case.keys[1]].to_pylist()).fillna("").str.lower()
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit([*lefts, *rights])
    nearest = NearestNeighbors(n_neighbors=1, metric="cosine").fit(vectorizer.transform(rights))
    distances, indices = (a[:, 0] for a in nearest.kneighbors(vectorizer.transform(lefts)))
    best: Pairs = set()
    for threshold in np.unique(np.quantile(distances, np.linspace(0, 1, 21))):
        rows = np.flatnonzero(distances <= threshold)
        found = case.pairs(rows, indices[rows])
        if score(found, case.truth)[2] > score(best, case.truth)[2]:
            best = found
    return best


def run_tables(folder: Path, verbose: bool) -> list[dict[str, object]]:
    """Measure all methods on a set of two tables."""
    methods = {
        "program, columns unknown": lambda case: by_program(case, known=False),
        "program, columns given": lambda case: by_program(case, known=True),
        "TF-IDF nearest, best threshold": by_nearest,
    }
    rows = []
    for case in cases(folder):
        for method, join in methods.items():
            start = time.perf_counter()
            found = join(case)
            seconds = time.perf_counter() - start
            precision, recall, f1 = score(found, case.truth)
            row = {"set": folder.name, "method": method, "P": precision, "R": recall, "F1": f1, "s": seconds}
            rows.append({**row, "joined": bool(found), "case": case.name})
            if verbose:
                print(f"{case.name[:44]:44s} {method:31s} {precision:.3f} {recall:.3f} {seconds:.2f}", flush=True)
    return rows


def examples_of(folder: Path) -> Iterator[tuple[str, list[tuple[tuple[str, ...], str]]]]:
    """Read a set of examples: name, and rows with their results."""
    listed = folder / "cases.jsonl"
    if listed.exists():
        for line in listed.read_text("utf-8").strip("\n").split("\n"):
            case = json.loads(line)
            yield case["case"], [(tuple(e["input"]), e["output"]) for e in case["examples"]]
        return
    for path in sorted(p for p in folder.iterdir() if (p / "truth.csv").exists()):
        with (path / "truth.csv").open(encoding="utf-8", newline="") as file:
            yield path.name, [((r["left_key"],), r["right_key"]) for r in csv.DictReader(file)]


def solve(examples: list[tuple[tuple[str, ...], str]], k: int) -> bool:
    """Learn from the first k examples; tell whether all other results are right."""
    k = min(k, max(1, len(examples) - 1))
    names = [f"column {i}" for i in range(len(examples[0][0]))]
    rows, targets = [row for row, _ in examples], [target for _, target in examples]
    if not all(targets[:k]):
        return False
    programs = learn_from_examples(names, rows[:k], targets[:k], inputs=rows[k:])
    for row, target in examples[k:]:
        results = (program(*(row[names.index(name)] for name in program.columns)) for program in programs)
        if next((result for result in results if result is not None), None) != target:
            return False
    return bool(programs)


def run_examples(folder: Path, verbose: bool) -> list[dict[str, object]]:
    """Measure the share of cases solved from the first 1, 2 and 3 examples, and from half of them."""
    rows = []
    for name, examples in examples_of(folder):
        if len(examples) < 2:
            continue
        for label, k in (("1", 1), ("2", 2), ("3", 3), ("half", max(1, len(examples) // 2))):
            start = time.perf_counter()
            is_solved = solve(examples, min(k, 20))
            row = {"set": folder.name, "examples": label, "solved": is_solved, "s": time.perf_counter() - start}
            rows.append(row)
            if verbose and label == "3":
                print(f"{'solved' if is_solved else '      '} {name[:60]:60s} {row['s']:.2f}", flush=True)
    return rows


def citations(n: int, rng: np.random.Generator) -> tuple[dict[str, pa.Array], dict[str, pa.Array]]:
    """Generate authors, title, year, and their concatenation in another order of rows."""
    letters = np.array(list("etaoinshrdlucmfwyp"))
    words = np.array(["".join(rng.choice(letters, rng.integers(3, 10))) for _ in range(30_000)], object)
    drawn = words[np.minimum(rng.zipf(1.2, (n, 10)) - 1, len(words) - 1)]
    authors = [f"{a.title()} {b.title()}" for a, b in drawn[:, :2]]
    titles = [" ".join(row).capitalize() for row in drawn[:, 2:]]
    years = [str(year) for year in rng.integers(1960, 2020, n)]
    joined = [f"{authors[i]}. {titles[i]}. {years[i]}" for i in rng.permutation(n)]
    source = {"authors": pa.array(authors), "title": pa.array(titles), "year": pa.array(years)}
    return source, {"citation": pa.array(joined)}


def run_scale(sizes: list[int]) -> None:
    """Time finding and joining on generated tables of several sizes; wall time, and CPU time of both."""
    rows = []
    for n in sizes:
        left, right = citations(n, np.random.default_rng(SEED))
        start, spent = time.perf_counter(), time.process_time()
        found = find_programs(left, right)
        learned = time.perf_counter()
        joined = join_rows(found, left, right)
        done = time.perf_counter()
        rows.append(
            {"rows": n, "find s": learned - start, "join s": done - learned, "CPU s": time.process_time() - spent}
        )
        rows[-1]["joined"] = len(joined.left_rows)
        rows[-1]["program"] = str(found.programs[0].program) if found.found else ""
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.2f}".format))


def main() -> None:
    """Run what the arguments ask for and print one table for each kind of set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="directory of the sets")
    parser.add_argument("sets", nargs="*", help="names of sets; all by default")
    parser.add_argument("--scale", type=int, nargs="+", help="sizes of generated tables")
    parser.add_argument("--verbose", action="store_true", help="a line for each case")
    options = parser.parse_args()
    if options.scale:
        run_scale(options.scale)
    if options.folder is None:
        return
    wanted = options.sets or sorted({*TABLES, *EXAMPLES})
    tables = [row for name in wanted if name in TABLES for row in run_tables(options.folder / name, options.verbose)]
    if tables:
        frame = pd.DataFrame(tables)
        grouped = frame.groupby(["set", "method"], sort=False)
        shown = grouped[["P", "R", "F1", "s"]].mean().assign(cases=grouped.size(), joined=grouped["joined"].sum())
        print(shown.to_string(float_format="{:.3f}".format))
    solved = [
        row for name in wanted if name in EXAMPLES for row in run_examples(options.folder / name, options.verbose)
    ]
    if solved:
        print(
            pd.DataFrame(solved).groupby(["set", "examples"], sort=False).mean().to_string(float_format="{:.3f}".format)
        )


if __name__ == "__main__":
    main()
