"""Tasks as JSON text: what the driver sends to a worker and what comes back, inline and on Spark alike."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dfjoin.errors import TableReadError
from dfjoin.index.commit import NO_ROOM
from dfjoin.index.manifest import SegmentMeta
from dfjoin.ingest.merge_task import merge_into_segment, merge_segments
from dfjoin.ingest.read_task import RunMeta, build_run
from dfjoin.types import IndexSettings, Root, TableSource

__all__ = ["compact_request", "execute", "merge_request", "read_meta", "read_segment", "run_request"]


def run_request(
    work: Path, settings: IndexSettings, tables: list[TableSource], on_error: str, progress: Path | None
) -> str:
    """Write the request to read some tables into a run below `work`."""
    return json.dumps(
        {
            "task": "run",
            "index": str(work),
            "settings": settings.to_dict(),
            "tables": [_table_to_dict(table) for table in tables],
            "on_error": on_error,
            "progress": str(progress) if progress else None,
        }
    )


def merge_request(
    index: Path,
    settings: IndexSettings,
    runs: list[Path],
    skipped: list[dict[str, str]],
    progress: Path | None = None,
) -> str:
    """Write the request to merge some runs into a segment; they are removed unless its worker is elsewhere.

    A worker elsewhere counts in the file `progress`, and may be lost, so that another one repeats the request.
    """
    return json.dumps(
        {
            "task": "merge",
            "index": str(index),
            "settings": settings.to_dict(),
            "runs": [str(run) for run in runs],
            "skipped": skipped,
            "progress": str(progress) if progress else None,
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


def _table_to_dict(table: TableSource) -> dict[str, Any]:
    """Return a table source as plain JSON values."""
    return {**table.__dict__, "root": table.root.__dict__}


def _source_from_dict(values: dict[str, Any]) -> TableSource:
    """Make a table source from its JSON form."""
    lists = {name: tuple(values[name]) for name in ("parts", "left_out")}
    return TableSource(**{**values, **lists, "root": Root(**values["root"])})


def read_meta(result: str) -> RunMeta:
    """Read the result of a ``run`` request."""
    values = _result(result)
    if "error" in values:
        raise TableReadError(values["error"])
    return RunMeta(**values)


def read_segment(result: str) -> tuple[str, SegmentMeta]:
    """Read the result of a ``merge`` or ``compact`` request: name of the segment's first table, and its entry."""
    values = _result(result)
    return values["first_table"], SegmentMeta.from_dict(values["segment"])


def _result(text: str) -> dict[str, Any]:
    """Read a result; raises the `OSError` of a task that found no room to write."""
    values: dict[str, Any] = json.loads(text)
    if "no_room" in values:
        raise OSError(values["no_room"], os.strerror(values["no_room"]))
    return values


def execute(request: str, on_table: Callable[[int, int], None] | None = None) -> str:
    """Carry out one request and return its result, both as JSON text.

    Parameters
    ----------
    request : str
        From `run_request` or `merge_request`.
    on_table : callable, optional
        Called with (rows, bytes) after each table, and with (values, bytes) after each part of what is merged.

    Returns
    -------
    str
        A `RunMeta`, or the manifest's entry of a segment with the name of its first table. With
        ``on_error="raise"`` an unreadable table comes back as ``{"error": …}``, so that Spark does not try it
        again, and a full disk as ``{"no_room": <errno>}``.
    """
    try:
        return _execute(request, on_table)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        return json.dumps({"no_room": error.errno})


def _execute(request: str, on_table: Callable[[int, int], None] | None) -> str:
    values = json.loads(request)
    index, settings = Path(values["index"]), IndexSettings.from_dict(values["settings"])
    if values["task"] == "merge":
        told = on_table or _reporter(values["progress"])
        runs = [Path(run) for run in values["runs"]]
        merged = merge_into_segment(runs, index, settings, values["skipped"], told)
        if values["progress"] is None:
            for run in runs:
                shutil.rmtree(run, ignore_errors=True)
        return _segment_result(*merged)
    if values["task"] == "compact":
        metas = [SegmentMeta.from_dict(segment) for segment in values["segments"]]
        return _segment_result(*merge_segments(metas, index, settings))
    tables = [_source_from_dict(table) for table in values["tables"]]
    report = on_table or _reporter(values["progress"])
    try:
        meta = build_run(tables, index, settings, on_error=values["on_error"], on_table=report)
    except TableReadError as error:
        return json.dumps({"error": str(error)})
    return json.dumps(asdict(meta))


def _segment_result(first_table: str, meta: SegmentMeta) -> str:
    return json.dumps({"first_table": first_table, "segment": meta.to_dict()})


def _reporter(path: str | None) -> Callable[[int, int], None] | None:
    """Count tables, rows and bytes in a small file that the driver looks at; None where it cannot."""
    if path is None:
        return None
    totals = [0, 0, 0]
    target = Path(path)
    draft = target.with_suffix(".draft")
    target.write_text(json.dumps(totals))  # the task has begun

    def report(n_rows: int, n_bytes: int) -> None:
        totals[0] += 1
        totals[1] += n_rows
        totals[2] += n_bytes
        if totals[0] % 16 == 1 or n_bytes > 1 << 20:
            draft.write_text(json.dumps(totals))
            draft.replace(target)

    return report
