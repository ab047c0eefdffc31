"""Partitions of columns by set size, and what a band of MinHash rows lets through."""

from __future__ import annotations

import math

import numpy as np

from dfjoin.kernels.numba._compile import njit, njit_inner, njit_lean


@njit
def optimal_ends(sizes, counts, n_partitions):
    """Cut set sizes into the partitions that let the fewest false positives through.

    Minimises the sum over partitions [l, u] of ``N_x (1 - x / u)`` over the sizes x in it. Of equally good
    cuts the one with smaller ends is taken.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n,)
        Distinct set sizes, ascending, at least 1.
    counts : ndarray of int64, shape (n,)
        Columns of each size.
    n_partitions : int
        At least 1, at most n.

    Returns
    -------
    ndarray of int64, shape (n_partitions,)
        Position in `sizes` of the largest size of each partition, ascending.

    Notes
    -----
    Source: Zhu, thesis, section 2.4.6, equations 2.17 to 2.19. Deviation: the cost of a partition that ends
    at u and begins behind j is ``C(u) - C(j) - (S(u) - S(j)) / u`` with the running sums C of counts and S of
    counts times sizes, so that for a fixed u the best j is the lowest of straight lines in 1 / u, with slope
    S(j) and intercept cost(j) - C(j). Slopes grow with j and 1 / u falls, so the lower hull is kept as a stack
    and walked once: O(n n_partitions) time and memory instead of O(n^2 n_partitions) time.
    """
    n = sizes.shape[0]
    columns = np.zeros(n + 1)
    values = np.zeros(n + 1)
    for i in range(n):
        columns[i + 1] = columns[i] + counts[i]
        values[i + 1] = values[i] + counts[i] * float(sizes[i])
    cost = np.full(n + 1, np.inf)
    cost[0] = 0.0
    begins = np.zeros((n_partitions, n + 1), np.int32)
    hull = np.empty(n + 1, np.int64)
    for p in range(n_partitions):
        better = np.full(n + 1, np.inf)
        n_lines = 0
        at = 0
        for end in range(p + 1, n + 1):
            j = end - 1  # a partition may now begin behind the first j sizes
            if cost[j] < np.inf:
                intercept = cost[j] - columns[j]
                while n_lines > 1:
                    a, b = hull[n_lines - 2], hull[n_lines - 1]
                    left = (cost[b] - columns[b] - cost[a] + columns[a]) * (values[j] - values[b])
                    right = (intercept - cost[b] + columns[b]) * (values[b] - values[a])
                    if left < right:
                        break
                    n_lines -= 1
                hull[n_lines] = j
                n_lines += 1
                at = min(at, n_lines - 1)
            z = 1.0 / sizes[end - 1]
            while at + 1 < n_lines and _line(hull[at + 1], z, cost, columns, values) < _line(
                hull[at], z, cost, columns, values
            ):
                at += 1
            while at > 0 and _line(hull[at - 1], z, cost, columns, values) <= _line(hull[at], z, cost, columns, values):
                at -= 1
            best = hull[at]
            better[end] = _line(best, z, cost, columns, values) + columns[end] - values[end] * z
            begins[p, end] = best
        cost = better
    ends = np.empty(n_partitions, np.int64)
    end = n
    for p in range(n_partitions - 1, -1, -1):
        ends[p] = end - 1
        end = np.int64(begins[p, end])
    return ends


@njit_inner
def _line(j, z, cost, columns, values):
    """Evaluate the line of beginning behind the first `j` sizes at z = 1 / u."""
    return cost[j] - columns[j] + values[j] * z


def error_areas(threshold, ratio, n_bands, n_band_rows, nodes, weights):
    """Integrate the false positives and false negatives of every (b, r) for one ratio of set sizes.

    The containment t of a column of size x in a query of size q is taken as uniform on [0, min(1, x / q)].

    Parameters
    ----------
    threshold : float
        Containment threshold, 0 to 1.
    ratio : float
        x / q, above 0.
    n_bands, n_band_rows : ndarray of int64, shape (n,)
        b and r; pairs of equal r stand together, r ascending.
    nodes, weights : ndarray of float64, shape (n_nodes,)
        Of a quadrature rule on [0, 1]; nodes inside the interval.

    Returns
    -------
    ndarray of float64, shape (2, n)
        False positives, false negatives.

    Notes
    -----
    Source: Zhu, thesis, section 2.4.7, equations 2.22 to 2.24. ``(1 - s^r)^b`` is taken as
    ``exp(b log1p(-s^r))``, which neither loses small s nor divides by nothing at s = 1.
    O(n n_nodes).
    """
    areas = np.zeros((2, n_bands.shape[0]))
    _integrate(threshold, ratio, n_bands, n_band_rows, nodes, weights, areas)
    return areas


@njit_lean
def _integrate(threshold, ratio, n_bands, n_band_rows, nodes, weights, areas):
    """Integrate for every (b, r)."""
    top = min(1.0, ratio)
    middle = min(threshold, top)
    for side in range(2):
        low = 0.0 if side == 0 else middle
        width = middle if side == 0 else top - middle
        if width <= 0.0:
            continue
        for k in range(nodes.shape[0]):
            t = low + width * nodes[k]
            similarity = t / (ratio + 1.0 - t)
            power = 1.0
            rows = 0
            miss = 0.0
            for i in range(n_bands.shape[0]):
                if n_band_rows[i] != rows:
                    while rows < n_band_rows[i]:
                        power *= similarity
                        rows += 1
                    miss = math.log1p(-min(power, 1.0 - 1e-16))
                missed = math.exp(n_bands[i] * miss)
                areas[side, i] += width * weights[k] * (missed if side == 1 else 1.0 - missed)
