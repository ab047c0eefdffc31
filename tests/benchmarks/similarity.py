"""Search by distance against its rivals: ``python -m tests.benchmarks.similarity [--index INDEX] [--generated] …``.

Contenders count the pairs of a query value and a vector within a radius; each is timed alone, on one thread
(``OPENBLAS_NUM_THREADS=1``), CPU time, medians of interleaved rounds. "gemm" is what a user would write: a product of matrices in float32, then float64 for the pairs near
the radius. faiss searches by range (flat), and by its inverted lists (IVF), of which the recall is told. "pivot table" is a table of
distances to 32 outliers (LAESA: Mico, Oncina, Vidal 1994, Pattern Recognition Letters 15) in numpy, "ball tree" that of scikit-learn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.index.segment import Segment
from dfjoin.index.vector_group import texts_of
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_search import MatchTally, QueryVectors, TokenColumns, VectorTable
from dfjoin.search.embedding.near_plans import NearSegment, run_near_plan
from dfjoin.search.embedding.pexeso.pexeso_plan import PexesoSearch
from dfjoin.search.embedding.pexeso.pivots import build_pivot_index, choose_pivots, map_rows
from dfjoin.search.params import SearchStats
from dfjoin.vectors.embedders import unit_rows
from dfjoin.vectors.metrics import metric_of
from dfjoin.vectors.near_cells import build_cells
from dfjoin.vectors.trees import features_of

N_COLUMNS = 1000
_CHUNK = 8192
_AT_ONCE = 1 << 18
"""Vectors that are generated at once."""
_TABLE_PIVOTS = 32


def clustered(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Make clustered unit vectors: clusters of Zipf sizes and log-normal spread."""
    rng = np.random.default_rng(seed)
    k = max(1, n // 200)
    sizes = 1 / np.arange(1, k + 1) ** 0.7
    centers = rng.normal(size=(k, d))
    spread = np.exp(rng.normal(-2.2, 0.5, k))
    own = rng.choice(k, n, p=sizes / sizes.sum())
    rows = np.empty((n, d), np.float32)
    for start in range(0, n, _AT_ONCE):
        part = own[start : start + _AT_ONCE]
        rows[start : start + _AT_ONCE] = unit_rows(
            centers[part] + rng.normal(size=(part.size, d)) * spread[part][:, None]
        )
    return rows


def isotropic(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Make unit vectors without structure, the worst case."""
    return unit_rows(np.random.default_rng(seed).normal(size=(n, d)))


def number_like(segment: Segment) -> np.ndarray:
    """Return the vectors of the texts at least half of whose bytes are digits."""
    stored = segment.vectors
    order = np.argsort(stored.tokens)
    offsets, data = texts_of(segment.tokens, stored.tokens[order].astype(np.int64))
    n_digits = np.concatenate([[0], np.cumsum((data >= ord("0")) & (data <= ord("9")))])
    is_chosen = 2 * np.diff(n_digits[offsets]) >= np.diff(offsets)
    return stored.rows[np.sort(order[is_chosen])]


def near_queries(rows: np.ndarray, n: int, seed: int = 1) -> np.ndarray:
    """Take vectors as queries, a third of them moved a little."""
    rng = np.random.default_rng(seed)
    chosen = rows[rng.choice(len(rows), n, replace=False)].astype(np.float64)
    noise = rng.normal(size=chosen.shape) * (0.05 / np.sqrt(chosen.shape[1]))
    return unit_rows(chosen + np.where(rng.random((n, 1)) < 0.3, noise, 0))


class Contenders:
    """Vectors, and what each contender needs of them; every contender returns the number of pairs."""

    def __init__(self, rows: np.ndarray) -> None:
        start = time.perf_counter()
        self.cells, order = build_cells(rows)
        self.build_seconds = time.perf_counter() - start
        self.rows = np.ascontiguousarray(rows[order])
        tokens = np.arange(len(rows), dtype=np.uint32)
        self.table = VectorTable(as_read_only(self.rows), as_read_only(tokens))
        self.postings = TokenColumns(
            as_read_only(tokens % N_COLUMNS),
            as_read_only(np.zeros(1, np.int64)),
            as_read_only(np.empty(0, np.int32)),
            as_read_only(np.ones(N_COLUMNS, np.uint8)),
        )
        self._pivots: Any = None
        self._table: Any = None
        self._balls: Any = None
        self._faiss: dict[str, Any] = {}
        self.stats = SearchStats()

    def ours(self, queries: np.ndarray, radius: float, plan: str | None) -> int:
        """Search by a plan of dfjoin, features of the queries and counting included."""
        features = features_of(queries, self.cells.projection)
        n = len(queries)
        made = QueryVectors(features, queries, np.arange(n), np.full(n, -1), np.ones(n, np.int64), np.full(n, radius))
        self.stats = SearchStats()
        segment = NearSegment(self.cells, self.table, self.postings)
        run_near_plan(segment, made, None, self._tally(), plan, self.stats)
        return self.stats.near_pairs

    def pexeso(self, queries: np.ndarray, radius: float) -> int:
        """Search by the paper's plan."""
        if self._pivots is None:
            self._pivots = build_pivot_index(self.rows, metric_of("euclidean"))
        n = len(queries)
        made = QueryVectors(
            np.empty((n, 0), np.float32),
            queries,
            np.arange(n),
            np.full(n, -1),
            np.ones(n, np.int64),
            np.full(n, radius),
        )
        self.stats = SearchStats()
        search = PexesoSearch(self._pivots, self.rows, self.table.tokens, self.postings, (radius, radius), 0)
        search.run(made, self._tally(), self.stats)
        return self.stats.near_pairs

    def gemm(self, queries: np.ndarray, radius: float) -> int:
        """Multiply matrices in float32, and look again at the pairs near the radius in float64."""
        transposed, total = np.ascontiguousarray(queries.T), 0
        least, sure = 1 - radius**2 / 2 - 4e-6, 1 - radius**2 / 2 + 4e-6
        for first in range(0, len(self.rows), _CHUNK):
            part = self.rows[first : first + _CHUNK]
            products = part @ transposed
            total += int(np.count_nonzero(products >= sure))
            i, j = np.nonzero((products >= least) & (products < sure))
            gaps = part[i].astype(np.float64) - queries[j]
            total += int(np.count_nonzero(np.sqrt((gaps**2).sum(axis=1)) <= radius))
        return total

    def faiss_flat(self, queries: np.ndarray, radius: float) -> int:
        """Search by range in all vectors."""
        import faiss

        if "flat" not in self._faiss:
            faiss.omp_set_num_threads(1)
            self._faiss["flat"] = faiss.IndexFlatL2(self.rows.shape[1])
            self._faiss["flat"].add(self.rows)
        return int(self._faiss["flat"].range_search(queries, radius**2)[0][-1])

    def faiss_ivf(self, queries: np.ndarray, radius: float, n_probe: int = 16) -> int:
        """Search by range in the nearest inverted lists: approximate."""
        import faiss

        if "ivf" not in self._faiss:
            faiss.omp_set_num_threads(1)
            d = self.rows.shape[1]
            n_lists = int(4 * np.sqrt(len(self.rows)))
            self._faiss["ivf"] = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, n_lists)
            self._faiss["ivf"].train(self.rows[:: max(1, len(self.rows) // (40 * n_lists))])
            self._faiss["ivf"].add(self.rows)
        self._faiss["ivf"].nprobe = n_probe
        return int(self._faiss["ivf"].range_search(queries, radius**2)[0][-1])

    def pivot_table(self, queries: np.ndarray, radius: float) -> int:
        """Leave out what a distance to a pivot excludes, pivot after pivot; compare the rest in float64."""
        metric = metric_of("euclidean")
        if self._table is None:
            pivots = choose_pivots(self.rows, metric, _TABLE_PIVOTS)
            mapped = map_rows(self.rows, pivots, metric)
            order = np.argsort(mapped[:, 0], kind="stable")
            self._table = pivots, np.ascontiguousarray(mapped[order].T), self.rows[order]
        pivots, table, rows = self._table
        total, reach = 0, radius + 1e-6
        for query, own in zip(queries, map_rows(queries, pivots, metric), strict=True):
            first, last = np.searchsorted(table[0], [own[0] - reach, own[0] + reach])
            left = np.arange(first, last)
            for distances, distance in zip(table[1:], own[1:], strict=True):
                left = left[np.abs(distances[left] - distance) <= reach]
            gaps = rows[left].astype(np.float64) - query
            total += int(np.count_nonzero(np.sqrt((gaps**2).sum(axis=1)) <= radius))
        return total

    def ball_tree(self, queries: np.ndarray, radius: float) -> int:
        """Search the tree of balls."""
        from sklearn.neighbors import BallTree

        if self._balls is None:
            self._balls = BallTree(self.rows.astype(np.float64), leaf_size=40)
        return int(self._balls.query_radius(queries.astype(np.float64), radius, count_only=True).sum())

    @staticmethod
    def _tally() -> MatchTally:
        zeros = np.zeros((2, N_COLUMNS), np.int64)
        return MatchTally(zeros[0], zeros[1], np.full(N_COLUMNS, -1), np.full(0, -1), False)


def measure(made: Contenders, queries: np.ndarray, radii: list[float], rounds: int, rivals: list[str]) -> pd.DataFrame:
    """Time each contender at each radius, given as a share of the largest distance; check that the exact ones agree.

    Returns
    -------
    DataFrame
        A row for each radius and contender: milliseconds, times as fast as gemm, pairs a query, share of the pairs.
    """
    calls: dict[str, Callable[[np.ndarray, float], int]] = {
        "dfjoin": lambda q, r: made.ours(q, r, None),
        "gemm": made.gemm,
        "pexeso": made.pexeso,
        "faiss flat": made.faiss_flat,
        "faiss ivf": made.faiss_ivf,
        "pivot table": made.pivot_table,
        "ball tree": made.ball_tree,
    }
    names = ["dfjoin", "gemm", *rivals]
    found = []
    for share in radii:
        radius = 2 * share
        spent: dict[str, list[float]] = {name: [] for name in names}
        pairs = {name: calls[name](queries, radius) for name in names}
        exact = {name: n for name, n in pairs.items() if name != "faiss ivf"}
        near = [n for name, n in exact.items() if name != "faiss flat"]  # faiss compares in float32
        assert len(set(near)) == 1, exact
        for _ in range(rounds):
            for name in names:
                start = time.process_time()
                calls[name](queries, radius)
                spent[name].append((time.process_time() - start) * 1e3)
        for name in names:
            ms = float(np.median(spent[name]))
            found.append(
                {
                    "radius": share,
                    "contender": name,
                    "ms": ms,
                    "faster than gemm": float(np.median(spent["gemm"])) / ms,
                    "pairs a query": pairs[name] / len(queries),
                    "share of pairs": pairs[name] / max(1, pairs["gemm"]),
                }
            )
    return pd.DataFrame(found)


def variance_share(rows: np.ndarray, n_axes: int = 16) -> float:
    """Return the share of the variance in the first principal axes."""
    sample = rows[:: max(1, len(rows) // 20_000)].astype(np.float64)
    values = np.linalg.eigvalsh(np.cov(sample.T))[::-1]
    return float(values[:n_axes].sum() / values.sum())


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--index", type=Path, help="an index with vectors: those of its first segment are searched")
    parser.add_argument("--vectors", type=int, default=500_000, help="vectors, at most")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--radii", type=float, nargs="+", default=[0.02, 0.04, 0.08])
    parser.add_argument(
        "--rivals", nargs="*", default=["pexeso", "faiss flat", "faiss ivf", "pivot table", "ball tree"]
    )
    options = parser.parse_args(arguments)
    data: dict[str, Callable[[], np.ndarray]] = {
        "clustered, 50 numbers": lambda: clustered(options.vectors, 50),
        "isotropic, 300 numbers": lambda: isotropic(min(options.vectors, 300_000), 300),
    }
    if options.index is not None:
        segment = dfjoin.open_lake(options.index).segments[0]

        def thinned(rows: np.ndarray) -> np.ndarray:
            return np.ascontiguousarray(rows[:: max(1, len(rows) // options.vectors)])

        data = {
            f"texts of {options.index.name}": lambda: thinned(segment.vectors.rows),
            f"number-like texts of {options.index.name}": lambda: thinned(number_like(segment)),
        } | data
    for name, make in data.items():
        rows = make()
        made = Contenders(rows)
        share = variance_share(rows)
        print(
            f"\n{name}: {len(rows):,} vectors, {share:.0%} of the variance in 16 axes, cells in {made.build_seconds:.1f} s"
        )
        frame = measure(made, near_queries(rows, options.queries), options.radii, options.rounds, options.rivals)
        print(frame.to_string(index=False, float_format="{:.3g}".format), flush=True)


if __name__ == "__main__":
    main()
