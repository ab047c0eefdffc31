"""Naive versions of what the kernels of counting and searching compute."""

from __future__ import annotations

from collections import Counter
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
