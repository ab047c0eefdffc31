"""What the filters of whole columns are worth: ``python -m tests.benchmarks.pexeso_groups [--index INDEX]``.

The paper of 2020 on numeric columns (section III-C and IV) takes one column after the other: the values of a column are in groups
around centers that all columns share. A column joins for sure if enough values lie near a common center (theorem 1), cannot
join if too many query values are far from all its groups (theorem 2, reverse filter), and what is decided of it decides columns
whose groups are smaller or fuller (theorems 4 and 5), so that the order of columns counts (next-set selection). Counted here:
columns that each filter decides without a distance, and the distances: with the filters; where columns that join are counted to
their end, as a result tells how many values match; without filters; and those of the searches that take all columns at once and
compare a value once: by the paper's grids with lemma 7, by these with theorem 2 in its place, and by cells. Counts are of
distinct query values with a partner ("hit").
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from dfjoin.search.embedding.pexeso.pivots import PivotIndex, build_pivot_index, map_rows
from dfjoin.vectors.metrics import metric_of
from tests.benchmarks.partitions import Columns, neighbours, of_lake, postings_of
from tests.benchmarks.pexeso_tables import run
from tests.benchmarks.similarity import Contenders, clustered, near_queries

_CENTERS = 256
_LARGEST_QUERY = 200
_NO_LIMIT = -1


class Groups(NamedTuple):
    """The groups of a column: their centers by number, radii, and the distance of each value to its own center."""

    centers: np.ndarray
    radii: np.ndarray
    group: np.ndarray
    distances: np.ndarray


class Query(NamedTuple):
    """Query vectors, their distances to all centers, and the center that each is nearest to."""

    rows: np.ndarray
    to_centers: np.ndarray
    nearest: np.ndarray


class Decision(NamedTuple):
    """What became of a column: by which filter, how many query values matched when it ended, how many distances."""

    by: str
    matched: int
    distances: int


def distances_of(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the Euclidean distances of unit vectors, shape (n, m)."""
    return np.sqrt(np.maximum(0, 2 - 2 * (rows.astype(np.float64) @ others.T.astype(np.float64))))


def groups_of(rows: np.ndarray, centers: np.ndarray) -> Groups:
    """Put the values of a column into groups around their nearest centers."""
    to_centers = distances_of(rows, centers)
    nearest = to_centers.argmin(axis=1)
    own = to_centers[np.arange(len(rows)), nearest]
    used, group = np.unique(nearest, return_inverse=True)
    radii = np.zeros(used.size)
    np.maximum.at(radii, group, own)
    return Groups(used, radii, group, own)


def sure_matches(query: Query, column: Groups, radius: float) -> int:
    """Return the lower bound of theorem 1: query values within half the radius of a center that a value is as near to."""
    is_full = np.zeros(query.to_centers.shape[1], bool)
    is_full[column.centers[column.group[column.distances <= radius / 2]]] = True
    own = query.to_centers[np.arange(len(query.rows)), query.nearest]
    return int((is_full[query.nearest] & (own <= radius / 2)).sum())


def possible_matches(query: Query, column: Groups, radius: float) -> np.ndarray:
    """Tell which query values may match at all: lemma 2 leaves a group of the column."""
    return (query.to_centers[:, column.centers] <= column.radii + radius).any(axis=1)


def decide(query: Query, rows: np.ndarray, column: Groups, radius: float, least: int) -> Decision:
    """Decide whether a column joins, as algorithm 4 does without dominating groups; the last filter is the distances."""
    if least != _NO_LIMIT and sure_matches(query, column, radius) >= least:
        return Decision("theorem 1", least, 0)
    may = possible_matches(query, column, radius)
    if least != _NO_LIMIT and may.sum() < least:
        return Decision("theorem 2", 0, 0)
    matched, left, spent = 0, int(may.sum()), 0
    for q in np.flatnonzero(may).tolist():
        to_group = query.to_centers[q, column.centers]
        if (to_group + column.radii <= radius).any():  # lemma 4
            matched += 1
        else:
            near = np.flatnonzero(np.abs(column.distances - to_group[column.group]) <= radius)  # lemma 1
            found = distances_of(query.rows[q : q + 1], rows[near])[0] <= radius
            spent += int(found.argmax()) + 1 if found.any() else near.size
            matched += bool(found.any())
        left -= 1
        if least != _NO_LIMIT and (matched >= least or matched + left < least):
            break
    return Decision("distances", matched, spent)


def dominated(decided: list[int], columns: list[Groups]) -> int:
    """Count columns whose groups lie within those of one that was decided before (theorem 5)."""
    n, passed = 0, set()
    for i in decided:
        if i in passed:
            continue
        radii = dict(zip(columns[i].centers.tolist(), columns[i].radii.tolist(), strict=True))
        for j in decided:
            if j != i and j not in passed:
                own = zip(columns[j].centers.tolist(), columns[j].radii.tolist(), strict=True)
                if all(radius <= radii.get(center, -1.0) for center, radius in own):
                    passed.add(j)
                    n += 1
    return n


class Case(NamedTuple):
    """A query that is a column of the lake, moved a little, and the groups of all columns."""

    columns: Columns
    own: list[np.ndarray]
    groups: list[Groups]
    query: Query


def case_of(columns: Columns, query_column: int, seed: int = 0) -> Case:
    """Make a case; its centers are vectors of the lake."""
    rng = np.random.default_rng(seed)
    centers = columns.rows[rng.choice(len(columns.rows), min(_CENTERS, len(columns.rows)), replace=False)]
    own = [columns.rows[columns.of(c)] for c in range(columns.ends.size - 1)]
    rows = near_queries(own[query_column], min(_LARGEST_QUERY, len(own[query_column])))
    to_centers = distances_of(rows, centers)
    query = Query(rows, to_centers, to_centers.argmin(axis=1))
    return Case(columns, own, [groups_of(values, centers) for values in own], query)


def with_reverse_filter(case: Case, index: PivotIndex, radius: float, least: int) -> int:
    """Count the distances of the paper's grids where theorem 2 closes columns before any distance: those that lemma 1 leaves."""
    columns = case.columns
    mapped = map_rows(columns.rows, index.pivots, index.metric)
    left = [
        (np.abs(mapped - one) <= radius).all(axis=1) for one in map_rows(case.query.rows, index.pivots, index.metric)
    ]
    most = sum(np.logical_or.reduceat(one[columns.members], columns.ends[:-1]).astype(int) for one in left)
    is_open = np.zeros(len(columns.rows), bool)
    for column in np.flatnonzero(most >= least).tolist():
        is_open[columns.of(column)] = True
    return sum(int((one & is_open).sum()) for one in left)


def measure(case: Case, radius: float, shares: list[float]) -> pd.DataFrame:
    """Search for the columns that join at each threshold."""
    columns, own, groups, query = case
    rows = query.rows
    full = [decide(query, values, group, radius, _NO_LIMIT) for values, group in zip(own, groups, strict=True)]
    cells, postings = Contenders(columns.rows), postings_of(columns)
    cells.ours(rows, radius, "tree")
    index = build_pivot_index(columns.rows, metric_of("euclidean"))
    found = []
    for share in shares:
        least = int(np.ceil(share * len(rows)))
        made = [decide(query, values, group, radius, least) for values, group in zip(own, groups, strict=True)]
        joins = [one.matched >= least for one in made]
        _, stats, scores = run(index, columns.rows, rows, postings, radius, share)
        assert joins == [one.matched >= least for one in full] == (scores >= least).tolist()
        refused = [i for i, one in enumerate(made) if one.by == "theorem 2"]
        with_counts = [whole if is_hit else one for one, whole, is_hit in zip(made, full, joins, strict=True)]
        found.append(
            {
                "threshold": share,
                "columns": len(own),
                "join": sum(joins),
                "by theorem 1": sum(one.by == "theorem 1" for one in made),
                "by theorem 2": len(refused),
                "of these by 5": dominated(refused, groups),
                "distances": sum(one.distances for one in made),
                "with counts": sum(one.distances for one in with_counts),
                "without": sum(one.distances for one in full),
                "bounds": len(rows) * sum(group.centers.size for group in groups),
                "grids": stats.distances,
                "grids, 2": with_reverse_filter(case, index, radius, least),
                "cells": cells.stats.distances,
            }
        )
    return pd.DataFrame(found)


def top(case: Case, radius: float, k: int = 10, seed: int = 0) -> dict[str, int]:
    """Count the distances of a top-k search over the order of columns: the k-th best count is the threshold so far."""
    _, own, groups, query = case
    counts = [
        decide(query, values, group, radius, _NO_LIMIT).matched for values, group in zip(own, groups, strict=True)
    ]
    sure = [sure_matches(query, group, radius) for group in groups]
    possible = [int(possible_matches(query, group, radius).sum()) for group in groups]
    orders = {
        "at random": np.random.default_rng(seed).permutation(len(own)),
        "by lower bound": np.lexsort((-np.array(possible), -np.array(sure))),
        "best first": np.argsort(-np.array(counts), kind="stable"),
    }
    spent = {}
    for name, order in orders.items():
        best: list[int] = []
        spent[name] = 0
        for c in order.tolist():
            # A column that reaches the threshold is counted to its end: its count is the answer.
            least = best[k - 1] + 1 if len(best) >= k else _NO_LIMIT
            if least != _NO_LIMIT and possible[c] < least:
                continue
            is_wanted = least == _NO_LIMIT or counts[c] >= least
            spent[name] += decide(query, own[c], groups[c], radius, _NO_LIMIT if is_wanted else least).distances
            best = sorted([*best, counts[c]], reverse=True)[:k]
    return spent


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--index", type=Path, help="an index with vectors: columns of its first segment")
    parser.add_argument("--columns", type=int, default=300)
    parser.add_argument("--queries", type=int, default=5)
    parser.add_argument("--radii", type=float, nargs="+", default=[0.02, 0.06])
    parser.add_argument("--thresholds", type=float, nargs="+", default=[0.2, 0.4, 0.6, 0.8])
    options = parser.parse_args(arguments)
    data = {"clustered, 50 numbers": neighbours(clustered(200 * options.columns, 50))}
    if options.index is not None:
        data["texts"] = of_lake(options.index, options.columns)
    for name, columns in data.items():
        n = columns.ends.size - 1
        chosen = np.random.default_rng(1).choice(n, min(n, options.queries), replace=False).tolist()
        for share in options.radii:
            print(f"\n{name}: {n} columns, {len(columns.rows):,} vectors, radius {share:.0%}, means of a query")
            cases = [case_of(columns, c) for c in chosen]
            frames = [measure(case, 2 * share, options.thresholds) for case in cases]
            frame = pd.concat(frames).groupby("threshold", as_index=False).mean()
            print(frame.to_string(index=False, float_format="{:,.4g}".format))
            spent = pd.DataFrame([top(case, 2 * share) for case in cases]).mean()
            print("distances of a top-10 search by order: ", spent.round().astype(int).to_dict(), flush=True)


if __name__ == "__main__":
    main()
