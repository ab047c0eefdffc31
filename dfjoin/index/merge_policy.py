"""Which segments to merge: a pure function of their sizes and of what is deleted in them."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["choose_merges"]

_DELETED_SHARE = 0.25  # a segment with more of its columns deleted is written anew


def choose_merges(
    sizes: Sequence[int], deleted: Sequence[float], target: int, *, is_full: bool = False
) -> list[list[int]]:
    """Choose the groups of segments that compaction makes one segment each.

    Parameters
    ----------
    sizes : sequence of int
        Bytes of each segment.
    deleted : sequence of float
        Share of each segment's columns that are deleted.
    target : int
        Largest size of a merged segment, in bytes.
    is_full : bool
        Write every segment anew that has anything deleted, and merge as far as the target allows.

    Returns
    -------
    list of list of int
        Numbers of segments; a group of one is a segment to be written anew. Segments in no group stay.

    Notes
    -----
    Segments above half the target stay as they are. Smaller ones are merged by tiers: whenever at least
    four of about the same size (within a factor of four) are there, or all of them with `is_full`. So
    each value is rewritten once per tier, and the number of segments is at most three per tier and the
    target's multiples.
    """
    limit = 0.0 if is_full else _DELETED_SHARE
    alive = [round(size * (1 - share)) for size, share in zip(sizes, deleted, strict=True)]
    small = sorted((n for n in range(len(sizes)) if alive[n] <= target // 2), key=lambda n: (alive[n], n))
    groups: list[list[int]] = []
    tier: list[int] = []
    for number in small:
        if tier and not is_full and alive[number] > 4 * max(1, alive[tier[0]]):
            groups += _pack(tier, alive, target) if len(tier) >= 4 else []
            tier = []
        tier.append(number)
    if len(tier) >= (2 if is_full else 4):
        groups += _pack(tier, alive, target)
    groups = [group for group in groups if len(group) > 1]
    grouped = {number for group in groups for number in group}
    return sorted(groups + [[n] for n in range(len(sizes)) if deleted[n] > limit and n not in grouped])


def _pack(numbers: list[int], sizes: list[int], target: int) -> list[list[int]]:
    """Fill groups up to the target, smallest first."""
    groups: list[list[int]] = [[]]
    used = 0
    for number in numbers:
        if groups[-1] and used + sizes[number] > target:
            groups.append([])
            used = 0
        groups[-1].append(number)
        used += sizes[number]
    return groups
