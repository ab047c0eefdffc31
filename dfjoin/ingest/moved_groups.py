"""Component groups that tasks have written, on their way to their segment."""

from __future__ import annotations

from pathlib import Path

from dfjoin.index.commit import Uncommitted
from dfjoin.index.layout import group_directory
from dfjoin.index.manifest import SegmentMeta
from dfjoin.index.mirror import mirror_of

__all__ = ["move_groups"]


def move_groups(name: str, segment: SegmentMeta, work: Path, written: Uncommitted) -> None:
    """Move the groups of a name from a scratch directory to their segment, unless they were written there.

    Parameters
    ----------
    name : {"vectors", "axes"}
    segment : SegmentMeta
        Has these groups.
    work : Path
        The directory that tasks of this machine wrote them below.
    written : Uncommitted
        Of the index; takes note of them.
    """
    for group in segment.groups_of(name):
        target = group_directory(written.index, segment.id, group.id)
        written.add(target)
        made = group_directory(work, segment.id, group.id)
        if made.exists() or mirror_of(written.index) is None:
            made.rename(target)
