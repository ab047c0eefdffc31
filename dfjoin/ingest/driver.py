"""From tables to segments: cut the work, run it on an engine, gather what came of it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from dfjoin.errors import TableReadError
from dfjoin.index.commit import Uncommitted, scratch_directory
from dfjoin.index.components import make_directories, run_directory, segment_directory
from dfjoin.index.signatures import SizeCounts, add_sizes, cut_partitions
from dfjoin.ingest.balance import pack_runs, split_tables
from dfjoin.ingest.build_options import BuildOptions
from dfjoin.ingest.engine import Engine
from dfjoin.ingest.progress import Progress
from dfjoin.ingest.read_task import RunMeta
from dfjoin.ingest.requests import BuiltSegment, merge_request, read_built, read_meta, run_request
from dfjoin.ingest.row_spool import TableSpool
from dfjoin.ingest.source import Input, TableJob
from dfjoin.types import IndexSettings, SkippedFile

_TASK_INPUT_BYTES = 64 << 20  # no task reads more than this before its siblings get a share
_TASKS_PER_SLOT = 3
_SMALL_TASK = 8 << 20  # less than this is not worth a worker that has to start


def write_segments(
    given: Input, settings: IndexSettings, engine: Engine, options: BuildOptions, written: Uncommitted
) -> list[BuiltSegment]:
    """Read tables and write the segments that hold them; no version names these yet.

    Parameters
    ----------
    given : Input
        What to read.
    settings : IndexSettings
        What to build with.
    engine : Engine
        Where tasks run.
    options : BuildOptions
        What to do with a table that cannot be read, and whether to show progress.
    written : Uncommitted
        Of the index; takes note of what is written.

    Returns
    -------
    list of BuiltSegment
        In the order of their first tables.

    Raises
    ------
    TableReadError
        If nothing can be read, or with ``on_error="raise"`` for the first table that cannot.
    """
    index = written.index
    make_directories(index)
    tables = given.tables if isinstance(given.tables, TableSpool) else TableSpool(given.tables)
    n_tables = len(given.tables) + len(given.extra)
    with (
        scratch_directory(index, "build") as work,
        Progress(options.progress, n_tables, tables.n_bytes, None if engine.is_here else work) as shown,
    ):
        requests = (
            run_request(work, settings, task, options.on_error, None if engine.is_here else work / f"progress-{n}.json")
            for n, task in enumerate(split_tables(tables, tables.work, _n_tasks(tables.work, engine.n_slots, settings)))
        )
        runs = [read_meta(result) for result in engine.run(requests, work, shown.add)]
        for number, read in enumerate(given.extra):
            parts = _read_by_engine(read, work, given.skipped, options.on_error)
            runs += parts
            counted = [1, sum(part.n_rows for part in parts), 0]
            (work / f"progress-table-{number}.json").write_text(json.dumps(counted))
        if given.skipped and not runs:
            raise nothing_read([(file.name, file.reason) for file in given.skipped])
        shown.begin("merging", sum(run.size for run in runs))
        merges = _merge_requests(written, settings, runs, given.skipped, (work, engine))
        merged = []
        failed: list[OSError] = []
        for result in engine.run(merges, work, shown.add):
            try:
                merged.append(read_built(result))
            except OSError as error:  # of those that were written elsewhere note is taken all the same
                failed.append(error)
                continue
            written.add(segment_directory(index, merged[-1].meta.id))
        if failed:
            raise failed[0]
        return sorted(merged, key=lambda one: one.first_table)


def _read_by_engine(read: TableJob, work: Path, skipped: list[SkippedFile], on_error: str) -> list[RunMeta]:
    """Let an engine read a table of its own; one that cannot be read is noted among the skipped, or an error."""
    try:
        return read(work)
    except TableReadError as error:
        if on_error == "raise":
            raise
        skipped.append(SkippedFile(read.name, str(error)))
        return []


def nothing_read(skipped: Sequence[tuple[str, str]]) -> TableReadError:
    """Return the error of a source of which nothing was read, from the names of what was skipped and the reasons."""
    (name, reason), *others = skipped
    more = f", and {len(others):,} others" if others else ""
    return TableReadError(f"`source` must hold a table that can be read, and none is: `{name}`: {reason}{more}")


def _n_tasks(total: int, n_slots: int, settings: IndexSettings) -> int:
    """Return how many tasks do some work: enough for the slots, none too large, none hardly worth its start."""
    worth = -(-total // min(_SMALL_TASK, settings.segment_bytes))
    wanted = min(n_slots * _TASKS_PER_SLOT, worth) if n_slots > 1 else 1
    return max(-(-total // _TASK_INPUT_BYTES), wanted)


def _merge_requests(
    written: Uncommitted,
    settings: IndexSettings,
    runs: list[RunMeta],
    skipped: list[SkippedFile],
    work_and_engine: tuple[Path, Engine],
) -> list[str]:
    """Decide which runs become which segment; runs of one table stay together.

    `work_and_engine` is the directory that the runs are below, and the engine; tasks that it runs elsewhere count in
    files there. Where no request is repeated, note of its segment is taken before it is begun: whatever ends this
    process or a worker, the segment is removed.
    """
    work, engine = work_and_engine
    runs.sort(key=lambda run: (run.first_table, run.id))
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
        directories = [run_directory(work, run.id) for member in members for run in groups[member]]
        note = None if engine.is_here else work / f"merging-{number}.json"
        name = None if engine.is_repeated else uuid.uuid4().hex
        if name is not None:
            written.add(segment_directory(written.index, name))
        requests.append(merge_request(written.index, settings, directories, records if number == 0 else [], note, name))
    return requests


def freeze_partitions(settings: IndexSettings, parts: Iterable[SizeCounts]) -> IndexSettings:
    """Return the settings with the partitions of the signed columns cut, from the sizes in each segment.

    They belong to the index and not to a segment: adding and merging must not change which columns are found.
    """
    if not settings.permutations:
        return settings
    return replace(settings, partition_ends=cut_partitions(add_sizes(parts), settings))
