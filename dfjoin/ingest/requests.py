"""Tasks as JSON text: what the driver sends to a worker and what comes back, inline and on Spark alike."""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dfjoin.errors import InvalidParameterError, TableReadError
from dfjoin.index.axis_group import write_axes
from dfjoin.index.commit import NO_ROOM
from dfjoin.index.component_files import release_memory
from dfjoin.index.components import group_directory, run_directory, segment_directory
from dfjoin.index.manifest import SegmentMeta
from dfjoin.index.segment import Segment
from dfjoin.index.signatures import SizeCounts, count_sizes
from dfjoin.ingest.axes_task import AxesReader
from dfjoin.ingest.chosen_embedder import default_radius
from dfjoin.ingest.embed_task import (
    EmbeddedStretch,
    EmbedJob,
    Stretch,
    embed_stretch,
    open_sent_embedder,
    write_cells,
)
from dfjoin.ingest.merge_task import merge_into_segment, merge_segments
from dfjoin.ingest.read_task import RunMeta, build_run
from dfjoin.types import IndexSettings, Root, TableSource
from dfjoin.vectors.axis_specs import AxisSpec
from dfjoin.vectors.default_radius import ChosenRadius

_BETWEEN_NOTES = 0.25
"""Seconds between two notes of how far a task is."""

_FAILURES: dict[str, type[Exception]] = {"error": TableReadError, "invalid": InvalidParameterError}
"""Errors of a task that come back as a result, so that Spark does not try it again."""

_Report: TypeAlias = Callable[[int, int], None]


def run_request(
    work: Path, settings: IndexSettings, tables: list[TableSource], on_error: str, progress: Path | None
) -> str:
    """Write the request to read some tables into a run below `work`."""
    return json.dumps(
        {
            "task": "run",
            "index": str(work),
            "settings": settings.to_dict(),
            "on_error": on_error,
            "progress": str(progress) if progress else None,
            "roots": [root.__dict__ for root in dict.fromkeys(table.root for table in tables)],
            "sources": [{**table.__dict__, "root": table.root.id} for table in tables],
        }
    )


def head_of(request: str) -> dict[str, Any]:
    """Read a request but for the tables, its last field: the driver looks at thousands in a request otherwise."""
    head, cut, _ = request.partition(', "sources": [')
    values: dict[str, Any] = json.loads(head + "}" if cut else request)
    return values


def merge_request(
    index: Path,
    settings: IndexSettings,
    runs: list[Path],
    skipped: list[dict[str, str]],
    progress: Path | None = None,
    segment: str | None = None,
) -> str:
    """Write the request to merge some runs into a segment; a worker elsewhere counts in the file `progress`.

    `segment` is the name of the segment where the request is carried out once: its runs are removed then, and what a
    task that fails has left is found by this name. None where another worker repeats the request of a lost one.
    """
    return json.dumps(
        {
            "task": "merge",
            "index": str(index),
            "settings": settings.to_dict(),
            "runs": [str(run) for run in runs],
            "skipped": skipped,
            "progress": str(progress) if progress else None,
            "segment": segment,
        }
    )


def compact_request(index: Path, settings: IndexSettings, segments: list[SegmentMeta]) -> str:
    """Write the request to merge some segments into one, without what is deleted in them."""
    return json.dumps(
        {
            "task": "compact",
            "index": str(index),
            "settings": settings.to_dict(),
            "segments": [segment.to_dict() for segment in segments],
        }
    )


def embed_request(job: EmbedJob, stretch: Stretch, progress: Path) -> str:
    """Write the request to embed a stretch of a segment's values."""
    segment = segment_directory(Path(job.index), stretch.segment["id"])
    return json.dumps(
        {
            "task": "embed",
            "job": asdict(job),
            "stretch": asdict(stretch),
            "sent": [job.embedder["directory"], str(segment)],
            "progress": str(progress),
        }
    )


def radius_request(job: EmbedJob, segments: Sequence[SegmentMeta], progress: Path) -> str:
    """Write the request to choose the radius of searches that give none by values of segments."""
    directories = [str(segment_directory(Path(job.index), one.id)) for one in segments]
    return json.dumps(
        {
            "task": "radius",
            "job": asdict(job),
            "segments": [one.to_dict() for one in segments],
            "sent": [job.embedder["directory"], *directories],
            "progress": str(progress),
        }
    )


def cells_request(
    job: EmbedJob, segment: SegmentMeta, stretches: list[EmbeddedStretch], paths: tuple[Path, Path]
) -> str:
    """Write the request to put the vectors of a segment into cells.

    `paths` are the directory to write them below, and the file to count in.
    """
    return json.dumps(
        {
            "task": "cells",
            "job": asdict(job),
            "segment": segment.to_dict(),
            "stretches": [asdict(stretch) for stretch in stretches],
            "into": str(paths[0]),
            "progress": str(paths[1]),
        }
    )


def axes_request(reader: AxesReader, segment: Segment, into: Path) -> str:
    """Write the request to read the points of a segment's tables; `into` is the directory to write them below."""
    used = set(segment.catalog.tables().field("root").to_pylist())
    return json.dumps(
        {
            "task": "axes",
            "index": str(reader.index),
            "settings": reader.settings.to_dict(),
            "roots": [root.__dict__ for root in reader.roots if root.id in used],
            "axes": [spec.to_dict() for spec in reader.axes],
            "segment": segment.meta.to_dict(),
            "sent": [str(segment.directory)],
            "into": str(into),
            "progress": None,
        }
    )


def _source_from_dict(values: dict[str, Any], roots: dict[int, Root]) -> TableSource:
    """Make a table source from its JSON form."""
    lists = {name: tuple(values[name]) for name in ("parts", "left_out")}
    lists["part_stats"] = tuple(map(tuple, values["part_stats"]))
    return TableSource(**{**values, **lists, "root": roots[values["root"]]})


def read_meta(result: str) -> RunMeta:
    """Read the result of a ``run`` request."""
    return RunMeta(**_result(result))


class BuiltSegment(NamedTuple):
    """A segment that was merged from runs: the name of its first table, its entry, and the sizes of its columns."""

    first_table: str
    meta: SegmentMeta
    sizes: SizeCounts


def read_built(result: str) -> BuiltSegment:
    """Read the result of a ``merge`` request."""
    values = _result(result)
    sizes = SizeCounts(*(np.array(values[name], np.int64) for name in ("sizes", "counts")))
    return BuiltSegment(values["first_table"], SegmentMeta.from_dict(values["segment"]), sizes)


def read_segment(result: str) -> tuple[str, SegmentMeta]:
    """Read the result of a ``merge`` or ``compact`` request: name of the segment's first table, and its entry."""
    values = _result(result)
    return values["first_table"], SegmentMeta.from_dict(values["segment"])


def read_stretch(result: str) -> EmbeddedStretch:
    """Read the result of an ``embed`` request."""
    return EmbeddedStretch(**_result(result))


def read_radius(result: str) -> ChosenRadius:
    """Read the result of a ``radius`` request."""
    return ChosenRadius(**_result(result))


def read_vectors(result: str) -> SegmentMeta:
    """Read the result of a ``cells`` request: the entry of a segment that has vectors."""
    return SegmentMeta.from_dict(_result(result))


def read_points(result: str) -> tuple[SegmentMeta, list[str]]:
    """Read the result of an ``axes`` request: the entry of a segment with axes, and the tables that were not read."""
    values = _result(result)
    return SegmentMeta.from_dict(values), values["unread"]


def _result(text: str) -> dict[str, Any]:
    """Read a result; raises the `OSError` of a task that found no room to write, or the error of one that failed."""
    values: dict[str, Any] = json.loads(text)
    if "no_room" in values:
        raise OSError(values["no_room"], os.strerror(values["no_room"]))
    for name, error in _FAILURES.items():
        if name in values:
            raise error(values[name])
    return values


def execute(request: str, on_table: Callable[[int, int], None] | None = None) -> str:
    """Carry out one request and return its result, both as JSON text.

    Parameters
    ----------
    request : str
        From one of the functions above.
    on_table : callable, optional
        Called with (rows, bytes) after each table, with (values, bytes) after each part of what is merged, and with
        the values of each part that is embedded.

    Returns
    -------
    str
        What `read_meta`, `read_segment`, `read_stretch`, `read_vectors` or `read_points` read. With
        ``on_error="raise"`` an unreadable table comes back as ``{"error": …}``, so that Spark does not try it again, an
        embedder that fails as ``{"invalid": …}``, and a full disk as ``{"no_room": <errno>}``.
    """
    try:
        return _execute(request, on_table)
    except tuple(_FAILURES.values()) as error:
        return json.dumps({name: str(error) for name, kind in _FAILURES.items() if isinstance(error, kind)})
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        return json.dumps({"no_room": error.errno})
    finally:
        release_memory()


def inputs_of(values: dict[str, Any]) -> list[Path]:
    """Name the directories of a build's scratch directory that a request reads, and no other request does."""
    if values["task"] == "cells":
        return [Path(values["job"]["work"]) / stretch["directory"] for stretch in values["stretches"]]
    return [Path(run) for run in values.get("runs", [])]


def written_by(values: dict[str, Any], result: str) -> list[Path]:
    """Name the directories that a request has written; none if it failed."""
    found = json.loads(result)
    match values["task"]:
        case "run":
            return [run_directory(Path(values["index"]), found["id"])] if "id" in found else []
        case "embed":
            return [Path(values["job"]["work"]) / found["directory"]] if "directory" in found else []
        case "cells" | "axes":
            name = "vectors" if values["task"] == "cells" else "axes"
            own = [group["id"] for group in found.get("groups", []) if group["name"] == name]
            return [group_directory(Path(values["into"]), found["id"], group) for group in own]
    return [segment_directory(Path(values["index"]), found["segment"]["id"])] if "segment" in found else []


def _execute(request: str, on_table: Callable[[int, int], None] | None) -> str:
    values = json.loads(request)
    if values["task"] == "compact":
        index, settings = _index_and_settings(values)
        metas = [SegmentMeta.from_dict(segment) for segment in values["segments"]]
        first_table, meta = merge_segments(metas, index, settings)
        return json.dumps({"first_table": first_table, "segment": meta.to_dict()})
    return _TASKS[values["task"]](values, on_table or _reporter(values["progress"]))


def _run(values: dict[str, Any], report: _Report | None) -> str:
    index, settings = _index_and_settings(values)
    roots = {root["id"]: Root(**root) for root in values["roots"]}
    tables = [_source_from_dict(table, roots) for table in values["sources"]]
    return json.dumps(asdict(build_run(tables, index, settings, on_error=values["on_error"], on_table=report)))


def _merge(values: dict[str, Any], report: _Report | None) -> str:
    index, settings = _index_and_settings(values)
    runs = [Path(run) for run in values["runs"]]
    first_table, meta = merge_into_segment(runs, index, settings, values["skipped"], report, values["segment"])
    if values["segment"] is not None:
        for run in runs:
            shutil.rmtree(run, ignore_errors=True)
    numbers = Segment(index, meta).catalog.numbers
    found = count_sizes(numbers["cardinality"], numbers["is_indexed"] > 0, settings)
    result = {"first_table": first_table, "segment": meta.to_dict()}
    return json.dumps({**result, "sizes": found.sizes.tolist(), "counts": found.counts.tolist()})


def _embed(values: dict[str, Any], report: _Report | None) -> str:
    return json.dumps(asdict(embed_stretch(EmbedJob(**values["job"]), Stretch(**values["stretch"]), report)))


def _choose_radius(values: dict[str, Any], report: _Report | None) -> str:
    job = EmbedJob(**values["job"])
    segments = [Segment(Path(job.index), SegmentMeta.from_dict(one), is_compared=True) for one in values["segments"]]
    return json.dumps(default_radius(open_sent_embedder(job.embedder), segments)._asdict())


def _put_into_cells(values: dict[str, Any], report: _Report | None) -> str:
    stretches = [EmbeddedStretch(**stretch) for stretch in values["stretches"]]
    meta = SegmentMeta.from_dict(values["segment"])
    return json.dumps(write_cells(EmbedJob(**values["job"]), meta, stretches, Path(values["into"]), report).to_dict())


def _read_points(values: dict[str, Any], report: _Report | None) -> str:
    index, settings = _index_and_settings(values)
    roots = [Root(**root) for root in values["roots"]]
    reader = AxesReader(index, settings, roots, tuple(AxisSpec.from_dict(spec) for spec in values["axes"]))
    segment, unread = Segment(index, SegmentMeta.from_dict(values["segment"])), list[str]()
    groups = write_axes(segment_directory(Path(values["into"]), segment.meta.id), reader.sets(segment, unread))
    return json.dumps({**segment.meta.with_groups("axes", groups).to_dict(), "unread": unread})


_TASKS: dict[str, Callable[[dict[str, Any], _Report | None], str]] = {
    "run": _run,
    "merge": _merge,
    "radius": _choose_radius,
    "embed": _embed,
    "cells": _put_into_cells,
    "axes": _read_points,
}


def _index_and_settings(values: dict[str, Any]) -> tuple[Path, IndexSettings]:
    return Path(values["index"]), IndexSettings.from_dict(values["settings"])


def _reporter(path: str | None) -> _Report | None:
    """Count tables, rows and bytes in a small file that the driver looks at; None where it cannot."""
    if path is None:
        return None
    totals, written_at = [0, 0, 0], -math.inf
    target = Path(path)
    draft = target.with_suffix(".draft")
    target.write_text(json.dumps(totals))  # the task has begun

    def report(n_rows: int, n_bytes: int) -> None:
        totals[0] += 1
        totals[1] += n_rows
        totals[2] += n_bytes
        nonlocal written_at
        if time.monotonic() - written_at > _BETWEEN_NOTES:
            written_at = time.monotonic()
            draft.write_text(json.dumps(totals))
            draft.replace(target)

    return report
