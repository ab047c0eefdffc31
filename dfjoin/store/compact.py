"""Merging the small segments of an index, and writing those anew of which much is deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dfjoin import _validation as check
from dfjoin.errors import ConcurrentCommitError
from dfjoin.index.commit import Uncommitted, commit_change, scratch_directory
from dfjoin.index.layout import segment_directory
from dfjoin.index.manifest import Manifest, SegmentMeta
from dfjoin.index.merge_policy import choose_merges
from dfjoin.index.versions import read_manifest
from dfjoin.ingest.engine import InlineEngine, choose_engine
from dfjoin.ingest.requests import compact_request, read_segment

__all__ = ["compact"]


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
