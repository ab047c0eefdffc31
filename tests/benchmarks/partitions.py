"""Columns in partitions by their distributions: ``python -m tests.benchmarks.partitions [--index INDEX] [--parts K]``.

Dong et al. (ICDE 2021, section IV) put columns of like histograms into one partition (k-means under the Jensen-Shannon
divergence), so that pivots suit a partition, and search one partition at a time. Compared with columns at random, in the order of
their tables, and in one piece: what a query of up to 200 values reads, by the cells of dfjoin and by the paper's plan. The
partitions are built anew for each way; CPU time, one thread (``OPENBLAS_NUM_THREADS=1``).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.index.vector_group import text_columns
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_search import TokenColumns
from tests.benchmarks.similarity import Contenders, clustered, near_queries

_BINS = 256
_ROUNDS = 10
_LARGEST_QUERY = 200


class Columns(NamedTuple):
    """Vectors, and which column holds which: pairs of a column and a vector, by column."""

    rows: np.ndarray
    ends: np.ndarray
    members: np.ndarray

    def of(self, column: int) -> np.ndarray:
        """Return the vectors of a column, by number."""
        return self.members[self.ends[column] : self.ends[column + 1]]


def neighbours(rows: np.ndarray, size: int = 200) -> Columns:
    """Make columns of generated vectors: each has those nearest to one of as many centers."""
    centers = rows[:: max(1, size)]
    nearest = np.concatenate([(rows[i : i + 4096] @ centers.T).argmax(axis=1) for i in range(0, len(rows), 4096)])
    order = np.argsort(nearest, kind="stable")
    return Columns(rows, np.searchsorted(nearest[order], np.arange(len(centers) + 1)), order)


def of_lake(index: Path, n_columns: int, seed: int = 0) -> Columns:
    """Take columns of text of an index, with 20 to 5,000 values, in the order of their tables."""
    segment = dfjoin.open_lake(index).segments[0]
    tokens, stored = segment.tokens, segment.vectors
    group = tokens.group[np.asarray(stored.tokens)].astype(np.int64)
    n = segment.n_columns
    is_single = group < n
    lists = np.where(is_single, 0, group - n)
    starts = tokens.list_indptr[lists]
    widths = np.where(is_single, 0, tokens.list_indptr[lists + 1] - starts)
    vectors = np.concatenate([np.flatnonzero(is_single), np.repeat(np.arange(group.size), widths)])
    columns = np.concatenate([group[is_single], tokens.list_columns[expand_stretches(starts, widths)]])
    sizes = np.bincount(columns, minlength=n)
    fit = np.flatnonzero((text_columns(segment) > 0) & (sizes >= 20) & (sizes <= 5000))
    chosen = np.sort(np.random.default_rng(seed).choice(fit, min(n_columns, fit.size), replace=False))
    number = np.full(n, -1)
    number[chosen] = np.arange(chosen.size)
    own = number[columns]
    vectors, own = vectors[own >= 0], own[own >= 0]
    order = np.argsort(own, kind="stable")
    needed, members = np.unique(vectors[order], return_inverse=True)
    return Columns(
        np.ascontiguousarray(stored.rows[needed]), np.searchsorted(own[order], np.arange(chosen.size + 1)), members
    )


def postings_of(columns: Columns) -> TokenColumns:
    """Return the columns of each vector as an index holds them: a column, or a list of columns."""
    n = columns.ends.size - 1
    holders = pd.Series(np.repeat(np.arange(n), np.diff(columns.ends))).groupby(columns.members).agg(tuple)
    lists = {held: number for number, held in enumerate(sorted({held for held in holders if len(held) > 1}))}
    group = np.array([held[0] if len(held) == 1 else n + lists[held] for held in holders], np.uint32)
    indptr = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    flat = np.array([column for held in lists for column in held], np.int32)
    return TokenColumns(*map(as_read_only, (group, indptr, flat, np.ones(n, np.uint8))))


def histograms(columns: Columns, seed: int = 0) -> np.ndarray:
    """Return the share of each column's vectors in regions of the space, of those nearest to a center each."""
    centers = columns.rows[np.random.default_rng(seed).choice(len(columns.rows), _BINS, replace=False)]
    region = np.concatenate(
        [(columns.rows[i : i + 4096] @ centers.T).argmax(axis=1) for i in range(0, len(columns.rows), 4096)]
    )
    counts = np.array([np.bincount(region[columns.of(c)], minlength=_BINS) for c in range(columns.ends.size - 1)])
    smooth = counts + 0.01
    return smooth / smooth.sum(axis=1, keepdims=True)


def by_divergence(shares: np.ndarray, k: int, seed: int = 0) -> np.ndarray:
    """Cluster histograms: k-means under the divergence of the paper, (KL(A, B) + KL(B, A)) / 2."""
    centers = shares[np.random.default_rng(seed).choice(len(shares), k, replace=False)]
    own = np.sum(shares * np.log(shares), axis=1, keepdims=True)
    for _ in range(_ROUNDS):
        of_center = np.sum(centers * np.log(centers), axis=1)
        divergence = own - shares @ np.log(centers).T + of_center - np.log(shares) @ centers.T
        nearest = divergence.argmin(axis=1)
        centers = np.array(
            [shares[nearest == c].mean(axis=0) if (nearest == c).any() else centers[c] for c in range(k)]
        )
    return nearest


def measure(columns: Columns, part_of: np.ndarray, queries: list[np.ndarray], radius: float) -> dict[str, float]:
    """Search every partition for each query; return what that costs a query, on the average."""
    made = []
    for part in np.unique(part_of):
        members = np.unique(np.concatenate([columns.of(c) for c in np.flatnonzero(part_of == part)]))
        made.append(Contenders(np.ascontiguousarray(columns.rows[members])))
        made[-1].pexeso(queries[0], 0.0)  # its index is built
    found = dict.fromkeys(["stored", "parts passed", "MB", "ms", "pexeso distances", "pexeso ms"], 0.0)
    found["stored"] = sum(len(one.rows) for one in made) / len(columns.rows)
    for query in queries:
        for one in made:
            start = time.process_time()
            one.ours(query, radius, "tree")
            found["ms"] += (time.process_time() - start) * 1e3 / len(queries)
            found["parts passed"] += (one.stats.distances == 0) / len(made) / len(queries)
            found["MB"] += one.stats.bytes_read / 1e6 / len(queries)
            start = time.process_time()
            one.pexeso(query, radius)
            found["pexeso ms"] += (time.process_time() - start) * 1e3 / len(queries)
            found["pexeso distances"] += one.stats.distances / len(query) / len(queries)
    return found


def compare(columns: Columns, k: int, n_queries: int, radius: float, seed: int = 0) -> pd.DataFrame:
    """Measure the ways to put columns into partitions."""
    rng = np.random.default_rng(seed)
    n = columns.ends.size - 1
    queries = []
    for column in rng.choice(n, min(n, n_queries), replace=False):
        own = columns.rows[columns.of(column)]
        queries.append(near_queries(own, min(len(own), _LARGEST_QUERY), int(column)))
    ways = {
        "one piece": np.zeros(n, np.int64),
        "in order": np.arange(n) * k // n,
        "at random": rng.integers(0, k, n),
        "by divergence": by_divergence(histograms(columns), k),
    }
    return pd.DataFrame({name: measure(columns, part, queries, radius) for name, part in ways.items()}).T


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--index", type=Path, help="an index with vectors: columns of its first segment")
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--radii", type=float, nargs="+", default=[0.02, 0.06])
    options = parser.parse_args(arguments)
    data = {"clustered, 50 numbers": neighbours(clustered(200 * options.columns, 50))}
    if options.index is not None:
        data["texts"] = of_lake(options.index, options.columns)
    for name, columns in data.items():
        for share in options.radii:
            print(f"\n{name}: {columns.ends.size - 1} columns, {len(columns.rows):,} vectors, radius {share:.0%}")
            frame = compare(columns, options.parts, options.queries, 2 * share)
            print(frame.to_string(float_format="{:.3g}".format), flush=True)


if __name__ == "__main__":
    main()
