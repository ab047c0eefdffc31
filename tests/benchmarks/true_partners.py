"""Is the first column found the right one, by mode? ``python -m tests.benchmarks.true_partners DATABASES PAIRS``.

DATABASES has a folder for each relational database (``tables/*.csv``, ``truth.csv`` of declared keys); the query is a
foreign key, the lake the other tables. PAIRS has a folder for each pair of tables (``left.csv``, ``right.csv``,
``truth.csv`` of columns that belong together); the query is a column of the left one, the lake the right one. The first row
of the answer counts; 1,000 rows are drawn of larger tables. Of a query column with several true partners any one is right. Vectors are trained on each lake. They are for
texts: numbers are asked for as texts, which match where they are equal.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

import dfjoin
from tests.benchmarks.joinable_tables import METHODS

MOST_ROWS = 1000


def key_cases(database: Path) -> Iterator[tuple[Path, str, str, set[tuple[str, str]]]]:
    """List the declared keys of a database: its tables, the table and column that refer, and what they refer to."""
    truth = pd.read_csv(database / "truth.csv")
    truth = truth[truth["fk_distinct"] > 0]
    for (table, column), rows in truth.groupby(["fk_table", "fk_column"]):
        partners = zip(rows["pk_table"] + ".csv", rows["pk_column"], strict=True)
        yield database / "tables", f"{table}.csv", str(column), set(partners)


def pair_cases(case: Path) -> Iterator[tuple[Path, str, str, set[tuple[str, str]]]]:
    """List the columns of the left table that have a partner in the right one."""
    truth = pd.read_csv(case / "truth.csv")
    for column, rows in truth.groupby("left_column"):
        yield case, "left.csv", str(column), {("right.csv", name) for name in rows["right_column"]}


def measure(cases: list[tuple[Path, str, str, set[tuple[str, str]]]], ranks: tuple[str, ...]) -> pd.DataFrame:
    """One row for each query, method and order of the answer: whether its first row is right."""
    lakes: dict[Path, dfjoin.Lake] = {}
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for tables, table, column, partners in cases:
            if tables not in lakes:
                index = Path(place) / str(len(lakes))
                lakes[tables] = dfjoin.build_lake(
                    tables, index, exclude="truth.csv", engine="inline", embedder="fasttext", progress=False
                )
            frame = lakes[tables].table(table)
            frame = frame.sample(min(MOST_ROWS, len(frame)), random_state=0)
            for method, how in METHODS.items():
                query = frame.astype({column: "string"}) if how["mode"] == "embedding" else frame
                for rank in ranks:
                    start = time.process_time()
                    hits = query.discover_joinable(column, lakes[tables], k=1, exclude=table, **how | {"rank": rank})
                    spent = time.process_time() - start
                    found = set(zip(hits["table"], hits["column"], strict=True))
                    rows.append((method, rank, bool(found & partners), spent))
    return pd.DataFrame(rows, columns=["method", "rank", "right", "seconds"])


def main(arguments: list[str] | None = None) -> None:
    """Measure and print recall@1 of each method and order, and CPU seconds of all queries."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("databases", type=Path)
    parser.add_argument("pairs", type=Path)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    for place, cases_of in ((options.databases, key_cases), (options.pairs, pair_cases)):
        cases = [case for path in sorted(place.glob("*/truth.csv")) for case in cases_of(path.parent)]
        frame = measure(cases, ("useful", "matched"))
        shown = frame.groupby(["method", "rank"], sort=False).agg(
            recall_1=("right", "mean"), seconds=("seconds", "sum")
        )
        print(f"\n{place.name}: {len(cases)} query columns\n{shown.unstack().round(3).to_string()}", flush=True)


if __name__ == "__main__":
    main()
