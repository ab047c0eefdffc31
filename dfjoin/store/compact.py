"""Merging the small segments of an index, and writing those anew of which much is deleted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dfjoin import _validation as check
from dfjoin.errors import ConcurrentCommitError
from dfjoin.index.commit import Uncommitted, commit_change, read_manifest, scratch_directory
from dfjoin.index.components import segment_directory
from dfjoin.index.manifest import Manifest, SegmentMeta
from dfjoin.ingest.engine import InlineEngine, choose_engine
from dfjoin.ingest.requests import compact_request, read_segment

_DELETED_SHARE = 0.25  # a segment with more of its columns deleted is written anew


def compact(path: Path, *, full: bool, engine: str | None, spark: Any) -> Manifest:
    """Merge segments of the latest version, see `Lake.compact`."""
    check.check_choice(full, "full", (True, False))
    check.check_choice(engine, "engine", (None, "spark", "inline"))
    base = read_manifest(path)
    groups = _choose(base, full)
    if not groups:
        return base
    runner = choose_engine(engine, spark) or InlineEngine()
    with scratch_directory(path, "compact") as work, Uncommitted(path) as written:
        requests = [compact_request(path, base.settings, group) for group in groups]
        merged = []
        for result in runner.run(requests, work, lambda *_: None):
            merged.append(read_segment(result)[1])
            written.add(segment_directory(path, merged[-1].id))
        gone = [segment for group in groups for segment in group]
        return commit_change(path, lambda latest: _merged(latest, gone, merged))


def _choose(base: Manifest, is_full: bool) -> list[list[SegmentMeta]]:
    """Choose the segments that become one each."""
    deleted = [(s.tombstones or {}).get("n_deleted", 0) / max(1, s.counts["columns"]) for s in base.segments]
    sizes = [segment.size for segment in base.segments]
    groups = choose_merges(sizes, deleted, base.settings.segment_bytes, is_full=is_full)
    return [[base.segments[n] for n in group] for group in groups]


def _merged(latest: Manifest, gone: list[SegmentMeta], merged: list[SegmentMeta]) -> Manifest:
    """Return the version after `latest` that has the merged segments in the place of their parts."""
    missing = [segment.id for segment in gone if segment not in latest.segments]
    if missing:
        raise ConcurrentCommitError(
            f"another writer has changed {len(missing)} of the segments that were merged; nothing of this "
            "compaction is visible: call compact() again"
        )
    left = [segment for segment in latest.segments if segment not in gone]
    kept = [segment for segment in merged if segment.counts["tables"] or segment.counts.get("skipped")]
    return latest.next(f"compact {len(gone)} segments", segments=(*left, *kept))


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
