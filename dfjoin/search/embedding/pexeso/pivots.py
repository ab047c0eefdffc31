"""PEXESO's index: pivots, the distances to them, and a hierarchical grid over these."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.pivot_grids import Grid, cell_keys
from dfjoin.vectors.metrics import Metric

N_PIVOTS = 5
"""Pivots; the paper's default."""

MAX_LEVELS = 6
_SAMPLE = 2000
_OUTLIERS = 60
_WORKLOAD = 100
_RADII = (0.02, 0.05, 0.1)
"""Radii of the workload by which the levels are chosen, as shares of the largest distance."""

_CELL_COST = 0.5
"""Cost of looking up a leaf cell, in distances."""


@dataclass(frozen=True)
class PivotIndex:
    """Vectors under a hierarchical grid.

    Parameters
    ----------
    metric : Metric
    pivots : ndarray, shape (n_pivots, d)
    order : ndarray of int64, shape (n,)
        Vector at each place of the grid.
    grid : Grid
    n_levels : int
    """

    metric: Metric
    pivots: NDArray[np.floating]
    order: NDArray[np.int64]
    grid: Grid
    n_levels: int


def choose_pivots(rows: NDArray[np.floating], metric: Metric, n_pivots: int = N_PIVOTS) -> NDArray[np.floating]:
    """Choose outliers along the principal components of distances as pivots.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
        At least one.
    metric : Metric
    n_pivots : int

    Returns
    -------
    ndarray, shape (at most n_pivots, d)

    Notes
    -----
    Source: Mao, Miranker, Miranker, "Pivot selection: dimension reduction for distance-based indexing", J. Discrete
    Algorithms 2012: candidates are outliers, found farthest first; a sample is mapped by its distances to all of them,
    and for each principal component of the mapping the candidate is taken that weighs most in it. O(n).
    """
    step = max(1, rows.shape[0] // _SAMPLE)
    sample = rows[::step]
    chosen: list[int] = []
    farthest = metric.distances(sample[0], sample)
    table: list[NDArray[np.float64]] = []
    for _ in range(min(_OUTLIERS, sample.shape[0])):
        position = int(np.argmax(farthest))
        distances = metric.distances(sample[position], sample)
        farthest = distances if not table else np.minimum(farthest, distances)
        chosen.append(position)
        table.append(distances)
        if farthest.max() == 0:
            break
    if len(chosen) == 1:
        return sample[chosen]
    mapped = np.column_stack(table)
    _, axes = np.linalg.eigh(np.cov(mapped.T).reshape(len(chosen), len(chosen)))
    pivots: list[int] = []
    for component in range(len(chosen) - 1, -1, -1):
        for candidate in np.argsort(-np.abs(axes[:, component])).tolist():
            if chosen[candidate] not in pivots:
                pivots.append(chosen[candidate])
                break
        if len(pivots) == n_pivots:
            break
    return sample[pivots]


def map_rows(rows: NDArray[np.floating], pivots: NDArray[np.floating], metric: Metric) -> NDArray[np.float64]:
    """Map vectors to their distances to the pivots; shape (n, n_pivots)."""
    return np.column_stack([metric.distances(pivot, rows) for pivot in pivots])


def make_grid(mapped: NDArray[np.float64], side: float, n_levels: int) -> tuple[Grid, NDArray[np.int64]]:
    """Make a hierarchical grid of cells that hold a vector.

    Parameters
    ----------
    mapped : ndarray of float64, shape (n, n_pivots)
    side : float
        Edge of the space; what lies beyond belongs to the last cells.
    n_levels : int

    Returns
    -------
    grid : Grid
    order : ndarray of int64, shape (n,)
        Vector at each place.
    """
    n, n_pivots = mapped.shape
    keys = np.empty(n, np.int64)
    cell_keys(as_read_only(np.ascontiguousarray(mapped)), side, n_levels, keys)
    order = np.argsort(keys, kind="stable")
    keys, mapped = keys[order], np.ascontiguousarray(mapped[order])
    coordinates, firsts, starts = [], [], [0]
    for level in range(n_levels + 1):
        prefixes = keys >> (n_pivots * (n_levels - level))
        first = np.flatnonzero(np.append(True, prefixes[1:] != prefixes[:-1])[:n])
        positions = np.zeros((first.size, n_pivots), np.int32)
        for step in range(level):
            bits = prefixes[first] >> (n_pivots * (level - 1 - step))
            for p in range(n_pivots):
                positions[:, p] = (positions[:, p] << 1) | ((bits >> (n_pivots - 1 - p)) & 1)
        coordinates.append(positions)
        firsts.append(first)
        starts.append(starts[-1] + first.size)
    children, largest = [], []
    for level, first in enumerate(firsts):
        below, end = first, n
        if level < n_levels:
            below, end = starts[level + 1] + np.searchsorted(firsts[level + 1], first), starts[level + 2]
        children.append(np.column_stack([below, np.append(below[1:], end)[: below.size]]))
        largest.append(np.maximum.reduceat(mapped, first, axis=0) if first.size else np.empty((0, n_pivots)))
    grid = Grid(
        as_read_only(mapped),
        as_read_only(np.concatenate(coordinates)),
        as_read_only(np.array(starts, np.int64)),
        as_read_only(np.concatenate(children).astype(np.int64)),
        as_read_only(np.concatenate(largest)),
        side,
    )
    return grid, order


def choose_levels(mapped: NDArray[np.float64], side: float, full: float) -> int:
    """Choose the number of levels of the grid by the cost model of the paper (section III-E).

    Parameters
    ----------
    mapped : ndarray of float64, shape (n, n_pivots)
    side : float
        Edge of the space.
    full : float
        The largest distance of the metric; that of the space where it has none.

    Returns
    -------
    int

    Notes
    -----
    The workload is a sample of the vectors, with radii up to a tenth of the largest distance. Equation 2 bounds the
    vectors that a query region covers by the smallest number along one axis; to it comes the look-up of the leaf
    cells there. Deviation: all numbers of levels are tried, in the place of gradient descent. O(n log n).
    """
    n, n_pivots = mapped.shape
    axes = np.sort(mapped, axis=0)
    queries = mapped[:: max(1, n // _WORKLOAD)]
    best, least = 1, np.inf
    for n_levels in range(1, min(MAX_LEVELS, 62 // n_pivots) + 1):
        width = side / (1 << n_levels)
        keys = np.empty(n, np.int64)
        cell_keys(as_read_only(np.ascontiguousarray(mapped)), side, n_levels, keys)
        n_cells = np.unique(keys).size
        cost = 0.0
        for share in _RADII:
            limit = share * full + width
            covered = np.min(
                [
                    np.searchsorted(axes[:, p], queries[:, p] + limit, "right")
                    - np.searchsorted(axes[:, p], queries[:, p] - limit, "left")
                    for p in range(n_pivots)
                ],
                axis=0,
            )
            cost += float((covered * (1 + _CELL_COST * n_cells / max(1, n))).sum())
        if cost < least:
            best, least = n_levels, cost
    return best


def build_pivot_index(
    rows: NDArray[np.floating], metric: Metric, n_pivots: int = N_PIVOTS, n_levels: int | None = None
) -> PivotIndex:
    """Build PEXESO's index of vectors.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
        At least one.
    metric : Metric
    n_pivots : int
    n_levels : int, optional
        Levels of the grid; by default chosen by the cost model.

    Returns
    -------
    PivotIndex
    """
    pivots = choose_pivots(rows, metric, n_pivots)
    mapped = map_rows(rows, pivots, metric)
    side = float(mapped.max()) * (1 + 1e-9) + 1e-12
    if n_levels is None:
        n_levels = choose_levels(mapped, side, metric.full or side)
    grid, order = make_grid(mapped, side, min(n_levels, 62 // pivots.shape[0]))
    return PivotIndex(metric, pivots, order, grid, grid.starts.size - 2)
