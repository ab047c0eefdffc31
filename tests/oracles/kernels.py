"""Naive versions of what the kernels of counting and searching compute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def naive_top(
    counts: Sequence[int], items: Iterable[int], allowed: Sequence[int], ties: Sequence[int], minimum: int, k: int
) -> list[int]:
    """The best k of some items: higher count, then smaller tie, then smaller number; an empty `allowed` allows all."""
    good = [item for item in items if counts[item] >= minimum and (not allowed or allowed[item])]
    return sorted(good, key=lambda item: (-counts[item], ties[item], item))[:k]
