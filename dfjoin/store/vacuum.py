"""Removing old versions of an index, and the files that no version left needs."""

from __future__ import annotations

import numbers
import os
import shutil
import time
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
from dfjoin.index.layout import FRAMES, MANIFESTS, MODELS, RUNS, SEGMENTS, TOMBSTONES, manifest_path
from dfjoin.index.manifest import Manifest, SegmentMeta, list_versions, read_manifest
from dfjoin.index.mirror import require_local
from dfjoin.index.segment import Segment

__all__ = ["DEFAULT_RETENTION", "vacuum"]

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


def _time_of(manifest: Manifest, file: Path) -> float:
    """When a version was committed, in seconds since 1970."""
    try:
        return datetime.fromisoformat(manifest.created_at).timestamp()
    except ValueError:
        return file.stat().st_mtime


def vacuum(path: Path, retain: Any = None, *, dry_run: bool = False) -> dict[str, Any]:
    """Remove old versions and what only they need, see `Lake.vacuum`."""
    require_local(path, "vacuum")
    seconds = _seconds(retain)
    check.check_flag(dry_run, "dry_run")
    kept, removed, is_known = _split_versions(path, seconds)
    files = _unneeded(path, kept, seconds) if is_known else []
    n_bytes = sum(_size(file) for file in files)
    if not dry_run:
        for version in removed:  # first the names, so that no reader opens what is about to go
            manifest_path(path, version).unlink(missing_ok=True)
        for file in files:
            if file.is_dir():
                shutil.rmtree(file, ignore_errors=True)
            else:
                file.unlink(missing_ok=True)
    return {"versions": removed, "files": len(files), "bytes": n_bytes, "dry_run": dry_run}


def _split_versions(path: Path, seconds: float) -> tuple[list[Manifest], list[int], bool]:
    """Return the versions to keep, those to remove, and whether every version that stays can be read.

    A version is kept while it is the latest, and for the retention after it ceased to be.
    """
    versions = list_versions(path)
    kept: list[Manifest] = []
    removed: list[int] = []
    is_known = True
    superseded = time.time()  # when the version at hand ceased to be the latest
    for version in reversed(versions):
        file = manifest_path(path, version)
        is_old = version != versions[-1] and time.time() - superseded > seconds
        try:
            manifest = read_manifest(path, version)
            superseded = _time_of(manifest, file)
        except IndexVersionError:
            manifest = None  # written by a later dfjoin: what it needs is not known here
            is_old = False
        except IndexFormatError:
            manifest = None
            is_old = is_old and bool(kept)
            superseded = file.stat().st_mtime
        if is_old:
            removed.append(version)
        elif manifest is None:
            is_known = False
        else:
            kept.append(manifest)
            is_known = is_known and not manifest.later_features
    if not kept:
        raise IndexCorruptedError(
            f"no version of the index at `{path}` can be read, so that nothing can be told to be unneeded; call "
            "dfjoin.repair on it first"
        )
    return kept[::-1], removed[::-1], is_known


def _unneeded(path: Path, kept: list[Manifest], seconds: float) -> list[Path]:
    """List what no kept version names and what is older than the retention: others may be writing."""
    segments = {segment.id: segment for manifest in kept for segment in manifest.segments}
    needed = set().union(*(manifest.named_paths() for manifest in kept))
    for segment in segments.values():
        needed |= {f"{FRAMES}/{name}" for name in _frames_of(path, segment, kept)}
    found = [
        entry
        for directory in (SEGMENTS, TOMBSTONES, FRAMES, RUNS, MODELS, *(f"{SEGMENTS}/{name}" for name in segments))
        for entry in _entries(path / directory)
        if f"{directory}/{entry.name}" not in needed
    ]
    found += [entry for entry in _entries(path / MANIFESTS) if entry.suffix != ".json"]
    limit = time.time() - seconds
    return sorted(entry for entry in found if _newest(entry) <= limit)


def _frames_of(path: Path, meta: SegmentMeta, manifests: list[Manifest]) -> list[str]:
    """Names of the Parquet files that hold tables of a segment that were given in memory."""
    memory = {root.id for manifest in manifests for root in manifest.roots if root.kind == "memory"}
    if not memory:
        return []
    tables = Segment(path, meta).catalog.tables()
    pairs = zip(tables.field("root").to_pylist(), tables.field("path").to_pylist(), strict=True)
    return [name for root, name in pairs if root in memory]


def _entries(directory: Path) -> list[Path]:
    return sorted(directory.iterdir()) if directory.is_dir() else []


def _newest(entry: Path) -> float:
    """Latest modification below a file or directory."""
    newest = entry.stat().st_mtime
    if entry.is_dir():
        for parent, _, names in os.walk(entry):
            for name in names:
                try:
                    newest = max(newest, (Path(parent) / name).stat().st_mtime)
                except FileNotFoundError:
                    continue
    return newest


def _size(entry: Path) -> int:
    if entry.is_dir():
        return sum(f.stat().st_size for f in entry.rglob("*") if f.is_file())
    return entry.stat().st_size
