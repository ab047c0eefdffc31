"""Naive versions of what the kernels of counting and searching compute."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence


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
