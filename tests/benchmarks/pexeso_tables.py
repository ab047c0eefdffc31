"""What each part of PEXESO is worth: ``python -m tests.benchmarks.pexeso_tables [--index INDEX] [--vectors N]``.

Three tables of the paper (Dong et al., ICDE 2021) in shape, on vectors of texts or generated clusters: the distances that are
left without a group of lemmas (figure 9), the time over pivots and levels (table VI), and what it saves to close columns
early (lemma 7) once a value that many columns hold is compared once. CPU time, one thread (``OPENBLAS_NUM_THREADS=1``).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_search import MatchTally, QueryVectors, TokenColumns
from dfjoin.search.embedding.pexeso.pexeso_plan import PexesoSearch
from dfjoin.search.embedding.pexeso.pivots import PivotIndex, build_pivot_index, choose_pivots, map_rows
from dfjoin.search.params import SearchStats
from dfjoin.vectors.metrics import metric_of
from tests.benchmarks.similarity import clustered, near_queries

_OF_COLUMN = 200


def columns_of(n: int, seed: int = 0) -> TokenColumns:
    """Put vectors into columns of neighbours by number, a third of them into two."""
    n_columns = max(1, n // _OF_COLUMN)
    first = np.arange(n) // _OF_COLUMN % n_columns
    pairs, number = np.unique(
        np.column_stack([first, np.random.default_rng(seed).integers(0, n_columns, n)]), axis=0, return_inverse=True
    )
    is_double = (np.arange(n) % 3 == 0) & (pairs[number.ravel()][:, 0] != pairs[number.ravel()][:, 1])
    group = np.where(is_double, n_columns + number.ravel(), first).astype(np.uint32)
    lists = np.sort(pairs, axis=1).astype(np.int32).ravel()
    indptr = np.arange(pairs.shape[0] + 1, dtype=np.int64) * 2
    return TokenColumns(*map(as_read_only, (group, indptr, lists, np.ones(n_columns, np.uint8))))


def run(
    index: PivotIndex, rows: np.ndarray, queries: np.ndarray, postings: TokenColumns, radius: float, share: float = 0.0
) -> tuple[float, SearchStats, np.ndarray]:
    """Search by the paper's plan; return CPU seconds, what was read, and the query values that each column matches."""
    n, n_columns = len(queries), postings.is_near.size
    minimum = int(np.ceil(share * n))
    zeros, stats = np.zeros((2, n_columns), np.int64), SearchStats()
    stamps = np.full(n_columns, -1), np.full(postings.list_indptr.size - 1, -1)
    tally = MatchTally(zeros[0], zeros[1], *stamps, False)
    made = QueryVectors(
        np.empty((n, 0), np.float32), queries, np.arange(n), np.full(n, -1), np.ones(n, np.int64), np.zeros(n)
    )
    search = PexesoSearch(index, rows, np.arange(len(rows), dtype=np.uint32), postings, (radius, radius), minimum)
    start = time.process_time()
    search.run(made, tally, stats)
    return time.process_time() - start, stats, tally.scores


def ablation(
    rows: np.ndarray, queries: np.ndarray, radius: float, n_pivots: int = 5, n_levels: int = 4
) -> pd.DataFrame:
    """Count the distances of a query value that each group of lemmas leaves: of vectors, of cells, filters and matches."""
    metric = metric_of("euclidean")
    pivots = choose_pivots(rows, metric, n_pivots)
    mapped, own = map_rows(rows, pivots, metric), map_rows(queries, pivots, metric)
    width = float(mapped.max()) * (1 + 1e-9) / (1 << n_levels)
    cells = np.floor(mapped / width)
    low, high = cells * width, (cells + 1) * width
    counts = np.zeros(6)
    for q in own:
        is_near = (np.abs(mapped - q) <= radius).all(axis=1)  # lemma 1
        is_match = (mapped + q <= radius).any(axis=1)  # lemma 2
        in_cell = ((low <= q + radius) & (high >= q - radius)).all(axis=1)  # lemmas 3 and 4
        cell_match = (high + q <= radius).any(axis=1)  # lemmas 5 and 6
        kept = (
            np.full(len(rows), True),
            in_cell & is_near & ~is_match & ~cell_match,
            in_cell & ~is_match & ~cell_match,
            is_near & ~is_match,
            in_cell & is_near,
            in_cell & ~cell_match,
        )
        counts += [int(one.sum()) for one in kept]
    names = ["no lemma", "all", "without 1", "without 3 to 6", "without 2, 5, 6", "without 1, 2"]
    return pd.DataFrame({"lemmas": names, "distances a query": counts / len(queries)})


def over_pivots(rows: np.ndarray, queries: np.ndarray, radius: float) -> pd.DataFrame:
    """Time the search over the number of pivots and of levels."""
    postings, found = columns_of(len(rows)), []
    expected: np.ndarray | None = None
    for n_pivots in (1, 3, 5, 7):
        for n_levels in (2, 4, 6):
            index = build_pivot_index(rows, metric_of("euclidean"), n_pivots, n_levels)
            seconds, stats, scores = run(index, rows, queries, postings, radius)
            expected = scores if expected is None else expected
            assert np.array_equal(scores, expected)
            found.append((n_pivots, n_levels, seconds * 1e3, stats.distances / len(queries)))
    return pd.DataFrame(found, columns=["pivots", "levels", "ms", "distances a query"])


def early_end(rows: np.ndarray, queries: np.ndarray, radius: float) -> pd.DataFrame:
    """Compare a search that closes columns early with one that does not, over thresholds."""
    postings, index = columns_of(len(rows)), build_pivot_index(rows, metric_of("euclidean"))
    found = []
    plain, all_stats, scores = run(index, rows, queries, postings, radius)
    for share in (0.2, 0.4, 0.6, 0.8):
        seconds, stats, closed = run(index, rows, queries, postings, radius, share)
        wanted = scores >= share * len(queries)
        assert np.array_equal(wanted, closed >= share * len(queries))
        found.append((share, seconds / plain, stats.distances / max(1, all_stats.distances), int(wanted.sum())))
    return pd.DataFrame(found, columns=["threshold", "time, of that without", "distances", "columns found"])


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--index", type=Path, help="an index with vectors: those of its first segment are searched")
    parser.add_argument("--vectors", type=int, default=30_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--radii", type=float, nargs="+", default=[0.02, 0.06])
    options = parser.parse_args(arguments)
    data = {"clustered, 50 numbers": clustered(options.vectors, 50)}
    if options.index is not None:
        stored = dfjoin.open_lake(options.index).segments[0].vectors.rows
        data["texts"] = np.ascontiguousarray(stored[:: max(1, len(stored) // options.vectors)])
    for name, rows in data.items():
        queries = near_queries(rows, min(options.queries, len(rows)))
        for share in options.radii:
            print(f"\n{name}: {len(rows):,} vectors, {len(queries)} query values, radius {share:.0%}")
            for table in (ablation, over_pivots, early_end):
                frame = table(rows, queries, 2 * share)
                print(frame.to_string(index=False, float_format="{:.3g}".format), flush=True)


if __name__ == "__main__":
    main()
