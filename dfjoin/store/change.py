"""Changing the tables of an index: added, replaced, removed, an older version restored."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from dfjoin import _validation as check
from dfjoin.errors import (
    ConcurrentCommitError,
    InvalidParameterError,
    TableNotFoundError,
    TableReadError,
    did_you_mean,
    shortlist,
)
from dfjoin.index.commit import Uncommitted, commit_change, hold, read_manifest
from dfjoin.index.components import FRAMES, segment_directory
from dfjoin.index.manifest import Manifest, SegmentMeta
from dfjoin.index.mirror import store_of
from dfjoin.index.segment import Segment, SegmentPool, write_alive
from dfjoin.ingest.axes_driver import axes_of_new
from dfjoin.ingest.build_options import BuildOptions
from dfjoin.ingest.continued_table import continued_table
from dfjoin.ingest.driver import write_segments
from dfjoin.ingest.embed_driver import embed_new
from dfjoin.ingest.engine import LateEngine
from dfjoin.ingest.row_spool import TableSpool
from dfjoin.ingest.source import Input, TableJob, frames_directory, gather
from dfjoin.sources.database_server import one_snapshot
from dfjoin.sources.readers import current_fingerprint
from dfjoin.sources.roots import roots_at
from dfjoin.sources.table_kinds import KINDS
from dfjoin.types import IndexSettings, Root, TableSource

_INLINE_BELOW = 64 << 20  # a job of Spark takes longer than reading this


def add(
    opened: SegmentPool,
    options: BuildOptions,
    moved: dict[int, str],
    *,
    reads_all: bool = False,
    replaces: bool = False,
) -> Manifest:
    """Read tables and commit them beside those of the latest version.

    Parameters
    ----------
    opened : SegmentPool
        Of the index; knows what of it was read before.
    options : BuildOptions
        What to add, and how.
    moved : dict of int → str
        The present locations of roots that were moved, by id.
    reads_all : bool
        Read tables that the index has as they are, too.
    replaces : bool
        Tables of the same names are superseded, whoever added them; otherwise they are an error.

    Returns
    -------
    Manifest
        As committed; the latest one if there was nothing to read.
    """
    path = opened.path
    check.check_choice(reads_all, "full", (True, False))
    base = read_manifest(path)
    here = roots_at(base.roots, moved)
    with Uncommitted(path) as written, frames_directory(path, options.keep_data) as frames, one_snapshot():
        engine = LateEngine(options.engine, options.spark, options.progress, _INLINE_BELOW, options.workers)
        reader = engine.spark_reader(base.settings)
        given = gather(options.source, here, reader, frames, written, base.settings)
        known = {root.id: root for root in base.roots}
        given.roots = [known.get(root.id, root) for root in given.roots]
        present = opened.of(base.segments)
        _refuse_parts(present, given.tables)
        if not replaces:
            given.extra = [job for job in given.extra if reads_all or not _is_known(present, job)]
            tables = _new_or_changed(path, present, given, reads_all)
            if not reads_all:
                tables = _read_whole(tables, present, given, base.settings, options.on_error)
            given.tables = TableSpool(tables)
            if not given.tables and not given.extra:
                return base
        runner = engine.start(given.tables)
        readers = engine.start_readers(given.tables)
        segments = [one.meta for one in write_segments(given, base.settings, readers, options, written)]
        segments = embed_new(base, segments, written, runner, options.progress)
        segments = axes_of_new(base, segments, roots_at(given.roots, moved), written, runner)
        addition = _Addition(opened, base, given, replaces)
        return commit_change(path, lambda latest: addition.apply(latest, segments))


def _find(segments: Iterable[Segment], name: str) -> tuple[Segment, int] | None:
    """Return the segment that holds an alive table, and the table's number there."""
    for segment in segments:
        number = segment.find_alive_table(name)
        if number >= 0:
            return segment, number
    return None


def _held_by(segments: Iterable[Segment], table: TableSource) -> list[tuple[Segment, int]]:
    """Return the alive tables of the index that a file of several tables holds."""
    if table.format not in KINDS or not KINDS[table.format].has_members:
        return []
    return [
        (segment, number)
        for segment in segments
        for number in segment.catalog.tables_in(table.name)
        if segment.is_table_alive(number) and _is_of(segment.catalog.table_record(number), table)
    ]


def _is_of(record: dict[str, Any], table: TableSource) -> bool:
    return record["root"] == table.root.id and tuple(record["parts"]) == table.parts


def _refuse_parts(segments: list[Segment], tables: Iterable[TableSource]) -> None:
    """Raise when a file is one of those that make up a table of the index: it would be indexed twice."""
    for table in tables:
        for above in list(PurePosixPath(table.name).parents)[:-1]:
            found = _find(segments, str(above))
            if found is not None and found[0].catalog.table_record(found[1])["root"] == table.root.id:
                raise InvalidParameterError(
                    f"`source` names {table.name!r}, which is a part of the table {str(above)!r} of the index; add "
                    "the directory of that table"
                )


def _new_or_changed(path: Path, segments: list[Segment], given: Input, full: bool) -> Iterator[TableSource]:
    """Leave out the files that the index has as they are, and those that it could not read and are the same.

    A name that is taken is that of the same file, which may have changed; any other use of it is an error.
    """
    unreadable = {
        (record["name"], record["size"], record["mtime_ns"])
        for segment in segments
        if segment.meta.counts.get("skipped")
        for record in segment.catalog.skipped().to_pylist()
    }
    taken = [job.name for job in given.extra if not _supersedes(segments, job)]
    for table in given.tables:
        found = _find(segments, table.name) or next(iter(_held_by(segments, table)), None)
        is_known_bad = (
            not full
            and (found is None or table.mtime_ns > 0)
            and (table.name, table.size, table.mtime_ns) in unreadable
        )
        if found is None:
            if not is_known_bad:
                yield table
            continue
        record = found[0].catalog.table_record(found[1])
        is_same_file = _is_of(record, table) if KINDS[table.format].has_members else record["path"] == table.path
        is_same_file = is_same_file and record["root"] == table.root.id and table.root.kind != "memory"
        is_same_file = is_same_file and Path(table.root.uri) != path / FRAMES
        if not is_same_file:
            taken.append(table.name)
        elif full or not (is_known_bad or _is_unchanged(table, record)):
            yield table
    if taken:
        raise InvalidParameterError(
            f"`source` brings tables whose names the index has already: {shortlist(taken)}; use "
            "`Lake.replace(source)` to put them in their place, or give them other names"
        )


def _read_whole(
    tables: Iterable[TableSource], segments: list[Segment], given: Input, settings: IndexSettings, on_error: str
) -> Iterator[TableSource]:
    """Leave out the tables of which only the new files are read: these become jobs of the input."""
    compared: dict[str, Segment] = {}
    for table in tables:
        may_grow = table.part_stats or (table.format in KINDS and KINDS[table.format].has_log)
        found = _find(segments, table.name) if may_grow else None
        job = None
        if found is not None:
            segment, number = found
            sound = compared.setdefault(segment.meta.id, Segment(segment.index, segment.meta, is_compared=True))
            job = continued_table(table, sound, number, settings, on_error)
        if job is None:
            yield table
        else:
            given.extra.append(job)


def _record_of(segments: list[Segment], job: TableJob) -> dict[str, Any] | None:
    """Return what the catalogue says of the table of an engine; None if it has none of that name."""
    found = _find(segments, job.name)
    return None if found is None else found[0].catalog.table_record(found[1])


def _supersedes(segments: list[Segment], job: TableJob) -> bool:
    """Tell whether a table of an engine is new, or is the one that the index has under its name."""
    record = _record_of(segments, job)
    return record is None or bool(job.path and (record["root"], record["path"]) == (job.root, job.path))


def _is_known(segments: list[Segment], job: TableJob) -> bool:
    """Tell whether the index has a table of an engine as it is."""
    record = _record_of(segments, job)
    return record is not None and bool(job.version) and _supersedes(segments, job) and record["version"] == job.version


def _is_unchanged(table: TableSource, record: dict[str, Any]) -> bool:
    """Compare size and modification time, then content."""
    kind = KINDS.get(table.format)
    if table.size != record["size"] and not (kind is not None and kind.has_version):
        return False
    if table.mtime_ns == record["mtime_ns"] and table.mtime_ns > 0 and not (kind is not None and kind.has_version):
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
    opened : SegmentPool
        Segments looked at before.
    base : Manifest
        The version that the input was compared with.
    given : Input
        What was read.
    replaces : bool
        Tables of the same names are superseded, whoever added them.
    """

    opened: SegmentPool
    base: Manifest
    given: Input
    replaces: bool

    def apply(self, latest: Manifest, segments: list[SegmentMeta]) -> Manifest:
        """Return the version after `latest` that has the new segments."""
        own, other = ((manifest.settings, manifest.embedder, manifest.axes) for manifest in (self.base, latest))
        if own != other:
            raise ConcurrentCommitError(
                "another writer has replaced the whole index with other settings, vectors or axes meanwhile; nothing "
                "of this change is visible: repeat it"
            )
        present = self.opened.of(latest.segments)
        # A table that could not be read supersedes nothing: what was indexed of it stays.
        read = [name for segment in self.opened.of(segments) for name in segment.catalog.table_names()]
        there = [name for name in read if _find(present, name) is not None]
        gone = list(self._gone(present, segments, {*read}))
        if not self.replaces:
            before = self.opened.of(self.base.segments)
            clash = [name for name in there if _find(before, name) is None]
            if clash:
                raise ConcurrentCommitError(
                    f"another writer has added tables of the same names meanwhile: {shortlist(clash)}; nothing of "
                    "this change is visible: use `Lake.replace(source)` to put these in their place"
                )
        roots = _with_roots(latest.roots, self.given.roots)
        kept = _without(self.opened, latest, [*there, *gone]) if there or gone else latest.segments
        operation = f"{'replace' if self.replaces else 'add'} {len(read)} tables"
        return latest.next(operation, roots=roots, segments=(*kept, *segments))

    def _gone(self, present: list[Segment], segments: list[SegmentMeta], read: set[str]) -> Iterator[str]:
        """Find the tables that a file held when it was read before, and holds no more: a sheet that was deleted."""
        new = self.opened.of(segments)
        bad = {
            record["name"] for segment in new for record in segment.catalog.skipped().to_pylist() if record["reason"]
        }
        for table in self.given.tables:
            if table.format in KINDS and KINDS[table.format].has_members and table.name not in bad:
                for segment, number in _held_by(present, table):
                    name = segment.catalog.table_record(number)["name"]
                    if name not in read and name not in bad:
                        yield name


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


def _without(opened: SegmentPool, latest: Manifest, names: list[str]) -> list[SegmentMeta]:
    """Return the segments with the columns of some tables marked as deleted."""
    metas = []
    for segment in opened.of(latest.segments):
        numbers = [n for name in names if (n := segment.find_alive_table(name)) >= 0]
        if not numbers:
            metas.append(segment.meta)
            continue
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
    return metas


def remove(opened: SegmentPool, tables: Any) -> Manifest:
    """Remove tables from the latest version, see `Lake.remove`."""
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
            raise TableNotFoundError(
                f"`tables` must name tables of the lake ({shortlist(every)}), got {check.show(pattern)}"
                f"{did_you_mean(pattern, every)}"
            )
        names += found
    names = list(dict.fromkeys(names))

    def without(latest: Manifest) -> Manifest:
        present = opened.of(latest.segments)
        missing = [name for name in names if _find(present, name) is None]
        if missing:
            raise ConcurrentCommitError(
                f"another writer has removed tables meanwhile: {shortlist(sorted(missing))}; nothing of this change is "
                "visible: refresh and repeat it"
            )
        return latest.next(f"remove {len(names)} tables", segments=tuple(_without(opened, latest, names)))

    return commit_change(path, without)


def restore(path: Path, version: int) -> Manifest:
    """Commit the content of an older version as the next one, see `Lake.restore`."""
    read_manifest(path, check.check_positive_int(version, "version"))
    store = store_of(path)
    with Uncommitted(path), hold(store, version):
        wanted = read_manifest(path, version)  # is still there: whoever removes it from now on finds the hold
        lost = [s.id for s in wanted.segments if not store.exists(segment_directory(Path(), s.id).as_posix())]
        if lost:
            raise InvalidParameterError(
                f"`version` {version} cannot be restored: {len(lost)} of its segments were removed by vacuum"
            )
        content = {name: getattr(wanted, name) for name in ("settings", "roots", "segments", "embedder", "axes")}
        return commit_change(path, lambda latest: latest.next(f"restore version {version}", **content))
