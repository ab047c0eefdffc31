"""From tables to segments: cut the work, run it on an engine, gather what came of it."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dfjoin.index.commit import Uncommitted
from dfjoin.index.layout import make_directories, run_directory, segment_directory
from dfjoin.index.manifest import SegmentMeta
from dfjoin.index.segment import Segment
from dfjoin.index.signatures import cut_partitions
from dfjoin.ingest.balance import estimated_bytes, pack_runs, split_tables
from dfjoin.ingest.build_options import BuildOptions
from dfjoin.ingest.engine import Engine
from dfjoin.ingest.progress import Progress
from dfjoin.ingest.read_task import RunMeta
from dfjoin.ingest.requests import merge_request, read_meta, read_segment, run_request
from dfjoin.ingest.source import Input
from dfjoin.types import IndexSettings, SkippedFile, TableSource

__all__ = ["freeze_partitions", "write_segments"]

_TASK_INPUT_BYTES = 256 << 20  # no task reads more than this before its siblings get a share
_TASKS_PER_SLOT = 3


def write_segments(
    given: Input, settings: IndexSettings, engine: Engine, options: BuildOptions, written: Uncommitted
) -> list[SegmentMeta]:
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
    list of SegmentMeta
        In the order of their first tables.
    """
    index = written.index
    make_directories(index)
    work = run_directory(index, f"build-{uuid.uuid4().hex}")
    work.mkdir()
    total = sum(table.size for table in given.tables)
    try:
        with Progress(options.progress, len(given.tables), total, None if engine.is_here else work) as shown:
            tasks = split_tables(given.tables, _n_tasks(given.tables, engine.n_slots))
            notes = [None if engine.is_here else work / f"progress-{number}.json" for number in range(len(tasks))]
            requests = [
                run_request(index, settings, task, options.on_error, note)
                for task, note in zip(tasks, notes, strict=True)
            ]
            runs: list[RunMeta] = []
            for result in engine.run(requests, work, shown.add):
                runs.append(read_meta(result))
                written.add(run_directory(index, runs[-1].id))
            for read in given.extra:
                for run in read():
                    runs.append(run)
                    written.add(run_directory(index, run.id))
            shown.merge(sum(run.size for run in runs))
            merges = _merge_requests(index, settings, runs, given.skipped, None if engine.is_here else work)
            merged = [read_segment(result) for result in engine.run(merges, work, shown.add)]
            written.add(*(segment_directory(index, segment.id) for _, segment in merged))
            return [segment for _, segment in sorted(merged, key=lambda pair: pair[0])]
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _n_tasks(tables: Sequence[TableSource], n_slots: int) -> int:
    total = sum(estimated_bytes(table) for table in tables)
    by_size = -(-total // _TASK_INPUT_BYTES)
    return max(by_size, n_slots * _TASKS_PER_SLOT if n_slots > 1 else 1)


def _merge_requests(
    index: Path, settings: IndexSettings, runs: list[RunMeta], skipped: list[SkippedFile], notes: Path | None
) -> list[str]:
    """Decide which runs become which segment; runs of one table stay together. Tasks count in files below `notes`."""
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
        ids = [run.id for member in members for run in groups[member]]
        note = notes / f"merging-{number}.json" if notes else None
        requests.append(merge_request(index, settings, ids, records if number == 0 else [], note))
    return requests


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
