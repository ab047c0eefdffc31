"""Points of the segments of a change: read by this process, or by tasks, one for each segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dfjoin.errors import shortlist, warn
from dfjoin.index.axis_group import write_axes
from dfjoin.index.commit import Uncommitted, scratch_directory
from dfjoin.index.components import group_directory
from dfjoin.index.manifest import Manifest, SegmentMeta
from dfjoin.index.segment import Segment
from dfjoin.ingest.axes_task import AxesReader
from dfjoin.ingest.engine import Engine, session_table
from dfjoin.ingest.requests import axes_request, read_points
from dfjoin.types import Root

_SMALL_BYTES = 8 << 20
"""Tables of fewer bytes are read sooner here than a job of tasks has begun."""


def add_axes_of(
    segments: Sequence[SegmentMeta], reader: AxesReader, written: Uncommitted, engine: Engine
) -> list[SegmentMeta]:
    """Read the points of segments; return their manifest entries with ``axes``.

    Tables that cannot be read again have none; a warning names them.

    Parameters
    ----------
    segments : sequence of SegmentMeta
    reader : AxesReader
    written : Uncommitted
        Of the index; takes note of what is written.
    engine : Engine
        Where tables are read, unless they are small.
    """
    unread: list[str] = []
    opened = [Segment(written.index, one) for one in segments]
    if engine.is_here or sum(_n_bytes(record) for one in opened for record in reader.tables(one)) < _SMALL_BYTES:
        done = []
        reader = replace(reader, session_table=session_table)
        for segment in opened:
            groups = write_axes(segment.directory, reader.sets(segment, unread))
            written.add(*(group_directory(written.index, segment.meta.id, group.id) for group in groups))
            done.append(segment.meta.with_groups("axes", groups))
    else:
        done = _read_by_tasks(opened, reader, written, engine, unread)
    if unread:
        warn(
            f"the numbers of {len(unread)} tables could not be read again, so that their places and axes are not "
            f"found: {shortlist(unread)}; repeat it with `lake.add_axes()`"
        )
    return done


def _n_bytes(record: dict[str, Any]) -> int:
    """Return the bytes of a table, of one without files those of two numbers in each row."""
    return int(record["size"] or 16 * record["n_rows"])


def _read_by_tasks(
    segments: list[Segment], reader: AxesReader, written: Uncommitted, engine: Engine, unread: list[str]
) -> list[SegmentMeta]:
    """Let tasks read the points of segments; `unread` takes the tables that cannot be read."""
    with scratch_directory(written.index, "axes") as work:
        requests = [axes_request(reader, one, work) for one in segments if next(reader.tables(one), None)]
        made: dict[str, SegmentMeta] = {}
        for result in engine.run(requests, work, lambda *_: None):
            meta, names = read_points(result)
            made[meta.id] = meta
            unread += names
        for meta in made.values():
            written.move_groups("axes", meta, work)
    return [made.get(one.meta.id, one.meta) for one in segments]


def axes_of_new(
    base: Manifest, segments: Sequence[SegmentMeta], roots: Sequence[Root], written: Uncommitted, engine: Engine
) -> list[SegmentMeta]:
    """Read the points of new segments of an index that has axes; others are returned as they are."""
    if base.axes is None:
        return list(segments)
    return add_axes_of(segments, AxesReader(written.index, base.settings, roots, base.axes), written, engine)
