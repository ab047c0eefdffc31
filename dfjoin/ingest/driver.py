"""A build from start to commit: cut the work, run it on an engine, commit once."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from dfjoin.errors import IndexFormatError
from dfjoin.index.catalog import Catalog
from dfjoin.index.components import CATALOG_FILE
from dfjoin.index.manifest import Manifest, SegmentMeta, commit, list_versions, now, read_manifest
from dfjoin.index.segment import Segment
from dfjoin.index.signatures import cut_partitions
from dfjoin.ingest.balance import estimated_bytes, pack_runs, split_tables
from dfjoin.ingest.progress import Progress
from dfjoin.ingest.read_task import RunMeta
from dfjoin.ingest.requests import execute, merge_request, read_meta, run_request
from dfjoin.types import IndexSettings, Root, SkippedFile, TableSource

__all__ = ["Engine", "InlineEngine", "Input", "build_version", "discard_frames", "freeze_partitions", "is_committed"]

_TASK_INPUT_BYTES = 256 << 20  # no task reads more than this before its siblings get a share
_TASKS_PER_SLOT = 3


class Engine(Protocol):
    """What runs tasks."""

    n_slots: int
    """Tasks that run at the same time."""

    def run(self, requests: list[str], work: Path, on_table: Callable[[int, int], None]) -> list[str]:
        """Carry out requests, return their results in any order; `work` is a scratch directory."""
        ...  # pragma: no cover


class InlineEngine:
    """Runs tasks one after the other in this process."""

    n_slots = 1

    def run(self, requests: list[str], work: Path, on_table: Callable[[int, int], None]) -> list[str]:
        """Carry out requests in order."""
        return [execute(request, on_table) for request in requests]


@dataclass
class Input:
    """What a build reads.

    Parameters
    ----------
    roots : list of Root
        New roots of the index.
    tables : list of TableSource
        Tables to read, in order of name.
    skipped : list of SkippedFile
        Files that the listing passed over with a reason.
    extra : list of callable
        Each writes runs of tables that an engine reads by itself (Spark tables), and returns their metas.
    names : list of str
        Names of all tables, those of `extra` included.
    """

    roots: list[Root]
    tables: list[TableSource]
    skipped: list[SkippedFile] = field(default_factory=list)
    extra: list[Callable[[], list[RunMeta]]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def build_version(
    index: Path,
    base: Manifest | None,
    given: Input,
    settings: IndexSettings,
    engine: Engine,
    *,
    commit_segments: Callable[[list[SegmentMeta]], Manifest] | None = None,
    on_error: str = "skip",
    progress: bool = True,
) -> Manifest:
    """Read tables, write segments, and commit them as the next version of the index.

    Parameters
    ----------
    index : Path
        Directory of the index; made for its owner only when it does not exist.
    base : Manifest or None
        The version that this one follows.
    given : Input
        What to read.
    settings : IndexSettings
        What to build with.
    engine : Engine
        Where tasks run.
    commit_segments : callable, optional
        Commits the segments; by default they are the whole of the version that follows `base`.
    on_error : {"skip", "raise"}
        What to do with a table that cannot be read.
    progress : bool
        Show progress on standard error.

    Returns
    -------
    Manifest
        As committed.

    Raises
    ------
    ConcurrentCommitError
        If another writer committed in the meantime.
    TableReadError
        With ``on_error="raise"``, for the first table that cannot be read.

    Notes
    -----
    Whatever interrupts it, the version before stays the latest; what was written is removed, or is an
    orphan that no version names.
    """
    is_new = base is None
    for directory in (index, index / "runs", index / "segments", index / "manifests"):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    work = index / "runs" / f"build-{uuid.uuid4().hex}"
    work.mkdir()
    segments: list[SegmentMeta] = []
    runs: list[RunMeta] = []
    try:
        total = sum(table.size for table in given.tables)
        is_inline = isinstance(engine, InlineEngine)
        with Progress(progress, len(given.tables), total, None if is_inline else work) as shown:
            tasks = split_tables(given.tables, _n_tasks(given.tables, engine.n_slots))
            requests = [
                run_request(index, settings, task, on_error, None if is_inline else work / f"progress-{number}.json")
                for number, task in enumerate(tasks)
            ]
            runs += [read_meta(result) for result in engine.run(requests, work, shown.add)]
            for read in given.extra:
                runs += read()
            shown.stage(
                "merging",
                sum(run.n_tables + run.n_skipped for run in runs),
                sum(run.n_rows for run in runs),
                sum(run.n_bytes_read for run in runs),
            )
            merges = _merge_requests(index, settings, runs, given.skipped)
            segments += [SegmentMeta.from_dict(json.loads(result)) for result in engine.run(merges, work, _ignore)]
            segments.sort(key=lambda segment: first_table(index, segment))
            if commit_segments is not None:
                return commit_segments(segments)
            manifest = _next(base, freeze_partitions(index, settings, segments), given.roots, segments)
            commit(index, manifest)
            return manifest
    except BaseException:
        if not is_committed(index, segments):
            _discard(index, runs, segments, is_new)
            discard_frames(index, given)
        raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _ignore(n_rows: int, n_bytes: int) -> None:
    """Count nothing: merging reads no table."""


def _n_tasks(tables: Sequence[TableSource], n_slots: int) -> int:
    total = sum(estimated_bytes(table) for table in tables)
    by_size = -(-total // _TASK_INPUT_BYTES)
    return max(by_size, n_slots * _TASKS_PER_SLOT if n_slots > 1 else 1)


def _merge_requests(index: Path, settings: IndexSettings, runs: list[RunMeta], skipped: list[SkippedFile]) -> list[str]:
    """Decide which runs become which segment; runs of one table stay together."""
    runs.sort(key=lambda run: (run.first_table.encode("utf-8", "surrogatepass"), run.id))
    groups: list[list[RunMeta]] = []
    for run in runs:
        if groups and run.is_part and groups[-1][0].is_part and groups[-1][0].first_table == run.first_table:
            groups[-1].append(run)
        else:
            groups.append([run])
    sizes = [sum(run.size for run in group) for group in groups]
    packed = pack_runs(sizes, settings.segment_bytes)
    records = [dict(file.__dict__) for file in skipped]
    requests = []
    for number, members in enumerate(packed):
        ids = [run.id for member in members for run in groups[member]]
        requests.append(merge_request(index, settings, ids, records if number == 0 else []))
    return requests


def first_table(index: Path, segment: SegmentMeta) -> bytes:
    """Sort key of a segment: the name of its first table."""
    catalog = Catalog(index / "segments" / segment.id / segment.group("catalog").id / CATALOG_FILE)  # type: ignore[union-attr]
    names = catalog.table_names()
    return names[0].encode("utf-8", "surrogatepass") if names else b""


def freeze_partitions(index: Path, settings: IndexSettings, segments: Sequence[SegmentMeta]) -> IndexSettings:
    """Return the settings with the partitions of the signed columns cut, from the catalogues of the segments.

    They belong to the index and not to a segment: adding and merging must not change which columns are found.
    """
    if not settings.permutations:
        return settings
    opened = [Segment(index, meta) for meta in segments]
    sizes = [s.catalog.numbers["cardinality"][s.catalog.numbers["is_indexed"] > 0] for s in opened]
    every = np.concatenate([np.empty(0, np.int64), *sizes])
    return replace(settings, partition_ends=cut_partitions(every[every >= max(1, settings.smallest_signed)], settings))


def _next(base: Manifest | None, settings: IndexSettings, roots: list[Root], segments: list[SegmentMeta]) -> Manifest:
    if base is None:
        return Manifest(uuid.uuid4().hex, 1, settings, tuple(roots), tuple(segments), created_at=now())
    return base.next("replace all", settings=settings, roots=tuple(roots), segments=tuple(segments))


def discard_frames(index: Path, given: Input) -> None:
    """Remove the frames that were written into the index for tables that are not to be committed."""
    for table in given.tables:
        if Path(table.root.uri) == index / "frames":
            (index / "frames" / table.path).unlink(missing_ok=True)


def is_committed(index: Path, segments: list[SegmentMeta]) -> bool:
    """Tell whether a version names the segments: an interruption may come just after the commit."""
    wanted = {segment.id for segment in segments}
    for version in reversed(list_versions(index) if wanted else []):
        try:
            named = {segment.id for segment in read_manifest(index, version).segments}
        except IndexFormatError:
            return True  # it may name them: better an orphan than a loss
        if named & wanted:
            return True
    return False


def _discard(index: Path, runs: list[RunMeta], segments: list[SegmentMeta], is_new: bool) -> None:
    """Remove what an interrupted build wrote; a directory that held nothing before goes as a whole."""
    for run in runs:
        shutil.rmtree(index / "runs" / run.id, ignore_errors=True)
    for segment in segments:
        shutil.rmtree(index / "segments" / segment.id, ignore_errors=True)
    if is_new and not any(os.scandir(index / "manifests")):
        shutil.rmtree(index, ignore_errors=True)
