"""The upkeep of an index: what changed since it was built, what is damaged, what nobody needs any more."""

from __future__ import annotations

import numbers
import os
import shutil
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from dfjoin.errors import (
    IndexCorruptedError,
    IndexFormatError,
    IndexNotFoundError,
    IndexVersionError,
    InvalidParameterError,
    InvalidTypeError,
    TableReadError,
)
from dfjoin.index.change import commit_change
from dfjoin.index.manifest import Manifest, SegmentMeta, commit, list_versions, manifest_path, read_manifest
from dfjoin.index.segment import Segment
from dfjoin.ingest.source import FRAMES
from dfjoin.sources.listing import list_tables
from dfjoin.sources.readers import current_fingerprint
from dfjoin.store.snapshot import Snapshot
from dfjoin.types import Root, TableSource

__all__ = ["check_tables", "repair", "vacuum"]

DEFAULT_RETENTION = timedelta(days=7)
"""How long versions that are not the latest are kept."""


def _seconds(retain: Any) -> float:
    """Check the `retain` argument; return seconds."""
    if retain is None:
        return DEFAULT_RETENTION.total_seconds()
    if isinstance(retain, timedelta):
        seconds = retain.total_seconds()
    elif isinstance(retain, numbers.Real) and not isinstance(retain, bool):
        seconds = float(retain) * 86400
    else:
        raise InvalidTypeError(f"`retain` must be a timedelta or a number of days, got {type(retain).__name__}")
    if not seconds >= 0:
        raise InvalidParameterError(f"`retain` must not be negative, got {retain!r}")
    return seconds


def _time_of(manifest: Manifest, file: Path) -> float:
    """When a version was committed, in seconds since 1970."""
    try:
        return datetime.fromisoformat(manifest.created_at).timestamp()
    except ValueError:
        return file.stat().st_mtime


def vacuum(path: Path, retain: Any = None, *, dry_run: bool = False) -> dict[str, Any]:
    """Carry out `Lake.vacuum`."""
    seconds = _seconds(retain)
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
    if not kept:
        raise IndexCorruptedError(
            f"no version of the index at `{path}` can be read, so that nothing can be told to be unneeded; call "
            "dfjoin.repair on it first"
        )
    return kept[::-1], removed[::-1], is_known


def _unneeded(path: Path, kept: list[Manifest], seconds: float) -> list[Path]:
    """List what no kept version names and what is older than the retention: others may be writing."""
    segments = {segment.id: segment for manifest in kept for segment in manifest.segments}
    needed = {f"segments/{name}" for name in segments}
    for manifest in kept:
        needed |= {s.tombstones["file"] for s in manifest.segments if s.tombstones is not None}
    for segment in segments.values():
        needed |= {f"{FRAMES}/{name}" for name in _frames_of(path, segment, kept)}
    limit = time.time() - seconds
    found = []
    for directory in ("segments", "tombstones", FRAMES, "runs"):
        for entry in _entries(path / directory):
            if f"{directory}/{entry.name}" not in needed and _newest(entry) <= limit:
                found.append(entry)
    for name, groups in _groups_of(kept).items():
        unnamed = [e for e in _entries(path / "segments" / name) if e.name not in groups]
        found += [e for e in unnamed if _newest(e) <= limit]
    found += [e for e in _entries(path / "manifests") if e.suffix != ".json" and e.stat().st_mtime <= limit]
    return sorted(found)


def _groups_of(manifests: list[Manifest]) -> dict[str, set[str]]:
    """Directories of the component groups that some version names, by segment."""
    named: dict[str, set[str]] = {}
    for manifest in manifests:
        for segment in manifest.segments:
            named.setdefault(segment.id, set()).update(group.id for group in segment.groups)
    return named


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


def check_tables(snapshot: Snapshot) -> pd.DataFrame:
    """Carry out `Lake.check`."""
    rows: list[dict[str, str]] = []
    missing: dict[tuple[int, int], list[dict[str, str]]] = {}
    known: dict[int, set[str]] = {}
    for segment in snapshot.segments:
        alive = segment.alive_tables().tolist()
        for is_alive, record in zip(alive, segment.catalog.tables().to_pylist(), strict=True):
            root = snapshot.root_of(record["root"])
            if not is_alive or root.kind == "spark":
                continue
            if root.kind == "memory":
                root = Root(root.id, root.name, str(snapshot.path / root.uri), "files")
            known.setdefault(record["root"], set()).update([record["path"], *record["parts"]])
            state, detail = _state_of(root, record)
            if state == "missing" and snapshot.root_of(record["root"]).kind == "memory":
                continue  # its data was not kept
            if state:
                row = {"table": record["name"], "state": state, "detail": detail}
                rows.append(row)
                if state == "missing":
                    missing.setdefault((record["size"], record["fingerprint"]), []).append(row)
    if missing:
        _find_moved(snapshot, missing, known)
    return pd.DataFrame(rows, columns=["table", "state", "detail"])


def _state_of(root: Root, record: dict[str, Any]) -> tuple[str, str]:
    """Compare a table's file with its record: nothing, changed or missing."""
    source = TableSource(
        record["name"], root, record["path"], record["format"], record["size"], record["mtime_ns"],
        tuple(record["parts"]),
    )  # fmt: skip
    try:
        mark = current_fingerprint(source)
    except (TableReadError, InvalidParameterError) as error:
        return "missing", str(error)
    if record["path"] not in record["parts"] and _part_files(root, record["path"]) != set(record["parts"]):
        return "changed", "it has other part files"
    return ("", "") if mark == record["fingerprint"] else ("changed", "its content is another")


def _part_files(root: Root, path: str) -> set[str]:
    """List the part files of a table that is a directory, below the root."""
    _, tables, _ = list_tables(f"{root.uri.rstrip('/')}/{path}")
    above = path.rpartition("/")[0]
    start = f"{above}/" if above else ""
    return {start + part for table in tables for part in table.parts}


def _find_moved(
    snapshot: Snapshot, missing: dict[tuple[int, int], list[dict[str, str]]], known: dict[int, set[str]]
) -> None:
    """Look among files that the index does not know for the content of those that are missing."""
    sizes = {size for size, _ in missing}
    for root in snapshot.manifest.roots:
        if root.kind != "files":
            continue
        try:
            _, tables, _ = list_tables(snapshot.root_of(root.id).uri)
        except InvalidParameterError:
            continue
        for table in tables:
            if table.size not in sizes or table.path in known.get(root.id, set()):
                continue
            try:
                mark = current_fingerprint(table)
            except TableReadError:
                continue
            for row in missing.get((table.size, mark), []):
                row["state"], row["detail"] = "moved", f"now at {table.path}"


def repair(path: Path) -> dict[str, Any]:
    """Drop what is damaged and commit what is left as the next version.

    A latest manifest that cannot be read is passed over for the newest one that can. Segments whose
    files are missing, truncated or changed are dropped; nothing is deleted from the disk.

    Parameters
    ----------
    path : path
        Directory of the index.

    Returns
    -------
    dict
        ``version`` (the one that is the latest now), ``unreadable_versions``, ``segments`` (ids dropped),
        ``tables`` (names lost, as far as their catalogue can be read), ``problems`` (as from `verify`).

    Raises
    ------
    IndexNotFoundError
        If there is no index at that place.
    IndexCorruptedError
        If no version can be read.

    Examples
    --------
    >>> import dfjoin, pandas as pd, tempfile
    >>> index = tempfile.mkdtemp() + "/lake"
    >>> _ = dfjoin.build_lake({"t": pd.DataFrame({"a": ["x", "y"]})}, index, engine="inline", progress=False)
    >>> dfjoin.repair(index)["problems"]
    []
    """
    path = Path(path).absolute()
    versions = list_versions(path)
    if not versions:
        raise IndexNotFoundError(f"there is no dfjoin index at `{path}`; build one with dfjoin.build_lake")
    unreadable: list[int] = []
    base: Manifest | None = None
    for version in reversed(versions):
        try:
            base = read_manifest(path, version)
            break
        except IndexVersionError:
            raise  # sound, but not for this dfjoin
        except IndexFormatError:
            unreadable.append(version)
    if base is None:
        raise IndexCorruptedError(f"no version of the index at `{path}` can be read; build it again")
    problems: list[str] = []
    lost: list[str] = []
    tables: list[str] = []
    for meta in base.segments:
        segment = Segment(path, meta)
        found = segment.verify()
        if found:
            problems += found
            lost.append(meta.id)
            tables += _names_of(segment)
    report = {"unreadable_versions": unreadable, "segments": lost, "tables": sorted(tables), "problems": problems}
    if not unreadable and not lost:
        return {"version": base.version, **report}
    sound = tuple(meta for meta in base.segments if meta.id not in lost)
    if unreadable:  # the next version must stand above the ones that cannot be read
        above = base.next("repair", segments=sound, version=versions[-1] + 1)
        commit(path, above)
        return {"version": above.version, **report}
    done = commit_change(
        path,
        lambda latest: latest.next("repair", segments=tuple(s for s in latest.segments if s.id not in lost)),
    )
    return {"version": done.version, **report}


def _names_of(segment: Segment) -> list[str]:
    """Names of a damaged segment's tables, if its catalogue can still be read."""
    try:
        return segment.alive_table_names()
    except IndexFormatError:
        try:
            return segment.catalog.table_names()  # its tombstones may be what is damaged
        except (IndexFormatError, ValueError):
            return []
    except ValueError:
        return []
