"""The life of an index: tables added, replaced and removed, segments merged, versions kept, restored, cleaned up.

The methods of `dfjoin.lake.Lake` of the same names call these.
"""

from __future__ import annotations

import fnmatch
import json
import shutil
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from dfjoin import _validation as check
from dfjoin.errors import (
    ConcurrentCommitError,
    IndexFormatError,
    InvalidParameterError,
    TableNotFoundError,
    TableReadError,
    shortlist,
)
from dfjoin.index.change import commit_change
from dfjoin.index.manifest import Manifest, SegmentMeta, list_versions, read_manifest
from dfjoin.index.merge_policy import choose_merges
from dfjoin.index.segment import Segment, SegmentPool
from dfjoin.index.tombstones import write_alive
from dfjoin.ingest.balance import estimated_bytes
from dfjoin.ingest.driver import (
    Engine,
    InlineEngine,
    Input,
    build_version,
    discard_frames,
    is_committed,
)
from dfjoin.ingest.requests import compact_request
from dfjoin.ingest.source import FRAMES, gather
from dfjoin.sources.readers import current_fingerprint
from dfjoin.types import Root, TableSource

__all__ = ["add", "compact", "remove", "replace_tables", "restore", "versions"]

_INLINE_BYTES = 64 << 20
_NO_COUNTS = {"tables": 0, "columns": 0, "segments": 0, "created_by": ""}


def add(
    opened: SegmentPool, source: Any, *, engine: str | None, spark: Any, full: bool, replaces: bool, on_error: str,
    keep_data: bool, progress: bool, moved: dict[int, str] | None = None,
) -> Manifest:  # fmt: skip
    """Carry out `Lake.add` and `Lake.replace`; `opened` knows the index, and what of it was read before."""
    path = opened.path
    check.check_choice(engine, "engine", (None, "spark", "inline"))
    check.check_choice(full, "full", (True, False))
    check.check_choice(on_error, "on_error", ("skip", "raise"))
    check.check_choice(keep_data, "keep_data", (True, False))
    base = read_manifest(path)
    settings = base.settings
    scratch = None if keep_data else Path(tempfile.mkdtemp(prefix="dfjoin-frames-"))
    given: Input | None = None
    here = [replace(root, uri=(moved or {}).get(root.id, root.uri)) for root in base.roots]
    try:
        runner, spark_tables = _engine(engine, spark, path, settings, on_error)
        given = gather(source, path, here, spark_tables=spark_tables, scratch=scratch)
        known = {root.id: root for root in base.roots}
        given.roots = [known.get(root.id, root) for root in given.roots]
        present = opened.of(base.segments)
        _refuse_parts(present, given.tables)
        if not replaces:
            given.tables = _new_or_changed(path, present, given, full)
            if not given.tables and not given.extra:
                return base
        runner = runner or _engine_for_size(given)
        change = _Addition(path, base, given, replaces, opened)
        return build_version(
            path,
            base,
            given,
            settings,
            runner,
            commit_segments=lambda segments: commit_change(path, lambda latest: change.apply(latest, segments)),
            on_error=on_error,
            progress=progress,
        )
    except InvalidParameterError:
        if given is not None:
            discard_frames(path, given)
        raise
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _engine(engine: str | None, spark: Any, path: Path, settings: Any, on_error: str) -> tuple[Engine | None, Any]:
    """Return what runs the tasks (None: decide by size) and what reads Spark tables."""
    if spark is not None and engine == "inline":
        raise InvalidParameterError('`spark` belongs to engine="spark", but the engine is "inline"')
    if engine == "spark" or spark is not None:
        from spark_ext.build import SparkEngine, spark_reader

        runner = SparkEngine(spark)
        return runner, spark_reader(runner.spark, path, settings, on_error)
    return (InlineEngine() if engine == "inline" else None), None


def _engine_for_size(given: Input) -> Engine:
    """Small input is read here, a lot of it by Spark if Spark can be had."""
    if sum(estimated_bytes(table) for table in given.tables) < _INLINE_BYTES:
        return InlineEngine()
    from spark_ext.build import SparkEngine

    return SparkEngine()


def _find(segments: Iterable[Segment], name: str) -> tuple[Segment, int] | None:
    """Return the segment that holds an alive table, and the table's number there."""
    for segment in segments:
        number = segment.find_alive_table(name)
        if number >= 0:
            return segment, number
    return None


def _refuse_parts(segments: list[Segment], tables: list[TableSource]) -> None:
    """Raise when a file is one of those that make up a table of the index: it would be indexed twice."""
    for table in tables:
        for above in list(PurePosixPath(table.name).parents)[:-1]:
            found = _find(segments, str(above))
            if found is not None and found[0].catalog.table_record(found[1])["root"] == table.root.id:
                raise InvalidParameterError(
                    f"`source` names {table.name!r}, which is a part of the table {str(above)!r} of the index; add "
                    "the directory of that table"
                )


def _new_or_changed(path: Path, segments: list[Segment], given: Input, full: bool) -> list[TableSource]:
    """Leave out the files that the index has as they are, and those that it could not read and are the same.

    A name that is taken is that of the same file, which may have changed; any other use of it is an error.
    """
    skipped = {
        record["name"]: (record["size"], record["mtime_ns"])
        for segment in segments
        if segment.meta.counts.get("skipped")
        for record in segment.catalog.skipped().to_pylist()
    }
    wanted: list[TableSource] = []
    taken = [name for name in given.names if _find(segments, name) is not None]
    for table in given.tables:
        found = _find(segments, table.name)
        if found is None:
            if full or skipped.get(table.name) != (table.size, table.mtime_ns):
                wanted.append(table)
            continue
        record = found[0].catalog.table_record(found[1])
        is_same_file = record["root"] == table.root.id and record["path"] == table.path and table.root.kind == "files"
        is_same_file = is_same_file and Path(table.root.uri) != path / FRAMES
        if not is_same_file:
            taken.append(table.name)
        elif full or not _is_unchanged(table, record):
            wanted.append(table)
    if taken:
        raise InvalidParameterError(
            f"`source` brings tables whose names the index has already: {shortlist(taken)}; use "
            "`Lake.replace(source)` to put them in their place, or give them other names"
        )
    return wanted


def _is_unchanged(table: TableSource, record: dict[str, Any]) -> bool:
    """Compare size and modification time, then content."""
    if table.size != record["size"]:
        return False
    if table.mtime_ns == record["mtime_ns"] and table.mtime_ns > 0:
        return True
    try:
        return current_fingerprint(table) == record["fingerprint"]
    except TableReadError:
        return False


@dataclass(frozen=True)
class _Addition:
    """A change that adds tables, and takes away those that they supersede.

    Parameters
    ----------
    path : Path
        Directory of the index.
    base : Manifest
        The version that the input was compared with.
    given : Input
        What was read.
    replaces : bool
        Tables of the same names are superseded, whoever added them.
    opened : SegmentPool
        Segments looked at before.
    """

    path: Path
    base: Manifest
    given: Input
    replaces: bool
    opened: SegmentPool

    def apply(self, latest: Manifest, segments: list[SegmentMeta]) -> Manifest:
        """Return the version after `latest` that has the new segments."""
        if latest.settings != self.base.settings:
            raise ConcurrentCommitError(
                "another writer has replaced the whole index with other settings meanwhile; nothing of this change is "
                "visible: repeat it"
            )
        present = self.opened.of(latest.segments)
        # A table that could not be read supersedes nothing: what was indexed of it stays.
        read = [name for segment in self.opened.of(segments) for name in segment.catalog.table_names()]
        there = [name for name in read if _find(present, name) is not None]
        if not self.replaces:
            before = self.opened.of(self.base.segments)
            clash = [name for name in there if _find(before, name) is None]
            if clash:
                raise ConcurrentCommitError(
                    f"another writer has added tables of the same names meanwhile: {shortlist(clash)}; nothing of "
                    "this change is visible: use `Lake.replace(source)` to put these in their place"
                )
        kept = _without(self.opened, latest, there, is_strict=False) if there else latest.segments
        operation = f"{'replace' if self.replaces else 'add'} {len(read)} tables"
        return latest.next(operation, roots=_with_roots(latest.roots, self.given.roots), segments=(*kept, *segments))


def _with_roots(roots: tuple[Root, ...], new: list[Root]) -> tuple[Root, ...]:
    """Add roots that are not there yet; refuse two of one name or id."""
    merged = list(roots)
    for root in new:
        if root in merged:
            continue
        rival = next((r for r in merged if root.id == r.id or root.name == r.name), None)
        if rival is not None:
            raise ConcurrentCommitError(
                f"another writer has added the root {rival.uri!r} under the name {rival.name!r} meanwhile; nothing of "
                "this change is visible: repeat it"
            )
        merged.append(root)
    return tuple(merged)


def _without(opened: SegmentPool, latest: Manifest, names: list[str], is_strict: bool) -> list[SegmentMeta]:
    """Return the segments with the columns of some tables marked as deleted."""
    missing = set(names)
    metas = []
    for segment in opened.of(latest.segments):
        numbers = [n for name in names if (n := segment.find_alive_table(name)) >= 0]
        if not numbers:
            metas.append(segment.meta)
            continue
        missing -= {segment.catalog.table_record(n)["name"] for n in numbers}
        alive = np.ones(segment.n_columns, np.uint8) if segment.alive is None else segment.alive.copy()
        for number in numbers:
            record = segment.catalog.table_record(number)
            alive[record["first_column"] : record["first_column"] + record["n_columns"]] = 0
        if not alive.any() and not segment.meta.counts.get("skipped"):
            continue  # nothing of the segment is left
        before = (segment.meta.tombstones or {}).get("n_deleted_tables", 0)
        n_indexed = int(((alive == 0) & (segment.catalog.numbers["is_indexed"] > 0)).sum())
        marks = write_alive(opened.path, segment.meta.id, latest.version + 1, alive, before + len(numbers), n_indexed)
        metas.append(replace(segment.meta, tombstones=marks))
    if missing and is_strict:
        raise ConcurrentCommitError(
            f"another writer has removed tables meanwhile: {shortlist(sorted(missing))}; nothing of this change is "
            "visible: refresh and repeat it"
        )
    return metas


def remove(opened: SegmentPool, tables: Any) -> Manifest:
    """Carry out `Lake.remove`."""
    patterns = check.check_patterns(tables, "tables")
    if not patterns:
        raise InvalidParameterError("`tables` must name at least one table or pattern, got none")
    path = opened.path
    base = read_manifest(path)
    every = [name for segment in opened.of(base.segments) for name in segment.alive_table_names()]
    known = set(every)
    names: list[str] = []
    for pattern in patterns:
        found = [pattern] if pattern in known else [name for name in every if fnmatch.fnmatchcase(name, pattern)]
        if not found:
            raise TableNotFoundError(f"`tables` must name tables of the lake ({shortlist(every)}), got {pattern!r}")
        names += found
    names = list(dict.fromkeys(names))
    operation = f"remove {len(names)} tables"
    return commit_change(path, lambda m: m.next(operation, segments=tuple(_without(opened, m, names, is_strict=True))))


def replace_tables(opened: SegmentPool, source: Any, **options: Any) -> Manifest:
    """Carry out `Lake.replace`."""
    return add(opened, source, full=True, replaces=True, **options)


def compact(path: Path, *, full: bool, engine: str | None, spark: Any, progress: bool) -> Manifest:
    """Carry out `Lake.compact`."""
    check.check_choice(full, "full", (True, False))
    check.check_choice(engine, "engine", (None, "spark", "inline"))
    base = read_manifest(path)
    deleted = [(s.tombstones or {}).get("n_deleted", 0) / max(1, s.counts["columns"]) for s in base.segments]
    sizes = [segment.size for segment in base.segments]
    groups = choose_merges(sizes, deleted, base.settings.segment_bytes, is_full=full)
    if not groups:
        return base
    runner, _ = _engine(engine, spark, path, base.settings, "raise")
    members = [[base.segments[n] for n in group] for group in groups]
    work = path / "runs" / f"compact-{time.time_ns():x}"
    work.mkdir(parents=True)
    written: list[SegmentMeta] = []
    try:
        requests = [compact_request(path, base.settings, group) for group in members]
        results = (runner or InlineEngine()).run(requests, work, lambda *_: None)
        written = [SegmentMeta.from_dict(json.loads(result)) for result in results]
        gone = [segment for group in members for segment in group]

        def change(latest: Manifest) -> Manifest:
            missing = [segment.id for segment in gone if segment not in latest.segments]
            if missing:
                raise ConcurrentCommitError(
                    f"another writer has changed {len(missing)} of the segments that were merged; nothing of this "
                    "compaction is visible: call compact() again"
                )
            left = [segment for segment in latest.segments if segment not in gone]
            kept = [segment for segment in written if segment.counts["tables"] or segment.counts.get("skipped")]
            return latest.next(f"compact {len(gone)} segments", segments=(*left, *kept))

        return commit_change(path, change)
    except BaseException:
        if not is_committed(path, written):
            for segment in written:
                shutil.rmtree(path / "segments" / segment.id, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def restore(path: Path, version: int) -> Manifest:
    """Carry out `Lake.restore`."""
    wanted = read_manifest(path, check.check_positive_int(version, "version"))
    lost = [s.id for s in wanted.segments if not (path / "segments" / s.id).is_dir()]
    if lost:
        raise InvalidParameterError(
            f"`version` {version} cannot be restored: {len(lost)} of its segments were removed by vacuum"
        )
    return commit_change(
        path,
        lambda m: m.next(
            f"restore version {version}", settings=wanted.settings, roots=wanted.roots, segments=wanted.segments
        ),
    )


def versions(path: Path) -> pd.DataFrame:
    """Carry out `Lake.versions`."""
    rows = []
    for version in list_versions(path):
        try:
            manifest = read_manifest(path, version)
        except IndexFormatError:
            rows.append({"version": version, "created_at": "", "operation": "cannot be read", **_NO_COUNTS})
            continue
        counts = manifest.counts
        rows.append(
            {
                "version": version,
                "created_at": manifest.created_at,
                "operation": manifest.operation,
                "tables": counts.get("tables", 0),
                "columns": counts.get("columns", 0),
                "segments": len(manifest.segments),
                "created_by": manifest.created_by,
            }
        )
    return pd.DataFrame(rows)
