"""Removing old versions of an index, and the files that no version left needs."""

from __future__ import annotations

import numbers
import time
from collections.abc import Container
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from dfjoin import _validation as check
from dfjoin.errors import (
    IndexCorruptedError,
    IndexFormatError,
    IndexVersionError,
    InvalidParameterError,
    InvalidTypeError,
)
from dfjoin.index.commit import held_versions, list_versions, read_manifests
from dfjoin.index.components import FRAMES, MANIFESTS, MODELS, RUNS, SEGMENTS, TOMBSTONES, manifest_path
from dfjoin.index.file_store import StoredEntry
from dfjoin.index.manifest import Manifest, SegmentMeta
from dfjoin.index.mirror import store_of
from dfjoin.index.segment import Segment

DEFAULT_RETENTION = timedelta(days=7)
"""How long versions that are not the latest are kept."""


def _seconds(retain: Any) -> float:
    """Check the `retain` argument; return seconds."""
    if retain is None:
        return DEFAULT_RETENTION.total_seconds()
    if isinstance(retain, timedelta):
        seconds = retain.total_seconds()
    elif isinstance(retain, numbers.Real) and not isinstance(retain, bool):
        days: Any = retain
        if timedelta.max.days < days < float("inf"):  # infinity keeps every version
            raise InvalidParameterError(f"`retain` must be at most {timedelta.max.days} days, got {check.show(retain)}")
        seconds = float(days) * 86400
    else:
        raise InvalidTypeError(f"`retain` must be a timedelta or a number of days, got {type(retain).__name__}")
    if not seconds >= 0:
        raise InvalidParameterError(f"`retain` must not be negative, got {check.show(retain)}")
    return seconds


def vacuum(path: Path, retain: Any = None, *, dry_run: bool = False) -> dict[str, Any]:
    """Remove old versions and what only they need, see `Lake.vacuum`."""
    seconds = _seconds(retain)
    check.check_flag(dry_run, "dry_run")
    store = store_of(path)
    stored = store.entries(recursive=True)
    kept, removed, is_known = _split_versions(path, stored, seconds)
    if not dry_run:
        needed, is_sound = _remove_versions(path, removed, kept, seconds)
        kept, is_known = kept + needed, is_known and is_sound
    unneeded = _unneeded(path, stored, kept, seconds) if is_known else {}
    if not dry_run:
        for name in unneeded:
            store.remove(name)
        list_versions(path)  # a mirror drops manifests that are gone
    n_bytes = sum(entry.size for entry in unneeded.values())
    return {"versions": sorted(removed), "files": len(unneeded), "bytes": n_bytes, "dry_run": dry_run}


def _time_of(manifest: Manifest, modified: float) -> float:
    """When a version was committed, in seconds since 1970."""
    try:
        return datetime.fromisoformat(manifest.created_at).timestamp()
    except ValueError:
        return modified


def _split_versions(
    path: Path, stored: dict[str, StoredEntry], seconds: float
) -> tuple[list[Manifest], dict[int, Manifest | None], bool]:
    """Return the versions to keep, those to remove, and whether every version that stays can be read.

    A version is kept while it is the latest, and for the retention after it ceased to be. One that is to be removed
    need not be readable.
    """
    kept: list[Manifest] = []
    removed: dict[int, Manifest | None] = {}
    is_known = True
    now = time.time()
    superseded = float("inf")  # when the version at hand ceased to be the latest
    for version, read in read_manifests(path):
        is_old = now - superseded > seconds
        entry = stored.get(manifest_path(Path(), version).as_posix())
        superseded = now if entry is None else entry.modified
        manifest = None if isinstance(read, IndexFormatError) else read
        if manifest is not None:
            superseded = _time_of(manifest, superseded)
        # What a later dfjoin wrote needs files that are not known here; others are needed while nothing can be read.
        elif isinstance(read, IndexVersionError) or not kept:
            is_old = False
        if is_old:
            removed[version] = manifest
        elif manifest is None:
            is_known = False
        else:
            kept.append(manifest)
            is_known = is_known and not manifest.later_features
    if not kept:
        raise IndexCorruptedError(
            f"no version of the index at `{path}` can be read, so that nothing is known to be unneeded; call "
            "dfjoin.repair on it first"
        )
    return kept[::-1], removed, is_known


def _remove_versions(
    path: Path, removed: dict[int, Manifest | None], kept: list[Manifest], seconds: float
) -> tuple[list[Manifest], bool]:
    """Remove the manifests of old versions, before any other file, so that no reader opens what is about to go.

    Returns
    -------
    needed : list of Manifest
        What must stay all the same: versions that are being restored, and those that came since the last of `kept`.
    is_known : bool
        Whether all of it can be read; a version that is being restored may have been removed by another vacuum.
    """
    store = store_of(path)
    for version in removed:
        store.remove(manifest_path(Path(), version).as_posix())
    held = held_versions(store, time.time() - seconds)
    held -= {manifest.version for manifest in kept}
    needed: list[Manifest | IndexFormatError | None] = [removed.get(version) for version in held]
    for version, manifest in read_manifests(path):  # after the holds: who commits takes away its hold then
        if version <= kept[-1].version:
            break
        needed.append(manifest)
    sound = [manifest for manifest in needed if isinstance(manifest, Manifest)]
    return sound, len(sound) == len(needed) and not any(manifest.later_features for manifest in sound)


def _unneeded(
    path: Path, stored: dict[str, StoredEntry], kept: list[Manifest], seconds: float
) -> dict[str, StoredEntry]:
    """Find what no kept version names and what is older than the retention: others may be writing.

    Returns
    -------
    dict
        Name of a file, or of a directory that goes as a whole → its bytes, and when it was last written to.
    """
    segments = {segment.id: segment for manifest in kept for segment in manifest.segments}
    needed = set().union(*(manifest.named_paths() for manifest in kept))
    for segment in segments.values():
        needed |= {f"{FRAMES}/{name}" for name in _frames_of(path, segment, kept)}
    found: dict[str, StoredEntry] = {}
    for name, entry in stored.items():
        owner = _owner_of(name, segments)
        if owner is None or owner in needed:
            continue
        size, modified, _ = found.get(owner, StoredEntry(0, 0.0, False))
        added = 0 if entry.is_directory else entry.size
        found[owner] = StoredEntry(size + added, max(modified, entry.modified), owner != name)
    limit = time.time() - seconds
    return {name: found[name] for name in sorted(found) if found[name].modified <= limit}


def _owner_of(name: str, segments: Container[str]) -> str | None:
    """Return the entry that a file or directory goes or stays with: itself, or a directory above it.

    Of a segment that is kept each group stands for itself; manifests are no orphans, what lies beside them may be.
    """
    parts = name.split("/")
    if len(parts) < 2:
        return None
    if parts[0] == MANIFESTS:
        return None if name.endswith(".json") else name
    if parts[0] == SEGMENTS and parts[1] in segments:
        return "/".join(parts[:3])
    return "/".join(parts[:2]) if parts[0] in (SEGMENTS, TOMBSTONES, FRAMES, RUNS, MODELS) else None


def _frames_of(path: Path, meta: SegmentMeta, manifests: list[Manifest]) -> list[str]:
    """Names of the Parquet files that hold tables of a segment that were given in memory."""
    memory = {root.id for manifest in manifests for root in manifest.roots if root.kind == "memory"}
    if not memory:
        return []
    tables = Segment(path, meta).catalog.tables()
    pairs = zip(tables.field("root").to_pylist(), tables.field("parts").to_pylist(), strict=True)
    return [part for root, parts in pairs if root in memory for part in parts]
