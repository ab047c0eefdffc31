"""Cutting work: tables into tasks balanced by bytes, runs into segments of the target size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dfjoin.sources.table_kinds import COMPRESSED, KINDS
from dfjoin.types import TableSource

_COMPRESSED_FACTOR = 5
_PER_FILE_BYTES = 32 << 10  # opening and profiling a file costs about as much as reading this


def estimated_bytes(source: TableSource) -> int:
    """Estimate the work that a table is, in bytes of plain text."""
    kind = KINDS.get(source.format)
    factor = _COMPRESSED_FACTOR if source.path.lower().endswith(COMPRESSED) else kind.work if kind else 1
    return source.size * factor + _PER_FILE_BYTES


def split_tables(sources: Iterable[TableSource], work: int, n_tasks: int) -> Iterator[list[TableSource]]:
    """Cut tables into contiguous stretches of about equal work.

    Parameters
    ----------
    sources : iterable of TableSource
        Read once, a stretch at a time.
    work : int
        Sum of `estimated_bytes` over all of them.
    n_tasks : int
        How many stretches at most; a table larger than its share gets one of its own.

    Yields
    ------
    list of TableSource
        None of them empty, together all of the tables in order.
    """
    share = max(1.0, work / max(1, n_tasks))
    stretch: list[TableSource] = []
    used = 0.0
    for source in sources:
        own = estimated_bytes(source)
        if stretch and used + own / 2 >= share:
            yield stretch
            stretch, used = [], 0.0
        stretch.append(source)
        used += own
    if stretch:
        yield stretch


def pack_runs(sizes: Sequence[int], target: int) -> list[list[int]]:
    """Decide which runs become one segment: neighbours, up to the target size.

    Parameters
    ----------
    sizes : sequence of int
        Bytes of each run, in the order of their tables.
    target : int
        Target size of a segment in bytes; a run of more than half of it is left alone.

    Returns
    -------
    list of list of int
        Numbers of the runs of each segment.
    """
    groups: list[list[int]] = []
    used: int | None = None  # bytes of the last group; None: nothing may join it
    for number, size in enumerate(sizes):
        if size > target // 2:
            groups.append([number])
            used = None
            continue
        if used is None or used + size > target:
            groups.append([])
            used = 0
        groups[-1].append(number)
        used += size
    return groups
