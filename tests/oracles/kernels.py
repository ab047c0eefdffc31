"""Naive versions of what the kernels of counting and searching compute."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np


def naive_top(
    counts: Sequence[int], items: Iterable[int], allowed: Sequence[int], ties: Sequence[int], minimum: int, k: int
) -> list[int]:
    """The best k of some items: higher count, then smaller tie, then smaller number; an empty `allowed` allows all."""
    good = [item for item in items if counts[item] >= minimum and (not allowed or allowed[item])]
    return sorted(good, key=lambda item: (-counts[item], ties[item], item))[:k]


def naive_counts(
    groups: Sequence[int], weights: Sequence[int] | None, n_columns: int, lists: Sequence[Sequence[int]]
) -> Counter[int]:
    """The weight of the query values in each column, value by value."""
    counts: Counter[int] = Counter()
    for i, group in enumerate(groups):
        if group >= 0:
            for column in [group] if group < n_columns else lists[group - n_columns]:
                counts[column] += 1 if weights is None else weights[i]
    return counts


def naive_merge(entries: Iterable[tuple[bytes, Sequence[int]]], column_map: Sequence[int]) -> dict[bytes, list[int]]:
    """The columns of each value, by sets."""
    found: dict[bytes, set[int]] = defaultdict(set)
    for value, columns in entries:
        found[value] |= {column_map[c] for c in columns if column_map[c] >= 0}
    return {value: sorted(columns) for value, columns in found.items() if columns}


def naive_nearest(points: Sequence[Sequence[float]], query: Sequence[float], radius: float) -> tuple[int, float]:
    """The nearest point within a radius, of several the first, and its distance; -1 for none."""
    gaps = [(math.dist(point, query), number) for number, point in enumerate(points)]
    gap, number = min(gaps, default=(math.inf, -1))
    return (number, gap) if gap <= radius else (-1, radius)


def naive_tree(
    bins: np.ndarray, rows: np.ndarray, first: np.ndarray, second: np.ndarray, n_leaves: int, leaf_rows: int
) -> np.ndarray:
    """What a regression tree says of all rows, grown by some of them: the leaf whose cut lowers the loss most goes first."""

    def loss(part: np.ndarray) -> float:
        return -(first[part].sum() ** 2) / second[part].sum()

    def sides(part: np.ndarray, column: int, cut: int, nulls_left: bool) -> np.ndarray:
        own = bins[column, part]
        return np.where(own == 0, nulls_left, own <= cut)

    def best_cut(part: np.ndarray) -> tuple:
        found: tuple = (1e-9, None)
        for column in range(len(bins)):
            own = bins[column, part]
            for cut in np.unique(own[own > 0]).tolist():
                for nulls_left in (False, True) if (own == 0).any() else (2 * int((own <= cut).sum()) > part.size,):
                    is_left = sides(part, column, cut, nulls_left)
                    left, right = part[is_left], part[~is_left]
                    if min(left.size, right.size) >= max(1, leaf_rows):
                        gain = loss(part) - loss(left) - loss(right)
                        if gain > found[0] + 1e-9:
                            found = gain, (column, cut, nulls_left)
        return found

    everyone = np.arange(bins.shape[1])
    leaves = [(rows, everyone, best_cut(rows))]
    while len(leaves) < n_leaves and max(gain for *_, (gain, cut) in leaves if cut or gain) > 1e-9:
        place = max(range(len(leaves)), key=lambda i: leaves[i][2][0] if leaves[i][2][1] else 0.0)
        part, covered, (_, cut) = leaves[place]
        if cut is None:
            break
        halves = [(side(sides(part, *cut)), side(sides(covered, *cut))) for side in (np.asarray, np.logical_not)]
        (own, all_own), (other, all_other) = halves
        leaves[place] = part[own], covered[all_own], best_cut(part[own])
        leaves.append((part[other], covered[all_other], best_cut(part[other])))
    said = np.zeros(bins.shape[1])
    for part, covered, _ in leaves:
        said[covered] = -first[part].sum() / second[part].sum()
    return said
